/*
 * reply_interim: responses in front of the one that answers (RFC 9110, 15.2), which a handler has
 * sent while it works on its own. Called by handlers (h2d/handler.h). Nothing of them stays with
 * the request but how much they were.
 */
#include "request/handler_rule.h"

/* Bytes that a request may have: those of a client that does not read wait in memory. */
enum { INTERIM_MAX = 64000, INTERIM_HEAD = 32 };

int h2d_reply_interim(struct h2d_req *req, int status, const struct h2d_header *headers, unsigned n)
{
	struct field checked[STREAM_INTERIM_FIELDS_MAX];
	size_t size = INTERIM_HEAD;

	HANDLER_CALL();
	HANDLER_MUST(req, req->owes, INTERIM);
	HANDLER_MUST(req, status >= 102 && status <= 199, STATUS);
	if (n > STREAM_INTERIM_FIELDS_MAX)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		checked[i] =
			(struct field){ slice_str(headers[i].name), slice_str(headers[i].value) };
		if (!reply_field_valid(checked[i].name, checked[i].value))
			return -1;
		size += checked[i].name.n + checked[i].value.n;
	}
	if (size > INTERIM_MAX - req->interim_size)
		return -1;
	req->interim_size += (unsigned)size;
	req->stream->interim(req, status, checked, n);
	return 0;
}
