/* files: see files.h. Takes images in and out of use; answer.c and disk.c do the serving. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cache/files_private.h"

struct files *files_new(struct loop *l, struct offload *o, const struct files_conf *conf)
{
	struct files *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->loop = l;
	f->offload = o;
	f->roots = conf->roots;
	f->nroots = conf->nroots;
	f->codings = conf->codings;
	list_init(&f->mapping);
	f->disk = disk_new(o, conf);
	if (f->disk == NULL) {
		int saved = errno;

		files_free(&f);
		errno = saved;
	}
	return f;
}

static void show(const struct files *f)
{
	if (f->shown != NULL)
		__atomic_store_n(f->shown, files_image_number(f), __ATOMIC_RELAXED);
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
	show(f);
	/* Where its maker saw another directory, the disk behind it is opened anew before it is used. */
	for (unsigned i = 0; i < f->nroots && i < v->head->nroots; i++)
		disk_doubt(f->disk, i, image_roots(v->head)[i].dev, image_roots(v->head)[i].ino);
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
	show(f);
}

uint64_t files_image_number(const struct files *f)
{
	return f->view != NULL ? f->view->number : 0;
}

void files_show_image(struct files *f, uint64_t *where)
{
	f->shown = where;
	show(f);
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
	free(f);
}
