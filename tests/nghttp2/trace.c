/*
 * trace: what a libnghttp2 does, one line per input: how many events there were, and a hash of
 * them. Linked with nghttp2 as it is and with nghttp2 as patches/ make it, it says the same of
 * every input (scripts/check-nghttp2). "trace FILE…" takes what clients send behind their preface;
 * "trace -n COUNT" makes that many connections up, the same ones each time: good and bad fields,
 * literal and by index, Huffman codes, table sizes, trailers, and all of it damaged. -v shows the
 * events themselves.
 */
#include <nghttp2/nghttp2.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 1 << 20, FIELDS_MAX = 24 };

static bool verbose;
static uint64_t hash;
static unsigned long events;
static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void add(const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
}

static __attribute__((format(printf, 1, 2))) void event(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add(text, strlen(text));
	events++;
	if (verbose)
		printf("    %s\n", text);
}

static void end_of_input(const char *name)
{
	printf("%s: %lu events, %016llx\n", name, events, (unsigned long long)hash);
	hash = 0xcbf29ce484222325;
	events = 0;
}

/* --- a session
 * ------------------------------------------------------------------------------------ */

static ssize_t body_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	(void)session, (void)source, (void)user;
	size_t n = length < 612 ? length : 612;

	memset(buf, 'a' + id % 26, n);
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static nghttp2_nv field(const char *name, const char *value, uint8_t flags)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
		flags };
}

static void answer(nghttp2_session *session, int32_t id)
{
	const uint8_t kept = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
	nghttp2_data_provider body = { .read_callback = body_read };
	char tag[32];

	snprintf(tag, sizeof(tag), "\"%x-%x\"", id, id * 77);
	nghttp2_nv fields[] = {
		field(":status", id % 7 == 0 ? "404" : "200", kept),
		field("server", "h2d", kept),
		field("Content-Type", "text/html; charset=utf-8", NGHTTP2_NV_FLAG_NO_COPY_VALUE),
		field("etag", tag, NGHTTP2_NV_FLAG_NO_COPY_NAME),
		field("x-number", id % 3 == 0 ? "one" : "another", NGHTTP2_NV_FLAG_NONE),
		field("set-cookie", "a=b", NGHTTP2_NV_FLAG_NO_INDEX),
	};

	event("response %d", nghttp2_submit_response(
				     session, id, fields, sizeof(fields) / sizeof(*fields), &body));
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	(void)user;
	event("frame %d %x %d %zu", frame->hd.type, frame->hd.flags, frame->hd.stream_id,
		frame->hd.length);
	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
		frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		answer(session, frame->hd.stream_id);
	return 0;
}

static int on_field(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
	nghttp2_rcbuf *value, uint8_t flags, void *user)
{
	nghttp2_vec n = nghttp2_rcbuf_get_buf(name), v = nghttp2_rcbuf_get_buf(value);

	(void)session, (void)user;
	event("field %d %d %zu %zu", frame->hd.stream_id, flags, n.len, v.len);
	event("%.*s: %.*s", (int)n.len, n.base, (int)v.len, v.base);
	add(n.base, n.len);
	add(v.base, v.len);
	return 0;
}

static int on_bad_field(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
	nghttp2_rcbuf *value, uint8_t flags, void *user)
{
	event("bad");
	return on_field(session, frame, name, value, flags, user);
}

static int on_bad_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user)
{
	(void)session, (void)user;
	event("bad frame %d %d %d", frame->hd.type, frame->hd.stream_id, error);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
	size_t n, void *user)
{
	(void)session, (void)user;
	event("data %d %d %zu", flags, id, n);
	add(data, n);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
	(void)session, (void)user;
	event("closed %d %u", id, error);
	return 0;
}

static int on_error(nghttp2_session *session, int code, const char *text, size_t n, void *user)
{
	(void)session, (void)user;
	event("error %d %.*s", code, (int)n, text);
	return 0;
}

static nghttp2_session *session_new(unsigned kind)
{
	nghttp2_session_callbacks *calls;
	nghttp2_option *option;
	nghttp2_session *session;

	nghttp2_session_callbacks_new(&calls);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
	nghttp2_session_callbacks_set_on_header_callback2(calls, on_field);
	nghttp2_session_callbacks_set_on_invalid_header_callback2(calls, on_bad_field);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(calls, on_bad_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
	nghttp2_session_callbacks_set_error_callback2(calls, on_error);
	nghttp2_option_new(&option);
	nghttp2_option_set_no_closed_streams(option, kind & 1);
	nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, (kind >> 1) & 1);
	if (nghttp2_session_server_new2(&session, calls, NULL, option) != 0)
		abort();
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(calls);
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, (kind >> 2) & 1 },
		{ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1 },
		{ NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, kind & 8 ? 256 : 4096 },
	};
	nghttp2_submit_settings(
		session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(*settings));
	return session;
}

