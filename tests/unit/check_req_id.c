/* check_req_id: whose id a request has, and where it is shown. */
#include "request/req_id.h"

#include "req_unit.h"

static void ask(bool trusted, const char *id)
{
	conn.trusted = trusted;
	if (id != NULL)
		req_field_add(&req, SLICE("x-request-id"), slice_str(id));
	req_start(&req);
}

static bool is_made(struct slice id)
{
	return id.n == 32 && strspn(id.p, "0123456789abcdef") >= 32;
}

TEST(made_once)
{
	struct slice id, other;
	size_t n;

	ask(false, NULL);
	id = req_id(&req);
	ck_assert(is_made(id));
	ck_assert_ptr_eq(req_id(&req).p, id.p);
	ck_assert_str_eq(h2d_req_id(&req, &n), id.p);
	ck_assert_uint_eq(n, id.n);
	req.id.n = 0;
	req.id_text[0] = 'x';
	other = req_id(&req);
	ck_assert(is_made(other));
}

/* More than one call of the kernel brings. */
TEST(none_twice)
{
	static char ids[100][32];

	ask(false, NULL);
	for (int i = 0; i < 100; i++) {
		req.id.n = 0;
		memcpy(ids[i], req_id(&req).p, 32);
		for (int j = 0; j < i; j++)
			ck_assert_int_ne(memcmp(ids[i], ids[j], 32), 0);
	}
}

static const struct {
	const char *id;
	bool taken; /* from a trusted proxy */
} came[] = {
	{ "0b4c9e57-7e0e-4b59-8b1f-3a9a6f2f1c11", true },
	{ "Root=1-67891233-abcdef012345678912345678", true },
	{ "AZaz09-._~+/=:@", true },
	{ "", false },
	{ "a b", false },
	{ "a\"b", false },
	{ "a<b", false },
	{ "a\\b", false },
	{ "a,b", false },
	{ "\xc3\xa9", false },
};

TEST_EACH(a_proxys, 2 * sizeof(came) / sizeof(came[0]))
{
	ask(_i % 2, came[_i / 2].id);
	if (_i % 2 == 1 && came[_i / 2].taken)
		ck_assert(slice_eq(req_id(&req), slice_str(came[_i / 2].id)));
	else
		ck_assert(is_made(req_id(&req)));
}

TEST_EACH(too_long, 2)
{
	char id[130];

	memset(id, 'a', sizeof(id));
	id[128 + _i] = '\0';
	ask(true, id);
	ck_assert_uint_eq(req_id(&req).n, _i == 0 ? 128 : 32);
}

TEST_EACH(of_an_answer, 3)
{
	env.conf.request_ids = _i > 0;
	req.target = SLICE("/later");
	ask(false, NULL);
	if (_i == 2) /* the handler says one itself */
		h2d_reply_header(&req, "x-request-id", "own");
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	if (_i == 0)
		ck_assert_uint_eq(reply_field("x-request-id").n, 0);
	else if (_i == 1)
		ck_assert(slice_eq(reply_field("x-request-id"), req_id(&req)));
	else
		ck_assert(slice_eq(reply_field("x-request-id"), SLICE("own")));
}

TEST_EACH(of_an_error_page, 2)
{
	struct slice page, id;

	env.conf.request_ids = _i > 0;
	req.target = SLICE("/later");
	ask(true, "a/b=c");
	h2d_reply_error(&req, 404);
	page = slice_of(req.reply.body.p, (size_t)req.reply.body.left);
	id = SLICE("<p class=\"why\">Request a/b=c</p>");
	ck_assert_int_eq(memmem(page.p, page.n, id.p, id.n) != NULL, _i > 0);
}

/* It finds room behind as many fields as a handler may add. */
TEST(room)
{
	env.conf.request_ids = true;
	req.target = SLICE("/later");
	ask(false, NULL);
	while (h2d_reply_header(&req, "x", "y") == 0)
		;
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	ck_assert(is_made(reply_field("x-request-id")));
	ck_assert_uint_gt(reply_field("content-length").n, 0);
}

UNIT_FIXTURE(NULL, req_teardown)
