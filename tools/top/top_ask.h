/*
 * top_ask: gets /status.json over HTTP/1.1, without waiting, so that a silent server delays none of
 * the others: a client for one resource of one server only.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "tools/top/top_source.h"

struct addrinfo;

struct top_ask {
	const struct top_source *source; /* the caller's */
	struct addrinfo *found, *next;   /* of a host: all of them, and the next to try */
	int fd;                          /* -1: no request */
	bool connected;
	uint64_t until_ms;    /* gives up then */
	struct strbuf answer; /* with its head */
};

enum top_asked { TOP_ASKING, TOP_ANSWERED, TOP_FAILED };

/* source outlives it. */
void top_ask_init(struct top_ask *a, const struct top_source *source);

/* Begins, if no request is under way. A name is looked up here, which may wait for a resolver. */
enum top_asked top_ask_begin(struct top_ask *a, char error[TOP_ERROR]);

/* The event for poll(2); fd is -1 without a request. */
struct pollfd top_ask_poll(const struct top_ask *a);

/*
 * Continues as far as possible; called for poll(2)'s events, and at the timeout. TOP_ANSWERED:
 * body, which was empty, has the content, and is the caller's. TOP_FAILED: error has the reason.
 */
enum top_asked top_ask_go(struct top_ask *a, struct strbuf *body, char error[TOP_ERROR]);

void top_ask_fini(struct top_ask *a);
