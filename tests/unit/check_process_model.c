/*
 * check_process_model: every order of messages, deaths, signals and timers that a small server can
 * meet, up to a depth, by the master's own code: reloads, loans, an acceptor, an upgrade between
 * two masters that may be killed. In each state somebody serves, each socket has an owner, and one
 * master at most calls itself alone; from each of the last ones everything comes to rest.
 *
 * H2D_MODEL_DEPTH=8 goes further than the few seconds that a unit test may take, and says what each
 * further step finds; H2D_MODEL=loans takes that scenario alone.
 */
#include <stdarg.h>

#include "model_digest.h"
#include "model_events.h"
#include "model_states.h"
#include "unit.h"

enum {
	MANY = 99,
	RESTLESS = 300,
	STEPS = 64, /* that may come in one state */
};

/* A fork takes ten times as long then. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

struct scenario {
	const char *name, *conf;
	unsigned workers, depth;
	struct step first[4]; /* nfirst of them come before, in no other order */
	unsigned nfirst;
	unsigned most[EVENTS]; /* how often each event may come */
};

/* Of all processes. */
static struct shared {
	unsigned found, steps;
	char story[2048], wrong[4096];
} * shared;

static const struct scenario *scenario;
static unsigned came[EVENTS];
static uint32_t serving[SIDES];

/* --- what is wrong ---------------------------------------------------------------------------- */

static size_t told; /* bytes of the story */

static void tell(const struct step *s)
{
	char *at = shared->story + told;

	if (told + 64 > sizeof(shared->story))
		return;
	*at = '\t';
	name_step(s, at + 1, 60);
	strcat(at, "\n");
	told += strlen(at);
}

static void on_crash(int signo)
{
	if (shared->wrong[0] == '\0')
		snprintf(shared->wrong, sizeof(shared->wrong), "killed by signal %d", signo);
	_exit(1);
}

static __attribute__((format(printf, 1, 2))) _Noreturn void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (shared->wrong[0] == '\0')
		vsnprintf(shared->wrong, sizeof(shared->wrong), format, args);
	va_end(args);
	_exit(1);
}

/* --- what holds in every state ---------------------------------------------------------------- */

/* Whether p accepts: at once, or as soon as it is up. */
static bool is_able(const struct process *p)
{
	return p->place != NULL && p->serves && !p->drains && !p->ends &&
	       p->place->state != CHILD_FULL;
}

static bool holds(const struct process *p, ino_t ino)
{
	for (unsigned i = 0; i < p->nheld; i++)
		if (p->held[i].ino == ino)
			return true;
	return false;
}

/* Some process that could have a socket which has no owner. */
static bool has_neighbour(unsigned side)
{
	for (unsigned i = 0; i < nprocesses; i++) {
		const struct process *p = &processes[i];

		if (p->side == side && is_able(p) && p->place->state == CHILD_UP &&
			p->place->kind->gets & CHILD_LISTENERS)
			return true;
	}
	return false;
}

static unsigned count_owners(unsigned side, int fd)
{
	struct stat st;
	unsigned n = 0;

	H2D_ASSERT(fstat(fd, &st) == 0);
	for (unsigned i = 0; i < nprocesses; i++)
		n += processes[i].side == side && is_able(&processes[i]) &&
		     holds(&processes[i], st.st_ino);
	return n;
}

static void check_owner(unsigned side, const char *what, unsigned slot, int fd)
{
	if (count_owners(side, fd) == 0 && has_neighbour(side))
		wrong("%s (%u) has no owner", what, slot);
}

/* A worker that finishes reads on what its acceptor has put there. */
static bool has_reader(const struct gen *g, unsigned slot)
{
	struct stat st;

	H2D_ASSERT(fstat(g->inboxes.ends[slot][0], &st) == 0);
	for (unsigned i = 0; i < nprocesses; i++) {
		const struct process *p = &processes[i];

		if (p->place != NULL && p->place->gen == g && !p->ends && holds(p, st.st_ino))
			return true;
	}
	return false;
}

/* Whether anybody was put into its inboxes. */
static bool has_served(unsigned side, const struct gen *g)
{
	for (unsigned i = 0; i < nprocesses; i++)
		if (processes[i].side == side && processes[i].generation == g->number &&
			processes[i].serves)
			return true;
	return false;
}

