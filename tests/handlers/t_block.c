/*
 * t_block: GET /t/block?PATH has a thread open the FIFO PATH for reading, which blocks until
 * somebody writes, and answers with what it reads.
 */
#include "h2d/handler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct block {
	char path[512], text[512];
	ssize_t n;
};

static void run(void *job)
{
	struct block *b = job;
	int fd = open(b->path, O_RDONLY | O_CLOEXEC);

	b->n = -1;
	if (fd < 0)
		return;
	b->n = read(fd, b->text, sizeof(b->text));
	close(fd);
}

static void done(struct h2d_req *req, void *state, void *job)
{
	struct block *b = job;

	(void)state;
	if (req != NULL && b->n < 0)
		h2d_reply_error(req, 500);
	else if (req != NULL)
		h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", b->text, (size_t)b->n);
	free(b);
}

static void start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *path = h2d_req_query(req, &len);
	struct block *b = calloc(1, sizeof(*b));

	(void)state;
	if (b == NULL || len >= sizeof(b->path)) {
		free(b);
		h2d_reply_error(req, 500);
		return;
	}
	memcpy(b->path, path, len);
	if (h2d_work(req, run, done, b) < 0) {
		free(b);
		h2d_reply_error(req, 503);
	}
}

const struct h2d_handler h2d_handler_t_block = {
	.name = "t_block",
	.start = start,
};
