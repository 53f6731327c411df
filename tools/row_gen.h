/*
 * row_gen: what programs share that make a table of C from the rows of a .def file: faults named by
 * their line, and strings. Runs at build time and in tests; never in the server.
 */
#ifndef H2D_TOOLS_ROW_GEN_H
#define H2D_TOOLS_ROW_GEN_H

#include <stdbool.h>
#include <stdio.h>

struct row_faults {
	FILE *err;
	bool any;
};

/* Writes "FILE:LINE: …"; false, for who returns it. */
bool row_fault(struct row_faults *faults, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A string of C; NULL as such. */
void row_write_string(const char *s, FILE *out);

#endif
