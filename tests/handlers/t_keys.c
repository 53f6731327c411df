/*
 * t_keys: a handler with keys of every type. GET /t/keys/{how} answers with them as they are now
 * and, behind a line, as they were at worker_init(); wrong and unknown ask for what is not there.
 * /t/keys/write makes the file that its key names, and one beside it; read reads another.
 */
#include "h2d/handler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 4096 };

static int write_all(const struct h2d_worker *w, char *text)
{
	int n = snprintf(text, TEXT, "%s %s %s %s\n", h2d_conf_string(w, "word"),
		h2d_conf_string(w, "file"), h2d_conf_string(w, "source"),
		h2d_conf_string(w, "target"));

	n += snprintf(text + n, TEXT - (size_t)n,
		"%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", h2d_conf_bool(w, "flag"),
		h2d_conf_number(w, "number"), h2d_conf_number(w, "size"),
		h2d_conf_number(w, "seconds"), h2d_conf_number(w, "choice"));
	for (unsigned i = 0; h2d_conf_item(w, "list", i) != NULL; i++)
		n += snprintf(text + n, TEXT - (size_t)n, "%s;", h2d_conf_item(w, "list", i));
	return n;
}

static int worker_init(struct h2d_worker *worker, void **context)
{
	*context = malloc(TEXT);
	if (*context == NULL)
		return -1;
	write_all(worker, *context);
	return 0;
}

static void worker_exit(void *context)
{
	free(context);
}

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : close(fd);
}

/* 0, or an errno. */
static int try_write(const char *path)
{
	char beside[TEXT];
	int error = try_open(path, O_RDWR | O_CREAT);

	snprintf(beside, sizeof(beside), "%s-journal", path);
	return error != 0 ? error : try_open(beside, O_RDWR | O_CREAT);
}

static void start(struct h2d_req *req, void *state)
{
	const struct h2d_worker *w = h2d_req_worker(req);
	const char *how = h2d_req_param(req, "how", NULL);
	char text[2 * TEXT];
	int n = 0;

	(void)state;
	if (strcmp(how, "wrong") == 0)
		h2d_conf_number(w, "word");
	else if (strcmp(how, "unknown") == 0)
		h2d_conf_string(w, "wrod");
	else if (strcmp(how, "write") == 0)
		n = snprintf(text, TEXT, "%d", try_write(h2d_conf_string(w, "target")));
	else if (strcmp(how, "read") == 0)
		n = snprintf(text, TEXT, "%d", try_open(h2d_conf_string(w, "source"), O_RDONLY));
	else {
		n = write_all(w, text);
		n += snprintf(text + n, TEXT, "\n--\n%s", (const char *)h2d_worker_context(w));
	}
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text, (size_t)n);
}

const struct h2d_handler h2d_handler_t_keys = {
	.name = "t_keys",
	.start = start,
	.worker_init = worker_init,
	.worker_exit = worker_exit,
	.section = "t",
};
