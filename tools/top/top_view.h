/* top_view: the page of h2d top for a status: its lines, and their choice when there is little
 * room. */
#ifndef H2D_TOP_TOP_VIEW_H
#define H2D_TOP_TOP_VIEW_H

#include "tools/top/top_page.h"
#include "tools/top/top_status.h"

void top_view(struct top_page *p, const struct top_status *s);

#endif
