/* check_etag: content hashes, and what time stamps tell. */
#include "base/file_id.h"
#include "image/etag.h"
#include "unit.h"

static struct etag hash_of(const char *data, size_t n, size_t piece)
{
	struct etag_hash *h = etag_hash_new();
	struct etag e;

	ck_assert_ptr_nonnull(h);
	/* Twice: a hash is reusable. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(etag_hash_begin(h), 0);
		for (size_t at = 0; at < n; at += piece)
			ck_assert_int_eq(
				etag_hash_add(h, data + at, n - at < piece ? n - at : piece), 0);
		ck_assert_int_eq(etag_hash_end(h, &e), 0);
	}
	etag_hash_free(&h);
	return e;
}

TEST(content)
{
	/* SHA-256("abc") begins with ba7816bf 8f01cfea 41. */
	struct etag e = hash_of("abc", 3, 3), one = hash_of("abc", 3, 1);

	ck_assert_uint_eq(e.n, ETAG_CONTENT_LEN);
	ck_assert_mem_eq(e.text, "\"{ungWv48Bz-pB}\"", ETAG_CONTENT_LEN);
	ck_assert(slice_eq(etag_slice(&e), etag_slice(&one)));
	e = hash_of("", 0, 1);
	ck_assert_mem_eq(e.text, "\"{47DEQpj8HBSa}\"", ETAG_CONTENT_LEN);
}

/* Of a file that is too long for an image: weak for two seconds behind a change. */
TEST(size_and_time)
{
	const int64_t changed = INT64_C(1700000000004000001);
	struct file_id id = {
		.size = 0x123456, .mtime_ns = 0x17979cfe362a0000, .ctime_ns = changed
	};
	struct etag e;

	etag_of_file(&id, changed + 1999999999, SLICE(""), &e);
	ck_assert_str_eq(e.text, "W/\"123456-17979cfe362a0000\"");
	ck_assert_uint_eq(e.n, strlen(e.text));
	ck_assert(e.text[0] == 'W');
	etag_of_file(&id, changed + 2000000000, SLICE(""), &e);
	ck_assert_str_eq(e.text, "\"123456-17979cfe362a0000\"");
	ck_assert(e.text[0] != 'W');
	etag_of_file(&id, changed + 2000000000, SLICE("gzip"), &e);
	ck_assert_str_eq(e.text, "\"123456-17979cfe362a0000-gzip\"");
	/* The longest there is. */
	id = (struct file_id){ .size = UINT64_MAX, .mtime_ns = -1, .ctime_ns = changed };
	etag_of_file(&id, changed, SLICE("zstd"), &e);
	ck_assert_uint_eq(e.n, strlen("W/\"ffffffffffffffff-ffffffffffffffff-zstd\""));
	ck_assert_uint_lt(e.n, sizeof(e.text));
}

/* Within a tick of the last change a further one may not be seen. */
static const struct {
	int64_t ctime_ns, now_ns;
	bool tells;
} cases[] = {
	{ 1700000000004000001, 1700000000004000001, false }, /* the same tick */
	{ 1700000000004000001, 1700000000008000001, true },
	{ 1700000000004000001, 1700000000000000001, false }, /* finer than the coarse clock */
	{ 1700000000004000001, 1600000000000000000, true },  /* another clock */
	{ 1700000000000000000, 1700000001500000000, false }, /* whole seconds */
	{ 1700000000000000000, 1700000002000000001, true },
};

TEST_ROWS(time_stamps_tell, cases)
{
	struct file_id id = { .ctime_ns = cases[_i].ctime_ns };

	ck_assert_msg(file_id_tells(&id, cases[_i].now_ns) == cases[_i].tells, "case %d", _i);
}
