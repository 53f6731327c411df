/*
 * store_result: what became of a step of an upload: it was done, or refused for an error of
 * base/err.def, or the machine could not do it. Passed by value, in threads and on the loop.
 */
#ifndef H2D_STORE_STORE_RESULT_H
#define H2D_STORE_STORE_RESULT_H

#include "base/err.h"

struct store_result {
	const struct err *err; /* why it is refused; NULL: it is not */
	int error;             /* errno of the system call that failed; 0: none did */
};

#define STORE_OK ((struct store_result){ 0 })

static inline bool store_ok(struct store_result r)
{
	return r.err == NULL && r.error == 0;
}

static inline struct store_result store_refuse(const struct err *err)
{
	return (struct store_result){ .err = err };
}

/* rc: 0, or -errno. */
static inline struct store_result store_errno(int rc)
{
	return (struct store_result){ .error = -rc };
}

#endif
