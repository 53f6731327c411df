/*
 * kernel_check: tries the features that h2d needs from the kernel, and from a container that
 * filters system calls, before it serves: a missing one is reported by its name, with its purpose
 * and origin.
 */
#pragma once

/* 0; or -1 after a line on stderr for each missing feature. */
int kernel_check(void);
