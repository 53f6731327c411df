/*
 * board: the scoreboard, shared memory mapped by the master before any fork: one head page that
 * only the master writes and one slot of whole pages per worker process that only that process
 * writes. The master and other workers read slots as hostile data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cache_facts.h"
#include "base/counters.h"
#include "base/handler_counts.h"
#include "base/slice.h"
#include "base/states.h"
#include "request/req_record.h"
#include "rules/site.h"

/*
 * route_times: durations of requests, from their first header to the head of the response and to
 * their end, by route and by class of status: histograms in a worker's part of the scoreboard. The
 * worker's loop writes; others read it as hostile data by board_cells_add().
 */

enum {
	ROUTE_TIMES_ROUTES = 32, /* by number (request/req_record.h); the last is for all others */
	ROUTE_TIMES_OTHER = ROUTE_TIMES_ROUTES - 1,
	ROUTE_TIMES_CLASSES = 5, /* no response, and 2xx to 5xx */
	ROUTE_TIMES_BOUNDS = 10,
};

/* Microseconds. */
struct route_time {
	int64_t sum, buckets[ROUTE_TIMES_BOUNDS + 1];
};

struct route_times {
	struct route_times_cell {
		struct route_time duration, first_byte;
	} v[ROUTE_TIMES_ROUTES][ROUTE_TIMES_CLASSES];
};

extern const int64_t route_times_bounds[ROUTE_TIMES_BOUNDS];

/* A request is over; status 0: without a response. */
void route_times_observe(struct route_times *t, const struct req_record *record, int status);

/* "none", "2xx" …; "other" or the name of the route. */
const char *route_times_class(unsigned class);
struct slice route_times_route(const struct route_table *routes, unsigned route);

/* The method of its row, which includes HEAD if it is GET; n 0: no such row. */
struct slice route_times_method(const struct route_table *routes, unsigned route);

/* True if the route is one of this server's. */
bool route_times_has(const struct route_table *routes, unsigned route);

/*
 * server_counts: requests, statuses and bytes of each server, with metrics-per-server, and
 * responses and failures of each server of an application, in a worker's part of the scoreboard.
 * The master gives servers rows by their titles, which they keep over reloads; the worker's loop
 * writes; others read it as hostile data by board_cells_add().
 */

enum server_kind { SERVERS_OWN, SERVERS_UPSTREAM, SERVER_KINDS };

enum {
	SERVER_COUNTS_ROWS = 256, /* the first is for requests and servers without one */
	SERVER_COUNTS_TITLE = 256,
};

/* Cells of a row. Before these: the classes; the responses, and each kind of failure. */
enum { SERVER_BYTES_IN = ROUTE_TIMES_CLASSES, SERVER_BYTES_OUT, SERVER_CELLS };

/* The meaning of a cell; word NULL: unused. The first cell of a metric has its name. */
struct server_cell {
	const char *word; /* in /status.json, and the value of the label */
	const char *metric, *label, *help;
};

extern const struct server_cell server_cells[SERVER_KINDS][SERVER_CELLS];

/* The titles of servers with a row. n 0: none, and not counted. */
struct server_titles {
	uint32_t n;
	char v[SERVER_COUNTS_ROWS][SERVER_COUNTS_TITLE]; /* each ends in NUL */
};

struct server_counts {
	int64_t v[SERVER_COUNTS_ROWS][SERVER_CELLS];
};

/* Gives each of n names, members of structs of that size, a row, while there are free ones. For the
 * master. */
void titles_give(struct server_titles *titles, const struct slice *first, size_t size, unsigned n);

/* The row of each of the names, to be freed. NULL when memory is out. */
uint16_t *titles_rows(
	const struct server_titles *titles, const struct slice *first, size_t size, unsigned n);

/* A request of that row is over; status 0: without a response. */
void server_counts_observe(int64_t *row, const struct req_record *record, int status);

