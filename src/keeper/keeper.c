/*
 * keeper: the loop of the keeper process, which connects its parts: scan, reader, variants and
 * publish work here in small portions, so that changes are marked and ticks are written in time.
 * Called by the master after the fork; it never blocks, and never reads a file itself.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process_use.h"
#include "event/loop.h"
#include "keeper/scan.h"

const struct states keeper_states = {
	.of = "keeper",
	.rows = {
#define KEEPER_STATE(name, next, help) { #name, next },
#include "keeper/keeper_state.def"
	},
};

enum {
	NICE = 10,
	PORTION_US = 5000,
	TELL_MS = 20,
	STUCK_MS = 250,
	FOUND_MAX = 64, /* found but unread: files near the root are read first */
	TROUBLE_MS = 1000,
};

struct keeper {
	enum keeper_state state;
	const struct gifts *args;
	struct doc_roots conf; /* of args, with a max_size that images can hold */
	struct loop loop;
	struct sig sig;
	struct ctl_link ctl;     /* to the master */
	int error_log;           /* the log's descriptor, -1 or 0: not ours to close */
	struct cache_facts told; /* the facts last sent to the master, and when */
	uint64_t told_ms;
	struct timer tick;
	struct timer wake; /* for the next timed work */
	struct timer rescan;
	struct task work;

	struct segments segments;
	struct catalog catalog;
	struct reader reader;
	struct scan scan;
	struct backlog backlog;
	struct variants variants;
	struct publish publish;
	void *moving;             /* memory for moving bodies: the reader's may hold half a file */
	struct tree_watch *watch; /* NULL: only rescans find changes */
	struct warm_start *warm_start; /* until the first scan is over */

	uint64_t started_ms;
	uint64_t nwarm;
	int trouble; /* -errno in the log; 0: none */
};

static void keeper_go(struct keeper *k, enum keeper_state state)
{
	log_debug("keeper: %s -> %s", states_name(&keeper_states, k->state),
		states_name(&keeper_states, state));
	STATES_STEP(&keeper_states, k->state, state);
}

/* True: it has work to do. */
static bool works(const struct keeper *k)
{
	return k->state == KEEPER_WALK || k->state == KEEPER_LIVE;
}

static void keeper_leave(struct keeper *k, enum keeper_state state)
{
	if (works(k))
		keeper_go(k, state);
	loop_stop(&k->loop);
}

static void stir(struct keeper *k)
{
	if (works(k))
		loop_ready(&k->loop, &k->work);
}

/* --- reports to the master -------------------------------------------------------------------- */

/* True while files are being found. */
static bool walking(const struct keeper *k)
{
	return scan_pending(&k->scan) > 0 || k->reader.n[READER_FOUND] > 0 ||
	       k->reader.file != NULL;
}

static void keeper_tell(struct keeper *k)
{
	const struct built_image *img =
		k->publish.newest != NULL ? &k->publish.newest->image : NULL;
	struct ctl_msg msg = { .type = CTL_CACHE };
	uint64_t *v = msg.facts.v;

	if (!works(k))
		return;
	v[CACHE_FACT_entries] = img != NULL ? img->nentries : 0;
	v[CACHE_FACT_content] = img != NULL ? img->content : 0;
	v[CACHE_FACT_images] = publish_alive(&k->publish);
	v[CACHE_FACT_segments] = k->segments.n;
	v[CACHE_FACT_segment_bytes] = k->segments.bytes;
	v[CACHE_FACT_watches] = k->watch != NULL ? tree_watch_count(k->watch) : 0;
	v[CACHE_FACT_pending] = scan_pending(&k->scan) + reader_pending(&k->reader) +
				variants_pending(&k->variants) + (k->publish.due_ms != 0) +
				(k->catalog.news_ms != CATALOG_NEVER) + (k->state == KEEPER_WALK);
	v[CACHE_FACT_unsettled] = k->reader.n[READER_SETTLE];
	v[CACHE_FACT_compressed] = k->variants.compressed;
	v[CACHE_FACT_adopted] = k->nwarm;
	process_use_read(&msg.facts.use);
	if (memcmp(&msg.facts, &k->told, sizeof(k->told)) == 0 ||
		ctl_send(k->ctl.watch.fd, &msg, NULL, 0) < 0)
		return;
	k->told = msg.facts;
	k->told_ms = clock_ms();
}

