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
	BOARD_CONNS = 255,    /* rows; with its head a table has 100 KiB */
	BOARD_CONNS_MS = 100, /* the master has tables written no more often: one may be so old */
};

/* One connection. Each text ends in NUL, perhaps cut. */
struct board_conn {
#define BOARD_CONN_TEXT(member, size)        char member[size];
#define BOARD_CONN_NAMES(member, size)       char member[size];
#define BOARD_CONN_COUNT(member, size)       uint64_t member;
#define BOARD_CONN_MS(member, size)          uint64_t member;
#define BOARD_CONN(kind, member, size, help) BOARD_CONN_##kind(member, size)
#include "board/board_conns.def"
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
