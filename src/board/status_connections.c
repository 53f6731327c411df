/*
 * status_connections: only its own worker knows a connection: the worker of the request makes the
 * others show theirs (board.h), and answers when they have, or after a second. A worker that has
 * not shown them by then is named: its loop hangs, which is why its clients wait.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "board/admin.h"

enum { LOOK_MS = 10, PATIENCE_MS = 1000 };

/* A request that waits for the workers. */
struct asked {
	struct h2d_timer *timer;
	uint64_t at_ms;
};

/* A member of struct board_conn. */
static const struct column {
	enum { TEXT, NAMES, COUNT, MS } kind;
	const char *name;
	size_t at;
} columns[] = {
#define BOARD_CONN(kind, member, size, help) { kind, #member, offsetof(struct board_conn, member) },
#include "board/board_conns.def"
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const char *text_of(const struct board_conn *c, const struct column *column)
{
	return (const char *)c + column->at;
}

static uint64_t number_of(const struct board_conn *c, const struct column *column)
{
	uint64_t n;

	memcpy(&n, (const char *)c + column->at, sizeof(n));
	return n;
}

/* --- a text ----------------------------------------------------------------------------------- */

static void json_names(struct strbuf *t, const char *name, const char *text)
{
	char one[sizeof(struct board_conn)];

	json_begin(t, name, '[');
	while (*text != '\0') {
		size_t n = strcspn(text, ",");

		memcpy(one, text, n);
		one[n] = '\0';
		json_text(t, NULL, one);
		text += n + strspn(text + n, ", ");
	}
	json_end(t, ']');
}

static void json_connection(struct strbuf *t, const struct board_conn *c)
{
	json_begin(t, NULL, '{');
	for (const struct column *m = columns; m < columns + COLUMNS; m++)
		if (m->kind == TEXT)
			json_text(t, m->name, text_of(c, m));
		else if (m->kind == NAMES)
			json_names(t, m->name, text_of(c, m));
		else if (m->kind == MS && number_of(c, m) == UINT64_MAX)
			json_plain(t, m->name, "null");
		else
			json_unsigned(t, m->name, number_of(c, m));
	json_end(t, '}');
}

static void json_worker(
	struct strbuf *t, const struct board_slot *s, const struct board_conns *conns)
{
	unsigned n = conns != NULL ? conns->n : 0;

	json_begin(t, NULL, '{');
	json_unsigned(t, "slot", BOARD_LOAD(s->slot));
	json_signed(t, "pid", BOARD_LOAD(s->pid));
	json_unsigned(t, "generation", BOARD_LOAD(s->generation));
	json_plain(t, "answers", conns != NULL ? "true" : "false");
	json_unsigned(t, "left_out", conns != NULL ? conns->live - n : 0);
	json_begin(t, "connections", '[');
	for (unsigned i = 0; i < n; i++)
		json_connection(t, &conns->v[i]);
	json_end(t, ']');
	json_end(t, '}');
}

/* --- the workers ------------------------------------------------------------------------------ */

/* A table that is not older is used. */
static uint64_t since(const struct asked *a)
{
	return a->at_ms > BOARD_CONNS_MS ? a->at_ms - BOARD_CONNS_MS : 1;
}

/* The next worker that may have connections: not one in BOOT. */
static const struct board_slot *next_worker(const struct board *b, unsigned *i)
{
	const struct board_slot *s;

	do
		s = board_next(b, i);
	while (s != NULL && BOARD_LOAD(s->state) == BOARD_BOOT);
	return s;
}

static bool all_have_shown(const struct board *b, uint64_t since_ms)
{
	const struct board_slot *s;

	for (unsigned i = 0; (s = next_worker(b, &i)) != NULL;)
		if (BOARD_LOAD(s->conns.at_ms) < since_ms)
			return false;
	return true;
}

static void status_connections_answer(struct h2d_req *req, const struct asked *a)
{
	const struct board *b = req->env->admin->board;
	struct board_conns *copy = aligned_alloc(_Alignof(struct board_conns), sizeof(*copy));
	const struct board_slot *s;
	struct strbuf t = { .failed = copy == NULL };
	struct timespec wall = clock_wall();

	json_begin(&t, NULL, '{');
	json_unsigned(&t, "time", (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000);
	json_begin(&t, "workers", '[');
	for (unsigned i = 0; copy != NULL && (s = next_worker(b, &i)) != NULL;)
		json_worker(&t, s, board_conns_read(copy, &s->conns, since(a)) ? copy : NULL);
	free(copy);
	strbuf_add(&t, SLICE("]}\n"));
	admin_reply(req, "application/json", &t);
}

/* Asks again each time: an order that came too soon, or met a full queue, was lost. */
static void status_connections_look(struct h2d_req *req, void *state)
{
	struct asked *a = state;
	struct admin *admin = req->env->admin;

	admin->show_connections(admin);
	if (all_have_shown(admin->board, since(a)) || clock_ms() - a->at_ms >= PATIENCE_MS)
		status_connections_answer(req, a);
	else
		h2d_timer_set(a->timer, LOOK_MS);
}

static void status_connections_start(struct h2d_req *req, void *state)
{
	struct asked *a = state;

	a->at_ms = clock_ms();
	a->timer = h2d_timer_new(req, status_connections_look);
	if (a->timer == NULL)
		h2d_reply_error(req, 503);
	else
		status_connections_look(req, a);
}

const struct h2d_handler h2d_handler_status_connections = {
	.name = "status_connections",
	.state_size = sizeof(struct asked),
	.scope = H2D_ON_ADMIN,
	.start = status_connections_start,
};
