/*
 * check_ws: frames as RFC 6455 has them, and those that no client may send, many of them cases of
 * the Autobahn test suite, whose numbers are beside them; each as a whole and byte by byte.
 */
#include "http/ws.h"

#include "unit_pure.h"

enum { MESSAGE_MAX = 70000, SCRIPT_MAX = 4096 };

/* Clients' frames are written as a server's, "81 05 hello", and masked here. */
#define MASKED "\x37\xfa\x21\x3d"

struct frame {
	uint8_t first;
	uint64_t n;          /* of the payload, as the head says it */
	const char *payload; /* NULL: as many bytes "x" */
};

/* All frames in a row. */
struct bytes {
	size_t n;
	char p[2 * MESSAGE_MAX];
};

static void put_masked(struct bytes *b, const struct frame *f)
{
	for (uint64_t i = 0; i < f->n; i++) {
		char c = f->payload != NULL ? f->payload[i] : 'x';

		b->p[b->n++] = (char)(c ^ MASKED[i % 4]);
	}
}

static void put(struct bytes *b, const struct frame *f)
{
	uint8_t head[WS_OUT_HEAD_MAX];
	size_t n = ws_head(head, WS_TEXT, f->n);

	head[0] = f->first;
	head[1] |= 0x80;
	memcpy(b->p + b->n, head, n);
	memcpy(b->p + b->n + n, MASKED, 4);
	b->n += n + 4;
	put_masked(b, f);
}

/* Events in words: "text hello", "ping p", "close 1000 bye", "fault 1002". */
struct script {
	char text[SCRIPT_MAX];
	size_t n, message;
	bool over; /* nothing more is read */
};

static void say(struct script *s, const char *word, struct slice found)
{
	int n = snprintf(s->text + s->n, SCRIPT_MAX - s->n, "%s%s %.*s", s->n > 0 ? "; " : "", word,
		found.n > 40 ? 40 : (int)found.n, found.n > 0 ? found.p : "");

	s->n += (size_t)n;
}

static void control(struct script *s, const struct ws_in *in, struct slice found)
{
	char word[32];
	struct ws_close c;

	if (in->op != WS_CLOSE) {
		say(s, in->op == WS_PING ? "ping" : "pong", found);
		return;
	}
	c = ws_close_read(found);
	snprintf(word, sizeof(word), c.wrong ? "wrong %d" : "close %d",
		(int)(c.wrong ? c.answer : c.code));
	say(s, word, c.wrong ? (struct slice){ 0 } : c.reason);
}

/* False: the bytes are used up, or it is over. */
static bool event(struct script *s, struct ws_in *in, char **data, const char *end)
{
	static char message[MESSAGE_MAX];
	struct slice found;
	char word[16];

	switch (ws_next(in, data, end, &found)) {
	case WS_MORE:
		ck_assert_ptr_eq(*data, end);
		return false;
	case WS_PIECE:
		memcpy(message + s->message, found.p, found.n);
		s->message += found.n;
		if (in->last) {
			ck_assert_uint_eq(s->message, in->message_n);
			say(s, in->message == WS_TEXT ? "text" : "binary",
				slice_of(message, s->message));
			s->message = 0;
		}
		return true;
	case WS_CONTROL:
		control(s, in, found);
		s->over = in->op == WS_CLOSE;
		return !s->over;
	default:
		snprintf(word, sizeof(word), "fault %d", in->code);
		say(s, word, (struct slice){ 0 });
		s->over = true;
		return false;
	}
}

static void run(struct script *s, const struct bytes *b, size_t step)
{
	static struct bytes own;
	struct ws_in in;

	own = *b;
	s->n = s->message = 0;
	s->over = false;
	s->text[0] = '\0';
	ws_in_init(&in, MESSAGE_MAX - 1);
	for (size_t at = 0; at < own.n && !s->over; at += step) {
		char *data = own.p + at, *end = data + (step < own.n - at ? step : own.n - at);

		while (event(s, &in, &data, end))
			;
	}
}

#define F(first, text) \
	{ \
		first, sizeof(text) - 1, text \
	}
#define N(first, n) \
	{ \
		first, n, NULL \
	}

