/*
 * list: an intrusive doubly linked list. A node that is on no list points to itself, so that
 * removing it twice does no harm and list_linked() can be called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

#define LIST_ENTRY(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

/* Walks the objects whose member is a node of l; the current one may be removed in the body, its
 * neighbours may not. */
#define LIST_EACH(type, item, member, l) \
	for (type *item = LIST_ENTRY((l)->next, type, member), \
		  *item##_next = LIST_ENTRY(item->member.next, type, member); \
		&item->member != (l); \
		item = item##_next, item##_next = LIST_ENTRY(item->member.next, type, member))

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline bool list_linked(const struct list *node)
{
	return node->next != node;
}

static inline void list_append(struct list *l, struct list *node)
{
	node->prev = l->prev;
	node->next = l;
	l->prev->next = node;
	l->prev = node;
}

static inline void list_prepend(struct list *l, struct list *node)
{
	list_append(l->next, node);
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* The first node, taken off; NULL when the list is empty. */
static inline struct list *list_pop(struct list *l)
{
	struct list *node = l->next;

	if (node == l)
		return NULL;
	list_remove(node);
	return node;
}

/* Takes the first object off, until the list is empty. */
#define LIST_TAKE(type, item, member, l) \
	for (type *item = NULL; !list_empty(l) && (item = LIST_ENTRY(list_pop(l), type, member));)

/* Moves every node of from to the end of l. */
static inline void list_splice(struct list *l, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = l->prev;
	l->prev->next = from->next;
	from->prev->next = l;
	l->prev = from->prev;
	list_init(from);
}
