/*
 * dav_xml: the body of PROPFIND and PROPPATCH (RFC 4918, 14). It has no document type, and so no
 * entities; its depth, and the number of its properties, are bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The most bytes of a body. */
enum { DAV_XML_MAX = 64 << 10 };

enum dav_prop {
#define DAV_PROP(name, text) DAV_PROP_##name,
#include "dav/dav_prop.def"
	DAV_PROPS
};
extern const char *const dav_prop_names[DAV_PROPS];

/* The properties that a request is about. */
struct dav_xml {
	bool all;       /* each that the resource has */
	bool names;     /* only their names */
	unsigned props; /* 1 << enum dav_prop, by name */
	char *others;   /* elements of others, in a form for the answer; from malloc */
	size_t nothers; /* bytes of them */
};

/* Reads a body; for an update all properties are in others. False: it is malformed, or exceeds a
 * bound. The caller frees x->others in any case. */
bool dav_xml_read(struct dav_xml *x, bool update, const char *body, size_t n);
