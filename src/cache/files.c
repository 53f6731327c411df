/* files: see files.h. Takes images in and out of use; answer.c and disk.c do the serving. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cache/files_private.h"

/* "files/", "/files" and "files" are all "/files". */
static int set_upload(struct slice *upload, const char *dir)
{
	size_t n = strlen(dir);
	char *p;

	while (*dir == '/') {
		dir++;
		n--;
	}
	while (n > 0 && dir[n - 1] == '/')
		n--;
	if (n == 0)
		return 0;
	p = malloc(n + 1);
	if (p == NULL)
		return -ENOMEM;
	p[0] = '/';
	memcpy(p + 1, dir, n);
	*upload = slice_of(p, n + 1);
	return 0;
}

struct files *files_new(struct loop *l, struct offload *o, const struct files_conf *conf)
{
	struct files *f = calloc(1, sizeof(*f));
	int rc = -ENOMEM;

	if (f == NULL)
		return NULL;
	f->loop = l;
	f->offload = o;
	f->roots = conf->roots;
	f->nroots = conf->nroots;
	list_init(&f->mapping);
	f->uploads = calloc(conf->nroots + 1, sizeof(*f->uploads));
	if (f->uploads != NULL)
		rc = 0;
	for (unsigned i = 0; i < conf->nroots && rc == 0; i++)
		rc = set_upload(&f->uploads[i], conf->roots[i].upload_dir);
	if (rc == 0) {
		f->disk = disk_new(o, conf);
		rc = f->disk == NULL ? -errno : 0;
	}
	if (rc < 0) {
		files_free(&f);
		errno = -rc;
	}
	return f;
}

static void image_mapped(struct view *v)
{
	struct files *f = v->owner;

	list_remove(&v->node);
	if (v->fault != NULL)
		log_error("cache: image %llu refused: %s", (unsigned long long)v->number, v->fault);
	/* A later one may have been the faster. */
	if (f == NULL || v->fault != NULL || f->no_image ||
		(f->view != NULL && f->view->number > v->number)) {
		view_retire(&v);
		return;
	}
	view_retire(&f->view);
	f->view = v;
	log_debug("cache: image %llu in use", (unsigned long long)v->number);
}

void files_take_image(struct files *f, uint64_t number, const int *fds, int nfds)
{
	struct view *v = view_open(f->offload, number, fds, nfds, image_mapped, f);

	if (v == NULL) {
		log_error("cache: image %llu: %s", (unsigned long long)number, strerror(errno));
		return;
	}
	list_append(&f->mapping, &v->node);
}

void files_no_image(struct files *f)
{
	f->no_image = true;
	view_retire(&f->view);
}

uint64_t files_image_number(const struct files *f)
{
	return f->view != NULL ? f->view->number : 0;
}

void files_free(struct files **fp)
{
	struct files *f = *fp;

	if (f == NULL)
		return;
	*fp = NULL;
	/* Those that a thread still maps come back to nobody. */
	LIST_FOREACH(node, &f->mapping) {
		LIST_ENTRY(node, struct view, node)->owner = NULL;
		list_remove(node);
	}
	view_close(&f->view);
	disk_free(&f->disk);
	for (unsigned i = 0; f->uploads != NULL && i < f->nroots; i++)
		free((void *)(uintptr_t)f->uploads[i].p);
	free(f->uploads);
	free(f);
}
