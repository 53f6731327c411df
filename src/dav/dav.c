/*
 * dav: answers the methods of WebDAV (RFC 4918, class 1) for drives: PROPFIND and PROPPATCH, MKCOL,
 * COPY and MOVE. The store does the work; here requests are read, and answers written.
 */
#include "dav/dav_xml.h"
#include "h2d/upload_scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define XML_TYPE "application/xml; charset=utf-8"
#define XML_HEAD "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"

struct dav {
	struct dav_xml xml;
	bool update;      /* PROPPATCH */
	bool members;     /* depth 1 */
	const char *path; /* below upload-dir, with or without a final slash; "": that itself */
	size_t npath;
	const struct h2d_listing *listing;
	size_t next; /* number of the next entry to write */
	char *text;  /* of the last one, from malloc */
	size_t n, at;
};

/* --- one entry -------------------------------------------------------------------------------- */

static void put_url(FILE *out, const char *s, size_t n)
{
	for (; n > 0; s++, n--) {
		unsigned char c = (unsigned char)*s;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			(c != '\0' && strchr("/-._~", c) != NULL))
			fputc(c, out);
		else
			fprintf(out, "%%%02X", c);
	}
}

static void put_href(FILE *out, const struct h2d_req *req, const struct h2d_entry *e)
{
	size_t n;
	const char *path = h2d_req_path(req, &n);

	n -= path[n - 1] == '/';
	fputs("<D:response><D:href>", out);
	put_url(out, path, n);
	if (e->name[0] != '\0')
		fputc('/', out);
	put_url(out, e->name, strlen(e->name));
	fputs(e->directory ? "/</D:href>" : "</D:href>", out);
}

static bool has_prop(const struct dav *d, const struct h2d_entry *e, enum dav_prop p)
{
	switch (p) {
	case DAV_PROP_LENGTH:
		return !e->directory;
	case DAV_PROP_ETAG:
		return e->name[0] == '\0' && d->listing->etag != NULL;
	case DAV_PROP_AVAILABLE:
	case DAV_PROP_USED:
		return e->directory && d->listing->quota > 0;
	default:
		return true;
	}
}

static void put_value(FILE *out, const struct dav *d, const struct h2d_entry *e, enum dav_prop p)
{
	const struct h2d_listing *l = d->listing;
	char date[64];
	struct tm tm;
	time_t at;

	switch (p) {
	case DAV_PROP_TYPE:
		fputs(e->directory ? "<D:collection/>" : "", out);
		break;
	case DAV_PROP_LENGTH:
		fprintf(out, "%llu", (unsigned long long)e->size);
		break;
	case DAV_PROP_MODIFIED:
		at = (time_t)e->modified;
		if (gmtime_r(&at, &tm) != NULL &&
			strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0)
			fputs(date, out);
		break;
	case DAV_PROP_ETAG:
		fputs(l->etag, out);
		break;
	case DAV_PROP_USED:
		fprintf(out, "%llu", (unsigned long long)l->used);
		break;
	default:
		fprintf(out, "%llu",
			(unsigned long long)(l->quota > l->used ? l->quota - l->used : 0));
	}
}

/* RFC 4331, 2: quotas are no part of all properties. */
static bool is_asked(const struct dav_xml *x, enum dav_prop p)
{
	bool always = p != DAV_PROP_AVAILABLE && p != DAV_PROP_USED;

	return x->names || (x->all && always) || (x->props >> p & 1);
}

/* True if properties were asked for by name that the entry lacks. */
static bool lacks(const struct dav *d, const struct h2d_entry *e)
{
	bool any = d->xml.nothers > 0;

	for (enum dav_prop p = 0; p < DAV_PROPS; p++)
		any |= (d->xml.props >> p & 1) && !has_prop(d, e, p);
	return any;
}

/* Properties that the entry has (200), or lacks (404). */
static void put_props(FILE *out, const struct dav *d, const struct h2d_entry *e, bool has)
{
	fputs("<D:propstat><D:prop>", out);
	for (enum dav_prop p = 0; p < DAV_PROPS; p++) {
		const char *name = dav_prop_names[p];

		if (has_prop(d, e, p) != has ||
			!(has ? is_asked(&d->xml, p) : d->xml.props >> p & 1))
			continue;
		if (!has || d->xml.names) {
			fprintf(out, "<D:%s/>", name);
			continue;
		}
		fprintf(out, "<D:%s>", name);
		put_value(out, d, e, p);
		fprintf(out, "</D:%s>", name);
	}
	fprintf(out, "%s</D:prop><D:status>HTTP/1.1 %s</D:status></D:propstat>",
		has ? "" : d->xml.others,
		has         ? "200 OK"
		: d->update ? "403 Forbidden"
			    : "404 Not Found");
}

/* --- PROPFIND and PROPPATCH ------------------------------------------------------------------- */

