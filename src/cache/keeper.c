/*
 * keeper: see keeper.h. A loop of its own, on which all work is done in small portions, so that changes
 * are marked and ticks are written in time whatever there is to read.
 */
#include "cache/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/publish.h"
#include "cache/scan.h"
#include "cache/twins.h"
#include "event/sig.h"
#include "net/ctl.h"

enum {
	NICE = 10,
	PORTION_US = 5000,
	TELL_MS = 20,
	STUCK_MS = 250,
	FOUND_MAX = 64,        /* found but not read: what is near the root is read first */
	TROUBLE_MS = 1000,
};

struct keeper {
	const struct keeper_args *args;
	struct loop loop;
	struct sig sig;
	struct watch ctl;
	struct timer tick;
	struct timer wake;       /* something that waits is due */
	struct timer rescan;
	struct task work;

	struct segments segments;
	struct catalog catalog;
	struct reader reader;
	struct scan scan;
	struct twins twins;
	struct publish publish;
	void *moving;            /* what bodies are moved through: the reader's may hold half a file */
	struct tree_watch *watch; /* NULL: only rescans find changes */
	struct adopt *adopt;      /* until the first walk is over */

	struct cache_facts told; /* what the master was told last, and when */
	uint64_t told_ms;
	uint64_t started_ms;
	uint64_t nadopted;
	bool building;           /* there are things for it to do */
	bool walked;             /* the first walk is over */
	bool troubled;           /* and that was said */
	bool leaving;
	int error_log;
};

static void leave(struct keeper *k)
{
	k->leaving = true;
	loop_stop(&k->loop);
}

static void stir(struct keeper *k)
{
	if (k->building)
		loop_ready(&k->loop, &k->work);
}

/* --- what the master is told --------------------------------------------------------------------------- */

/* Nothing is being found any more. */
static bool walking(const struct keeper *k)
{
	return scan_pending(&k->scan) > 0 || k->reader.n[READER_FOUND] > 0 || k->reader.file != NULL;
}

static void gather(const struct keeper *k, struct cache_facts *f)
{
	const struct pack_image *img = k->publish.newest != NULL ? &k->publish.newest->image : NULL;

	*f = (struct cache_facts){ .v = {
		[CACHE_FACT_entries] = img != NULL ? img->nentries : 0,
		[CACHE_FACT_content] = img != NULL ? img->content : 0,
		[CACHE_FACT_images] = publish_alive(&k->publish),
		[CACHE_FACT_segments] = k->segments.n,
		[CACHE_FACT_segment_bytes] = k->segments.bytes,
		[CACHE_FACT_watches] = k->watch != NULL ? tree_watch_count(k->watch) : 0,
		[CACHE_FACT_pending] = scan_pending(&k->scan) + reader_pending(&k->reader) +
			twins_pending(&k->twins) + (k->publish.due_ms != 0) +
			(k->catalog.news_ms != CATALOG_NEVER) + !k->walked,
		[CACHE_FACT_unsettled] = k->reader.n[READER_SETTLE],
		[CACHE_FACT_compressed] = k->twins.compressed,
		[CACHE_FACT_adopted] = k->nadopted,
	} };
}

static void tell(struct keeper *k)
{
	struct ctl_msg msg = { .type = CTL_CACHE, .generation = k->args->generation };

	if (!k->building || k->leaving)
		return;
	gather(k, &msg.facts);
	if (memcmp(&msg.facts, &k->told, sizeof(k->told)) == 0)
		return;
	/* A full queue: with the next tick. */
	if (ctl_send(k->ctl.fd, &msg, NULL, 0) < 0)
		return;
	k->told = msg.facts;
	k->told_ms = clock_ms();
}

static int send_image(void *ctx, const struct pack_image *img)
{
	struct keeper *k = ctx;
	struct ctl_msg msg = {
		.type = CTL_IMAGE,
		.generation = k->args->generation,
		.arg = img->number,
		.size = img->content,
	};
	int rc;

	if (k->leaving)
		return -EPIPE;
	rc = ctl_send(k->ctl.fd, &msg, img->fds, img->nfds);
	/* A full queue, or too many descriptors in flight: with the next tick again. EPIPE: the end
	 * of file that follows says it all. */
	if (rc < 0 && rc != -EAGAIN && rc != -ETOOMANYREFS && rc != -EPIPE)
		log_error("cache: publishing image %llu: %s", (unsigned long long)img->number,
			strerror(-rc));
	return rc;
}

static void on_tick(struct timer *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, tick);

	timer_arm(&k->loop.wheel, t, clock_ms() + IMAGE_TICK_MS);
	if (!k->building)
		return;
	publish_tick(&k->publish);
	tell(k);
}

/* --- work --------------------------------------------------------------------------------------------- */

static void on_change(void *ctx, enum tree_change what, unsigned root, const char *path)
{
	struct keeper *k = ctx;

	scan_change(&k->scan, what, root, path);
	stir(k);
}

