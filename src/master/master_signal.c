/* master_signal: grants wishes at once if the phase allows it, else on the way back to SERVE. */
#include "master/master_signal.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "master/drain.h"
#include "master/master_state.h"
#include "master/reload.h"
#include "master/succession.h"
#include "upgrade/fdstore.h"

/* --- wishes ----------------------------------------------------------------------------------- */

static void stop(struct master *m)
{
	succession_abort(m);
	drain_all(m, DRAIN_CUT);
}

static void quit(struct master *m)
{
	succession_abort(m);
	if (!drain_announce(m))
		drain_all(m, DRAIN_STOP);
}

/* Without a keeper of the sockets for the next master, it is the graceful end. */
static void yield(struct master *m)
{
	succession_abort(m);
	if (m->current == NULL || m->phase == MASTER_LEAVE || !fdstore_is_on())
		quit(m);
	else
		drain_yield(m);
}

static void drain(struct master *m)
{
	health_drain(m, true);
}

static void undrain(struct master *m)
{
	health_drain(m, false);
}

static const struct {
	unsigned in;
	void (*grant)(struct master *m);
} wishes[MASTER_WISHES] = {
#define MASTER_WISH(name, signo, in, grant, help) { in, grant },
#include "master/master_wish.def"
};

/* The first one granted may move the master to a phase in which the others wait. */
static void grant(struct master *m)
{
	for (enum master_wish w = 0; w < MASTER_WISHES; w++)
		if (m->wish.asked & 1u << w && wishes[w].in & 1u << m->phase) {
			wishes[w].grant(m);
			m->wish.asked &= ~(1u << w);
		}
}

static void on_grant(struct task *t)
{
	grant(LIST_ENTRY(t, struct master, wish.grant));
}

void master_signal_init(struct master *m)
{
	task_init(&m->wish.grant, on_grant);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* MASTER_WISHES: none. A terminal sends SIGINT. */
static enum master_wish wish_of(int signo)
{
	enum master_wish wish = 0;

	while (wish < MASTER_WISHES && signo != master_wish_signal(wish))
		wish++;
	return signo == SIGINT ? WISH_STOP : wish;
}

void master_signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGUSR1);
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		if (wish_of(signo) != MASTER_WISHES)
			sigaddset(set, signo);
}

const char *master_signal_name(int signo)
{
	const char *name = sigabbrev_np(signo);

	if (signo == MASTER_SIGNAL_DRAIN)
		return "RTMIN+1 (drain)";
	if (signo == MASTER_SIGNAL_UNDRAIN)
		return "RTMIN+2 (undrain)";
	return name != NULL ? name : "unknown";
}

void master_signal(struct master *m, int signo)
{
	enum master_wish wish;

	if (signo == SIGUSR1) {
		LIST_EACH(struct gen, g, node, &m->gens.all) {
			logs_reopen(&g->logs);
			gen_send(g, CHILD_ERROR_LOG | CHILD_ACCESS_LOGS, DUE_LOGS);
		}
		log_notice("logs reopened");
		return;
	}
	/* Container managers send only TERM, and give time to finish. */
	if (signo == SIGTERM && getpid() == 1 && !master_is_leaving(m))
		signo = SIGQUIT;
	wish = wish_of(signo);
	if (wish == MASTER_WISHES)
		return;
	/* The last of these two counts. */
	if (wish == WISH_DRAIN || wish == WISH_UNDRAIN)
		m->wish.asked &= ~(1u << WISH_DRAIN | 1u << WISH_UNDRAIN);
	m->wish.asked |= 1u << wish;
	grant(m);
}
