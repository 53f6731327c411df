/*
 * spelling: whether a path is spelled as the directories it leads through have it. Rules are found
 * by paths, byte by byte; a file system that takes /SECRET or /SECRET~1 for /secret would lead
 * around them. The keeper takes in no name of another spelling, workers answer 404 to it.
 */
#ifndef H2D_IMAGE_SPELLING_H
#define H2D_IMAGE_SPELLING_H

/*
 * Looks at the first n segments of path, which is there, below the directory root. 0; -ENOENT:
 * there it has another name; another -errno. Reads a directory whose file system is not known to
 * compare names by their bytes, so it may block; with BENEATH_CACHED it answers -EAGAIN instead.
 * BENEATH_LEAVE as path was opened with.
 */
int spelling_check(int root, const char *path, unsigned n, unsigned flags);

#endif
