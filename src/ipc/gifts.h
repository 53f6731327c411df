/*
 * gifts: what a process gets from the master at its start: its memory is a copy of the master's.
 * It keeps the descriptors of its gifts, and of its listeners, which it closes itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct board;
struct board_slot;
struct conf;
struct doc_roots;
struct sites;
struct tally;
struct trees;
struct worker_listener;

enum gift_number {
#define GIFT(flag, name, what) GIFT_##flag,
#include "ipc/gift.def"
	GIFTS
};

struct gift {
	const int *fds;
	unsigned n; /* 0: none */
};

struct gifts {
	const struct conf *conf;
	const struct trees *trees;
	const struct doc_roots *files; /* of trees */
	const struct sites *sites;
	uint32_t generation;
	unsigned slot; /* index of this process among those of its kind */
	int ctl;       /* to the master; end of file: it died */
	struct board *board;
	struct bus *bus;               /* of all workers, for messages between handlers */
	struct tally *tally;           /* counts of clients; NULL: a kind that serves none */
	struct board_slot *board_slot; /* this process's own, writable; NULL: a kind without */
	const struct worker_listener *listeners;
	unsigned nlisteners;
	bool heir; /* its master has not taken over yet: another one's processes serve */

	unsigned cpus;        /* processors that h2d may use, also by its control group */
	uint64_t cache_size;  /* bytes that the cache may take: max-size at most */
	uint64_t first_image; /* number of its first image */
	bool replaces;        /* replaces a keeper whose images workers may use for a while */

	union {
		struct {
#define GIFT(flag, name, what) struct gift name;
#include "ipc/gift.def"
		};
		struct gift all[GIFTS];
	};
};

/* The descriptor of a gift; -1: it was not given. */
static inline int gift_fd(struct gift g)
{
	return g.n > 0 ? g.fds[0] : -1;
}
