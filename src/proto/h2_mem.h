/*
 * h2_mem: the allocator nghttp2 is given: free lists by size class, because a session makes and
 * drops a handful of small blocks per request (measured: 5 % of the instructions, more with many
 * connections).
 */
#ifndef H2D_PROTO_H2_MEM_H
#define H2D_PROTO_H2_MEM_H

#include <nghttp2/nghttp2.h>

/* The process's own; single-threaded. */
nghttp2_mem *h2_mem(void);

/* Gives kept blocks back to malloc: for the end of a worker, so that leak checks see the truth. */
void h2_mem_trim(void);

#endif