static const struct {
	const char *autobahn;
	struct frame frames[6]; /* up to one of first byte 0 */
	const char *want;
} rows[] = {
	{ "1.1.1", { F(0x81, "") }, "text " },
	{ "1.1.2", { F(0x81, "hello") }, "text hello" },
	{ "1.1.4", { N(0x81, 126) }, "text xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
	{ "1.1.6", { N(0x81, 65535) }, "text xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
	{ "1.2.7", { N(0x82, 65536) }, "binary xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
	{ "2.1", { F(0x89, "") }, "ping " },
	{ "2.2", { F(0x89, "Hello, world!"), F(0x89, "2") }, "ping Hello, world!; ping 2" },
	{ "2.3", { F(0x89, "\xff\xfe") }, "ping \xff\xfe" },
	{ "2.4", { N(0x89, 125) }, "ping xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
	{ "2.5", { N(0x89, 126) }, "fault 1002 " },
	{ "2.7", { F(0x8a, "") }, "pong " },
	{ "3.1", { F(0xc1, "h") }, "fault 1002 " },
	{ "3.2", { F(0x81, "h"), F(0xa1, "i") }, "text h; fault 1002 " },
	{ "3.3", { F(0x91, "h") }, "fault 1002 " },
	{ "3.7", { F(0xf8, "") }, "fault 1002 " },
	{ "4.1.1", { F(0x83, "") }, "fault 1002 " },
	{ "4.1.5", { F(0x81, "h"), F(0x87, "i") }, "text h; fault 1002 " },
	{ "4.2.1", { F(0x8b, "") }, "fault 1002 " },
	{ "4.2.5", { F(0x8f, "p") }, "fault 1002 " },
	{ "5.1", { F(0x09, "a"), F(0x80, "b") }, "fault 1002 " },
	{ "5.2", { F(0x0a, "a"), F(0x80, "b") }, "fault 1002 " },
	{ "5.3", { F(0x01, "frag"), F(0x80, "ment") }, "text fragment" },
	{ "5.6", { F(0x01, "frag"), F(0x89, "p"), F(0x80, "ment") }, "ping p; text fragment" },
	{ "5.9", { F(0x80, "x"), F(0x81, "h") }, "fault 1002 " },
	{ "5.15", { F(0x01, "a"), F(0x80, "b"), F(0x80, "c") }, "text ab; fault 1002 " },
	{ "5.18", { F(0x01, "a"), F(0x81, "b") }, "fault 1002 " },
	{ "5.19", { F(0x01, "a"), F(0x89, "1"), F(0x89, "2"), F(0x80, "b") },
		"ping 1; ping 2; text ab" },
	{ "6.1.1", { F(0x01, ""), F(0x80, "") }, "text " },
	{ "6.1.3", { F(0x01, ""), F(0x80, "middle") }, "text middle" },
	{ "6.2.1", { F(0x81, "Hello-\xc2\xb5@\xc3\x9f\xe2\x82\xac") },
		"text Hello-\xc2\xb5@\xc3\x9f\xe2\x82\xac" },
	{ "6.2.3", { F(0x01, "\xe2"), F(0x89, "p"), F(0x80, "\x82\xac") },
		"ping p; text \xe2\x82\xac" },
	{ "6.3.1",
		{ F(0x81, "\xce\xba\xe1\xbd\xb9\xcf\x83\xed\xa0\x80"
			  "edited") },
		"fault 1007 " },
	{ "6.4.1", { F(0x01, "\xce\xba"), F(0x01, "x") }, "fault 1002 " },
	{ "6.4.2", { F(0x01, "\xf4\x90"), F(0x80, "\x80\x80") }, "fault 1007 " },
	{ "6.6.1", { F(0x81, "\xce") }, "fault 1007 " },
	{ "6.6.9", { F(0x01, "\xe1\xbd"), F(0x80, "") }, "fault 1007 " },
	{ "6.12.3", { F(0x81, "plain ASCII first \xc0\xaf") }, "fault 1007 " },
	{ "6.22.1", { F(0x81, "\xef\xbf\xbe") }, "text \xef\xbf\xbe" },
	{ "6.x", { F(0x82, "\xc0\xaf") }, "binary \xc0\xaf" },
	{ "7.1.1", { F(0x81, "h"), F(0x88, "") }, "text h; close 1005 " },
	{ "7.1.3", { F(0x88, "\x03\xe8"), F(0x89, "p") }, "close 1000 " },
	{ "7.1.5", { F(0x01, "a"), F(0x88, "\x03\xe8"), F(0x80, "b") }, "close 1000 " },
	{ "7.3.2", { F(0x88, "\x03") }, "wrong 1002 " },
	{ "7.3.4",
		{ F(0x88, "\x03\xe8"
			  "bye") },
		"close 1000 bye" },
	{ "7.3.6", { N(0x88, 126) }, "fault 1002 " },
	{ "7.5.1", { F(0x88, "\x03\xe8\xce\xba\xed\xa0\x80") }, "wrong 1007 " },
	{ "7.5.x", { F(0x88, "\x03\xe8\xe2\x82") }, "wrong 1007 " },
	{ "7.7.9", { F(0x88, "\x0b\xb8") }, "close 3000 " },
	{ "7.7.13", { F(0x88, "\x13\x87") }, "close 4999 " },
	{ "7.9.1", { F(0x88, "\x00\x00") }, "wrong 1002 " },
	{ "7.9.2", { F(0x88, "\x03\xe7") }, "wrong 1002 " },
	{ "7.9.3", { F(0x88, "\x03\xec") }, "wrong 1002 " },
	{ "7.9.4", { F(0x88, "\x03\xed") }, "wrong 1002 " },
	{ "7.9.5", { F(0x88, "\x03\xee") }, "wrong 1002 " },
	{ "7.9.6", { F(0x88, "\x03\xf8") }, "wrong 1002 " },
	{ "7.9.9", { F(0x88, "\x0b\xb7") }, "wrong 1002 " },
	{ "7.13.1", { F(0x88, "\x13\x88") }, "wrong 1002 " },
	{ "size", { N(0x81, MESSAGE_MAX) }, "fault 1009 " },
	{ "size", { N(0x01, MESSAGE_MAX - 1), F(0x80, "x") }, "fault 1009 " },
};

TEST_ROWS(test_frames, rows)
{
	static struct bytes b;
	static struct script s;

	b.n = 0;
	for (const struct frame *f = rows[_i].frames; f < rows[_i].frames + 6 && f->first != 0; f++)
		put(&b, f);
	run(&s, &b, sizeof(b.p));
	ck_assert_msg(strcmp(s.text, rows[_i].want) == 0, "%s: %s", rows[_i].autobahn, s.text);
	run(&s, &b, 1);
	ck_assert_msg(
		strcmp(s.text, rows[_i].want) == 0, "%s by bytes: %s", rows[_i].autobahn, s.text);
	run(&s, &b, 7);
	ck_assert_msg(
		strcmp(s.text, rows[_i].want) == 0, "%s by sevens: %s", rows[_i].autobahn, s.text);
}

/* Heads that no frame() above makes. */
static const struct {
	const char *bytes;
	size_t n;
	const char *want;
} heads[] = {
	{ "\x81\x05hello", 7, "fault 1002 " },           /* not masked */
	{ "\x82\xfe\x00\x7d" MASKED, 8, "fault 1002 " }, /* 125 in two bytes */
	{ "\x82\xff\0\0\0\0\0\0\xff\xff" MASKED, 14, "fault 1002 " },
	{ "\x82\xff\x80\0\0\0\0\0\0\0" MASKED, 14, "fault 1002 " },
	{ "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" MASKED, 14, "fault 1009 " },
	{ "\x00\x80" MASKED, 6, "fault 1002 " }, /* nothing to continue */
	{ "\x81", 1, "" },
};

TEST_ROWS(test_head, heads)
{
	static struct bytes b;
	static struct script s;

	b.n = heads[_i].n;
	memcpy(b.p, heads[_i].bytes, b.n);
	run(&s, &b, sizeof(b.p));
	ck_assert_str_eq(s.text, heads[_i].want);
	run(&s, &b, 1);
	ck_assert_str_eq(s.text, heads[_i].want);
}

TEST(test_out)
{
	uint8_t head[WS_OUT_HEAD_MAX];

	ck_assert_uint_eq(ws_head(head, WS_TEXT, 125), 2);
	ck_assert_mem_eq(head, "\x81\x7d", 2);
	ck_assert_uint_eq(ws_head(head, WS_BINARY, 126), 4);
	ck_assert_mem_eq(head, "\x82\x7e\x00\x7e", 4);
	ck_assert_uint_eq(ws_head(head, WS_CLOSE, 65535), 4);
	ck_assert_mem_eq(head, "\x88\x7e\xff\xff", 4);
	ck_assert_uint_eq(ws_head(head, WS_PONG, 65536), 10);
	ck_assert_mem_eq(head, "\x8a\x7f\0\0\0\0\0\1\0\0", 10);
}

TEST(test_codes)
{
	static const unsigned valid[] = { 1000, 1003, 1007, 1014, 3000, 4999 };
	static const unsigned wrong[] = { 0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535 };

	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		ck_assert(ws_code_valid(valid[i]));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert(!ws_code_valid(wrong[i]));
}

/* --- the handshake: keys, origins, subprotocols ----------------------------------------------- */

static const struct {
	const char *key;
	bool valid;
} keys[] = {
	{ "dGhlIHNhbXBsZSBub25jZQ==", true },
	{ "AAAAAAAAAAAAAAAAAAAAAA==", true },
	{ "", false },
	{ "dGhlIHNhbXBsZSBub25jZQ", false },
	{ "dGhlIHNhbXBsZSBub25jZQ==\n", false },
	{ "dGhlIHNhbXBsZSBub25jZSE=", false }, /* 17 bytes */
	{ "dGhlIHNhbXBsZSBub25j!Q==", false },
	{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", false },
};

TEST_ROWS(test_key, keys)
{
	ck_assert(ws_key_valid(slice_str(keys[_i].key)) == keys[_i].valid);
}

static const struct {
	const char *origin, *authority;
	bool same;
} origins[] = {
	{ "https://example.com", "example.com", true },
	{ "https://EXAMPLE.com", "example.com", true },
	{ "https://example.com", "example.com:443", true },
	{ "https://example.com:443", "example.com", true },
	{ "http://example.com", "example.com:80", true },
	{ "http://example.com:8080", "example.com:8080", true },
	{ "http://[::1]:8080", "[::1]:8080", true },
	{ "http://[::1]", "[::1]", true },
	{ "http://example.com", "example.com:443", false },
	{ "https://example.com", "example.com:80", false },
	{ "https://example.com", "example.com:8443", false },
	{ "https://example.com:8443", "example.com", false },
	{ "https://evil.example", "example.com", false },
	{ "https://example.com.evil.example", "example.com", false },
	{ "https://evilexample.com", "example.com", false },
	{ "https://example.com@evil.example", "example.com", false },
	{ "https://example.com/", "example.com", false },
	{ "http://[::1]:8080", "[::2]:8080", false },
	{ "https://", "example.com", false },
	{ "https://example.com", "", false },
	{ "https://", "", false },
	{ "file://example.com", "example.com", false },
	{ "example.com", "example.com", false },
	{ "null", "null", false },
	{ "", "", false },
};

TEST_ROWS(test_origin, origins)
{
	ck_assert(ws_origin_same(slice_str(origins[_i].origin), slice_str(origins[_i].authority),
			  false) == origins[_i].same);
}

/* A page that came without TLS may be anybody's, and the user's cookies go to wss: as well. */
TEST(test_origin_of_https)
{
	static const char *const authorities[] = { "example.com", "example.com:443",
		"example.com:80", "example.com:8443" };
	char origin[64];

	for (unsigned i = 0; i < sizeof(authorities) / sizeof(authorities[0]); i++) {
		struct slice authority = slice_str(authorities[i]);

		snprintf(origin, sizeof(origin), "http://%s", authorities[i]);
		ck_assert(ws_origin_same(slice_str(origin), authority, false));
		ck_assert(!ws_origin_same(slice_str(origin), authority, true));
		snprintf(origin, sizeof(origin), "https://%s", authorities[i]);
		ck_assert(ws_origin_same(slice_str(origin), authority, true));
	}
}

TEST(test_listed)
{
	static const char list[] = " https://a.example  https://b.example:8443 ";

	ck_assert(ws_origin_listed(SLICE("https://a.example"), list));
	ck_assert(ws_origin_listed(SLICE("https://B.example:8443"), list));
	ck_assert(!ws_origin_listed(SLICE("https://b.example"), list));
	ck_assert(!ws_origin_listed(SLICE("https://a.exampl"), list));
	ck_assert(!ws_origin_listed(SLICE(""), list));
	ck_assert(!ws_origin_listed(SLICE("https://a.example"), ""));
	ck_assert(ws_origin_listed(SLICE("null"), "*"));
}

static const struct {
	const char *spoken, *offered, *chosen;
} protocols[] = {
	{ "chat.v2 chat.v1", "chat.v1, chat.v2", "chat.v2" },
	{ "chat.v2 chat.v1", "chat.v1", "chat.v1" },
	{ "chat.v2", "chat.v1", "" },
	{ "chat.v2", "CHAT.V2", "" },
	{ "chat.v2", "", "" },
	{ "", "chat.v1", "" },
	{ "chat", " ,chat.v1,, chat ,", "chat" },
};

TEST_ROWS(test_protocol, protocols)
{
	struct slice chosen =
		ws_protocol_choose(protocols[_i].spoken, slice_str(protocols[_i].offered));

	ck_assert(slice_eq(chosen, slice_str(protocols[_i].chosen)));
}
