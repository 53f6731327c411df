/*
 * key_build: from the rows of the conf.def of handlers to the table of their sections, as C, with
 * the line of every fault. Runs at build time in the generator, and in tests; never in the server.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* KEY(handler, name, type, default, min, max, choices, help), unchanged. */
struct key_row {
	const char *file; /* its place */
	int line;
	const char *handler, *name, *type, *dflt;
	uint64_t min, max;
	const char *choices, *help;
};

/* Writes the table of n rows to out. 0, or -1 with a line "FILE:LINE: …" on err for every fault. */
int key_build(const struct key_row *rows, unsigned n, FILE *out, FILE *err);
