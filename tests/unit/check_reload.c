/*
 * check_reload: reload, drain and respawn with processes that are only numbers and control sockets,
 * and a clock that stands still. Every order of UP, death, HUP, QUIT and deadline that matters, a
 * HUP during a reload, and a third kind of process that is nothing but a row.
 */

#include "base/clock.h"
#include "base/log.h"
#include "event/bus.h"
#include "image/image.h"
#include "master/changes.h"
#include "master/drain.h"
#include "master/launch.h"
#include "master/loan.h"
#include "master/master_signal.h"
#include "master/master_state.h"
#include "master/reload.h"
#include "master/spawn.h"
#include "master/succession.h"
#include "master/supervise.h"
#include "server/dispatch.h"
#include "states_unit.h"
#include "tls/tls_ctx.h"
#include "tls/tls_tickets.h"
#include "unit.h"

enum { PROCESSES = 64, FIRST_PID = 1 << 23, SECOND = 1000 };

/* A process that there is not: what was asked of it. */
struct fake {
	struct child *place; /* NULL: reaped */
	const char *kind;
	unsigned slot;
	uint32_t generation;
	int ctl; /* its end */
	int signo;
};

static struct fake fakes[PROCESSES];
static unsigned nfakes;
static int spawn_error; /* what the next forks fail with */
static uint64_t now;
static struct master m;
static char conf_path[] = "/tmp/h2d-check-reload-XXXXXX";

/* --- the machine ------------------------------------------------------------------------------ */

static pid_t fake_spawn(struct child *c, int *ctl)
{
	int ends[2];

	if (spawn_error != 0)
		return spawn_error;
	ck_assert_uint_lt(nfakes, PROCESSES);
	ck_assert_int_eq(scm_pair(ends), 0);
	fakes[nfakes] = (struct fake){ c, c->kind->name, c->slot, c->gen->number, ends[1], 0 };
	*ctl = ends[0];
	return (pid_t)(FIRST_PID + nfakes++);
}

static int fake_kill(pid_t pid, int signo)
{
	fakes[pid - FIRST_PID].signo = signo;
	return 0;
}

static int no_run(const struct gifts *args)
{
	return 0;
}

static unsigned one(const struct conf *conf)
{
	return 1;
}

static unsigned two(const struct conf *conf)
{
	return 2;
}

static unsigned four(const struct conf *conf)
{
	return 4;
}

#define KEEPER \
	{ \
		.name = "keeper", .run = no_run, .count = one, \
		.gets = CHILD_ERROR_LOG | CHILD_LAST_IMAGE, \
		.says = CHILD_SAYS(CTL_IMAGE) | CHILD_SAYS(CTL_CACHE), \
		.restart = { .first = 100, .most = 10000 }, \
	}
/* Further arguments: how long it rests. */
#define WORKER(number, given, said, ...) \
	{ \
		.name = "worker", .numbered = true, .board = true, .run = no_run, .count = number, \
		.gets = (given), .says = CHILD_SAYS(CTL_UP) | (said), .awaited = true, \
		.restart = { __VA_ARGS__ }, \
	}
#define ACCEPTOR(given, ...) \
	{ \
		.name = "acceptor", .run = no_run, .count = one, .gets = (given), \
		.says = CHILD_SAYS(CTL_UP), .awaited = true, .restart = { __VA_ARGS__ }, \
	}

static const struct child_kind kinds[] = {
	KEEPER,
	WORKER(two, CHILD_LISTENERS | CHILD_ERROR_LOG | CHILD_IMAGES, CHILD_SAYS(CTL_AGAIN),
		.first = 100, .most = 10000),
	{ .name = NULL },
};

/* The same and an acceptor, which is awaited, and rests for a second from its fourth death on. */
static const struct child_kind more_kinds[] = {
	KEEPER,
	WORKER(two, CHILD_ERROR_LOG | CHILD_IMAGES, 0, .first = 100, .most = 10000),
	ACCEPTOR(CHILD_LISTENERS | CHILD_ERROR_LOG, .first = 1000, .most = 1000),
	{ .name = NULL },
};

/* As with dispatch = acceptor. */
static const struct child_kind with_inboxes[] = {
	WORKER(two, CHILD_LISTENERS | CHILD_INBOX, CHILD_SAYS(CTL_FULL), .first = 100,
		.most = 10000),
	ACCEPTOR(CHILD_INBOXES | CHILD_SERVE, .first = 20, .most = 50),
	{ .name = NULL },
};

static const struct child_kind four_workers[] = {
	WORKER(four, CHILD_LISTENERS | CHILD_ERROR_LOG, 0, .first = 100, .most = 10000),
	{ .name = NULL },
};

/* Their last one rests for 50 ms at most, as h2d's own workers. */
static const struct child_kind lasting_workers[] = {
	WORKER(two, CHILD_LISTENERS | CHILD_ERROR_LOG, 0, .first = 1000, .most = 10000, .last = 50),
	{ .name = NULL },
};

static void end_turn(void)
{
	struct list *node;

	while ((node = list_pop(&m.loop.deferred)) != NULL)
		LIST_ENTRY(node, struct task, node)->fn(LIST_ENTRY(node, struct task, node));
}

static void pass(uint64_t ms)
{
	now += ms;
	clock_set(now * 1000, (struct timespec){ .tv_sec = 1 });
	wheel_advance(&m.loop.wheel, now);
	end_turn();
}

static void write_conf(const char *more)
{
	FILE *f = fopen(conf_path, "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f,
		"listen \"127.0.0.1:0\" { tls = false }\nshutdown-timeout = 5\nlog-level = error\n"
		"user = \"root\"\nserver \"_\" { root = \"/tmp\" }\n%s",
		more);
	fclose(f);
}

UNIT_SETUP(set_up)
{
	static struct conf_override ov = { .file = conf_path };

	strcpy(conf_path + sizeof(conf_path) - 7, "XXXXXX");
	close(mkstemp(conf_path));
	write_conf("");
	memset(&m, 0, sizeof(m));
	memset(fakes, 0, sizeof(fakes));
	nfakes = 0;
	spawn_error = 0;
	log_max = LEVEL_ALERT;
	m.given.ov = &ov;
	m.processes.kinds = kinds;
	m.processes.env = (struct child_env){ &m.loop, &supervise_ops, fake_spawn, fake_kill };
	m.pidfile = PIDFILE_NONE;
	m.next_image = 1;
	m.shared.board = board_new();
	m.shared.bus = bus_new();
	list_init(&m.gens.all);
	sockets_init(&m.sockets);
	master_signal_init(&m);
	reload_init(&m);
	succession_init(&m);
	ck_assert_int_eq(loop_init(&m.loop), 0);
	now = clock_read_us() / 1000;
	pass(0);
}

/* --- files that change ------------------------------------------------------------------------ */

static char keys_path[sizeof(conf_path) + 8];

/* A file of a key of session tickets, which is replaced. */
static void put_key(char c, int n)
{
	char beside[sizeof(keys_path) + 8];
	FILE *f;

	snprintf(beside, sizeof(beside), "%s.new", keys_path);
	f = fopen(beside, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fchmod(fileno(f), 0600), 0);
	fprintf(f, "%0*d%c", n - 1, 0, c);
	fclose(f);
	ck_assert_int_eq(rename(beside, keys_path), 0);
}

static void write_keys_conf(void)
{
	char more[128];

	snprintf(keys_path, sizeof(keys_path), "%s.keys", conf_path);
	put_key('a', 80);
	snprintf(more, sizeof(more), "tls { session-ticket-key-file = \"%s\" }\n", keys_path);
	write_conf(more);
}

static void pass_seconds(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		changes_second(&m);
		pass(SECOND);
	}
}

