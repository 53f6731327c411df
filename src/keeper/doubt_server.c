/*
 * doubt_server: marks the doubted names, many at a time, and answers after the kernel was asked,
 * too. Called on the keeper's loop; it never waits, and never trusts the length or the form of a
 * message.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"

enum {
	AT_ONCE = 64,
	BATCHES = 32, /* more than a full queue holds */
};

static void doubt_server_stop(struct doubt_server *s)
{
	if (s->watch.active)
		loop_unwatch(s->loop, &s->watch);
}

/* Marks one; its answer follows a question to the kernel. False: none. */
static bool take_one(struct doubt_server *s, int *answer, uint64_t *id)
{
	struct doubt_msg msg;
	char path[PATH_MAX];
	int rc;

	while ((rc = doubt_recv(s->watch.fd, &msg, path, answer)) == -EPROTO) {
		if (!s->refused)
			log_error("cache: ignoring a malformed change report");
		s->refused = true;
	}
	if (rc == 1) {
		s->doubt(s->ctx, msg.dev, msg.ino, path);
		*id = msg.id;
		return true;
	}
	if (rc != -EAGAIN) {
		doubt_server_stop(s);
		s->end(s->ctx);
	}
	return false;
}

static bool answer_some(struct doubt_server *s)
{
	int answers[AT_ONCE];
	uint64_t ids[AT_ONCE];
	unsigned n = 0;

	while (n < AT_ONCE && s->watch.active && take_one(s, &answers[n], &ids[n]))
		n++;
	if (n == 0)
		return false;
	s->look(s->ctx);
	for (unsigned i = 0; i < n; i++)
		doubt_answer(answers[i], ids[i]);
	return n == AT_ONCE;
}

void doubt_server_read(struct doubt_server *s)
{
	for (int i = 0; i < BATCHES && s->watch.active && answer_some(s); i++)
		;
}

static void on_doubts(struct watch *w, uint32_t events)
{
	(void)events;
	doubt_server_read(LIST_ENTRY(w, struct doubt_server, watch));
}

static int doubt_server_begin(struct doubt_server *s)
{
	return loop_watch(s->loop, &s->watch, EPOLLIN);
}

static void on_begin(struct timer *t)
{
	int rc = doubt_server_begin(LIST_ENTRY(t, struct doubt_server, begin));

	if (rc < 0)
		log_error("cache: cannot read change reports: %s", strerror(-rc));
}

int doubt_server_open(struct doubt_server *s, struct loop *loop, int fd, uint64_t from_ms)
{
	s->loop = loop;
	s->watch = (struct watch){ .fn = on_doubts, .fd = fd };
	timer_init(&s->begin, on_begin);
	if (fd < 0)
		return 0;
	if (from_ms <= clock_ms())
		return doubt_server_begin(s);
	timer_arm(&loop->wheel, &s->begin, from_ms);
	return 0;
}

void doubt_server_close(struct doubt_server *s, bool farewell)
{
	/* While it is armed, an earlier keeper's images may still be used. */
	if (farewell && s->watch.fd >= 0 && !timer_armed(&s->begin))
		doubt_farewell(s->watch.fd);
	timer_disarm(&s->loop->wheel, &s->begin);
	doubt_server_stop(s);
}
