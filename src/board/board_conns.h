/*
 * board_conns: the live connections of one worker as rows of text, a table in its slot of the
 * scoreboard. The worker writes the table when somebody asks for /status/connections, and at no
 * other time. The worker that was asked copies it, and believes nothing in it. The texts are made
 * by whoever knows connections: the board knows none of their states.
 */
#ifndef H2D_BOARD_BOARD_CONNS_H
#define H2D_BOARD_BOARD_CONNS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	BOARD_CONNS = 255,    /* rows; with its head a table has 96 KiB */
	BOARD_CONNS_MS = 100, /* the master has tables written no more often: one may be so old */
};

/* One connection. Each text ends in NUL, perhaps cut. */
struct board_conn {
	char client[56];        /* "192.0.2.1:40312" */
	char protocol[8];       /* "h2"; "": not known yet */
	char transport[8];      /* "tls" */
	char state[12];         /* "open" */
	char waits[32];         /* for something: "the peer to read" */
	char streams_wait[128]; /* "3 for its handler, 1 for the peer's credit" */
	char flags[84];         /* names, with ", " between */
	uint64_t age_ms;
	uint64_t left_ms; /* until the wait is too long; UINT64_MAX: it never is */
	uint64_t requests, bytes_in, bytes_out; /* ever */
	uint32_t streams;                       /* open now */
	uint32_t unread; /* bytes that the system has received, and h2d has not read */
	uint32_t held;   /* bytes that were read, and nobody has taken */
	uint32_t queued; /* bytes that were made, and not sent */
};

struct board_conns {
	uint32_t version; /* odd: the table is being written */
	uint32_t n;       /* rows */
	uint32_t live;    /* connections that there were; those beyond n have no row */
	uint64_t at_ms;   /* clock_ms() when it was written; 0: never */
	struct board_conn v[BOARD_CONNS];
} __attribute__((aligned(4096)));

/* Begins the table anew, in the process whose it is. */
void board_conns_begin(struct board_conns *t);

/* The next row, zeroed; NULL: the table is full. */
struct board_conn *board_conns_add(struct board_conns *t);

/* Shows the table, which is complete. */
void board_conns_end(struct board_conns *t, unsigned live, uint64_t now_ms);

/*
 * Copies the table to *to: n is no more than BOARD_CONNS there, live no less than n, and each text
 * ends in NUL. False: the table is older than since_ms, or its process goes on writing it.
 */
bool board_conns_read(struct board_conns *to, const struct board_conns *from, uint64_t since_ms);

#endif
