/*
 * sidecar: takes the extension of a content coding from a name, or puts it there. The catalogue
 * calls it; it knows no files.
 */
#include "keeper/sidecar.h"

#include <string.h>

enum coding sidecar_coding(struct slice path, struct slice *base)
{
	for (enum coding i = 0; i < CODINGS; i++) {
		struct slice ext = coding_extensions[i];

		if (path.n <= ext.n + 1 || path.p[path.n - ext.n - 1] != '.' ||
			!slice_ends(path, ext))
			continue;
		*base = slice_of(path.p, path.n - ext.n - 1);
		return i;
	}
	return CODING_NONE;
}

struct slice sidecar_name(struct slice path, enum coding coding, char buf[PATH_MAX])
{
	struct slice ext = coding_extensions[coding];

	if (path.n + ext.n + 2 > PATH_MAX)
		return slice_of(buf, 0);
	memcpy(buf, path.p, path.n);
	buf[path.n] = '.';
	memcpy(buf + path.n + 1, ext.p, ext.n);
	return slice_of(buf, path.n + 1 + ext.n);
}
