/* response: status lines, header sections by h1_parse, their framing by h1_head, content by its
 * length or by h1_chunk. */
#include "upstream/response.h"

#include "http/field.h"

enum { LINE, LINE_LF, HEAD, CONTENT, CHUNKED, TRAILERS, OVER };

enum { NAMED_MAX = 1024 }; /* bytes of header names in Connection */

void response_begin(struct response *r, struct arena *arena, bool of_head, bool of_upgrade)
{
	*r = (struct response){
		.of_head = of_head, .of_upgrade = of_upgrade, .parse.arena = arena
	};
}

static enum response_found response_refuse(struct response *r, const char *fault)
{
	r->state = OVER;
	r->fault = fault;
	return RESPONSE_FAULT;
}

/* --- the head --------------------------------------------------------------------------------- */

/* The header section follows. NULL, or the fault of the status line. */
static const char *begin_head(struct response *r)
{
	r->state = HEAD;
	r->status = (int)(r->digits % 1000);
	r->http10 = r->digits / 1000 == 10;
	r->line = r->digits = 0;
	r->fields = NULL;
	r->nfields = 0;
	r->named.n = 0;
	r->head = (struct h1_head){ .length = BODY_UNKNOWN };
	h1_parse_begin(&r->parse, r->parse.arena, RESPONSE_HEAD_MAX);
	h1_parse_fields(&r->parse, true);
	return r->status >= 100 && r->status <= 599 ? NULL : "status out of range";
}

/* RFC 9112, 4: the reason may be empty; the space before it is often missing then. NULL, or the
 * fault. */
static const char *take_line(struct response *r, const uint8_t **data, const uint8_t *end)
{
	static const char start[] = "HTTP/0.0 000 ";
	enum { REASON = sizeof(start) - 1 };

	while (*data < end && r->state < HEAD) {
		uint8_t c = *(*data)++;
		unsigned at = r->line++;

		if (at == RESPONSE_HEAD_MAX)
			return ERR_FIELDS_TOO_LARGE->text;
		if (r->state == LINE_LF)
			return c != '\n'                ? ERR_STATUS_LINE->text
			       : r->digits / 10000 != 1 ? ERR_HTTP_VERSION->text
							: begin_head(r);
		if (at < REASON && start[at] == '0' && c >= '0' && c <= '9')
			r->digits = r->digits * 10 + c - '0';
		else if (at >= REASON - 1 && c == '\r')
			r->state = LINE_LF;
		else if (at < REASON ? c != start[at] : (c < ' ' && c != '\t') || c == 0x7f)
			return ERR_STATUS_LINE->text;
	}
	return NULL;
}

/* Adds the value of a Connection that names headers; few are named, so the list is bounded. */
static const char *name_more(struct response *r, struct slice value)
{
	const char *list;

	if (r->named.n + value.n >= NAMED_MAX)
		return "connection names too many headers";
	list = arena_printf(r->parse.arena, "%.*s,%.*s", SLICE_ARG(r->named), SLICE_ARG(value));
	if (list == NULL)
		return ERR_NO_MEMORY->text;
	r->named = slice_str(list);
	return NULL;
}

/* Takes one header. NULL, or the fault. */
static const char *take_field(struct response *r, struct slice name, struct slice value)
{
	struct field *fields;
	const struct err *err;
	bool names;

	if (field_is_hop(name)) {
		err = h1_head_field(&r->head, name, value, &names);
		if (err != NULL)
			return err->text;
		return names && slice_eq(name, SLICE("connection")) ? name_more(r, value) : NULL;
	}
	fields = arena_grow(r->parse.arena, r->fields, r->nfields, sizeof(*fields));
	if (fields == NULL)
		return ERR_NO_MEMORY->text;
	fields[r->nfields++] = (struct field){ name, value };
	r->fields = fields;
	return NULL;
}

/* Connection may name headers that came before it. */
static void drop_named(struct response *r)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < r->nfields; i++)
		if (!field_list_has(r->named, r->fields[i].name))
			r->fields[kept++] = r->fields[i];
	r->nfields = kept;
}

