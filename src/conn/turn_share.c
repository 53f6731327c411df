/* turn_share: counts writes by turn. stream_turn alone calls it. */
#include "conn/stream_conn.h"

static void turn_share_begin(struct turn_share *s, uint64_t turn)
{
	s->before = s->now;
	if (s->turn + 1 != turn)
		s->before.brief = s->before.lengthy = 0;
	s->now.brief = s->now.lengthy = 0;
	s->turn = turn;
}

void turn_share_wrote(struct turn_share *s, uint64_t turn, bool lengthy)
{
	if (s->turn != turn)
		turn_share_begin(s, turn);
	s->now.brief += !lengthy;
	s->now.lengthy += lengthy;
}

size_t turn_share_piece(struct turn_share *s, uint64_t turn, size_t most)
{
	unsigned lengthy;
	size_t piece;

	if (s->turn != turn)
		turn_share_begin(s, turn);
	lengthy = s->now.lengthy > s->before.lengthy ? s->now.lengthy : s->before.lengthy;
	if (lengthy * (size_t)PIECE_MOST <= most || s->now.brief + s->before.brief == 0)
		return PIECE_MOST;
	piece = most / lengthy;
	return piece > PIECE_LEAST ? piece : PIECE_LEAST;
}
