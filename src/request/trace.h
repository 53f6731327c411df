/*
 * trace: the decisions about one request, each with its line of the configuration, for the log at
 * debug and for `h2d --explain`. Who decides calls TRACE_STEP() at the place where that happens;
 * where nobody listens that is one branch. A trace changes no decision.
 */
#ifndef H2D_REQUEST_TRACE_H
#define H2D_REQUEST_TRACE_H

#include "request/req.h"

enum trace_kind {
#define TRACE(name, text) TRACE_##name,
#include "request/trace.def"
	TRACES
};

/* In the request's arena, as all that it points to but the name of the file. */
struct trace_step {
	struct trace_step *next;
	enum trace_kind kind;
	struct conf_pos at; /* file NULL: no line of the configuration says so */
	struct slice text;
	/* The file that answers, of TRACE_FILE, below the root of that number; p NULL: none. */
	struct slice found;
	unsigned root;
};

extern const char *const trace_names[TRACES];

/* at may be NULL; format and arguments as of printf(3), read only if the request is traced. */
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

/* By which server block and location the request is answered: called when both are known. */
void trace_site(struct h2d_req *req) __attribute__((cold));

/* The location it has, once more when it gets that of the file that answers. */
void trace_location(struct h2d_req *req) __attribute__((cold));

/* The handler that answers, before it begins. */
void trace_handler(struct h2d_req *req, const struct h2d_handler *handler) __attribute__((cold));

/* The file that answers it, and where that is from. */
void trace_found(struct h2d_req *req, unsigned root, struct slice name, const char *from)
	__attribute__((cold));

/* The verdict of location's rules about the client's address. */
void trace_access(struct h2d_req *req, const struct location *location) __attribute__((cold));

/* The verdict of location's rules about the subject of the client's certificate. */
void trace_subject(struct h2d_req *req, const struct location *location, bool known)
	__attribute__((cold));

/* All steps as one line of the log, at debug. */
void trace_log(const struct h2d_req *req) __attribute__((cold));

#endif
