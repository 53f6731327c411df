/*
 * dav_xml: reads by expat, and writes the names of unknown properties for the answer. Called by
 * dav.c on the loop: a body is short. It never opens a file.
 */
#include "dav/dav_xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dav_prop_names[DAV_PROPS] = {
#define DAV_PROP(name, text) [DAV_PROP_##name] = text,
#include "dav/dav_prop.def"
};

#ifdef HAVE_EXPAT

#include <expat.h>

enum {
	DEPTH_MAX = 16,
	NAMES_MAX = 64,
	OTHERS_MAX = 8 << 10, /* bytes: the answer repeats them for each resource */
};

/* Between a namespace and a name: in no document. */
#define SEPARATOR '\1'
#define DAV       "DAV:\1"
#define XML       "http://www.w3.org/XML/1998/namespace\1"

struct reading {
	struct dav_xml *x;
	XML_Parser parser;
	FILE *others;
	bool update;
	bool found;     /* the body says which properties */
	unsigned depth; /* of open elements */
	unsigned list;  /* depth of the open list of properties; 0: none */
	unsigned nnames;
};

static void refuse(struct reading *r)
{
	XML_StopParser(r->parser, XML_FALSE);
}

static void escape(FILE *out, const char *s, size_t n)
{
	for (; n > 0; s++, n--)
		if (strchr("<>&\"\t\n\r", *s) != NULL)
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
}

/* name has a namespace, unless there is no separator. */
static void put_name(FILE *out, const char *name)
{
	const char *end = strchr(name, SEPARATOR);

	if (end == NULL) {
		fprintf(out, "<%s/>", name);
	} else if (strncmp(name, DAV, sizeof(DAV) - 1) == 0) {
		fprintf(out, "<D:%s/>", end + 1);
	} else if (strncmp(name, XML, sizeof(XML) - 1) == 0) {
		fprintf(out, "<xml:%s/>", end + 1); /* it has no other prefix */
	} else {
		fprintf(out, "<x:%s xmlns:x=\"", end + 1);
		escape(out, name, (size_t)(end - name));
		fputs("\"/>", out);
	}
}

static void add_prop(struct reading *r, const char *name)
{
	size_t n = sizeof(DAV) - 1;

	if (++r->nnames > NAMES_MAX) {
		refuse(r);
		return;
	}
	for (unsigned i = 0; !r->update && strncmp(name, DAV, n) == 0 && i < DAV_PROPS; i++)
		if (strcmp(name + n, dav_prop_names[i]) == 0) {
			r->x->props |= 1u << i;
			return;
		}
	put_name(r->others, name);
	if (fflush(r->others) != 0 || r->x->nothers > OTHERS_MAX)
		refuse(r);
}

/* An element of a propfind (RFC 4918, 14.20), or of a propertyupdate (14.19). */
static void begin_section(struct reading *r, const char *name)
{
	if (r->depth == 2 && !r->update && strcmp(name, DAV "allprop") == 0)
		r->x->all = r->found = true;
	else if (r->depth == 2 && !r->update && strcmp(name, DAV "propname") == 0)
		r->x->names = r->found = true;
	else if (r->depth == 2 && !r->update && strcmp(name, DAV "include") == 0)
		r->list = r->depth;
	else if (r->depth == (r->update ? 3 : 2) && strcmp(name, DAV "prop") == 0) {
		r->list = r->depth;
		r->found = true;
	}
}

static void on_start(void *ctx, const char *name, const char **attributes)
{
	struct reading *r = ctx;

	(void)attributes;
	r->depth++;
	if (r->depth > DEPTH_MAX ||
		(r->depth == 1 &&
			strcmp(name, r->update ? DAV "propertyupdate" : DAV "propfind") != 0))
		refuse(r);
	else if (r->list > 0 && r->depth == r->list + 1)
		add_prop(r, name);
	else if (r->list == 0)
		begin_section(r, name);
}

static void on_end(void *ctx, const char *name)
{
	struct reading *r = ctx;

	(void)name;
	if (r->depth == r->list)
		r->list = 0;
	r->depth--;
}

static void on_doctype(
	void *ctx, const char *name, const char *sysid, const char *pubid, int has_internal_subset)
{
	(void)name, (void)sysid, (void)pubid, (void)has_internal_subset;
	refuse(ctx);
}

static bool parse(struct reading *r, const char *body, size_t n)
{
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
	return XML_Parse(r->parser, body, (int)n, XML_TRUE) == XML_STATUS_OK && r->found;
}

bool dav_xml_read(struct dav_xml *x, bool update, const char *body, size_t n)
{
	struct reading r = { .x = x, .update = update };
	bool read = false;

	*x = (struct dav_xml){ 0 };
	r.others = open_memstream(&x->others, &x->nothers);
	r.parser = XML_ParserCreateNS(NULL, SEPARATOR);
	if (r.others != NULL && r.parser != NULL)
		read = parse(&r, body, n);
	if (r.parser != NULL)
		XML_ParserFree(r.parser);
	return (r.others == NULL || fclose(r.others) == 0) && read;
}

#else

/* The configuration refuses the key webdav. */
bool dav_xml_read(struct dav_xml *x, bool update, const char *body, size_t n)
{
	(void)update, (void)body, (void)n;
	*x = (struct dav_xml){ 0 };
	return false;
}

#endif
