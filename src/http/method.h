/* method: the names of the request methods (RFC 9110, 9). Pure. */
#pragma once

#include "base/slice.h"
#include "h2d/handler.h"

/* "GET" and back; H2D_METHOD_UNKNOWN for any other name. Case-sensitive (RFC 9110, 9.1). */
enum h2d_method method_parse(struct slice name);
const char *method_name(enum h2d_method method);

/* Writes "GET, HEAD", for an allow header, from a bit set. */
enum { METHOD_LIST = 64 };
void method_list(unsigned methods, char buf[METHOD_LIST]);
