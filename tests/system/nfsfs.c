/*
 * nfsfs: a FUSE file system that is to several mounts what an NFS server is to several clients, as
 * far as what one of them sees goes. Each mount is a machine, with caches of its own of names and
 * attributes, which nothing but their age, an open() or an own change makes it doubt. Built and
 * started by nfs.py.
 *
 * Usage: nfsfs FOLDER MOUNTPOINT...  Says "ready"; then answers each line of standard input with
 * "ok": age              all caches of all machines are too old lose             all locks are
 * lost, as when a lease has run out NAME on|off      a switch of nfsfs.def
 *
 * The kernel caches nothing of it (timeouts of 0, direct_io), so that all of this is this
 * program's. As with Linux's client of NFSv4.1: a file is opened by its handle and its attributes
 * are read then; a directory's are read when it is opened by its name; a name is believed as long
 * as the directory's attributes are; data that is written goes to the server by close, fsync or the
 * release of a lock; flock(2) is a lock of all bytes, needs a descriptor for writing, and of a
 * directory never leaves the machine.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "nfsfs.h"

enum { MACHINES = 4, TIDS = 64 };

struct machine {
	struct node *nodes;
	struct fuse_session *session;
	pthread_t thread;
	struct {
		pid_t tid;
		struct node *node;
	} looked[TIDS]; /* what each thread looked up last */
};

static struct machine machines[MACHINES];
static unsigned long sillies;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct machine *machine_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct node *node(fuse_req_t req, fuse_ino_t ino)
{
	struct machine *m = machine_of(req);

	/* The root is the first that there was. */
	if (ino != FUSE_ROOT_ID)
		return (struct node *)ino;
	for (struct node *n = m->nodes;; n = n->next)
		if (n->next == NULL)
			return n;
}

/* --- looking ---------------------------------------------------------------------------------- */

static void entry_of(struct node *n, struct fuse_entry_param *e)
{
	*e = (struct fuse_entry_param){ .ino = (fuse_ino_t)n, .generation = 1 };
	e->attr = *known(n);
	e->attr_timeout = e->entry_timeout = sw.second;
}

static void reply_entry(fuse_req_t req, struct node *n)
{
	struct fuse_entry_param e;

	entry_of(n, &e);
	fuse_reply_entry(req, &e);
}

static void saw(fuse_req_t req, struct node *n)
{
	struct machine *m = machine_of(req);
	pid_t tid = fuse_req_ctx(req)->pid;

	m->looked[tid % TIDS].tid = tid;
	m->looked[tid % TIDS].node = n;
}

static void lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node(req, parent);
	struct dentry *d = dentry_of(dir, name);

	known(dir);
	if (d->change != dir->change || (d->node != NULL && d->node->st.st_nlink == 0)) {
		struct node *n = find(&machine_of(req)->nodes, dir, name);

		if (n != NULL && n != d->node)
			ask(n);
		learn(dir, name, n);
	}
	saw(req, d->node);
	if (d->node == NULL)
		fuse_reply_err(req, ENOENT);
	else
		reply_entry(req, d->node);
}

static void getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	fuse_reply_attr(req, known(node(req, ino)), sw.second);
}

static void setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *st, int set, struct fuse_file_info *fi)
{
	struct node *n = node(req, ino);
	int fd;

	(void)fi;
	flush(n);
	fd = reopen(n->file, set & FUSE_SET_ATTR_SIZE ? O_WRONLY : O_RDONLY);
	if (fd >= 0 && set & FUSE_SET_ATTR_MODE)
		fchmod(fd, st->st_mode);
	if (fd >= 0 && set & FUSE_SET_ATTR_SIZE && ftruncate(fd, st->st_size) < 0)
		perror("nfsfs: truncate");
	if (fd >= 0)
		close(fd);
	ask(n);
	fuse_reply_attr(req, known(n), sw.second);
}

/* --- files ------------------------------------------------------------------------------------ */

