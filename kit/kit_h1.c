/*
 * kit_h1: a client of HTTP/1.1 for h2d/test.h. It parses an answer again from its first byte
 * whenever more has come, because answers of tests are short.
 */
#include <stdlib.h>
#include <strings.h>

#include "base/assert.h"
#include "kit/kit.h"

static void kit_h1_say(struct h2d_test *t, const char *text)
{
	kit_say(t, text, strlen(text));
}

static void kit_h1_begin(struct h2d_test *t, const char *method, const char *path,
	const char *const *fields, bool body, int64_t length)
{
	struct strbuf head = { 0 };

	strbuf_printf(&head, "%s %s HTTP/1.1\r\nhost: localhost\r\n", method, path);
	for (; fields[0] != NULL; fields += 2)
		strbuf_printf(&head, "%s: %s\r\n", fields[0], fields[1]);
	t->chunked = body && length < 0;
	if (t->chunked)
		strbuf_printf(&head, "transfer-encoding: chunked\r\n");
	else if (body)
		strbuf_printf(&head, "content-length: %lld\r\n", (long long)length);
	strbuf_printf(&head, "\r\n");
	kit_say(t, head.p, head.n);
	strbuf_fini(&head);
}

static void kit_h1_piece(struct h2d_test *t, const void *data, size_t len)
{
	char size[24];

	if (t->chunked) {
		snprintf(size, sizeof(size), "%zx\r\n", len);
		kit_h1_say(t, size);
	}
	kit_say(t, data, len);
	if (t->chunked)
		kit_h1_say(t, "\r\n");
}

static void kit_h1_end(struct h2d_test *t)
{
	if (t->chunked)
		kit_h1_say(t, "0\r\n\r\n");
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The next line of *text, without its end. False: it is incomplete. */
static bool line_of(struct slice *text, struct slice *line)
{
	const char *lf = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;

	if (lf == NULL)
		return false;
	*line = slice_of(text->p, (size_t)(lf - text->p) - 1);
	*text = slice_of(lf + 1, text->n - (size_t)(lf + 1 - text->p));
	return true;
}

/* False: the head is incomplete. */
static bool read_head(struct h2d_test *t, struct slice *text)
{
	struct slice line;

	t->fields.n = 0;
	if (!line_of(text, &line))
		return false;
	t->status = atoi(line.p + strlen("HTTP/1.1 "));
	while (line_of(text, &line)) {
		const char *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;

		if (line.n == 0)
			return true;
		H2D_ASSERT(colon != NULL);
		kit_field(t, slice_of(line.p, (size_t)(colon - line.p)),
			slice_of(colon + 2, line.n - (size_t)(colon + 2 - line.p)));
	}
	t->status = 0;
	return false;
}

/* True: its last chunk has come. */
static bool read_chunks(struct h2d_test *t, struct slice text)
{
	struct slice line;

	while (line_of(&text, &line)) {
		size_t n = strtoul(line.p, NULL, 16);

		if (n == 0)
			return true;
		if (n + 2 > text.n)
			return false;
		strbuf_add(&t->content, slice_of(text.p, n));
		text = slice_of(text.p + n + 2, text.n - n - 2);
	}
	return false;
}

static void read_answer(struct h2d_test *t)
{
	struct slice text = slice_of(t->raw.p, t->raw.n);
	const char *length;

	do {
		if (!read_head(t, &text))
			return;
	} while (t->status < 200);
	t->content.n = 0;
	length = kit_find(t, "content-length");
	if (t->head || t->status == 204 || t->status == 304) {
		t->complete = true;
	} else if (length != NULL) {
		strbuf_add(&t->content, text);
		t->complete = text.n >= strtoul(length, NULL, 10);
	} else if (kit_find(t, "transfer-encoding") != NULL) {
		t->complete = read_chunks(t, text);
	} else {
		strbuf_add(&t->content, text);
		t->complete = t->proto->ops->waits(t->proto) == PROTO_OVER;
	}
}

static void kit_h1_take(struct h2d_test *t, const void *data, size_t n)
{
	strbuf_add(&t->raw, slice_of(data, n));
	H2D_ASSERT(!t->raw.failed);
	read_answer(t);
}

static void nothing(struct h2d_test *t)
{
	(void)t;
}

const struct kit_client kit_h1 = {
	.speak = h1_open,
	.open = nothing,
	.begin = kit_h1_begin,
	.piece = kit_h1_piece,
	.end = kit_h1_end,
	.take = kit_h1_take,
	.close = nothing,
};
