/*
 * err: the objects of err.def, which errors point at; no others are ever made. A peer can cause
 * the same error as often as it likes, so each has a log_kind, and err_log() writes one line a
 * second.
 */
#include "base/err.h"

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

void err_log(const struct err *err, const struct addr *peer)
{
	if (err->level <= log_max)
		log_limited(err->kind, err->level, "connection %s: %s", ADDR_HOST(peer), err->text);
}
