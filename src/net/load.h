/*
 * load: how many connections each worker slot has, in a map of the kernel that eBPF programs read
 * at every SYN. One map for all addresses, a page for each slot. The master has it all; a worker
 * keeps the page of its own slot and writes one word there.
 */
#ifndef H2D_NET_LOAD_H
#define H2D_NET_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOAD_SLOTS = 512,
	LOAD_LOOKS = 10, /* for so many a half-open connection is waited for */
	LOAD_LOOK_MS = 100,
};

/* The load is assigned - settled, and may wrap. */
struct load_slot {
	uint32_t assigned; /* connections sent here, from their SYN on; the program adds */
	uint32_t settled;  /* connections of these that are gone, or never came; the worker writes,
			      and the master when another worker begins to */
	uint32_t shut;     /* 1: no new connections are to be sent here; the master writes */
} __attribute__((aligned(4096)));

struct load {
	int fd;
	struct load_slot *slots; /* LOAD_SLOTS; NULL: there is no map */
};

/* 0, or -errno: -EPERM without the right that net/ebpf.h names. */
int load_open(struct load *l);
void load_close(struct load *l);

/* A worker's knowledge of its slot when it looked last. */
struct load_seen {
	bool begun; /* it has looked */
	uint32_t looks;
	uint32_t assigned[LOAD_LOOKS]; /* at the last looks; a ring */
	uint32_t visible;              /* connections that had come: accepted, or queued */
	uint32_t half_open;            /* sent here, and not yet visible */
};

/*
 * In a worker, every LOAD_LOOK_MS: what the load really is. live: its open connections; came: those
 * it has accepted in all; queued: on its listening sockets; to be counted before the call. What was
 * sent here and is not to be seen LOAD_LOOKS later is not counted any more.
 */
uint32_t load_look(const struct load_slot *s, struct load_seen *v, uint32_t live, uint32_t came,
	uint32_t queued);

/* As it was found by that look. */
void load_set(struct load_slot *s, const struct load_seen *v, uint32_t load);

/* In the master, when another generation's workers begin to write: no load. */
void load_clear(struct load_slot *s);

uint32_t load_of(const struct load_slot *s);

/* In a worker: n connections less, at once. */
void load_gone(struct load_slot *s, uint32_t n);

/* In a child: unmaps all but one slot, which is answered. NULL with errno. */
struct load_slot *load_keep(struct load *l, unsigned slot);

#endif
