/*
 * check_process_model: every order of messages, deaths, signals and timers that a small server can
 * meet, up to a depth, by the master's own code: reloads, loans, an acceptor, an upgrade between
 * two masters that may be killed. Each state is a process; its children are what may come next. In
 * each state somebody serves, each socket has an owner, and one master at most calls itself alone;
 * from each of the last ones everything comes to rest.
 *
 * H2D_MODEL_DEPTH=12 goes further than the few seconds that a unit test may take, and
 * H2D_MODEL=loans takes that scenario alone.
 */
#include <stdarg.h>
#include <sys/wait.h>

#include "model_digest.h"
#include "unit.h"

enum { MANY = 99, TABLE = 1 << 24, RESTLESS = 300 };

enum event {
	EVENT_UP,
	EVENT_DIE,
	EVENT_LEAVE,
	EVENT_FULL,
	EVENT_HUP,
	EVENT_USR2,
	EVENT_QUIT,
	EVENT_TERM,
	EVENT_BEGIN,
	EVENT_DELIVER,
	EVENT_SEE_END,
	EVENT_KILL,
	EVENT_TIME,
	EVENTS
};

static const char *const event_names[EVENTS] = { "up", "die", "leave", "full", "HUP", "USR2",
	"QUIT", "TERM", "begin", "hear", "see the end of the other", "killed", "time" };

struct step {
	enum event event;
	unsigned who;
};

/* A fork takes ten times as long then. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* How often each event may come in one run. */
struct scenario {
	const char *name, *conf;
	unsigned workers, depth;
	struct step first[4]; /* nfirst of them come before, in no other order */
	unsigned nfirst;
	unsigned most[EVENTS];
};

/* Of all processes. */
static struct shared {
	uint64_t keys[TABLE]; /* of states, with what depth was left in the low bits */
	unsigned states, steps;
	char wrong[4096];
} * shared;

static const struct scenario *scenario;
static unsigned came[EVENTS];
static bool excused; /* the end was asked for, or the one that served was killed */
static uint32_t serving[SIDES];
static bool owed;              /* a reload that was asked for */
static uint32_t newest[SIDES]; /* generation of each master that has begun */

/* --- what is wrong ---------------------------------------------------------------------------- */

static void name_step(const struct step *s, char *buf, size_t size)
{
	const struct process *p = &processes[s->who];

	if (s->event <= EVENT_FULL && p->place != NULL)
		snprintf(buf, size, "%s of %s %u/%u %s", p->side == 0 ? "old" : "new",
			p->place->kind->name, p->generation, p->place->slot, event_names[s->event]);
	else if (s->event == EVENT_TIME)
		snprintf(buf, size, "time passes");
	else
		snprintf(buf, size, "%s: %s", s->who == 0 ? "old" : "new", event_names[s->event]);
}

static char story[2048];

static void tell(const struct step *s)
{
	size_t n = strlen(story);

	if (n + 64 > sizeof(story))
		return;
	story[n] = '\t';
	name_step(s, story + n + 1, 60);
	strcat(story, "\n");
}

static __attribute__((format(printf, 1, 2))) _Noreturn void wrong(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (shared->wrong[0] == '\0')
		snprintf(shared->wrong, sizeof(shared->wrong), "%s\n%s", text, story);
	_exit(1);
}

/* --- what holds in every state ---------------------------------------------------------------- */

static bool side_runs(unsigned side)
{
	return sides[side].life == LIFE_RUNS;
}

static bool side_serves(unsigned side)
{
	const struct master *m = &sides[side].m;

	return side_runs(side) && m->phase != MASTER_LEAVE && m->current != NULL &&
	       m->current->state == GEN_SERVE;
}

/* Whether p accepts: at once, or as soon as it is up. */
static bool is_able(const struct process *p)
{
	return p->place != NULL && p->serves && !p->drains && !p->ends && !p->place->full;
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

		if (p->side == side && is_able(p) && p->place->up &&
			p->place->kind->gets & CHILD_LISTENERS)
			return true;
	}
	return false;
}

