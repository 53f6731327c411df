/*
 * kernel_check: tries the features that h2d needs from the kernel, and from a container that
 * filters system calls, before it serves: a missing one is reported by its name, with its purpose
 * and origin (kernel_check.def).
 */
#ifndef H2D_MACHINE_KERNEL_CHECK_H
#define H2D_MACHINE_KERNEL_CHECK_H

#include "conf/conf.h"

/* 0; or -1 after a fault for each missing feature. Warns of optional ones. */
int kernel_check(conf_fault_fn *fault, conf_fault_fn *warn, void *ctx);

#endif
