/*
 * explain_report: the text of an explanation. It only reads the request's trace and reply.
 */
#include "cli/explain.h"

#include <inttypes.h>
#include <stdlib.h>

#include "auth/auth_queue.h"
#include "auth/htpasswd.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"
#include "http/reason.h"
#include "request/trace.h"

enum { WHAT_WIDTH = 19, TEXT_WIDTH = 50, TEXT_MAX = 8192 };

void explain_line(FILE *out, const char *what, const struct conf_pos *at, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A peer's bytes must not control the terminal. */
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (at == NULL || at->file == NULL)
		fprintf(out, "%-*s %s\n", WHAT_WIDTH, what, text);
	else if (at->line == 0)
		fprintf(out, "%-*s %-*s  %s\n", WHAT_WIDTH, what, TEXT_WIDTH, text, at->file);
	else
		fprintf(out, "%-*s %-*s  %s:%u\n", WHAT_WIDTH, what, TEXT_WIDTH, text, at->file,
			at->line);
}

static void write_reply(FILE *out, const struct h2d_req *req)
{
	const struct reply *r = &req->reply;

	explain_line(out, "status", NULL, "%d %s", r->status, reason_of(r->status));
	for (const struct field *f = r->fields; f != r->fields + r->nfields; f++)
		explain_line(out, "header", reply_field_at(req, f), "%.*s: %.*s",
			SLICE_ARG(f->name), SLICE_ARG(f->value));
	if (!r->content)
		explain_line(out, "content", NULL, "none");
	else if (r->body.left == BODY_UNKNOWN)
		explain_line(out, "content", NULL, "unknown length");
	else
		explain_line(out, "content", NULL, "%" PRIu64 " bytes", r->body.left);
}

/* The handler's keys in the configuration, which would affect its answer. */
static void write_keys(FILE *out, const struct conf *conf, const struct h2d_handler *handler)
{
	const struct conf_section *s = conf_table_handler(
		slice_str(handler->section != NULL ? handler->section : handler->name));
	const void *keys = s != NULL ? conf_table_peek(conf, s, 0) : NULL;

	for (unsigned i = 0; keys != NULL && i < s->nrows; i++) {
		const struct conf_pos *at = conf_member_pos(keys, &s->rows[i]);
		char *text = NULL;
		size_t n;
		FILE *value = at->file != NULL ? open_memstream(&text, &n) : NULL;

		if (value == NULL)
			continue;
		conf_value_write(&s->rows[i], keys, value);
		fclose(value);
		explain_line(out, "key", at, "%s = %s", s->rows[i].name, text);
		free(text);
	}
}

struct who {
	FILE *out;
	const char *file;
	struct slice user;
};

static void write_line(void *ctx, unsigned line, struct slice user, const char *why)
{
	const struct who *who = ctx;
	struct conf_pos at = { .file = who->file, .line = line };

	if (slice_eq(user, who->user))
		explain_line(who->out, "note", &at, "%s (openssl passwd -6)", why);
}

/* A right password is refused, too, if its line has no hash of crypt(5). */
static void write_hash(FILE *out, const struct h2d_req *req)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("authorization"));
	const struct auth *auth = req->reply.status == 401 ? req->location->auth : NULL;
	struct auth_basic basic;

	if (auth == NULL || f == NULL || !auth_basic_parse(f->value, &basic))
		return;
	htpasswd_look(auth->file, write_line,
		&(struct who){ .out = out, .file = auth->file, .user = basic.user });
	auth_basic_wipe(&basic);
}

void explain_report(FILE *out, const struct conf *conf, const struct h2d_req *req,
	const struct h2d_handler *refused)
{
	for (const struct trace_step *s = req->trace; s != NULL; s = s->next)
		explain_line(out, trace_names[s->kind], &s->at, "%.*s", SLICE_ARG(s->text));
	write_hash(out, req);
	if (refused != NULL && refused == req->env->conf.proxy) {
		explain_line(out, "status", NULL,
			"unknown: h2d did not send the request to the application");
	} else if (refused != NULL) {
		write_keys(out, conf, refused);
		explain_line(out, "status", NULL,
			"unknown: handler %s may change something, so h2d did not call it",
			refused->name);
	} else {
		write_reply(out, req);
	}
}
