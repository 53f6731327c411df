/* doubt_client: asks keepers, matches their answers, with a time limit; see doubt_client.h. */
#include "files/doubt_client.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "image/image.h"

enum { RESEND_MS = 20 };

/* --- keepers ---------------------------------------------------------------------------------- */

static void end_keeper(struct doubt_keeper *k)
{
	if (k->watch.active)
		loop_unwatch(k->client->loop, &k->watch);
	close(k->watch.fd);
	k->watch.fd = -1;
	/* Not the turn's time, here and below: an image may have ticked since. */
	k->gone_ms = clock_now_ms();
}

/* True if a worker may use its images: its last tick is from before its end. */
static bool is_used(const struct doubt_keeper *k, uint64_t now)
{
	return k->watch.active || (k->gone_ms != 0 && now - k->gone_ms <= IMAGE_TICK_MAX_MS);
}

/* --- questions -------------------------------------------------------------------------------- */

static void send_to(struct doubt_client *c, struct doubt *d, unsigned keeper)
{
	struct doubt_msg msg = {
		.id = d->id * DOUBT_KEEPERS + keeper,
		.dev = d->dev,
		.ino = d->ino,
	};
	int rc = doubt_send(c->keepers[keeper].watch.fd, &msg, d->path, c->answer);

	/* For other errors, it is awaited as long as one that has ended. */
	if (rc != -EAGAIN && rc != -ETOOMANYREFS && rc != -ENOBUFS && rc != -ENOMEM)
		d->unsent &= (uint8_t) ~(1U << keeper);
}

static void send_unsent(struct doubt_client *c, struct doubt *d)
{
	for (unsigned i = 0; i < DOUBT_KEEPERS; i++)
		if (d->unsent & 1U << i)
			send_to(c, d, i);
}

static void arm_doubt(struct doubt_client *c, const struct doubt *d, uint64_t now)
{
	uint64_t at = d->unsent != 0 ? now + RESEND_MS : d->due_ms;

	if (!timer_armed(&c->due) || at < c->due.at)
		timer_arm(&c->loop->wheel, &c->due, at);
}

bool doubt_client_ask(struct doubt_client *c, struct doubt *d)
{
	uint64_t now = clock_now_ms();

	d->waits = d->unsent = 0;
	list_init(&d->node);
	for (unsigned i = 0; i < DOUBT_KEEPERS; i++) {
		d->waits |= (uint8_t)(is_used(&c->keepers[i], now) << i);
		d->unsent |= (uint8_t)(c->keepers[i].watch.active << i);
	}
	if (d->waits == 0)
		return false;
	COUNT(doubts_asked, 1);
	d->id = c->ids++;
	d->due_ms = now + IMAGE_TICK_MAX_MS + 1;
	list_append(&c->asked, &d->node);
	send_unsent(c, d);
	arm_doubt(c, d, now);
	return true;
}

