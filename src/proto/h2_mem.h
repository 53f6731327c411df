/*
 * h2_mem: the allocator nghttp2 is given: free lists by size class, because a session makes and
 * drops a handful of small blocks per request (measured: 5 % of the instructions, more with many
 * connections).
 */
#ifndef H2D_PROTO_H2_MEM_H
#define H2D_PROTO_H2_MEM_H

#include <nghttp2/nghttp2.h>

#include "proto/h2_pages.h"

/* For the session that has those pages, which outlive it; single-threaded. */
nghttp2_mem h2_mem(struct h2_pages *pages);

/* Gives kept blocks back to malloc. */
void h2_mem_trim(void);

#endif
