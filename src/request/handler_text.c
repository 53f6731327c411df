/* handler_text: the strings that a request's handler has got. With AddressSanitizer only. */
#include "request/handler_text.h"

#ifdef __SANITIZE_ADDRESS__
#include <stdlib.h>

#include "base/assert.h"

struct copy {
	struct belonging belonging; /* of the request */
	struct slice of;
	char text[];
};

static void handler_text_leave(struct belonging *b)
{
	free(LIST_ENTRY(b, struct copy, belonging));
}

static struct copy *handler_text_find(struct list *all, struct slice s)
{
	if (!belonging_any(all))
		return NULL;
	LIST_FOREACH(node, all) {
		struct belonging *b = LIST_ENTRY(node, struct belonging, node);
		struct copy *c = LIST_ENTRY(b, struct copy, belonging);

		if (b->leave == handler_text_leave && c->of.p == s.p && c->of.n == s.n)
			return c;
	}
	return NULL;
}

const char *handler_text_own(const struct h2d_req *req, struct slice s)
{
	struct list *all = (struct list *)(uintptr_t)&req->belongings;
	struct copy *c = handler_text_find(all, s);

	if (c != NULL)
		return c->text;
	H2D_ASSERT(s.p[s.n] == '\0');
	c = malloc(sizeof(*c) + s.n + 1);
	H2D_ASSERT(c != NULL);
	c->of = s;
	memcpy(c->text, s.p, s.n + 1);
	belonging_add(all, &c->belonging, handler_text_leave);
	return c->text;
}
#endif
