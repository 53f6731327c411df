/*
 * page: what the pages have in common that h2d makes itself: their head, a style for light and
 * dark, and the content-security-policy that lets this style through, whatever the configuration
 * adds.
 */
#ifndef H2D_HTTP_PAGE_H
#define H2D_HTTP_PAGE_H

#include "base/slice.h"

/* Up to the title's text, the style of all pages included. */
extern const char page_head[];

/* An element style for pages with a list of files. */
extern const char page_list_style[];

/* Value of content-security-policy: nothing but these two styles, by their SHA-256. */
extern const struct slice page_policy;

#endif