static void on_gone(void *ctx, struct catalog_file *f)
{
	struct keeper *k = ctx;

	reader_gone(&k->reader, f);
	twins_gone(&k->twins, f);
}

static void on_gone_dir(void *ctx, struct catalog_dir *d)
{
	scan_gone_dir(&((struct keeper *)ctx)->scan, d);
}

static void on_news(void *ctx)
{
	stir(ctx);
}

static void on_renewed(void *ctx, struct catalog_file *f)
{
	struct keeper *k = ctx;

	twins_want(&k->twins, f);
	/* A twin's thread may have ended it, and nothing else be going on. */
	stir(k);
}

static void on_room(void *ctx)
{
	struct keeper *k = ctx;

	reader_room(&k->reader);
	twins_room(&k->twins);
	stir(k);
}

static void check_changes(void *ctx)
{
	struct keeper *k = ctx;

	if (k->watch != NULL)
		tree_watch_read(k->watch);
}

static void first_walk_over(struct keeper *k)
{
	k->walked = true;
	if (k->adopt != NULL)
		k->nadopted = k->adopt->nadopted;
	k->scan.adopt = NULL;
	adopt_free(&k->adopt);
	catalog_news(&k->catalog, 0);
	log_notice("cache: %u files, %llu bytes, in %llu ms; %llu adopted, %u too large or past max-size",
		k->catalog.nfresh, (unsigned long long)k->catalog.content,
		(unsigned long long)(clock_read_us() / 1000 - k->started_ms),
		(unsigned long long)k->nadopted, k->reader.left_out);
}

/* The machine is short of something: said once, until it is over. */
static void look_at_trouble(struct keeper *k)
{
	int rc = k->scan.trouble < 0 ? k->scan.trouble : k->reader.trouble;

	/* What a walk could not look at, the next one does. */
	if (k->scan.trouble < 0)
		timer_arm(&k->loop.wheel, &k->rescan, clock_ms() + TROUBLE_MS);
	k->scan.trouble = k->reader.trouble = 0;
	if (rc == 0)
		rc = k->publish.trouble;
	if (rc < 0 && !k->troubled) {
		k->troubled = true;
		log_error("cache: %s: the image stays as it is, and is tried again", strerror(-rc));
	} else if (rc == 0 && k->troubled && k->reader.n[READER_RETRY] == 0 &&
		   k->publish.due_ms == 0) {
		k->troubled = false;
		log_notice("cache: images are made again");
	}
}

static void wake_in(struct keeper *k, int ms)
{
	uint64_t at = clock_ms() + (uint64_t)(ms > 0 ? ms : 0);

	if (ms >= 0 && (!timer_armed(&k->wake) || at < k->wake.at))
		timer_arm(&k->loop.wheel, &k->wake, at);
}

static bool portion(struct keeper *k)
{
	uint64_t until = clock_read_us() + PORTION_US;
	bool more;

	scan_roots(&k->scan);
	do {
		more = reader_step(&k->reader);
		if (k->reader.n[READER_FOUND] < FOUND_MAX)
			more |= scan_step(&k->scan);
	} while (more && clock_read_us() < until);
	return more;
}

static void on_work(struct task *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, work);

	wake_in(k, reader_wait(&k->reader));
	if (portion(k))
		stir(k);
	else if (!k->walked && !walking(k))
		first_walk_over(k);
	wake_in(k, reader_wait(&k->reader));
	wake_in(k, publish_step(&k->publish, walking(k)));
	/* Nobody holds an old one, so an image that moves things is what makes room. */
	if ((k->reader.n[READER_STUCK] > 0 || k->twins.stuck) && publish_alive(&k->publish) <= 1 &&
		segments_can_compact(&k->segments))
		catalog_news(&k->catalog, STUCK_MS);
	if (k->walked && k->publish.made > 0)
		twins_step(&k->twins);
	look_at_trouble(k);
	if (!list_linked(&k->work.node) && clock_ms() - k->told_ms >= TELL_MS)
		tell(k);
}

static void on_wake(struct timer *t)
{
	stir(LIST_ENTRY(t, struct keeper, wake));
}

static void on_rescan(struct timer *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, rescan);

	timer_arm(&k->loop.wheel, t, clock_ms() + k->args->files.rescan_ms);
	if (scan_pending(&k->scan) > 0)
		return;
	k->reader.left_out = 0;
	scan_all(&k->scan);
	stir(k);
}

/* --- the master's word ----------------------------------------------------------------------------------- */

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	/* INT, QUIT and HUP are the master's: a terminal sends them to the whole group. */
	if (info->ssi_signo == SIGTERM)
		leave(LIST_ENTRY(s, struct keeper, sig));
}

