/*
 * conf_fault: the reports of every part of conf. Formats, counts and passes on to the conf_fault_fn
 * of the caller of conf_load; never allocates, so that "out of memory" can be reported.
 */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"

enum { CONF_FAULTS_MAX = 100 }; /* most reports: a file with thousands is no configuration */

/* Reported faults: a line that servers share, or inherit from the top level, is reported once. */
struct conf_said {
	unsigned n;
	uint64_t hashes[CONF_FAULTS_MAX];
};

struct conf_faults {
	conf_fault_fn *fn;
	void *ctx;
	unsigned n;
	struct conf_said said;
	bool oom;  /* the arena is full: reading and reports stop */
	bool lost; /* skipped text may have set keys that would be missed later */
};

/* For values from the command line. */
extern const struct conf_pos conf_command_line;

void conf_fault(struct conf_faults *f, const struct conf_pos *pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* The arena is full or malloc failed: one fault, whatever follows. */
void conf_fault_oom(struct conf_faults *f, const struct conf_pos *pos) __attribute__((cold));

/* True if message was reported for pos before; from now on it was. */
bool conf_said(struct conf_said *said, const struct conf_pos *pos, const char *message)
	__attribute__((cold));

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
