/*
 * page: the common parts of h2d's own pages: their head, a style for light and dark, and the
 * content-security-policy that allows this style, whatever the configuration adds.
 */
#pragma once

#include "base/slice.h"

/* Up to the title's text, with the style of all pages. */
extern const char page_head[];

/* An element style for pages with a list of files. */
extern const char page_list_style[];

/* Value of content-security-policy: only these two styles, by their SHA-256. */
extern const struct slice page_policy;
