/* check_worker_room: how a worker shares out its descriptors. */
#include "server/worker_state.h"
#include "unit.h"

static void expect(uint64_t descriptors, unsigned wanted, unsigned connections, unsigned files)
{
	struct worker_room room = worker_room_of(descriptors, wanted);

	ck_assert_uint_eq(room.connections, connections);
	ck_assert_uint_eq(room.files, files);
	ck_assert(descriptors < 4 || room.connections + room.files < descriptors);
}

TEST(shares)
{
	expect(524288, 16384, 16384, 4096);
	expect(1024, 16384, 576, 192);
	expect(1024, 16, 16, 192);
	expect(512, 16384, 288, 96);
	expect(16, 16384, 9, 3);
	expect(1, 16384, 1, 1);
	expect(UINT64_MAX, 16384, 16384, 4096); /* RLIM_INFINITY */
}