static unsigned count_owners(unsigned side, int fd)
{
	struct stat st;
	unsigned n = 0;

	ck_assert_int_eq(fstat(fd, &st), 0);
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

	ck_assert_int_eq(fstat(g->inboxes.ends[slot][0], &st), 0);
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

	LIST_FOREACH(node, &m->sockets.all) {
		const struct listener *l = &LIST_ENTRY(node, struct sockets_entry, node)->listener;

		for (unsigned k = 0; k < l->nlistening; k++)
			check_owner(side, "a socket", k, l->fds[k]);
	}
	LIST_FOREACH(node, &m->gens)
		check_inboxes(side, LIST_ENTRY(node, struct gen, node));
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
		if (side_runs(i) && sides[i].m.wishes & 1u << WISH_RELOAD)
			return true;
		for (unsigned k = 0; k < sides[i].to.n; k++)
			if (strncmp(sides[i].to.text[k], "bye 1", 5) == 0)
				return true;
	}
	return false;
}

static void check_gens(const struct master *m)
{
	unsigned serve = 0;

	LIST_FOREACH(node, &m->gens) {
		const struct gen *g = LIST_ENTRY(node, struct gen, node);

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

/* --- events ----------------------------------------------------------------------------------- */

static void say(struct process *p, uint32_t type, uint64_t arg)
{
	struct ctl_msg msg = { .type = type, .arg = arg };
	struct watch *w = &p->place->ctl;

	ck_assert_int_eq(ctl_send(p->ctl, &msg, NULL, 0), 0);
	w->fn(w, EPOLLIN);
}

static void end_process(struct process *p, int status)
{
	struct child *c = p->place;

	p->place = NULL;
	close(p->ctl);
	child_reaped(c, status);
}

/* The loop calls timers behind the messages that are there: one that stands still has time pass
 * for the other. */
static bool has_timer(unsigned side)
{
	return side_runs(side) && !hears(&sides[side]) && sides[side].m.loop.wheel.armed > 0;
}

static void let_time_pass(void)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < SIDES; i++)
		if (has_timer(i) && next_timer(&sides[i].m.loop.wheel) < next)
			next = next_timer(&sides[i].m.loop.wheel);
	set_clock(next > now ? next : now + 1);
	for (unsigned i = 0; i < SIDES; i++)
		if (has_timer(i))
			wheel_advance(&sides[i].m.loop.wheel, now);
}

/* The new master has waited for the last word for five seconds, and goes on without. */
static bool is_settled_alone(unsigned side)
{
	return side_serves(side) && sides[side].peer < 0 && side_runs(!side) &&
	       sides[!side].m.phase == MASTER_UPGRADE && sides[!side].m.upgrade.offered;
}

/* A reload that has begun is owed no more; nor is one that an old master was asked for while it
 * stood still: it is sent on by a signal, which the model has not (test_77_upgrade.py). */
static void look_at_reloads(void)
{
	owed &= !is_settled_alone(0) && !is_settled_alone(1);
	for (unsigned i = 0; i < SIDES; i++)
		if (side_runs(i) && sides[i].m.last_number > newest[i]) {
			newest[i] = sides[i].m.last_number;
			owed = false;
		}
}

static void kill_side(unsigned side)
{
	excused |= !side_serves(!side);
	side_over(side, true);
	owed = false; /* perhaps it was that one's */
}

static void signal_side(unsigned side, int signo)
{
	struct master *m = &sides[side].m;

	excused |= signo == SIGQUIT || signo == SIGTERM;
	/* What one is asked that does not serve yet goes with it, if it never does. */
	owed |= signo == SIGHUP && side_serves(side) && !master_is_leaving(m);
	master_signal(m, signo);
}

static void happen(const struct step *s)
{
	struct side *side = &sides[s->who % SIDES];
	struct process *p = &processes[s->who];

	switch (s->event) {
	case EVENT_UP:
		say(p, CTL_UP, 0);
		break;
	case EVENT_DIE:
		end_process(p, SIGKILL);
		break;
	case EVENT_LEAVE:
		end_process(p, 0);
		break;
	case EVENT_FULL:
		say(p, CTL_FULL, !p->place->full);
		break;
	case EVENT_HUP:
		signal_side(s->who, SIGHUP);
		break;
	case EVENT_USR2:
		signal_side(s->who, SIGUSR2);
		break;
	case EVENT_QUIT:
		signal_side(s->who, SIGQUIT);
		break;
	case EVENT_TERM:
		signal_side(s->who, SIGTERM);
		break;
	case EVENT_BEGIN:
		side_begin(side);
		newest[s->who] = side->m.last_number;
		break;
	case EVENT_DELIVER:
		deliver(side);
		break;
	case EVENT_SEE_END:
		side->m.upgrade.process.fn(&side->m.upgrade.process, EPOLLIN);
		break;
	case EVENT_KILL:
		kill_side(s->who);
		break;
	case EVENT_TIME:
		let_time_pass();
		break;
	case EVENTS:
		break;
	}
	settle_all();
	look_at_reloads();
}

