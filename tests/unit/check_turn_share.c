/* check_turn_share: what connections may make in a turn, after writes of turns before. */
#include "conn/stream_conn.h"
#include "unit.h"

static struct turn_share share;

static void wrote(uint64_t turn, unsigned brief, unsigned lengthy)
{
	while (brief-- > 0)
		turn_share_wrote(&share, turn, false);
	while (lengthy-- > 0)
		turn_share_wrote(&share, turn, true);
}

static size_t piece(uint64_t turn)
{
	return turn_share_piece(&share, turn, TURN_BYTES);
}

UNIT_SETUP(setup)
{
	share = (struct turn_share){ 0 };
}

TEST(alone)
{
	ck_assert_uint_eq(piece(1), PIECE_MOST);
	wrote(1, 0, 100);
	ck_assert_uint_eq(piece(1), PIECE_MOST);
	ck_assert_uint_eq(piece(2), PIECE_MOST);
}

/* One download keeps its piece, whoever is beside it. */
TEST(one_beside_short_ones)
{
	wrote(1, 60, 1);
	ck_assert_uint_eq(piece(2), PIECE_MOST);
}

TEST(eight_beside_one_short_one)
{
	wrote(1, 1, 8);
	ck_assert_uint_eq(piece(1), TURN_BYTES / 8);
	ck_assert_uint_eq(piece(2), TURN_BYTES / 8);
	ck_assert_uint_eq(turn_share_piece(&share, 2, TURN_BYTES_TLS), TURN_BYTES_TLS / 8);
	/* What wrote in this turn is part of those that did before. */
	wrote(2, 0, 3);
	ck_assert_uint_eq(piece(2), TURN_BYTES / 8);
	wrote(2, 1, 9);
	ck_assert_uint_eq(piece(2), TURN_BYTES / 12);
}

TEST(never_less_than_a_frame)
{
	wrote(1, 1, 1000);
	ck_assert_uint_eq(piece(2), PIECE_LEAST);
}

TEST(two_turns_later)
{
	wrote(1, 1, 8);
	ck_assert_uint_eq(piece(2), TURN_BYTES / 8);
	wrote(2, 0, 8);
	ck_assert_uint_eq(piece(2), TURN_BYTES / 8);
	wrote(3, 0, 8);
	ck_assert_uint_eq(piece(3), PIECE_MOST);
	/* And where nobody wrote in between. */
	wrote(4, 1, 8);
	ck_assert_uint_eq(piece(6), PIECE_MOST);
}
