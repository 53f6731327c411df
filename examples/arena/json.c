/*
 * json: GET /json/COUNT?m=M answers with the first COUNT items of the data set, each with a total:
 * price × quantity × m. The items are read when a worker starts; an answer is put together, and
 * compressed if the client takes that, for each request anew.
 */
#include "h2d/handler.h"

#if __has_include(<jansson.h>) && __has_include(<brotli/encode.h>) && __has_include(<zlib.h>)
#include <brotli/encode.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "number.h"

enum {
	TOTAL_MAX = 32,        /* bytes of ,"total":-9223372036854775808}, */
	FRAME_MAX = 64,        /* bytes around the items */
	QUALITY = 1,           /* of both compressors: the loop waits for them */
	GZIP_WINDOW = 15 + 16, /* deflateInit2(): the largest one, with gzip's head */
	GZIP_MEMORY = 8,
};

struct item {
	char *text; /* of the item, without its last brace */
	size_t len;
	uint64_t product; /* of price and quantity */
};

/* What a worker has. */
struct dataset {
	struct item *items;
	unsigned n;
	z_stream gzip;
};

/* --- the data set ----------------------------------------------------------------------------- */

static int read_item(const json_t *from, struct item *item)
{
	item->product = (uint64_t)json_integer_value(json_object_get(from, "price")) *
			(uint64_t)json_integer_value(json_object_get(from, "quantity"));
	item->text = json_dumps(from, JSON_COMPACT);
	if (!json_is_object(from) || item->text == NULL)
		return -1;
	item->len = strlen(item->text) - 1;
	return 0;
}

static void dataset_free(void *context)
{
	struct dataset *d = context;

	if (d == NULL)
		return;
	for (unsigned i = 0; i < d->n; i++)
		free(d->items[i].text);
	free(d->items);
	deflateEnd(&d->gzip);
	free(d);
}

static int dataset_read(struct dataset *d, const json_t *array)
{
	d->items = calloc(json_array_size(array) + 1, sizeof(*d->items));
	if (d->items == NULL || json_array_size(array) == 0 ||
		deflateInit2(&d->gzip, QUALITY, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	for (size_t i = 0; i < json_array_size(array); i++, d->n++)
		if (read_item(json_array_get(array, i), &d->items[i]) < 0)
			return -1;
	return 0;
}

static int worker_init(struct h2d_worker *worker, void **context)
{
	const char *path = h2d_conf_string(worker, "dataset");
	struct dataset *d;
	json_error_t why;
	json_t *array;
	int rc;

	if (*path == '\0')
		return 0;
	array = json_load_file(path, 0, &why);
	if (array == NULL) {
		h2d_worker_log(worker, H2D_LOG_ERROR, "%s: %s", path, why.text);
		return -1;
	}
	d = calloc(1, sizeof(*d));
	rc = d != NULL ? dataset_read(d, array) : -1;
	json_decref(array);
	if (rc < 0) {
		h2d_worker_log(worker, H2D_LOG_ERROR, "%s: no array of objects", path);
		dataset_free(d);
		return -1;
	}
	*context = d;
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* A text that is made in memory of the request. */
struct text {
	char *p;
	size_t n;
};

static bool make(
	struct h2d_req *req, const struct dataset *d, unsigned count, uint64_t m, struct text *text)
{
	size_t room = FRAME_MAX;
	char *p;

	for (unsigned i = 0; i < count; i++)
		room += d->items[i].len + TOTAL_MAX;
	text->p = p = h2d_req_alloc(req, room);
	if (p == NULL)
		return false;
	p = stpcpy(p, "{\"items\":[");
	for (unsigned i = 0; i < count; i++) {
		const struct item *item = &d->items[i];

		memcpy(p, item->text, item->len);
		p += item->len;
		p += sprintf(p, ",\"total\":%" PRId64 "}%s", (int64_t)(item->product * m),
			i + 1 < count ? "," : "");
	}
	p += sprintf(p, "],\"count\":%u}", count);
	text->n = (size_t)(p - text->p);
	return true;
}

static bool compress_gzip(z_stream *z, const struct text *from, struct text *to)
{
	z->next_in = (unsigned char *)from->p;
	z->avail_in = (uInt)from->n;
	z->next_out = (unsigned char *)to->p;
	z->avail_out = (uInt)to->n;
	if (deflateReset(z) != Z_OK || deflate(z, Z_FINISH) != Z_STREAM_END)
		return false;
	to->n -= z->avail_out;
	return true;
}

static bool compress_br(const struct text *from, struct text *to)
{
	return BrotliEncoderCompress(QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, from->n,
		       (const uint8_t *)from->p, &to->n, (uint8_t *)to->p) == BROTLI_TRUE;
}

/* False: it goes as it is. */
static bool compress_text(
	struct h2d_req *req, const char *coding, struct dataset *d, struct text *text)
{
	struct text to = { NULL, BrotliEncoderMaxCompressedSize(text->n) };
	size_t bound = deflateBound(&d->gzip, (uLong)text->n);

	to.n = to.n > bound ? to.n : bound;
	to.p = h2d_req_alloc(req, to.n);
	if (to.p == NULL)
		return false;
	if (*coding == 'b' ? !compress_br(text, &to) : !compress_gzip(&d->gzip, text, &to))
		return false;
	*text = to;
	return true;
}

/* m of the query, which is 1 where it is not said. */
static uint64_t factor(struct h2d_req *req)
{
	struct number m = { 0 };
	size_t len;
	const char *p = h2d_req_query_param(req, "m", &len);

	if (p == NULL)
		return 1;
	number_add(&m, p, len);
	return number_value(&m);
}

static void start(struct h2d_req *req, void *state)
{
	struct dataset *d = h2d_worker_context(h2d_req_worker(req));
	const char *coding = h2d_req_coding(req, "br gzip");
	struct number count = { 0 };
	struct text text;
	size_t len;
	const char *p = h2d_req_param(req, "count", &len);

	(void)state;
	number_add(&count, p, len);
	if (d == NULL || count.bad || count.negative) {
		h2d_reply_error(req, 404);
		return;
	}
	if (!make(req, d, count.digits < d->n ? (unsigned)count.digits : d->n, factor(req),
		    &text) ||
		h2d_reply_header(req, "vary", "accept-encoding") < 0) {
		h2d_reply_error(req, 503);
		return;
	}
	if (coding != NULL && compress_text(req, coding, d, &text))
		h2d_reply_header(req, "content-encoding", coding);
	h2d_reply_bytes(req, 200, "application/json", text.p, text.n);
}

const struct h2d_handler h2d_handler_json = {
	.name = "json",
	.start = start,
	.worker_init = worker_init,
	.worker_exit = dataset_free,
};
#endif
