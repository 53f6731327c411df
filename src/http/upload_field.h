/*
 * upload_field: the request fields of resumable uploads (draft-ietf-httpbis-resumable-upload-12,
 * whose interop version is 8), and the media type of what is appended. Pure.
 */
#ifndef H2D_HTTP_UPLOAD_FIELD_H
#define H2D_HTTP_UPLOAD_FIELD_H

#include "http/field.h"

enum { UPLOAD_INTEROP_VERSION = 8 };
#define UPLOAD_INTEROP_TEXT "8"
#define UPLOAD_MEDIA_TYPE   "application/partial-upload"

/* The fields of a client. A field that is malformed, or there twice, is as if it were not there
 * (4.1 of the draft). */
struct upload_field {
	bool has_complete, complete; /* upload-complete */
	bool has_offset, has_length;
	uint64_t offset; /* upload-offset */
	uint64_t length; /* upload-length */
	bool takes_104;  /* upload-draft-interop-version is ours */
};

void upload_field_parse(const struct field *fields, unsigned n, struct upload_field *u);

/* Whether a content-type is that of a part of an upload (6 of the draft); parameters mean nothing.
 */
bool upload_field_is_partial(struct slice content_type);

#endif
