/* name: see name.h. The thread has the job's members alone. */
#include "upstream/name.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* getaddrinfo(3) does not tell how long an answer is valid; most containers and balancers promise
 * this much. */
enum {
	NAME_AGAIN_MS = 30000,
	NAME_RETRY_MS = 1000, /* if no address is known: requests fail meanwhile */
};

int name_look(const struct site_peer *peer, struct addrinfo **found)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	const char *colon = strrchr(peer->name.p, ':');
	char host[NI_MAXHOST];

	snprintf(host, sizeof(host), "%.*s", (int)(colon - peer->name.p), peer->name.p);
	return getaddrinfo(host, colon + 1, &hints, found);
}

static void look_up(struct job *j)
{
	struct name *name = LIST_ENTRY(j, struct name, job);

	name->error = name_look(name->site, &name->found);
}

/* Once for each change. */
static void tell(struct name *name)
{
	if (name->error != 0 && !name->failed)
		log_warn("upstream %.*s: %s; %s", SLICE_ARG(name->site->name),
			gai_strerror(name->error),
			name->n > 0 ? "using the last addresses" : "it gets no requests");
	else if (name->error == 0 && name->failed)
		log_notice("upstream %.*s: found again", SLICE_ARG(name->site->name));
	name->failed = name->error != 0;
}

static void looked_up(struct job *j)
{
	struct name *name = LIST_ENTRY(j, struct name, job);

	tell(name);
	if (!name->failed) {
		name->n = 0;
		for (const struct addrinfo *a = name->found; a != NULL && name->n < NAME_ADDRS;
			a = a->ai_next) {
			struct addr *to = &name->addrs[name->n++];

			memcpy(&to->storage, a->ai_addr, a->ai_addrlen);
			to->len = a->ai_addrlen;
		}
		freeaddrinfo(name->found);
	}
	name->again_ms = clock_ms() + (name->n > 0 ? NAME_AGAIN_MS : NAME_RETRY_MS);
	name->changed(name);
}

void name_init(struct name *name, struct offload *offload, const struct site_peer *peer,
	void (*changed)(struct name *name))
{
	*name = (struct name){
		.job = { .work = look_up, .done = looked_up, .class = JOB_REMOTE, .volume = name },
		.site = peer,
		.offload = offload,
		.changed = changed,
	};
	if (peer->addr.len > 0) {
		name->addrs[name->n++] = peer->addr;
		name->again_ms = UINT64_MAX;
	}
}

void name_want(struct name *name)
{
	if (clock_ms() >= name->again_ms && offload_submit(name->offload, &name->job) == 0)
		name->again_ms = UINT64_MAX;
}
