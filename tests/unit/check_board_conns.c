/* check_board_conns: the table of connections, and what a reader makes of one gone mad. */
#include "board/board.h"

#include "unit.h"

static struct board_conns *table, *copy;

UNIT_SETUP(setup)
{
	table = aligned_alloc(_Alignof(struct board_conns), sizeof(*table));
	copy = aligned_alloc(_Alignof(struct board_conns), sizeof(*copy));
	ck_assert(table != NULL && copy != NULL);
	memset(table, 0, sizeof(*table));
}

UNIT_TEARDOWN(teardown)
{
	free(table);
	free(copy);
}

static void put(unsigned rows, unsigned live, uint64_t now_ms)
{
	board_conns_begin(table);
	for (unsigned i = 0; i < rows; i++)
		board_conns_add(table)->streams = i + 1;
	board_conns_end(table, live, now_ms);
}

TEST(written_and_read)
{
	ck_assert(!board_conns_read(copy, table, 1)); /* never written */
	put(3, 3, 100);
	ck_assert(board_conns_read(copy, table, 100));
	ck_assert_uint_eq(copy->n, 3);
	ck_assert_uint_eq(copy->live, 3);
	ck_assert_uint_eq(copy->v[2].streams, 3);
	ck_assert(!board_conns_read(copy, table, 101)); /* too old */
	table->v[0].flags[0] = 'x';
	put(1, 1, 200);
	ck_assert(board_conns_read(copy, table, 101));
	ck_assert_uint_eq(copy->n, 1);
	ck_assert_str_eq(copy->v[0].flags, "");
}

TEST(more_than_fit)
{
	board_conns_begin(table);
	for (unsigned i = 0; i < BOARD_CONNS; i++)
		ck_assert_ptr_eq(board_conns_add(table), &table->v[i]);
	ck_assert_ptr_null(board_conns_add(table));
	board_conns_end(table, 1000, 1);
	ck_assert(board_conns_read(copy, table, 1));
	ck_assert_uint_eq(copy->n, BOARD_CONNS);
	ck_assert_uint_eq(copy->live, 1000);
}

/* Nothing of a table that is being written is shown; the next process of the slot writes it anew.
 */
TEST(half_written)
{
	put(2, 2, 100);
	board_conns_begin(table);
	ck_assert(!board_conns_read(copy, table, 100));
	put(1, 1, 200);
	ck_assert(board_conns_read(copy, table, 200));
	ck_assert_uint_eq(copy->n, 1);
}

TEST(a_mad_table)
{
	memset(table, 0xff, sizeof(*table));
	table->version = 2;
	ck_assert(board_conns_read(copy, table, 1));
	ck_assert_uint_eq(copy->n, BOARD_CONNS);
	for (unsigned i = 0; i < copy->n; i++) {
		const struct board_conn *c = &copy->v[i];

		ck_assert_uint_eq(strlen(c->client), sizeof(c->client) - 1);
		ck_assert_uint_eq(strlen(c->protocol), sizeof(c->protocol) - 1);
		ck_assert_uint_eq(strlen(c->transport), sizeof(c->transport) - 1);
		ck_assert_uint_eq(strlen(c->state), sizeof(c->state) - 1);
		ck_assert_uint_eq(strlen(c->waits_for), sizeof(c->waits_for) - 1);
		ck_assert_uint_eq(strlen(c->streams_wait_for), sizeof(c->streams_wait_for) - 1);
		ck_assert_uint_eq(strlen(c->flags), sizeof(c->flags) - 1);
	}
	table->live = 0; /* fewer than it shows */
	ck_assert(board_conns_read(copy, table, 1));
	ck_assert_uint_eq(copy->live, BOARD_CONNS);
	table->n = BOARD_CONNS; /* it writes beyond its table: there is no row for it */
	ck_assert_ptr_null(board_conns_add(table));
}