/* --- what may come next ----------------------------------------------------------------------- */

static bool says(const struct process *p, uint32_t type)
{
	return p->place->kind->says & CHILD_SAYS(type);
}

static bool process_may(const struct process *p, enum event event)
{
	bool goes = p->drains || p->ends;

	if (p->place == NULL)
		return false;
	switch (event) {
	case EVENT_UP:
		return !p->place->up && says(p, CTL_UP);
	case EVENT_DIE:
		return !goes;
	case EVENT_LEAVE:
		return goes;
	case EVENT_FULL:
		return !goes && p->place->up && p->serves && says(p, CTL_FULL);
	default:
		return false;
	}
}

static bool side_may(unsigned side, enum event event)
{
	const struct side *s = &sides[side];

	switch (event) {
	case EVENT_BEGIN:
		return s->life == LIFE_READY;
	case EVENT_DELIVER:
		return hears(s);
	case EVENT_SEE_END:
		return side_runs(side) && s->m.upgrade.process.active &&
		       sides[!side].life == LIFE_OVER;
	case EVENT_KILL:
		return s->life == LIFE_READY || side_runs(side);
	default:
		return side_runs(side) && event >= EVENT_HUP && event <= EVENT_TERM;
	}
}

static bool may(const struct step *s)
{
	if (s->event == EVENT_TIME)
		return s->who == 0 && (has_timer(0) || has_timer(1));
	if (s->event <= EVENT_FULL)
		return s->who < nprocesses && process_may(&processes[s->who], s->event);
	return s->who < SIDES && side_may(s->who, s->event);
}

/* --- states that are known ---------------------------------------------------------------------
 */

/* Whether this state was seen with as much depth left; else it is from now on. */
static bool is_known(unsigned left)
{
	uint64_t key;

	model_digest();
	for (unsigned i = 0; i < EVENTS; i++)
		if (scenario->most[i] < MANY)
			mix(came[i]); /* how many may come yet */
	mix(excused | owed << 1);
	key = (hash | 64) & ~UINT64_C(63);
	for (uint64_t i = hash % TABLE;; i = (i + 1) % TABLE) {
		uint64_t *at = &shared->keys[i];

		if (*at == 0)
			shared->states++;
		if (*at != 0 && (*at & ~UINT64_C(63)) != key)
			continue;
		if (*at != 0 && (*at & 63) >= left)
			return true;
		*at = key | left;
		return false;
	}
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

	return m->phase == MASTER_SERVE && m->ngens == 1 && m->starting == NULL &&
	       is_manned(m->current) && m->wishes == 0;
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
		if (processes[i].place != NULL && processes[i].place->full)
			return true;
	return false;
}

