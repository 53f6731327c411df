/* worker_conns: makes the rows of the worker's connections, in words, from session_look(). */

#include <ctype.h>
#include <stdio.h>

#include "base/clock.h"
#include "server/worker_state.h"

enum { ASK_MS = BOARD_CONNS_MS / 2 }; /* however many admin requests wait for the others */

/* Puts a text into a zeroed row: in lower case, like states in /status.json. */
static void put_lower(char *to, size_t size, const char *text)
{
	for (size_t i = 0; i < size - 1 && text[i] != '\0'; i++)
		to[i] = (char)tolower((unsigned char)text[i]);
}

static void put(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text != NULL ? text : "");
}

/* The flags of the session, then those of all kinds. */
static void put_flags(struct board_conn *row, const struct session_look *look)
{
	const struct {
		bool is;
		const char *name;
	} more[] = {
		{ look->told.full, "full" },
		{ !look->heard, "silent" },
		{ look->leaving, "leaving" },
		{ look->admin, "admin" },
	};
	char text[FLAGS_TEXT + 64];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", look->flags);

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i].is)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n > 0 ? ", " : "",
				more[i].name);
	put_lower(row->flags, sizeof(row->flags), text);
}

static void put_row(struct board_conn *row, const struct session_look *look)
{
	char why[PROTO_TOLD_TEXT], host[ADDR_HOST_TEXT];

	if (addr_port(look->peer) != 0)
		addr_format(look->peer, row->client, sizeof(row->client));
	else
		put_lower(row->client, sizeof(row->client), addr_format_host(look->peer, host));
	put(row->subject, sizeof(row->subject), look->subject);
	put(row->protocol, sizeof(row->protocol), look->protocol);
	put(row->transport, sizeof(row->transport), look->transport);
	put_lower(row->state, sizeof(row->state), look->state);
	put(row->waits_for, sizeof(row->waits_for), look->waits_for);
	put(row->streams_wait_for, sizeof(row->streams_wait_for),
		proto_told_text(&look->told, why));
	put_flags(row, look);
	row->age_ms = look->age_ms;
	row->left_ms = look->left_ms;
	row->requests = look->requests;
	row->bytes_in = look->bytes_in;
	row->bytes_out = look->bytes_out;
	row->streams = look->streams;
	row->unread = look->unread;
	row->held = look->held + look->told.held;
	row->queued = look->queued;
}

/* Puts the idle ones, or the others, as far as there is room for them; returns their number. */
static unsigned put_those(struct board_conns *t, const struct sessions *all, bool idle)
{
	unsigned n = 0;

	LIST_EACH(struct session, s, node, &all->live) {
		struct session_look look;
		struct board_conn *row;

		if ((session_speaks(s) && s->need.wait == PROTO_IDLE) != idle ||
			s->state == SESSION_DEAD)
			continue;
		n++;
		row = board_conns_add(t);
		if (row == NULL)
			continue;
		session_look(s, &look);
		put_row(row, &look);
	}
	return n;
}

void worker_conns_show(struct worker *w)
{
	struct board_conns *t = &w->args->board_slot->conns;
	unsigned live;

	board_conns_begin(t);
	/* Idle ones cannot hang: they are left out first. */
	live = put_those(t, &w->sessions, false);
	live += put_those(t, &w->sessions, true);
	board_conns_end(t, live, clock_ms());
}

void worker_conns_ask(struct worker *w)
{
	uint64_t now = clock_ms();

	if (w->conns_asked_ms != 0 && now - w->conns_asked_ms < ASK_MS)
		return;
	w->conns_asked_ms = now;
	worker_conns_show(w);
	/* For a full queue, or a dead master, the page asks again, or answers without the
	 * others. */
	ctl_send(w->args->ctl, &(struct ctl_msg){ .type = CTL_SHOW }, NULL, 0);
}
