/* check_upgrade: descriptors that are passed by name, read and written, and how far an upgrade is.
 */
#include "upgrade/upgrade.h"

#include "loop_unit.h"
#include "states_unit.h"

/* --- what is passed --------------------------------------------------------------------------- */

/* Runs fn in a process of its own, whose exit status is 0. */
static void in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void must(bool holds, int line)
{
	if (!holds)
		_exit(line % 255 + 1);
}

#define MUST(x) must(x, __LINE__)

static void set(const char *pid, const char *fds, const char *names)
{
	char own[32];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	setenv("LISTEN_PID", pid != NULL ? pid : own, 1);
	setenv("LISTEN_FDS", fds, 1);
	setenv("LISTEN_FDNAMES", names, 1);
	for (int fd = 3; fd < 7; fd++)
		MUST(dup2(0, fd) == fd);
}

static void read_names(void)
{
	struct passed p;

	set(NULL, "4", "a:b::c");
	passed_read(&p);
	MUST(p.n == 4 && getenv("LISTEN_FDS") == NULL && getenv("LISTEN_FDNAMES") == NULL);
	MUST(fcntl(3, F_GETFD) == FD_CLOEXEC);
	MUST(passed_take(&p, "b") == 4 && passed_take(&p, "b") == 5 && passed_take(&p, "b") == -1);
	MUST(passed_take(&p, "c") == 6 && passed_take(&p, "a") == 3 && passed_take(&p, "") == -1);
	passed_free(&p);
}

static void read_too_few_names(void)
{
	struct passed p;

	set(NULL, "3", "a");
	passed_read(&p);
	MUST(p.n == 3 && strcmp(p.v[2].name, "a") == 0);
	passed_free(&p);
	set(NULL, "2", "");
	unsetenv("LISTEN_FDNAMES");
	passed_read(&p);
	MUST(p.n == 2 && strcmp(p.v[0].name, "no name") == 0);
	passed_free(&p);
}

/* One that is not open is none. */
static void read_a_hole(void)
{
	struct passed p;

	set(NULL, "4", "a:b:c:d");
	close(4);
	passed_read(&p);
	MUST(p.n == 3 && passed_take(&p, "b") == -1 && passed_take(&p, "c") == 5);
	passed_free(&p);
}

static void read_nonsense(void)
{
	static const struct {
		const char *pid, *fds;
	} t[] = { { "1", "4" }, { NULL, "x" }, { NULL, "-1" }, { NULL, "99999999999" },
		{ NULL, "4x" }, { "", "4" } };
	struct passed p;

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		set(t[i].pid, t[i].fds, "a:b:c:d");
		passed_read(&p);
		MUST(p.n == 0 && getenv("LISTEN_PID") == NULL);
		passed_free(&p);
	}
}

static void (*const readings[])(
	void) = { read_names, read_too_few_names, read_a_hole, read_nonsense };

TEST_ROWS(reads, readings)
{
	in_child(readings[_i]);
}

/* Each of them lies where another one is to be. */
static void run_program(void)
{
	static char sh[] = "/bin/sh", c[] = "-c",
		    text[] =
			    "test \"$LISTEN_FDS $LISTEN_FDNAMES $MORE $LISTEN_PID\" = "
			    "\"4 c:b:a: 1 $$\" && read x <&3 && test $x = c && read x <&4 && "
			    "test $x = b && read x <&5 && test $x = a && read x <&6 && test $x = A";
	static char *argv[] = { sh, c, text, NULL }, *env[] = { NULL };
	static const char *const lines[] = { "a\n", "b\n", "c\n", "A\n" };
	struct program program = { argv, env };
	struct passed p = { 0 };
	int ends[2];

	for (int i = 0; i < 4; i++) {
		MUST(pipe2(ends, O_CLOEXEC) == 0);
		MUST(write(ends[1], lines[i], 2) == 2);
		MUST(dup3(ends[0], 53 + i, O_CLOEXEC) >= 0);
	}
	for (int i = 0; i < 4; i++)
		MUST(dup3(53 + i, 3 + i, O_CLOEXEC) >= 0);
	MUST(passed_add(&p, 5, "c") && passed_add(&p, -1, "none") && passed_add(&p, 4, "b"));
	MUST(passed_add(&p, 3, "a") && passed_add(&p, 6, "a"));
	passed_exec(&p, &program, "MORE=1");
	_exit(99);
}

TEST(writes)
{
	in_child(run_program);
}

static void run_nothing(void)
{
	static char name[] = "/nowhere/h2d";
	static char *argv[] = { name, NULL }, *env[] = { NULL };
	struct program program = { argv, env };
	struct passed p = { 0 };

	MUST(passed_exec(&p, &program, "MORE=1") == -ENOENT);
}

TEST(writes_for_nobody)
{
	in_child(run_nothing);
}

/* --- how far it is ---------------------------------------------------------------------------- */

TEST(steps)
{
	states_unit_walk(&upgrade_states,
		"NONE>BEGIN NONE>HEIR BEGIN>NONE BEGIN>KNOWN KNOWN>NONE KNOWN>OFFERED OFFERED>UNDO "
		"OFFERED>GIVEN UNDO>NONE UNDO>BEGIN HEIR>NONE HEIR>READY READY>NONE READY>TAKEN "
		"TAKEN>NONE",
		NULL);
}

/* What was called, in its order. */
static char heard[128];

static void hear(const char *what)
{
	strcat(strcat(heard, what), ";");
}

