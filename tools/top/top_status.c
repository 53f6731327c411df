/*
 * top_status: a thin layer on jansson, so that only one file uses that library. The server's text
 * is untrusted: each value is read by its type.
 */
#include "tools/top/top_status.h"

#include <jansson.h>
#include <stdio.h>

/* Both are json_t, under their own names. */
static const json_t *json_of(const void *p)
{
	return p;
}

struct top_status *top_status_read(const char *p, size_t n, char *error, size_t size)
{
	json_error_t what;
	json_t *json = json_loadb(p, n, 0, &what);

	if (json == NULL) {
		snprintf(error, size, "%s", what.text);
		return NULL;
	}
	return (struct top_status *)json;
}

void top_status_free(struct top_status **s)
{
	if (*s != NULL)
		json_decref((json_t *)*s);
	*s = NULL;
}

const struct top_object *top_status_part(const struct top_status *s, const char *name)
{
	const void *part = *name == '\0' ? json_of(s) : json_object_get(json_of(s), name);

	return part;
}

const struct top_object *top_status_at(const struct top_status *s, const char *list, size_t i)
{
	const void *o = json_array_get(json_object_get(json_of(s), list), i);

	return o;
}

const char *top_status_text(const struct top_status *s, const char *list, size_t i)
{
	const json_t *v = json_array_get(json_object_get(json_of(s), list), i);

	if (v == NULL)
		return NULL;
	return json_is_string(v) ? json_string_value(v) : "";
}

static uint64_t top_status_number(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
							       : 0;
}

size_t top_status_history(const struct top_status *s, uint64_t *to, size_t max)
{
	const json_t *list = json_object_get(json_of(s), "history");
	size_t n = json_array_size(list), skip = n > max ? n - max : 0;

	for (size_t i = skip; i < n; i++)
		to[i - skip] = top_status_number(json_array_get(list, i));
	return n - skip;
}

uint64_t top_object_number(const struct top_object *o, const char *name)
{
	return top_status_number(json_object_get(json_of(o), name));
}

const char *top_object_text(const struct top_object *o, const char *name)
{
	const char *text = json_string_value(json_object_get(json_of(o), name));

	return text != NULL ? text : "";
}