static void begin(fuse_req_t req, struct node *n, int fd, struct fuse_file_info *fi, bool created)
{
	struct handle *h = malloc(sizeof(*h));
	struct fuse_entry_param e;

	*h = (struct handle){ .fd = fd, .flags = fi->flags };
	fi->fh = (uint64_t)h;
	fi->direct_io = 1;
	n->opens++;
	n->file->opens++;
	ask(n);
	if (created) {
		entry_of(n, &e);
		fuse_reply_create(req, &e, fi);
	} else {
		fuse_reply_open(req, fi);
	}
}

/* By the handle of the file: one that has lost its name is there while anybody has it open. */
static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node(req, ino);
	struct stat st;
	int fd;

	if (fstat(n->file->fd, &st) == 0 && st.st_nlink == 0 &&
		(n->file->opens == 0 || sw.stateless || sw.second)) {
		if (n->parent != NULL)
			dentry_of(n->parent, n->name)->change = 0;
		fuse_reply_err(req, ESTALE);
		return;
	}
	fd = reopen(n->file, (fi->flags & ~O_ACCMODE) |
				     ((fi->flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_RDWR));
	if (fd < 0)
		fuse_reply_err(req, errno);
	else
		begin(req, n, fd, fi, false);
}

static void create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct node *dir = node(req, parent), *n;
	int fd = openat(dir->file->fd, name,
		O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (fi->flags & (O_EXCL | O_TRUNC)), mode);

	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	if (fchown(fd, ctx->uid, ctx->gid) < 0)
		perror("nfsfs: chown");
	n = find(&machine_of(req)->nodes, dir, name);
	changed(dir);
	learn(dir, name, n);
	begin(req, n, fd, fi, true);
}

static void read_file(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
	const struct handle *h = (const struct handle *)fi->fh;
	struct node *n = node(req, ino);
	char *buf = calloc(1, size);
	ssize_t got = pread(h->fd, buf, size, at);
	struct stat st;

	if (sw.stateless && fstat(h->fd, &st) == 0 && st.st_nlink == 0 && n->silly[0] == '\0') {
		fuse_reply_err(req, ESTALE);
		free(buf);
		return;
	}
	for (const struct extent *e = n->dirty; e != NULL; e = e->next)
		for (size_t i = 0; i < e->n; i++)
			if (e->at + (off_t)i >= at && e->at + (off_t)i < at + (off_t)size) {
				ssize_t end = e->at + (off_t)i - at + 1;

				buf[end - 1] = e->bytes[i];
				got = end > got ? end : got;
			}
	fuse_reply_buf(req, buf, got > 0 ? (size_t)got : 0);
	free(buf);
}

static void write_file(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t at,
	struct fuse_file_info *fi)
{
	struct node *n = node(req, ino);
	struct extent *e = malloc(sizeof(*e) + size), **last = &n->dirty;

	(void)fi;
	*e = (struct extent){ .at = at, .n = size };
	memcpy(e->bytes, buf, size);
	while (*last != NULL)
		last = &(*last)->next;
	*last = e;
	if (!sw.lazy)
		flush(n);
	fuse_reply_write(req, size);
}

static void flush_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	flush(node(req, ino));
	fuse_reply_err(req, 0);
}

static void fsync_file(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync;
	flush_file(req, ino, fi);
}

static void release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)fi->fh;
	struct node *n = node(req, ino);

	flush(n);
	drop_locks(h, n->file, 0, INT64_MAX);
	close(h->fd);
	free(h);
	n->file->opens--;
	if (--n->opens == 0 && n->silly[0] != '\0') {
		unlinkat(n->silly_dir->file->fd, n->silly, 0);
		n->silly[0] = '\0';
		changed(n->silly_dir);
	}
	fuse_reply_err(req, 0);
}

/* --- locks ------------------------------------------------------------------------------------ */

static void setlk(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *l, int sleep)
{
	const struct handle *h = (const struct handle *)fi->fh;
	struct node *n = node(req, ino);
	off_t to = l->l_len == 0 ? INT64_MAX : l->l_start + l->l_len - 1;
	int rc = 0;

	(void)sleep;
	if (sw.no_locks) {
		rc = ENOLCK;
	} else if (l->l_type == F_UNLCK) {
		flush(n);
		drop_locks(h, n->file, l->l_start, to);
	} else {
		rc = take_lock(h, n->file, l->l_type, l->l_start, to);
		if (rc == 0)
			ask(n);
	}
	fuse_reply_err(req, rc);
}