void doubt_client_cancel(struct doubt *d)
{
	list_remove(&d->node);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void finish_doubt(struct doubt *d)
{
	list_remove(&d->node);
	d->done(d);
}

/* done() may ask and cancel. */
static bool finish_one_answered(struct doubt_client *c)
{
	LIST_EACH(struct doubt, d, node, &c->asked) {
		if (d->waits != 0)
			continue;
		COUNT(doubts_answered, 1);
		finish_doubt(d);
		return true;
	}
	return false;
}

/* No image of k is used any more, which answers all of its doubts. */
static void take_farewell(struct doubt_client *c, struct doubt_keeper *k)
{
	uint8_t others = (uint8_t) ~(1U << (k - c->keepers));

	k->gone_ms = 0;
	LIST_EACH(struct doubt, d, node, &c->asked) {
		d->waits &= others;
		d->unsent &= others;
	}
	while (finish_one_answered(c))
		;
}

/* Answers come in the order of the doubts, so it is among the first. */
static void take_answer(struct doubt_client *c, uint64_t id)
{
	LIST_EACH(struct doubt, d, node, &c->asked) {
		if (d->id != id / DOUBT_KEEPERS)
			continue;
		d->waits &= (uint8_t) ~(1U << id % DOUBT_KEEPERS);
		if (d->waits == 0) {
			COUNT(doubts_answered, 1);
			finish_doubt(d);
		}
		return;
	}
}

static void on_answers(struct watch *w, uint32_t events)
{
	struct doubt_client *c = LIST_ENTRY(w, struct doubt_client, answers);
	uint64_t id;
	int rc;

	(void)events;
	while (w->active && ((rc = doubt_answered(w->fd, &id)) == 1 || rc == -EPROTO))
		if (rc == 1)
			take_answer(c, id);
}

static void on_due(struct timer *t)
{
	struct doubt_client *c = LIST_ENTRY(t, struct doubt_client, due);
	uint64_t now = clock_now_ms();

	while (!list_empty(&c->asked)) {
		struct doubt *d = LIST_ENTRY(c->asked.next, struct doubt, node);

		if (d->due_ms > now)
			break;
		COUNT(doubts_timed_out, 1);
		finish_doubt(d);
	}
	LIST_EACH(struct doubt, d, node, &c->asked) {
		send_unsent(c, d);
		arm_doubt(c, d, now);
	}
}

/* --- keepers that come and go ----------------------------------------------------------------- */

/* The farewell came (its process may take a while to end), or its process and its master's end are
 * closed. */
static void on_end(struct watch *w, uint32_t events)
{
	struct doubt_keeper *k = LIST_ENTRY(w, struct doubt_keeper, watch);
	bool farewell = doubt_has_farewell(w->fd);

	if (farewell || events & (EPOLLHUP | EPOLLERR))
		end_keeper(k);
	if (farewell)
		take_farewell(k->client, k);
}

/* A free slot, else that of the keeper that ended first. */
static struct doubt_keeper *free_keeper(struct doubt_client *c)
{
	struct doubt_keeper *best = NULL;

	for (int i = 0; i < DOUBT_KEEPERS; i++) {
		struct doubt_keeper *k = &c->keepers[i];

		if (!k->watch.active && (best == NULL || k->gone_ms < best->gone_ms))
			best = k;
	}
	return best;
}

void doubt_client_add(struct doubt_client *c, int fd)
{
	struct doubt_keeper *k = free_keeper(c);
	int rc = -ENOSPC;

	if (k != NULL) {
		k->watch.fd = fd;
		rc = loop_watch(c->loop, &k->watch, EPOLLIN);
	}
	if (rc == 0)
		return;
	log_error("cache: cannot report changes to a keeper: %s", strerror(-rc));
	close(fd);
}

/* --- its life --------------------------------------------------------------------------------- */

int doubt_client_init(struct doubt_client *c, struct loop *loop)
{
	int fds[2], rc = scm_pair(fds);

	*c = (struct doubt_client){ .loop = loop, .answer = -1 };
	list_init(&c->asked);
	timer_init(&c->due, on_due);
	for (int i = 0; i < DOUBT_KEEPERS; i++) {
		c->keepers[i].client = c;
		c->keepers[i].watch = (struct watch){ .fn = on_end, .fd = -1 };
	}
	if (rc < 0)
		return rc;
	c->answer = fds[1];
	c->answers = (struct watch){ .fn = on_answers, .fd = fds[0] };
	rc = loop_watch(loop, &c->answers, EPOLLIN);
	if (rc < 0)
		doubt_client_fini(c);
	return rc;
}

void doubt_client_fini(struct doubt_client *c)
{
	if (c->answer < 0)
		return;
	while (!list_empty(&c->asked))
		finish_doubt(LIST_ENTRY(c->asked.next, struct doubt, node));
	timer_disarm(&c->loop->wheel, &c->due);
	for (int i = 0; i < DOUBT_KEEPERS; i++)
		if (c->keepers[i].watch.fd >= 0)
			end_keeper(&c->keepers[i]);
	if (c->answers.active)
		loop_unwatch(c->loop, &c->answers);
	close(c->answers.fd);
	close(c->answer);
	c->answer = -1;
}
