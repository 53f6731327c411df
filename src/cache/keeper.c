/* keeper: see keeper.h. A loop of its own: the master's word, signals, and the tick of its image. */
#include "cache/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/build.h"
#include "event/sig.h"
#include "net/ctl.h"

enum { NICE = 10 };

struct keeper {
	const struct keeper_args *args;
	struct loop loop;
	struct sig sig;
	struct watch ctl;
	struct timer tick;
	struct pack_image image;
	bool built;              /* there is an image */
	bool sent;               /* the master has it */
	bool leaving;
	int error_log;
};

static void leave(struct keeper *k)
{
	k->leaving = true;
	loop_stop(&k->loop);
}

static void publish(struct keeper *k)
{
	struct ctl_msg msg = {
		.type = CTL_IMAGE,
		.generation = k->args->generation,
		.arg = k->image.number,
		.size = k->image.content,
	};
	int rc = ctl_send(k->ctl.fd, &msg, k->image.fds, k->image.nfds);

	k->sent = rc == 0;
	/* A full queue, or too many descriptors in flight: with the next tick again. EPIPE: the end
	 * of file that follows says it all. */
	if (rc < 0 && rc != -EAGAIN && rc != -ETOOMANYREFS && rc != -EPIPE)
		log_error("cache: publishing image %llu: %s",
			(unsigned long long)k->image.number, strerror(-rc));
}

static void on_tick(struct timer *t)
{
	struct keeper *k = LIST_ENTRY(t, struct keeper, tick);

	timer_arm(&k->loop.wheel, t, clock_ms() + IMAGE_TICK_MS);
	if (!k->built)
		return;
	pack_tick(&k->image);
	if (!k->sent && !k->leaving)
		publish(k);
}

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
	while ((rc = ctl_recv(w->fd, &msg, fds, &nfds)) > 0)
		on_message(k, &msg, fds, nfds);
	if (rc == -EAGAIN)
		return;
	loop_unwatch(&k->loop, w);
	leave(k);
}

static bool go_on(void *ctx)
{
	struct keeper *k = ctx;

	return loop_turn(&k->loop, 0) == 0 && !k->leaving;
}

static void build(struct keeper *k)
{
	const struct build b = {
		.conf = &k->args->files,
		.number = k->args->first_number,
		.go_on = go_on,
		.ctx = k,
	};
	int rc;

	if (b.conf->max_size == 0)
		return;
	rc = build_image(&b, &k->image);
	k->built = rc == 0;
	if (rc == 0)
		publish(k);
	else if (!k->leaving)
		log_error("cache: no image: %s; files are read from disk", strerror(-rc));
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
	return 0;
}

int keeper_run(const struct keeper_args *args)
{
	struct keeper k = { .args = args, .error_log = args->error_log };
	int rc = loop_init(&k.loop);

	timer_init(&k.tick, on_tick);
	if (rc < 0) {
		log_error("keeper: %s", strerror(-rc));
		return EXIT_FAILURE;
	}
	setpriority(PRIO_PROCESS, 0, NICE);
	rc = start(&k);
	if (rc == 0) {
		build(&k);
		if (!k.leaving)
			rc = loop_run(&k.loop);
	}
	if (rc < 0)
		log_error("keeper: %s", strerror(-rc));
	timer_disarm(&k.loop.wheel, &k.tick);
	pack_image_close(&k.image);
	if (k.ctl.active)
		loop_unwatch(&k.loop, &k.ctl);
	sig_fini(&k.sig, &k.loop);
	loop_fini(&k.loop);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
