/*
 * inboxes: opens and closes the inboxes of a generation; gen and drain call it. Who receives from
 * which is the business of the processes that spawn gives them to.
 */
#include "master/inboxes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/fdpass.h"

/* The first of n identities that no inbox had before. */
static uint32_t next_ids(unsigned n)
{
	static uint32_t last;

	last += n;
	return last - n + 1;
}

int inboxes_open(struct inboxes *in, unsigned n)
{
	int rc = 0;

	*in = (struct inboxes){ .first = next_ids(n) };
	in->ends = calloc(n, sizeof(*in->ends));
	if (in->ends == NULL)
		return -ENOMEM;
	while (in->n < n && rc == 0) {
		rc = fdpass_pair(in->ends[in->n]);
		in->n += rc == 0;
	}
	if (rc < 0)
		inboxes_close(in);
	return rc;
}

void inboxes_end(struct inboxes *in)
{
	for (unsigned i = 0; i < in->n; i++) {
		if (in->ends[i][1] >= 0)
			close(in->ends[i][1]);
		in->ends[i][1] = -1;
	}
}

void inboxes_close(struct inboxes *in)
{
	inboxes_end(in);
	for (unsigned i = 0; i < in->n; i++)
		close(in->ends[i][0]);
	free(in->ends);
	*in = (struct inboxes){ 0 };
}
