/*
 * fuzz_multipart: a content-type, a line feed, and a body. The body is read whole, byte by byte,
 * and in pieces that a checksum of the input chooses: each time the same must come out. What comes
 * out is also held against a reader that sees the whole body at once and has no state.
 */
#include "driver.h"
#include "http/multipart.h"
#include "http/upload.h"

enum { PARTS_MAX = 8, OUT_MAX = 1 << 16 };

/* Events and content, written down. */
struct script {
	char out[OUT_MAX];
	size_t n;
	bool in_part, over;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void put(struct script *s, const void *p, size_t n)
{
	if (n > OUT_MAX - s->n)
		n = OUT_MAX - s->n;
	if (n > 0)
		memcpy(s->out + s->n, p, n);
	s->n += n;
}

static void put_slice(struct script *s, struct slice v)
{
	put(s, &v.n, sizeof(v.n));
	put(s, v.p, v.n);
}

static bool inside(struct slice in, const char *p, size_t n)
{
	return in.n <= n && in.p >= p && in.p + in.n <= p + n;
}

static void put_part(struct script *s, const struct multipart *m)
{
	const struct multipart_part *part = &m->part;

	check(inside(part->name, m->head, sizeof(m->head)));
	check(part->has_filename ? inside(part->filename, m->head, sizeof(m->head))
				 : part->filename.n == 0);
	put(s, "B", 1);
	put_slice(s, part->name);
	put_slice(s, part->filename);
	put_slice(s, part->content_type);
	file_name_check(part->filename);
}

/* False behind the last event of the piece. */
static bool event(struct script *s, struct multipart *m, struct slice *piece, bool last)
{
	const struct slice before = *piece;

	switch (multipart_next(m, piece, last)) {
	case MULTIPART_MORE:
		check(!last && !s->over && piece->n == 0);
		return false;
	case MULTIPART_BEGIN:
		check(!s->in_part && !s->over);
		s->in_part = true;
		put_part(s, m);
		return true;
	case MULTIPART_DATA:
		check(s->in_part && !s->over && m->data.n > 0);
		check(inside(m->data, before.p, before.n) ||
			inside(m->data, m->line, sizeof(m->line)));
		put(s, m->data.p, m->data.n);
		return true;
	case MULTIPART_END:
		check(s->in_part && !s->over);
		s->in_part = false;
		put(s, "E", 1);
		return true;
	case MULTIPART_DONE:
		check(!s->in_part && piece->n == 0);
		if (!s->over)
			put(s, "D", 1);
		s->over = true;
		return false;
	case MULTIPART_BAD:
		if (!s->over)
			put_slice(s, slice_str(m->err->name));
		s->over = true;
		return false;
	}
	abort();
}

/* step: of the pieces, 0: whole; above 1 it is where random ones begin. Each is in memory of its
 * own. */
static void run(struct script *s, const struct multipart *begin, struct slice body, unsigned step)
{
	static struct multipart m;
	size_t at = 0;

	m = *begin;
	s->n = 0;
	s->in_part = s->over = false;
	do {
		size_t n = step == 0 ? body.n : step;
		char *copy;
		struct slice piece;

		if (step > 1) {
			step = step * 1103515245 + 12345;
			n = (step >> 16) % ((step >> 8) % 8 == 0 ? 200 : 8);
			step |= 2;
		}
		n = n < body.n - at ? n : body.n - at;
		copy = malloc(n);
		memcpy(copy, body.p + at, n);
		piece = slice_of(copy, n);
		at += n;
		while (event(s, &m, &piece, at == body.n))
			;
		free(copy);
	} while (at < body.n);
	check(s->over);
}

/* How long the line of a boundary at body.p[i] is; 0: there is none. */
static size_t boundary_line(struct slice body, size_t i, struct slice dashes, bool *final)
{
	size_t n = dashes.n;

	if (!slice_starts(slice_of(body.p + i, body.n - i), dashes))
		return 0;
	*final = slice_starts(slice_of(body.p + i + n, body.n - i - n), SLICE("--"));
	n += *final ? 2 : 0;
	while (i + n < body.n && (body.p[i + n] == ' ' || body.p[i + n] == '\t'))
		n++;
	if (*final && i + n == body.n)
		return n;
	return slice_starts(slice_of(body.p + i + n, body.n - i - n), SLICE("\r\n")) ? n + 2 : 0;
}

/*
 * The next line of a boundary in body from i on, which is the begin of a line; body.n: none. Its
 * CRLF may be before i.
 */
static size_t find_line(struct slice body, size_t i, struct slice dashes, size_t *n, bool *final)
{
	for (size_t at = i; at < body.n; at++) {
		if (at != i && (at < i + 2 || memcmp(body.p + at - 2, "\r\n", 2) != 0))
			continue;
		*n = boundary_line(body, at, dashes, final);
		if (*n > 0)
			return at;
	}
	return body.n;
}

/* Whether there are so many blanks in a row that the limit for them may come into it. */
static bool has_blanks(struct slice body)
{
	size_t n = 0;

	for (size_t i = 0; i < body.n && n <= MULTIPART_PADDING_MAX; i++)
		n = body.p[i] == ' ' || body.p[i] == '\t' ? n + 1 : 0;
	return n > MULTIPART_PADDING_MAX;
}

/* The stateless reader. False: the limits come into it, which it does not know. */
static bool read_whole(struct script *s, struct slice body, struct slice dashes)
{
	size_t n = 0, i = 0, at;
	bool final = false;

	s->n = 0;
	for (unsigned parts = 0;; parts++) {
		static struct multipart m;
		struct slice head;
		const char *end;
		const struct err *err = NULL;

		at = find_line(body, i, dashes, &n, &final);
		if (parts > 0) {
			size_t content = at == body.n ? body.n : at > i + 1 ? at - 2 : i;

			put(s, body.p + i, content - i);
			/* What is held back at the end of what is cut off is not content. */
			if (at == body.n)
				return false;
			put(s, "E", 1);
		}
		if (at == body.n)
			return false;
		if (final) {
			put(s, "D", 1);
			return true;
		}
		i = at + n;
		head = slice_of(body.p + i, body.n - i);
		end = slice_starts(head, SLICE("\r\n")) ? head.p - 2
							: memmem(head.p, head.n, "\r\n\r\n", 4);
		if (end == NULL || end + 2 - head.p > MULTIPART_HEAD_MAX - 2 || parts == PARTS_MAX)
			return false;
		head.n = (size_t)(end + 2 - head.p);
		if (head.n > 0)
			memcpy(m.head, head.p, head.n);
		err = multipart_head_parse(m.head, head.n, &m.part);
		if (err != NULL)
			return false;
		put_part(s, &m);
		i += head.n + 2;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct script whole, other;
	static struct multipart m;
	unsigned sum = 2;
	struct slice type, body = slice_of(data, size);

	if (!slice_cut(&body, '\n', &type))
		return 0;
	if (multipart_init(&m, type, PARTS_MAX) != NULL)
		return 0;
	check(m.ndelimiter > 4 && m.ndelimiter <= sizeof(m.delimiter));
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	run(&whole, &m, body, 0);
	run(&other, &m, body, 1);
	check(slice_eq(slice_of(whole.out, whole.n), slice_of(other.out, other.n)));
	run(&other, &m, body, sum | 2);
	check(slice_eq(slice_of(whole.out, whole.n), slice_of(other.out, other.n)));
	if (!has_blanks(body) &&
		read_whole(&other, body, slice_of(m.delimiter + 2, m.ndelimiter - 2)))
		check(slice_eq(slice_of(whole.out, whole.n), slice_of(other.out, other.n)));
	return 0;
}
