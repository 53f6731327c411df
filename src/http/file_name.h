/*
 * file_name: which names an uploaded file may have: one segment of a path that stays where it is
 * put, shows what it is, and that every client can ask for again. Pure.
 */
#ifndef H2D_HTTP_FILE_NAME_H
#define H2D_HTTP_FILE_NAME_H

#include "base/err.h"
#include "base/slice.h"

enum { FILE_NAME_LEN_MAX = 255 }; /* bytes: NAME_MAX of Linux */

/*
 * name: decoded. NULL if it may be used, else which rule it breaks, the first of these:
 *
 *	ERR_FILE_NAME_EMPTY      it is empty
 *	ERR_FILE_NAME_LONG       it has more than FILE_NAME_LEN_MAX bytes
 *	ERR_FILE_NAME_DOT        it begins with a dot: hidden, "." and ".." (.well-known is no
 *exception) ERR_FILE_NAME_SLASH      it has a slash or backslash: a path, be it of Unix or of
 *Windows ERR_FILE_NAME_UTF8       it is not UTF-8 (RFC 3629) ERR_FILE_NAME_CONTROL    it has a
 *control character: U+0000 to U+001F, U+007F to U+009F, or a line or paragraph separator, U+2028,
 *U+2029 ERR_FILE_NAME_DIRECTION  it has one of U+202A to U+202E or U+2066 to U+2069, which show
 *	                         "cod.exe" as "exe.doc"
 *
 * Other invisible characters may be there: names in use hold marks of direction, joiners (emoji,
 * Persian) and variation selectors.
 */
const struct err *file_name_check(struct slice name);

/*
 * The end of a form's file name, behind its last slash or backslash: for a file of a folder that
 * was chosen browsers send the way to it, and old ones did for any.
 */
struct slice file_name_last(struct slice name);

#endif
