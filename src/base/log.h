/*
 * log: the error log. Levels say whose fault it is: alert is our bug, error the machine's or the
 * operator's, warn something odd, notice the life of the processes, info the peer's doing, debug
 * traces. Every line is one write(2); the descriptor belongs to the master and is passed to
 * children. Nothing waits for a reader: what does not fit is lost, and its number is said when
 * there is room again.
 */
#ifndef H2D_BASE_LOG_H
#define H2D_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LEVEL_ALERT, LEVEL_ERROR, LEVEL_WARN, LEVEL_NOTICE, LEVEL_INFO, LEVEL_DEBUG };

extern enum log_level log_max; /* more verbose lines are not written */

/* fd >= 0: lines go there; -1: to syslog(3). The caller keeps owning the descriptor. */
void log_to(int fd);

/* Sets the name of the process that speaks: "master", "worker 3", "keeper"; copied, at most 31
 * bytes. */
void log_who(const char *who);

/*
 * One line: "2026-11-21T10:11:12.123Z notice [PID] WHO: MESSAGE". Control bytes in the message are
 * written as \xHH, so that a peer cannot forge lines; lines over 4000 bytes are cut.
 */
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_vwrite(enum log_level level, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));

/*
 * From now on fn (NULL: nobody) is told of each line of the levels alert, error and warn that is
 * written, too, without its head. Calls come from every thread, one after the other; fn logs
 * nothing itself.
 */
void log_tell(void (*fn)(enum log_level level, const char *message));

/* Says how many lines were lost, if there is room now. */
void log_say_lost(void);

#define log_at(level, ...) \
	do { \
		if ((level) <= log_max) \
			log_write((level), __VA_ARGS__); \
	} while (0)

/* Lines of one kind that peers can cause: one per second, and how many more there were. */
struct log_kind {
	enum log_level level;
	uint64_t until_ms; /* no other line before */
	unsigned rest;     /* lines not written since */
	struct log_kind *next;
	bool listed;
	char text[160]; /* the line that was written, cut */
};

void log_limited(struct log_kind *kind, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* For what a peer can cause again and again: every place in the source is a kind. */
#define log_peer(level, ...) \
	do { \
		static struct log_kind log_kind_here; \
		if ((level) <= log_max) \
			log_limited(&log_kind_here, (level), __VA_ARGS__); \
	} while (0)

/*
 * Says how many lines were lost and how many more there were of each kind whose second is over (at
 * the end of a process: all). Processes that peers speak to call it every second.
 */
void log_tick(bool end);

/* In a new process, before its first thread: what is still to be said so is its parent's. */
void log_forget(void);

#define log_alert(...)  log_at(LEVEL_ALERT, __VA_ARGS__)
#define log_error(...)  log_at(LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)   log_at(LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_at(LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)   log_at(LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)  log_at(LEVEL_DEBUG, __VA_ARGS__)

/* "alert", "error", … */
const char *log_level_name(enum log_level level);

/*
 * log_out: writes whole lines to a descriptor, never waiting for its reader. The error log and the
 * access log are written with it. A descriptor may be shared with other processes (a terminal, the
 * pipe of a supervisor), and O_NONBLOCK belongs to the open file description that all of them
 * have, so it is never set on one that was inherited: log_out_own() opens another one.
 */

struct log_out {
	bool torn; /* the last write ended inside a line: the next one begins a line of its own */
};

/*
 * Writes of the lines p[0..n), which end with a newline, as many as fit now: the bytes of those
 * lines. Less than n: errno says why, and nothing is half written, or o->torn says that it is.
 */
size_t log_out_write(struct log_out *o, int fd, const char *p, size_t n);

/*
 * Replaces a standard stream that is a pipe or a terminal by a non-blocking description of this
 * process and its children alone. Where the system refuses, the stream stays as it is.
 */
void log_out_own(int fd);

#endif
