/*
 * log: the error log. Levels: alert for our bugs, error for faults of the machine or the operator,
 * warn for oddities, notice for starts and ends of processes, info for peers, debug for traces. No
 * call waits for a reader: lines that do not fit are lost, and their number is logged when there
 * is room again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LEVEL_ALERT, LEVEL_ERROR, LEVEL_WARN, LEVEL_NOTICE, LEVEL_INFO, LEVEL_DEBUG };

extern enum log_level log_max; /* lines above this level are not written */

/* Sets the log: fd, which stays the caller's; -1: syslog(3). */
void log_to(int fd);

/* Sets the name of this process: "master", "worker 3", "keeper"; copied, at most 31 bytes. */
void log_who(const char *who);

/*
 * One line: "2026-11-21T10:11:12.123Z notice [PID] WHO: MESSAGE". Control bytes in the message are
 * written as \xHH, so that a peer cannot forge lines; lines over 4000 bytes are cut.
 */
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Calls fn (NULL: none), too, with each line of the levels alert, error and warn that is written,
 * without its head. Calls come from every thread, one after the other; fn must not log.
 */
void log_tell(void (*fn)(enum log_level level, const char *message));

#define log_at(level, ...) \
	do { \
		if ((level) <= log_max) \
			log_write((level), __VA_ARGS__); \
	} while (0)

/* Lines of one kind that peers can cause: one per second, and how many more there were. */
struct log_kind {
	enum log_level level;
	uint64_t until_ms; /* no other line before then */
	unsigned rest;     /* lines suppressed since */
	struct log_kind *next;
	bool listed;
	char text[160]; /* the written line, cut */
};

void log_limited(struct log_kind *kind, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* For lines that a peer can cause repeatedly: every place in the source is a kind. */
#define log_peer(level, ...) \
	do { \
		static struct log_kind log_kind_here; \
		if ((level) <= log_max) \
			log_limited(&log_kind_here, (level), __VA_ARGS__); \
	} while (0)

/*
 * Logs how many lines were lost and suppressed, of each kind whose second is over (at the end of a
 * process: all). Processes with peers call it every second.
 */
void log_tick(bool end);

/* In a new process, before its first thread: drops the counts, which are its parent's. */
void log_forget(void);

#define log_alert(...)  log_at(LEVEL_ALERT, __VA_ARGS__)
#define log_error(...)  log_at(LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)   log_at(LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_at(LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)   log_at(LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)  log_at(LEVEL_DEBUG, __VA_ARGS__)

const char *log_level_name(enum log_level level);

/*
 * log_out: writes whole lines to a descriptor, never waiting for its reader. The error log and the
 * access log are written with it. A descriptor may be shared with other processes (a terminal, the
 * pipe of a supervisor), and O_NONBLOCK belongs to the shared open file description, so it is never
 * set on an inherited one: log_out_own() opens another.
 */

struct log_out {
	bool torn; /* the last write ended inside a line: the next begins a new one */
};

/*
 * Writes the lines p[0..n), which end with a newline, as many as fit now: returns their bytes. If
 * less than n, errno is set, and no line is half written, unless o->torn is set.
 */
size_t log_out_write(struct log_out *o, int fd, const char *p, size_t n);

/*
 * Replaces a standard stream that is a pipe or a terminal by a non-blocking description of this
 * process and its children alone. If the system refuses, the stream stays.
 */
void log_out_own(int fd);
