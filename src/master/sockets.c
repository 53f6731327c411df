/*
 * sockets: opens, grows and closes listeners for generations. Gen, reload and drain call it, in the
 * master only: a child that closed a listener through here would unlink a unix socket's file.
 */
#include "master/sockets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { SAME_MAX = 1024 };

const struct states sockets_states = {
	.of = "sockets",
	.rows = {
#define SOCKETS_STATE(name, next, help) { #name, next },
#include "master/sockets_state.def"
	},
};

void sockets_go(struct sockets_entry *e, enum sockets_state state)
{
	STATES_STEP(&sockets_states, e->state, state);
}

void sockets_init(struct sockets *s)
{
	list_init(&s->all);
}

/* Addresses may repeat if the port is 0: each of them has its own entry. */
static struct sockets_entry *find_free(const struct sockets *s, const struct addr *wanted)
{
	LIST_EACH(struct sockets_entry, e, node, &s->all) {
		if (!sockets_is_taken(e) && addr_equal(&e->wanted, wanted))
			return e;
	}
	return NULL;
}

static struct sockets_entry *open_entry(struct sockets *s, const struct addr *wanted,
	const struct addr *bind_to, unsigned nslots, struct sockets_file file, char *err,
	size_t errsize)
{
	struct sockets_entry *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		snprintf(err, errsize, "out of memory");
		return NULL;
	}
	if (listener_open(&e->listener, bind_to, nslots, file.mode, err, errsize) < 0) {
		int errnum = errno;

		free(e);
		errno = errnum;
		return NULL;
	}
	e->wanted = *wanted;
	sockets_go(e, SOCKETS_OPENED);
	list_append(&s->all, &e->node);
	return e;
}

/* If no socket can be opened beside a passed one, that one is for all slots. */
static int sockets_grow(struct sockets_entry *e, unsigned nslots, char *err, size_t errsize)
{
	int rc = listener_resize(&e->listener, nslots, err, errsize);

	if (rc == 0 || !e->passed || e->listener.nslots > 1)
		return rc;
	e->listener.shared = true;
	return listener_resize(&e->listener, nslots, err, errsize);
}

struct sockets_entry *sockets_take(struct sockets *s, const struct addr *wanted,
	const struct addr *bind_to, unsigned nslots, struct sockets_file file, char *err,
	size_t errsize)
{
	struct sockets_entry *e = find_free(s, wanted);

	if (e == NULL)
		e = open_entry(s, wanted, bind_to, nslots, file, err, errsize);
	else if (e->listener.nslots < nslots && sockets_grow(e, nslots, err, errsize) < 0)
		e = NULL;
	if (e == NULL)
		return NULL;
	e->file = file;
	e->asked = nslots;
	if (e->state != SOCKETS_OPENED)
		sockets_go(e, e->state == SOCKETS_FRESH ? SOCKETS_CLAIMED : SOCKETS_TAKEN);
	return e;
}

/* --- other programs --------------------------------------------------------------------------- */

/* Follows the name of an address with any port. */
#define ANY_PORT "/any"

void sockets_name(const struct sockets_entry *e, char buf[SOCKETS_NAME])
{
	if (e->passed) {
		snprintf(buf, SOCKETS_NAME, "passed");
		return;
	}
	fdstore_name(&e->listener, buf);
	if (e->wanted.sa.sa_family != AF_UNIX && e->wanted.in.sin_port == 0)
		strcat(buf, ANY_PORT);
}

static struct addr wanted_of(const char *name, const struct addr *is)
{
	size_t n = strlen(name), any = strlen(ANY_PORT);
	struct addr wanted = *is;

	if (n > any && fdstore_is_name(name) && strcmp(name + n - any, ANY_PORT) == 0)
		wanted.in.sin_port = 0; /* of IPv6 it is at the same place */
	return wanted;
}

bool sockets_pass(const struct sockets *s, struct passed *p)
{
	char name[SOCKETS_NAME];

	LIST_EACH(struct sockets_entry, e, node, &s->all) {
		const struct listener *l = &e->listener;

		e->gone = false;
		sockets_name(e, name);
		for (unsigned i = 0; i < (l->shared ? 1 : l->nslots); i++)
			if (!passed_add(p, l->fds[i], name))
				return false;
	}
	return true;
}

static void give_up(struct passed_fd *f, const char *why)
{
	log_warn("inherited descriptor %d (%s) not used: %s", f->fd, f->name, why);
	close(f->fd);
	f->fd = -1;
	if (fdstore_is_name(f->name))
		fdstore_remove_name(f->name);
}

/* The address; closes a useless descriptor. */
static struct addr look_at(struct passed_fd *f)
{
	struct addr is = { .len = sizeof(is.storage) };

	if (f->fd < 0)
		return is;
	if (getsockname(f->fd, &is.sa, &is.len) < 0)
		give_up(f, strerror(errno));
	else if (is.sa.sa_family == AF_UNIX && fdstore_is_name(f->name) &&
		 !fdstore_is_file(f->name, &is))
		give_up(f, "the socket file is gone");
	return is;
}

/* NULL with a message in err. */
static struct sockets_entry *sockets_adopt(
	struct sockets *s, const int *fds, unsigned n, char *err, size_t errsize)
{
	struct sockets_entry *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		snprintf(err, errsize, "out of memory");
		return NULL;
	}
	if (listener_adopt(&e->listener, fds, n, err, errsize) < 0) {
		free(e);
		return NULL;
	}
	e->kept = e->asked = e->needed = n;
	list_append(&s->all, &e->node);
	return e;
}

