/*
 * prefix_index: byte strings in order, so that one binary search finds all prefixes of a path. It
 * is in an array of its owner's and borrows the strings.
 */
#pragma once

#include "base/slice.h"

struct prefix_entry {
	struct slice prefix;
	unsigned of;    /* its owner's number */
	unsigned outer; /* the entry that this one begins with, plus 1; 0: none */
};

struct prefix_index {
	const struct prefix_entry *v;
	unsigned n;
};

/* Sorts v, whose prefixes and numbers are set. Equal ones stay in the order of their numbers. */
struct prefix_index prefix_index_make(struct prefix_entry *v, unsigned n);

/* The longest entry that s begins with; of equal ones the last. NULL: there is none. */
const struct prefix_entry *prefix_index_find(const struct prefix_index *x, struct slice s);

/* The longest other one that e begins with, which is e's equal or shorter; NULL: none. */
static inline const struct prefix_entry *prefix_index_outer(
	const struct prefix_index *x, const struct prefix_entry *e)
{
	return e->outer > 0 ? &x->v[e->outer - 1] : NULL;
}

/* The first entry not less than s: those that begin with s follow. May be the end. */
const struct prefix_entry *prefix_index_from(const struct prefix_index *x, struct slice s);