static void session_send(nghttp2_session *session)
{
	const uint8_t *data;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(session, &data)) > 0) {
		event("sent %zd", n);
		add(data, (size_t)n);
	}
	if (n < 0)
		event("not sent %zd", n);
}

/* Gives a session what a client sends, at once or in pieces, until it has no use for more. */
static void session_run(const uint8_t *data, size_t n, unsigned kind, bool in_pieces)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	nghttp2_session *session = session_new(kind);

	nghttp2_session_mem_recv(session, (const uint8_t *)preface, sizeof(preface) - 1);
	for (size_t k; n > 0; data += k, n -= k) {
		k = in_pieces ? 1 + draw(n < 40 ? n : 40) : n;
		uint8_t *piece =
			malloc(k); /* so that AddressSanitizer sees what is read behind it */
		memcpy(piece, data, k);
		ssize_t taken = nghttp2_session_mem_recv(session, piece, k);
		free(piece);
		event("taken %zd", taken);
		session_send(session);
		if (taken != (ssize_t)k || (!nghttp2_session_want_read(session) &&
						   !nghttp2_session_want_write(session)))
			break;
	}
	nghttp2_session_del(session);
}

static void session_input(const char *name, const uint8_t *data, size_t n, unsigned kind)
{
	session_run(data, n, kind, false);
	end_of_input(name);
	session_run(data, n, kind, true);
	end_of_input(name);
}

/* --- what is made up
 * ------------------------------------------------------------------------------ */

static const char *const names[] = {
	":method",
	":path",
	":scheme",
	":authority",
	":protocol",
	":status",
	":",
	":unknown",
	"host",
	"te",
	"connection",
	"keep-alive",
	"proxy-connection",
	"transfer-encoding",
	"upgrade",
	"content-length",
	"priority",
	"cookie",
	"etag",
	"user-agent",
	"accept",
	"accept-encoding",
	"authorization",
	"if-none-match",
	"x-own",
	"x",
	"Upper",
	"x-Upper",
	"bad name",
	"bad\x01name",
	"",
	"na\xc3\xafve",
	"under_score",
	"~tilde",
	"co:lon",
	"location",
	"age",
	"via",
	"a-name-that-is-longer-than-the-others-and-has-no-token",
};
static const char *const values[] = {
	"GET",
	"HEAD",
	"POST",
	"CONNECT",
	"OPTIONS",
	"get it",
	"",
	"/",
	"/index.html",
	"/a/b?c=d",
	"*",
	"/a b",
	"/\xc3\xa9",
	"no-slash",
	"http",
	"https",
	"HTTP",
	"ht tp",
	"1http",
	"websocket",
	"example.org",
	"example.org:8443",
	"[::1]:80",
	"ex ample",
	"ex\"ample",
	"trailers",
	"gzip, deflate",
	"0",
	"612",
	"007",
	"-1",
	"18446744073709551616",
	"u=3, i",
	"u=9",
	" ",
	" before",
	"after ",
	"\tbefore",
	"after\t",
	"be tween",
	"a\x01",
	"a\x7f",
	"a\x80\xff",
	"a\r\nb: c",
	"\"0123456789abcdef\"",
	"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
	"close",
	"a=b; c=d",
	"Basic dXNlcjpwYXNz",
	"200",
	"404",
	"101",
	"XXXXXXXXXXZZZZZZZZZZ&&&&&&&&&&**********",
};
#define ANY(list) (list[draw(sizeof(list) / sizeof(*(list)))])

static uint8_t input[INPUT_MAX];
static size_t input_n;
static bool careful;      /* nothing that ends the connection */
static unsigned in_table; /* entries that the peer's table has, as far as is known */

static void put(const void *data, size_t n)
{
	if (n <= sizeof(input) - input_n) {
		memcpy(input + input_n, data, n);
		input_n += n;
	}
}

static void put_byte(unsigned byte)
{
	put(&(uint8_t){ (uint8_t)byte }, 1);
}

static void put_integer(unsigned first, unsigned prefix, uint64_t n)
{
	unsigned most = (1U << prefix) - 1;

	put_byte(first | (n < most ? (unsigned)n : most));
	if (n < most)
		return;
	for (n -= most; n >= 128; n >>= 7)
		put_byte(128 | (n & 127));
	put_byte((unsigned)n);
}

