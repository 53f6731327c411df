/*
 * fuzz_handover: the text by which a master hands over to the next program. What is taken is
 * written down again as something that is taken again, as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "master/handover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct strbuf again(char *text, bool *taken)
{
	struct strbuf out = { 0 };
	struct handover h;

	*taken = handover_parse(&h, text) == NULL;
	if (*taken)
		handover_format(&h, &out);
	handover_fini(&h);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);
	struct strbuf first, second;
	bool taken;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	first = again(text, &taken);
	free(text);
	if (!taken)
		return 0;
	text = strndup(first.p, first.n);
	second = again(text, &taken);
	if (!taken || first.n != second.n || memcmp(first.p, second.p, first.n) != 0)
		abort();
	free(text);
	strbuf_fini(&first);
	strbuf_fini(&second);
	return 0;
}
