/*
 * err: a mistake of a peer, as a pointer to a const object from err.def, which has all that a
 * protocol needs to answer; NULL is success. Faults of the machine are always errno values.
 */
#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "base/log.h"

enum err_scope {
	ERR_REQUEST,    /* an answer with the status; the connection goes on */
	ERR_STREAM,     /* the stream is reset */
	ERR_CONNECTION, /* the connection ends; in HTTP/1 after an answer with the status, if any */
	ERR_NONE,       /* ends nothing; the peer is not told: a log line and a count */
};

struct err {
	const char *name;
	int status;       /* HTTP status, 0 if none can be sent */
	uint32_t h2_code; /* RFC 9113, 7 */
	enum err_scope scope;
	enum log_level level;
	const char *text;
	struct log_kind *kind; /* one per error */
};

/* Logs "connection PEER: TEXT" at the error's level, and counts a limit that was exceeded. */
void err_log(const struct err *err, const struct addr *peer);

/* err_log() at level debug: the peer sent no byte, so made no mistake. */
void err_log_silent(const struct err *err, const struct addr *peer);

/* err_log() for a peer that is served all the same; the line adds this. */
void err_log_dry(const struct err *err, const struct addr *peer);

/* Logs "connection PEER: TEXT: ABOUT", at the error's level, without counting it. ABOUT is the
 * beginning of about, with \xHH for bytes that are not printable ASCII. */
void err_log_about(const struct err *err, const struct addr *peer, struct slice about);

#define ERR(name, status, code, scope, level, text) extern const struct err *const ERR_##name;
#include "base/err.def"
