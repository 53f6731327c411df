/*
 * urls: what to type into a browser to reach a listener. A server that was started by options
 * alone, without a file, says it; reload.c calls it then.
 */
#ifndef H2D_MASTER_URLS_H
#define H2D_MASTER_URLS_H

#include <stdbool.h>

#include "base/addr.h"
#include "base/strbuf.h"

/*
 * Adds the URLs of a listener on addr, a space in front of each. 0.0.0.0 and [::] are localhost,
 * once for both, and every address that an interface of this machine has, but for link-local ones.
 * A unix socket has none.
 */
void urls_add(struct strbuf *out, const struct addr *addr, bool tls);

#endif
