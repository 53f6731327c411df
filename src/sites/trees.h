/*
 * trees: the configuration that worker and keeper need to serve and cache files: the roots of all
 * server blocks, each once, however many blocks serve it, and the media types of each block. The
 * master makes it with each generation; it never changes after the fork.
 */
#pragma once

#include "base/arena.h"
#include "base/name_map.h"
#include "conf/conf_fault.h"
#include "http/mime.h"
#include "image/doc_root.h"

struct trees {
	struct doc_roots files; /* the conf owns its strings */
	struct doc_root *roots;
	unsigned *of_server;      /* per server block: the number of its root */
	unsigned **of_location;   /* per location of a server block: the number of its root */
	struct mime_types *types; /* per server block */
	struct arena memory;      /* of all of this but numbers and files.escapes */
	struct name_map numbers;  /* by path: the last root with it, plus 1 */
	unsigned *before;         /* per root: the one before with its path, plus 1 */
	bool oom;
};

/* built: the codings of this build (bit set by enum coding). False after at least one fault. */
bool trees_init(
	struct trees *t, const struct conf *conf, unsigned built, struct conf_faults *faults);
void trees_fini(struct trees *t);
