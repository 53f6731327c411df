/*
 * model_unit: the world of check_process_model and fuzz_ctl: two masters, the old and the new one
 * of an upgrade, with the real code of each, and processes that are only notes of what they were
 * told. All is in the memory of one process, so that a fork is a copy of the world: what is on its
 * way between the masters waits in queues here and in no socket, and no clock runs but the one
 * here.
 */
#pragma once

#pragma GCC diagnostic ignored "-Wunused-parameter"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "event/bus.h"
#include "image/memfd.h"
#include "master/drain.h"
#include "master/loan.h"
#include "master/master_signal.h"
#include "master/master_state.h"
#include "master/reload.h"
#include "master/succession.h"
#include "master/supervise.h"

enum {
	SIDES = 2,
	PROCESSES = 96,
	HELD = 12,
	QUEUE = 8,
	MESSAGE = 96,
	FIRST_PID = 1 << 23,
	NEW_PID = 1 << 22, /* of a master that an upgrade starts */
};

/* A socket or an inbox that a process accepts from. */
struct held {
	uint32_t id, slot;
	ino_t ino;
};

struct process {
	struct child *place; /* NULL: it is gone */
	unsigned side;
	uint32_t generation;
	int ctl; /* its end */
	bool serves, drains, ends;
	struct held held[HELD];
	unsigned nheld;
};

/* Messages to a master, in their order; an empty one is the end of the channel. */
struct queue {
	char text[QUEUE][MESSAGE];
	unsigned n;
};

enum life { LIFE_NONE, LIFE_READY, LIFE_RUNS, LIFE_OVER };

struct side {
	struct master m;
	enum life life;
	bool killed;
	int peer; /* the other end of its channel, -1 */
	struct queue to;
	struct passed inherited;
	char variable[64]; /* of the environment */
};

static struct side sides[SIDES];
static struct process processes[PROCESSES];
static unsigned nprocesses;
static uint64_t now;
static char conf_path[32] = "/tmp/h2d-model-XXXXXX";

/* --- the machine ------------------------------------------------------------------------------ */

/* The kernel's list is shared by all copies of the world, and nobody waits for it. */
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return 0;
}

/* Nobody waits here either: who is killed has ended when pidfd_send_signal() returns. */
int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return ppoll(fds, nfds, &(struct timespec){ 0 }, NULL);
}

/* A descriptor that becomes readable at the end of the new master. */
int pidfd_open(pid_t pid, unsigned flags)
{
	return eventfd(0, EFD_CLOEXEC);
}

/* A socket whose other end is closed. */
static int dead_end(void)
{
	static int first = -1;
	int ends[2];

	if (first < 0) {
		H2D_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
		H2D_ASSERT(close_range((unsigned)ends[1], (unsigned)ends[1], 0) == 0);
		first = ends[0];
	}
	return fcntl(first, F_DUPFD_CLOEXEC, 0);
}

static unsigned side_of(const struct master *m)
{
	return m == &sides[0].m ? 0 : 1;
}

static void hold(struct process *p, uint32_t id, uint32_t slot, int fd)
{
	struct stat st;

	if (fd < 0)
		return;
	H2D_ASSERT(p->nheld < HELD);
	H2D_ASSERT(fstat(fd, &st) == 0);
	p->held[p->nheld++] = (struct held){ id, slot, st.st_ino };
}

/* What the table of kinds has a process be given. */
static void hold_gifts(struct process *p)
{
	const struct child *c = p->place;
	const struct inboxes *in = &c->gen->inboxes;
	unsigned n;
	struct worker_listener *l = gen_listeners(c, &n);

	for (unsigned i = 0; i < n; i++)
		hold(p, l[i].id, l[i].slot, l[i].fd);
	free(l);
	if (c->kind->gets & CHILD_INBOX && c->slot < in->n)
		hold(p, CTL_INBOX, in->first + c->slot, in->ends[c->slot][0]);
}

