/*
 * disk_place: the place of a file among those that are open. Between reads, others may take the
 * place: its descriptor is closed, and for the next piece the file is reopened, by its identity.
 * Called by the other disk_*.c; never sends. See disk.h.
 */
#include <errno.h>
#include <unistd.h>

#include "base/counters.h"
#include "files/disk.h"
#include "request/req_client.h"

/* A file written meanwhile may have grown: its next read compares the sent bytes. */
static bool is_same(const struct disk_file *f, const struct file_id *now)
{
	return now->dev == f->file_id.dev && now->ino == f->file_id.ino &&
	       (f->first.n > 0 || file_id_same_content(now, &f->file_id));
}

int disk_file_reopen(struct disk_file *f, unsigned flags)
{
	size_t n = disk_file_extend(f, f->coding);
	struct file_id now;
	struct stat st;
	int fd;

	fd = beneath_open_file(f->root->fd, f->path, flags | f->links, &st);
	disk_file_cut(f, n);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : -EAGAIN;
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

void disk_close_run(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	close(f->fd);
	f->fd = -1;
}

void disk_close_then(struct disk_file *f)
{
	disk_file_go(f, DISK_AWAY);
	places_drop(&f->disk->places, &f->place);
	req_resume(f->req);
}

static bool give_back(struct place *p)
{
	struct disk_file *f = LIST_ENTRY(p, struct disk_file, place);

	H2D_ASSERT(!f->busy && f->fd >= 0);
	COUNT(files_open, -f->counted);
	f->counted = false;
	/* FUSE waits for an answer to close(), too. */
	if (f->kind == BENEATH_REMOTE && disk_file_submit(f, DISK_CLOSE, JOB_REMOTE) == DISK_LATER)
		return false;
	disk_close_run(&f->job);
	disk_file_go(f, DISK_AWAY);
	return true;
}

void disk_file_lend(struct disk_file *f)
{
	if (f->fd >= 0)
		places_lend(&f->disk->places, &f->place, f->last.n > 0);
}

void disk_file_begin(struct disk_file *f)
{
	disk_file_go(f, f->fd >= 0 ? DISK_SEND : DISK_AWAY);
	f->place.back = give_back;
	disk_file_lend(f);
}

/* --- and open again --------------------------------------------------------------------------- */

void disk_reopen_run(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	f->result = disk_file_reopen(f, 0);
}

static void open_again(struct disk_file *f)
{
	COUNT(files_open, 1);
	f->counted = true;
	disk_file_go(f, DISK_SEND);
	disk_file_lend(f);
}

void disk_reopen_then(struct disk_file *f)
{
	if (f->result == 0)
		open_again(f);
	else
		disk_file_fail(f, f->result);
	req_resume(f->req);
}

/* Opens the file, which has a place. True: open now; false: later, or it failed. */
static bool reopen(struct disk_file *f)
{
	bool remote = f->kind == BENEATH_REMOTE;
	int rc;

	if (!remote && disk_file_reopen(f, BENEATH_CACHED) == 0) {
		open_again(f);
		return true;
	}
	rc = disk_file_submit(f, DISK_REOPEN, remote ? JOB_REMOTE : JOB_LOOKUP);
	if (rc != DISK_LATER)
		disk_file_fail(f, rc);
	return false;
}

static void regained(struct place *p)
{
	struct disk_file *f = LIST_ENTRY(p, struct disk_file, place);

	if (reopen(f) || f->state == DISK_FAILED)
		req_resume(f->req);
}

bool disk_file_regain(struct disk_file *f)
{
	if (f->state != DISK_AWAY)
		return f->state == DISK_SEND;
	if (place_is_held(&f->place) || disk_file_take_place(f, regained))
		return reopen(f);
	disk_file_go(f, DISK_TURN);
	return false;
}
