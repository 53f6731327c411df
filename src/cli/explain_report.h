/*
 * explain_report: what `h2d --explain` prints of one request: a line for each decision, the status,
 * the fields of the response. Called by explain.c when the request is over.
 */
#ifndef H2D_CLI_EXPLAIN_REPORT_H
#define H2D_CLI_EXPLAIN_REPORT_H

#include <stdio.h>

#include "conf/conf.h"
#include "request/req.h"

/* One line: what, its text, and where the configuration says so (NULL or file NULL: nowhere). */
void explain_line(FILE *out, const char *what, const struct conf_pos *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The trace of req and its answer; refused: the handler that was not started, whose keys are told,
 * or NULL. */
void explain_report(FILE *out, const struct conf *conf, const struct h2d_req *req,
	const struct h2d_handler *refused);

#endif