/* Time enough to see that a file is quiet. */
static void settle(void)
{
	pass_seconds(3);
}

/* --- what happens to a process ---------------------------------------------------------------- */

static struct fake *find(const char *kind, unsigned slot, uint32_t generation)
{
	for (unsigned i = 0; i < nfakes; i++) {
		struct fake *f = &fakes[i];

		if (f->place != NULL && strcmp(f->kind, kind) == 0 && f->slot == slot &&
			f->generation == generation)
			return f;
	}
	return NULL;
}

static struct fake *worker(unsigned slot, uint32_t generation)
{
	return find("worker", slot, generation);
}

static void hear_with(const struct fake *f, const struct ctl_msg *msg, int nfds)
{
	static const int fds[IMAGE_FDS]; /* stdin */
	struct watch *w = &f->place->ctl;

	ck_assert_int_eq(ctl_send(f->ctl, msg, fds, nfds), 0);
	w->fn(w, EPOLLIN);
}

static void hear(const struct fake *f, const struct ctl_msg *msg)
{
	hear_with(f, msg, 0);
}

/* The keeper of the first generation has made an image. */
static void hear_image(uint64_t number, int nfds)
{
	const struct ctl_msg msg = { .type = CTL_IMAGE, .arg = number, .size = 1 };

	hear_with(find("keeper", 0, 1), &msg, nfds);
}

static void up(const struct fake *f)
{
	struct ctl_msg msg = { .type = CTL_UP };

	hear(f, &msg);
}

/* Both workers of a generation. */
static void up_both(uint32_t generation)
{
	up(worker(0, generation));
	up(worker(1, generation));
}

static void die(struct fake *f)
{
	struct child *c = f->place;

	f->place = NULL;
	close(f->ctl);
	child_reaped(c, SIGKILL);
	end_turn();
}

static void die_all(uint32_t generation)
{
	for (unsigned i = 0; i < nfakes; i++)
		if (fakes[i].place != NULL && fakes[i].generation == generation)
			die(&fakes[i]);
}

static unsigned alive(uint32_t generation)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nfakes; i++)
		n += fakes[i].place != NULL && fakes[i].generation == generation;
	return n;
}

/* The type of the next message to it, 0: none. */
static unsigned told(struct fake *f)
{
	struct ctl_msg msg = { 0 };
	int fds[CTL_FDS_MAX], nfds = 0;

	if (ctl_recv(f->ctl, &msg, fds, &nfds) <= 0)
		return 0;
	while (nfds > 0)
		close(fds[--nfds]);
	return msg.type;
}

/* Whether the next message lends it the socket of that slot, or takes it back; and the right one.
 */
static bool told_of(struct fake *f, unsigned type, unsigned slot)
{
	const struct listener *l = &m.current->sockets[0]->listener;
	struct ctl_msg msg = { 0 };
	struct stat ours, theirs;
	int fds[CTL_FDS_MAX], nfds = 0;

	if (ctl_recv(f->ctl, &msg, fds, &nfds) <= 0)
		return false;
	ck_assert_int_eq(nfds, msg.type == CTL_LISTEN ? 1 : 0);
	if (nfds == 1) {
		ck_assert_int_eq(fstat(l->fds[msg.slot], &ours), 0);
		ck_assert_int_eq(fstat(fds[0], &theirs), 0);
		ck_assert_uint_eq(ours.st_ino, theirs.st_ino);
		close(fds[0]);
	}
	return msg.type == type && msg.listener == l->id && msg.slot == slot;
}

/* Dies so often that its place is empty for a while. */
static void die_for_long(unsigned slot, uint32_t generation)
{
	for (unsigned i = 0; i <= REAP_FREE; i++)
		die(worker(slot, generation));
	ck_assert_ptr_null(worker(slot, generation));
}

/* The first generation, up. */
static void start(void)
{
	reload_begin(&m);
	ck_assert_ptr_nonnull(m.starting);
	up(worker(1, 1));
	up(worker(0, 1));
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	ck_assert_uint_eq(m.current->number, 1);
}

/* As many as the kind has. */
static void start_four(void)
{
	m.processes.kinds = four_workers;
	reload_begin(&m);
	for (unsigned i = 0; i < 4; i++)
		up(worker(i, 1));
}

UNIT_TEARDOWN(tear_down)
{
	spawn_error = 0;
	master_signal(&m, SIGTERM);
	for (uint32_t g = 1; g <= m.gens.last; g++)
		die_all(g);
	ck_assert_uint_eq(m.gens.n, 0);
	ck_assert(m.loop.stop);
	ck_assert_uint_eq(m.loop.wheel.armed, 0);
	ck_assert_uint_eq(board_room(m.shared.board), BOARD_SLOTS);
	loop_fini(&m.loop);
	board_free(&m.shared.board);
	bus_free(&m.shared.bus);
	unlink(conf_path);
}

/* --- wishes of the master's own --------------------------------------------------------------- */

/* The first change is taken up at once, the next ones when a pause is over. */
TEST(a_file_that_changes)
{
	write_keys_conf();
	start();
	settle();
	put_key('a', 80);
	settle();
	ck_assert_uint_eq(m.gens.last, 1);
	put_key('b', 80);
	pass_seconds(1);
	put_key('c', 80);
	pass_seconds(1);
	ck_assert_uint_eq(m.gens.last, 1); /* it may be written still */
	settle();
	ck_assert_uint_eq(m.gens.last, 2);
	up_both(2);
	die_all(1);
	settle();
	put_key('d', 80);
	settle();
	pass_seconds(52);
	ck_assert_uint_eq(m.gens.last, 2);
	pass_seconds(4);
	ck_assert_uint_eq(m.gens.last, 3);
	up_both(3);
	unlink(keys_path);
}

/* Each generation that still finishes downloads doubles the pause. */
TEST(a_file_that_changes_while_others_drain)
{
	static const unsigned pauses[] = { 120, 240 };

	write_keys_conf();
	start();
	for (unsigned i = 0; i < 3; i++) {
		settle();
		put_key((char)('b' + i), 80);
		settle();
		if (i > 0) {
			pass_seconds(pauses[i - 1] - 8);
			ck_assert_uint_eq(m.gens.last, 1 + i);
			pass_seconds(5);
		}
		ck_assert_uint_eq(m.gens.last, 2 + i);
		up_both(2 + i);
	}
	ck_assert_uint_gt(alive(1), 0);
	unlink(keys_path);
}

/* Tried again when it changes, for a reload that failed takes no pause; and once an hour. */
TEST(a_file_that_cannot_be_used)
{
	write_keys_conf();
	start();
	settle();
	put_key('b', 79);
	settle();
	pass_seconds(100);
	ck_assert_uint_eq(m.gens.last, 1);
	ck_assert_uint_eq(m.shared.board->head.counts[BOARD_COUNT_reloads_failed], 1);
	pass_seconds(3550);
	ck_assert_uint_eq(m.shared.board->head.counts[BOARD_COUNT_reloads_failed], 2);
	put_key('b', 80);
	settle();
	ck_assert_uint_eq(m.gens.last, 2);
	up_both(2);
	unlink(keys_path);
}

/* It changes while it is read, or behind that: what serves is not what is there. */
TEST(a_file_that_changes_during_a_reload)
{
	write_keys_conf();
	reload_begin(&m);
	put_key('b', 80);
	up_both(1);
	settle();
	ck_assert_uint_eq(m.gens.last, 2);
	master_signal(&m, SIGHUP);
	put_key('c', 80);
	up_both(2);
	end_turn();
	ck_assert_uint_eq(m.gens.last, 3); /* the HUP, which reads it */
	up_both(3);
	settle();
	pass_seconds(600);
	ck_assert_uint_eq(m.gens.last, 3);
	unlink(keys_path);
}

