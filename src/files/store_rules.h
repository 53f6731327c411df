/* store_rules: whether what an upload is to write may be written. */
#ifndef H2D_FILES_STORE_RULES_H
#define H2D_FILES_STORE_RULES_H

#include "files/store_work.h"

/*
 * What has the name, and the request's conditions against it (412). elsewhere: the status where a
 * file system takes another spelling, whose own name the configuration's rules are for, for the
 * same. 0, a status, or -errno.
 */
int store_rules_look(
	const struct store_work *w, const char *name, int elsewhere, struct store_there *there);
/* The same, and whether a new file may take the name (409). */
int store_rules_check_name(const struct store_work *w, const char *name, struct store_there *there);
/*
 * The request's conditions against an upload that is to be resumed, which has neither an entity tag
 * nor a date. 0, or 412.
 */
int store_rules_check_upload(const struct store_work *w);
/*
 * Sets w->room: how much may be written at all, by the quota, in place of a file of replaced bytes.
 * 507 if the body is known to be longer than that, or than the disk has room for.
 */
int store_rules_measure(struct store_work *w, uint64_t replaced);
/* Bytes of the folder, as far as a quota asks, beside what came and what it replaces. 0, or -errno.
 */
int store_rules_others(const struct store_work *w, uint64_t replaced, uint64_t *others);

#endif
