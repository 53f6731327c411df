/*
 * top_screen: the terminal while h2d top has it: another screen without a cursor, keys that come at
 * once and without echo. top_screen_close() restores it, before every end except SIGKILL's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* True if standard input and output are a usable terminal. */
bool top_screen_can(void);

/* 0, or -errno. */
int top_screen_open(void);
void top_screen_close(void);

/* The present columns and rows. */
void top_screen_size(unsigned *columns, unsigned *rows);

/* Writes all of it to standard output. False: it is gone. */
bool top_screen_write(const char *p, size_t n);
