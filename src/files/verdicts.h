/*
 * verdicts: whether files decode to what they lie beside of, remembered by what both files were:
 * bounded memory of one worker. Any thread of it may ask and tell.
 */
#ifndef H2D_FILES_VERDICTS_H
#define H2D_FILES_VERDICTS_H

#include "base/file_id.h"
#include "http/decoder.h"

enum { VERDICTS_UNKNOWN = -1, VERDICTS_SETS = 512, VERDICTS_WAYS = 4 };

/* A question: whether coded is plain in that coding. */
struct verdict_key {
	struct file_id coded, plain;
	enum coding coding;
};

struct verdicts;

/* NULL when memory is out. */
struct verdicts *verdicts_new(void);
void verdicts_free(struct verdicts **v);

/* An enum decoder_verdict, or VERDICTS_UNKNOWN. */
int verdicts_get(struct verdicts *v, const struct verdict_key *key);

/* Another one goes for it, in turn. */
void verdicts_put(struct verdicts *v, const struct verdict_key *key, enum decoder_verdict verdict);

#endif
