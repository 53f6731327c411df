/*
 * fuzz_ws: frames of a client, read whole, byte by byte, and in pieces that a checksum of the input
 * chooses: each time the same messages and control frames come out, texts are UTF-8, and none is
 * longer than may be.
 */
#include "driver.h"
#include "http/ws.h"

enum { MESSAGE_MAX = 4096, OUT_MAX = 1 << 16 };

/* Messages and control frames, written down. */
struct script {
	char out[OUT_MAX];
	size_t n;
	char message[MESSAGE_MAX];
	size_t nmessage;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void put(struct script *s, unsigned kind, struct slice what)
{
	size_t n = what.n < OUT_MAX - s->n ? what.n : OUT_MAX - s->n;

	if (n > 0)
		memcpy(s->out + s->n, what.p, n);
	s->n += n;
	if (s->n < OUT_MAX)
		s->out[s->n++] = (char)kind;
}

static void check_text(struct slice text)
{
	while (text.n > 0) {
		size_t n = utf8_sequence(text);

		check(n > 0);
		text = slice_of(text.p + n, text.n - n);
	}
}

static void put_piece(struct script *s, const struct ws_in *in, struct slice piece)
{
	check(s->nmessage + piece.n <= in->message_n && in->message_n <= MESSAGE_MAX);
	memcpy(s->message + s->nmessage, piece.p, piece.n);
	s->nmessage += piece.n;
	if (!in->last)
		return;
	check(s->nmessage == in->message_n);
	if (in->message == WS_TEXT)
		check_text(slice_of(s->message, s->nmessage));
	put(s, in->message, slice_of(s->message, s->nmessage));
	s->nmessage = 0;
}

/* False: nothing more is read. */
static bool read_piece(struct script *s, struct ws_in *in, char *data, const char *end)
{
	struct slice found;

	for (;;) {
		switch (ws_next(in, &data, end, &found)) {
		case WS_MORE:
			check(data == end);
			return true;
		case WS_PIECE:
			put_piece(s, in, found);
			break;
		case WS_CONTROL:
			check(found.n <= WS_CONTROL_MAX);
			put(s, in->op, found);
			if (in->op == WS_CLOSE)
				put(s, ws_close_read(found).answer & 0xff,
					ws_close_read(found).reason);
			break;
		case WS_FAULT:
			put(s, in->code & 0xff, (struct slice){ 0 });
			return false;
		}
	}
}

/* step: of the pieces, 0: whole; above 1 it is where random ones begin. Each is in memory of its
 * own. */
static void run(struct script *s, const uint8_t *data, size_t size, unsigned step)
{
	struct ws_in in;
	bool more = true;

	s->n = s->nmessage = 0;
	ws_in_init(&in, MESSAGE_MAX);
	for (size_t at = 0, n; at < size && more; at += n) {
		char *copy;

		n = step == 0 ? size : step;
		if (step > 1) {
			step = step * 1103515245 + 12345;
			n = (step >> 16) % ((step >> 8) % 8 == 0 ? 200 : 8) + 1;
			step |= 2;
		}
		n = n < size - at ? n : size - at;
		copy = malloc(n);
		memcpy(copy, data + at, n);
		more = read_piece(s, &in, copy, copy + n);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct script whole, other;
	struct slice all = slice_of(data, size);
	unsigned sum = 2;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	run(&whole, data, size, 0);
	run(&other, data, size, 1);
	check(slice_eq(slice_of(whole.out, whole.n), slice_of(other.out, other.n)));
	run(&other, data, size, sum | 2);
	check(slice_eq(slice_of(whole.out, whole.n), slice_of(other.out, other.n)));
	check(ws_protocol_choose("chat", all).n == 0 || memmem(data, size, "chat", 4) != NULL);
	check(!ws_origin_same(all, SLICE("example.com"), false) || memchr(data, '/', size) != NULL);
	ws_key_valid(all);
	return 0;
}