/* Where everybody is up nobody has what is another's. */
static void check_loans_are_over(unsigned side)
{
	const struct master *m = &sides[side].m;

	LIST_FOREACH(node, &m->sockets.all) {
		const struct listener *l = &LIST_ENTRY(node, struct sockets_entry, node)->listener;

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

/* Nobody dies and nothing is asked for any more. */
static void come_to_rest(void)
{
	struct step s;

	for (unsigned n = 0; !all_rest(); n++) {
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

static void explore(unsigned left);

static _Noreturn void go_on(const struct step *s, unsigned left)
{
	take(s);
	if (is_known(left))
		_exit(0);
	if (left == 0)
		come_to_rest();
	else
		explore(left);
	_exit(0);
}

static void try_step(const struct step *s, unsigned left)
{
	int status;
	pid_t pid;

	if (came[s->event] >= scenario->most[s->event])
		return;
	pid = fork();
	if (pid == 0)
		go_on(s, left);
	shared->steps++;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		wrong("the model has no process");
	if (status == 0)
		return;
	if (shared->wrong[0] == '\0') {
		char what[64];

		name_step(s, what, sizeof(what));
		wrong("an assertion, behind this and \"%s\"", what);
	}
	_exit(1);
}

static void explore(unsigned left)
{
	for (enum event e = 0; e < EVENTS; e++)
		for (unsigned who = 0; who < nprocesses || who < SIDES; who++) {
			struct step s = { e, who };

			if (may(&s))
				try_step(&s, left - 1);
		}
}

/* --- scenarios -------------------------------------------------------------------------------- */

static void write_conf(void)
{
	FILE *f = fopen(conf_path, "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f,
		"listen \"127.0.0.1:0\" { tls = false }\nshutdown-timeout = 5\n"
		"error-log = \"/dev/null\"\ncache { max-size = 0 }\nworker-processes = %u\n"
		"server \"_\" { root = \"/tmp\" }\n%s",
		scenario->workers, scenario->conf);
	fclose(f);
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
	newest[0] = sides[0].m.last_number;
	check_state();
}

static unsigned depth(void)
{
	const char *asked = getenv("H2D_MODEL_DEPTH");

	if (asked != NULL)
		return (unsigned)atoi(asked);
	return SANITIZED && scenario->depth > 2 ? scenario->depth - 1 : scenario->depth;
}

#define UPGRADE \
	{ \
		[EVENT_UP] = MANY, [EVENT_DIE] = 1, [EVENT_LEAVE] = MANY, [EVENT_HUP] = 1, \
		[EVENT_USR2] = 1, [EVENT_QUIT] = 1, [EVENT_TERM] = 1, [EVENT_BEGIN] = MANY, \
		[EVENT_DELIVER] = MANY, [EVENT_SEE_END] = MANY, [EVENT_KILL] = 1, [EVENT_TIME] = 3 \
	}

static const struct scenario scenarios[] = {
	{ "reload", "", 2, 4, {}, 0,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 2,
			[EVENT_LEAVE] = MANY,
			[EVENT_HUP] = 2,
			[EVENT_QUIT] = 1,
			[EVENT_TERM] = 1,
			[EVENT_TIME] = MANY } },
	{ "loans", "", 2, 4, {}, 0,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 5,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 2,
			[EVENT_HUP] = 1,
			[EVENT_TIME] = MANY } },
	{ "acceptor", "dispatch = acceptor\n", 2, 3, {}, 0,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 4,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 1,
			[EVENT_HUP] = 1,
			[EVENT_TIME] = MANY } },
	{ "lent inboxes", "dispatch = acceptor\n", 2, 2,
		{ { EVENT_HUP, 0 }, { EVENT_UP, 3 }, { EVENT_UP, 4 }, { EVENT_UP, 5 } }, 4,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 2,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 2,
			[EVENT_HUP] = 2,
			[EVENT_TIME] = MANY } },
	{ "no acceptor", "dispatch = acceptor\n", 2, 2,
		{ { EVENT_DIE, 2 }, { EVENT_DIE, 3 }, { EVENT_DIE, 4 }, { EVENT_DIE, 5 } }, 4,
		{ [EVENT_UP] = MANY,
			[EVENT_DIE] = 6,
			[EVENT_LEAVE] = MANY,
			[EVENT_FULL] = 1,
			[EVENT_HUP] = 1,
			[EVENT_TIME] = MANY } },
	{ "upgrade", "", 1, 4, {}, 0, UPGRADE },
	{ "hand-over", "", 1, 4, { { EVENT_USR2, 0 }, { EVENT_BEGIN, 1 }, { EVENT_UP, 1 } }, 3,
		UPGRADE },
};

static bool is_asked_for(const struct scenario *s)
{
	const char *name = getenv("H2D_MODEL");

	return name == NULL || strcmp(name, s->name) == 0;
}

START_TEST(every_order)
{
	int status;
	pid_t pid;

	if (!is_asked_for(&scenarios[_i]))
		return;
	scenario = &scenarios[_i];
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	close(mkstemp(conf_path));
	pid = fork();
	if (pid == 0) {
		start();
		for (unsigned i = 0; i < scenario->nfirst; i++)
			take(&scenario->first[i]);
		explore(depth());
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	unlink(conf_path);
	printf("%s: %u states, %u steps, depth %u\n", scenario->name, shared->states, shared->steps,
		depth());
	ck_assert_msg(status == 0, "%s: %s", scenario->name, shared->wrong);
}
END_TEST

static TCase *tests(void)
{
	TCase *t = tcase_create("process_model");

	tcase_set_timeout(t, 0);
	tcase_add_loop_test(t, every_order, 0, sizeof(scenarios) / sizeof(scenarios[0]));
	return t;
}

UNIT_MAIN("process_model")