static void check_inboxes(unsigned side, const struct gen *g)
{
	for (unsigned i = 0; i < g->inboxes.n && has_served(side, g); i++)
		if (!has_reader(g, i))
			check_owner(side, "an inbox", 100 * g->number + i, g->inboxes.ends[i][0]);
}

/* Somebody is there or on its way, and every socket that listens has somebody who accepts. */
static void check_sockets(unsigned side)
{
	const struct master *m = &sides[side].m;

	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all) {
		const struct listener *l = &e->listener;

		for (unsigned k = 0; k < l->nlistening; k++)
			check_owner(side, "a socket", k, l->fds[k]);
	}
	LIST_EACH(struct gen, g, node, &m->gens.all)
		check_inboxes(side, g);
	GEN_FOREACH(c, m->current)
		if (c->kind->awaited && c->pid == 0 && !timer_armed(&c->respawn))
			wrong("nobody starts %s %u again", c->kind->name, c->slot);
}

static unsigned count_alone(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SIDES; i++)
		n += side_serves(i) && master_is_alone(&sides[i].m);
	return n;
}

static bool is_wished(void)
{
	for (unsigned i = 0; i < SIDES; i++) {
		if (side_runs(i) && sides[i].m.wish.asked & 1u << WISH_RELOAD)
			return true;
		for (unsigned k = 0; k < sides[i].to.n; k++)
			if (strncmp(sides[i].to.text[k], "bye ", 4) == 0 &&
				atoi(sides[i].to.text[k] + 4) & 1)
				return true;
	}
	return false;
}

static void check_gens(const struct master *m)
{
	unsigned serve = 0;

	LIST_EACH(const struct gen, g, node, &m->gens.all) {
		serve += g->state == GEN_SERVE;
		if (g->state == GEN_START && m->starting != g)
			wrong("generation %u is built by nobody", g->number);
	}
	if (serve > 1)
		wrong("two generations serve");
}

/* What has just begun to serve is whole. */
static void check_commit(unsigned side)
{
	const struct gen *g = sides[side].m.current;

	if (g->number != serving[side] && !gen_is_up(g))
		wrong("generation %u serves before all are up", g->number);
	serving[side] = g->number;
}

static void check_state(void)
{
	bool served = false;

	for (unsigned i = 0; i < SIDES; i++) {
		if (!side_runs(i))
			continue;
		check_gens(&sides[i].m);
		served |= side_serves(i);
		if (!side_serves(i))
			continue;
		check_commit(i);
		check_sockets(i);
	}
	if (!served && !excused)
		wrong("no master serves");
	if (count_alone() > 1)
		wrong("both masters call themselves alone");
	if (owed && !excused && !is_wished())
		wrong("a reload that was asked for is forgotten");
}

/* --- states ----------------------------------------------------------------------------------- */

/* Room for as many of each event as a scenario may have. */
static uint64_t count_used(void)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < EVENTS; i++)
		if (scenario->most[i] < MANY)
			used |= (uint64_t)came[i] << i * USED_BITS;
	return used;
}

/* A world, or one that comes to rest. */
enum found { WORLD, RESTS };

static uint64_t digest_of(enum found what)
{
	model_digest();
	mix(excused | owed << 1 | what << 2);
	return hash;
}

/* --- rest ------------------------------------------------------------------------------------- */

static bool take_first(struct step *s)
{
	static const enum event order[] = { EVENT_BEGIN, EVENT_DELIVER, EVENT_SEE_END, EVENT_LEAVE,
		EVENT_UP, EVENT_TIME };

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (unsigned who = 0; who < nprocesses || who < SIDES; who++) {
			*s = (struct step){ order[i], who };
			if (may(s))
				return true;
		}
	return false;
}

static bool is_manned(const struct gen *g)
{
	GEN_FOREACH(c, g)
		if (c->pid == 0)
			return false;
	return gen_is_up(g);
}

static bool is_at_rest(unsigned side)
{
	const struct master *m = &sides[side].m;

	return m->phase == MASTER_SERVE && m->gens.n == 1 && m->starting == NULL &&
	       is_manned(m->current) && m->wish.asked == 0;
}

static bool all_rest(void)
{
	for (unsigned i = 0; i < SIDES; i++)
		if (sides[i].life == LIFE_READY || (side_runs(i) && !is_at_rest(i)))
			return false;
	return true;
}

