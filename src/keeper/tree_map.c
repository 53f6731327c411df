/*
 * tree_map: two hash tables: watches by number, and directories by their parent and name. Called by
 * tree_watch.c; it never makes a system call.
 */
#include "keeper/tree_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "image/image.h"

static uint64_t mark_hash(const struct tree_map *m, int wd)
{
	return image_mix(m->marks.seed ^ (unsigned)wd, 0x9e3779b97f4a7c15u);
}

static uint64_t dir_hash(
	const struct tree_map *m, const struct tree_dir *parent, const char *name, size_t n)
{
	return image_hash(m->dirs.seed ^ (uintptr_t)parent, 0, slice_of(name, n));
}

int tree_map_init(struct tree_map *m)
{
	*m = (struct tree_map){ 0 };
	list_init(&m->idle);
	if (chains_init(&m->marks) == 0 && chains_init(&m->dirs) == 0)
		return 0;
	tree_map_fini(m);
	return -ENOMEM;
}

void tree_map_fini(struct tree_map *m)
{
	for (struct chain **head = m->marks.heads; m->marks.n > 0; head++)
		while (*head != NULL)
			tree_map_remove_mark(m, LIST_ENTRY(*head, struct tree_mark, chain));
	H2D_ASSERT(m->dirs.n == 0);
	chains_fini(&m->marks);
	chains_fini(&m->dirs);
}

struct tree_mark *tree_map_mark(const struct tree_map *m, int wd)
{
	for (struct chain *c = chains_first(&m->marks, mark_hash(m, wd)); c != NULL; c = c->next)
		if (LIST_ENTRY(c, struct tree_mark, chain)->wd == wd)
			return LIST_ENTRY(c, struct tree_mark, chain);
	return NULL;
}

struct tree_mark *tree_map_add_mark(struct tree_map *m, int wd)
{
	struct tree_mark *mark = tree_map_mark(m, wd);

	if (mark != NULL)
		return mark;
	mark = malloc(sizeof(*mark));
	if (mark == NULL)
		return NULL;
	*mark = (struct tree_mark){ .wd = wd };
	list_init(&mark->dirs);
	list_init(&mark->idle);
	list_append(&m->idle, &mark->idle);
	chains_enter(&m->marks, &mark->chain, mark_hash(m, wd));
	return mark;
}

void tree_map_remove_mark(struct tree_map *m, struct tree_mark *mark)
{
	H2D_ASSERT(list_empty(&mark->dirs));
	chains_leave(&m->marks, &mark->chain);
	list_remove(&mark->idle);
	free(mark);
}

static void mark_changed(struct tree_map *m, struct tree_mark *mark)
{
	bool idle = list_empty(&mark->dirs);

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
	struct chain *c = chains_first(&m->dirs, dir_hash(m, parent, name, n));

	for (; c != NULL; c = c->next) {
		struct tree_dir *dir = LIST_ENTRY(c, struct tree_dir, chain);

		if (dir->parent == parent && dir->n == n && memcmp(dir->name, name, n) == 0)
			return dir;
	}
	return NULL;
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

/* Removes dir, which has no children. A top stays. */
static void remove_dir(struct tree_map *m, struct tree_dir *dir)
{
	untie(m, dir);
	if (dir->parent == NULL)
		return;
	chains_leave(&m->dirs, &dir->chain);
	list_remove(&dir->sibling);
	free(dir);
}

/* Removes directories that are unwatched and lead to no watched one. */
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

struct tree_dir *tree_map_find(
	struct tree_map *m, struct tree_dir *dir, const char *path, bool make)
{
	struct tree_dir *child;

	H2D_ASSERT(path[0] == '/' && path[strlen(path) - 1] == '/');
	for (path++; *path != '\0'; path++) {
		const char *end = strchrnul(path, '/');
		size_t n = (size_t)(end - path);

		child = tree_map_child(m, dir, path, n);
		if (child == NULL && make) {
			child = dir_new(dir, dir->root, path, n);
			if (child == NULL) {
				prune(m, dir);
				return NULL;
			}
			chains_enter(&m->dirs, &child->chain, dir_hash(m, dir, path, n));
			list_append(&dir->children, &child->sibling);
		}
		if (child == NULL)
			return NULL;
		dir = child;
		path = end;
	}
	return dir;
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
	LIST_EACH(struct tree_dir, other, of_mark, &mark->dirs) {
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