/* The framing of what follows. NULL, or the fault. */
static const char *head_ends(struct response *r)
{
	const struct h1_head *head = &r->head;
	bool switches = r->status == 101;

	if (head->chunked && head->length != BODY_UNKNOWN)
		return "content-length with transfer-encoding";
	if (head->chunked && (r->http10 || r->status < 200 || r->status == 204))
		return "transfer-encoding where none may be";
	if (switches && !r->of_upgrade)
		return "101 that was not asked for";
	if (switches && (!head->upgrades || head->upgrade.n == 0))
		return "101 without upgrade";
	if (r->named.n > 0)
		drop_named(r);
	r->upgrade = head->upgrade;
	r->length = switches ? BODY_UNKNOWN : head->length;
	r->keep = !head->close && (!r->http10 || head->keep_alive);
	if (r->status < 200 && !switches) {
		r->state = LINE;
		return ++r->interims > RESPONSE_INTERIMS_MAX ? "too many interim responses" : NULL;
	}
	if (r->of_head || r->status == 204 || r->status == 304) {
		if (!r->of_head || r->status == 204)
			r->length = 0;
		r->state = OVER;
	} else if (head->chunked) {
		r->state = CHUNKED;
	} else {
		r->keep &= r->length != BODY_UNKNOWN;
		r->chunk.size = r->length;
		r->state = r->length > 0 ? CONTENT : OVER;
	}
	return NULL;
}

/* NULL, or the fault. */
static const char *take_trailer(struct response *r, struct slice name, struct slice value)
{
	int added;

	if (field_is_hop(name) || field_list_has(r->named, name))
		return NULL;
	added = trailers_add(&r->trailers, r->parse.arena, TRAILERS_SIZE, name, value);
	return added == 0 ? NULL : added > 0 ? "too many trailers" : ERR_NO_MEMORY->text;
}

/* The head with its line, or the trailers. */
static enum response_found take_section(
	struct response *r, const uint8_t **data, const uint8_t *end)
{
	const struct h1_parse *p = &r->parse;
	const char *fault = take_line(r, data, end);

	while (fault == NULL) {
		switch (h1_parse_next(&r->parse, data, end)) {
		case H1_MORE:
			return RESPONSE_MORE;
		case H1_FIELD:
			fault = r->state == HEAD ? take_field(r, p->name, p->value)
						 : take_trailer(r, p->name, p->value);
			break;
		case H1_END:
			if (r->state == TRAILERS) {
				r->state = OVER;
				return RESPONSE_END;
			}
			fault = head_ends(r);
			if (fault == NULL)
				return RESPONSE_HEAD;
			break;
		default:
			fault = p->err->text;
		}
	}
	return response_refuse(r, fault);
}

/* --- content ---------------------------------------------------------------------------------- */

static enum response_found take_chunked(
	struct response *r, const uint8_t **data, const uint8_t *end, struct slice *piece)
{
	switch (h1_chunk_next(&r->chunk, data, end, piece)) {
	case H1_CHUNK_MORE:
		return RESPONSE_MORE;
	case H1_CHUNK_DATA:
		return RESPONSE_DATA;
	case H1_CHUNK_LAST:
		r->state = TRAILERS;
		h1_parse_fields(&r->parse, false);
		return take_section(r, data, end);
	default:
		return response_refuse(r, ERR_CHUNK->text);
	}
}

/* Up to the length, or to the end. */
static enum response_found take_bytes(
	struct response *r, const uint8_t **data, const uint8_t *end, struct slice *piece)
{
	size_t n = (size_t)(end - *data);

	if (n == 0)
		return RESPONSE_MORE;
	if (n > r->chunk.size)
		n = (size_t)r->chunk.size;
	r->chunk.size -= n;
	if (r->chunk.size == 0)
		r->state = OVER;
	*piece = slice_of(*data, n);
	*data += n;
	return RESPONSE_DATA;
}

enum response_found response_next(
	struct response *r, const uint8_t **data, const uint8_t *end, struct slice *piece)
{
	r->seen |= *data < end;
	switch (r->state) {
	case CONTENT:
		return take_bytes(r, data, end, piece);
	case CHUNKED:
		return take_chunked(r, data, end, piece);
	case OVER:
		return RESPONSE_END;
	default:
		return take_section(r, data, end);
	}
}

enum response_found response_eof(struct response *r)
{
	if (r->state == OVER || (r->state == CONTENT && r->length == BODY_UNKNOWN)) {
		r->state = OVER;
		return RESPONSE_END;
	}
	return response_refuse(r, r->state <= HEAD ? "connection ended in the head"
						   : "connection ended in the content");
}
