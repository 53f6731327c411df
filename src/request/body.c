/*
 * body: the source of content in memory, and the one that replaces lost content. Called by
 * protocols while they make output, and by body_ask() on the loop. Sources of files are in files/,
 * that of a handler's stream is in reply_stream.c.
 */
#include "request/body.h"

static ssize_t memory_ready(struct body *b, size_t want)
{
	return (ssize_t)(b->left < want ? b->left : want);
}

static int memory_emit(struct body *b, size_t n, struct outq *q)
{
	const char *p = b->p;

	b->p += n;
	b->left -= n;
	return b->ref != NULL ? outq_borrow(q, p, n, b->ref) : outq_copy(q, p, n);
}

static void memory_seek(struct body *b, uint64_t at, uint64_t n)
{
	b->p = b->first + at;
	b->left = n;
}

static bool memory_ask(const struct body *b, struct lender *lender)
{
	return b->ref == NULL || lender->needs(lender, b->ref, b->p, b->left) != LENDER_REFUSES;
}

static void memory_close(struct body *b)
{
	if (b->ref != NULL)
		ref_put(b->ref);
}

static const struct body_ops memory_ops = {
	.name = "memory",
	.ready = memory_ready,
	.emit = memory_emit,
	.seek = memory_seek,
	.ask = memory_ask,
	.close = memory_close,
};

void body_memory(struct body *b, const void *p, size_t n, struct ref *ref)
{
	b->ops = &memory_ops;
	b->left = n;
	b->p = b->first = p;
	b->ref = ref;
	if (ref != NULL)
		ref_get(ref);
}

static ssize_t lost_ready(struct body *b, size_t want)
{
	(void)b, (void)want;
	return BODY_FAILED;
}

static int lost_emit(struct body *b, size_t n, struct outq *q)
{
	(void)b, (void)n, (void)q;
	return -1;
}

/* Replaces a refused source: there is more, but it is lost. */
static const struct body_ops lost_ops = {
	.name = "lost",
	.ready = lost_ready,
	.emit = lost_emit,
};

void body_ask(struct body *b, struct lender *lender)
{
	if (b->ops == NULL || b->ops->ask == NULL || b->ops->ask(b, lender))
		return;
	if (b->ops->close != NULL)
		b->ops->close(b);
	b->ops = &lost_ops;
}

void body_close(struct body *b)
{
	if (b->ops != NULL && b->ops->close != NULL)
		b->ops->close(b);
	body_none(b);
}

/* --- trailers --------------------------------------------------------------------------------- */

int trailers_add(struct trailers **trailers, struct arena *arena, size_t limit, struct slice name,
	struct slice value)
{
	struct trailers *t = *trailers != NULL ? *trailers : arena_zalloc(arena, sizeof(*t));
	struct field copy;

	if (t == NULL)
		return -1;
	*trailers = t;
	t->size += name.n + value.n + 32;
	if (t->n == TRAILERS_MAX || t->size > limit)
		return 1;
	copy = (struct field){ arena_dup(arena, name), arena_dup(arena, value) };
	if (copy.name.p == NULL || copy.value.p == NULL)
		return -1;
	t->v[t->n++] = copy;
	return 0;
}
