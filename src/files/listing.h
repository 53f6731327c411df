/*
 * listing: the answer for a directory that has no index file and whose location says autoindex. It
 * is read and made into a page in an offload thread, below the root and by the rules that hold for
 * files: names that begin with a dot are not shown, .well-known aside, nor are links that leave the
 * root, unless those are followed.
 */
#ifndef H2D_FILES_LISTING_H
#define H2D_FILES_LISTING_H

#include "files/listing_text.h"

/*
 * Reads the directory that key names into page; its entries and names are from malloc, and page is
 * for listing_unread() whatever comes out. 0 or -errno,
 * -ECANCELED when nobody wants the job j any more; may block.
 */
int listing_read(const struct listing_key *key, unsigned max, const struct job *j,
	struct listing_page *page);
void listing_unread(struct listing_page *page);

/*
 * Answers req with the directory path, which begins and ends with "/", below root; both are copied.
 * As HTML or JSON by accept, in a coding by accept-encoding, in the order that the query asks for;
 * with an entity tag, and conditions that go with it. 404, 403 or 503 if it cannot be read. The
 * reply comes later. all outlives the request. follows: symbolic links may lead out of the root.
 */
void listing_reply(struct h2d_req *req, struct listings *all, const char *root, struct slice path,
	bool follows);

#endif
