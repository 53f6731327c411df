/* name: see name.h. A job belongs to its thread and to its name; the last one that is done with it
 * frees it. */
#include "upstream/name.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* getaddrinfo(3) does not tell how long an answer is valid; most containers and balancers promise
 * this much. */
enum {
	NAME_AGAIN_MS = 30000,
	NAME_RETRY_MS = 1000, /* if no address is known: requests fail meanwhile */
};

struct name_job {
	struct job job;
	struct name *name; /* NULL: gone */
	char *host, *port;
	struct addr addrs[NAME_ADDRS];
	unsigned n;
	int error;
	char text[]; /* of both */
};

static void look_up(struct job *j)
{
	struct name_job *job = LIST_ENTRY(j, struct name_job, job);
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *all;

	job->error = getaddrinfo(job->host, job->port, &hints, &all);
	if (job->error != 0)
		return;
	for (const struct addrinfo *a = all; a != NULL && job->n < NAME_ADDRS; a = a->ai_next) {
		struct addr *to = &job->addrs[job->n++];

		memcpy(&to->storage, a->ai_addr, a->ai_addrlen);
		to->len = a->ai_addrlen;
	}
	freeaddrinfo(all);
}

/* Once for each change. */
static void tell(struct name *name, const struct name_job *job)
{
	if (job->error != 0 && !name->failed)
		log_warn("upstream %.*s: %s; %s", SLICE_ARG(name->text), gai_strerror(job->error),
			name->n > 0 ? "using the last addresses" : "it gets no requests");
	else if (job->error == 0 && name->failed)
		log_notice("upstream %.*s: found again", SLICE_ARG(name->text));
	name->failed = job->error != 0;
}

static void looked_up(struct job *j)
{
	struct name_job *job = LIST_ENTRY(j, struct name_job, job);
	struct name *name = job->name;

	if (name != NULL) {
		name->job = NULL;
		tell(name, job);
		if (job->error == 0) {
			memcpy(name->addrs, job->addrs, sizeof(name->addrs));
			name->n = job->n;
		}
		name->changed(name);
	}
	free(job);
}

void name_init(struct name *name, struct offload *offload, struct slice text,
	void (*changed)(struct name *name))
{
	*name = (struct name){ .text = text, .offload = offload, .changed = changed };
}

void name_want(struct name *name)
{
	uint64_t pause = name->n > 0 ? NAME_AGAIN_MS : NAME_RETRY_MS;
	struct name_job *job;

	if (name->job != NULL || (name->at_ms != 0 && clock_ms() - name->at_ms < pause))
		return;
	job = calloc(1, sizeof(*job) + name->text.n + 1);
	if (job == NULL)
		return;
	job->job = (struct job){
		.work = look_up, .done = looked_up, .class = JOB_REMOTE, .volume = name
	};
	job->name = name;
	job->host = memcpy(job->text, name->text.p, name->text.n);
	job->port = strrchr(job->text, ':');
	*job->port++ = '\0';
	name->at_ms = clock_ms();
	if (offload_submit(name->offload, &job->job) == 0)
		name->job = job;
	else
		free(job);
}

void name_fini(struct name *name)
{
	if (name->job == NULL)
		return;
	if (offload_cancel(name->offload, &name->job->job))
		free(name->job);
	else
		name->job->name = NULL;
	name->job = NULL;
}
