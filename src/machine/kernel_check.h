/*
 * kernel_check: tries the features that h2d needs from the kernel, or that a container may filter,
 * before it serves.
 */
#pragma once

/* 0; or -1 after a line on stderr for each missing feature. */
int kernel_check(void);
