/* check_arena: alignment, growth, the cap, and malloc that fails (linked with --wrap). */
#include "base/arena.h"

#include <stdint.h>

#include "unit.h"

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

static int fail_malloc;

void *__wrap_malloc(size_t n)
{
	return fail_malloc ? NULL : __real_malloc(n);
}

TEST(grows)
{
	struct arena a;
	unsigned char *p[400];

	arena_init(&a, NULL, 0, 1 << 20);
	ck_assert_ptr_nonnull(arena_alloc(&a, 0));
	ck_assert_uint_eq(a.used, 0);
	for (size_t i = 0; i < 400; i++) {
		p[i] = arena_alloc(&a, i);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % 8, 0);
		memset(p[i], (int)i, i);
	}
	for (size_t i = 0; i < 400; i++) {
		for (size_t k = 0; k < i; k++) {
			if (p[i][k] != (i & 0xff))
				ck_abort_msg("allocation %zu was overwritten at %zu", i, k);
		}
	}
	ck_assert_uint_ge(a.used, 399 * 400 / 2);
	ck_assert_uint_le(a.used, a.cap);
	arena_reset(&a);
	ck_assert_uint_eq(a.used, 0);
	ck_assert_ptr_null(a.chunks);
	ck_assert_ptr_nonnull(arena_alloc(&a, 8));
	arena_reset(&a);
}

TEST_EACH(for_any_type, 3)
{
	_Alignas(max_align_t) char buf[256];
	struct arena a;

	for (size_t n = 1; n < 40; n++) {
		arena_init(&a, _i == 0 ? NULL : buf + 8 * (_i - 1), _i == 0 ? 0 : 200, 1 << 16);
		for (int i = 0; i < 20; i++) {
			char *p = arena_alloc_any(&a, n), *q = arena_zalloc(&a, n);

			ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
			ck_assert_uint_eq((uintptr_t)q % _Alignof(max_align_t), 0);
			memset(p, 'x', n);
			for (size_t k = 0; k < n; k++)
				ck_assert_int_eq(q[k], 0);
			ck_assert_ptr_nonnull(arena_alloc(&a, n));
		}
		arena_reset(&a);
	}
}

#ifndef __SANITIZE_ADDRESS__
TEST_EACH(first_buffer, !UNIT_SANITIZED)
{
	_Alignas(8) char buf[109];
	struct arena a;
	char *p;

	/* Every misalignment of the caller's buffer, and sizes down to nothing. */
	for (size_t skip = 0; skip < 8; skip++) {
		for (size_t size = 0; size <= 100; size++) {
			memset(buf, 'x', sizeof(buf));
			arena_init(&a, buf + skip, size, 0);
			while ((p = arena_alloc(&a, 5)) != NULL) {
				ck_assert_uint_eq((uintptr_t)p % 8, 0);
				ck_assert(p >= buf + skip && p + 5 <= buf + skip + size);
				memset(p, 'y', 5);
			}
			ck_assert_int_eq(buf[skip + size], 'x');
		}
	}
	arena_init(&a, buf, 104, 0);
	p = arena_alloc(&a, 104);
	ck_assert_ptr_eq(p, buf);
	ck_assert_ptr_null(arena_alloc(&a, 1));
	arena_reset(&a);
	ck_assert_ptr_eq(arena_alloc(&a, 1), buf);
}

#endif

TEST(cap)
{
	struct arena a;
	size_t got = 0;

	arena_init(&a, NULL, 0, 10000);
	while (arena_alloc(&a, 100) != NULL)
		got += 100;
	ck_assert_uint_gt(got, 9000);
	ck_assert_uint_le(a.used, 10000);
	ck_assert_ptr_null(arena_alloc(&a, 100));
	ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX / 2));
	ck_assert_ptr_null(arena_zalloc(&a, 100));
	ck_assert_ptr_null(arena_strdup(&a,
		"a string that is longer than what is left, however one "
		"counts: the rest of the last chunk is less than the hundred bytes asked before"));
	arena_reset(&a);

	arena_init(&a, NULL, 0, 10000);
	ck_assert_ptr_null(arena_alloc(&a, 10001));
	ck_assert_ptr_nonnull(arena_alloc(&a, 9000));
	ck_assert_ptr_nonnull(arena_alloc(&a, 900));
	arena_reset(&a);

	arena_init(&a, NULL, 0, 0);
	ck_assert_ptr_null(arena_alloc(&a, 1));
	ck_assert_ptr_null(arena_printf(&a, "%d", 1));
}

