/*
 * conf_fault: the reports about a configuration: faults, and warnings likewise. Formats, counts and
 * passes on to a conf_fault_fn; never allocates, so that "out of memory" can be reported.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#include "conf/conf.h"

enum { CONF_FAULTS_MAX = 100 }; /* most reports: a file with thousands is no configuration */

/* Zeroed except fn and ctx. A line that servers share, or inherit from the top level, is reported
 * once. */
struct conf_faults {
	conf_fault_fn *fn; /* NULL: none are passed on */
	void *ctx;
	unsigned n; /* of different ones */
	uint64_t hashes[CONF_FAULTS_MAX];
	bool oom;  /* the arena is full: reading and reports stop */
	bool lost; /* skipped text may have set keys that would be missed later */
};

/* For values from the command line. */
extern const struct conf_pos conf_command_line;

void conf_fault(struct conf_faults *f, const struct conf_pos *pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));
void conf_vfault(struct conf_faults *f, const struct conf_pos *pos, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0), cold));

/* The arena is full or malloc failed: one fault, whatever follows. */
void conf_fault_oom(struct conf_faults *f, const struct conf_pos *pos) __attribute__((cold));

/* Warns of settings that are no fault, but probably not meant: for -t, a start and a reload
 * (conf_warn.c). */
void conf_warn(const struct conf *conf, struct conf_faults *warnings);

enum { CONF_FAULT_TEXT = 1024 };

/* "FILE:LINE: message", "command line: message", or the bare message: the same on stderr, in the
 * log and in the status file. */
void conf_fault_format(const struct conf_pos *pos, const char *message, char *buf, size_t size);

/* The prefix on stderr: none before FILE:LINE, which editors find, else the name. */
const char *conf_fault_prefix(const struct conf_pos *pos);

/* Prints both to standard error; needs no ctx. */
conf_fault_fn conf_fault_print;

/* Logs it as a warning; needs no ctx. */
conf_fault_fn conf_fault_log;