/* The application's server of that row has answered (err NULL), or failed. */
void server_counts_upstream(int64_t *row, const struct err *err);

/*
 * board_conns: the live connections of one worker as rows of text, a table in its slot of the
 * scoreboard. The worker writes the table only for a request of /status/connections. The worker
 * that answers it copies the table, without trusting it. The texts come from the modules of
 * connections: the board does not know their states.
 */

enum {
	BOARD_CONNS = 255,    /* rows; with its head a table has 100 KiB */
	BOARD_CONNS_MS = 100, /* the shortest interval of writing tables: the age of one */
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
	uint32_t live;    /* all live connections; those beyond n have no row */
	uint64_t at_ms;   /* clock_ms() of the writing; 0: never */
	struct board_conn v[BOARD_CONNS];
} __attribute__((aligned(4096)));

/* Begins the table again, in its own process. */
void board_conns_begin(struct board_conns *t);

/* The next row, zeroed; NULL: the table is full. */
struct board_conn *board_conns_add(struct board_conns *t);

/* Publishes the table, which is complete. */
void board_conns_end(struct board_conns *t, unsigned live, uint64_t now_ms);

/*
 * Copies the table to *to: n is no more than BOARD_CONNS there, live no less than n, and each text
 * ends in NUL. False: the table is older than since_ms, or its process keeps writing it.
 */
bool board_conns_read(struct board_conns *to, const struct board_conns *from, uint64_t since_ms);

enum { BOARD_SLOTS = 1024, BOARD_WORDS = 512, BOARD_HISTORY = 60, BOARD_ID = 65 };

/* Reads a field that another process may be writing. */
#define BOARD_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/*
 * A worker's load in one word: the connections taken from its inbox so far (wraps), and its present
 * ones except an admin's.
 */
#define BOARD_LOAD_OF(taken, live) ((uint64_t)(taken) << 32 | (uint32_t)(live))
#define BOARD_LOAD_TAKEN(load)     ((uint32_t)((load) >> 32))
#define BOARD_LOAD_LIVE(load)      ((uint32_t)(load))

enum board_state {
#define BOARD_STATE(name, text, next, help) BOARD_##name,
#include "board/board_state.def"
	BOARD_STATES
};
extern const struct states board_states;

/* A worker's last seconds, by its own clock. */
struct board_recent {
	uint64_t bytes_out; /* in a second */
	uint32_t requests;  /* in a second */
	/* The times to the head of the response, for the last ten seconds. */
	uint32_t first_byte[ROUTE_TIMES_BOUNDS + 1];
};

enum { BOARD_LINES = 16, BOARD_LINE_TEXT = 256 };

struct board_line {
	uint32_t number; /* from 1 on; 0: being written, or never was */
	uint32_t level;  /* enum log_level */
	uint64_t ms;     /* wall clock */
	int32_t pid;
	char who[32];               /* "worker 3" */
	char text[BOARD_LINE_TEXT]; /* ends in NUL; any bytes, as peers may influence it */
};

/* The last warnings and errors of all processes: a ring that only the master writes. */
struct board_lines {
	struct board_line v[BOARD_LINES];
	uint32_t n; /* lines so far */
};

enum board_count {
#define BOARD_COUNT(name, metric, label, value, help) BOARD_COUNT_##name,
#include "board/board_counts.def"
	BOARD_COUNTS
};

/* Written by one worker (state, counters, words), except for the master's part at spawn: pid, slot
 * and generation, in zeroed memory, so that the state is BOOT. */