/* --- the first start -------------------------------------------------------------------------- */

TEST(serves_when_all_are_up)
{
	reload_begin(&m);
	ck_assert_uint_eq(alive(1), 3);
	ck_assert_str_eq(fakes[0].kind, "keeper");
	up(worker(0, 1));
	up(worker(0, 1)); /* twice counts once */
	ck_assert_int_eq(m.starting->state, GEN_START);
	ck_assert_ptr_null(m.current);
	up(worker(1, 1));
	ck_assert_int_eq(m.current->state, GEN_SERVE);
	ck_assert_uint_eq(m.shared.board->head.generation, 1);
	ck_assert_uint_eq(m.shared.board->head.keeper_pid, FIRST_PID);
	ck_assert_uint_eq(m.loop.wheel.armed, 0);
}

TEST(a_death_before_up_ends_the_start)
{
	reload_begin(&m);
	up(worker(0, 1));
	die(worker(0, 1));
	ck_assert_int_eq(m.phase, MASTER_LEAVE);
	ck_assert_int_eq(m.exit_status, 1);
	ck_assert_int_eq(worker(1, 1)->signo, SIGTERM);
}

TEST(not_up_in_time_ends_the_start)
{
	reload_begin(&m);
	up(worker(0, 1));
	pass(29 * SECOND);
	ck_assert_int_eq(m.phase, MASTER_START);
	pass(SECOND);
	ck_assert_int_eq(m.phase, MASTER_LEAVE);
	ck_assert_int_eq(m.exit_status, 1);
}

TEST(a_fork_that_fails_ends_the_start)
{
	spawn_error = -EAGAIN;
	reload_begin(&m);
	end_turn();
	ck_assert_int_eq(m.exit_status, 1);
	ck_assert(m.loop.stop);
}

/* Signals that come before the first generation serves. */
TEST(signals_during_the_start)
{
	reload_begin(&m);
	master_signal(&m, SIGHUP);
	ck_assert_uint_eq(m.gens.last, 1);
	up_both(1);
	end_turn();
	ck_assert_uint_eq(m.gens.last, 2); /* the HUP, now */
	ck_assert_ptr_eq(m.starting->master, &m);
	ck_assert(!(m.wish.asked & 1u << WISH_RELOAD));
}

TEST(quit_during_the_start)
{
	reload_begin(&m);
	up(worker(0, 1));
	master_signal(&m, SIGQUIT);
	ck_assert_uint_eq(told(worker(0, 1)), CTL_DRAIN);
	ck_assert_int_eq(worker(1, 1)->signo, SIGTERM); /* it has nothing to finish */
	ck_assert_uint_eq(told(find("keeper", 0, 1)), CTL_DRAIN);
	up(worker(1, 1)); /* too late to serve */
	ck_assert_ptr_null(m.current);
	die_all(1);
	ck_assert(m.loop.stop);
	ck_assert_int_eq(m.exit_status, 0);
}

/* --- an address that somebody has ------------------------------------------------------------- */

/* Adds a listener to the configuration whose address is taken; the socket that has it. */
static int take_address(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char line[64];

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	getsockname(fd, (struct sockaddr *)&a, &(socklen_t){ sizeof(a) });
	snprintf(
		line, sizeof(line), "listen \"127.0.0.1:%u\" { tls = false }\n", ntohs(a.sin_port));
	write_conf(line);
	return fd;
}

TEST(an_address_is_waited_for)
{
	int fd = take_address();

	reload_begin(&m);
	pass(2900);
	ck_assert_int_eq(m.phase, MASTER_START);
	ck_assert_uint_eq(nfakes, 0);
	close(fd);
	pass(100);
	ck_assert_uint_eq(alive(1), 3);
	up_both(1);
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	ck_assert_int_eq(m.exit_status, 0);
}

TEST(an_address_that_stays_taken)
{
	int fd = take_address();

	reload_begin(&m);
	for (unsigned i = 0; i < 29; i++)
		pass(100);
	ck_assert_int_eq(m.phase, MASTER_START);
	pass(100);
	ck_assert_int_eq(m.phase, MASTER_LEAVE);
	ck_assert_int_eq(m.exit_status, 3);
	close(fd);
}

/* TERM and QUIT meanwhile end the start at once. */
TEST_EACH(a_signal_while_an_address_is_waited_for, 2)
{
	int fd = take_address();

	reload_begin(&m);
	master_signal(&m, _i == 0 ? SIGTERM : SIGQUIT);
	end_turn();
	ck_assert(m.loop.stop);
	ck_assert_int_eq(m.exit_status, 0);
	close(fd);
}

/* A reload does not wait: there is a generation that goes on. */
TEST(a_reload_waits_for_no_address)
{
	int fd;

	start();
	fd = take_address();
	master_signal(&m, SIGHUP);
	ck_assert_ptr_null(m.starting);
	ck_assert(!m.outcome.last.ok);
	end_turn();
	close(fd);
}

/* --- deaths while serving --------------------------------------------------------------------- */

TEST(respawn_backs_off)
{
	static const unsigned waits[] = { 0, 0, 0, 100, 200, 400 };

	start();
	for (unsigned i = 0; i < 6; i++) {
		die(worker(0, 1));
		if (waits[i] > 0) {
			ck_assert_ptr_null(worker(0, 1));
			pass(waits[i] - 1);
			ck_assert_ptr_null(worker(0, 1));
			pass(1);
		}
		ck_assert_ptr_nonnull(worker(0, 1));
		ck_assert_int_eq(m.current->state, GEN_SERVE);
	}
	ck_assert_ptr_nonnull(worker(1, 1));
	ck_assert_int_eq(worker(1, 1)->signo, 0);
}

static void dies_and_comes_up(unsigned slot, unsigned rest)
{
	die(worker(slot, 1));
	if (rest > 0) {
		pass(rest - 1);
		ck_assert_ptr_null(worker(slot, 1));
		pass(1);
	}
	ck_assert_ptr_nonnull(worker(slot, 1));
	up(worker(slot, 1));
}

/* While the other is up a worker rests; when it rests, the other is the last and hardly does. */
TEST(the_last_worker_hardly_rests)
{
	m.processes.kinds = lasting_workers;
	start();
	for (unsigned i = 0; i < REAP_FREE; i++)
		dies_and_comes_up(0, 0);
	dies_and_comes_up(0, 1000);
	for (unsigned i = 0; i < REAP_FREE; i++)
		dies_and_comes_up(1, 0);
	die(worker(0, 1));
	for (unsigned i = 0; i < 8; i++)
		dies_and_comes_up(1, 50);
	ck_assert_ptr_null(worker(0, 1));
	pass(2000 - 8 * 50);
	ck_assert_ptr_nonnull(worker(0, 1));
}

/* One that does not come up is tried once a second. */
TEST(the_last_worker_does_not_come_up)
{
	m.processes.kinds = lasting_workers;
	start();
	die_for_long(0, 1);
	die_for_long(1, 1);
	pass(999);
	ck_assert_ptr_null(worker(1, 1));
	for (unsigned i = 0; i < 4; i++) {
		pass(i == 0 ? 1 : 1000);
		ck_assert_ptr_nonnull(worker(1, 1));
		die(worker(1, 1));
	}
}

/* A fork that fails leaves the place empty for a moment only, however long it goes on failing. */
TEST(a_fork_that_fails_is_tried_again)
{
	start();
	spawn_error = -EAGAIN;
	die(worker(0, 1));
	ck_assert_ptr_null(worker(0, 1));
	for (unsigned i = 0; i < 20; i++)
		pass(100);
	ck_assert_ptr_null(worker(0, 1));
	spawn_error = 0;
	pass(100);
	ck_assert_ptr_nonnull(worker(0, 1));
}

