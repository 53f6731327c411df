/*
 * tree_map: two hash tables with chains, doubled when they are full: watches by number and by
 * inode, names by root and path. Called by tree_watch.c; it never makes a system call.
 */
#include "keeper/tree_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "image/image.h"

enum { MAP_BITS = 6 };

static size_t mark_slot(unsigned bits, int wd)
{
	return (size_t)((uint64_t)(unsigned)wd * 0x9e3779b97f4a7c15u >> (64 - bits));
}

static size_t dir_slot(unsigned bits, const struct tree_dir *parent, const char *name, size_t n)
{
	uint64_t hash = image_hash((uint64_t)(uintptr_t)parent, 0, slice_of(name, n));

	return (size_t)(hash >> (64 - bits));
}

int tree_map_init(struct tree_map *m)
{
	*m = (struct tree_map){ .marks_bits = MAP_BITS, .dirs_bits = MAP_BITS };
	list_init(&m->idle);
	m->marks = calloc(1 << MAP_BITS, sizeof(struct tree_mark *));
	m->dirs = calloc(1 << MAP_BITS, sizeof(struct tree_dir *));
	if (m->marks != NULL && m->dirs != NULL)
		return 0;
	tree_map_fini(m);
	return -ENOMEM;
}

void tree_map_fini(struct tree_map *m)
{
	for (size_t i = 0; m->nmarks > 0; i++) {
		while (m->marks[i] != NULL)
			tree_map_remove_mark(m, m->marks[i]);
	}
	H2D_ASSERT(m->ndirs == 0);
	free(m->marks);
	free(m->dirs);
	m->marks = NULL;
	m->dirs = NULL;
}

/* Tables that cannot grow go on as they are. */
static void grow_marks(struct tree_map *m)
{
	unsigned bits = m->marks_bits + 1;
	struct tree_mark **to = calloc((size_t)1 << bits, sizeof(struct tree_mark *));

	if (to == NULL)
		return;
	for (size_t i = 0; i < (size_t)1 << m->marks_bits; i++) {
		for (struct tree_mark *mark = m->marks[i], *next; mark != NULL; mark = next) {
			struct tree_mark **slot = &to[mark_slot(bits, mark->wd)];

			next = mark->next;
			mark->next = *slot;
			*slot = mark;
		}
	}
	free(m->marks);
	m->marks = to;
	m->marks_bits = bits;
}

static void grow_dirs(struct tree_map *m)
{
	unsigned bits = m->dirs_bits + 1;
	struct tree_dir **to = calloc((size_t)1 << bits, sizeof(struct tree_dir *));

	if (to == NULL)
		return;
	for (size_t i = 0; i < (size_t)1 << m->dirs_bits; i++) {
		for (struct tree_dir *dir = m->dirs[i], *next; dir != NULL; dir = next) {
			struct tree_dir **slot =
				&to[dir_slot(bits, dir->parent, dir->name, dir->n)];

			next = dir->next;
			dir->next = *slot;
			*slot = dir;
		}
	}
	free(m->dirs);
	m->dirs = to;
	m->dirs_bits = bits;
}

struct tree_mark *tree_map_mark(const struct tree_map *m, int wd)
{
	struct tree_mark *mark = m->marks[mark_slot(m->marks_bits, wd)];

	while (mark != NULL && mark->wd != wd)
		mark = mark->next;
	return mark;
}

struct tree_mark *tree_map_add_mark(struct tree_map *m, int wd)
{
	struct tree_mark *mark = tree_map_mark(m, wd), **slot;

	if (mark != NULL)
		return mark;
	mark = malloc(sizeof(*mark));
	if (mark == NULL)
		return NULL;
	if (m->nmarks >> m->marks_bits != 0)
		grow_marks(m);
	slot = &m->marks[mark_slot(m->marks_bits, wd)];
	*mark = (struct tree_mark){ .wd = wd, .next = *slot };
	list_init(&mark->dirs);
	list_init(&mark->steps);
	list_init(&mark->idle);
	list_append(&m->idle, &mark->idle);
	*slot = mark;
	m->nmarks++;
	return mark;
}

void tree_map_remove_mark(struct tree_map *m, struct tree_mark *mark)
{
	struct tree_mark **at = &m->marks[mark_slot(m->marks_bits, mark->wd)];

	H2D_ASSERT(list_empty(&mark->dirs) && list_empty(&mark->steps));
	while (*at != mark)
		at = &(*at)->next;
	*at = mark->next;
	list_remove(&mark->idle);
	m->nmarks--;
	free(mark);
}

static void mark_changed(struct tree_map *m, struct tree_mark *mark)
{
	bool idle = list_empty(&mark->dirs) && list_empty(&mark->steps);

	if (idle == list_linked(&mark->idle))
		return;
	if (idle)
		list_append(&m->idle, &mark->idle);
	else
		list_remove(&mark->idle);
}

static struct tree_dir *dir_new(struct tree_dir *parent, unsigned root, const char *name, size_t n)
{
	struct tree_dir *dir = malloc(sizeof(*dir) + n);

	if (dir == NULL)
		return NULL;
	*dir = (struct tree_dir){ .parent = parent, .root = root, .n = n };
	memcpy(dir->name, name, n);
	list_init(&dir->children);
	list_init(&dir->sibling);
	list_init(&dir->of_mark);
	return dir;
}

struct tree_dir *tree_dir_top(unsigned root)
{
	return dir_new(NULL, root, "", 0);
}

void tree_map_free_top(struct tree_map *m, struct tree_dir **top)
{
	if (*top == NULL)
		return;
	tree_map_drop(m, *top);
	free(*top);
	*top = NULL;
}

