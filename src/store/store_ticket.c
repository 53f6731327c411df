/*
 * store_ticket: reads, writes, locks and removes the two hidden files of a resumable upload. Called
 * by store_part.c and store_sweep.c in threads; never trusts what it reads.
 */
#include "store/store_ticket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "image/memfd.h"

enum {
	MODE = 0600,
	PART_MODE = 0666,
	TEXT_MAX = 4 << 20,
	PLACED_MAX_AGE = 600, /* time for a client to learn that its upload is complete */
};

/* "h2d-up1" and a newline, on this machine. */
static const uint64_t magic = 0x0a3170752d643268;

/* --- its bytes -------------------------------------------------------------------------------- */

static void put_text(struct strbuf *text, struct slice s)
{
	strbuf_add(text, s);
	strbuf_add(text, slice_of("", 1));
}

/* Puts the text together; each of its strings ends in NUL. 0, or -errno. */
static int text_make(struct store_ticket *t, const char *name, const char *user,
	const struct field *fields, unsigned nfields)
{
	struct strbuf text = { 0 };

	put_text(&text, slice_str(name));
	put_text(&text, slice_str(user));
	for (unsigned i = 0; i < nfields; i++) {
		put_text(&text, fields[i].name);
		put_text(&text, fields[i].value);
	}
	t->text = text.p;
	t->head.text = text.n;
	return text.failed ? -ENOMEM : text.n <= TEXT_MAX ? 0 : -ENOSPC;
}

static const char *next_part(const char **at)
{
	const char *s = *at;

	*at += strlen(s) + 1;
	return s;
}

/* Finds the strings in t->text, which ends in NUL. False: not ours. */
static bool text_read(struct store_ticket *t)
{
	const char *at = t->text, *end = at + t->head.text;
	unsigned strings = 0;

	for (const char *p = at; p < end; p++)
		strings += *p == '\0';
	if (strings < 2 || strings % 2 != 0)
		return false;
	t->name = next_part(&at);
	t->user = next_part(&at);
	t->nfields = strings / 2 - 1;
	t->fields = calloc(t->nfields + 1, sizeof(*t->fields));
	for (unsigned i = 0; t->fields != NULL && i < t->nfields; i++) {
		t->fields[i].name = slice_str(next_part(&at));
		t->fields[i].value = slice_str(next_part(&at));
	}
	return t->fields != NULL;
}

