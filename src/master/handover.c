/*
 * handover: formats and parses the text that an upgrade hands over; see handover.h. One row of a
 * table per line of the text. It opens, closes and inherits nothing.
 */
#include "master/handover.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

enum { LISTENERS_MAX = 4096, SOCKETS_MAX = 4096, FD_MAX = 1 << 20 };

#define LISTENER(n) LIST_ENTRY(n, struct handover_listener, node)

void handover_init(struct handover *h)
{
	*h = (struct handover){
		.pid_fd = -1, .doubts = { -1, -1 }, .reign = { -1, -1 }, .keeper = -1
	};
	list_init(&h->listeners);
}

struct handover_listener *handover_add(struct handover *h, unsigned n)
{
	struct handover_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->fds = calloc(n, sizeof(*l->fds));
	if (l->fds == NULL) {
		free(l);
		return NULL;
	}
	list_append(&h->listeners, &l->node);
	return l;
}

void handover_fini(struct handover *h)
{
	LIST_FOREACH(node, &h->listeners) {
		list_remove(node);
		free(LISTENER(node)->fds);
		free(LISTENER(node));
	}
	free(h->pid_path);
	h->pid_path = NULL;
	OPENSSL_cleanse(&h->tickets, sizeof(h->tickets));
}

bool handover_each_fd(const struct handover *h, bool (*fn)(void *ctx, int fd), void *ctx)
{
	const int single[] = { h->pid_fd, h->doubts[0], h->doubts[1], h->reign[0], h->reign[1],
		h->keeper };

	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (single[i] >= 0 && !fn(ctx, single[i]))
			return false;
	for (int i = 0; i < h->nspare; i++)
		if (!fn(ctx, h->spare[i]))
			return false;
	LIST_FOREACH(node, &h->listeners) {
		for (unsigned i = 0; i < LISTENER(node)->n; i++)
			if (!fn(ctx, LISTENER(node)->fds[i]))
				return false;
	}
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void format_bytes(const unsigned char *bytes, size_t n, struct strbuf *out)
{
	for (size_t i = 0; i < n; i++)
		strbuf_printf(out, "%02x", bytes[i]);
	strbuf_printf(out, "\n");
}

static void format_key(const char *name, const unsigned char *key, struct strbuf *out)
{
	strbuf_printf(out, "%s ", name);
	format_bytes(key, TLS_TICKETS_KEY, out);
}

static void format_keys(const struct handover *h, struct strbuf *out)
{
	format_key("ticket-keys", h->tickets.keys[0], out);
	for (unsigned i = 1; i < h->tickets.n; i++)
		format_key("ticket-keys-before", h->tickets.keys[i], out);
	strbuf_printf(out, "ticket-age %" PRIu64 "\n", h->ticket_age);
}

static void format_listener(const struct handover_listener *l, struct strbuf *out)
{
	char text[ADDR_TEXT];

	addr_format(&l->wanted, text, sizeof(text));
	strbuf_printf(out, "listener %" PRIu32 " %s %u", l->id, l->passed ? "passed" : "own", l->n);
	for (unsigned i = 0; i < l->n; i++)
		strbuf_printf(out, " %d", l->fds[i]);
	/* Last, because a path may have spaces. */
	strbuf_printf(out, " %s\n", text);
	if (strchr(text, '\n') != NULL)
		out->failed = true;
}

void handover_format(const struct handover *h, struct strbuf *out)
{
	strbuf_printf(out, "h2d-upgrade %d\nprocess %" PRIu32 "\ngeneration %" PRIu32 "\n",
		HANDOVER_VERSION, h->process, h->generation);
	strbuf_printf(out, "request %" PRIu32 "\n", h->request);
	format_keys(h, out);
	if (h->reign[0] >= 0)
		strbuf_printf(out, "may reign 2 %d %d\n", h->reign[0], h->reign[1]);
	/* Only where it is so: a program that does not know it must not take over. */
	if (h->drained)
		strbuf_add(out, SLICE("drained 1\n"));
	if (h->pid_path != NULL) {
		strbuf_printf(out, "pid-file %d %s\n", h->pid_fd, h->pid_path);
		out->failed |= strchr(h->pid_path, '\n') != NULL;
	}
	if (h->doubts[0] >= 0)
		strbuf_printf(out, "doubts %d %d\n", h->doubts[0], h->doubts[1]);
	if (h->keeper >= 0)
		strbuf_printf(out, "keeper %d\n", h->keeper);
	LIST_FOREACH(node, &h->listeners)
		format_listener(LISTENER(node), out);
	strbuf_printf(out, "end\n");
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The next word of a line, which *rest moves behind; NULL: there is none. */
static char *word(char **rest)
{
	char *start = *rest;
	size_t n = start != NULL ? strcspn(start, " ") : 0;

	if (n == 0)
		return NULL;
	*rest = start[n] == ' ' ? start + n + 1 : NULL;
	start[n] = '\0';
	return start;
}

static bool number(char **rest, uint64_t max, uint64_t *out)
{
	const char *text = word(rest);
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= max;
}

static bool number32(char **rest, uint32_t *out)
{
	uint64_t n = 0;
	bool ok = number(rest, UINT32_MAX, &n);

	*out = (uint32_t)n;
	return ok;
}

/* None of the standard streams is handed over. */
static bool descriptor(char **rest, int *out)
{
	uint64_t n = 0;
	bool ok = number(rest, FD_MAX, &n) && n > 2;

	*out = ok ? (int)n : -1;
	return ok;
}

static bool take_process(struct handover *h, char **rest)
{
	return number32(rest, &h->process);
}

static bool take_generation(struct handover *h, char **rest)
{
	return number32(rest, &h->generation);
}

static bool take_request(struct handover *h, char **rest)
{
	return number32(rest, &h->request);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool bytes(char **rest, unsigned char *to, size_t n)
{
	const char *text = word(rest);

	if (text == NULL || strlen(text) != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = hex(text[2 * i]), low = hex(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static bool take_ticket_keys(struct handover *h, char **rest)
{
	h->tickets.n = 1;
	return bytes(rest, h->tickets.keys[0], TLS_TICKETS_KEY);
}

/* Behind the one that encrypts, the newest first. */
static bool take_ticket_keys_before(struct handover *h, char **rest)
{
	return h->tickets.n > 0 && h->tickets.n < TLS_TICKETS_MAX &&
	       bytes(rest, h->tickets.keys[h->tickets.n++], TLS_TICKETS_KEY);
}

static bool take_ticket_age(struct handover *h, char **rest)
{
	return number(rest, UINT32_MAX, &h->ticket_age);
}

static bool take_may_reign(struct handover *h, char **rest)
{
	uint64_t n = 0;

	return h->reign[0] < 0 && number(rest, 2, &n) && n == 2 && descriptor(rest, &h->reign[0]) &&
	       descriptor(rest, &h->reign[1]);
}

/* A line that is not known: its descriptors are, which is how they can be closed. */
static bool pass_over(struct handover *h, char **rest)
{
	uint64_t n = 0;

	if (!number(rest, HANDOVER_SPARE, &n))
		return false;
	for (; n > 0; n--)
		if (h->nspare == HANDOVER_SPARE || !descriptor(rest, &h->spare[h->nspare++]))
			return false;
	*rest = NULL;
	return true;
}

static bool take_may(struct handover *h, char **rest)
{
	const char *key = word(rest);

	if (key != NULL && strcmp(key, "reign") == 0)
		return take_may_reign(h, rest);
	return key != NULL && pass_over(h, rest);
}

static bool take_drained(struct handover *h, char **rest)
{
	return number32(rest, &h->drained) && h->drained == 1;
}

static bool take_pid_file(struct handover *h, char **rest)
{
	if (!descriptor(rest, &h->pid_fd) || *rest == NULL || **rest == '\0')
		return false;
	h->pid_path = strdup(*rest);
	*rest = NULL;
	return h->pid_path != NULL;
}

static bool take_doubts(struct handover *h, char **rest)
{
	return descriptor(rest, &h->doubts[0]) && descriptor(rest, &h->doubts[1]);
}

static bool take_keeper(struct handover *h, char **rest)
{
	return descriptor(rest, &h->keeper);
}

static bool take_owner(struct handover_listener *l, const char *owner)
{
	l->passed = owner != NULL && strcmp(owner, "passed") == 0;
	return l->passed || (owner != NULL && strcmp(owner, "own") == 0);
}

static bool take_listener(struct handover *h, char **rest)
{
	struct handover_listener *l;
	const char *owner;
	uint64_t n = 0;
	uint32_t id;

	if (!number32(rest, &id))
		return false;
	owner = word(rest);
	if (!number(rest, SOCKETS_MAX, &n) || n == 0)
		return false;
	l = handover_add(h, (unsigned)n);
	if (l == NULL || !take_owner(l, owner))
		return false;
	l->id = id;
	for (; l->n < n; l->n++)
		if (!descriptor(rest, &l->fds[l->n]))
			return false;
	if (*rest == NULL || addr_parse(*rest, &l->wanted) != NULL)
		return false;
	*rest = NULL;
	return true;
}

enum { REQUIRED = 1, MANY = 2 };

static const struct {
	const char *key;
	bool (*take)(struct handover *h, char **rest);
	unsigned how;
} rows[] = {
	{ "process", take_process, REQUIRED },
	{ "generation", take_generation, REQUIRED },
	{ "request", take_request, REQUIRED },
	{ "ticket-keys", take_ticket_keys, REQUIRED },
	{ "ticket-keys-before", take_ticket_keys_before, MANY },
	{ "ticket-age", take_ticket_age, 0 },
	{ "may", take_may, MANY },
	{ "drained", take_drained, 0 },
	{ "pid-file", take_pid_file, 0 },
	{ "doubts", take_doubts, 0 },
	{ "keeper", take_keeper, 0 },
	{ "listener", take_listener, MANY },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char *take_line(struct handover *h, char *line, unsigned *seen)
{
	const char *key = word(&line);

	for (unsigned i = 0; key != NULL && i < ROWS; i++) {
		if (strcmp(key, rows[i].key) != 0)
			continue;
		if (++seen[i] > (rows[i].how & MANY ? LISTENERS_MAX : 1))
			return "a line is there too often";
		return rows[i].take(h, &line) && line == NULL ? NULL : "a line is malformed";
	}
	return "a line is unknown";
}

/* The next line without its newline; NULL: there is no further whole one. */
static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (end == NULL)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line;
}

const char *handover_parse(struct handover *h, char *text)
{
	unsigned seen[ROWS] = { 0 };
	const char *wrong = NULL;
	char *line = next_line(&text), version[32];

	handover_init(h);
	snprintf(version, sizeof(version), "h2d-upgrade %d", HANDOVER_VERSION);
	if (line == NULL || strcmp(line, version) != 0)
		return "the running h2d hands over in another format: it takes a restart";
	while (wrong == NULL && (line = next_line(&text)) != NULL && strcmp(line, "end") != 0)
		wrong = take_line(h, line, seen);
	if (wrong == NULL && (line == NULL || *text != '\0'))
		wrong = "it is not complete";
	for (unsigned i = 0; wrong == NULL && i < ROWS; i++)
		if (rows[i].how & REQUIRED && seen[i] == 0)
			wrong = "a line is missing";
	return wrong;
}
