/*
 * store_file: writes, hashes, syncs, names and removes one file. Called by the steps of an upload
 * in threads; independent of requests; never waits for the network.
 */
#include "store/store_work.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "image/beneath.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum {
	LOOK_TRIES = 3,
	SEND_OFF = 8 << 20,
	LONG = 4 << 20,
};

/* --- store_sum -------------------------------------------------------------------------------- */

int store_sum_want(struct store_sum *s, enum digest_algorithm a)
{
	const EVP_MD *md = a == DIGEST_SHA_256 ? EVP_sha256() : EVP_sha512();

	if (s->ctx[a] == NULL)
		s->ctx[a] = EVP_MD_CTX_new();
	return s->ctx[a] != NULL && EVP_DigestInit_ex(s->ctx[a], md, NULL) == 1 ? 0 : -ENOMEM;
}

static bool is_given(const struct digest_field *fields, unsigned n, enum digest_algorithm a)
{
	for (unsigned i = 0; i < n; i++)
		if (fields[i].given[a])
			return true;
	return false;
}

int store_sum_want_given(struct store_sum *s, const struct digest_field *fields, unsigned n)
{
	int rc = 0;

	for (enum digest_algorithm a = 0; rc == 0 && a < DIGEST_ALGORITHMS; a++)
		if (is_given(fields, n, a))
			rc = store_sum_want(s, a);
	return rc;
}

void store_sum_fini(struct store_sum *s)
{
	for (unsigned a = 0; a < DIGEST_ALGORITHMS; a++) {
		EVP_MD_CTX_free(s->ctx[a]);
		s->ctx[a] = NULL;
	}
}

int store_sum_add(struct store_sum *s, const void *p, size_t n)
{
	for (unsigned a = 0; a < DIGEST_ALGORITHMS; a++)
		if (s->ctx[a] != NULL && EVP_DigestUpdate(s->ctx[a], p, n) != 1)
			return -ENOMEM;
	return 0;
}

struct store_result store_sum_compare(
	struct store_sum *s, const struct digest_field *fields, unsigned n)
{
	unsigned char hash[DIGEST_SIZE_MAX];
	const struct err *err = NULL;

	for (enum digest_algorithm a = 0; err == NULL && a < DIGEST_ALGORITHMS; a++) {
		if (!is_given(fields, n, a))
			continue;
		if (EVP_DigestFinal_ex(s->ctx[a], hash, NULL) != 1)
			return store_errno(-ENOMEM);
		for (unsigned i = 0; err == NULL && i < n; i++)
			err = digest_field_compare(&fields[i], a, hash);
	}
	return store_refuse(err);
}

/* --- writing ---------------------------------------------------------------------------------- */

int store_file_begin(struct store_file *f, struct store_dir *d, struct slice name, uint64_t sum_max)
{
	int rc;

	*f = (struct store_file){ .fd = -1, .replaced = -1, .sum_max = sum_max };
	memcpy(f->name, name.p, name.n);
	rc = store_sum_want(&f->sum, DIGEST_SHA_256);
	if (rc < 0)
		return rc;
	f->fd = store_dir_create(d, f->hidden);
	return f->fd >= 0 ? 0 : f->fd;
}

int store_file_adopt(struct store_file *f, int fd, struct slice name, const char *hidden,
	uint64_t size, uint64_t sum_max)
{
	*f = (struct store_file){
		.fd = fd, .replaced = -1, .size = size, .on_its_way = size, .sum_max = sum_max
	};
	memcpy(f->name, name.p, name.n);
	strcpy(f->hidden, hidden);
	return lseek(fd, (off_t)size, SEEK_SET) < 0 ? -errno : 0;
}