static pid_t fake_spawn(struct child *c, int *ctl)
{
	int ends[2];

	if (nprocesses == PROCESSES || scm_pair(ends) < 0)
		return -EAGAIN;
	processes[nprocesses] = (struct process){ .place = c,
		.side = side_of(c->gen->master),
		.generation = c->gen->number,
		.ctl = ends[1] };
	hold_gifts(&processes[nprocesses]);
	*ctl = ends[0];
	return (pid_t)(FIRST_PID + nprocesses++);
}

static int fake_kill(pid_t pid, int signo)
{
	processes[pid - FIRST_PID].ends = true;
	return 0;
}

static void end_turn(struct master *m)
{
	struct list *node;

	while ((node = list_pop(&m->loop.deferred)) != NULL)
		LIST_ENTRY(node, struct task, node)->fn(LIST_ENTRY(node, struct task, node));
}

static inline uint64_t next_timer(const struct wheel *w)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; w->armed > 0 && i < WHEEL_LEVELS * WHEEL_SLOTS; i++)
		LIST_EACH(struct timer, t, node, &w->slots[i / WHEEL_SLOTS][i % WHEEL_SLOTS])
			if (t->at < next)
				next = t->at;
	return next;
}

static void set_clock(uint64_t ms)
{
	now = ms;
	clock_set(now * 1000, (struct timespec){ .tv_sec = 1 });
}

/* --- what processes are told ------------------------------------------------------------------ */

static void let_go(struct process *p, const struct ctl_msg *msg)
{
	for (unsigned i = 0; i < p->nheld; i++)
		if (p->held[i].id == msg->listener && p->held[i].slot == msg->slot) {
			p->held[i] = p->held[--p->nheld];
			return;
		}
}

static void hear(struct process *p)
{
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], nfds = 0;

	while (ctl_recv(p->ctl, &msg, fds, &nfds) > 0) {
		p->serves |= msg.type == CTL_SERVE;
		p->drains |= msg.type == CTL_DRAIN;
		if (msg.type == CTL_LISTEN && nfds == 1) {
			let_go(p, &msg); /* another in the place of one that is there */
			hold(p, msg.listener, msg.slot, fds[0]);
		}
		if (msg.type == CTL_UNLISTEN)
			let_go(p, &msg);
		while (nfds > 0)
			close(fds[--nfds]);
	}
}

/* --- masters ---------------------------------------------------------------------------------- */

static int no_run(const struct gifts *gifts)
{
	return 0;
}

static unsigned count_workers(const struct conf *conf)
{
	return (unsigned)conf->worker_processes;
}

static unsigned count_acceptors(const struct conf *conf)
{
	return conf->dispatch == DISPATCH_ACCEPTOR;
}

/* As in child_kind.c, where the functions need routes. */
static const struct child_kind model_kinds[] = {
	{
		.name = "worker",
		.numbered = true,
		.board = true,
		.run = no_run,
		.count = count_workers,
		.gets = CHILD_LISTENERS | CHILD_INBOX | CHILD_SERVE,
		.says = CHILD_SAYS(CTL_UP) | CHILD_SAYS(CTL_FULL),
		.awaited = true,
		.restart = { .first = 1000, .most = 60000, .last = 50 },
	},
	{
		.name = "acceptor",
		.run = no_run,
		.count = count_acceptors,
		.gets = CHILD_INBOXES | CHILD_SERVE,
		.says = CHILD_SAYS(CTL_UP),
		.awaited = true,
		.restart = { .first = 20, .most = 50 },
	},
	{ .name = NULL },
};