static bool read_head(const struct store_ticket *t, struct store_ticket_head *head)
{
	return pread(t->fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
	       head->magic == magic && head->text > 0 && head->text <= TEXT_MAX &&
	       head->stage >= STORE_TICKET_OPEN && head->stage <= STORE_TICKET_PLACED;
}

static bool read_all(struct store_ticket *t)
{
	size_t n;

	if (!read_head(t, &t->head))
		return false;
	n = (size_t)t->head.text;
	t->text = malloc(n);
	return t->text != NULL && pread(t->fd, t->text, n, sizeof(t->head)) == (ssize_t)n &&
	       t->text[n - 1] == '\0' && text_read(t);
}

int store_ticket_write(struct store_ticket *t, enum store_ticket_stage stage)
{
	t->head.stage = stage;
	return memfd_write(t->fd, &t->head, sizeof(t->head), 0);
}

/* --- making and finding it -------------------------------------------------------------------- */

/* 128 random bits of the kernel: not to be guessed. */
static int make_token(char token[STORE_TOKEN + 1])
{
	unsigned char bytes[STORE_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (unsigned i = 0; i < sizeof(bytes); i++) {
		token[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		token[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	token[STORE_TOKEN] = '\0';
	return 0;
}

static int create_file(
	const struct store_dir *d, const char *token, enum store_dir_kind kind, mode_t mode)
{
	char name[STORE_HIDDEN_NAME];
	int fd;

	store_dir_token_name(token, kind, name);
	fd = openat(d->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd >= 0 ? fd : -errno;
}

static int open_file(const struct store_dir *d, const char *name)
{
	return openat(d->fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

static bool stat_part(const struct store_ticket *t, const struct store_dir *d, struct stat *st)
{
	char name[STORE_HIDDEN_NAME];

	store_dir_token_name(t->token, STORE_DIR_PART, name);
	return fstatat(d->fd, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Removes the unfinished ticket, and returns rc. */
static int give_up(struct store_ticket *t, const struct store_dir *d, int rc)
{
	store_ticket_remove(t, d);
	store_ticket_close(t);
	return rc;
}

int store_ticket_create(struct store_ticket *t, const struct store_dir *d, const char *name,
	const char *user, const struct field *fields, unsigned n, uint64_t length)
{
	int rc = make_token(t->token), part;

	if (rc == 0)
		rc = text_make(t, name, user, fields, n);
	if (rc < 0)
		return rc;
	t->head.magic = magic;
	t->head.epoch = 1;
	t->head.length = length;
	if (!text_read(t))
		return -ENOMEM;
	t->fd = create_file(d, t->token, STORE_DIR_TICKET, MODE);
	if (t->fd < 0)
		return t->fd;
	rc = memfd_write(t->fd, t->text, (size_t)t->head.text, sizeof(t->head));
	if (rc == 0)
		rc = store_ticket_write(t, STORE_TICKET_OPEN);
	/* The client may go to another machine as soon as it knows the upload's URL. */
	if (rc == 0 && d->shared)
		rc = store_dir_sync(t->fd);
	if (rc < 0)
		return give_up(t, d, rc);
	part = create_file(d, t->token, STORE_DIR_PART, PART_MODE);
	return part >= 0 ? part : give_up(t, d, part);
}

struct store_result store_ticket_open(struct store_ticket *t, const struct store_dir *d)
{
	char name[STORE_HIDDEN_NAME];

	store_dir_token_name(t->token, STORE_DIR_TICKET, name);
	if (store_dir_kind(name) != STORE_DIR_TICKET)
		return store_refuse(ERR_UPLOAD_NONE);
	t->fd = open_file(d, name);
	if (t->fd < 0 && errno != ENOENT)
		return store_errno(-errno);
	return t->fd >= 0 && read_all(t) ? STORE_OK : store_refuse(ERR_UPLOAD_NONE);
}

int store_ticket_part(const struct store_ticket *t, const struct store_dir *d, uint64_t *size)
{
	char name[STORE_HIDDEN_NAME];
	struct statx st;
	int fd;

	store_dir_token_name(t->token, STORE_DIR_PART, name);
	fd = open_file(d, name);
	if (fd < 0)
		return -errno;
	/* The size as set by other machines, not the cached one. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st) == 0 &&
		S_ISREG(st.stx_mode) && st.stx_nlink == 1) {
		*size = st.stx_size;
		return fd;
	}
	/* The part was placed without an exclusive rename, and the worker died before it released
	 * the part. */
	close(fd);
	unlinkat(d->fd, name, 0);
	return -ENOENT;
}

void store_ticket_close(struct store_ticket *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	free(t->fields);
	free(t->text);
	t->fields = NULL;
	t->text = NULL;
	t->nfields = 0;
}

uint64_t store_ticket_cost(
	const char *name, const char *user, const struct field *fields, unsigned n)
{
	uint64_t size = sizeof(struct store_ticket_head) + strlen(name) + 1 + strlen(user) + 1;

	for (unsigned i = 0; i < n; i++)
		size += fields[i].name.n + 1 + fields[i].value.n + 1;
	return store_dir_cost(size);
}

uint64_t store_ticket_part_cost(const struct store_ticket *t, const struct store_dir *d)
{
	struct stat st;

	return stat_part(t, d, &st) ? store_dir_cost((uint64_t)st.st_size) : 0;
}

void store_ticket_remove(const struct store_ticket *t, const struct store_dir *d)
{
	char name[STORE_HIDDEN_NAME];

	/* A part without a ticket has no owner; a ticket without a part may be in PLACED. */
	store_dir_token_name(t->token, STORE_DIR_TICKET, name);
	unlinkat(d->fd, name, 0);
	store_dir_token_name(t->token, STORE_DIR_PART, name);
	unlinkat(d->fd, name, 0);
}

/* --- claims ----------------------------------------------------------------------------------- */

static struct store_lock lock_of(const struct store_ticket *t)
{
	return (struct store_lock){ .fd = t->fd };
}

static bool is_there(const struct store_ticket *t)
{
	struct stat st;

	return fstat(t->fd, &st) == 0 && st.st_nlink > 0;
}

struct store_result store_ticket_claim(struct store_ticket *t, const struct job *job)
{
	struct store_result r = store_errno(store_lock_wait(lock_of(t), job));

	if (!store_ok(r))
		return r;
	r = store_refuse(ERR_UPLOAD_NONE);
	if (is_there(t) && read_head(t, &t->head)) {
		t->head.epoch++;
		r = store_errno(store_ticket_write(t, t->head.stage));
	}
	if (!store_ok(r))
		store_ticket_leave(t);
	return r;
}

struct store_result store_ticket_enter(const struct store_ticket *t)
{
	struct store_ticket_head now;
	int rc = store_lock_wait(lock_of(t), NULL);

	if (rc < 0)
		return store_errno(rc);
	if (is_there(t) && read_head(t, &now) && now.epoch == t->head.epoch)
		return STORE_OK;
	store_ticket_leave(t);
	return store_refuse(ERR_UPLOAD_TAKEN);
}

void store_ticket_leave(const struct store_ticket *t)
{
	store_lock_free(lock_of(t));
}

/* --- expired uploads -------------------------------------------------------------------------- */

/* Seconds since the last write to the file. */
static uint64_t age(const struct stat *st)
{
	time_t now = time(NULL);

	return st->st_mtim.tv_sec < now ? (uint64_t)(now - st->st_mtim.tv_sec) : 0;
}

static bool is_forgotten(const struct store_ticket *t, const struct store_dir *d, uint64_t max_age)
{
	struct stat ticket, part;

	if (fstat(t->fd, &ticket) < 0)
		return false;
	if (stat_part(t, d, &part))
		return age(&part) > max_age && age(&ticket) > max_age;
	return age(&ticket) > (max_age < PLACED_MAX_AGE ? max_age : PLACED_MAX_AGE);
}

/* name: a ticket's. */
static bool sweep_ticket(const struct store_dir *d, const char *name, uint64_t max_age)
{
	struct store_ticket t = { .fd = open_file(d, name) };
	bool swept = false;

	if (t.fd < 0)
		return false;
	store_dir_token(name, t.token);
	if (store_lock_try(lock_of(&t)) == 0) {
		swept = is_forgotten(&t, d, max_age);
		if (swept)
			store_ticket_remove(&t, d);
	}
	store_ticket_close(&t);
	return swept;
}

/* name: a part's. The ticket is made first, and removed first. */
static bool sweep_part(const struct store_dir *d, const char *name, uint64_t max_age)
{
	char ticket[STORE_HIDDEN_NAME], token[STORE_TOKEN + 1];
	struct stat st;

	store_dir_token(name, token);
	store_dir_token_name(token, STORE_DIR_TICKET, ticket);
	if (faccessat(d->fd, ticket, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return false;
	return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && age(&st) > max_age &&
	       unlinkat(d->fd, name, 0) == 0;
}

int store_ticket_sweep(const struct store_dir *d, uint64_t max_age)
{
	DIR *dir = store_dir_list(d);
	const struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL) {
		enum store_dir_kind kind = store_dir_kind(e->d_name);

		if (kind == STORE_DIR_TICKET)
			n += sweep_ticket(d, e->d_name, max_age);
		else if (kind == STORE_DIR_PART)
			n += sweep_part(d, e->d_name, max_age);
	}
	closedir(dir);
	return n;
}
