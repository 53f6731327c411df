/*
 * store_room: whether the file systems of all folders of uploads have room for more, for
 * health-min-free. One worker looks about once a second; a thread does it.
 */
#ifndef H2D_STORE_STORE_ROOM_H
#define H2D_STORE_STORE_ROOM_H

#include "files/files.h"
#include "rules/site.h"

enum store_room {
	STORE_ROOM_UNKNOWN, /* nobody has looked */
	STORE_ROOM_ENOUGH,
	STORE_ROOM_LOW, /* or a file system does not answer */
};

/*
 * Begins another look, unless one is under way. What it finds goes to *to, an enum store_room that
 * other processes may read, as soon as it is known. wanted: bytes that each must have, at least 1.
 * What is low is logged when it becomes so. sites and to outlive it.
 */
void store_room_look(struct files *f, const struct sites *sites, uint64_t wanted, uint32_t *to);

#endif