/* Memory of this process alone, which a fork copies, in the place of what processes share. */
static void unshare_board(struct board *b)
{
	static struct board_head head;

	head = b->head;
	H2D_ASSERT(mmap(b, sizeof(*b), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == b);
	b->head = head;
}

/* As much for each of the two, from the beginning on. */
static void take_memory(struct master *m, unsigned side)
{
	static struct board *boards[SIDES];
	static struct bus *buses[SIDES];

	for (unsigned i = 0; i < SIDES && boards[i] == NULL; i++) {
		boards[i] = board_new();
		buses[i] = bus_new();
		H2D_ASSERT(boards[i] != NULL && buses[i] != NULL);
		unshare_board(boards[i]);
	}
	m->shared.board = boards[side];
	m->shared.bus = buses[side];
}

static int fake_start(struct upgrade *u, const struct program *program, const struct passed *p,
	int channel, const char *variable);

static void master_make(unsigned side)
{
	static struct conf_override ov = { .file = conf_path };
	static char *argv[] = { conf_path, NULL };
	static const struct program program = { argv, argv + 1 };
	struct side *s = &sides[side];
	struct master *m = &s->m;

	*s = (struct side){ .peer = -1 };
	m->given.ov = &ov;
	m->given.program = &program;
	m->processes.kinds = model_kinds;
	m->processes.env = (struct child_env){ &m->loop, &supervise_ops, fake_spawn, fake_kill };
	m->pidfile = PIDFILE_NONE;
	m->next_image = 1;
	take_memory(m, side);
	list_init(&m->gens.all);
	sockets_init(&m->sockets);
	master_signal_init(m);
	reload_init(m);
	/* What a pipe holds is not put back with a process. */
	close(m->leave.end);
	close(m->leave.others.fd);
	m->leave.end = m->leave.others.fd = -1;
	succession_init(m);
	m->upgrade.start = fake_start;
	H2D_ASSERT(loop_init(&m->loop) == 0);
	set_clock(now); /* a loop begins with the machine's time */
	wheel_init(&m->loop.wheel, now);
}

/* Each descriptor once more, as the new process has it; its end of the channel is the model's. */
static void inherit_all(struct side *new, const struct passed *p, int channel, int end)
{
	for (unsigned i = 0; i < p->n; i++) {
		int fd = p->v[i].fd == channel ? end : fcntl(p->v[i].fd, F_DUPFD_CLOEXEC, 3);

		H2D_ASSERT(passed_add(&new->inherited, fd, p->v[i].name));
	}
}

/* Nobody reads what comes to a channel that is closed. */
static void queue_put(struct side *s, const char *text)
{
	if (s->peer < 0)
		return;
	H2D_ASSERT(s->to.n < QUEUE);
	snprintf(s->to.text[s->to.n++], MESSAGE, "%.*s", MESSAGE - 1, text);
}

static void close_peer(struct side *s)
{
	close(s->peer);
	s->peer = -1;
	s->to.n = 0;
}

/* The new program is there and has done nothing yet; where the model has no room for one, the
 * machine has none. */
static int fake_start(struct upgrade *u, const struct program *program, const struct passed *p,
	int channel, const char *variable)
{
	struct side *old = LIST_ENTRY(u, struct side, m.upgrade), *new = &sides[old == sides];
	char text[MESSAGE];
	int ends[2];

	if (new->life == LIFE_READY || new->life == LIFE_RUNS)
		return -EAGAIN;
	master_make(side_of(&new->m));
	new->life = LIFE_READY;
	H2D_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	new->peer = ends[1];
	old->peer = fcntl(channel, F_DUPFD_CLOEXEC, 0);
	inherit_all(new, p, channel, ends[0]);
	snprintf(new->variable, sizeof(new->variable), "%s", strchr(variable, '=') + 1);
	snprintf(text, sizeof(text), "pid %d", NEW_PID);
	queue_put(old, text);
	return 0;
}

/* --- the channel ------------------------------------------------------------------------------ */

/* What s has said goes into the other's queue, and so does its end. */
static void pump(struct side *s)
{
	struct side *other = &sides[s == sides];
	char text[STATUS_TEXT + 64];
	ssize_t n;

	if (s->peer < 0)
		return;
	while ((n = recv(s->peer, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[n] = '\0';
		queue_put(other, text);
	}
	if (s->m.upgrade.channel.fd < 0) {
		queue_put(other, "");
		close_peer(s);
	}
}

static bool hears(const struct side *s)
{
	return s->life == LIFE_RUNS && s->to.n > 0 && s->peer >= 0;
}

/* Another end takes the place of the one here, which other copies of the world have, too. */
static void end_channel(struct watch *w)
{
	close(w->fd);
	w->fd = dead_end();
}

/* A channel that is shut would be shut in all copies of the world; none has a message in it. */
int shutdown(int fd, int how)
{
	for (unsigned i = 0; i < SIDES; i++)
		if (sides[i].m.upgrade.channel.fd == fd)
			end_channel(&sides[i].m.upgrade.channel);
	return 0;
}

/* The oldest message comes to s. */
static void deliver(struct side *s)
{
	struct watch *w = &s->m.upgrade.channel;
	char text[MESSAGE];

	memcpy(text, s->to.text[0], MESSAGE);
	s->to.n--;
	memmove(s->to.text, s->to.text[1], sizeof(s->to.text) - MESSAGE);
	if (text[0] != '\0')
		H2D_ASSERT(send(s->peer, text, strlen(text), 0) > 0);
	else
		end_channel(w);
	w->fn(w, EPOLLIN);
}

/* --- ends of masters -------------------------------------------------------------------------- */

static void replace_by_null(int *fd)
{
	close(*fd);
	*fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* The descriptors of its process are closed; its end is seen by who watches it. */
static void side_over(unsigned side, bool killed)
{
	struct side *s = &sides[side], *other = &sides[!side];
	struct watch *watch = &other->m.upgrade.process;

	s->life = LIFE_OVER;
	s->killed = killed;
	for (unsigned i = 0; i < nprocesses; i++)
		if (processes[i].side == side && processes[i].place != NULL) {
			processes[i].place = NULL; /* it is nobody's, and finishes by itself */
			close(processes[i].ctl);
		}
	if (s->peer >= 0) {
		queue_put(other, "");
		close_peer(s);
	}
	if (watch->fd >= 0)
		replace_by_null(&watch->fd);
}

/* The one that the old master started is meant: it has no other. */
int pidfd_send_signal(int pidfd, int signo, siginfo_t *info, unsigned flags)
{
	for (unsigned i = 0; i < SIDES; i++)
		if (sides[i].m.upgrade.process.fd == pidfd && sides[!i].life != LIFE_OVER &&
			signo == SIGKILL)
			side_over(!i, true);
	return 0;
}

static inline void side_begin(struct side *s)
{
	s->life = LIFE_RUNS;
	setenv("H2D_UPGRADE", s->variable, 1);
	H2D_ASSERT(succession_take(&s->m, &s->inherited) == 0);
	passed_free(&s->inherited);
	reload_begin(&s->m);
}

/* The end of a turn of each, and the look that a master takes once a second. */
static void settle_all(void)
{
	for (unsigned i = 0; i < SIDES; i++) {
		struct master *m = &sides[i].m;

		if (sides[i].life != LIFE_RUNS)
			continue;
		end_turn(m);
		if (m->current != NULL)
			loan_offer(m->current);
	}
	for (unsigned i = 0; i < SIDES; i++)
		if (sides[i].life == LIFE_RUNS)
			pump(&sides[i]);
	for (unsigned i = 0; i < nprocesses; i++)
		if (processes[i].place != NULL)
			hear(&processes[i]);
	for (unsigned i = 0; i < SIDES; i++)
		if (sides[i].life == LIFE_RUNS && sides[i].m.loop.stop)
			side_over(i, false);
	/* Its first word is read at once. */
	for (unsigned i = 0; i < SIDES; i++)
		if (hears(&sides[i]) && strncmp(sides[i].to.text[0], "pid ", 4) == 0)
			deliver(&sides[i]);
}
