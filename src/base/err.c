/*
 * err: the objects of err.def. Everybody points at them, nobody makes others.
 */
#include "base/err.h"

#define ERR(name, status, code, scope, level, text) \
	const struct err *const ERR_##name = &(const struct err){ \
		#name, status, code, ERR_##scope, LEVEL_##level, text, \
	};
#include "base/err.def"
