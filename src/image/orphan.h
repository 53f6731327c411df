/*
 * orphan: a segment that no image in use has, and that responses still send from. It would keep its
 * last image alive, and new images wait when too many are, so a client that reads slowly could stop
 * them: after ORPHAN_MS what is borrowed of it is copied, and the rest, the segment and the image
 * are let go. What is copied stays where it was seen, so nobody's pointers change. A worker looks
 * for orphans once a second, by files_look(); it never blocks.
 */
#ifndef H2D_IMAGE_ORPHAN_H
#define H2D_IMAGE_ORPHAN_H

#include "base/lender.h"
#include "image/segment_map.h"

enum {
	ORPHAN_MS = 3000,              /* most responses take less */
	ORPHAN_COPIES_MAX = 128 << 20, /* bytes that a worker copies, all orphans together */
};

/*
 * The lender that all borrowers are to be asked with, because orphans are due; NULL: none is.
 * orphans_copy() follows in the same call from the loop.
 */
struct lender *orphans_due(struct segment_maps *all, uint64_t now_ms);

/*
 * All borrowers were asked: threads copy what they need. Orphans whose borrowers do not fit, or are
 * to let go, are due again at the next look.
 */
void orphans_copy(struct segment_maps *all);

#endif
