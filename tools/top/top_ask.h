/*
 * top_ask: asks for /status.json over HTTP/1.1, without waiting, so that a server that says nothing
 * keeps none of the others: a client for one resource of one server, and nothing more.
 */
#ifndef H2D_TOP_TOP_ASK_H
#define H2D_TOP_TOP_ASK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "tools/top/top_source.h"

struct addrinfo;

struct top_ask {
	const struct top_source *source; /* the caller's */
	struct addrinfo *found, *next;   /* of a host: all of them, and whom to try */
	int fd;                          /* -1: nothing is asked */
	bool connected;
	uint64_t until_ms;    /* given up then */
	struct strbuf answer; /* with its head */
};

enum top_asked { TOP_ASKING, TOP_ANSWERED, TOP_FAILED };

/* source outlives it. */
void top_ask_init(struct top_ask *a, const struct top_source *source);

/* Begins, where nothing is asked. A name is looked up here, which may wait for a resolver. */
enum top_asked top_ask_begin(struct top_ask *a, char error[TOP_ERROR]);

/* The event that poll(2) is to wait for; fd is -1 where nothing is asked. */
struct pollfd top_ask_poll(const struct top_ask *a);

/*
 * Goes on as far as it goes; called when poll(2) says so, and when time is up. TOP_ANSWERED: body,
 * which was empty, has the content, and is the caller's. TOP_FAILED: error says why.
 */
enum top_asked top_ask_go(struct top_ask *a, struct strbuf *body, char error[TOP_ERROR]);

void top_ask_fini(struct top_ask *a);

#endif
