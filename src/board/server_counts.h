/*
 * server_counts: requests, statuses and bytes of each server, in a worker's part of the scoreboard,
 * if metrics-per-server says so. The master gives servers rows by their titles, which they keep
 * over reloads; the worker's loop writes; others read it as hostile data by server_counts_add().
 */
#ifndef H2D_BOARD_SERVER_COUNTS_H
#define H2D_BOARD_SERVER_COUNTS_H

#include "base/slice.h"
#include "rules/site.h"

struct req_record;

enum {
	SERVER_COUNTS_ROWS = 256, /* the first is for requests and servers that have none */
	SERVER_COUNTS_TITLE = 256,
	SERVER_COUNTS_CLASSES = 5, /* no response, and 2xx to 5xx */
};

/* The titles of servers that have a row. n 0: none was given, and nothing is counted. */
struct server_titles {
	uint32_t n;
	char v[SERVER_COUNTS_ROWS][SERVER_COUNTS_TITLE]; /* each ends in NUL */
};

struct server_counts {
	struct server_count {
		uint64_t responses[SERVER_COUNTS_CLASSES];
		uint64_t bytes_in, bytes_out; /* of content */
	} v[SERVER_COUNTS_ROWS];
};

/* Gives each of the sites a row, as long as there are some. For the master. */
void server_counts_give(struct server_titles *titles, const struct sites *sites);

/* The row of each of the sites, to be freed. NULL when memory is out. */
uint16_t *server_counts_rows(const struct server_titles *titles, const struct sites *sites);

/* A request of that row is over; status 0: it had no response. */
void server_counts_observe(struct server_count *row, const struct req_record *record, int status);

/* Adds what from says, each cell read once; sums wrap around. */
void server_counts_add(struct server_counts *sum, const struct server_counts *from);

/* "none", "2xx" …. */
const char *server_counts_class(unsigned class);

#endif
