/*
 * proto: the names of what streams wait for (proto_why.def), for those who are shown them. Called
 * by who shows a connection; what a protocol tells is its own to find out.
 */
#include "proto/proto.h"

#include <stdio.h>
#include <string.h>

const struct proto_why_row proto_whys[PROTO_WHYS] = {
#define PROTO_WHY(name, text, wait, help) { text, PROTO_##wait },
#include "proto/proto_why.def"
};

const char *proto_told_text(const struct proto_told *told, char buf[PROTO_TOLD_TEXT])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < PROTO_WHYS; i++)
		if (told->why[i] > 0) {
			snprintf(buf + n, PROTO_TOLD_TEXT - n, "%s%u for %s", n > 0 ? ", " : "",
				told->why[i], proto_whys[i].text);
			n += strlen(buf + n);
		}
	return buf;
}
