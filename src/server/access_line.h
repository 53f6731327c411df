/*
 * access_line: one request as a line, in each format that access-log-format names. The worker has
 * one, for all its access logs.
 */
#pragma once

#include <time.h>

#include "base/json.h"
#include "conf/conf.h"
#include "request/req.h"

enum {
	ACCESS_PIECE_MAX = 1024, /* bytes of an escaped piece; longer ones are cut */
	ACCESS_PIECES = 12,      /* of them in one line */
	ACCESS_LINE_MAX = ACCESS_PIECES * JSON_ESCAPED_MAX * ACCESS_PIECE_MAX + 2048,
};

/* A second as text, made once for all lines of that second. */
struct access_stamp {
	time_t second;
	char text[40];
};

struct access_line {
	enum access_format format; /* of the current line */
	bool colour;               /* of a short one */
	bool anonymous;            /* the line names no client: access-log-anonymize */
	char *p;
	size_t n;
	struct access_stamp local, utc;
};

void access_line_init(struct access_line *l);

/* Writes the line of req, with its newline, to p, which has room for ACCESS_LINE_MAX; returns its
 * length. */
size_t access_line(
	struct access_line *l, enum access_format format, const struct h2d_req *req, char *p);