static bool is_any_full(void)
{
	for (unsigned i = 0; i < nprocesses; i++)
		if (processes[i].place != NULL && processes[i].place->state == CHILD_FULL)
			return true;
	return false;
}

/* Where everybody is up nobody has what is another's. */
static void check_loans_are_over(unsigned side)
{
	const struct master *m = &sides[side].m;

	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all) {
		const struct listener *l = &e->listener;

		for (unsigned k = 0; k < l->nlistening; k++)
			if (count_owners(side, l->fds[k]) != 1)
				wrong("a socket (%u) has %u owners", k,
					count_owners(side, l->fds[k]));
	}
}

static void take(const struct step *s)
{
	came[s->event]++;
	tell(s);
	happen(s);
	check_state();
}

/* Nobody dies and nothing is asked for any more, until what is known to come to rest. */
static void come_to_rest(void)
{
	struct step s;

	for (unsigned n = 0; !all_rest(); n++) {
		if (is_known(digest_of(RESTS), 0))
			return;
		if (n == RESTLESS || !take_first(&s))
			wrong("this does not come to rest");
		take(&s);
	}
	for (unsigned i = 0; i < SIDES; i++)
		if (side_serves(i) && !is_any_full())
			check_loans_are_over(i);
	if (side_runs(0) && side_runs(1))
		wrong("two masters are left");
	if (owed && !excused)
		wrong("a reload is owed for good");
}

/* --- exploration ------------------------------------------------------------------------------ */

/* In a copy of the world: true. */
static bool enter(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		return true;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		wrong("the model has no process");
	if (status != 0)
		_exit(1);
	return false;
}

static unsigned list_steps(struct step *steps)
{
	unsigned n = 0;

	for (enum event e = 0; e < EVENTS; e++)
		for (unsigned who = 0; who < nprocesses || who < SIDES; who++) {
			struct step s = { e, who };

			if (came[e] >= scenario->most[e] || !may(&s))
				continue;
			H2D_ASSERT(n < STEPS);
			steps[n++] = s;
		}
	return n;
}

static void try_step(struct state *from, unsigned i, const struct step *s, bool last)
{
	take(s);
	shared->steps++;
	if (is_known(digest_of(WORLD), count_used()))
		return;
	from->tree |= UINT64_C(1) << i;
	shared->found++;
	if (last)
		come_to_rest();
}

/* Every step from a state that the pass before has found. */
static void try_all(struct state *from, const struct step *steps, unsigned n, bool last)
{
	from->first = states->nrows;
	for (unsigned i = 0; i < n; i++)
		if (enter()) {
			try_step(from, i, &steps[i], last);
			_exit(0);
		}
}

static void go_on(struct state *from, unsigned depth, unsigned goal, bool last);

/* The same steps lead to the same states. */
static void go_along(const struct state *from, unsigned depth, const struct step *steps,
	unsigned goal, bool last)
{
	struct state *next = &states->rows[from->first];

	for (unsigned i = 0; from->tree >> i != 0; i++) {
		if (!(from->tree >> i & 1))
			continue;
		if (enter()) {
			take(&steps[i]);
			if (digest_of(WORLD) != next->key)
				wrong("these steps have led to another state before");
			go_on(next, depth + 1, goal, last);
			_exit(0);
		}
		next++;
	}
}

static void go_on(struct state *from, unsigned depth, unsigned goal, bool last)
{
	struct step steps[STEPS];
	unsigned n;

	if (depth + 1 < goal && from->tree == 0)
		return;
	n = list_steps(steps);
	if (depth + 1 < goal)
		go_along(from, depth, steps, goal, last);
	else
		try_all(from, steps, n, last);
}

static void explore(unsigned depth)
{
	is_known(digest_of(WORLD), count_used());
	for (unsigned goal = 1; goal <= depth; goal++) {
		shared->steps = 0;
		go_on(&states->rows[0], 0, goal, goal == depth);
		if (getenv("H2D_MODEL_DEPTH") == NULL)
			continue;
		printf("%s, depth %u: %u states, the last %u steps\n", scenario->name, goal,
			shared->found, shared->steps);
		fflush(stdout);
	}
}

/* --- scenarios -------------------------------------------------------------------------------- */

