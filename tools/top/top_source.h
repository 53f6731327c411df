/*
 * top_source: the server's address: that of an admin listener, given by the user or found in the
 * configuration.
 */
#pragma once

enum { TOP_SOURCE_TEXT = 256, TOP_ERROR = 512 };

struct top_source {
	char text[TOP_SOURCE_TEXT]; /* for people: "unix:/run/h2d/admin.sock" */
	char host[TOP_SOURCE_TEXT]; /* a name or a number; "" with a unix socket */
	char port[8];
	char path[TOP_SOURCE_TEXT]; /* of a unix socket */
};

/* 0, or -1: error has the fault of where. */
int top_source_parse(struct top_source *s, const char *where, char error[TOP_ERROR]);

/*
 * Finds it in the configuration file, whose faults do not matter here: a unix socket before an
 * address, and no listener with TLS or proxy-protocol. 0, or -1: error has the reason.
 */
int top_source_find(struct top_source *s, const char *file, char error[TOP_ERROR]);