static void getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *l)
{
	(void)ino;
	(void)fi;
	l->l_type = F_UNLCK;
	fuse_reply_lock(req, l);
}

static void flock_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
	struct flock l = { .l_type = op & LOCK_UN ? F_UNLCK : op & LOCK_EX ? F_WRLCK : F_RDLCK };

	setlk(req, ino, fi, &l, 0);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Takes the name from a file: one that is open here gets another, until it is closed. */
static int take_name(struct node **nodes, struct node *dir, const char *name)
{
	struct node *n = find(nodes, dir, name);

	if (sw.second || n == NULL || n->opens == 0 || S_ISDIR(known(n)->st_mode))
		return 0;
	snprintf(n->silly, sizeof(n->silly), ".nfs%024lx", ++sillies);
	n->silly_dir = dir;
	return renameat(dir->file->fd, name, dir->file->fd, n->silly) < 0 ? -1 : 1;
}

static void unlink_name(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node(req, parent);
	int rc = take_name(&machine_of(req)->nodes, dir, name);

	if (rc == 0)
		rc = unlinkat(dir->file->fd, name, 0);
	rc = rc < 0 ? errno : 0;
	changed(dir);
	learn(dir, name, NULL);
	fuse_reply_err(req, rc);
}

static void rename_name(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
	const char *new_name, unsigned flags)
{
	struct node *dir = node(req, parent), *target = node(req, to);
	int rc = 0;

	if (flags != 0) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (take_name(&machine_of(req)->nodes, target, new_name) < 0 ||
		renameat(dir->file->fd, name, target->file->fd, new_name) < 0)
		rc = errno;
	changed(dir);
	learn(dir, name, rc == 0 ? NULL : find(&machine_of(req)->nodes, dir, name));
	if (target != dir)
		changed(target);
	learn(target, new_name, find(&machine_of(req)->nodes, target, new_name));
	if (rc == 0)
		ask(dentry_of(target, new_name)->node);
	fuse_reply_err(req, rc);
}

static void link_name(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct node *n = node(req, ino), *dir = node(req, parent);
	int rc = linkat(n->file->fd, "", dir->file->fd, name, AT_EMPTY_PATH) < 0 ? errno : 0;

	changed(dir);
	learn(dir, name, find(&machine_of(req)->nodes, dir, name));
	ask(n);
	/* The answer was lost, and the client asked again. */
	if (rc == 0 && sw.repeated)
		rc = EEXIST;
	if (rc == 0)
		reply_entry(req, n);
	else
		fuse_reply_err(req, rc);
}

static void mkdir_name(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct node *dir = node(req, parent), *n;
	int rc = mkdirat(dir->file->fd, name, mode) < 0 ? errno : 0;

	if (rc == 0 && fchownat(dir->file->fd, name, ctx->uid, ctx->gid, 0) < 0)
		perror("nfsfs: chown");
	changed(dir);
	n = find(&machine_of(req)->nodes, dir, name);
	learn(dir, name, n);
	if (rc != 0) {
		fuse_reply_err(req, rc);
		return;
	}
	ask(n);
	reply_entry(req, n);
}

static void rmdir_name(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node(req, parent);
	int rc = unlinkat(dir->file->fd, name, AT_REMOVEDIR) < 0 ? errno : 0;

	changed(dir);
	learn(dir, name, find(&machine_of(req)->nodes, dir, name));
	fuse_reply_err(req, rc);
}

/* --- directories ------------------------------------------------------------------------------ */

/* By its name it is looked at anew; "." has nobody look. */
static void open_dir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct machine *m = machine_of(req);
	struct node *n = node(req, ino);
	pid_t tid = fuse_req_ctx(req)->pid;

	if (ino == FUSE_ROOT_ID ||
		(m->looked[tid % TIDS].tid == tid && m->looked[tid % TIDS].node == n))
		ask(n);
	saw(req, NULL);
	fuse_reply_open(req, fi);
}

