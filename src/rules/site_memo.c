/*
 * site_memo: a small table from authorities to sites. Called by the request core for each request,
 * on a worker's loop; what it remembers is never more than what sites_find() said of the same
 * bytes.
 */
#include "rules/site_memo.h"

#include "http/authority.h"
#include "rules/site.h"

static struct site_memo_entry *entry_of(struct site_memo *m, struct slice authority)
{
	unsigned hash = (unsigned)authority.n + (unsigned char)authority.p[0] * 3u +
			(unsigned char)authority.p[authority.n / 2] * 5u +
			(unsigned char)authority.p[authority.n - 1] * 7u;

	return &m->entries[hash % SITE_MEMO_ENTRIES];
}

static bool is_malformed(struct slice authority)
{
	return authority.n > 0 && authority_host(authority).n == 0;
}

/* Not inline: most authorities were there before. */
static __attribute__((noinline)) const struct site *find(
	struct site_memo *m, const struct sites *s, struct slice authority)
{
	const struct site *site = is_malformed(authority) ? NULL : sites_find(s, authority);
	struct site_memo_entry *e;

	if (site == NULL || authority.n == 0 || authority.n > SITE_MEMO_TEXT)
		return site;
	e = entry_of(m, authority);
	e->site = site;
	e->n = (uint8_t)authority.n;
	memcpy(e->text, authority.p, authority.n);
	return site;
}

const struct site *site_memo_find(
	struct site_memo *m, const struct sites *s, struct slice authority)
{
	const struct site_memo_entry *e;

	if (authority.n == 0)
		return sites_find(s, authority);
	e = entry_of(m, authority);
	if (e->n == authority.n && memcmp(e->text, authority.p, authority.n) == 0)
		return e->site;
	return find(m, s, authority);
}
