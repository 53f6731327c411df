/*
 * store_quota: reads, writes, locks and recomputes the directory's sum. Called by store_work.c,
 * store_part.c and store_sweep.c in threads; its memory is safe from any content of the file. It
 * touches no other file of the directory.
 */
#include "store/store_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_id.h"
#include "image/memfd.h"

#define NAME ".h2d-quota"

enum {
	MODE = 0600,
	CELLS_MAX = 65536,
	WALK_SHARE = 20, /* of the time: one part of so many is spent on scans */
	WALK_TRIES = 3,
	OLD_S = 600,
};

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

/* "h2dquota", on this machine. */
static const uint64_t magic = 0x61746f7571643268;

static int open_file(const struct store_dir *d)
{
	int fd = openat(d->fd, NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, MODE);

	return fd >= 0 ? fd : -errno;
}

int store_quota_open(struct store_quota *q, const struct store_dir *d)
{
	*q = (struct store_quota){ .fd = -1, .max = q->max, .cell = -1 };
	if (q->max == 0)
		return 0;
	q->fd = open_file(d);
	/* Another user made the file: makes a new one. */
	if (q->fd == -EACCES && unlinkat(d->fd, NAME, 0) == 0)
		q->fd = open_file(d);
	return q->fd >= 0 ? 0 : q->fd;
}

/* --- its bytes -------------------------------------------------------------------------------- */

static int write_head(struct store_quota *q)
{
	q->head.changes++;
	return memfd_write(q->fd, &q->head, sizeof(q->head), 0);
}

static off_t place_of(int64_t cell)
{
	return (off_t)(sizeof(struct store_quota_head) + (size_t)cell * sizeof(uint64_t));
}

static uint64_t read_cell(const struct store_quota *q, int64_t cell)
{
	uint64_t bytes;

	return pread(q->fd, &bytes, sizeof(bytes), place_of(cell)) == sizeof(bytes) ? bytes : 0;
}

static int write_cell(const struct store_quota *q, int64_t cell, uint64_t bytes)
{
	return memfd_write(q->fd, &bytes, sizeof(bytes), place_of(cell));
}

static uint64_t less(uint64_t from, uint64_t n)
{
	return from > n ? from - n : 0;
}

/* --- locks ------------------------------------------------------------------------------------ */

static struct store_lock lock_of_cell(const struct store_quota *q, int64_t cell)
{
	return (struct store_lock){ .fd = q->fd, .at = place_of(cell), .n = sizeof(uint64_t) };
}

/* The sum's own lock: of its beginning, as cells may lock the rest. */
static struct store_lock lock_of(const struct store_quota *q)
{
	return (struct store_lock){ .fd = q->fd, .n = sizeof(struct store_quota_head) };
}

static void bury_the_dead(struct store_quota *q)
{
	uint64_t held = 0;

	for (int64_t i = 0; i < (int64_t)q->head.cells; i++) {
		if (i != q->cell && store_lock_try(lock_of_cell(q, i)) == 0) {
			write_cell(q, i, 0);
			store_lock_free(lock_of_cell(q, i));
		}
		held += read_cell(q, i);
	}
	q->head.held = held;
}

