/*
 * req_id: takes a request's id from its headers or makes one. Called to show it (reply.c,
 * access_line.c) and for handlers. Random bytes are fetched in batches: the call costs more than
 * the rest.
 */
#include "request/req_id.h"

#include <sys/random.h>

enum { ID_LONGEST = 128, BATCH = 16 };

const struct slice req_id_field = SLICE_LIT("x-request-id");

/* Bytes that log lines, headers and pages can show unchanged: all bytes of usual IDs. */
static bool is_plain(struct slice s)
{
	static const char others[] = "-._~+/=:@";

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], letter = (char)(c | 0x20);

		if (!(c >= '0' && c <= '9') && !(letter >= 'a' && letter <= 'z') &&
			(c == '\0' || strchr(others, c) == NULL))
			return false;
	}
	return s.n > 0 && s.n <= ID_LONGEST;
}

static const uint8_t *random_bytes(void)
{
	static uint8_t bytes[BATCH][REQ_ID_BYTES];
	static unsigned left;

	if (left == 0) {
		if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != sizeof(bytes))
			return NULL;
		left = BATCH;
	}
	return bytes[--left];
}

struct slice req_id_make(char text[2 * REQ_ID_BYTES + 1])
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *bytes = random_bytes();

	if (bytes == NULL)
		return (struct slice){ 0 };
	for (unsigned i = 0; i < REQ_ID_BYTES; i++) {
		text[2 * i] = hex[bytes[i] >> 4];
		text[2 * i + 1] = hex[bytes[i] & 15];
	}
	text[2 * REQ_ID_BYTES] = '\0';
	return slice_of(text, 2 * REQ_ID_BYTES);
}

struct slice req_id(struct h2d_req *req)
{
	const struct field *f = NULL;

	if (req->id.n > 0)
		return req->id;
	if (req->conn->trusted)
		f = field_find(req->fields, req->nfields, req_id_field);
	req->id = f != NULL && is_plain(f->value) ? f->value : req_id_make(req->id_text);
	return req->id;
}
