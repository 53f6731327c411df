/*
 * account: the table of clients of one worker. Connections and requests open accounts; budgets
 * write their parts, which the table never reads, and hold those in use.
 */
#include "share/account.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"
#include "share/access.h"

enum { PER_BUCKET = 2, PREFIX = 64 };

struct accounts {
	unsigned max, n;
	struct account crowd;
	struct account_keys keys;
	unsigned prefix;             /* of IPv6, in bits */
	const struct access *exempt; /* NULL: none */
	struct list idle;            /* struct account, the first closed one first */
	size_t nbuckets;             /* a power of two */
	struct account *buckets[];
};

/* The address in 8 bytes, of a network only its first prefix bits. */
static void identify(const struct accounts *all, const struct addr *client, uint8_t id[ACCOUNT_ID])
{
	uint64_t mask = htobe64(UINT64_MAX << (PREFIX - all->prefix)), network;

	memset(id, 0, ACCOUNT_ID);
	id[0] = (uint8_t)(client->sa.sa_family + 1);
	if (client->sa.sa_family == AF_INET) {
		memcpy(id + 1, &client->in.sin_addr, sizeof(client->in.sin_addr));
	} else if (client->sa.sa_family == AF_INET6) {
		memcpy(&network, &client->in6.sin6_addr, sizeof(network));
		network &= mask;
		memcpy(id + 1, &network, sizeof(network));
	}
}

/*
 * Multiply-add-shift with random 128-bit keys (Dietzfelbinger, "Universal hashing and k-wise
 * independent random variables via integer arithmetic without primes", 1996): a client that chooses
 * its addresses cannot choose its bucket.
 */
static uint64_t mark_of(const struct accounts *all, const uint8_t id[ACCOUNT_ID])
{
	bool six = id[0] == AF_INET6 + 1;
	uint64_t address;

	memcpy(&address, id + 1, sizeof(address));
	return (uint64_t)((all->keys.of[six].factor * address + all->keys.of[six].offset) >> 64) ^
	       id[0];
}

static struct account **bucket_of(struct accounts *all, uint64_t mark)
{
	return &all->buckets[mark & (all->nbuckets - 1)];
}

bool account_keys_make(struct account_keys *keys)
{
	return getrandom(keys, sizeof(*keys), 0) == sizeof(*keys);
}

void account_part_init(struct account_part *part)
{
	part->held = 0;
	list_init(&part->node);
	part->group = (struct line_group){ .up = NULL };
	list_init(&part->group.waits);
	list_init(&part->group.node);
	list_init(&part->lent);
}

static void account_init(struct account *a, struct accounts *all)
{
	*a = (struct account){ .all = all };
	list_init(&a->idle);
	for (unsigned i = 0; i < ACCOUNT_KINDS; i++)
		account_part_init(&a->parts[i]);
}

struct accounts *accounts_new(
	unsigned max, const struct account_keys *keys, unsigned prefix, const struct access *exempt)
{
	size_t n = 1;
	struct accounts *all;

	H2D_ASSERT(prefix > 0 && prefix <= PREFIX);
	while (n < max / PER_BUCKET)
		n *= 2;
	all = calloc(1, sizeof(*all) + n * sizeof(*all->buckets));
	if (all == NULL)
		return NULL;
	all->max = max;
	all->nbuckets = n;
	all->keys = *keys;
	all->prefix = prefix;
	all->exempt = exempt;
	account_init(&all->crowd, all);
	list_init(&all->idle);
	return all;
}

static void forget(struct account *a)
{
	struct account **at = bucket_of(a->all, a->mark);

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->all->n--;
	list_remove(&a->idle);
	free(a->auth);
	free(a);
}

void accounts_free(struct accounts **ap)
{
	struct accounts *all = *ap;

	if (all == NULL)
		return;
	*ap = NULL;
	LIST_EACH(struct account, a, idle, &all->idle)
		forget(a);
	H2D_ASSERT(all->n == 0 && all->crowd.users == 0);
	free(all->crowd.auth);
	free(all);
}

static bool is_exempt(const struct accounts *all, const struct addr *client)
{
	return all->exempt != NULL && access_allows(all->exempt, client);
}

