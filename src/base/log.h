/*
 * log: the error log. Levels say whose fault it is: alert is our bug, error the machine's or the
 * operator's, warn something odd, notice the life of the processes, info the peer's doing, debug
 * traces. Every line is one write(2); the descriptor belongs to the master and is passed to children.
 */
#ifndef H2D_BASE_LOG_H
#define H2D_BASE_LOG_H

#include <stdbool.h>

enum log_level { LEVEL_ALERT, LEVEL_ERROR, LEVEL_WARN, LEVEL_NOTICE, LEVEL_INFO, LEVEL_DEBUG };

extern enum log_level log_max; /* what is more verbose than this is not written */

/* fd >= 0: lines go there; -1: to syslog(3). The caller keeps owning the descriptor. */
void log_to(int fd);

/* Which process speaks: "master", "worker 3", "keeper"; copied, at most 31 bytes. */
void log_who(const char *who);

/*
 * One line: "2026-11-21T10:11:12.123Z notice [PID] WHO: MESSAGE". Control bytes in the message are
 * written as \xHH, so that a peer cannot forge lines; lines over 4000 bytes are cut.
 */
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_at(level, ...) \
	do { \
		if ((level) <= log_max) \
			log_write((level), __VA_ARGS__); \
	} while (0)

#define log_alert(...) log_at(LEVEL_ALERT, __VA_ARGS__)
#define log_error(...) log_at(LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_at(LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_at(LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LEVEL_DEBUG, __VA_ARGS__)

/* "alert", "error", … and back; log_level_parse answers -1 for an unknown name. */
const char *log_level_name(enum log_level level);
int log_level_parse(const char *name);

#endif