static void list(struct node *n)
{
	DIR *dir = fdopendir(reopen(n->file, O_RDONLY | O_DIRECTORY));
	const struct dirent *e;
	size_t count = 0;

	for (char **p = n->listing; p != NULL && *p != NULL; p++)
		free(*p);
	n->listing = realloc(n->listing, sizeof(char *));
	while ((e = readdir(dir)) != NULL) {
		n->listing = realloc(n->listing, (count + 2) * sizeof(char *));
		n->listing[count++] = strdup(e->d_name);
	}
	n->listing[count] = NULL;
	closedir(dir);
	n->listing_change = n->change;
}

static void read_dir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
	struct node *n = node(req, ino);
	char *buf = malloc(size);
	size_t used = 0;

	(void)fi;
	known(n);
	if (at == 0 && (n->listing == NULL || n->listing_change != n->change)) {
		ask(n);
		list(n);
	}
	for (off_t i = 0; n->listing[i] != NULL; i++) {
		struct stat st = { .st_ino = 1 };
		size_t more = fuse_add_direntry(req, NULL, 0, n->listing[i], &st, 0);

		if (i < at)
			continue;
		if (used + more > size)
			break;
		used += fuse_add_direntry(req, buf + used, size - used, n->listing[i], &st, i + 1);
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void release_dir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void sync_dir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync;
	release_dir(req, ino, fi);
}

static void stat_fs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs fs;

	fstatvfs(node(req, ino)->file->fd, &fs);
	fuse_reply_statfs(req, &fs);
}

/* --- all of it -------------------------------------------------------------------------------- */

static const struct fuse_lowlevel_ops ops = {
	.lookup = lookup,
	.getattr = getattr,
	.setattr = setattr,
	.open = open_file,
	.create = create,
	.read = read_file,
	.write = write_file,
	.flush = flush_file,
	.fsync = fsync_file,
	.release = release,
	.setlk = setlk,
	.getlk = getlk,
	.flock = flock_file,
	.unlink = unlink_name,
	.rename = rename_name,
	.link = link_name,
	.mkdir = mkdir_name,
	.rmdir = rmdir_name,
	.opendir = open_dir,
	.readdir = read_dir,
	.releasedir = release_dir,
	.fsyncdir = sync_dir,
	.statfs = stat_fs,
};

/* Each call has the server to itself. */
static void *serve(void *arg)
{
	struct fuse_session *session = ((struct machine *)arg)->session;
	struct fuse_buf buf = { 0 };
	int n = 1;

	while (!fuse_session_exited(session) && n > 0) {
		do {
			n = fuse_session_receive_buf(session, &buf);
		} while (n == -EINTR);
		pthread_mutex_lock(&mutex);
		if (n > 0)
			fuse_session_process_buf(session, &buf);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void start(struct machine *m, const char *folder, const char *mountpoint)
{
	char options[] = "fsname=server:/export,subtype=nfs4,allow_other,default_permissions";
	char *argv[] = { "nfsfs", "-o", options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	if (geteuid() != 0)
		strcpy(options, "fsname=server:/export,subtype=nfs4");
	node_of(&m->nodes, file_of(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)));
	m->session = fuse_session_new(&args, &ops, sizeof(ops), m);
	if (m->session == NULL || fuse_session_mount(m->session, mountpoint) != 0)
		exit(1);
	pthread_create(&m->thread, NULL, serve, m);
}

static void obey(char *line)
{
	bool on = strstr(line, " on") != NULL;

	line[strcspn(line, " \n")] = '\0';
	pthread_mutex_lock(&mutex);
	if (strcmp(line, "age") == 0)
		age++;
	else if (strcmp(line, "lose") == 0)
		drop_locks(NULL, NULL, 0, 0);
#define SWITCH(name, help) else if (strcmp(line, #name) == 0) sw.name = on;
#include "nfsfs.def"
#undef SWITCH
	else
		fprintf(stderr, "nfsfs: %s is no order\n", line);
	pthread_mutex_unlock(&mutex);
	puts("ok");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[64];
	int n = argc - 2;

	if (n < 1 || n > MACHINES)
		return 2;
	umask(0);
	for (int i = 0; i < n; i++)
		start(&machines[i], argv[1], argv[2 + i]);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL)
		obey(line);
	for (int i = 0; i < n; i++)
		fuse_session_unmount(machines[i].session);
	/* What a process has open holds a session up: it ends with this one. */
	return 0;
}