/* A file without a name, of which nothing is left. */
static void write_conf(void)
{
	int fd = memfd_new("model");

	H2D_ASSERT(fd >= 0);
	snprintf(conf_path, sizeof(conf_path), "/proc/self/fd/%d", fd);
	dprintf(fd,
		"user = \"root\"\nlisten \"127.0.0.1:0\" { tls = false }\nshutdown-timeout = 5\n"
		"error-log = \"/dev/null\"\nlog-level = error\ncache { max-size = 0 }\n"
		"worker-processes = %u\nserver \"_\" { root = \"/tmp\" }\n%s",
		scenario->workers, scenario->conf);
}

/* The first generation is up. */
static void start(void)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	set_clock(1000000);
	write_conf();
	master_make(0);
	sides[0].life = LIFE_RUNS;
	reload_begin(&sides[0].m);
	for (unsigned i = 0; i < nprocesses; i++)
		say(&processes[i], CTL_UP, 0);
	settle_all();
	newest[0] = sides[0].m.gens.last;
	check_state();
}

static unsigned depth(void)
{
	const char *asked = getenv("H2D_MODEL_DEPTH");

	if (asked != NULL)
		return (unsigned)atoi(asked);
	return SANITIZED ? (scenario->depth + 1) / 2 : scenario->depth;
}

#define UPGRADE \
	{ \
		[EVENT_UP] = MANY, [EVENT_DIE] = 1, [EVENT_LEAVE] = MANY, [EVENT_HUP] = 1, \
		[EVENT_USR2] = 1, [EVENT_QUIT] = 1, [EVENT_TERM] = 1, [EVENT_BEGIN] = MANY, \
		[EVENT_DELIVER] = MANY, [EVENT_SEE_END] = MANY, [EVENT_KILL] = 1, [EVENT_TIME] = 3 \
	}

static const struct scenario scenarios[] = {
	{ "reload", "", 2, 5, {}, 0,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 2,
			[EVENT_LEAVE] = MANY,
			[EVENT_HUP] = 2,
			[EVENT_QUIT] = 1,
			[EVENT_TERM] = 1,
			[EVENT_TIME] = MANY } },
	{ "loans", "", 2, 6, {}, 0,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 5,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 2,
			[EVENT_HUP] = 1,
			[EVENT_TIME] = MANY } },
	{ "acceptor", "dispatch = acceptor\n", 2, 4, {}, 0,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 4,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 1,
			[EVENT_HUP] = 1,
			[EVENT_TIME] = MANY } },
	{ "lent inboxes", "dispatch = acceptor\n", 2, 3,
		{ { EVENT_HUP, 0 }, { EVENT_UP, 3 }, { EVENT_UP, 4 }, { EVENT_UP, 5 } }, 4,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 2,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 2,
			[EVENT_HUP] = 2,
			[EVENT_TIME] = MANY } },
	{ "no acceptor", "dispatch = acceptor\n", 2, 4,
		{ { EVENT_DIE, 2 }, { EVENT_DIE, 3 }, { EVENT_DIE, 4 }, { EVENT_DIE, 5 } }, 4,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 6,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 1,
			[EVENT_HUP] = 1,
			[EVENT_TIME] = MANY } },
	{ "upgrade", "", 1, 5, {}, 0, UPGRADE },
	{ "hand-over", "", 1, 5, { { EVENT_USR2, 0 }, { EVENT_BEGIN, 1 }, { EVENT_UP, 1 } }, 3,
		UPGRADE },
};

static bool is_asked_for(const struct scenario *s)
{
	const char *name = getenv("H2D_MODEL");

	return name == NULL || strcmp(name, s->name) == 0;
}

TEST_ROWS(every_order, scenarios)
{
	int status;
	pid_t pid;

	scenario = &scenarios[_i];
	if (!is_asked_for(scenario))
		return;
	shared = share(sizeof(*shared));
	states_init(getenv("H2D_MODEL_DEPTH") != NULL ? 1U << 26 : 1U << 18);
	pid = fork();
	if (pid == 0) {
		assert_last_words_to(shared->wrong, sizeof(shared->wrong));
		start();
		signal(SIGABRT, on_crash);
		signal(SIGSEGV, on_crash);
		for (unsigned i = 0; i < scenario->nfirst; i++)
			take(&scenario->first[i]);
		explore(depth());
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	printf("%s: %u states, depth %u\n", scenario->name, shared->found, depth());
	ck_assert_msg(status == 0, "%s: %s\n%s", scenario->name, shared->wrong, shared->story);
}

UNIT_STATEMENT(timeout, tcase_set_timeout(unit_case(), 0))