static void put_string(const char *text)
{
	put_integer(0, 7, strlen(text));
	put(text, strlen(text));
}

/* Bytes that may be a Huffman code: any, or many ones, with which long codes, the padding and EOS
 * begin. */
static void put_code(void)
{
	size_t n = draw(12);

	put_integer(0x80, 7, n);
	while (n-- > 0)
		put_byte(draw(3) == 0 ? 0xff : (unsigned)draw(256));
}

/* An index, of the static table or of what was put into the other one. */
static uint64_t any_index(void)
{
	if (!careful && draw(8) == 0)
		return draw(300);
	return in_table > 0 && draw(2) == 0 ? 62 + draw(in_table) : 1 + draw(61);
}

static void put_field(void)
{
	static const unsigned literal[] = { 0x00, 0x10, 0x40, 0x40, 0x40 };
	unsigned first = ANY(literal);

	switch (draw(12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		put_integer(0x80, 7, any_index());
		return;
	case 4:
		if (!careful)
			put_integer(0x20, 5, draw(3) == 0 ? draw(5000) : draw(300));
		return;
	case 5:
	case 6:
	case 7:
		put_integer(first, first == 0x40 ? 6 : 4, any_index());
		break;
	default:
		put_byte(first);
		if (!careful && draw(10) == 0)
			put_code();
		else
			put_string(ANY(names));
	}
	if (!careful && draw(5) == 0)
		put_code();
	else
		put_string(ANY(values));
	in_table += first == 0x40 && in_table < 30;
}

/* So many small entries that their indices take two bytes. */
static void put_small_fields(void)
{
	for (in_table = 0; in_table < 100; in_table++) {
		put_byte(0x40);
		put_string("x");
		put_string(in_table % 2 == 0 ? "a" : "b");
	}
}

/* A block of one frame, or, every now and then, of two. */
static void put_headers(nghttp2_hd_deflater *deflater, uint32_t stream)
{
	static uint8_t block[1 << 16];
	size_t start = input_n, n, cut;
	nghttp2_nv fields[FIELDS_MAX];
	size_t fields_n = 0;

	switch (careful ? draw(2) : draw(4)) {
	case 0: /* a request that holds, but for what follows it */
		put_byte(0x82);
		put_byte(0x86);
		put_integer(0x40, 6, 1);
		put_string("example.org");
		put_byte(0x04);
		put_string("/small.html");
		in_table += in_table < 30;
		if (draw(20) == 0)
			put_small_fields();
		break;
	case 2: /* the library's own encoding, with Huffman codes */
		fields[fields_n++] = field(":method", "GET", 0);
		fields[fields_n++] = field(":scheme", "http", 0);
		fields[fields_n++] = field(":path", ANY(values), 0);
		fields[fields_n++] = field(":authority", ANY(values), 0);
		while (draw(4) != 0 && fields_n < FIELDS_MAX)
			fields[fields_n++] = field(ANY(names), ANY(values), draw(8) == 0);
		ssize_t made =
			nghttp2_hd_deflate_hd(deflater, block, sizeof(block), fields, fields_n);
		event("deflated %zd", made);
		if (made > 0)
			put(block, (size_t)made);
		break;
	}
	while (draw(6) != 0)
		put_field();
	n = input_n - start;
	memcpy(block, input + start, n);
	input_n = start;
	cut = draw(5) == 0 ? draw(n + 1) : n;
	uint8_t head[9] = { 0, (uint8_t)(cut >> 8), (uint8_t)cut, NGHTTP2_HEADERS,
		(uint8_t)((draw(4) != 0) | (cut == n ? NGHTTP2_FLAG_END_HEADERS : 0)),
		(uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8),
		(uint8_t)stream };
	put(head, sizeof(head));
	put(block, cut);
	if (cut == n)
		return;
	head[1] = (uint8_t)((n - cut) >> 8);
	head[2] = (uint8_t)(n - cut);
	head[3] = NGHTTP2_CONTINUATION;
	head[4] = NGHTTP2_FLAG_END_HEADERS;
	put(head, sizeof(head));
	put(block + cut, n - cut);
}

static void put_frame(uint32_t stream)
{
	static const uint8_t kinds[] = { NGHTTP2_DATA, NGHTTP2_RST_STREAM, NGHTTP2_WINDOW_UPDATE,
		NGHTTP2_PRIORITY, NGHTTP2_SETTINGS, NGHTTP2_PING, 0x10 };
	size_t n = draw(3) == 0 ? draw(20) : 4;
	uint8_t head[9] = { 0, 0, (uint8_t)n, ANY(kinds), (uint8_t)draw(2), 0, 0,
		(uint8_t)(stream >> 8), (uint8_t)stream };

	if (head[3] == NGHTTP2_SETTINGS || head[3] == NGHTTP2_PING)
		head[7] = head[8] = 0;
	if (head[3] == NGHTTP2_SETTINGS)
		head[2] = (uint8_t)(n = 6 * draw(2));
	if (head[3] == NGHTTP2_PING)
		head[2] = (uint8_t)(n = 8);
	put(head, sizeof(head));
	while (n-- > 0)
		put_byte((unsigned)draw(4) == 0 ? (unsigned)draw(256) : (unsigned)draw(3));
}

static void connection_make(void)
{
	static const uint8_t settings[] = { 0, 0, 0, NGHTTP2_SETTINGS, 0, 0, 0, 0, 0 };
	nghttp2_hd_deflater *deflater;
	uint32_t stream = 1;

	input_n = 0;
	in_table = 0;
	careful = draw(3) != 0;
	put(settings, sizeof(settings));
	nghttp2_hd_deflate_new(&deflater, draw(4) == 0 ? 100 : 4096);
	for (uint64_t n = 1 + draw(12); n > 0; n--) {
		put_headers(deflater, stream);
		if (!careful && draw(3) == 0)
			put_frame(stream > 2 && draw(2) == 0 ? stream - 2 : stream);
		stream += draw(6) == 0 ? 0 : 2; /* trailers, or what may not be */
	}
	nghttp2_hd_deflate_del(deflater);
	while (!careful && draw(3) == 0)
		input[draw(input_n)] ^= (uint8_t)(1U << draw(8));
}

/* What the encoder makes of fields, in one buffer and in many, some of which are too small or have
 * no bytes. */
static void encode(void)
{
	nghttp2_hd_deflater *deflater;
	uint8_t room[4096];
	nghttp2_nv fields[FIELDS_MAX];
	nghttp2_vec parts[16];

	nghttp2_hd_deflate_new(&deflater, draw(3) == 0 ? 0 : draw(6000));
	for (uint64_t sections = 1 + draw(6); sections > 0; sections--) {
		size_t n = 0, at = 0, parts_n = 1 + draw(16);

		do
			fields[n++] = field(ANY(names), ANY(values), draw(6) == 0);
		while (draw(8) != 0 && n < FIELDS_MAX);
		for (size_t i = 0; i < parts_n; at += parts[i++].len)
			parts[i] = (nghttp2_vec){ room + at, draw(draw(2) == 0 ? 4 : 200) };
		if (draw(3) == 0)
			event("table %d",
				nghttp2_hd_deflate_change_table_size(deflater, draw(5000)));
		memset(room, 0, sizeof(room));
		ssize_t made =
			draw(2) == 0
				? nghttp2_hd_deflate_hd_vec(deflater, parts, parts_n, fields, n)
				: nghttp2_hd_deflate_hd(deflater, room, sizeof(room), fields, n);
		event("encoded %zd of %zu", made, nghttp2_hd_deflate_bound(deflater, fields, n));
		add(room, sizeof(room));
		event("table of %zu", nghttp2_hd_deflate_get_dynamic_table_size(deflater));
	}
	nghttp2_hd_deflate_del(deflater);
	end_of_input("encoder");
}

/* --- main
 * ----------------------------------------------------------------------------------------- */

static int trace_file(const char *name)
{
	static const char mark[] = "--MARK--"; /* fuzz_h2 gives what is in front of it first */
	FILE *f = fopen(name, "rb");
	size_t n;

	if (f == NULL) {
		perror(name);
		return 1;
	}
	n = fread(input, 1, sizeof(input), f);
	fclose(f);
	for (uint8_t *m; (m = memmem(input, n, mark, sizeof(mark) - 1)) != NULL;) {
		n -= sizeof(mark) - 1;
		memmove(m, m + sizeof(mark) - 1, n - (size_t)(m - input));
	}
	seed = n + 1;
	for (unsigned kind = 0; kind < 16; kind++)
		session_input(
			strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name, input, n, kind);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0, i = 1;

	hash = 0xcbf29ce484222325;
	if (argc > i && strcmp(argv[i], "-v") == 0)
		verbose = ++i > 0;
	if (argc > i + 1 && strcmp(argv[i], "-n") == 0) {
		seed = 88172645463325252;
		for (long n = strtol(argv[i + 1], NULL, 10); n > 0; n--) {
			connection_make();
			session_input("connection", input, input_n, (unsigned)draw(16));
			encode();
		}
		i += 2;
	}
	for (; i < argc; i++)
		failed |= trace_file(argv[i]);
	return failed;
}
