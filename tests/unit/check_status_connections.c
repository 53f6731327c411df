/* check_status_connections: the answer, whatever the workers have written. */

#include "base/clock.h"
#include "board/admin.h"
#include "board_unit.h"
#include "loop_unit.h"
#include "req_unit.h"

extern const struct h2d_handler h2d_handler_status_connections;

static unsigned asked;

/* Two workers show theirs, the second one what a mad one would. */
static void show(struct admin *a)
{
	struct board_conns *t[2] = { &board->slots[0].conns, &board->slots[1].conns };
	struct board_conn *c;

	ck_assert_ptr_eq(a, env.admin);
	asked++;
	board_conns_begin(t[0]);
	for (unsigned i = 0; i < 2; i++) {
		c = board_conns_add(t[0]);
		strcpy(c->client, "192.0.2.1:1234");
		strcpy(c->transport, "tls");
		strcpy(c->waits_for, "the handshake");
		strcpy(c->flags, "readable, admin");
		c->left_ms = i == 0 ? 7000 : UINT64_MAX;
	}
	board_conns_end(t[0], 4, clock_ms());
	memset(t[1], 0xff, sizeof(*t[1]));
	t[1]->version = 2;
	for (unsigned i = 0; i < BOARD_CONNS; i++)
		memcpy(t[1]->v[i].waits_for, "<b>\"&,,,", 8);
}

static struct admin admin = { .show_connections = show };

UNIT_SETUP(setup)
{
	admin.board = board;
	env.sites = &sites_plain;
	env.conf.header_size = 1000;
	env.admin = &admin;
	env.loop = &loop;
	for (unsigned i = 0; i < 3; i++)
		board_take(board, i, 1)->state = i < 2 ? BOARD_UP : BOARD_BOOT;
	asked = 0;
	req.target = SLICE("/later");
	req_start(&req);
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
}

static const char *ask(void)
{
	static char text[1 << 20];
	void *state = arena_zalloc(&req.arena, h2d_handler_status_connections.state_size);

	h2d_handler_status_connections.start(&req, state);
	ck_assert_uint_eq(asked, 1);
	ck_assert_int_eq(req.reply.status, 200);
	ck_assert_uint_lt(req.reply.body.left, sizeof(text));
	memcpy(text, req.reply.body.p, req.reply.body.left);
	text[req.reply.body.left] = '\0';
	return text;
}

#define EXPECT(t, part) ck_assert_msg(strstr(t, part) != NULL, "no %s in\n%s", part, t)

TEST(json)
{
	const char *t = ask();

	ck_assert(slice_eq(reply_field("content-type"), SLICE("application/json")));
	EXPECT(t, "\"workers\":[{\"slot\":0,\"pid\":0,\"generation\":1,\"answers\":true,"
		  "\"left_out\":2,\"connections\":[{\"client\":\"192.0.2.1:1234\",\"protocol\":"
		  "\"\",");
	EXPECT(t, "\"waits_for\":\"the handshake\",\"left_ms\":7000,\"streams_wait_for\":\"\",");
	EXPECT(t, ",\"queued\":0,\"subject\":\"\",\"flags\":[\"readable\",\"admin\"]},");
	EXPECT(t, "\"left_ms\":null,");
	EXPECT(t, "\"<b>\\\"&,,,");
	ck_assert_ptr_null(strstr(t, "\"slot\":2"));
	ck_assert_str_eq(t + strlen(t) - 5, "]}]}\n");
}
