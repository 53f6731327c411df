/*
 * mime: finds the media type of a file name by its extension, in the table mime.def, whose order is
 * what the binary search needs. Called by the keeper, and by the file replies for files from the
 * disk; never looks at content.
 */
#include "http/mime.h"

enum { EXTENSION_MAX = 15 }; /* longer than any row of mime.def */

enum kind { PACKED = 0, DATA = 1, TEXT = 3 }; /* bit 0 compressible, bit 1 text */

static const struct mime table[] = {
#define MIME(ext, kind, media_type) \
	{ SLICE_LIT(ext), SLICE_LIT(media_type), ((kind)&2) != 0, ((kind)&1) != 0 },
#include "http/mime.def"
};

static const struct mime unknown = {
	.extension = SLICE_LIT(""),
	.type = SLICE_LIT("application/octet-stream"),
};

/* What follows the last dot of the last segment; empty if only a hidden file's dot is there. */
static struct slice extension_of(struct slice path)
{
	size_t i = path.n;

	while (i > 0 && path.p[i - 1] != '.' && path.p[i - 1] != '/')
		i--;
	if (i < 2 || path.p[i - 1] != '.' || path.p[i - 2] == '/')
		return slice_of(path.p, 0);
	return slice_of(path.p + i, path.n - i);
}

const struct mime *mime_find(struct slice path)
{
	struct slice ext = extension_of(path);
	const struct mime *low = table, *high = table + sizeof(table) / sizeof(table[0]);
	char lower[EXTENSION_MAX];

	if (ext.n == 0 || ext.n > sizeof(lower))
		return &unknown;
	for (size_t i = 0; i < ext.n; i++)
		lower[i] = ext.p[i] >= 'A' && ext.p[i] <= 'Z' ? (char)(ext.p[i] | 0x20) : ext.p[i];
	while (low < high) {
		const struct mime *mid = low + (high - low) / 2;
		size_t n = mid->extension.n < ext.n ? mid->extension.n : ext.n;
		int order = memcmp(lower, mid->extension.p, n);

		if (order == 0 && ext.n == mid->extension.n)
			return mid;
		if (order < 0 || (order == 0 && ext.n < mid->extension.n))
			high = mid;
		else
			low = mid + 1;
	}
	return &unknown;
}