/* The keeper of a generation that is not up yet as well. */
TEST(a_fork_of_the_keeper_is_tried_again)
{
	reload_begin(&m);
	spawn_error = -EAGAIN;
	die(find("keeper", 0, 1));
	spawn_error = 0;
	up_both(1);
	pass(100);
	ck_assert_ptr_nonnull(find("keeper", 0, 1));
}

TEST(up_and_death_in_one)
{
	struct ctl_msg msg = { .type = CTL_UP };

	reload_begin(&m);
	up(worker(0, 1));
	/* It said so, and was reaped before anybody listened: the generation stands. */
	ck_assert_int_eq(ctl_send(worker(1, 1)->ctl, &msg, NULL, 0), 0);
	die(worker(1, 1));
	ck_assert_int_eq(m.current->state, GEN_SERVE);
	ck_assert_ptr_nonnull(worker(1, 1)); /* the next one */
}

TEST(keeper_dies)
{
	reload_begin(&m);
	die(find("keeper", 0, 1));
	ck_assert_ptr_nonnull(find("keeper", 0, 1)); /* no reason not to start */
	up_both(1);
	die(find("keeper", 0, 1));
	ck_assert_ptr_nonnull(find("keeper", 0, 1));
	ck_assert_uint_eq(m.shared.board->head.keeper_pid, m.current->children[0].pid);
}

/* A worker that has gone mad is not believed to be a keeper. */
TEST(kinds_say_what_is_theirs)
{
	struct ctl_msg msg = { .type = CTL_IMAGE, .arg = 9, .size = 1 };

	start();
	hear(worker(0, 1), &msg);
	ck_assert_uint_eq(m.current->image.arg, 0);
	hear_image(9, IMAGE_FDS);
	ck_assert_uint_eq(m.current->image.arg, 9);
	ck_assert_uint_eq(told(worker(0, 1)), CTL_IMAGE);
	ck_assert_uint_eq(told(worker(1, 1)), CTL_IMAGE);
	die(worker(1, 1));
	ck_assert_uint_eq(told(worker(1, 1)), CTL_IMAGE); /* its successor as well */
}

/* --- loans ------------------------------------------------------------------------------------ */

TEST(an_empty_place_lends_its_sockets)
{
	start();
	for (unsigned i = 0; i < REAP_FREE; i++)
		die(worker(0, 1));
	ck_assert_uint_eq(told(worker(1, 1)), 0); /* it was never empty */
	die(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	pass(100);
	ck_assert_ptr_nonnull(worker(0, 1));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	up(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_UNLISTEN, 0));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	ck_assert(list_empty(&m.current->loans));
}

/* It dies again before it was up: nothing changes. */
TEST(a_loan_lasts_until_up)
{
	start();
	die_for_long(0, 1);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	pass(100);
	die(worker(0, 1));
	pass(200);
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	up(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_UNLISTEN, 0));
	die(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
}

TEST(a_fork_that_fails_lends)
{
	start();
	spawn_error = -EAGAIN;
	die(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	pass(100);
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	spawn_error = 0;
	pass(100);
	up(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_UNLISTEN, 0));
}

/* Its successor borrows anew, once it is up. */
TEST(the_neighbour_dies_too)
{
	start();
	die_for_long(0, 1);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	die(worker(1, 1));
	ck_assert(list_empty(&m.current->loans));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	up(worker(1, 1));
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
}

TEST(many_are_empty)
{
	start_four();
	spawn_error = -EAGAIN;
	die(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	die(worker(1, 1));
	ck_assert(told_of(worker(2, 1), CTL_LISTEN, 0));
	ck_assert(told_of(worker(3, 1), CTL_LISTEN, 1)); /* 2 has one already */
	die(worker(2, 1));
	ck_assert(told_of(worker(3, 1), CTL_LISTEN, 0));
	ck_assert(told_of(worker(3, 1), CTL_LISTEN, 2));
	die(worker(3, 1));
	ck_assert(list_empty(&m.current->loans));
	spawn_error = 0;
	pass(100);
	up(worker(2, 1));
	ck_assert(list_empty(&m.current->loans)); /* the others are about to serve */
	ck_assert_uint_eq(told(worker(2, 1)), 0);
}

/* The end of one loan waits for room in the queue, and leaves with that of another. */
TEST(loans_that_end_together)
{
	unsigned n = 0;

	start_four();
	spawn_error = -EAGAIN;
	for (unsigned i = 0; i < 3; i++)
		die(worker(i, 1));
	spawn_error = 0;
	pass(100);
	while (!(worker(3, 1)->place->due & DUE_LOGS) && n++ < 10000)
		child_send(worker(3, 1)->place, DUE_LOGS);
	up(worker(2, 1));
	while (told(worker(3, 1)) != 0)
		continue;
	up(worker(0, 1));
	up(worker(1, 1));
	ck_assert(list_empty(&m.current->loans));
}

/* What is lent leaves with the generation; a reload that fails changes nothing. */
TEST_EACH(hup_while_lent, 2)
{
	struct gen *first;

	start();
	first = m.current;
	die_for_long(0, 1);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	master_signal(&m, SIGHUP);
	if (_i == 0) {
		die(worker(1, 2));
		ck_assert_uint_eq(told(worker(1, 1)), 0);
		pass(100);
		up(worker(0, 1));
		ck_assert(told_of(worker(1, 1), CTL_UNLISTEN, 0));
		return;
	}
	up(worker(0, 2));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	up(worker(1, 2));
	ck_assert_uint_eq(told(worker(1, 1)), CTL_DRAIN);
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	ck_assert(list_empty(&first->loans));
	ck_assert_uint_eq(told(worker(1, 2)), 0);
}

/* More workers are on their way: their sockets are not for the generation that serves. */
TEST(hup_with_more_workers_while_lent)
{
	start();
	m.processes.kinds = four_workers;
	master_signal(&m, SIGHUP);
	ck_assert_uint_eq(m.current->sockets[0]->listener.nslots, 4);
	die_for_long(0, 1);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	die(worker(0, 2));
	up(worker(1, 1));
	pass(100);
	up(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_UNLISTEN, 0));
	m.processes.kinds = kinds;
}

/* Their sockets are dealt out until the generation before is gone, then closed. */
TEST(fewer_workers)
{
	const struct listener *l;

	start_four();
	m.processes.kinds = kinds;
	master_signal(&m, SIGHUP);
	up_both(2);
	end_turn();
	l = &m.current->sockets[0]->listener;
	pass(5000);
	ck_assert_uint_eq(l->nslots, 4);
	die_all(1);
	/* A new program has the sockets, too, and does not serve yet: nobody would accept there. */
	master_go(&m, MASTER_UPGRADE);
	pass(5000);
	ck_assert_uint_eq(l->nslots, 4);
	master_go(&m, MASTER_SERVE);
	/* At once where the kernel migrates what is queued, else after a while without a queue. */
	for (unsigned i = 0; i < 40 && l->nslots > 2; i++)
		pass(100);
	ck_assert_uint_eq(l->nslots, 2);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(told_of(worker(i, 2), CTL_UNLISTEN, 2));
		ck_assert(told_of(worker(i, 2), CTL_UNLISTEN, 3));
		ck_assert_uint_eq(told(worker(i, 2)), 0);
	}
	die(worker(0, 2)); /* the next one has no more than its own */
	ck_assert_ptr_nonnull(worker(0, 2));
	ck_assert_uint_eq(m.current->sockets[0]->kept, 2);
	pass(1000);
	ck_assert_uint_eq(m.loop.wheel.armed, 0);
}

