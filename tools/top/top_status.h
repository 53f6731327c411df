/*
 * top_status: the content of /status.json, read by a JSON library. Missing members, for example in
 * another version of h2d, are 0 or empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct top_status; /* the whole; its texts live as long as it does */
struct top_object; /* a part of it: a worker, a line of the log, the totals */

/* NULL: it is not JSON, or memory is out; error (size bytes) has the reason. */
struct top_status *top_status_read(const char *p, size_t n, char *error, size_t size);
void top_status_free(struct top_status **s);

/* The object "cache" or "totals"; the whole for "". */
const struct top_object *top_status_part(const struct top_status *s, const char *name);

/* The i-th of the list "workers" or "lines"; NULL: none. */
const struct top_object *top_status_at(const struct top_status *s, const char *list, size_t i);

/* The i-th text of a list, "" for another type; NULL after the last. */
const char *top_status_text(const struct top_status *s, const char *list, size_t i);

/* The numbers of the list "history", at most max; returns how many. */
size_t top_status_history(const struct top_status *s, uint64_t *to, size_t max);

/* Numbers below 0 are 0; other types than texts are ""; texts are UTF-8. */
uint64_t top_object_number(const struct top_object *o, const char *name);
const char *top_object_text(const struct top_object *o, const char *name);
