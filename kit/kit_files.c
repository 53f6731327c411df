/*
 * kit_files: kit.c's files: a directory below /tmp in which handlers store files, and from which
 * they send them. Every client may write there. Removed with the server.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "files/files.h"
#include "kit/kit.h"

enum { THREADS = 2, DEPTH = 16, FILE_MAX = 1 << 20, OPEN_MAX = 16 };

static const struct slice uploads = SLICE_LIT("/uploads");
static const struct site_upload upload = {
	.url = SLICE_LIT(SITE_UPLOADS_AT),
	.form = SLICE_LIT(SITE_UPLOADS_AT),
	.dir = SLICE_LIT("/uploads"),
};

void kit_files_open(struct h2d_test *t)
{
	struct kit_files *f = &t->files;
	char path[64];
	int rc;

	snprintf(f->root, sizeof(f->root), "/tmp/h2d-test-XXXXXX");
	H2D_ASSERT(mkdtemp(f->root) != NULL);
	snprintf(path, sizeof(path), "%s%s", f->root, uploads.p);
	rc = mkdir(path, 0700);
	H2D_ASSERT(rc == 0);
	f->tree = (struct doc_root){
		.root = f->root, .charset = "utf-8", .uploads = &uploads, .nuploads = 1
	};
	f->trees = (struct doc_roots){ .roots = &f->tree, .nroots = 1, .max_file_size = FILE_MAX };
	f->site = (struct site){ .name = SLICE("_"),
		.is_default = true,
		.has_root = true,
		.all = { .prefix = SLICE("/"),
			.charset = SLICE("utf-8"),
			.writers = true,
			.upload = &upload,
			.precompressed = true },
		.uploads = &upload,
		.nuploads = 1,
		.upload_depth = DEPTH,
		.uploads_depth = DEPTH,
		.upload_overwrite = true };
	f->sites = (struct sites){ .v = &f->site, .n = 1 };
	f->offload = offload_new(&t->loop, THREADS);
	H2D_ASSERT(f->offload != NULL);
	t->env.files = files_new(&t->loop, f->offload, &f->trees);
	H2D_ASSERT(t->env.files != NULL);
	t->env.sites = &f->sites;
	t->env.date_s = clock_wall().tv_sec;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

void kit_files_close(struct h2d_test *t)
{
	files_free(&t->env.files);
	offload_free(&t->files.offload);
	nftw(t->files.root, drop, OPEN_MAX, FTW_DEPTH | FTW_PHYS);
	strbuf_fini(&t->files.text);
}

const char *h2d_test_file(struct h2d_test *t, const char *name, size_t *len)
{
	struct strbuf *text = &t->files.text;
	char path[4096], piece[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s%s/%s", t->files.root, uploads.p, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text->n = 0;
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		strbuf_add(text, slice_of(piece, (size_t)n));
	close(fd);
	if (len != NULL)
		*len = text->n;
	strbuf_add(text, SLICE("\0"));
	H2D_ASSERT(n == 0 && !text->failed);
	return text->p;
}
