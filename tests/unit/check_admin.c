/* check_admin: the answers of admin pages: any length, none without memory, nothing kept. */
#include "board/admin.h"

#include "req_unit.h"

extern const struct h2d_handler h2d_handler_metrics, h2d_handler_status, h2d_handler_status_page;

static struct admin admin;

static bool is_fresh(struct admin *a)
{
	ck_assert_ptr_eq(a, &admin);
	return true;
}

UNIT_SETUP(setup)
{
	env.sites = &sites_plain;
	env.conf.header_size = 1000;
	env.admin = &admin;
	admin = (struct admin){ .board = board_new(), .image_fresh = is_fresh };
	ck_assert_ptr_nonnull(admin.board);
	req.target = SLICE("/later");
	req_start(&req);
	ck_assert(!req.reply.ready);
}

UNIT_TEARDOWN(teardown)
{
	struct board *b = (struct board *)(uintptr_t)admin.board;

	req_teardown();
	board_free(&b);
}

static void assert_field(const char *name, const char *value)
{
	ck_assert(slice_eq(reply_field(name), slice_str(value)));
}

/* More than the arena of a request would hold. */
TEST(long_text)
{
	struct strbuf t = { 0 };

	for (int i = 0; i < 1000; i++)
		for (int j = 0; j < 100; j++)
			strbuf_printf(&t, "%99d\n", i);
	admin_reply(&req, "text/plain", &t);
	ck_assert_ptr_null(t.p);
	ck_assert_int_eq(req.reply.status, 200);
	assert_field("content-type", "text/plain");
	assert_field("content-length", "10000000");
	assert_field("cache-control", "no-store");
	ck_assert_uint_eq(req.reply.body.left, 10000000);
}

TEST(without_memory)
{
	struct strbuf t = { 0 };

	strbuf_add(&t, SLICE("half of it"));
	t.failed = true;
	admin_reply(&req, "text/plain", &t);
	ck_assert_ptr_null(t.p);
	ck_assert_int_eq(req.reply.status, 503);
}

TEST_EACH(pages, 3)
{
	static const struct {
		const struct h2d_handler *handler;
		const char *type, *part;
	} cases[] = {
		{ &h2d_handler_metrics, "text/plain; version=0.0.4; charset=utf-8",
			"\nh2d_keeper_ticks 1\n" },
		{ &h2d_handler_status, "application/json", "\"workers\":[]" },
		{ &h2d_handler_status_page, "text/html; charset=utf-8", "</html>" },
	};

	ck_assert_int_eq(cases[_i].handler->scope, H2D_ON_ADMIN);
	cases[_i].handler->start(&req, NULL);
	ck_assert_int_eq(req.reply.status, 200);
	assert_field("content-type", cases[_i].type);
	ck_assert_ptr_nonnull(memmem(
		req.reply.body.p, req.reply.body.left, cases[_i].part, strlen(cases[_i].part)));
}