static void on_said(struct upgrade *u, const char *text)
{
	hear(text);
}

static void on_gone(struct upgrade *u, const char *name)
{
	hear(name);
}

static void on_taken(struct upgrade *u)
{
	ck_assert(upgrade_bye(u, "7"));
	hear("taken");
}

static void on_failed(struct upgrade *u, const char *why)
{
	ck_assert(u->state == UPGRADE_NONE || u->state == UPGRADE_UNDO);
	hear(why != NULL ? why : "failed");
}

static void on_undo(struct upgrade *u)
{
	hear("undo");
}

static void on_go(struct upgrade *u)
{
	hear("go");
}

static void on_bye(struct upgrade *u, const char *text)
{
	ck_assert_int_eq(u->state, UPGRADE_NONE);
	hear(text != NULL ? text : "no bye");
}

static void on_lost(struct upgrade *u)
{
	hear("lost");
	ck_assert(upgrade_leave(u));
}

static const struct upgrade_ops ops = { on_said, on_gone, on_taken, on_failed, on_undo, on_go,
	on_bye, on_lost };

static struct upgrade u;
static int other = -1;
static pid_t pid;

/* The new program is a process that does nothing; this one says its words. */
static int start(struct upgrade *of, const struct program *program, const struct passed *p,
	int channel, const char *variable)
{
	other = dup(channel);
	pid = fork();
	if (pid == 0)
		pause();
	return 0;
}

UNIT_SETUP(set_up)
{
	heard[0] = '\0';
	upgrade_init(&u, &loop, &ops);
	u.start = start;
}

UNIT_TEARDOWN(tear_down)
{
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	pid = 0;
	upgrade_fini(&u);
	close(other);
}

static void say(const char *text)
{
	ck_assert_int_gt(send(other, text, strlen(text), MSG_NOSIGNAL), 0);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
}

static void say_pid(void)
{
	char text[32];

	snprintf(text, sizeof(text), "pid %d", (int)pid);
	say(text);
}

static const char *listen_to_it(void)
{
	static char text[64];
	ssize_t n = recv(other, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void begin(void)
{
	struct passed p = { 0 };

	upgrade_begin(&u, NULL, &p, "X=1");
	ck_assert_uint_eq(p.n, 1);
	passed_free(&p);
}

TEST(old_hands_over)
{
	begin();
	say_pid();
	say("gone h2d/a");
	say("ready");
	ck_assert_str_eq(listen_to_it(), "go");
	say("taken");
	ck_assert_str_eq(listen_to_it(), "bye 7");
	ck_assert_str_eq(heard, "h2d/a;taken;");
	ck_assert_int_eq(u.state, UPGRADE_GIVEN);
}

TEST(old_undoes)
{
	begin();
	say_pid();
	say("ready");
	say("nonsense");
	ck_assert_int_eq(u.state, UPGRADE_UNDO);
	/* It was killed; its end is seen. */
	waitpid(pid, NULL, 0);
	pid = 0;
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_str_eq(heard, "undo;the new program sent an unknown message;undo;");
	ck_assert_int_eq(u.state, UPGRADE_NONE);
	begin();
	upgrade_abort(&u, "enough");
	ck_assert_ptr_nonnull(strstr(heard, "undo;enough;"));
}

/* Words that may not come yet, or not any more, or are none. */
static const char *const wrong[] = { "pid 0", "pid x", "pid 1x", "ready", "taken", "go", "gone a",
	"bye 0", "readyx", "" };

TEST_ROWS(old_does_not_understand, wrong)
{
	begin();
	if (*wrong[_i] == '\0') {
		shutdown(other, SHUT_RDWR);
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
		ck_assert_str_eq(heard, "the new program exited without a message;");
	} else {
		say("text no");
		say(wrong[_i]);
		ck_assert_str_eq(heard, "no;the new program sent an unknown message;");
	}
	ck_assert_int_eq(u.state, UPGRADE_NONE);
}

static void inherit(void)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	other = ends[0];
	ck_assert(upgrade_inherit(&u, ends[1]));
	ck_assert_int_eq(u.pid, getpid());
}

TEST(new_takes_over)
{
	inherit();
	upgrade_gone(&u, "h2d/a");
	ck_assert_str_eq(listen_to_it(), "gone h2d/a");
	ck_assert(upgrade_ready(&u) && !upgrade_ready(&u));
	ck_assert_str_eq(listen_to_it(), "ready");
	say("go");
	ck_assert_str_eq(listen_to_it(), "taken");
	ck_assert(!upgrade_leave(&u));
	say("bye 3");
	ck_assert_str_eq(heard, "go;3;");
	ck_assert_int_eq(u.state, UPGRADE_NONE);
}

TEST_EACH(new_loses_the_old, 3)
{
	inherit();
	if (_i > 0)
		upgrade_ready(&u);
	if (_i > 1)
		say("go");
	shutdown(other, SHUT_RDWR);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_str_eq(heard, _i > 1 ? "go;no bye;" : "lost;");
	ck_assert_int_eq(u.state, UPGRADE_NONE);
}

TEST_EACH(new_does_not_understand, 2)
{
	inherit();
	say(_i > 0 ? "taken" : "go");
	ck_assert_str_eq(heard, "lost;");
}

TEST(no_channel)
{
	ck_assert(!upgrade_inherit(&u, dup(0)));
	ck_assert_int_eq(u.state, UPGRADE_NONE);
	ck_assert(!upgrade_ready(&u) && !upgrade_leave(&u));
}