#ifndef __SANITIZE_ADDRESS__
TEST_EACH(large_keeps_current, !UNIT_SANITIZED)
{
	struct arena a;
	char *p, *q;

	arena_init(&a, NULL, 0, 1 << 20);
	p = arena_alloc(&a, 8);
	ck_assert_ptr_nonnull(arena_alloc(&a, 100000));
	q = arena_alloc(&a, 8);
	ck_assert_ptr_eq(q, p + 8);
	arena_reset(&a);
}

#endif

TEST(copies)
{
	struct arena a;
	struct slice s;
	char *p;

	arena_init(&a, NULL, 0, 1 << 20);
	s = arena_dup(&a, SLICE("a\0b"));
	ck_assert(slice_eq(s, SLICE("a\0b")));
	ck_assert_int_eq(s.p[3], '\0');
	s = arena_dup(&a, (struct slice){ 0 });
	ck_assert_ptr_nonnull(s.p);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_str_eq(arena_strdup(&a, "xyz"), "xyz");
	p = arena_zalloc(&a, 64);
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(p[i], 0);
	arena_reset(&a);
}

/* Around every border of what is left of a chunk, odd first buffers among them. */
TEST(printf_at_borders)
{
	char buf[64], text[80], want[80];
	struct arena a;

	for (size_t size = 0; size <= 64; size++) {
		for (int n = 0; n < 79; n++) {
			memset(text, 'a' + n % 26, sizeof(text));
			text[n] = '\0';
			arena_init(&a, buf, size, 1 << 16);
			ck_assert_str_eq(arena_printf(&a, "%s", text), text);
			snprintf(want, sizeof(want), "%d-%.60s", n, text);
			ck_assert_str_eq(arena_printf(&a, "%d-%.60s", n, text), want);
			arena_reset(&a);
		}
	}
}

TEST(no_memory)
{
	struct arena a;
	void *got[4];

	arena_init(&a, NULL, 0, 1 << 20);
	/* libcheck calls malloc too. */
	fail_malloc = 1;
	got[0] = arena_alloc(&a, 1);
	got[1] = arena_zalloc(&a, 1);
	got[2] = arena_strdup(&a, "");
	got[3] = (void *)(uintptr_t)arena_dup(&a, SLICE("x")).p;
	fail_malloc = 0;
	for (int i = 0; i < 4; i++)
		ck_assert_ptr_null(got[i]);
	ck_assert_uint_eq(a.used, 0);
	ck_assert_ptr_nonnull(arena_alloc(&a, 1));
	arena_reset(&a);
}

/* The last lengths below SIZE_MAX, an empty arena and one that has room, without a bound. */
TEST_EACH(lengths_that_wrap, 2)
{
	_Alignas(8) static char first[64];
	static const char byte;
	struct arena a;

	for (size_t less = 0; less < 40; less++) {
		size_t n = SIZE_MAX - less;

		arena_init(&a, _i == 0 ? NULL : first, _i == 0 ? 0 : sizeof(first), SIZE_MAX);
		ck_assert_ptr_null(arena_alloc(&a, n));
		ck_assert_ptr_null(arena_alloc(&a, n - PTRDIFF_MAX + 40));
		ck_assert_ptr_null(arena_zalloc(&a, n));
		ck_assert_ptr_null(arena_dup(&a, slice_of(&byte, n)).p);
		ck_assert_ptr_null(arena_join(&a, slice_of(&byte, n), SLICE("")).p);
		ck_assert_ptr_null(arena_join(&a, slice_of(&byte, n), slice_of(&byte, less + 1)).p);
		ck_assert_ptr_null(arena_join(&a, slice_of(&byte, less + 9), slice_of(&byte, n)).p);
		ck_assert_uint_eq(a.used, 0);
		ck_assert_ptr_nonnull(arena_alloc(&a, 8));
		arena_reset(&a);
	}
}

#ifndef __SANITIZE_ADDRESS__
/* What is free stays a multiple of 8, whatever the cap is: what is asked for never passes it. */
TEST_EACH(odd_caps, !UNIT_SANITIZED)
{
	for (size_t most = 24; most < 80; most++) {
		struct arena a;
		char *p;

		arena_init(&a, NULL, 0, most);
		p = arena_alloc(&a, 1);
		ck_assert_ptr_nonnull(p);
		for (size_t n = 16; arena_alloc(&a, 1) != NULL; n += 8)
			ck_assert_uint_le(n + 16, most);
		memset(p, 'x', (size_t)(a.cur - p));
		arena_reset(&a);
	}
}

#endif
