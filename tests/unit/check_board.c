/* check_board: slots, totals that outlive their process, and who can write what. */
#include "board/board.h"

#include "board_unit.h"
#include "states_unit.h"

TEST(take_and_release)
{
	struct board_slot *s[BOARD_SLOTS];

	ck_assert_uint_eq(board_room(board), BOARD_SLOTS);
	for (unsigned i = 0; i < BOARD_SLOTS; i++) {
		s[i] = board_take(board, i, 7);
		ck_assert_ptr_nonnull(s[i]);
		ck_assert_uint_eq(s[i]->slot, i);
		ck_assert_uint_eq(s[i]->generation, 7);
		ck_assert_uint_eq(s[i]->state, BOARD_BOOT);
		ck_assert_int_eq(s[i]->pid, 0);
	}
	ck_assert_uint_eq(board_room(board), 0);
	ck_assert_ptr_null(board_take(board, 0, 8));
	s[5]->pid = 1;
	strcpy(s[5]->words, "last");
	board_release(board, &s[5]);
	ck_assert_ptr_null(s[5]);
	ck_assert_uint_eq(board_room(board), 1);
	s[5] = board_take(board, 3, 9);
	ck_assert_ptr_nonnull(s[5]);
	ck_assert_str_eq(s[5]->words, "");
}

/* A worker that clears its slot does not lose it to another. */
TEST(slot_is_not_believed)
{
	struct board_slot *a = board_take(board, 0, 1);

	a->state = BOARD_BOOT;
	a->pid = 0;
	ck_assert_ptr_ne(board_take(board, 1, 1), a);
}

TEST(states)
{
	states_unit_walk(&board_states, "boot>up up>drain", NULL);
}

TEST(next)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	struct board_slot *c = board_take(board, 2, 1);
	unsigned i = 0;

	board_release(board, &b);
	ck_assert_ptr_eq(board_next(board, &i), a);
	ck_assert_ptr_eq(board_next(board, &i), c);
	ck_assert_ptr_null(board_next(board, &i));
	ck_assert_ptr_null(board_next(board, &i));
}

/* What only grows is kept when its process goes, unless it is a lie. */
TEST(totals_outlive)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	const struct counters *kept = &board->head.retired;

	a->counters.requests = 5;
	a->counters.connections = 3;
	a->counters.bytes_out = -7;
	a->counters.handshake_us.values = 2;
	a->counters.handshake_us.sum = INT64_MAX;
	a->counters.handshake_us.buckets[1] = 2;
	a->counters.handshake_us.buckets[2] = -2;
	b->counters.requests = 11;
	b->counters.handshake_us.sum = INT64_MAX;
	b->counters.handshake_us.buckets[1] = 3;
	a->times.v[1][1].duration.sum = 7;
	a->slot = 1; /* a lie, too */
	board_release(board, &a);
	board_release(board, &b);
	ck_assert_int_eq(kept->requests, 16);
	ck_assert_int_eq(board->head.retired_of[0].requests, 5);
	ck_assert_int_eq(board->head.retired_of[1].requests, 11);
	ck_assert_int_eq(board->head.retired_times.v[1][1].duration.sum, 7);
	ck_assert_int_eq(kept->connections, 0);
	ck_assert_int_eq(kept->bytes_out, 0);
	ck_assert_int_eq(kept->handshake_us.values, 2);
	ck_assert_int_eq(kept->handshake_us.sum, -2); /* it wraps, and that is all */
	ck_assert_int_eq(kept->handshake_us.buckets[1], 5);
	ck_assert_int_eq(kept->handshake_us.buckets[2], 0);
}

/* A reader that has a process retired in each of its first readings, as many as `retirements` says.
 */
struct reader {
	int retirements, times;
};

static void on_read(const struct board *b, void *to)
{
	struct reader *r = to;
	struct board_slot *s;

	ck_assert_ptr_eq(b, board);
	if (++r->times <= r->retirements) {
		s = board_take(board, 0, 1);
		board_release(board, &s);
	}
}

