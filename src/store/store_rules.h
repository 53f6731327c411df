/* store_rules: whether what an upload is to write may be written. */
#ifndef H2D_STORE_STORE_RULES_H
#define H2D_STORE_STORE_RULES_H

#include "store/store_work.h"

/*
 * Looks up what has the name, and checks the request's conditions against it (412). elsewhere: the
 * status where the file that the name leads to is spelled otherwise, as some file systems allow:
 * the configuration's rules are for its own name. 0, a status, or -errno.
 */
int store_rules_look(
	const struct store_work *w, const char *name, int elsewhere, struct store_there *there);
/* Checks as store_rules_look() does, and whether a new file may take the name (409). */
int store_rules_check_name(const struct store_work *w, const char *name, struct store_there *there);
/*
 * Checks the request's conditions against an upload that is to be resumed, which has neither an
 * entity tag nor a date. 0, or 412.
 */
int store_rules_check_upload(const struct store_work *w);
/* The cost of what is there, as w->quota counts it. */
uint64_t store_rules_cost(const struct store_there *there);
/* Measures an upload in place of files that cost replaced: 507 if it is known to be longer than the
 * quota, or the disk, has room for. */
int store_rules_measure(struct store_work *w, uint64_t replaced);

#endif