static struct account *account_make(struct accounts *all, uint64_t mark,
	const uint8_t id[ACCOUNT_ID], const struct addr *client)
{
	struct account **bucket = bucket_of(all, mark), *a;

	if (all->n == all->max && !list_empty(&all->idle))
		forget(LIST_ENTRY(all->idle.next, struct account, idle));
	if (all->n == all->max || (a = malloc(sizeof(*a))) == NULL)
		return &all->crowd;
	account_init(a, all);
	memcpy(a->id, id, ACCOUNT_ID);
	a->mark = mark;
	a->exempt = is_exempt(all, client);
	a->limited = a->exempt ? 0 : mark;
	a->client = *client;
	a->next = *bucket;
	*bucket = a;
	all->n++;
	return a;
}

struct account *account_open(struct accounts *all, const struct addr *client)
{
	uint8_t id[ACCOUNT_ID];
	uint64_t mark;
	struct account *a;

	identify(all, client, id);
	mark = mark_of(all, id);
	a = *bucket_of(all, mark);
	while (a != NULL && memcmp(a->id, id, ACCOUNT_ID) != 0)
		a = a->next;
	if (a == NULL)
		a = account_make(all, mark, id, client);
	if (a->users++ == 0)
		list_remove(&a->idle);
	return a;
}

bool account_is_crowd(const struct account *a)
{
	return a == &a->all->crowd;
}

uint64_t account_mark(const struct accounts *all, const struct addr *client, bool *exempt)
{
	uint8_t id[ACCOUNT_ID];

	identify(all, client, id);
	*exempt = is_exempt(all, client);
	return mark_of(all, id);
}

void account_hold(struct account *a)
{
	if (a == NULL)
		return;
	H2D_ASSERT(a->users > 0);
	a->users++;
}

void account_close(struct account **ap)
{
	struct account *a = *ap;

	if (a == NULL)
		return;
	*ap = NULL;
	H2D_ASSERT(a->users > 0);
	if (--a->users > 0 || a == &a->all->crowd)
		return;
	if (a->keep_ms > clock_ms())
		list_append(&a->all->idle, &a->idle);
	else
		forget(a);
}

void accounts_look(struct accounts *all)
{
	LIST_EACH(struct account, a, idle, &all->idle)
		if (a->keep_ms <= clock_ms())
			forget(a);
}

unsigned accounts_count(const struct accounts *all)
{
	return all->n;
}

/* --- budgets ---------------------------------------------------------------------------------- */

void budget_init(
	struct budget *b, enum account_kind kind, uint64_t max, uint64_t least, unsigned part)
{
	*b = (struct budget){ .kind = kind, .max = max, .least = least, .part = part };
	list_init(&b->holders);
}

uint64_t budget_room(const struct budget *b, const struct account *a)
{
	uint64_t left = b->max > b->held ? b->max - b->held : 0;
	uint64_t mine, bound;

	if (a == NULL)
		return left;
	mine = a->parts[b->kind].held;
	/* The bound is the sum of mine and left, divided, which does not change by taking. */
	bound = (mine + left) / (b->part + 1);
	if (bound < b->least)
		bound = b->least;
	if (bound <= mine)
		return 0;
	return bound - mine < left ? bound - mine : left;
}

void budget_take(struct budget *b, struct account *a, uint64_t n)
{
	struct account_part *part;

	b->held += n;
	if (a == NULL || n == 0)
		return;
	part = &a->parts[b->kind];
	if (part->held == 0) {
		account_hold(a);
		list_append(&b->holders, &part->node);
	}
	part->held += n;
}

void budget_give(struct budget *b, struct account *a, uint64_t n)
{
	struct account_part *part;

	H2D_ASSERT(n <= b->held);
	b->held -= n;
	if (a == NULL || n == 0)
		return;
	part = &a->parts[b->kind];
	H2D_ASSERT(n <= part->held);
	part->held -= n;
	if (part->held > 0)
		return;
	list_remove(&part->node);
	account_close(&a);
}

struct account *budget_most(const struct budget *b)
{
	struct account_part *most = NULL;

	LIST_EACH(struct account_part, part, node, &b->holders)
		if (most == NULL || part->held > most->held)
			most = part;
	return most != NULL ? LIST_ENTRY(most - b->kind, struct account, parts[0]) : NULL;
}

struct account *budget_greediest(const struct budget *b)
{
	struct account *most = budget_most(b);

	return most != NULL && most->parts[b->kind].held > b->least ? most : NULL;
}
