/*
 * err: the objects of err.def, which errors point to; there are no others. A peer can cause an
 * error any number of times, so each has a log_kind, and err_log() writes one line a second.
 */
#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

#include "base/counters.h"

#define ERR(name, status, code, scope, level, text) \
	static struct log_kind kind_##name; \
	const struct err *const ERR_##name = &(const struct err){ \
		#name, \
		status, \
		code, \
		ERR_##scope, \
		LEVEL_##level, \
		text, \
		&kind_##name, \
	};
#include "base/err.def"

static const struct {
	const struct err *const *err;
	int cell;
} limits[] = {
#define ERR_LIMIT(error, counter) { &ERR_##error, COUNTER_##counter },
#include "base/err_limits.def"
};

static void err_count(const struct err *err)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (*limits[i].err == err)
			counters_count(limits[i].cell);
}

void err_log(const struct err *err, const struct addr *peer)
{
	err_count(err);
	if (err->level <= log_max)
		log_limited(err->kind, err->level, "connection %s: %s", ADDR_HOST(peer), err->text);
}

void err_log_silent(const struct err *err, const struct addr *peer)
{
	err_count(err);
	log_debug("connection %s: no data received: %s", ADDR_HOST(peer), err->text);
}

void err_log_dry(const struct err *err, const struct addr *peer)
{
	err_count(err);
	if (err->level <= log_max)
		log_limited(err->kind, err->level, "connection %s: %s (dry-run: not enforced)",
			ADDR_HOST(peer), err->text);
}

enum { ABOUT_MAX = 200 };

void err_log_about(const struct err *err, const struct addr *peer, struct slice about)
{
	char text[4 * ABOUT_MAX + 4], *p = text;
	size_t n = about.n < ABOUT_MAX ? about.n : ABOUT_MAX;

	if (err->level > log_max)
		return;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)about.p[i];
		bool plain = c > ' ' && c < 0x7f && c != '\\';

		p += plain ? sprintf(p, "%c", c) : sprintf(p, "\\x%02x", c);
	}
	strcpy(p, n < about.n ? "..." : "");
	log_limited(
		err->kind, err->level, "connection %s: %s: %s", ADDR_HOST(peer), err->text, text);
}
