/* check_cache_room: what max-size comes to in little memory. */
#include "machine/cache_room.h"

#include "unit_pure.h"

#define MB(n) (UINT64_C(n) << 20)

TEST(test_a_quarter)
{
	ck_assert_uint_eq(cache_room_of(MB(256), 0), MB(256));
	ck_assert_uint_eq(cache_room_of(MB(256), MB(1024)), MB(256));
	ck_assert_uint_eq(cache_room_of(MB(256), MB(128)), MB(32));
	ck_assert_uint_eq(cache_room_of(0, MB(128)), 0);
	ck_assert_uint_eq(cache_room_of(MB(256), 3), 1);
}