TEST_EACH(a_full_queue_delays_a_loan, 2)
{
	unsigned n = 0, type;

	start();
	while (!(worker(1, 1)->place->due & DUE_LOGS) && n++ < 10000)
		child_send(worker(1, 1)->place, DUE_LOGS);
	die_for_long(0, 1);
	if (_i == 1) {
		pass(100);
		up(worker(0, 1));
		die(worker(0, 1));
	}
	while ((type = told(worker(1, 1))) != 0)
		ck_assert_uint_eq(type, CTL_LOGS);
	pass(20);
	ck_assert_uint_eq(told(worker(1, 1)), CTL_LOGS);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
}

/* --- messages that are lost ------------------------------------------------------------------- */

static void ask_again(struct fake *f, unsigned type)
{
	hear(f, &(struct ctl_msg){ .type = CTL_AGAIN, .arg = CTL_TYPE(type) });
}

/* No number of a keeper that was taken over is the last one for good, and none spoils an upgrade.
 */
TEST(images_that_are_none)
{
	static const struct {
		uint64_t number;
		int nfds;
	} none[] = { { UINT64_C(1) << 63, IMAGE_FDS }, { UINT64_MAX, IMAGE_FDS },
		{ UINT64_C(1) << 40, IMAGE_FDS }, { 0, IMAGE_FDS }, { 9, IMAGE_FDS - 1 },
		{ 9, 0 } };
	uint64_t next;

	start();
	next = m.next_image;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		hear_image(none[i].number, none[i].nfds);
		ck_assert_uint_eq(m.current->image.arg, 0);
		ck_assert_uint_eq(m.next_image, next);
	}
}

TEST(what_is_lost_is_sent_again)
{
	start();
	ask_again(worker(1, 1), CTL_IMAGE); /* there is none yet */
	ask_again(worker(1, 1), CTL_UP);    /* nor such a message */
	ask_again(worker(1, 1), CTL_LISTEN);
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	ask_again(worker(1, 1), CTL_LOGS);
	ck_assert_uint_eq(told(worker(1, 1)), CTL_LOGS);
	hear_image(9, IMAGE_FDS);
	ck_assert_uint_eq(told(worker(1, 1)), CTL_IMAGE);
	ask_again(worker(1, 1), CTL_IMAGE);
	ck_assert_uint_eq(told(worker(1, 1)), CTL_IMAGE);
	die_for_long(0, 1);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	ask_again(worker(1, 1), CTL_LISTEN);
	ck_assert(told_of(worker(1, 1), CTL_LISTEN, 0));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	pass(100);
	up(worker(0, 1));
	ck_assert(told_of(worker(1, 1), CTL_UNLISTEN, 0));
	ck_assert_uint_eq(told(worker(1, 1)), 0);
}

/* --- reloads ---------------------------------------------------------------------------------- */

TEST(hup)
{
	start();
	master_signal(&m, SIGHUP);
	up(worker(1, 2));
	ck_assert_int_eq(m.current->state, GEN_SERVE);
	ck_assert_uint_eq(m.current->number, 1);
	ck_assert_uint_eq(told(worker(0, 1)), 0);
	up(worker(0, 2));
	ck_assert_uint_eq(m.current->number, 2);
	ck_assert_uint_eq(told(worker(0, 1)), CTL_DRAIN);
	ck_assert_uint_eq(m.gens.n, 2);
	die_all(1);
	ck_assert_uint_eq(m.gens.n, 1);
	ck_assert_uint_eq(alive(1), 0); /* what drains is not started again */
	ck_assert(m.outcome.last.ok);
}

/* Two in a row: the second waits for the first, however many come. */
TEST(hup_during_a_reload)
{
	start();
	master_signal(&m, SIGHUP);
	master_signal(&m, SIGHUP);
	master_signal(&m, SIGHUP);
	ck_assert_uint_eq(m.gens.last, 2);
	up_both(2);
	end_turn();
	ck_assert_uint_eq(m.current->number, 2);
	ck_assert_uint_eq(m.starting->number, 3);
	ck_assert_uint_eq(m.outcome.last.request, 1);
	up_both(3);
	end_turn();
	ck_assert_uint_eq(m.current->number, 3);
	ck_assert_ptr_null(m.starting);
	ck_assert_uint_eq(m.outcome.last.request, 2);
	ck_assert_uint_eq(m.gens.last, 3);
}

TEST(hup_during_a_reload_that_fails)
{
	start();
	master_signal(&m, SIGHUP);
	master_signal(&m, SIGHUP);
	die(worker(0, 2));
	ck_assert(!m.outcome.last.ok);
	ck_assert_uint_eq(m.current->number, 1);
	ck_assert_uint_eq(m.starting->number, 3);
	die_all(2);
	up_both(3);
	ck_assert(m.outcome.last.ok);
	ck_assert_uint_eq(m.current->number, 3);
}

/* Whatever fails a reload, the generation before goes on. */
TEST_EACH(reload_fails, 4)
{
	start();
	if (_i == 2)
		write_conf("no-such-key = 1\n");
	if (_i == 3)
		spawn_error = -EAGAIN;
	master_signal(&m, SIGHUP);
	if (_i == 0)
		die(worker(1, 2));
	if (_i == 1)
		pass(30 * SECOND);
	end_turn();
	ck_assert_ptr_null(m.starting);
	ck_assert(!m.outcome.last.ok);
	ck_assert_uint_eq(m.outcome.last.request, 1);
	ck_assert_uint_eq(m.current->number, 1);
	ck_assert_int_eq(m.current->state, GEN_SERVE);
	ck_assert_int_eq(worker(0, 1)->signo, 0);
	ck_assert_uint_eq(told(worker(0, 1)), 0);
	die_all(2);
	ck_assert_uint_eq(m.gens.n, 1);
}

/* One that is not up has a second to leave: it may be stopped, and holds sockets. */
TEST(who_is_not_up_is_killed)
{
	start();
	master_signal(&m, SIGHUP);
	up(worker(0, 2));
	pass(30 * SECOND);
	ck_assert(!m.outcome.last.ok);
	ck_assert_uint_eq(told(worker(0, 2)), CTL_DRAIN);
	ck_assert_int_eq(worker(1, 2)->signo, SIGTERM);
	pass(SECOND);
	ck_assert_int_eq(worker(1, 2)->signo, SIGKILL);
	ck_assert_int_eq(worker(0, 2)->signo, 0);
	pass(5 * SECOND); /* shutdown-timeout, and a second behind it */
	ck_assert_int_eq(worker(0, 2)->signo, SIGTERM);
}

TEST(death_in_the_old_one_during_a_reload)
{
	start();
	master_signal(&m, SIGHUP);
	die(worker(0, 1));
	ck_assert_ptr_nonnull(worker(0, 1));
	ck_assert_ptr_nonnull(m.starting);
	up_both(2);
	ck_assert_int_eq(worker(0, 1)->signo, SIGTERM); /* it was not up yet */
	ck_assert_uint_eq(told(worker(1, 1)), CTL_DRAIN);
}

TEST(respawn_is_given_up_by_a_reload)
{
	start();
	die_for_long(0, 1); /* it waits for 100 ms */
	master_signal(&m, SIGHUP);
	up_both(2);
	pass(SECOND);
	ck_assert_ptr_null(worker(0, 1));
}

/* --- ends ------------------------------------------------------------------------------------- */

