/*
 * fuzz_conf: the input as the text of h2d.conf. Whatever the reader takes without a fault, the dump
 * must write so that it is read back to the same. include is refused: no file is opened.
 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "conf/conf_table.h"
#include "conf/parser.h"
#include "driver.h"

enum { MEMORY = 4 << 20 };

static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	(void)ctx;
	H2D_ASSERT(pos->file != NULL && message[0] != '\0' && strchr(message, '\n') == NULL);
}

static void refuse(struct conf *conf, const struct conf_source *source, const struct block *block,
	const struct conf_pos *pos, const char *pattern, struct conf_faults *faults)
{
	(void)conf, (void)source, (void)block;
	conf_fault(faults, pos, "include(\"%.200s\")", pattern);
}

/* A conf read from text; the number of faults. */
static unsigned parse(struct conf *conf, struct slice text)
{
	static const struct conf_source source = { .name = "fuzz", .include = refuse };
	struct conf_faults faults = { .fn = on_fault };

	memset(conf, 0, sizeof(*conf));
	arena_init(&conf->arena, NULL, 0, MEMORY);
	H2D_ASSERT(conf_table_defaults(&conf->arena, conf, &conf_sections[CONF_SECTION_GLOBAL]));
	conf_parse(conf, &source, text, &faults);
	return faults.n;
}

static char *dump(const struct conf *conf, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	H2D_ASSERT(out != NULL);
	conf_dump(conf, true, out);
	H2D_ASSERT(fclose(out) == 0);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy that ends where it ends, for the sanitizer. */
	char *copy = malloc(size), *first, *second;
	struct conf a, b;
	size_t n, m;

	if (copy == NULL || size > CONF_FILE_MAX) {
		free(copy);
		return 0;
	}
	if (size > 0)
		memcpy(copy, data, size);
	if (parse(&a, slice_of(copy, size)) == 0) {
		first = dump(&a, &n);
		H2D_ASSERT(parse(&b, slice_of(first, n)) == 0);
		second = dump(&b, &m);
		H2D_ASSERT(n == m && memcmp(first, second, n) == 0);
		free(first);
		free(second);
		arena_reset(&b.arena);
	}
	arena_reset(&a.arena);
	free(copy);
	return 0;
}
