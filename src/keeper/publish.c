/*
 * publish: decides on the keeper's loop when the next image is due, makes and sends it, and watches
 * the life pipe of each. It never makes one while CATALOG_IMAGES are live, or while two are and its
 * index does not fit.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

enum {
	HURRY_MS = 20,
	INTERVAL_MS = 100, /* between two images, while changes keep coming */
	COST_SHARE = 20,   /* images take at most one part in so many of a processor */
	WALKING_MS = 1000,
	RETRY_MS = 1000,
	MIDWAY_MS = 20, /* between two checks in a long step */
};

static void drop_published(struct published *i)
{
	struct publish *p = i->owner;

	if (!i->alive)
		return;
	loop_unwatch(p->loop, &i->life);
	built_image_close(&i->image);
	i->alive = false;
	if (p->newest == i)
		p->newest = NULL;
	p->blocked = false;
}

static void on_life(struct watch *w, uint32_t events)
{
	struct published *i = LIST_ENTRY(w, struct published, life);
	struct publish *p = i->owner;
	uint64_t again = clock_ms() + RETRY_MS;

	if ((events & EPOLLHUP) == 0)
		return;
	/* Readers keep the newest: if none does, it was lost on its way to one short of
	 * descriptors. */
	if (p->newest == i && (p->due_ms == 0 || p->due_ms > again))
		p->due_ms = again;
	drop_published(i);
	p->room(p->ctx);
}

void publish_init(
	struct publish *p, struct catalog *c, struct loop *loop, void *buf, uint64_t number)
{
	*p = (struct publish){
		.catalog = c,
		.loop = loop,
		.buf = buf,
		.number = number,
		.last_ms = clock_ms(),
	};
	for (int i = 0; i < CATALOG_IMAGES; i++) {
		p->images[i].owner = p;
		p->images[i].life.fn = on_life;
	}
}

void publish_fini(struct publish *p)
{
	for (int i = 0; i < CATALOG_IMAGES; i++)
		if (p->images[i].owner != NULL)
			drop_published(&p->images[i]);
}

static void send(struct publish *p)
{
	struct published *i = p->newest;

	if (i == NULL || i->sent || p->send(p->ctx, &i->image) < 0)
		return;
	i->sent = true;
	image_build_let_go(&i->image);
}

static void look_and_tick(struct publish *p)
{
	/* Read before the check: if this process is stopped in between, the tick covers no more
	 * than was checked. */
	uint64_t now = clock_now_ms();

	p->check(p->ctx);
	for (int i = 0; i < CATALOG_IMAGES; i++)
		if (p->images[i].alive)
			image_build_tick(&p->images[i].image, now);
	p->ticked_ms = now;
}

void publish_tick(struct publish *p)
{
	look_and_tick(p);
	send(p);
}

void publish_midway(struct publish *p)
{
	if (clock_now_ms() - p->ticked_ms >= MIDWAY_MS)
		look_and_tick(p);
}

void publish_revoke(const struct publish *p)
{
	/* Too old at any uptime, also for a reader whose clock is one long turn behind. */
	for (int i = 0; i < CATALOG_IMAGES; i++)
		if (p->images[i].alive)
			image_build_tick(&p->images[i].image, clock_now_ms() - (UINT64_MAX >> 2));
}

unsigned publish_alive(const struct publish *p)
{
	unsigned n = 0;

	for (int i = 0; i < CATALOG_IMAGES; i++)
		n += p->images[i].alive;
	return n;
}

static int make_in(struct publish *p, struct published *i)
{
	uint64_t start = clock_read_cpu_us();
	int rc = segments_compact(p->catalog->segments, p->buf, &p->catalog->pause);

	if (rc == 0)
		rc = image_build(p->catalog, (unsigned)(i - p->images), p->number++, &i->image);
	if (rc < 0)
		return rc;
	i->alive = true;
	i->sent = false;
	i->life.fd = i->image.life;
	rc = loop_watch(p->loop, &i->life, EPOLLIN);
	if (rc < 0) {
		drop_published(i);
		return rc;
	}
	p->newest = i;
	p->cost_ms = (clock_read_cpu_us() - start) / 1000;
	return 0;
}

static void publish_make(struct publish *p)
{
	struct published *i = p->images;

	/* An unsent image is not worth keeping. */
	if (p->newest != NULL && !p->newest->sent)
		drop_published(p->newest);
	while (i < p->images + CATALOG_IMAGES && i->alive)
		i++;
	/* Beside the newest there is always room for a next one, or none could ever be released. */
	p->blocked = i == p->images + CATALOG_IMAGES ||
		     (publish_alive(p) > 1 && !segments_fit_index(p->catalog->segments));
	if (p->blocked)
		return;
	p->trouble = make_in(p, i);
	p->last_ms = clock_ms();
	if (p->trouble < 0) {
		p->due_ms = p->last_ms + RETRY_MS;
		return;
	}
	p->due_ms = 0;
	p->hurry = false;
	p->made++;
	log_debug("cache: image %llu: %u files, %llu bytes, %u segments, %llu ms of a processor",
		(unsigned long long)i->image.number, i->image.nentries,
		(unsigned long long)i->image.content, i->image.nsegments,
		(unsigned long long)p->cost_ms);
	/* Building may take seconds: the tick and marks must not be from before. */
	publish_tick(p);
	p->room(p->ctx);
}

/* Schedules an image for news of the catalogue. */
static void take_news(struct publish *p)
{
	uint64_t at = clock_ms() + (uint64_t)p->catalog->news_ms;

	if (p->catalog->news_ms == CATALOG_NEVER)
		return;
	p->hurry |= p->catalog->news_ms == 0;
	if (p->due_ms == 0 || at < p->due_ms)
		p->due_ms = at;
	p->catalog->news_ms = CATALOG_NEVER;
}

static uint64_t interval(const struct publish *p, bool walking)
{
	uint64_t ms = p->cost_ms * COST_SHARE;

	if (p->hurry)
		return p->made > 0 ? HURRY_MS : 0;
	if (walking && ms < WALKING_MS)
		ms = WALKING_MS;
	return ms > INTERVAL_MS ? ms : INTERVAL_MS;
}

int publish_step(struct publish *p, bool walking)
{
	uint64_t at;

	take_news(p);
	if (p->due_ms == 0 || p->blocked)
		return -1;
	at = p->last_ms + interval(p, walking);
	if (at < p->due_ms || p->trouble < 0)
		at = p->due_ms;
	if (at > clock_ms())
		return (int)(at - clock_ms());
	publish_make(p);
	take_news(p);
	return p->due_ms == 0 || p->blocked ? -1 : INTERVAL_MS;
}