/* Uses up v. */
static int write_all(int fd, struct iovec *v, int n)
{
	while (n > 0) {
		ssize_t done = TEMP_FAILURE_RETRY(writev(fd, v, n));

		if (done < 0)
			return -errno;
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* The disk starts early, to leave fsync(2) little. A failure recurs there. */
static void send_off(struct store_file *f)
{
	uint64_t n = f->size - f->on_its_way;

	if (n < SEND_OFF)
		return;
	sync_file_range(f->fd, (off_t)f->on_its_way, (off_t)n, SYNC_FILE_RANGE_WRITE);
	f->on_its_way = f->size;
}

int store_file_write(struct store_file *f, struct iovec *v, int n)
{
	int rc = 0;

	for (int i = 0; i < n; i++)
		f->size += v[i].iov_len;
	if (f->size > f->sum_max)
		store_sum_fini(&f->sum);
	for (int i = 0; i < n && rc == 0; i++)
		rc = store_sum_add(&f->sum, v[i].iov_base, v[i].iov_len);
	if (rc == 0)
		rc = write_all(f->fd, v, n);
	if (rc == 0)
		send_off(f);
	return rc;
}

int store_file_end(struct store_file *f)
{
	int rc = 0;

	f->ended = true;
	f->summed = f->size <= f->sum_max;
	if (f->summed && EVP_DigestFinal_ex(f->sum.ctx[DIGEST_SHA_256], f->sha256, NULL) != 1)
		rc = -ENOMEM;
	store_sum_fini(&f->sum);
	return rc == 0 ? store_dir_sync(f->fd) : rc;
}

static int hide(struct store_file *f, struct store_dir *d)
{
	return f->hidden[0] != '\0' ? 0 : store_dir_hide(d, f->fd, f->hidden);
}

int store_file_shelve(struct store_file *f, struct store_dir *d)
{
	int rc = hide(f, d);

	if (rc < 0)
		return rc;
	close(f->fd);
	f->fd = -1;
	return 0;
}

/* --- its name --------------------------------------------------------------------------------- */

/* Gives it the name, which is free. */
static int link_new(const struct store_file *f, const struct store_dir *d)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	if (linkat(AT_FDCWD, self, d->to, f->name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return 0;
}

/* True if the name is this file's already: NFS may have repeated a call whose first answer was
 * lost. */
static bool is_named(const struct store_file *f, const struct store_dir *d)
{
	struct stat own, there;

	return fstat(f->fd, &own) == 0 &&
	       fstatat(d->to, f->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

static int rename_new(struct store_file *f, const struct store_dir *d)
{
	if (renameat2(d->fd, f->hidden, d->to, f->name, RENAME_NOREPLACE) == 0) {
		f->hidden[0] = '\0';
		return 0;
	}
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The file system cannot; a link never replaces a name either. */
	if (linkat(d->fd, f->hidden, d->to, f->name, 0) == 0)
		return 0;
	return errno == EEXIST && is_named(f, d) ? 0 : -errno;
}

/* Opens the file of that name if it is long, so that the loss of the name does not free it. The
 * descriptor, or -1. */
static int keep_open(const struct store_dir *d, const char *name)
{
	int fd = beneath_open(d->to, name, BENEATH_PATH | BENEATH_NO_LINK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_size >= LONG)
		return fd;
	close(fd);
	return -1;
}

static int replace(struct store_file *f, struct store_dir *d)
{
	int rc = hide(f, d);

	if (rc < 0)
		return rc;
	/* An NFS client would first rename it, as it is open here: for a moment it had no name. */
	if (!d->shared)
		f->replaced = keep_open(d, f->name);
	if (renameat(d->fd, f->hidden, d->to, f->name) < 0)
		return -errno;
	f->hidden[0] = '\0';
	return 0;
}

int store_file_place(struct store_file *f, struct store_dir *d, bool overwrite)
{
	int rc = f->hidden[0] != '\0' ? rename_new(f, d) : link_new(f, d);

	f->created = rc == 0;
	if (rc == -EEXIST && overwrite)
		rc = replace(f, d);
	return rc;
}

void store_file_free_replaced(struct store_file *f)
{
	if (f->replaced >= 0)
		close(f->replaced);
	f->replaced = -1;
}

void store_file_drop(struct store_file *f, const struct store_dir *d)
{
	store_sum_fini(&f->sum);
	if (f->hidden[0] != '\0')
		unlinkat(d->fd, f->hidden, 0);
	if (f->fd >= 0)
		close(f->fd);
	f->hidden[0] = '\0';
	f->fd = -1;
}

/* --- existing files --------------------------------------------------------------------------- */

/* Reads the identity of fd's file, *seen_ns being the time just before. 0, or -errno. */
static int look_at_file(int fd, struct file_id *id, int64_t *seen_ns)
{
	struct stat st = { 0 };
	int rc;

	*seen_ns = file_id_clock_ns();
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	*id = file_id_of(&st);
	return rc;
}

/* Hashes the file, if it is not too long. 0, -EAGAIN if it changed meanwhile, -errno. */
static int hash_once(int fd, uint64_t hash_max, struct etag *e)
{
	struct file_id before, after = { 0 };
	int64_t seen_ns;
	int rc = look_at_file(fd, &before, &seen_ns);

	if (rc == 0 && before.size > hash_max) {
		etag_of_file(&before, seen_ns, SLICE(""), e);
		return 0;
	}
	if (rc == 0)
		rc = etag_of_fd(fd, before.size, e);
	if (rc == 0)
		rc = look_at_file(fd, &after, &seen_ns);
	return rc == 0 && !file_id_eq(&before, &after) ? -EAGAIN : rc;
}

/* Makes its entity tag; a file being written has none. */
static int tag_of(int fd, uint64_t hash_max, struct etag *e)
{
	int rc = -EAGAIN;

	for (int tries = 0; tries < LOOK_TRIES && rc == -EAGAIN; tries++)
		rc = hash_once(fd, hash_max, e);
	if (rc < 0)
		e->n = 0;
	return rc == -EAGAIN ? 0 : rc;
}

/* Makes the struct from st. */
static struct store_there there_of(const struct stat *st)
{
	return (struct store_there){
		.any = true,
		.other = !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode),
		.size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
		.mtime = st->st_mtim.tv_sec,
	};
}

/* Opens the file of that name: for its entity tag, if needed, and to see if it exists. A kernel
 * with cached names finds only now that another machine has removed it. */
static int look_inside(
	const struct store_dir *d, const char *name, uint64_t hash_max, struct store_there *there)
{
	struct stat st;
	int fd = beneath_open_file(d->to, name, 0, &st), rc;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	if (fd == -ENOENT && d->shared && fstatat(d->to, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		errno == ENOENT)
		*there = (struct store_there){ 0 };
	if (fd < 0)
		return 0;
	there->mtime = st.st_mtim.tv_sec;
	rc = hash_max != STORE_NO_TAG ? tag_of(fd, hash_max, &there->etag) : 0;
	close(fd);
	return rc;
}

int store_file_look(
	const struct store_dir *d, const char *name, uint64_t hash_max, struct store_there *there)
{
	struct stat st;

	*there = (struct store_there){ 0 };
	if (d->to < 0)
		return 0;
	if (fstatat(d->to, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	*there = there_of(&st);
	if (there->other || (hash_max == STORE_NO_TAG && !d->shared))
		return 0;
	return look_inside(d, name, hash_max, there);
}