struct tree_dir *tree_map_child(
	const struct tree_map *m, const struct tree_dir *parent, const char *name, size_t n)
{
	struct tree_dir *dir = m->dirs[dir_slot(m->dirs_bits, parent, name, n)];

	while (dir != NULL &&
		(dir->parent != parent || dir->n != n || memcmp(dir->name, name, n) != 0))
		dir = dir->next;
	return dir;
}

static struct tree_dir *add_child(
	struct tree_map *m, struct tree_dir *parent, const char *name, size_t n)
{
	struct tree_dir *dir = dir_new(parent, parent->root, name, n), **slot;

	if (dir == NULL)
		return NULL;
	if (m->ndirs >> m->dirs_bits != 0)
		grow_dirs(m);
	slot = &m->dirs[dir_slot(m->dirs_bits, parent, name, n)];
	dir->next = *slot;
	*slot = dir;
	list_append(&parent->children, &dir->sibling);
	m->ndirs++;
	return dir;
}

static void untie(struct tree_map *m, struct tree_dir *dir)
{
	if (dir->mark == NULL)
		return;
	list_remove(&dir->of_mark);
	mark_changed(m, dir->mark);
	dir->mark = NULL;
	m->watched--;
}

/* Without children. A top stays. */
static void remove_dir(struct tree_map *m, struct tree_dir *dir)
{
	struct tree_dir **at;

	untie(m, dir);
	if (dir->parent == NULL)
		return;
	at = &m->dirs[dir_slot(m->dirs_bits, dir->parent, dir->name, dir->n)];
	while (*at != dir)
		at = &(*at)->next;
	*at = dir->next;
	list_remove(&dir->sibling);
	m->ndirs--;
	free(dir);
}

/* Removes directories that are not watched and lead nowhere. */
static void prune(struct tree_map *m, struct tree_dir *dir)
{
	while (dir->parent != NULL && dir->mark == NULL && list_empty(&dir->children)) {
		struct tree_dir *parent = dir->parent;

		remove_dir(m, dir);
		dir = parent;
	}
}

static void drop_children(struct tree_map *m, struct tree_dir *dir)
{
	struct tree_dir *at = dir;

	for (;;) {
		struct tree_dir *leaf;

		while (!list_empty(&at->children))
			at = LIST_ENTRY(at->children.next, struct tree_dir, sibling);
		if (at == dir)
			return;
		leaf = at;
		at = at->parent;
		remove_dir(m, leaf);
	}
}

void tree_map_drop(struct tree_map *m, struct tree_dir *dir)
{
	drop_children(m, dir);
	untie(m, dir);
	prune(m, dir);
}

static struct tree_dir *lookup(
	struct tree_map *m, struct tree_dir *dir, const char *path, bool make)
{
	struct tree_dir *child;

	H2D_ASSERT(path[0] == '/' && path[strlen(path) - 1] == '/');
	for (path++; *path != '\0'; path++) {
		const char *end = strchrnul(path, '/');
		size_t n = (size_t)(end - path);

		child = tree_map_child(m, dir, path, n);
		if (child == NULL && make) {
			child = add_child(m, dir, path, n);
			if (child == NULL)
				prune(m, dir);
		}
		if (child == NULL)
			return NULL;
		dir = child;
		path = end;
	}
	return dir;
}

struct tree_dir *tree_map_find(struct tree_map *m, struct tree_dir *top, const char *path)
{
	return lookup(m, top, path, false);
}

struct tree_dir *tree_map_make(struct tree_map *m, struct tree_dir *top, const char *path)
{
	return lookup(m, top, path, true);
}

static bool leads_to(const struct tree_dir *dir, const struct tree_dir *below)
{
	while (below != NULL && below != dir)
		below = below->parent;
	return below != NULL;
}

void tree_map_tie(struct tree_map *m, struct tree_dir *dir, struct tree_mark *mark)
{
	if (dir->mark == mark)
		return;
	if (dir->mark != NULL)
		drop_children(m, dir);
	untie(m, dir);
	LIST_FOREACH(node, &mark->dirs) {
		struct tree_dir *other = LIST_ENTRY(node, struct tree_dir, of_mark);

		if (other->root != dir->root)
			continue;
		if (!leads_to(other, dir))
			drop_children(m, other);
		untie(m, other);
		if (!leads_to(dir, other))
			prune(m, other);
		break;
	}
	dir->mark = mark;
	m->watched++;
	list_append(&mark->dirs, &dir->of_mark);
	mark_changed(m, mark);
}

int tree_map_add_step(struct tree_map *m, struct tree_mark *mark, const char *name, unsigned root,
	struct list *steps)
{
	size_t n = name != NULL ? strlen(name) : 0;
	struct tree_step *step = malloc(sizeof(*step) + n + 1);

	if (step == NULL)
		return -ENOMEM;
	*step = (struct tree_step){ .mark = mark, .root = root };
	memcpy(step->name, n > 0 ? name : "", n + 1);
	list_append(&mark->steps, &step->of_mark);
	list_append(steps, &step->of_root);
	mark_changed(m, mark);
	return 0;
}

void tree_map_remove_step(struct tree_map *m, struct tree_step *step)
{
	list_remove(&step->of_mark);
	list_remove(&step->of_root);
	mark_changed(m, step->mark);
	free(step);
}

char *tree_dir_path(const struct tree_dir *dir, const char *name, char *buf)
{
	char *p = buf + TREE_PATH_MAX - 1;
	size_t n = name != NULL ? strlen(name) : 0;

	*p = '\0';
	p -= n;
	memcpy(p, name != NULL ? name : "", n);
	for (; dir->parent != NULL; dir = dir->parent) {
		H2D_ASSERT(p - buf > (ptrdiff_t)dir->n + 1);
		*--p = '/';
		p -= dir->n;
		memcpy(p, dir->name, dir->n);
	}
	*--p = '/';
	return p;
}
