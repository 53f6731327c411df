/* check_board: slots, totals that outlive their process, and the JSON of a board gone mad. */
#include "server/board.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

static struct board *board;

static void setup(void)
{
	board = board_new();
	ck_assert_ptr_nonnull(board);
}

static void teardown(void)
{
	board_free(&board);
	ck_assert_ptr_null(board);
}

static char *json(void)
{
	struct arena a;
	struct slice s;
	char *copy;

	arena_init(&a, NULL, 0, 16 << 20);
	s = board_json(board, &a);
	ck_assert_ptr_nonnull(s.p);
	copy = strndup(s.p, s.n);
	ck_assert_uint_eq(strlen(copy), s.n);
	arena_reset(&a);
	return copy;
}

static void assert_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text);
}

START_TEST(take_and_release)
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
END_TEST

/* A worker that writes "free" into its slot does not lose it to another. */
START_TEST(slot_is_not_believed)
{
	struct board_slot *a = board_take(board, 0, 1);

	a->state = BOARD_FREE;
	a->pid = 0;
	ck_assert_ptr_ne(board_take(board, 1, 1), a);
}
END_TEST

START_TEST(totals_outlive)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	char *text;

	a->counters.requests = 5;
	a->counters.connections = 3;
	a->counters.bytes_out = -7; /* a lie */
	b->counters.requests = 11;
	b->counters.connections = 2;
	text = json();
	assert_has(text, "\"totals\":{\"connections\":5");
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	free(text);

	board_release(board, &a);
	text = json();
	assert_has(text, "\"totals\":{\"connections\":2");
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	assert_has(strstr(text, "totals"), "\"bytes_out\":0,");
	free(text);
}
END_TEST

START_TEST(json_shape)
{
	struct board_slot *a;
	char *text;

	clock_set(1, (struct timespec){ .tv_sec = 1042 });
	board->head.started = 1000;
	board->head.generation = 3;
	board->head.image = 9;
	board->head.building = 1;
	board->head.keeper_pid = 77;
	board->head.cache.v[CACHE_FACT_entries] = 12;
	board->head.cache.v[CACHE_FACT_adopted] = UINT64_MAX;
	text = json();
	assert_has(text, "{\"version\":\"" PACKAGE_VERSION "\",\"generation\":3,\"uptime\":42,"
		"\"image\":9,\"building\":1,\"keeper\":77,\"cache\":{\"entries\":12,");
	assert_has(text, "\"adopted\":18446744073709551615},\"workers\":[],\"totals\":{");
	free(text);

	a = board_take(board, 4, 3);
	a->pid = 123;
	a->image = 8;
	a->state = BOARD_UP;
	text = json();
	assert_has(text, "\"workers\":[{\"slot\":4,\"pid\":123,\"generation\":3,\"state\":\"up\","
		"\"image\":8,\"connections\":0,");
	for (int i = 0; i < COUNTER_COUNT; i++) {
		char name[64];
		const char *first;

		snprintf(name, sizeof(name), "\"%s\":", counter_info[i].name);
		first = strstr(text, name);
		ck_assert_msg(first != NULL && strstr(first + 1, name) != NULL, "%s twice", name);
	}
	ck_assert_str_eq(text + strlen(text) - 3, "}}\n");
	free(text);
}
END_TEST

START_TEST(json_of_a_mad_board)
{
	char *text;

	for (unsigned i = 0; i < BOARD_SLOTS; i++) {
		struct board_slot *s = board_take(board, i, 1);

		memset(s, 0xff, sizeof(*s));
		for (int c = 0; c < COUNTER_COUNT; c++)
			((int64_t *)&s->counters)[c] = INT64_MIN;
	}
	text = json();
	assert_has(text, "\"state\":\"unknown\"");
	ck_assert_str_eq(text + strlen(text) - 3, "}}\n");
	free(text);
}
END_TEST

START_TEST(json_without_memory)
{
	struct arena a;

	arena_init(&a, NULL, 0, 512);
	ck_assert_ptr_null(board_json(board, &a).p);
	arena_reset(&a);
}
END_TEST

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
}

static void write_other(struct board_slot *own, struct board_slot *other)
{
	(void)own;
	other->counters.requests = 1;
}

START_TEST(protection)
{
	struct board_slot *own = board_take(board, 0, 1), *other = board_take(board, 1, 1);
	int status;

	ck_assert_int_eq(in_child(write_own, own, other), 0);
	ck_assert_int_eq(own->counters.requests, 1);
	status = in_child(write_other, own, other);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = in_child(write_other, NULL, other);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	ck_assert_int_eq(other->counters.requests, 0);
}
END_TEST

static TCase *tests(void)
{
	TCase *t = tcase_create("board");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, take_and_release);
	tcase_add_test(t, slot_is_not_believed);
	tcase_add_test(t, totals_outlive);
	tcase_add_test(t, json_shape);
	tcase_add_test(t, json_of_a_mad_board);
	tcase_add_test(t, json_without_memory);
	tcase_add_test(t, protection);
	return t;
}

UNIT_MAIN("board")
