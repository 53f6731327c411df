/*
 * trace: the decisions about one request, each with its line of the configuration, for the log at
 * debug and for `h2d --explain`. TRACE_STEP() is called at the place of a decision; without a trace
 * it is one branch. A trace changes no decision.
 */
#pragma once

#include "request/req.h"

enum trace_kind {
#define TRACE(name, text) TRACE_##name,
#include "request/trace.def"
	TRACES
};

/* In the request's arena, like all that it points to except the file's name. */
struct trace_step {
	struct trace_step *next;
	enum trace_kind kind;
	struct conf_pos at; /* file NULL: no line of the configuration */
	struct slice text;
	/* The answering file, of TRACE_FILE, below the root of that number; p NULL: none. */
	struct slice found;
	unsigned root;
};

extern const char *const trace_names[TRACES];

/* at may be NULL; format and arguments of printf(3), read only if the request is traced. */
#define TRACE_STEP(req, kind, at, ...) \
	do { \
		if (__builtin_expect((req)->env->conf.traced, false)) \
			trace_step((req), TRACE_##kind, (at), __VA_ARGS__); \
	} while (0)

void trace_step(struct h2d_req *req, enum trace_kind kind, const struct conf_pos *at,
	const char *fmt, ...) __attribute__((format(printf, 4, 5), cold));

#define TRACE_NO_CODING "none: the request has no accept-encoding"

/* The place of one setting of a location. */
#define TRACE_AT(location, key) ((location)->at != NULL ? &(location)->at->key : NULL)

/* The request's server block and location: called when both are known. */
void trace_site(struct h2d_req *req) __attribute__((cold));

/* The location, again when it becomes that of the answering file. */
void trace_location(struct h2d_req *req) __attribute__((cold));

/* The handler that answers, before it begins. */
void trace_handler(struct h2d_req *req, const struct h2d_handler *handler) __attribute__((cold));

/* The answering file. from: "cache" or "disk". */
void trace_found(struct h2d_req *req, unsigned root, struct slice name, const char *from)
	__attribute__((cold));

/* The result of allow and deny of location. */
void trace_access(struct h2d_req *req, const struct location *location) __attribute__((cold));

/* The result of allow-subject of location. */
void trace_subject(struct h2d_req *req, const struct location *location, bool known)
	__attribute__((cold));

/* All steps as one line of the log, at debug. */
void trace_log(const struct h2d_req *req) __attribute__((cold));
