/*
 * h2d/log.h: lines of handlers in the server's error log. Included by h2d/handler.h.
 */
#ifndef H2D_LOG_H
#define H2D_LOG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;
struct h2d_worker;

/* Levels say whose fault it is; log-level of the configuration says which are written. */
enum h2d_level {
	H2D_LOG_ERROR,  /* the machine's, or the operator's: somebody has to do something */
	H2D_LOG_WARN,   /* odd */
	H2D_LOG_NOTICE, /* in the life of the process: few */
	H2D_LOG_INFO,   /* the client's */
	H2D_LOG_DEBUG,
};

#ifdef __GNUC__
#define H2D_PRINTF(fmt_at, first) __attribute__((__format__(__printf__, fmt_at, first)))
#else
#define H2D_PRINTF(format, first)
#endif

/*
 * Writes a line, "handler kv, route /kv/{key}: TEXT: GET /kv/x", where TEXT is what printf(3) makes
 * of fmt, up to 1000 bytes; bytes that are not printable are written as \xHH. Clients can ask a
 * thousand times a second: of the lines of one fmt, which should be a literal, one of a level is
 * written each second, and the rest are counted ("… and 1234 more like it"). For counting there are
 * the access log and the metrics.
 */
void h2d_log(struct h2d_req *req, enum h2d_level level, const char *fmt, ...) H2D_PRINTF(3, 4);

/* A line of no request: "handler kv: TEXT". From worker_init() on. */
void h2d_worker_log(struct h2d_worker *worker, enum h2d_level level, const char *fmt, ...)
	H2D_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif

#endif
