/* check_cache_room: what max-size comes to in little memory, and after kills. */
#include "machine/cache_room.h"

#include "machine/cgroup.h"
#include "unit.h"

#define MB(n) (UINT64_C(n) << 20)

TEST(test_a_quarter)
{
	ck_assert_uint_eq(cache_room_of(MB(256), 0, 0), MB(256));
	ck_assert_uint_eq(cache_room_of(MB(256), MB(1024), 0), MB(256));
	ck_assert_uint_eq(cache_room_of(MB(256), MB(128), 0), MB(32));
	ck_assert_uint_eq(cache_room_of(0, MB(128), 0), 0);
	ck_assert_uint_eq(cache_room_of(MB(256), 3, 0), 1);
}

TEST(test_halves)
{
	ck_assert_uint_eq(cache_room_of(MB(256), MB(128), 1), MB(16));
	ck_assert_uint_eq(cache_room_of(MB(256), MB(128), 5), MB(1));
	ck_assert_uint_eq(cache_room_of(MB(256), MB(128), 50), MB(1));
	ck_assert_uint_eq(cache_room_of(4096, 0, 50), 4096);
	ck_assert_uint_eq(cache_room_of(0, 0, 3), 0);
}

/* Nobody was killed for want of memory: another SIGKILL changes nothing. */
TEST(test_another_kill)
{
	const struct conf conf = { .cache.max_size = MB(8) };
	struct cache_room r;

	cache_room_init(&r);
	ck_assert(!cache_room_struck(&r, &conf));
	ck_assert_uint_eq(cache_room_size(&r, &conf), MB(8));
}

/* As if a kill had not been counted yet. Another max-size begins anew. */
TEST(test_a_kill)
{
	const struct conf conf = { .cache.max_size = MB(8) }, other = { .cache.max_size = MB(4) };
	struct cache_room r;

	cache_room_init(&r);
	r.kills--;
	ck_assert(cache_room_struck(&r, &conf));
	ck_assert_uint_eq(cache_room_size(&r, &conf), MB(4));
	ck_assert(!cache_room_struck(&r, &conf));
	ck_assert_uint_eq(cache_room_size(&r, &other), MB(4));
	r.kills--;
	ck_assert(cache_room_struck(&r, &other));
	ck_assert_uint_eq(cache_room_size(&r, &other), MB(2));
	ck_assert_uint_eq(cache_room_size(&r, &conf), MB(8));
}

TEST(test_a_count)
{
	struct cache_room r = { .kills = 3 };

	ck_assert(!cache_room_tells(&r, 3));
	ck_assert(cache_room_tells(&r, 5));
	ck_assert(!cache_room_tells(&r, 5));
	for (int i = 0; i < 3; i++) {
		ck_assert(!cache_room_tells(&r, CGROUP_UNTOLD));
		ck_assert(cache_room_tells(&r, CGROUP_UNTOLD));
	}
}

/* There is a least; and where there is no cache it is not what takes the memory. */
TEST(test_the_least)
{
	const struct conf conf = { .cache.max_size = MB(1) }, none = { 0 };
	struct cache_room r;

	cache_room_init(&r);
	r.kills--;
	ck_assert(!cache_room_struck(&r, &none));
	ck_assert(!cache_room_struck(&r, &conf));
	ck_assert_uint_eq(cache_room_size(&r, &conf), MB(1));
}

UNIT_MAIN_PURE("cache_room")
