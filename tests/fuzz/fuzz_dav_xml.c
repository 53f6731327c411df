/*
 * fuzz_dav_xml: the body of a PROPFIND, or of a PROPPATCH if its first byte is "u", which is cut
 * off. The names of unknown properties must be a document of their own.
 */
#include <stdio.h>
#include <string.h>

#include "dav/dav_xml.h"
#include "driver.h"

static void check(bool update, const char *body, size_t n)
{
	static const char head[] = "<D:propfind xmlns:D=\"DAV:\"><D:prop>",
			  tail[] = "</D:prop></D:propfind>";
	struct dav_xml x, again;
	char *text;

	if (!dav_xml_read(&x, update, body, n)) {
		free(x.others);
		return;
	}
	if (x.others == NULL || strlen(x.others) != x.nothers)
		abort();
	if (asprintf(&text, "%s%s%s", head, x.others, tail) < 0)
		abort();
	if (!dav_xml_read(&again, false, text, strlen(text)))
		abort();
	if (!update && (strcmp(again.others, x.others) != 0 || again.props != 0))
		abort();
	free(text);
	free(x.others);
	free(again.others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool update = size > 0 && data[0] == 'u';

	check(update, (const char *)data + update, size - update);
	return 0;
}
