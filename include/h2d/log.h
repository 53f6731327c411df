/*
 * h2d/log.h: how a handler writes to the error log. Included by h2d/handler.h.
 */
#ifndef H2D_LOG_H
#define H2D_LOG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;
struct h2d_worker;

/* Levels. The key log-level sets which are written. */
enum h2d_level {
	H2D_LOG_ERROR,  /* a fault of the machine or the configuration: an administrator must act */
	H2D_LOG_WARN,   /* unusual */
	H2D_LOG_NOTICE, /* rare events in the life of the process */
	H2D_LOG_INFO,   /* a fault of the client */
	H2D_LOG_DEBUG,
};

#ifdef __GNUC__
#define H2D_PRINTF(fmt_at, first) __attribute__((__format__(__printf__, fmt_at, first)))
#else
#define H2D_PRINTF(format, first)
#endif

/*
 * Writes the line "handler kv, route /kv/{key}: TEXT: GET /kv/x". TEXT is fmt formatted as by
 * printf(3), up to 1000 bytes; bytes that are not printable become \xHH. One line per fmt (which
 * should be a literal) and level is written each second, and the others are counted ("… and 1234
 * more like it"). To count requests, use the access log or metrics.
 */
void h2d_log(struct h2d_req *req, enum h2d_level level, const char *fmt, ...) H2D_PRINTF(3, 4);

/* Writes the line "handler kv: TEXT". From worker_init() on. */
void h2d_worker_log(struct h2d_worker *worker, enum h2d_level level, const char *fmt, ...)
	H2D_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif

#endif
