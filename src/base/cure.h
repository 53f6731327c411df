/*
 * cure: what to do about a file that systemd's unit keeps from the master, as the end of a message.
 * Called where the master says why it cannot have a file.
 */
#ifndef H2D_BASE_CURE_H
#define H2D_BASE_CURE_H

/* Behind strerror(error) of path: " (...)", or "" where nothing is known. Leaves errno alone. */
const char *cure_of(int error, const char *path);

#endif