/* All with the address and origin of the first one. */
static void inherit_address(
	struct sockets *s, struct passed *p, const struct addr *addrs, unsigned first, bool heir)
{
	bool stored = fdstore_is_name(p->v[first].name);
	struct passed_fd *same[SAME_MAX];
	struct sockets_entry *e;
	int fds[SAME_MAX] = { 0 };
	unsigned n = 0;
	char err[256];

	for (unsigned i = first; i < p->n && n < SAME_MAX; i++)
		if (p->v[i].fd >= 0 && fdstore_is_name(p->v[i].name) == stored &&
			addr_equal(&addrs[i], &addrs[first])) {
			same[n] = &p->v[i];
			fds[n++] = p->v[i].fd;
		}
	e = sockets_adopt(s, fds, n, err, sizeof(err));
	for (unsigned i = 0; i < n; i++) {
		if (e == NULL)
			give_up(same[i], err);
		same[i]->fd = -1;
	}
	if (e == NULL)
		return;
	e->wanted = wanted_of(p->v[first].name, &e->listener.addr);
	e->passed = !stored;
	e->listener.mine = stored && !heir;
	if (!heir)
		sockets_go(e, SOCKETS_FRESH);
}

void sockets_inherit(struct sockets *s, struct passed *p, bool heir)
{
	struct addr *addrs = calloc(p->n + 1, sizeof(*addrs));

	for (unsigned i = 0; addrs != NULL && i < p->n; i++)
		addrs[i] = look_at(&p->v[i]);
	for (unsigned i = 0; addrs != NULL && i < p->n; i++)
		if (p->v[i].fd >= 0)
			inherit_address(s, p, addrs, i, heir);
	free(addrs);
}

/* --- the end of a change ---------------------------------------------------------------------- */

static void close_entry(struct sockets_entry *e)
{
	list_remove(&e->node);
	if (!e->passed)
		fdstore_remove(&e->listener);
	listener_close(&e->listener);
	free(e);
}

void sockets_own(const struct sockets_entry *e)
{
	const struct addr *a = &e->listener.addr;

	if (a->sa.sa_family != AF_UNIX || !e->listener.mine)
		return;
	/* The group first: the mode's permissions are for it. */
	if (lchown(a->un.sun_path, (uid_t)-1, e->file.group) < 0)
		log_error("listen unix:%s: group: %s", a->un.sun_path, strerror(errno));
	if (chmod(a->un.sun_path, e->file.mode) < 0)
		log_error("listen unix:%s: chmod: %s", a->un.sun_path, strerror(errno));
}

/* A socket that the service manager has, too, stays: the next configuration may have its
 * address. */
static void untaken(struct sockets_entry *e)
{
	char text[ADDR_TEXT];

	if (!e->passed) {
		close_entry(e);
		return;
	}
	addr_format(&e->listener.addr, text, sizeof(text));
	if (e->state != SOCKETS_FRESH)
		return;
	log_warn("inherited socket %s not used: no listen has this address", text);
	sockets_go(e, SOCKETS_HELD);
}

void sockets_sift(struct sockets *s, bool (*wanted)(const void *ctx, const struct addr *addr),
	const void *ctx)
{
	LIST_EACH(struct sockets_entry, e, node, &s->all)
		if (e->state == SOCKETS_FRESH && !e->passed && !wanted(ctx, &e->wanted))
			close_entry(e);
}

void sockets_keep(struct sockets *s)
{
	char err[256];

	LIST_EACH(struct sockets_entry, e, node, &s->all) {
		if (!sockets_is_taken(e)) {
			untaken(e);
			continue;
		}
		sockets_own(e);
		if (listener_listen(&e->listener, err, sizeof(err)) < 0)
			log_error("%s", err);
		e->kept = e->listener.nslots;
		e->needed = e->asked;
		sockets_go(e, SOCKETS_HELD);
		if (!e->passed)
			fdstore_put(&e->listener);
	}
}

void sockets_store(const struct sockets *s)
{
	LIST_EACH(struct sockets_entry, e, node, &s->all)
		if (!e->passed)
			fdstore_put(&e->listener);
}

void sockets_undo(struct sockets *s)
{
	char err[256];

	LIST_EACH(struct sockets_entry, e, node, &s->all) {
		if (e->state == SOCKETS_OPENED) {
			close_entry(e);
		} else if (sockets_is_taken(e)) {
			sockets_go(e, SOCKETS_HELD);
			if (e->listener.nslots > e->kept &&
				listener_resize(&e->listener, e->kept, err, sizeof(err)) < 0)
				log_error("%s", err);
		}
	}
}

bool sockets_have(const struct sockets *s, const struct sockets_entry *e)
{
	LIST_EACH(struct sockets_entry, other, node, &s->all) {
		if (other == e)
			return !e->emptied;
	}
	return false;
}

void sockets_disown(struct sockets *s)
{
	LIST_EACH(struct sockets_entry, e, node, &s->all)
		e->listener.mine = false;
}

void sockets_close(struct sockets *s)
{
	bool stored = false;

	LIST_EACH(struct sockets_entry, e, node, &s->all) {
		if (e->listener.mine) {
			stored |= !e->passed;
			close_entry(e);
			continue;
		}
		/* The queue stays, except those of sockets opened beside a passed one. */
		e->emptied = e->passed && !e->listener.shared && e->listener.nslots > 1;
		listener_close(&e->listener);
	}
	/* Sockets that workers close must then refuse, not queue without a reader. */
	if (stored)
		fdstore_settle();
}

void sockets_free(struct sockets *s)
{
	LIST_EACH(struct sockets_entry, e, node, &s->all)
		close_entry(e);
}
