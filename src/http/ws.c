/*
 * ws: reads the heads of frames byte by byte, and their payload in one piece per call. Called by
 * the request core for each WebSocket; illegal input ends with WS_FAULT (RFC 6455, 5 and 8.1).
 */
#include "http/ws.h"

#include "http/authority.h"
#include "http/base64.h"
#include "http/field.h"

enum {
	FIN = 0x80,
	RSV = 0x70,
	OP = 0x0f,
	MASK = 0x80,
	LEN = 0x7f,
	LEN_16 = 126,
	LEN_64 = 127,
	CONTROL = 8, /* bit of the opcodes of control frames */
};

void ws_in_init(struct ws_in *in, uint64_t message_max)
{
	*in = (struct ws_in){ .message_max = message_max, .need = 2 };
}

static enum ws_found fault(struct ws_in *in, enum ws_code code)
{
	in->code = code;
	return WS_FAULT;
}

/* --- the head --------------------------------------------------------------------------------- */

static bool is_control(enum ws_op op)
{
	return op & CONTROL;
}

/* The first two bytes, which give the length of the head. False: illegal. */
static bool first_two(struct ws_in *in)
{
	unsigned op = in->head[0] & OP, len = in->head[1] & LEN;

	in->fin = in->head[0] & FIN;
	in->op = (enum ws_op)op;
	if (in->head[0] & RSV || !(in->head[1] & MASK))
		return false;
	in->need = (uint8_t)(6 + (len == LEN_16 ? 2 : len == LEN_64 ? 8 : 0));
	if (is_control(in->op))
		return op <= WS_PONG && in->fin && len <= WS_CONTROL_MAX;
	/* A message is continued while it is under way, and begun otherwise. */
	return op <= WS_BINARY && (op == WS_CONTINUATION) == (in->message != WS_CONTINUATION);
}

/* The whole head. A length uses the fewest bytes possible (RFC 6455, 5.2). */
static bool set_length(struct ws_in *in)
{
	unsigned bytes = in->need - 6u;

	in->left = bytes == 0 ? in->head[1] & LEN : 0;
	for (unsigned i = 0; i < bytes; i++)
		in->left = in->left << 8 | in->head[2 + i];
	memcpy(in->mask, in->head + 2 + bytes, 4);
	in->nhead = 0;
	in->need = 2;
	in->open = true;
	if (bytes == 2)
		return in->left >= LEN_16;
	return bytes == 0 || (in->left > UINT16_MAX && in->left <= INT64_MAX);
}

/* A frame of a message begins. */
static bool ws_fits(struct ws_in *in)
{
	if (in->op != WS_CONTINUATION) {
		in->message = in->op;
		in->message_n = 0;
		in->utf8 = (struct utf8_part){ 0 };
	}
	if (in->left > in->message_max - in->message_n)
		return false;
	in->message_n += in->left;
	return true;
}

static enum ws_found take_head(struct ws_in *in, char **data, const char *end)
{
	while (in->nhead < in->need) {
		if (*data == end)
			return WS_MORE;
		in->head[in->nhead++] = (uint8_t) * (*data)++;
		if (in->nhead == 2 && !first_two(in))
			return fault(in, WS_PROTOCOL_ERROR);
	}
	if (!set_length(in))
		return fault(in, WS_PROTOCOL_ERROR);
	in->ncontrol = 0;
	if (!is_control(in->op) && !ws_fits(in))
		return fault(in, WS_TOO_BIG);
	return WS_MORE;
}

/* --- the payload ------------------------------------------------------------------------------ */

/* Removes the mask, eight bytes at a time, and rotates it to the next byte. */
static void unmask(struct ws_in *in, char *p, size_t n)
{
	uint8_t turned[4];
	uint64_t wide, some;
	size_t i = 0;

	memcpy(&wide, in->mask, 4);
	memcpy((char *)&wide + 4, in->mask, 4);
	for (; n - i >= 8; i += 8) {
		memcpy(&some, p + i, 8);
		some ^= wide;
		memcpy(p + i, &some, 8);
	}
	for (; i < n; i++)
		p[i] = (char)((uint8_t)p[i] ^ in->mask[i % 4]);
	for (unsigned k = 0; k < 4; k++)
		turned[k] = in->mask[(n + k) % 4];
	memcpy(in->mask, turned, 4);
}

static enum ws_found got_control(struct ws_in *in, struct slice piece, struct slice *found)
{
	memcpy(in->control + in->ncontrol, piece.p, piece.n);
	in->ncontrol = (uint8_t)(in->ncontrol + piece.n);
	if (in->left > 0)
		return WS_MORE;
	*found = slice_of(in->control, in->ncontrol);
	return WS_CONTROL;
}

static enum ws_found got_piece(struct ws_in *in, struct slice piece, struct slice *found)
{
	in->last = in->left == 0 && in->fin;
	if (in->message == WS_TEXT && !utf8_goes_on(&in->utf8, piece))
		return fault(in, WS_NOT_UTF8);
	if (in->last && in->utf8.need > 0)
		return fault(in, WS_NOT_UTF8);
	if (piece.n == 0 && !in->last)
		return WS_MORE;
	*found = piece;
	return WS_PIECE;
}