TEST(quit_then_deadline)
{
	start();
	master_signal(&m, SIGQUIT);
	ck_assert_uint_eq(told(worker(0, 1)), CTL_DRAIN);
	master_signal(&m, SIGHUP); /* not any more */
	ck_assert_ptr_null(m.starting);
	die(worker(1, 1));
	ck_assert_ptr_null(worker(1, 1));
	pass(6 * SECOND - 1);
	ck_assert_int_eq(worker(0, 1)->signo, 0);
	pass(1);
	ck_assert_int_eq(worker(0, 1)->signo, SIGTERM);
	pass(SECOND);
	ck_assert_int_eq(worker(0, 1)->signo, SIGKILL);
	ck_assert(!m.loop.stop);
	die_all(1);
	ck_assert(m.loop.stop);
}

TEST(quit_during_a_reload)
{
	start();
	master_signal(&m, SIGHUP);
	up(worker(0, 2));
	master_signal(&m, SIGQUIT);
	ck_assert_uint_eq(told(worker(0, 1)), CTL_DRAIN);
	ck_assert_uint_eq(told(worker(0, 2)), CTL_DRAIN);
	ck_assert_int_eq(worker(1, 2)->signo, SIGTERM);
	up(worker(1, 2));
	ck_assert_int_eq(m.phase, MASTER_LEAVE);
	pass(60 * SECOND); /* the limit of the reload is no more */
	die_all(1);
	ck_assert(!m.loop.stop);
	die_all(2);
	ck_assert(m.loop.stop);
}

TEST(term_makes_a_drain_a_stop)
{
	start();
	master_signal(&m, SIGQUIT);
	master_signal(&m, SIGTERM);
	ck_assert_int_eq(worker(0, 1)->signo, SIGTERM);
	pass(3 * SECOND);
	ck_assert_int_eq(worker(0, 1)->signo, SIGKILL);
}

static void replace(uint32_t before)
{
	master_signal(&m, SIGHUP);
	up_both(before + 1);
	end_turn();
}

/* Of more than eight that drain the oldest is cut, one that is cut already not again. */
TEST(many_drain)
{
	start();
	for (uint32_t g = 1; g <= 10; g++)
		replace(g);
	ck_assert_uint_eq(m.current->number, 11);
	for (uint32_t g = 1; g <= 10; g++)
		ck_assert_int_eq(worker(0, g)->signo, g <= 2 ? SIGTERM : 0);
}

/* The time of a reload is another one than that of a stop, which shortens it, and never lengthens
 * it. */
TEST_EACH(stop_while_others_drain, 3)
{
	write_conf(_i == 0   ? "reload-timeout = 60\n"
		   : _i == 1 ? "reload-timeout = 3\n"
			     : "reload-timeout = 0\n");
	start();
	replace(1);
	pass(2 * SECOND);
	master_signal(&m, SIGQUIT);
	pass((_i == 1 ? 2 : 6) * SECOND - 1);
	ck_assert_int_eq(worker(0, 1)->signo, 0);
	pass(1);
	ck_assert_int_eq(worker(0, 1)->signo, SIGTERM);
	pass(SECOND);
	ck_assert_int_eq(worker(0, 1)->signo, SIGKILL);
}

TEST_EACH(time_of_a_reload, 2)
{
	write_conf(_i == 0 ? "reload-timeout = 60\n" : "reload-timeout = 0\n");
	start();
	replace(1);
	pass(61 * SECOND - 1);
	ck_assert_int_eq(worker(0, 1)->signo, 0);
	pass(_i == 0 ? 1 : 10000 * SECOND);
	ck_assert_int_eq(worker(0, 1)->signo, _i == 0 ? SIGTERM : 0);
}

/* What became of the connections of a generation, its killed workers' too. */
TEST(what_became_of_connections)
{
	struct counters *c;

	start();
	for (unsigned i = 0; i < 2; i++) {
		c = &worker(i, 1)->place->board->counters;
		c->connections_drained = 400 + i;
		c->connections_cut = i;
		c->connections = 3 * i;
		c->connections_refused = -7; /* it has gone mad */
	}
	master_signal(&m, SIGHUP);
	up_both(2);
	ck_assert_uint_eq(m.outcome.last.replaced, 1);
	ck_assert_ptr_nonnull(strstr(m.outcome.last.text, "generation 1 → 2 in "));
	ck_assert_uint_eq(m.outcome.last.gone[0].generation, 0);
	die_all(1);
	ck_assert_uint_eq(m.outcome.last.gone[0].generation, 1);
	ck_assert_uint_eq(m.outcome.last.gone[0].drained, 801);
	ck_assert_uint_eq(m.outcome.last.gone[0].cut, 4);
	ck_assert_uint_eq(m.outcome.last.gone[0].refused, 0);
}

/* --- a third kind ----------------------------------------------------------------------------- */

TEST(a_third_kind_is_a_row)
{
	m.processes.kinds = more_kinds;
	reload_begin(&m);
	up_both(1);
	ck_assert_ptr_null(m.current);
	up(find("acceptor", 0, 1));
	ck_assert_int_eq(m.current->state, GEN_SERVE);
	ck_assert_uint_eq(m.current->nworkers, 2);
	for (unsigned i = 0; i < 4; i++)
		die(find("acceptor", 0, 1));
	pass(999);
	ck_assert_ptr_null(find("acceptor", 0, 1));
	pass(1);
	ck_assert_ptr_nonnull(find("acceptor", 0, 1));
	up(find("acceptor", 0, 1));
	master_signal(&m, SIGQUIT);
	ck_assert_uint_eq(told(find("acceptor", 0, 1)), CTL_DRAIN);
}

/* --- dispatch = acceptor ---------------------------------------------------------------------- */

static void start_with_inboxes(void)
{
	write_conf("dispatch = acceptor\n");
	m.processes.kinds = with_inboxes;
	reload_begin(&m);
	up(find("acceptor", 0, 1));
	up(worker(0, 1));
	ck_assert_uint_eq(told(find("acceptor", 0, 1)), 0);
	up(worker(1, 1));
	ck_assert_uint_eq(m.current->inboxes.n, 2);
}