static int send_image(void *ctx, const struct built_image *img)
{
	struct keeper *k = ctx;
	struct ctl_msg msg = {
		.type = CTL_IMAGE,
		.arg = img->number,
		.size = img->content,
	};
	int rc = works(k) ? ctl_send(k->ctl.watch.fd, &msg, img->fds, img->nfds) : -EPIPE;

	/* A full queue, or too many descriptors in flight: retried at the next tick. EPIPE: the end
	 * of file follows. */
	if (rc < 0 && rc != -EAGAIN && rc != -ETOOMANYREFS && rc != -EPIPE)
		log_error("cache: cannot publish image %llu: %s", (unsigned long long)img->number,
			strerror(-rc));
	return rc;
}

static void on_tick(struct timer *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, tick);

	timer_arm(&k->loop.wheel, t, clock_ms() + IMAGE_TICK_MS);
	ctl_link_look(&k->ctl);
	ctl_link_tick(&k->ctl);
	if (!works(k))
		return;
	publish_tick(&k->publish);
	if (k->variants.starved || k->variants.resting)
		stir(k);
	keeper_tell(k);
}

/* --- work ------------------------------------------------------------------------------------- */

static void on_change(void *ctx, enum tree_change what, unsigned root, const char *path)
{
	struct keeper *k = ctx;

	backlog_change(&k->backlog, what, root, path);
	stir(k);
}

static void on_gone(void *ctx, struct catalog_file *f)
{
	struct keeper *k = ctx;

	reader_gone(&k->reader, f);
	variants_gone(&k->variants, f);
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

	variants_want(&k->variants, f);
	/* A variant's thread may have ended it, without other work going on. */
	stir(k);
}

static void on_room(void *ctx)
{
	struct keeper *k = ctx;

	reader_room(&k->reader);
	variants_room(&k->variants);
	stir(k);
}

/* A stop in which the last worker exited first, or a socket shut down, which doubts_mend() logs. */
static void on_doubts_end(struct backlog *b)
{
	keeper_leave(LIST_ENTRY(b, struct keeper, backlog), KEEPER_LEAVE);
}

static void check_changes(void *ctx)
{
	backlog_read(&((struct keeper *)ctx)->backlog);
}

static void on_pause(void *ctx)
{
	struct keeper *k = ctx;

	k->backlog.midway = true;
	publish_midway(&k->publish);
	ctl_link_tick(&k->ctl);
	k->backlog.midway = false;
}

static void first_walk_over(struct keeper *k)
{
	keeper_go(k, KEEPER_LIVE);
	if (k->warm_start != NULL)
		k->nwarm = k->warm_start->nwarm;
	k->scan.warm_start = NULL;
	warm_start_free(&k->warm_start);
	catalog_news(&k->catalog, 0);
	log_notice("cache: %u files, %llu bytes, in %llu ms; %llu adopted, %u too large or over "
		   "max-size",
		k->catalog.nfresh, (unsigned long long)k->catalog.content,
		(unsigned long long)(clock_now_ms() - k->started_ms), (unsigned long long)k->nwarm,
		k->reader.left_out);
}

