/*
 * disk_place: the place of a file among those that are open. While nothing reads it, whoever needs
 * the place may have it: its descriptor is closed, and for the next piece the file is opened again,
 * by its identity. Called by the other disk_*.c; never sends anything. See disk.h.
 */
#include <errno.h>
#include <unistd.h>

#include "base/counters.h"
#include "files/disk.h"
#include "request/req_client.h"

/* A file that was written to meanwhile may have grown: its next read compares what was sent. */
static bool is_same(const struct disk_file *f, const struct file_id *now)
{
	return now->dev == f->file_id.dev && now->ino == f->file_id.ino &&
	       (f->first.n > 0 || file_id_same_content(now, &f->file_id));
}

static bool is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

int disk_file_reopen(struct disk_file *f, unsigned flags)
{
	size_t n = disk_file_extend(f, f->coding);
	struct file_id now;
	struct stat st;
	int fd;

	fd = beneath_open_file(f->root->fd, f->path, flags | f->leave, &st);
	disk_file_cut(f, n);
	if (fd < 0)
		return is_shortage(fd) ? fd : -EAGAIN;
	now = file_id_of(&st);
	if (!is_same(f, &now)) {
		close(fd);
		return -EAGAIN;
	}
	f->fd = fd;
	return 0;
}

static struct place_share *share_of(const struct disk_file *f)
{
	return f->req->conn != NULL ? f->req->conn->files : NULL;
}

static struct account *account_of(const struct disk_file *f)
{
	return f->req->conn != NULL ? req_account(f->req) : NULL;
}

void disk_file_try_place(struct disk_file *f)
{
	places_try(&f->disk->places, share_of(f), account_of(f), &f->place);
}

bool disk_file_take_place(struct disk_file *f, void (*granted)(struct place *p))
{
	f->place.granted = granted;
	return places_take(&f->disk->places, share_of(f), account_of(f), &f->place);
}

/* --- lent, and taken back --------------------------------------------------------------------- */

static void uncount(struct disk_file *f)
{
	if (f->counted)
		COUNT(files_open, -1);
	f->counted = false;
}

static void close_work(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	close(f->fd);
	f->fd = -1;
}

static void close_finish(struct disk_file *f)
{
	places_drop(&f->disk->places, &f->place);
	req_resume(f->req);
}

static bool give_back(struct place *p)
{
	struct disk_file *f = LIST_ENTRY(p, struct disk_file, place);

	H2D_ASSERT(!f->busy && f->fd >= 0);
	uncount(f);
	/* FUSE waits for an answer to close(), too. */
	if (f->kind == BENEATH_REMOTE &&
		disk_file_later(f, JOB_REMOTE, close_work, close_finish) == DISK_LATER)
		return false;
	close_work(&f->job);
	return true;
}

void disk_file_lend(struct disk_file *f)
{
	f->place.back = give_back;
	if (f->fd >= 0)
		places_lend(&f->disk->places, &f->place, f->last.n > 0);
}

/* --- and open again --------------------------------------------------------------------------- */

static void reopen_work(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	f->result = disk_file_reopen(f, 0);
}

static void opened(struct disk_file *f)
{
	COUNT(files_open, 1);
	f->counted = true;
	disk_file_lend(f);
}

static void reopen_finish(struct disk_file *f)
{
	if (f->result == 0)
		opened(f);
	else
		disk_file_fail(f, f->result);
	req_resume(f->req);
}

/* Opens the file, which has a place. True: it is open now; false: later, or it failed. */
static bool reopen(struct disk_file *f)
{
	bool remote = f->kind == BENEATH_REMOTE;
	int rc;

	if (!remote && disk_file_reopen(f, BENEATH_CACHED) == 0) {
		opened(f);
		return true;
	}
	rc = disk_file_later(f, remote ? JOB_REMOTE : JOB_LOOKUP, reopen_work, reopen_finish);
	if (rc != DISK_LATER)
		disk_file_fail(f, rc);
	return false;
}

static void regained(struct place *p)
{
	struct disk_file *f = LIST_ENTRY(p, struct disk_file, place);

	if (reopen(f) || f->failed)
		req_resume(f->req);
}

bool disk_file_regain(struct disk_file *f)
{
	if (f->fd >= 0)
		return true;
	if (f->place.state == PLACE_WAITS)
		return false;
	return (place_is_held(&f->place) || disk_file_take_place(f, regained)) && reopen(f);
}
