/*
 * bus: messages by topic between the processes of a server: a ring in memory that the master maps
 * before any fork. A reader that is too slow loses messages and is told how many. Every reader
 * gets all messages in the same order, the sender too. Processes read the ring as hostile data.
 */
#pragma once

#include <sys/types.h>

#include "base/slice.h"
#include "event/loop.h"

enum {
	BUS_SIZE = 1 << 20, /* bytes of messages that wait for the slowest reader */
	BUS_TOPIC_MAX = 255,
	BUS_MESSAGE_MAX = 64 << 10,
};

struct bus;
struct bus_reader;

/* NULL when memory is out (errno). Processes forked later share it. */
struct bus *bus_new(void);
void bus_free(struct bus **b);

/* The master calls it when process pid has exited and writes no more. */
void bus_left(struct bus *b, pid_t pid);

/*
 * Sends data, of up to BUS_MESSAGE_MAX bytes, under a topic of up to BUS_TOPIC_MAX. A process that
 * has held the ring for 20 ms, because it hangs, loses it. 0, -EMSGSIZE, or -EBUSY: several wait
 * for that, or this one has lost it.
 */
int bus_put(struct bus *b, struct slice topic, struct slice data);

/* A message; topic and data live for the call. lost: messages of any topic that were overwritten
 * in front of this one. */
typedef void bus_fn(void *ctx, struct slice topic, struct slice data, uint64_t lost);

/* Reads on the loop all messages from now on. Its own thread sleeps until one comes. NULL when
 * memory, descriptors or threads are out. */
struct bus_reader *bus_reader_new(struct bus *b, struct loop *l, bus_fn *fn, void *ctx);
void bus_reader_free(struct bus_reader **r);

/* Reads all messages so far, without waiting for the thread. */
void bus_reader_read(struct bus_reader *r);
