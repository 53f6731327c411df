/*
 * shared_mount: which promises of uploads the file system of a folder does not keep among machines
 * that share it, as the list of mounts has it (shared_mount.def). Gen_resources asks, for its
 * warnings.
 */
#ifndef H2D_MACHINE_SHARED_MOUNT_H
#define H2D_MACHINE_SHARED_MOUNT_H

/* Called for each promise that is lost; type ("nfs4") and what are there for the call. */
typedef void shared_mount_fn(void *ctx, const char *type, const char *what);

/*
 * Looks path's mount up in the list mounts, which is as /proc/self/mountinfo (proc(5)). Where it
 * is not found nothing is said. The file system itself is asked for no more than stat(2).
 */
void shared_mount_lost(const char *mounts, const char *path, shared_mount_fn *fn, void *ctx);

#endif