/* Writes the next entry to d->text. False: memory is out. */
static bool write_next(struct h2d_req *req, struct dav *d)
{
	const struct h2d_listing *l = d->listing;
	const struct h2d_entry *e = &l->entries[d->next];
	FILE *out;

	free(d->text);
	d->text = NULL;
	d->at = d->n = 0;
	out = open_memstream(&d->text, &d->n);
	if (out == NULL)
		return false;
	if (d->next == 0)
		fputs(XML_HEAD "<D:multistatus xmlns:D=\"DAV:\">\n", out);
	put_href(out, req, e);
	if (!d->update)
		put_props(out, d, e, true);
	if (lacks(d, e))
		put_props(out, d, e, false);
	fputs("</D:response>\n", out);
	if (++d->next == l->n)
		fputs("</D:multistatus>\n", out);
	return fclose(out) == 0;
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct dav *d = state;
	size_t n = 0;

	while (n < cap && (d->at < d->n || d->next < d->listing->n)) {
		size_t more;

		if (d->at == d->n && !write_next(req, d))
			return H2D_FAIL;
		more = d->n - d->at < cap - n ? d->n - d->at : cap - n;
		memcpy(buf + n, d->text + d->at, more);
		d->at += more;
		n += more;
	}
	return (ssize_t)n;
}

static void found(struct h2d_req *req, void *state, int status, const struct h2d_listing *listing)
{
	struct dav *d = state;

	if (listing == NULL) {
		h2d_reply_error(req, status);
		return;
	}
	d->listing = listing;
	h2d_reply_stream(req, status, XML_TYPE, fill);
}

static void asked(struct h2d_req *req, void *state, int status, const char *data, size_t len)
{
	struct dav *d = state;

	/* PROPFIND without a body requests all properties. */
	if (data == NULL)
		h2d_reply_error(req, status);
	else if ((len > 0 || d->update) && !dav_xml_read(&d->xml, d->update, data, len))
		h2d_reply_error(req, 400);
	else {
		d->xml.all |= len == 0;
		h2d_store_list(req, d->path, d->npath, d->members, found);
	}
}

/* True: the header depth, if present, is that text. */
static bool is_depth(struct h2d_req *req, const char *text, bool missing)
{
	const char *depth = h2d_req_header(req, "depth", NULL);

	return depth != NULL ? strcasecmp(depth, text) == 0 : missing;
}

static void find(struct h2d_req *req, struct dav *d)
{
	static const char no_depth[] =
		XML_HEAD "<D:error xmlns:D=\"DAV:\"><D:propfind-finite-depth/></D:error>\n";

	d->members = is_depth(req, "1", false);
	if (d->members || is_depth(req, "0", false))
		h2d_body_read(req, DAV_XML_MAX, asked);
	else if (is_depth(req, "infinity", true))
		h2d_reply_bytes(req, 403, XML_TYPE, no_depth, sizeof(no_depth) - 1);
	else
		h2d_reply_error(req, 400);
}

/* --- MKCOL, COPY and MOVE --------------------------------------------------------------------- */

static void changed(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n)
{
	(void)state;
	if (status == 405)
		h2d_reply_header(req, "allow", "GET, HEAD, DELETE, OPTIONS, PROPFIND, COPY, MOVE");
	if (n > 0)
		h2d_reply_header(req, "location", files->path);
	if (status >= 400)
		h2d_reply_error(req, status);
	else
		h2d_reply_bytes(req, status, NULL, NULL, 0);
}

/* RFC 4918, 9.3: a body would mean something that h2d does not know. */
static void make(struct h2d_req *req, void *state, int status, const char *data, size_t len)
{
	const struct dav *d = state;

	if (status == 413 || len > 0)
		h2d_reply_error(req, 415);
	else if (data == NULL)
		h2d_reply_error(req, status);
	else
		h2d_store_make(req, d->path, d->npath, changed);
}

static void copy(struct h2d_req *req, const struct dav *d, unsigned how)
{
	const char *to = h2d_req_header(req, "destination", NULL);
	const char *overwrite = h2d_req_header(req, "overwrite", NULL);

	if (overwrite == NULL || strcasecmp(overwrite, "t") == 0)
		how |= H2D_COPY_REPLACE;
	else if (strcasecmp(overwrite, "f") != 0)
		to = NULL;
	if (is_depth(req, "infinity", true))
		how |= H2D_COPY_WHOLE;
	/* RFC 4918, 9.9.2: there is no other depth for MOVE. */
	else if (how & H2D_COPY_MOVE || !is_depth(req, "0", false))
		to = NULL;
	if (to == NULL)
		h2d_reply_error(req, 400);
	else
		h2d_store_copy(req, d->path, d->npath, to, how, changed);
}

/* --- the handler ------------------------------------------------------------------------------ */

static void start(struct h2d_req *req, void *state)
{
	struct dav *d = state;

	d->path = h2d_req_param_at(req, 0, NULL, &d->npath);
	switch (h2d_req_method(req)) {
	case H2D_PROPFIND:
		find(req, d);
		break;
	case H2D_PROPPATCH:
		d->update = true;
		h2d_body_read(req, DAV_XML_MAX, asked);
		break;
	case H2D_MKCOL:
		h2d_body_read(req, 1, make);
		break;
	default:
		copy(req, d, h2d_req_method(req) == H2D_MOVE ? H2D_COPY_MOVE : 0);
	}
}

static void gone(struct h2d_req *req, void *state)
{
	struct dav *d = state;

	(void)req;
	free(d->xml.others);
	free(d->text);
}

const struct h2d_handler h2d_handler_dav = {
	.name = "dav",
	.state_size = sizeof(struct dav),
	.scope = H2D_ON_DRIVES,
	.start = start,
	.gone = gone,
};