static void on_message(struct keeper *k, const struct ctl_msg *msg, int *fds, int nfds)
{
	switch (msg->type) {
	case CTL_DRAIN:
		leave(k);
		break;
	case CTL_LOGS:
		if (nfds == 0)
			break;
		log_to(fds[0]);
		if (k->error_log > STDERR_FILENO)
			close(k->error_log);
		k->error_log = fds[0];
		fds[0] = -1;
		break;
	default:
		log_error("ctl: unknown message %u", msg->type);
		break;
	}
	for (int i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void on_ctl(struct watch *w, uint32_t events)
{
	struct keeper *k = LIST_ENTRY(w, struct keeper, ctl);
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], nfds, rc;

	(void)events;
	while ((rc = ctl_recv(w->fd, &msg, fds, &nfds)) > 0 || rc == -EMFILE) {
		if (rc > 0)
			on_message(k, &msg, fds, nfds);
		else
			log_error("ctl: a message is lost: %s", strerror(-rc));
	}
	if (rc == -EAGAIN)
		return;
	loop_unwatch(&k->loop, w);
	leave(k);
}

/* --- its life --------------------------------------------------------------------------------------------- */

static int start_building(struct keeper *k)
{
	const struct files_conf *conf = &k->args->files;
	int rc;

	k->watch = tree_watch_new(&k->loop, on_change, k);
	if (k->watch == NULL)
		log_error("cache: inotify: %s: changes are found every %llu ms", strerror(errno),
			(unsigned long long)conf->rescan_ms);
	segments_init(&k->segments, conf->max_size);
	k->moving = malloc(conf->max_file_size + 1);
	rc = k->moving != NULL ? 0 : -ENOMEM;
	if (rc == 0)
		rc = catalog_init(&k->catalog, conf, &k->segments);
	if (rc == 0)
		rc = reader_init(&k->reader, &k->catalog);
	if (rc == 0)
		rc = scan_init(&k->scan, &k->catalog, &k->reader, k->watch);
	if (rc == 0)
		rc = twins_init(&k->twins, &k->catalog, &k->loop);
	if (rc < 0)
		return rc;
	k->catalog.gone = on_gone;
	k->catalog.gone_dir = on_gone_dir;
	k->catalog.news = on_news;
	k->catalog.renewed = on_renewed;
	k->catalog.ctx = k;
	publish_init(&k->publish, &k->catalog, &k->loop, k->moving, k->args->first_number);
	k->publish.check = check_changes;
	k->publish.send = send_image;
	k->publish.room = on_room;
	k->publish.ctx = k;
	k->scan.adopt = k->adopt = adopt_new(&k->catalog, k->args->image, k->args->nimage);
	k->building = true;
	stir(k);
	if (conf->rescan_ms > 0)
		timer_arm(&k->loop.wheel, &k->rescan, clock_ms() + conf->rescan_ms);
	return 0;
}

static void stop_building(struct keeper *k)
{
	k->building = false;
	loop_cancel(&k->work);
	timer_disarm(&k->loop.wheel, &k->rescan);
	timer_disarm(&k->loop.wheel, &k->wake);
	/* What is being compressed cannot be stopped, and nobody waits for it. */
	if (k->twins.running > 0)
		_exit(EXIT_SUCCESS);
	twins_fini(&k->twins);
	publish_fini(&k->publish);
	adopt_free(&k->adopt);
	scan_fini(&k->scan);
	catalog_fini(&k->catalog);
	reader_fini(&k->reader);
	free(k->moving);
	segments_fini(&k->segments);
	tree_watch_free(&k->watch);
}

static int start(struct keeper *k)
{
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	rc = sig_init(&k->sig, &k->loop, &set, on_signal);
	if (rc < 0)
		return rc;
	k->ctl.fn = on_ctl;
	k->ctl.fd = k->args->ctl;
	rc = loop_watch(&k->loop, &k->ctl, EPOLLIN);
	if (rc < 0)
		return rc;
	timer_arm(&k->loop.wheel, &k->tick, clock_ms() + IMAGE_TICK_MS);
	return k->args->files.max_size > 0 ? start_building(k) : 0;
}

int keeper_run(const struct keeper_args *args)
{
	struct keeper k = { .args = args, .error_log = args->error_log };
	int rc = loop_init(&k.loop);

	if (rc < 0) {
		log_error("keeper: %s", strerror(-rc));
		return EXIT_FAILURE;
	}
	k.started_ms = clock_ms();
	timer_init(&k.tick, on_tick);
	timer_init(&k.wake, on_wake);
	timer_init(&k.rescan, on_rescan);
	task_init(&k.work, on_work);
	setpriority(PRIO_PROCESS, 0, NICE);
	rc = start(&k);
	if (rc == 0)
		rc = loop_run(&k.loop);
	if (rc < 0)
		log_error("keeper: %s", strerror(-rc));
	timer_disarm(&k.loop.wheel, &k.tick);
	if (k.building)
		stop_building(&k);
	if (k.ctl.active)
		loop_unwatch(&k.loop, &k.ctl);
	sig_fini(&k.sig, &k.loop);
	loop_fini(&k.loop);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
