/*
 * row_gen: shared by programs that make a table of C from the rows of a .def file: faults with
 * their lines, and strings. Runs at build time and in tests; never in the server.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct row_faults {
	FILE *err;
	bool any;
};

/* Writes "FILE:LINE: …"; returns false, for the caller to return. */
bool row_fault(struct row_faults *faults, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A string of C; NULL for NULL. */
void row_write_string(const char *s, FILE *out);
