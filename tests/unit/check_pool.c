/* check_pool: the counts, what is kept, and that a touched free block is seen under ASan. */
#include "base/pool.h"

#include <stdint.h>

#include "base/log.h"
#include "unit.h"

TEST(counts)
{
	struct pool pool;
	void *blocks[10];

	pool_init(&pool, 100, 4);
	for (int i = 0; i < 10; i++) {
		blocks[i] = pool_get(&pool);
		ck_assert_ptr_nonnull(blocks[i]);
		ck_assert_uint_eq((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
		memset(blocks[i], i, 100);
	}
	ck_assert_uint_eq(pool.live, 10);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(((char *)blocks[i])[99], i);
	for (int i = 0; i < 10; i++)
		pool_put(&pool, blocks[i]);
	pool_put(&pool, NULL);
	ck_assert_uint_eq(pool.live, 0);
	ck_assert_uint_eq(pool.nfree, 4);
	/* The one put last is warm, so it comes first. */
	ck_assert_ptr_eq(pool_get(&pool), blocks[3]);
	ck_assert_uint_eq(pool.nfree, 3);
	pool_put(&pool, blocks[3]);
	pool_fini(&pool);
	ck_assert_uint_eq(pool.nfree, 0);
	ck_assert_ptr_null(pool.free);
}

TEST(tiny_and_none_kept)
{
	struct pool pool;
	void *block;

	pool_init(&pool, 1, 0);
	ck_assert_uint_ge(pool.size, sizeof(void *));
	block = pool_get(&pool);
	memset(block, 0, pool.size);
	pool_put(&pool, block);
	ck_assert_uint_eq(pool.nfree, 0);
	pool_fini(&pool);
}

TEST(trimmed_while_in_use)
{
	struct pool pool;
	void *out, *back;

	pool_init(&pool, 100, 4);
	out = pool_get(&pool);
	back = pool_get(&pool);
	memset(out, 7, 100);
	pool_put(&pool, back);
	ck_assert_uint_eq(pool.nfree, 1);
	pools_trim();
	ck_assert_uint_eq(pool.nfree, 0);
	ck_assert_ptr_null(pool.free);
	ck_assert_uint_eq(pool.live, 1);
	ck_assert_int_eq(((char *)out)[99], 7);
	pool_put(&pool, out);
	ck_assert_uint_eq(pool.nfree, 1);
	pool_fini(&pool);
}

TEST_SIGNAL(leak_is_an_assertion, 1, SIGABRT)
{
	struct pool pool;

	log_to(open("/dev/null", O_WRONLY | O_CLOEXEC));
	pool_init(&pool, 8, 1);
	pool_get(&pool);
	pool_fini(&pool);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

TEST_EACH(poisons, UNIT_SANITIZED)
{
	struct pool pool;
	char *block;

	pool_init(&pool, 24, 1);
	for (int round = 0; round < 2; round++) {
		block = pool_get(&pool);
		ck_assert_ptr_null(__asan_region_is_poisoned(block, 24));
		ck_assert_int_ne(__asan_address_is_poisoned(block + 24), 0);
		pool_put(&pool, block);
		for (int i = 0; i < 24; i++)
			ck_assert_int_ne(__asan_address_is_poisoned(block + i), 0);
	}
	pool_fini(&pool);
}
#endif