/* And one that is started again then does so at once. */
TEST(an_acceptor_begins_when_its_generation_serves)
{
	unsigned n;
	struct worker_listener *l;

	start_with_inboxes();
	ck_assert_uint_eq(told(find("acceptor", 0, 1)), CTL_SERVE);
	ck_assert_uint_eq(m.shared.board->head.dispatch, DISPATCH_ACCEPTOR);
	die(find("acceptor", 0, 1));
	ck_assert_uint_eq(told(find("acceptor", 0, 1)), CTL_SERVE);
	l = gen_listeners(worker(0, 1)->place, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(l[0].fd, -1);
	free(l);
	l = gen_listeners(find("acceptor", 0, 1)->place, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(l[0].fd, m.current->sockets[0]->listener.fds[0]);
	free(l);
}

/* Whether fd is open in a process of that place, which has closed what it was not given. */
static bool has(const struct child *c, int ctl, int fd)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct gifts g;

		if (gifts_find(&g, c, ctl) < 0 || gifts_keep(&g) < 0)
			_exit(2);
		_exit(fcntl(fd, F_GETFD) >= 0 ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* Each row of the table: who is given it has it, and nobody else. */
TEST(gifts_are_kept)
{
	const struct child *w, *a;
	const struct gen *g;
	int other, ctl = dup(0);

	start_with_inboxes();
	g = m.current;
	w = worker(1, 1)->place;
	a = find("acceptor", 0, 1)->place;
	other = dup(0);
	ck_assert(has(w, ctl, ctl) && has(a, ctl, ctl));
	ck_assert(!has(w, ctl, other) && !has(a, ctl, other));
	ck_assert(has(w, ctl, g->inboxes.ends[1][0]));
	ck_assert(!has(w, ctl, g->inboxes.ends[1][1]) && !has(w, ctl, g->inboxes.ends[0][0]));
	for (int i = 0; i < 4; i++)
		ck_assert(has(a, ctl, g->inboxes.ends[i / 2][i % 2]));
	ck_assert(has(a, ctl, g->sockets[0]->listener.fds[0]));
	ck_assert(!has(w, ctl, g->sockets[0]->listener.fds[0]));
	ck_assert(!has(w, ctl, g->doubts[0]) && !has(w, ctl, g->doubts[1]));
	close(other);
	close(ctl);
}

TEST(each_generation_has_its_own_inboxes)
{
	struct gen *old;

	start_with_inboxes();
	old = m.current;
	reload_begin(&m);
	up_both(2);
	ck_assert_uint_eq(told(find("acceptor", 0, 2)), 0);
	ck_assert_uint_eq(old->inboxes.n, 2);
	up(find("acceptor", 0, 2));
	ck_assert_uint_eq(told(find("acceptor", 0, 2)), CTL_SERVE);
	ck_assert_uint_eq(told(find("acceptor", 0, 1)), CTL_SERVE);
	ck_assert_uint_eq(told(find("acceptor", 0, 1)), CTL_DRAIN);
	ck_assert_int_eq(old->inboxes.ends[0][1], -1);
	ck_assert_uint_eq(m.current->inboxes.n, 2);
}

/* The inbox that a process is told of; 0: none. */
static uint32_t lent_inbox(struct fake *p)
{
	struct ctl_msg msg = { 0 };
	int fds[CTL_FDS_MAX], nfds = 0;

	if (ctl_recv(p->ctl, &msg, fds, &nfds) <= 0)
		return 0;
	ck_assert_uint_eq(msg.type, CTL_LISTEN);
	ck_assert_uint_eq(msg.listener, CTL_INBOX);
	ck_assert_int_eq(nfds, 1);
	close(fds[0]);
	return msg.slot;
}

/* As long as one of its processes lives; and the next worker gets what the reader had. */
TEST(inboxes_of_a_generation_that_leaves_are_lent)
{
	uint32_t first;

	start_with_inboxes();
	first = m.current->inboxes.first;
	reload_begin(&m);
	up_both(2);
	up(find("acceptor", 0, 2));
	ck_assert_uint_eq(lent_inbox(worker(0, 2)) + lent_inbox(worker(1, 2)), 2 * first + 1);
	die(worker(0, 2));
	ck_assert_uint_ge(lent_inbox(worker(1, 2)), first);
	up(worker(0, 2));
	ck_assert_uint_eq(told(worker(1, 2)), 0);
	ck_assert(!list_empty(&m.current->loans));
	die(find("acceptor", 0, 1));
	die(worker(0, 1));
	die(worker(1, 1));
	ck_assert(list_empty(&m.current->loans));
}

/* Who has no room reads no inbox, and the other one does. */
TEST(an_inbox_moves_on)
{
	struct ctl_msg full = { .type = CTL_FULL, .arg = 1 };
	uint32_t inbox;
	bool moved = false;

	start_with_inboxes();
	reload_begin(&m);
	up_both(2);
	up(find("acceptor", 0, 2));
	inbox = lent_inbox(worker(0, 2));
	hear(worker(0, 2), &full);
	loan_offer(m.current); /* within a second */
	for (unsigned i = 0; i < 3; i++)
		moved |= lent_inbox(worker(1, 2)) == inbox;
	ck_assert(moved);
}

/* The others could not read what waits there. */
TEST(inboxes_are_lent_to_those_who_have_one)
{
	start_with_inboxes();
	write_conf("dispatch = reuseport\n");
	reload_begin(&m);
	up_both(2);
	up(find("acceptor", 0, 2));
	ck_assert_uint_eq(lent_inbox(worker(0, 2)), 0);
	ck_assert_uint_eq(lent_inbox(worker(1, 2)), 0);
}

TEST(an_inbox_is_lent)
{
	start_with_inboxes();
	die_for_long(0, 1);
	ck_assert_uint_eq(lent_inbox(worker(1, 1)), m.current->inboxes.first);
	ck_assert_uint_eq(told(worker(1, 1)), 0);
	pass(100);
	up(worker(0, 1));
	ck_assert_uint_eq(told(worker(1, 1)), CTL_UNLISTEN);
}

static unsigned go(unsigned from, unsigned to)
{
	struct gen g = { .state = (enum gen_state)from };

	gen_go(&g, (enum gen_state)to);
	return g.state;
}

TEST(gen_steps)
{
	states_unit_walk(&gen_states, "START>SERVE START>DRAIN SERVE>DRAIN", go);
}

static unsigned child_to(unsigned from, unsigned to)
{
	struct child c = { .state = (enum child_state)from };

	child_go(&c, (enum child_state)to);
	return c.state;
}

TEST(child_steps)
{
	states_unit_walk(&child_states,
		"EMPTY>START START>UP START>STUCK START>EMPTY UP>FULL UP>STILL UP>STUCK UP>EMPTY "
		"FULL>UP FULL>STUCK FULL>EMPTY STILL>UP STILL>FULL STILL>STUCK STILL>EMPTY "
		"STUCK>EMPTY",
		child_to);
}

static unsigned sockets_to(unsigned from, unsigned to)
{
	struct sockets_entry e = { .state = (enum sockets_state)from };

	sockets_go(&e, (enum sockets_state)to);
	return e.state;
}

TEST(sockets_steps)
{
	states_unit_walk(&sockets_states,
		"HELD>FRESH HELD>OPENED HELD>TAKEN FRESH>CLAIMED FRESH>HELD OPENED>HELD "
		"CLAIMED>HELD TAKEN>HELD",
		sockets_to);
}

/* --- phases and wishes ------------------------------------------------------------------------ */

static unsigned go_on(unsigned from, unsigned to)
{
	m.phase = (enum master_phase)from;
	master_go(&m, (enum master_phase)to);
	return m.phase;
}

TEST(master_steps)
{
	states_unit_walk(&master_phases,
		"START>HEIR START>SERVE START>LEAVE HEIR>TAKE HEIR>LEAVE TAKE>SERVE SERVE>BUILD "
		"SERVE>UPGRADE SERVE>PART SERVE>LEAVE BUILD>SERVE BUILD>PART BUILD>LEAVE "
		"UPGRADE>SERVE UPGRADE>LEAVE PART>LEAVE",
		go_on);
}

/* It is about to leave, once or while a generation is built: nothing begins any more. */
TEST_EACH(a_delay_grants_nothing, 2)
{
	write_conf("shutdown-delay = 5\n");
	start();
	if (_i == 1)
		master_signal(&m, SIGHUP);
	master_signal(&m, SIGQUIT);
	ck_assert_int_eq(m.phase, MASTER_PART);
	if (_i == 1) {
		up(worker(0, 2));
		up(worker(1, 2));
		ck_assert_uint_eq(m.current->number, 2);
	}
	master_signal(&m, SIGHUP);
	master_signal(&m, SIGUSR2);
	end_turn();
	ck_assert_int_eq(m.phase, MASTER_PART);
	ck_assert_uint_eq(m.gens.last, (unsigned)_i + 1);
	if (_i == 0)
		master_signal(&m, SIGQUIT);
	else
		pass(5 * SECOND);
	ck_assert_int_eq(m.phase, MASTER_LEAVE);
}

/* A drain is a request of its own, and waits while a generation is built; it outlasts reloads. */
TEST(drained)
{
	start();
	master_signal(&m, MASTER_SIGNAL_DRAIN);
	ck_assert(health_has(&m, BOARD_HEALTH_DRAINED));
	ck_assert(m.outcome.last.ok && m.outcome.last.drained);
	ck_assert_uint_eq(m.outcome.last.request, 1);
	ck_assert_uint_eq(m.outcome.last.generation, 1);
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	master_signal(&m, SIGHUP);
	master_signal(&m, MASTER_SIGNAL_UNDRAIN);
	ck_assert(health_has(&m, BOARD_HEALTH_DRAINED));
	up_both(2);
	ck_assert(m.outcome.last.drained);
	ck_assert_uint_eq(m.outcome.last.request, 2);
	ck_assert_ptr_nonnull(strstr(m.outcome.last.text, "health check still fails"));
	end_turn();
	ck_assert(!health_has(&m, BOARD_HEALTH_DRAINED));
	ck_assert(!m.outcome.last.drained);
	ck_assert_uint_eq(m.outcome.last.request, 3);
	ck_assert_str_eq(m.outcome.last.text, "undrained: health check passes");
}

/* From the start to the first image: a reload begins with that of the generation before. */
TEST_EACH(waits_for_an_image, 2)
{
	write_conf(_i > 0 ? "health-waits-for-cache = true\n" : "");
	start();
	ck_assert_int_eq(health_has(&m, BOARD_HEALTH_IMAGE), _i > 0);
	hear_image(9, IMAGE_FDS);
	ck_assert(!health_has(&m, BOARD_HEALTH_IMAGE));
	master_signal(&m, SIGHUP);
	up_both(2);
	ck_assert_uint_eq(m.current->number, 2);
	ck_assert_uint_eq(m.shared.board->head.health, 0);
}

/* A key of session tickets encrypts for twelve hours. */
TEST(ticket_keys_are_renewed)
{
	static struct tls_ctx tls;
	const uint64_t *made = &m.shared.board->head.counts[BOARD_COUNT_ticket_keys_made];

	start();
	m.current->resources.certs.tls = &tls;
	ck_assert(tls_tickets_rotate());
	clock_set((now + 12 * 3600 * 1000 - 1) * 1000, (struct timespec){ .tv_sec = 1 });
	changes_second(&m);
	ck_assert_uint_eq(*made, 0);
	clock_set((now + 12 * 3600 * 1000) * 1000, (struct timespec){ .tv_sec = 1 });
	changes_second(&m);
	changes_second(&m);
	ck_assert_uint_eq(*made, 1);
	m.current->resources.certs.tls = NULL;
}

/* Of what was asked for while a generation was built the last one counts. */
TEST_EACH(drained_and_back, 2)
{
	static const int signals[2][2] = { { 1, 2 }, { 2, 1 } };

	start();
	master_signal(&m, SIGHUP);
	for (unsigned i = 0; i < 2; i++)
		master_signal(&m, SIGRTMIN + signals[_i][i]);
	up_both(2);
	end_turn();
	ck_assert_uint_eq(m.outcome.last.request, 2);
	ck_assert_int_eq(m.outcome.last.drained, _i);
}

/* The old master says something. */
static void say(int old, const char *text)
{
	struct watch *w = &m.upgrade.channel;

	ck_assert_int_eq(send(old, text, strlen(text), 0), (ssize_t)strlen(text));
	w->fn(w, EPOLLIN);
}

/* A program that has ended, and was waited for, before the master hears of it. */
static int end_at_once(struct upgrade *u, const struct program *program, const struct passed *p,
	int channel, const char *variable)
{
	char text[64];
	pid_t pid = fork();

	if (pid == 0)
		_exit(1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	snprintf(text, sizeof(text), "pid %d", (int)pid);
	ck_assert_int_gt(send(channel, text, strlen(text), 0), 0);
	ck_assert_int_gt(send(channel, "text cannot run it", 18, 0), 0);
	return 0;
}

TEST(last_words_of_a_program_that_has_ended)
{
	static char name[] = "h2d", *argv[] = { name, NULL };
	static const struct program program = { .argv = argv };

	start();
	m.given.program = &program;
	m.upgrade.start = end_at_once;
	master_signal(&m, SIGUSR2);
	ck_assert_int_eq(m.phase, MASTER_UPGRADE);
	m.upgrade.channel.fn(&m.upgrade.channel, EPOLLIN);
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	ck_assert_ptr_nonnull(strstr(m.outcome.last.text, "cannot run it"));
}

/* A new program, up to where its workers are up; the old master's end of the channel. */
static int inherit(void)
{
	struct passed p = { 0 };
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	ck_assert(passed_add(&p, ends[0], UPGRADE_CHANNEL));
	setenv("H2D_UPGRADE", "3 7 0 0 ", 1);
	ck_assert_int_eq(succession_take(&m, &p), 0);
	passed_free(&p);
	reload_begin(&m);
	up_both(8);
	ck_assert_int_eq(m.phase, MASTER_HEIR);
	return ends[1];
}

static int other_end = -1;
static char socket_path[sizeof(conf_path) + 8];
static bool ended, was_left;

/* Before anything else is done where the channel closes. */
static void on_channel_end(int signo)
{
	struct pollfd p = { .fd = other_end };

	(void)signo;
	if (ended || poll(&p, 1, 0) != 1 || (p.revents & POLLHUP) == 0)
		return;
	ended = true;
	was_left = access(socket_path, F_OK) == 0;
}

/* The end of the channel has the old master kill the new one. */
TEST(a_failed_heir_leaves_no_socket_file)
{
	char line[sizeof(socket_path) + 32];

	snprintf(socket_path, sizeof(socket_path), "%s.sock", conf_path);
	snprintf(line, sizeof(line), "listen \"unix:%s\" { }\n", socket_path);
	write_conf(line);
	other_end = inherit();
	ck_assert_int_eq(access(socket_path, F_OK), 0);
	ck_assert(signal(SIGIO, on_channel_end) != SIG_ERR);
	ck_assert_int_eq(fcntl(other_end, F_SETOWN, getpid()), 0);
	ck_assert_int_eq(fcntl(other_end, F_SETFL, O_ASYNC), 0);
	die(worker(0, 8));
	ck_assert(ended);
	ck_assert(!was_left);
	close(other_end);
}

/* A signal before "go", or behind it, waits for the old master's last word; the strongest wins. */
TEST_EACH(signals_during_a_takeover, 3)
{
	static const struct {
		int before, behind;
		enum master_phase then;
	} t[] = {
		{ SIGHUP, SIGUSR2, MASTER_BUILD },
		{ SIGTERM, SIGHUP, MASTER_LEAVE },
		{ SIGHUP, SIGQUIT, MASTER_LEAVE },
	};
	int old = inherit();

	master_signal(&m, t[_i].before);
	ck_assert_int_eq(m.phase, MASTER_HEIR);
	say(old, "go");
	ck_assert_int_eq(m.phase, MASTER_TAKE);
	master_signal(&m, t[_i].behind);
	ck_assert_int_eq(m.phase, MASTER_TAKE);
	say(old, "bye 0");
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	end_turn();
	ck_assert_int_eq(m.phase, t[_i].then);
	close(old);
}

/* The old master hands over what it was asked for and had not begun. */
TEST(wishes_are_inherited)
{
	int old = inherit();

	say(old, "go");
	say(old, "bye 1");
	end_turn();
	ck_assert_int_eq(m.phase, MASTER_BUILD);
	close(old);
}

TEST(a_drain_is_inherited)
{
	int old = inherit();

	say(old, "go");
	say(old, "bye 4");
	end_turn();
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	ck_assert(health_has(&m, BOARD_HEALTH_DRAINED));
	close(old);
}

/* An upgrade takes no machine out of its balancer while the new keeper reads the files. */
TEST(an_upgrade_waits_for_no_image)
{
	int old;

	write_conf("health-waits-for-cache = true\n");
	old = inherit();
	say(old, "go");
	say(old, "bye 0");
	ck_assert_int_eq(m.phase, MASTER_SERVE);
	ck_assert_uint_eq(m.shared.board->head.health, 0);
	close(old);
}
