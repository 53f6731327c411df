/*
 * worker_client_ca: a job reads a parcel, the loop puts what came of it in its place, and when no
 * handshake can hold what was there any more, a job frees it. Worker and worker_orders call it.
 */
#include "server/worker_client_ca.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

struct opening {
	struct job job;
	struct list node; /* among those that were replaced */
	struct worker_client_ca *in;
	struct client_cas_entry *entry;
	unsigned order; /* its number among those that came for its place */
	int fd;
	struct tls_client_ca *ca; /* read; then the one that it has replaced; NULL: none */
	uint64_t due_ms;          /* when that is freed */
};

static void run(struct opening *o, void (*work)(struct job *j), void (*done)(struct job *j))
{
	o->job = (struct job){ .work = work, .done = done, .class = JOB_FILE };
	/* Without a thread it is done here. */
	if (offload_submit(o->in->threads, &o->job) == 0)
		return;
	work(&o->job);
	done(&o->job);
}

static void drop(struct job *j)
{
	tls_client_ca_free(&LIST_ENTRY(j, struct opening, job)->ca);
}

static void dropped(struct job *j)
{
	free(LIST_ENTRY(j, struct opening, job));
}

static void on_drop(struct timer *t)
{
	struct worker_client_ca *w = LIST_ENTRY(t, struct worker_client_ca, drop);

	while (!list_empty(&w->replaced)) {
		struct opening *o = LIST_ENTRY(w->replaced.next, struct opening, node);

		if (o->due_ms > clock_ms()) {
			timer_arm(&w->loop->wheel, t, o->due_ms);
			return;
		}
		list_remove(&o->node);
		run(o, drop, dropped);
	}
}

static void read_parcel(struct job *j)
{
	struct opening *o = LIST_ENTRY(j, struct opening, job);

	o->ca = tls_client_ca_open(o->entry->ca, o->fd);
	close(o->fd);
}

static void put(struct job *j)
{
	struct opening *o = LIST_ENTRY(j, struct opening, job);
	struct worker_client_ca *w = o->in;

	if (o->ca == NULL)
		log_error("client-ca %s: what the master sent cannot be used", o->entry->ca->file);
	else if (o->order == o->entry->orders)
		tls_client_ca_swap(o->entry->ca, o->ca);
	o->due_ms = clock_ms() + w->handshake_ms;
	list_append(&w->replaced, &o->node);
	if (!timer_armed(&w->drop))
		timer_arm(&w->loop->wheel, &w->drop, o->due_ms);
}

void worker_client_ca_take(struct worker_client_ca *w, unsigned n, int fd)
{
	struct opening *o = fd >= 0 && n < w->cas->n ? malloc(sizeof(*o)) : NULL;

	if (o == NULL) {
		log_error("client-ca %u: what the master sent cannot be used", n);
		if (fd >= 0)
			close(fd);
		return;
	}
	*o = (struct opening){ .in = w, .entry = &w->cas->entries[n], .fd = fd };
	o->order = ++o->entry->orders;
	run(o, read_parcel, put);
}

void worker_client_ca_init(struct worker_client_ca *w, struct loop *l, struct offload *threads,
	const struct client_cas *cas, uint64_t handshake_ms)
{
	*w = (struct worker_client_ca){
		.loop = l, .threads = threads, .cas = cas, .handshake_ms = handshake_ms
	};
	list_init(&w->replaced);
	timer_init(&w->drop, on_drop);
}

void worker_client_ca_fini(struct worker_client_ca *w)
{
	struct list *node;

	timer_disarm(&w->loop->wheel, &w->drop);
	while ((node = list_pop(&w->replaced)) != NULL) {
		struct opening *o = LIST_ENTRY(node, struct opening, node);

		tls_client_ca_free(&o->ca);
		free(o);
	}
}
