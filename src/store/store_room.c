/*
 * store_room: one job for all folders. Called on the loop; a file system that hangs holds up the
 * thread alone, and counts as low once it has done so for a while.
 */
#include "store/store_room.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/human.h"
#include "base/log.h"
#include "files/files_private.h"
#include "store/store_dir.h"

enum { PATIENCE = 5 }; /* looks, a second each */

struct look {
	struct job job;
	const struct files *files;
	const struct sites *sites;
	uint64_t wanted;
	uint32_t *to;
	const struct site *low; /* the first with too little; NULL: all have enough */
	uint64_t free;          /* bytes that it has */
	int error;              /* or why nobody knows */
};

static enum store_room found;   /* by the last look */
static unsigned waits;          /* looks that were due while one is under way; 0: none is */
static const struct site *said; /* the log has it */

static const char *root_of(const struct files *f, const struct site *site)
{
	return f->roots[site->root].root;
}

/* A file system without inodes left takes no file either. */
static int free_bytes(int fd, uint64_t *bytes)
{
	struct statvfs st;

	if (fstatvfs(fd, &st) < 0)
		return -errno;
	*bytes = st.f_files > 0 && st.f_favail == 0 ? 0 : (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

/* A folder that is not there yet is made below the root. */
static int look_at(const char *path, struct slice dir, uint64_t *bytes)
{
	struct disk_root *root = disk_root_look(path, NULL);
	struct store_dir d = { .fd = -1, .lock = -1 };
	char *name = strndup(dir.p, dir.n);
	int rc = root == NULL || name == NULL ? -ENOMEM : root->fd < 0 ? -ENOENT : 0;

	if (rc == 0)
		rc = store_dir_open(&d, root->fd, name);
	if (rc == 0)
		rc = free_bytes(d.fd, bytes);
	else if (rc == -ENOENT && root != NULL && root->fd >= 0)
		rc = free_bytes(root->fd, bytes);
	store_dir_close(&d);
	if (root != NULL)
		ref_put(&root->ref);
	free(name);
	return rc;
}

static void work(struct job *j)
{
	struct look *l = LIST_ENTRY(j, struct look, job);

	for (unsigned i = 0; i < l->sites->n && l->low == NULL; i++) {
		const struct site *site = &l->sites->v[i];

		if (site->uploads.n == 0 || !site->has_root)
			continue;
		l->error = look_at(root_of(l->files, site), site->uploads, &l->free);
		if (l->error < 0 || l->free < l->wanted)
			l->low = site;
	}
}

static void say(const struct look *l)
{
	char has[HUMAN_SIZE];

	if (l->low == NULL || l->low == said)
		return;
	if (l->error < 0)
		log_warn("%s%.*s: how much room it has is not known: %s", root_of(l->files, l->low),
			SLICE_ARG(l->low->uploads), strerror(-l->error));
	else
		log_warn("%s%.*s: %s free, which is less than health-min-free",
			root_of(l->files, l->low), SLICE_ARG(l->low->uploads),
			human_bytes(has, l->free));
}

static void tell(uint32_t *to, enum store_room room)
{
	found = room;
	__atomic_store_n(to, room, __ATOMIC_RELAXED);
}

static void done(struct job *j)
{
	struct look *l = LIST_ENTRY(j, struct look, job);

	say(l);
	said = l->low;
	tell(l->to, l->low != NULL ? STORE_ROOM_LOW : STORE_ROOM_ENOUGH);
	waits = 0;
	free(l);
}

static void begin(struct files *f, const struct sites *sites, uint64_t wanted, uint32_t *to)
{
	struct look *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return;
	*l = (struct look){ .files = f, .sites = sites, .wanted = wanted, .to = to };
	l->job.class = JOB_STORE;
	l->job.volume = &waits;
	l->job.work = work;
	l->job.done = done;
	waits = 1;
	if (offload_submit(f->offload, &l->job) == 0)
		return;
	waits = 0;
	free(l);
}

void store_room_look(struct files *f, const struct sites *sites, uint64_t wanted, uint32_t *to)
{
	if (waits == 0) {
		begin(f, sites, wanted, to);
	} else if (waits < PATIENCE) {
		waits++;
	} else if (found != STORE_ROOM_LOW) {
		log_warn("a file system of uploads has not answered for %d s", PATIENCE);
		tell(to, STORE_ROOM_LOW);
	}
}
