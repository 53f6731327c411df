/*
 * store_tree: lists directories of a drive, and copies, moves and removes them with all that they
 * contain. Steps run in threads, independent of loop and request; nothing follows a symbolic link.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/beneath.h"
#include "request/gate.h"
#include "rules/site.h"
#include "store/store_work.h"

enum {
	ENTRIES_MAX = 50000, /* of a tree that is changed as a whole */
	DEPTH_MAX = 20,
	SEND_AT_ONCE = 8 << 20,
	LIST_MAX = 3 << 20, /* bytes of a list */
	OPEN = BENEATH_SAME_MOUNT | BENEATH_NO_LINKS,
};

#define COPY "copy" /* the name of a copy in its hidden directory */

/* --- the look --------------------------------------------------------------------------------- */

/* The result of a walk. */
struct found {
	const struct store_work *w;
	bool any, dir;
	uint64_t cost;         /* as the quota counts it */
	unsigned depth;        /* of directories; a file has none */
	unsigned entries;      /* in it, and itself */
	unsigned level;        /* of the walk */
	const struct err *err; /* why the tree cannot be changed as a whole; NULL: it can */
};

static bool hides(const struct store_work *w, const char *name)
{
	for (unsigned i = 0; i < 2; i++)
		if (w->tree.hides[i] != NULL && site_hides_name(w->tree.hides[i], slice_str(name)))
			return true;
	return name[0] == '.';
}