struct board_slot {
	int32_t pid;   /* 0: free */
	uint32_t slot; /* worker slot */
	uint32_t generation;
	uint32_t state;         /* enum board_state; worker_go() alone writes it */
	uint64_t image;         /* number of the cache image in use, 0: none */
	struct process_use use; /* in its last second */
	uint64_t ticks;         /* one a second: its loop turns */
	uint64_t load; /* BOARD_LOAD_OF(): for the acceptor, which must read both at once */
	struct board_recent recent;
	uint32_t full;    /* 1: it accepts no connection now */
	uint32_t busy;    /* thousandths of a processor's time; worker_strain writes it */
	uint32_t late_us; /* how late its loop is; the same */
	struct counters counters;
	char words[BOARD_WORDS]; /* crash report, of assert or crash, NUL-terminated */
	struct route_times times;
	uint32_t counts_servers; /* 1: servers is used */
	/* On separate pages: memory is used once they are written. */
	struct board_conns conns;
	struct server_counts servers[SERVER_KINDS] __attribute__((aligned(4096)));
	struct handler_counts handlers __attribute__((aligned(4096)));
} __attribute__((aligned(4096)));

struct board_head {
	int fds[2];       /* of this memory, in the master: read-write, read-only */
	uint64_t started; /* wall clock, seconds */
	uint32_t generation;
	uint64_t image;              /* number of the newest image, 0: none */
	uint64_t image_size;         /* bytes of content */
	uint64_t image_at;           /* wall clock, seconds: arrival of that image; 0: none */
	int64_t certificate_expires; /* seconds since 1970: the first one; 0: none */
	uint32_t keeper_pid;
	uint32_t balance;      /* enum conf_balance: the choice of the worker */
	uint32_t acceptor_pid; /* 0: none, with dispatch = reuseport */
	uint32_t dispatch;     /* enum conf_dispatch */
	uint32_t health;   /* bit set of enum board_health, 0: healthy; master/status.c writes it */
	uint64_t warm_ms;  /* clock_ms() of the first image, 1: before an upgrade; 0: none yet */
	uint32_t building; /* 1: this generation has no image yet */
	struct cache_facts cache;                /* the keeper's last report */
	struct process_use use;                  /* of the master, in its last second */
	uint64_t counts[BOARD_COUNTS];           /* counted by the master */
	uint32_t retirements;                    /* two for each; odd: one is under way */
	struct counters retired;                 /* totals of exited processes */
	struct counters retired_of[BOARD_SLOTS]; /* these totals, by worker slot */
	struct route_times retired_times;
	char instance_name[BOARD_ID];              /* NUL-terminated; "": none */
	struct server_titles titles[SERVER_KINDS]; /* of servers that are counted separately */
	struct server_counts retired_servers[SERVER_KINDS];
	struct handler_counts retired_handlers;
	struct board_lines lines;
	uint32_t history[BOARD_HISTORY]; /* requests of all workers, a second each: a ring */
	uint32_t seconds;                /* seconds written so far (wraps) */
	uint8_t taken[BOARD_SLOTS];      /* slots in use: a slot's own content is not trusted */
	uint32_t changes;                /* of taken so far (wraps) */
	struct {
		uint32_t generation, slot, serial;
	} who[BOARD_SLOTS]; /* owners of the slots: their own content is not trusted either */
} __attribute__((aligned(4096)));

struct board {
	struct board_head head;
	struct board_slot slots[BOARD_SLOTS];
};

/* Maps a zeroed board, shared with children, and keeps its two descriptors. NULL with errno. */
struct board *board_new(void);

/*
 * Makes all of it except own (NULL: all) read-only for good, in a child, before that closes
 * unneeded descriptors. The kernel refuses an mprotect(2) that would undo it, and the descriptors
 * of the board are closed. 0, or -errno.
 */
int board_protect(struct board *b, struct board_slot *own);

/* Sums wrap around. */
static inline void board_cell_add(int64_t *cell, int64_t n)
{
	__atomic_store_n(cell, (int64_t)((uint64_t)*cell + (uint64_t)n), __ATOMIC_RELAXED);
}

/* Adds the array of int64_t of that many bytes, reading each cell once; cells below 0 count as 0.
 */
void board_cells_add(void *sum, const void *from, size_t size);

