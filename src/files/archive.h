/*
 * archive: a directory with all it contains as one response, "?archive=tar" or "zip". A thread
 * walks the tree and makes a list of names, sizes and times (archive_list.c), from which the length
 * and the entity tag are known; the list is kept, shared and freed like a listing's text
 * (listing.h). The response (archive.c) makes the heads (archive_format.c), and reads one file
 * after the other by disk.h.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/states.h"
#include "base/strbuf.h"
#include "image/etag.h"

struct files;
struct h2d_req;
struct job;
struct listing_key;

enum archive_kind {
	ARCHIVE_NONE,
	ARCHIVE_TAR,
#ifdef HAVE_ZLIB
	ARCHIVE_ZIP,
#endif
	ARCHIVE_KINDS
};

enum {
	ARCHIVE_FILES_MAX = 100000,  /* files and directories */
	ARCHIVE_DEPTH_MAX = 64,      /* of directories */
	ARCHIVE_NAMES_MAX = 8 << 20, /* bytes */
	ARCHIVE_PATH = PATH_MAX + 8, /* room for a path and the name of the archive's top */
	ARCHIVES_MAX = 256,          /* under way in a worker */
	ARCHIVES_LEAST = 8,          /* of those, of a client */
};

/* --- the formats; pure ------------------------------------------------------------------------ */

struct archive_member {
	struct slice path; /* a directory's ends with "/" */
	uint64_t at;       /* offset of its head in the archive */
	uint64_t size;     /* of its content; 0: a directory */
	int64_t mtime;     /* seconds since 1970 */
	uint32_t crc;      /* of its content, once that was sent */
};

struct archive_end {
	uint64_t members, index_at, at; /* at: offset of the end, behind the index */
	unsigned left_out;
};

/* An archive is the head, content and tail of each member, the index of all, and the end. The
 * length of each part depends only on paths, sizes and times. */
struct archive_format {
	struct slice name, type;
	void (*head)(struct strbuf *t, const struct archive_member *m);
	void (*tail)(struct strbuf *t, const struct archive_member *m);
	/* NULL: the archive has no index, and no part depends on content: it has ranges. */
	void (*index)(struct strbuf *t, const struct archive_member *m);
	void (*end)(struct strbuf *t, const struct archive_end *e);
	/* The CRC of n more bytes; of none it is 0. For an index only. */
	unsigned long (*sum)(unsigned long crc, const unsigned char *p, unsigned n);
};

extern const struct archive_format archive_formats[ARCHIVE_KINDS];

/* The format of that name; ARCHIVE_NONE: this build has none. */
enum archive_kind archive_kind_of(struct slice name);

/* The kind of the last "archive=NAME" in a query. */
enum archive_kind archive_kind_asked(struct slice query);

/* --- the list --------------------------------------------------------------------------------- */

struct archive_entry {
	uint64_t at, size, ino;
	int64_t mtime_ns;
	uint32_t parent; /* number of its directory */
	uint32_t dir;    /* 1: a directory */
	uint32_t name;   /* its offset in names, in the order of the disk; ends with NUL */
	uint32_t depth;
	uint64_t dev;
};

/* The directory itself is the first entry; each directory's entries are sorted by name. */
struct archive_list {
	struct archive_entry *v;
	unsigned n, room;
	struct strbuf names;
	unsigned left_out; /* files and directories that the client may not read */
	uint64_t index_at, end_at, size;
};

/* Reads the tree of key and makes its list and the list's tag. 0; -errno: -E2BIG beyond the limits
 * above, -ECANCELED when j is no longer needed. May block. */
int archive_list_make(const struct listing_key *key, const struct job *j, struct archive_list *l,
	struct etag *etag);

/* Bytes of memory. */
size_t archive_list_room(const struct archive_list *l);

void archive_list_fini(struct archive_list *l);

/* Writes the path of entry n, with that of the first in front; a directory's ends with "/". */
struct slice archive_list_path(
	const struct archive_list *l, unsigned n, struct slice first, char to[ARCHIVE_PATH]);

/* The member of entry n without its crc; path: room for its path. */
struct archive_member archive_list_member(
	const struct archive_list *l, unsigned n, struct slice first, char path[ARCHIVE_PATH]);

/* The number of the member at that offset. */
unsigned archive_list_find(const struct archive_list *l, uint64_t at);

/* In req's arena: for each location of its site, the server's own last, '1' if req may have its
 * files in an archive of that kind, as they would be sent one by one. NULL: memory is out. */
const char *archive_open(struct h2d_req *req, enum archive_kind kind);

/* The name of the archive of the directory path, as a path: "d/". */
struct slice archive_top(struct slice path);

/* --- the response ----------------------------------------------------------------------------- */

enum archive_state {
#define ARCHIVE_STATE(name, next, help) ARCHIVE_##name,
#include "files/archive_state.def"
};
extern const struct states archive_states;

/* True: req asks for a directory, its path, as an archive that its location allows; the reply comes
 * later. Conditions, and ranges of a tar, hold as for a file. */
bool archive_reply(struct h2d_req *req, struct files *f);