/* Adds the file or directory of that name. */
static int add_entry(void *ctx, int at, const char *name)
{
	struct found *f = ctx;
	struct stat st;
	int rc;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if ((!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) || f->level == DEPTH_MAX ||
		(f->level > 0 && hides(f->w, name)))
		f->err = ERR_FOLDER_CLOSED;
	else if (++f->entries > ENTRIES_MAX)
		f->err = ERR_FOLDER_LARGE;
	if (f->err != NULL)
		return 1;
	f->cost += store_dir_cost(S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
	if (S_ISREG(st.st_mode))
		return 0;
	f->level++;
	f->depth = f->depth > f->level ? f->depth : f->level;
	rc = beneath_each(at, name, add_entry, f);
	f->level--;
	return rc;
}

/* Looks at all of the name in the directory at; it may be missing. */
static struct store_result look(
	const struct store_work *w, int at, const char *name, struct found *f)
{
	struct stat st;
	int rc;

	*f = (struct found){ .w = w };
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return store_errno(errno == ENOENT ? 0 : -errno);
	rc = spelling_check(at, name, 1, 0);
	if (rc < 0)
		return rc == -ENOENT ? store_refuse(ERR_FILE_THERE) : store_errno(rc);
	f->any = true;
	f->dir = S_ISDIR(st.st_mode);
	if (f->dir && w->tree.closed)
		return store_refuse(ERR_FOLDER_CLOSED);
	rc = add_entry(f, at, name);
	return f->err != NULL ? store_refuse(f->err) : store_errno(rc);
}

/* The source; the request's conditions are about it. */
static struct store_result look_at_source(const struct store_work *w, struct found *f)
{
	struct store_there there;
	struct store_result r = store_rules_look(w, w->name, ERR_FILE_NONE, &there);

	if (store_ok(r) && !there.any)
		r = store_refuse(ERR_FILE_NONE);
	return store_ok(r) ? look(w, w->at.to, w->name, f) : r;
}

/* --- removal ---------------------------------------------------------------------------------- */

/* Ends a change of names; one that failed halfway leaves the sum in doubt. */
static struct store_result end_change(struct store_work *w, int rc, bool placed, uint64_t gone)
{
	w->quota.doubted |= rc < 0;
	store_quota_end(&w->quota, &w->at, placed && rc == 0, rc == 0 ? gone : 0);
	return store_errno(rc);
}

/* Makes a change while the directory of uploads is locked. */
static struct store_result change(
	struct store_work *w, struct store_result (*make)(struct store_work *w))
{
	struct store_result r = store_errno(store_dir_lock(&w->at, w->job));

	if (!store_ok(r))
		return r;
	store_dir_enter(&w->at, w->folder);
	r = make(w);
	store_dir_unlock(&w->at);
	return store_ok(r) ? store_work_named(w) : r;
}

static struct store_result remove_locked(struct store_work *w)
{
	struct found f;
	struct store_result r = look_at_source(w, &f);

	if (store_ok(r))
		r = store_errno(store_quota_begin(&w->quota, &w->at));
	return store_ok(r) ? end_change(w, store_dir_unlink(w->at.to, w->name), false, f.cost) : r;
}

struct store_result store_tree_remove(struct store_work *w)
{
	return change(w, remove_locked);
}

/* --- a new directory -------------------------------------------------------------------------- */

static struct store_result make_locked(struct store_work *w)
{
	struct store_there there;
	struct store_result r = store_rules_look(w, w->name, ERR_FOLDER_THERE, &there);

	if (store_ok(r) && w->at.to < 0)
		r = store_refuse(ERR_FOLDER_NONE);
	if (store_ok(r) && there.any)
		r = store_refuse(ERR_FOLDER_THERE);
	if (store_ok(r))
		r = store_errno(store_quota_begin(&w->quota, &w->at));
	if (!store_ok(r))
		return r;
	return end_change(
		w, mkdirat(w->at.to, w->name, STORE_FOLDER_MODE) < 0 ? -errno : 0, true, 0);
}

struct store_result store_tree_make(struct store_work *w)
{
	struct store_result r =
		store_quota_ask(&w->quota, &w->at, STORE_QUOTA_HOLD, STORE_DIR_FILE, 0);

	w->tree.created = true;
	return store_ok(r) ? change(w, make_locked) : r;
}

/* --- the destination -------------------------------------------------------------------------- */

static void leave_destination(struct store_work *w)
{
	if (w->tree.into >= 0 && w->tree.into != w->at.fd)
		close(w->tree.into);
	w->tree.into = -1;
}

static unsigned segments(const char *folder)
{
	unsigned n = folder[0] != '\0';

	for (; *folder != '\0'; folder++)
		n += *folder == '/';
	return n;
}

/* Checks that f may take the destination's name; *old: what has it now. */
static struct store_result look_at_destination(
	struct store_work *w, const struct found *f, struct found *old)
{
	struct store_result r;
	int fd;

	leave_destination(w);
	fd = store_dir_find(&w->at, w->tree.to_folder);
	if (fd < 0)
		return fd == -ENOENT || fd == -EISDIR ? store_refuse(ERR_FOLDER_NONE)
						      : store_errno(fd);
	w->tree.into = fd;
	if (segments(w->tree.to_folder) + f->depth > w->tree.depth)
		return store_refuse(ERR_FILE_NAME_DEPTH);
	r = look(w, fd, w->tree.to_name, old);
	if (store_ok(r) && old->any && !(w->tree.how & H2D_COPY_REPLACE))
		return store_refuse(ERR_CONDITION);
	return store_ok(r) && old->any && !w->overwrite ? store_refuse(ERR_FILE_THERE) : r;
}

/* RFC 4918, 9.9.3: what has the name is removed before, unless a file replaces a file. */
static int rename_over(struct store_work *w, int at, const char *name, bool remove)
{
	int rc = remove ? store_dir_unlink(w->tree.into, w->tree.to_name) : 0;

	return rc == 0 && renameat(at, name, w->tree.into, w->tree.to_name) < 0 ? -errno : rc;
}

/* Gives f, with that name in the directory at, the destination's name. */
static struct store_result place(
	struct store_work *w, int at, const char *name, const struct found *f, bool copied)
{
	struct found old;
	struct store_result r = look_at_destination(w, f, &old);

	if (store_ok(r))
		r = store_errno(store_quota_begin(&w->quota, &w->at));
	if (!store_ok(r))
		return r;
	w->tree.created = !old.any;
	return end_change(
		w, rename_over(w, at, name, old.any && (old.dir || f->dir)), copied, old.cost);
}

static struct store_result move_locked(struct store_work *w)
{
	struct found f;
	struct store_result r = look_at_source(w, &f);

	return store_ok(r) ? place(w, w->at.to, w->name, &f, false) : r;
}

struct store_result store_tree_move(struct store_work *w)
{
	return change(w, move_locked);
}

/* --- a copy ----------------------------------------------------------------------------------- */

/* Counts a copied file or directory: the tree may have grown since the look. 0, or -errno. */
static int count_copy(struct store_work *w, uint64_t size)
{
	uint64_t cost = store_dir_cost(size);

	if (job_unwanted(w->job))
		return -ECANCELED;
	if (cost > w->tree.left)
		return -EAGAIN;
	w->tree.left -= cost;
	return 0;
}

/* Copies up to n bytes. 0, or -errno. */
static int copy_bytes(struct store_work *w, int from, int to, uint64_t n)
{
	ssize_t done = 1;
	int rc = count_copy(w, n);

	if (rc < 0)
		return rc;
	while (n > 0 && done > 0) {
		if (job_unwanted(w->job))
			return -ECANCELED;
		done = sendfile(to, from, NULL, n < SEND_AT_ONCE ? n : SEND_AT_ONCE);
		if (done < 0)
			return -errno;
		n -= (uint64_t)done;
	}
	return store_dir_sync(to);
}

static int copy_file(struct store_work *w, int at, const char *name, int into, const char *as)
{
	int from = beneath_open(at, name, OPEN), to = -1, rc;
	struct stat st;

	if (from < 0)
		return from;
	rc = fstat(from, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EAGAIN;
	if (rc == 0) {
		to = openat(into, as, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		rc = to >= 0 ? copy_bytes(w, from, to, (uint64_t)st.st_size) : -errno;
	}
	if (to >= 0)
		close(to);
	close(from);
	return rc;
}

struct copy {
	struct store_work *w;
	int into; /* a directory */
};

static int copy_entry(struct store_work *w, int at, const char *name, int into, const char *as);

static int copy_member(void *ctx, int at, const char *name)
{
	const struct copy *c = ctx;

	/* The walk has not seen this name: it is new. */
	if (hides(c->w, name))
		return -EAGAIN;
	return copy_entry(c->w, at, name, c->into, name);
}

static int copy_dir(struct store_work *w, int at, const char *name, int into, const char *as)
{
	struct copy c = { w, -1 };
	int rc = count_copy(w, 0);

	if (rc == 0)
		rc = mkdirat(into, as, STORE_FOLDER_MODE) < 0 ? -errno : 0;
	if (rc == 0)
		rc = c.into = beneath_open(into, as, BENEATH_DIR | OPEN);
	if (rc < 0)
		return rc;
	rc = w->tree.how & H2D_COPY_WHOLE ? beneath_each(at, name, copy_member, &c) : 0;
	if (rc == 0)
		rc = store_dir_sync(c.into);
	close(c.into);
	return rc;
}

static int copy_entry(struct store_work *w, int at, const char *name, int into, const char *as)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? copy_dir(w, at, name, into, as)
				   : copy_file(w, at, name, into, as);
}

/* Copies f into a hidden directory, and gives the complete copy its place. */
static struct store_result copy_and_place(struct store_work *w, const struct found *f)
{
	int hidden = store_dir_hide_folder(&w->at, w->tree.hidden);
	int rc = hidden >= 0 ? copy_entry(w, w->at.to, w->name, hidden, COPY) : hidden;
	struct store_result r;

	if (rc == 0)
		rc = store_dir_lock(&w->at, w->job);
	r = store_errno(rc);
	if (rc == 0) {
		r = place(w, hidden, COPY, f, true);
		store_dir_unlock(&w->at);
	}
	if (hidden >= 0)
		close(hidden);
	return r;
}

struct store_result store_tree_copy(struct store_work *w)
{
	struct found f, old;
	struct store_result r = look_at_source(w, &f);

	if (store_ok(r) && f.dir && !(w->tree.how & H2D_COPY_WHOLE))
		f = (struct found){ .any = true, .dir = true, .cost = STORE_DIR_FILE, .depth = 1 };
	if (store_ok(r))
		r = look_at_destination(w, &f, &old);
	if (store_ok(r))
		r = store_rules_measure(w, f.cost, f.cost);
	if (store_ok(r))
		r = store_quota_ask(&w->quota, &w->at, STORE_QUOTA_HOLD, f.cost, 0);
	w->tree.left = f.cost;
	if (store_ok(r))
		r = copy_and_place(w, &f);
	return store_ok(r) ? store_work_named(w) : r;
}

void store_tree_close(struct store_work *w)
{
	leave_destination(w);
	if (w->tree.hidden[0] != '\0')
		store_dir_unhide_folder(&w->at, w->tree.hidden);
}

/* --- a list ----------------------------------------------------------------------------------- */

static int list_entry(struct store_work *w, const char *name, const struct stat *st)
{
	struct store_tree *t = &w->tree;
	const struct h2d_entry e = {
		.size = (uint64_t)st->st_size,
		.modified = st->st_mtim.tv_sec,
		.directory = S_ISDIR(st->st_mode),
	};

	strbuf_add(&t->entries, slice_of(&e, sizeof(e)));
	strbuf_add(&t->names, slice_of(name, strlen(name) + 1));
	if (t->entries.failed || t->names.failed)
		return -ENOMEM;
	return t->entries.n + t->names.n > LIST_MAX ? -E2BIG : 0;
}

/* Links and other types are no part of a drive. */
static bool is_listed(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
}

/* True if the rules of both of its paths let the client see the member. */
static bool is_open(const struct store_work *w, const char *name)
{
	char path[PATH_MAX];

	for (unsigned i = 0; w->tree.site->guarded && i < 2; i++) {
		int n = snprintf(path, sizeof(path), "%.*s/%s", SLICE_ARG(w->tree.paths[i]), name);

		if (n >= PATH_MAX ||
			!demand_opens(w->tree.site, w->tree.open, slice_of(path, (size_t)n)))
			return false;
	}
	return true;
}

static int list_member(void *ctx, int at, const char *name)
{
	struct store_work *w = ctx;
	struct stat st;

	if (job_unwanted(w->job))
		return -ECANCELED;
	if (hides(w, name) || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_listed(&st) ||
		!is_open(w, name))
		return 0;
	return list_entry(w, name, &st);
}

/* The entry itself. 0, or -errno. */
static int list_first(struct store_work *w, const char *name, struct stat *st)
{
	struct store_there there = { 0 };
	int rc;

	if (w->at.to < 0)
		return -ENOENT;
	if (fstatat(w->at.to, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!is_listed(st))
		return -ENOENT;
	rc = w->name[0] != '\0' ? spelling_check(w->at.to, name, 1, 0) : 0;
	if (rc == 0 && S_ISREG(st->st_mode))
		rc = store_file_look(&w->at, name, w->max_file_size, &there);
	w->tree.etag = there.etag;
	return rc == 0 ? list_entry(w, "", st) : rc;
}

struct store_result store_tree_list(struct store_work *w)
{
	const char *name = w->name[0] != '\0' ? w->name : ".";
	struct stat st;
	int rc;

	store_dir_refresh(&w->at);
	rc = list_first(w, name, &st);
	if (rc == -ENOENT)
		return store_refuse(ERR_FILE_NONE);
	if (rc == 0 && (w->tree.how & H2D_COPY_WHOLE) && S_ISDIR(st.st_mode))
		rc = beneath_each(w->at.to, name, list_member, w);
	if (rc == 0 && w->quota.max > 0)
		rc = store_quota_used(&w->quota, &w->at, &w->tree.used_bytes);
	return rc == -E2BIG ? store_refuse(ERR_FOLDER_LARGE) : store_errno(rc);
}
