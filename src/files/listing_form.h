/*
 * listing_form: the form by which people upload into the folder that a listing shows. It works
 * without scripts; with them files can be dropped, and each has its progress. Called by listing.c,
 * and in a thread by listing_html.c.
 */
#ifndef H2D_FILES_LISTING_FORM_H
#define H2D_FILES_LISTING_FORM_H

#include "base/strbuf.h"
#include "request/req.h"

/*
 * Where the form of a listing of path sends files, relative to it, in req's arena. n 0: it has
 * none, as path is not the folder of uploads, nobody may write there, or not from the client's
 * address; or memory is out.
 */
struct slice listing_form_action(struct h2d_req *req, struct slice path);

void listing_form_write(struct slice action, struct strbuf *t);

/* Value of content-security-policy: as page_policy (http/page.h), with the form and its script. */
extern const struct slice listing_form_policy;

#endif
