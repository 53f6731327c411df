/*
 * shared_mount: whether a folder is on a file system that other machines write to, too, as the list
 * of mounts has it. Gen_resources asks, for its warnings.
 */
#ifndef H2D_MACHINE_SHARED_MOUNT_H
#define H2D_MACHINE_SHARED_MOUNT_H

#include <stdbool.h>

enum { SHARED_MOUNT_TYPE = 32 };

/* The type of the file system ("nfs4"), where other machines may write to it; false: only this one
 * does, or nothing is known. The file system itself is asked for no more than stat(2). */
bool shared_mount(const char *path, char type[SHARED_MOUNT_TYPE]);

#endif
