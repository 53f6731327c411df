/* top_view: the page of h2d top for a status: its lines, and their choice when there is little
 * room. */
#pragma once

#include "tools/top/top_page.h"
#include "tools/top/top_status.h"

void top_view(struct top_page *p, const struct top_status *s);