static int take_cell(struct store_quota *q)
{
	for (int64_t i = 0; q->cell < 0 && i < CELLS_MAX; i++) {
		if (store_lock_try(lock_of_cell(q, i)) < 0)
			continue;
		/* A cell without an owner has the bytes of a dead upload. */
		if ((uint64_t)i < q->head.cells) {
			q->head.held = less(q->head.held, read_cell(q, i));
			write_cell(q, i, 0);
		} else {
			q->head.cells = (uint64_t)i + 1;
		}
		q->cell = i;
	}
	return q->cell >= 0 ? 0 : -EMFILE;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* The time of the last change of a name in the directory; 0: unknown. */
static int64_t dir_ns(const struct store_dir *d)
{
	struct stat st;

	return fstat(d->fd, &st) == 0 ? file_id_ns(st.st_mtim) : 0;
}

/*
 * True if the sum is in doubt: names have changed, or the last scan is old, as writes to files by
 * others change no name. A directory that others keep changing is not scanned all the time.
 */
static bool is_doubted(const struct store_quota *q, const struct store_dir *d)
{
	int64_t since = file_id_clock_ns() - q->head.walked_ns;
	int64_t rest = WALK_SHARE * q->head.walk_ns;

	if (since < 0 || since >= OLD_S * SECOND_NS)
		return true;
	return q->head.dir_ns != dir_ns(d) && since >= (rest < SECOND_NS ? SECOND_NS : rest);
}

/* Scans the directory. found: the cost of its files, the directory's time before, and the
 * duration. */
static int walk_folder(
	struct store_quota *q, const struct store_dir *d, struct store_quota_head *found)
{
	uint64_t begun_ms = clock_now_ms();
	int rc;

	found->dir_ns = dir_ns(d);
	rc = store_dir_used(d, &found->used);
	found->walk_ns = (int64_t)(clock_now_ms() - begun_ms) * MS_NS;
	q->walks++;
	return rc;
}

static void take_over(struct store_quota *q, const struct store_quota_head *found)
{
	q->head.used = found->used;
	q->head.dir_ns = found->dir_ns;
	q->head.walk_ns = found->walk_ns;
	q->head.walked_ns = file_id_clock_ns();
}

/* Scans the directory while the sum is locked: no upload changes it meanwhile. */
static int walk_locked(struct store_quota *q, const struct store_dir *d)
{
	struct store_quota_head found;
	int rc = walk_folder(q, d, &found);

	if (rc < 0)
		return rc;
	take_over(q, &found);
	return write_head(q);
}

static void leave_head(const struct store_quota *q)
{
	store_lock_free(lock_of(q));
}

static bool read_head(struct store_quota *q)
{
	return pread(q->fd, &q->head, sizeof(q->head), 0) == (ssize_t)sizeof(q->head) &&
	       q->head.magic == magic && q->head.cells <= CELLS_MAX;
}

/* Locks the sum; the first one makes it. 0, or -errno. */
static int enter(struct store_quota *q, const struct store_dir *d)
{
	int rc = store_lock_wait(lock_of(q), NULL);

	if (rc < 0 || read_head(q))
		return rc;
	q->head = (struct store_quota_head){ .magic = magic };
	rc = walk_locked(q, d);
	if (rc < 0)
		leave_head(q);
	return rc;
}

/* --- admission -------------------------------------------------------------------------------- */

static bool quota_fits(const struct store_quota *q, uint64_t more, uint64_t replaced)
{
	uint64_t there = q->head.used + q->head.held;

	/* All of these are far from a number's limit, but they are from a file. */
	return q->head.used <= INT64_MAX && q->head.held <= INT64_MAX && more <= INT64_MAX &&
	       replaced <= INT64_MAX && less(there + more, replaced) <= q->max;
}

bool store_quota_fits(const struct store_quota *q, uint64_t replaced)
{
	return q->max == 0 || quota_fits(q, 0, replaced);
}

/* Admits more bytes, if need be after dead cells are emptied and the directory is scanned. */
static struct store_result admit(
	struct store_quota *q, const struct store_dir *d, uint64_t more, uint64_t replaced)
{
	int rc = 0;

	q->doubted |= is_doubted(q, d);
	if (quota_fits(q, more, replaced))
		return STORE_OK;
	bury_the_dead(q);
	if (!quota_fits(q, more, replaced) && is_doubted(q, d))
		rc = walk_locked(q, d);
	return rc < 0 || quota_fits(q, more, replaced) ? store_errno(rc)
						       : store_refuse(ERR_UPLOAD_ROOM);
}

static int hold_bytes(struct store_quota *q, uint64_t more)
{
	int rc = take_cell(q);

	if (rc == 0)
		rc = write_cell(q, q->cell, q->mine + more);
	if (rc < 0)
		return rc;
	q->mine += more;
	q->head.held += more;
	return write_head(q);
}

struct store_result store_quota_ask(struct store_quota *q, const struct store_dir *d,
	enum store_quota_how how, uint64_t more, uint64_t replaced)
{
	struct store_result r = store_errno(q->max > 0 && more > 0 ? enter(q, d) : 0);

	if (!store_ok(r) || q->max == 0 || more == 0)
		return r;
	r = admit(q, d, more, replaced);
	if (store_ok(r) && how == STORE_QUOTA_HOLD) {
		r = store_errno(hold_bytes(q, more));
	} else if (store_ok(r) && how == STORE_QUOTA_KEEP) {
		q->head.used += more;
		r = store_errno(write_head(q));
	}
	leave_head(q);
	return r;
}

int store_quota_used(struct store_quota *q, const struct store_dir *d, uint64_t *bytes)
{
	int rc = enter(q, d);

	if (rc < 0)
		return rc;
	bury_the_dead(q);
	*bytes = q->head.used + q->head.held;
	leave_head(q);
	return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

int store_quota_begin(struct store_quota *q, const struct store_dir *d)
{
	int rc = q->max > 0 ? enter(q, d) : 0;

	if (rc == 0 && q->max > 0)
		q->known = q->head.dir_ns == dir_ns(d);
	return rc;
}

/* Empties the cell of this upload. */
static void let_go(struct store_quota *q)
{
	if (q->mine == 0)
		return;
	q->head.held = less(q->head.held, q->mine);
	write_cell(q, q->cell, 0);
	q->mine = 0;
}

void store_quota_end(struct store_quota *q, const struct store_dir *d, bool placed, uint64_t gone)
{
	if (q->max == 0)
		return;
	if (placed) {
		q->head.used += q->mine;
		let_go(q);
	}
	q->head.used = less(q->head.used, gone);
	if (q->known)
		q->head.dir_ns = dir_ns(d);
	write_head(q);
	leave_head(q);
}

void store_quota_close(struct store_quota *q)
{
	if (q->fd < 0)
		return;
	/* If the sum cannot be locked, the next upload that needs room finds the cell unlocked. */
	if (q->mine > 0 && store_lock_wait(lock_of(q), NULL) == 0) {
		if (read_head(q)) {
			let_go(q);
			write_head(q);
		}
		leave_head(q);
	}
	close(q->fd);
	q->fd = -1;
}

/* A scan during a change does not count, and is repeated; that of the last try is kept, in
 * doubt. */
int store_quota_renew(struct store_quota *q, const struct store_dir *d)
{
	struct store_quota_head found;
	int rc = enter(q, d);

	for (int tries = 0; rc == 0 && is_doubted(q, d) && tries < WALK_TRIES; tries++) {
		uint64_t changes = q->head.changes;

		leave_head(q);
		rc = walk_folder(q, d, &found);
		if (rc == 0)
			rc = enter(q, d);
		if (rc < 0)
			return rc;
		if (q->head.changes != changes && tries < WALK_TRIES - 1)
			continue;
		take_over(q, &found);
		if (q->head.changes != changes)
			q->head.dir_ns = 0; /* another one will scan */
		rc = write_head(q);
	}
	if (rc == 0)
		leave_head(q);
	return rc;
}