static inline void board_count(struct board_head *h, enum board_count what)
{
	__atomic_store_n(&h->counts[what], h->counts[what] + 1, __ATOMIC_RELAXED);
}

unsigned board_room(const struct board *b);

/* Takes a free slot and clears it: state BOOT, pid still 0. NULL when all are taken. For the
 * master. */
struct board_slot *board_take(struct board *b, unsigned slot, uint32_t generation);

/* The next slot in use from *i on, which is advanced; NULL: none. */
const struct board_slot *board_next(const struct board *b, unsigned *i);

/* The process of a worker slot: its page, and a unique number. */
struct board_worker {
	const struct board_slot *slot; /* NULL: none */
	uint32_t serial;
};

/* Finds the workers of a generation, by worker slot; missing ones are left unchanged. */
void board_find(
	const struct board *b, uint32_t generation, struct board_worker *workers, unsigned n);

/* Adds the totals of a reaped process to the retired ones, frees its slot, sets *s NULL. For the
 * master. */
void board_release(struct board *b, struct board_slot **s);

/* Adds a line, in place of the oldest; its number is set here. */
void board_lines_add(struct board_lines *ring, const struct board_line *line);

/*
 * Copies the i-th newest line (0 up to BOARD_LINES - 1) to out; false if there is none, or it is
 * being replaced.
 */
bool board_lines_get(const struct board_lines *ring, unsigned i, struct board_line *out);

/* Reads its part of the board into to, from the beginning each time. */
typedef void board_read_fn(const struct board *b, void *to);

/*
 * Reads the board as of one moment, to add live slots to retired totals: a process retired
 * meanwhile would be counted twice, or not at all, so the board is read again. At most tries times,
 * because a master that dies during a retirement never ends it.
 */
void board_read(const struct board *b, unsigned tries, board_read_fn *read, void *to);
void board_free(struct board **b);

/* --- a copy of one moment, by worker slot ----------------------------------------------------- */

struct board_view_slot {
	bool used;       /* a process has used it */
	unsigned living; /* processes that use it now: one, or some of older generations too */
	uint64_t image;  /* the oldest in use; 0: none */
	struct process_use use; /* the sum of live ones */
	struct counters n;      /* gauges of live ones, totals of all */
};

struct board_view {
	struct counters sum;      /* over all slots */
	struct route_times times; /* over all slots, too */
	struct server_counts servers[SERVER_KINDS];
	struct handler_counts handlers;
	unsigned states[BOARD_STATES]; /* number of processes in each */
	unsigned nslots;               /* the highest used, plus one */
	struct board_view_slot slots[BOARD_SLOTS];
};

/* From malloc, to be freed. NULL when memory is out. */
struct board_view *board_view_new(const struct board *b);

/*
 * recent: a worker's rates in the last second, and response times in the last ten. The worker calls
 * it once a second and stores the result in its slot of the scoreboard, so that one read of the
 * board has rates, too.
 */

enum { RECENT_SECONDS = 10 };

/* Counts of a second ago, and before; zero it to begin. */
struct recent {
	uint64_t at_us;
	int64_t requests, bytes_out;
	unsigned seconds; /* so far */
	/* The buckets at the last calls: a ring. */
	int64_t first_byte[RECENT_SECONDS][ROUTE_TIMES_BOUNDS + 1];
};

/* Called at the end of a second, in the process of the slot. */
void recent_second(struct recent *r, struct board_slot *slot);

/* The time to the head of the response that a share q (0 to 1) of the requests does not exceed, in
 * microseconds; -1: no requests. */
double recent_quantile(const struct board_recent *r, double q);

/* Reads another process's last second, and adds it to a sum. */
void recent_read(struct board_recent *to, const struct board_slot *from);
void recent_add(struct board_recent *sum, const struct board_recent *r);

/* The last seconds of all workers, the oldest first; returns their number. */
unsigned recent_history(const struct board_head *head, uint32_t to[BOARD_HISTORY]);
