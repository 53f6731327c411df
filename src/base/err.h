/*
 * err: what a peer did wrong, as a pointer to a const object from err.def; NULL is success. The
 * object has everything that a protocol needs for its answer: the HTTP status, the RFC 9113 error
 * code, what ends (request, stream or connection), and the level of the log line. Faults of the
 * machine are errno values and never objects of this kind.
 */
#ifndef H2D_BASE_ERR_H
#define H2D_BASE_ERR_H

#include <stdint.h>

#include "base/addr.h"
#include "base/log.h"

enum err_scope {
	ERR_REQUEST,    /* an answer with the status; the connection goes on */
	ERR_STREAM,     /* the stream is reset */
	ERR_CONNECTION, /* the connection ends; in HTTP/1 after an answer with the status, if any */
	ERR_NONE,       /* nothing ends, and the peer is told nothing: a log line and a count */
};

struct err {
	const char *name;
	int status;       /* HTTP status, 0 if none can be sent */
	uint32_t h2_code; /* RFC 9113, 7 */
	enum err_scope scope;
	enum log_level level;
	const char *text;
	struct log_kind *kind; /* each error is one */
};

/* "connection PEER: TEXT", at the error's level; counted, where a limit struck. */
void err_log(const struct err *err, const struct addr *peer);

/* err_log() with its line at debug: the peer sent not a byte, and so has done nothing wrong. */
void err_log_silent(const struct err *err, const struct addr *peer);

/* err_log() where the peer is served all the same: the line says so. */
void err_log_dry(const struct err *err, const struct addr *peer);

/* Logs "connection PEER: TEXT: ABOUT", at the error's level, without counting it. ABOUT is the
 * beginning of about; what is not printable ASCII is \xHH in it. */
void err_log_about(const struct err *err, const struct addr *peer, struct slice about);

#define ERR(name, status, code, scope, level, text) extern const struct err *const ERR_##name;
#include "base/err.def"

#endif
