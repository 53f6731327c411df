/*
 * kernel_check: tries what h2d needs of the kernel, and of a container that filters system calls,
 * before anything is served: what is missing is told by its name, with what it is for and where it
 * is to be had (kernel_check.def).
 */
#ifndef H2D_MACHINE_KERNEL_CHECK_H
#define H2D_MACHINE_KERNEL_CHECK_H

#include "conf/conf.h"

/* 0; or -1 after a fault for each thing that is missing. What can be done without is warned of. */
int kernel_check(conf_fault_fn *fault, conf_fault_fn *warn, void *ctx);

#endif