/* The machine is short of memory or descriptors: logged once, until it is over. */
static void look_at_trouble(struct keeper *k)
{
	int rc = k->scan.trouble < 0 ? k->scan.trouble : k->reader.trouble;

	/* A scan retries what the one before could not read. */
	if (k->scan.trouble < 0)
		timer_arm(&k->loop.wheel, &k->rescan, clock_ms() + TROUBLE_MS);
	k->scan.trouble = k->reader.trouble = 0;
	if (rc == 0)
		rc = k->publish.trouble;
	if (rc < 0 && k->trouble == 0) {
		k->trouble = rc;
		log_error("cache: %s; keeping the old image and retrying", strerror(-rc));
	} else if (rc == 0 && k->trouble < 0 && k->reader.n[READER_RETRY] == 0 &&
		   k->publish.due_ms == 0) {
		k->trouble = 0;
		log_notice("cache: building images again");
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
	uint64_t began = clock_read_us();
	bool more;

	scan_roots(&k->scan);
	do {
		more = reader_step(&k->reader);
		if (k->reader.n[READER_FOUND] < FOUND_MAX)
			more |= scan_step(&k->scan);
	} while (more && clock_read_us() - began < PORTION_US);
	return more;
}

static void on_work(struct task *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, work);

	if (!works(k))
		return;
	backlog_flush(&k->backlog);
	wake_in(k, reader_wait(&k->reader));
	if (portion(k))
		stir(k);
	else if (k->state == KEEPER_WALK && !walking(k))
		first_walk_over(k);
	wake_in(k, reader_wait(&k->reader));
	wake_in(k, publish_step(&k->publish, walking(k)));
	/* No worker has an old one, so only a new image with moved bodies makes room. */
	if ((k->reader.n[READER_STUCK] > 0 || k->variants.stuck) &&
		publish_alive(&k->publish) <= 1 && segments_can_compact(&k->segments))
		catalog_news(&k->catalog, STUCK_MS);
	if (k->state == KEEPER_LIVE && k->publish.made > 0)
		variants_step(&k->variants);
	look_at_trouble(k);
	if (!list_linked(&k->work.node) && clock_ms() - k->told_ms >= TELL_MS)
		keeper_tell(k);
}

static void on_wake(struct timer *t)
{
	stir(LIST_ENTRY(t, struct keeper, wake));
}

static void on_rescan(struct timer *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, rescan);

	timer_arm(&k->loop.wheel, t, clock_ms() + k->args->files->rescan_ms);
	if (scan_pending(&k->scan) > 0)
		return;
	k->reader.left_out = 0;
	scan_all(&k->scan);
	stir(k);
}

/* --- orders of the master --------------------------------------------------------------------- */

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	/* The master handles INT, QUIT and HUP: a terminal sends them to the whole group. */
	if (info->ssi_signo == SIGTERM)
		keeper_leave(LIST_ENTRY(s, struct keeper, sig), KEEPER_LEAVE);
}

static int on_message(struct ctl_link *ctl, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct keeper *k = LIST_ENTRY(ctl, struct keeper, ctl);

	switch (msg->type) {
	case CTL_DRAIN:
		keeper_leave(k, KEEPER_DISMISSED);
		return 0;
	case CTL_LOGS:
		if (nfds == 0)
			return 0;
		log_to(fds[0]);
		if (k->error_log > STDERR_FILENO)
			close(k->error_log);
		k->error_log = fds[0];
		return 1;
	default:
		return ctl_link_unknown(msg);
	}
}

static void master_gone(struct ctl_link *ctl)
{
	keeper_leave(LIST_ENTRY(ctl, struct keeper, ctl), KEEPER_DISMISSED);
}

/* --- its life --------------------------------------------------------------------------------- */