static enum ws_found take_payload(
	struct ws_in *in, char **data, const char *end, struct slice *found)
{
	size_t n = (size_t)(end - *data);
	struct slice piece;

	if (n > in->left)
		n = (size_t)in->left;
	piece = slice_of(*data, n);
	unmask(in, *data, n);
	*data += n;
	in->left -= n;
	in->open = in->left > 0;
	return is_control(in->op) ? got_control(in, piece, found) : got_piece(in, piece, found);
}

enum ws_found ws_next(struct ws_in *in, char **data, const char *end, struct slice *found)
{
	enum ws_found what = WS_MORE;

	/* The message of the last piece is over. */
	if (in->last) {
		in->last = false;
		in->message = WS_CONTINUATION;
	}
	while (what == WS_MORE) {
		if (!in->open)
			what = take_head(in, data, end);
		if (what != WS_MORE || !in->open || (*data == end && in->left > 0))
			return what;
		what = take_payload(in, data, end, found);
	}
	return what;
}

/* --- a close ---------------------------------------------------------------------------------- */

/* IANA has assigned all up to 1014 except those for the lack of a code. */
bool ws_code_valid(unsigned code)
{
	return (code >= 1000 && code <= 1014 && code != 1004 && code != WS_NO_CODE &&
		       code != WS_CUT_OFF) ||
	       (code >= 3000 && code <= 4999);
}

struct ws_close ws_close_read(struct slice payload)
{
	struct ws_close c = { .code = WS_NO_CODE, .answer = WS_NO_CODE };

	if (payload.n == 0)
		return c;
	c.wrong = true;
	c.answer = WS_PROTOCOL_ERROR;
	if (payload.n < WS_CODE_BYTES)
		return c;
	c.code = (enum ws_code)((uint8_t)payload.p[0] << 8 | (uint8_t)payload.p[1]);
	if (!ws_code_valid(c.code))
		return c;
	c.reason = slice_of(payload.p + WS_CODE_BYTES, payload.n - WS_CODE_BYTES);
	c.wrong = !utf8_whole(c.reason);
	c.answer = c.wrong ? WS_NOT_UTF8 : c.code;
	return c;
}

/* --- output ----------------------------------------------------------------------------------- */

size_t ws_head(uint8_t head[WS_OUT_HEAD_MAX], enum ws_op op, uint64_t n)
{
	unsigned bytes = n < LEN_16 ? 0 : n <= UINT16_MAX ? 2 : 8;

	head[0] = (uint8_t)(FIN | op);
	head[1] = (uint8_t)(bytes == 0 ? n : bytes == 2 ? LEN_16 : LEN_64);
	for (unsigned i = 0; i < bytes; i++)
		head[2 + i] = (uint8_t)(n >> 8 * (bytes - 1 - i));
	return 2 + bytes;
}

/* --- the handshake: any page in a browser may have sent it, with the user's cookies ----------- */

enum { KEY_BYTES = 16, KEY_DIGITS = BASE64_ENCODED(KEY_BYTES) };

bool ws_key_valid(struct slice key)
{
	char bytes[BASE64_DECODED_MAX(KEY_DIGITS)];

	return key.n == KEY_DIGITS && base64_decode(key, bytes) == KEY_BYTES;
}

/* --- the origin ------------------------------------------------------------------------------- */

/* The port of an authority with that host, without its colon; usual if it has none. */
static struct slice port(struct slice authority, struct slice host, struct slice usual)
{
	size_t n = (size_t)(host.p + host.n - authority.p);

	while (n < authority.n && authority.p[n] != ':')
		n++;
	return n + 1 < authority.n ? slice_of(authority.p + n + 1, authority.n - n - 1) : usual;
}

bool ws_origin_same(struct slice origin, struct slice authority, bool https)
{
	static const struct slice schemes[] = { SLICE_LIT("http://"), SLICE_LIT("https://") };
	static const struct slice ports[] = { SLICE_LIT("80"), SLICE_LIT("443") };
	struct slice theirs = authority_host(authority), own, rest;

	for (unsigned i = https; i < 2; i++) {
		if (!slice_starts(origin, schemes[i]))
			continue;
		rest = slice_of(origin.p + schemes[i].n, origin.n - schemes[i].n);
		own = authority_host(rest);
		return own.n > 0 && slice_ieq(own, theirs) &&
		       slice_eq(port(rest, own, ports[i]), port(authority, theirs, ports[i]));
	}
	return false;
}

bool ws_origin_listed(struct slice origin, const char *list)
{
	struct slice word;

	while ((word = slice_next_word(&list, " ")).n > 0)
		if (slice_eq(word, SLICE("*")) || slice_ieq(word, origin))
			return true;
	return false;
}

/* --- the subprotocol -------------------------------------------------------------------------- */

struct slice ws_protocol_choose(const char *spoken, struct slice offered)
{
	struct slice word;

	while ((word = slice_next_word(&spoken, " ")).n > 0) {
		struct slice rest = offered, one;

		while (field_list_next(&rest, &one))
			if (slice_eq(one, word))
				return word;
	}
	return word;
}