static int read_with(int retirements)
{
	struct reader r = { .retirements = retirements };

	board_read(board, 10, on_read, &r);
	return r.times;
}

/* What is read is of one moment, if there is one. */
TEST(retired_meanwhile)
{
	ck_assert_int_eq(read_with(0), 1);
	ck_assert_int_eq(read_with(1), 2);
	ck_assert_int_eq(read_with(3), 4);
	ck_assert_int_eq(read_with(100), 10);
	board->head.retirements++; /* in the middle of it, for ever */
	ck_assert_int_eq(read_with(0), 10);
}

static int in_child(void (*fn)(struct board_slot *own, struct board_slot *other),
	struct board_slot *own, struct board_slot *other)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		if (board_protect(board, own) < 0)
			_exit(2);
		fn(own, other);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void write_own(struct board_slot *own, struct board_slot *other)
{
	own->counters.requests = 1 + other->counters.requests;
	own->conns.live = 1 + other->conns.live;
}

static void write_other(struct board_slot *own, struct board_slot *other)
{
	other->counters.requests = 1;
}

static void write_table_of_other(struct board_slot *own, struct board_slot *other)
{
	other->conns.live = 1;
}

static blkcnt_t memory(void)
{
	struct stat st;

	ck_assert_int_eq(fstat(board->head.fds[0], &st), 0);
	return st.st_blocks * 512;
}

/* Tables of connections take none before they are written or read. */
TEST(memory_of_a_slot)
{
	blkcnt_t before = memory();

	ck_assert_ptr_nonnull(board_take(board, 0, 1));
	/* Huge pages, where the system gives them, are still few. */
	ck_assert_int_lt(
		memory() - before, (blkcnt_t)(BOARD_SLOTS * sizeof(struct board_conns) / 4));
	for (unsigned i = 0; i < BOARD_SLOTS; i++)
		board_conns_begin(&board->slots[i].conns);
	ck_assert_int_gt(memory() - before, (blkcnt_t)(BOARD_SLOTS * 4096));
}

TEST(protection)
{
	struct board_slot *own = board_take(board, 0, 1), *other = board_take(board, 1, 1);
	int status;

	ck_assert_int_eq(in_child(write_own, own, other), 0);
	ck_assert_int_eq(own->counters.requests, 1);
	ck_assert_uint_eq(own->conns.live, 1);
	status = in_child(write_table_of_other, own, other);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = in_child(write_other, own, other);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = in_child(write_other, NULL, other);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	ck_assert_int_eq(other->counters.requests, 0);
}

/* Whether the kernel lets this process make the page at p writable. */
static bool may_write(void *p)
{
	return mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0 || errno != EACCES;
}

static void make_writable(struct board_slot *own, struct board_slot *other)
{
	int failed = 0;

	failed |= may_write(&board->head) << 0;
	failed |= may_write(other) << 1;
	failed |= may_write(&board->slots[BOARD_SLOTS - 1]) << 2;
	failed |= (own != NULL && !may_write(own)) << 3;
	if (own != NULL)
		own->counters.requests = 77;
	for (int i = 0; i < 2; i++)
		failed |= (fcntl(board->head.fds[i], F_GETFD) >= 0) << (4 + i);
	_exit(failed);
}

/* A worker that has gone mad cannot take back the rights to others' pages. */
TEST(protection_is_for_good)
{
	struct board_slot *own = board_take(board, 0, 1), *other = board_take(board, 1, 1);

	ck_assert_int_eq(in_child(make_writable, NULL, other), 0);
	ck_assert_int_eq(in_child(make_writable, own, other), 0);
	ck_assert_int_eq(own->counters.requests, 77);
	/* The parent's rights are as they were. */
	ck_assert(may_write(&board->head) && may_write(other));
	ck_assert_int_ge(fcntl(board->head.fds[0], F_GETFD), 0);
}