static int start_building(struct keeper *k)
{
	struct doc_roots *conf = &k->conf;
	int rc;

	*conf = *k->args->files;
	conf->max_size = segments_max_size(k->args->cache_size, conf->max_file_size);
	if (conf->max_size < k->args->cache_size)
		log_notice("cache: max-size reduced to %llu bytes, the most an image holds",
			(unsigned long long)conf->max_size);

	k->watch = tree_watch_new(&k->loop, conf->nroots, on_change, k);
	if (k->watch == NULL)
		log_error("cache: inotify: %s; rescanning every %llu ms", strerror(errno),
			(unsigned long long)conf->rescan_ms);
	segments_init(&k->segments, conf->max_size);
	k->moving = malloc(conf->max_file_size + 1);
	rc = k->moving != NULL ? 0 : -ENOMEM;
	if (rc == 0)
		rc = catalog_init(&k->catalog, conf, &k->segments);
	if (rc == 0)
		rc = reader_init(&k->reader, &k->catalog);
	if (rc == 0)
		rc = variants_init(&k->variants, &k->catalog, &k->loop, k->args->cpus);
	if (rc < 0)
		return rc;
	scan_init(&k->scan, &k->catalog, &k->reader, k->watch);
	k->catalog.gone = on_gone;
	k->catalog.gone_dir = on_gone_dir;
	k->catalog.news = on_news;
	k->catalog.renewed = on_renewed;
	k->catalog.ctx = k;
	k->catalog.pause = (struct pause){ .fn = on_pause, .ctx = k };
	backlog_init(&k->backlog, &k->scan);
	publish_init(&k->publish, &k->catalog, &k->loop, k->moving, k->args->first_image);
	k->publish.check = check_changes;
	k->publish.send = send_image;
	k->publish.room = on_room;
	k->publish.ctx = k;
	k->scan.warm_start = k->warm_start =
		warm_start_new(&k->catalog, k->args->image.fds, (int)k->args->image.n);
	k->backlog.work = &k->work;
	k->backlog.end = on_doubts_end;
	rc = backlog_open(&k->backlog, &k->loop, gift_fd(k->args->doubts),
		k->args->replaces ? clock_ms() + IMAGE_TICK_MAX_MS + 1 : 0);
	keeper_go(k, KEEPER_WALK);
	stir(k);
	if (conf->rescan_ms > 0)
		timer_arm(&k->loop.wheel, &k->rescan, clock_ms() + conf->rescan_ms);
	return rc;
}

static void stop_building(struct keeper *k)
{
	keeper_leave(k, KEEPER_LEAVE);
	loop_cancel(&k->work);
	timer_disarm(&k->loop.wheel, &k->rescan);
	timer_disarm(&k->loop.wheel, &k->wake);
	/* Long steps of the end must not tick. */
	k->catalog.pause.fn = NULL;
	publish_revoke(&k->publish);
	backlog_close(&k->backlog, k->state == KEEPER_DISMISSED);
	/* Threads that compress cannot be stopped, and are not awaited. */
	if (k->variants.running > 0)
		_exit(EXIT_SUCCESS);
	variants_fini(&k->variants);
	publish_fini(&k->publish);
	backlog_fini(&k->backlog);
	warm_start_free(&k->warm_start);
	scan_fini(&k->scan);
	catalog_fini(&k->catalog);
	reader_fini(&k->reader);
	free(k->moving);
	segments_fini(&k->segments);
	tree_watch_free(&k->watch);
}

static int keeper_start(struct keeper *k)
{
	int rc = sig_init(&k->sig, &k->loop, NULL, on_signal);

	if (rc < 0)
		return rc;
	k->error_log = gift_fd(k->args->error_log);
	k->ctl = (struct ctl_link){ .message = on_message, .gone = master_gone };
	rc = ctl_link_open(&k->ctl, &k->loop, k->args->ctl);
	if (rc < 0)
		return rc;
	timer_arm(&k->loop.wheel, &k->tick, clock_ms() + IMAGE_TICK_MS);
	return k->args->cache_size > 0 ? start_building(k) : 0;
}

int keeper_run(const struct gifts *args)
{
	struct keeper k = { .args = args };
	int rc = loop_init(&k.loop);

	if (rc < 0) {
		log_error("cannot run: %s; exiting", strerror(-rc));
		return EXIT_FAILURE;
	}
	k.started_ms = clock_ms();
	timer_init(&k.tick, on_tick);
	timer_init(&k.wake, on_wake);
	timer_init(&k.rescan, on_rescan);
	task_init(&k.work, on_work);
	setpriority(PRIO_PROCESS, 0, NICE);
	rc = keeper_start(&k);
	if (rc == 0)
		rc = loop_run(&k.loop);
	if (rc < 0)
		log_error("cannot run: %s; exiting", strerror(-rc));
	timer_disarm(&k.loop.wheel, &k.tick);
	if (k.state != KEEPER_IDLE)
		stop_building(&k);
	ctl_link_close(&k.ctl);
	sig_fini(&k.sig, &k.loop);
	loop_fini(&k.loop);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
