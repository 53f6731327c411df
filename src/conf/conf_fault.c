/*
 * conf_fault: formats, counts and passes on the faults of a configuration. Called by every part of
 * conf, and to show faults; never allocates, and decides no reaction.
 */
#include "conf/conf_fault.h"

#include <stdarg.h>

#include "base/log.h"
#include "base/name_map.h"

const struct conf_pos conf_command_line = { .file = "command line" };

bool conf_said(struct conf_said *said, const struct conf_pos *pos, const char *message)
{
	uint64_t h = fnv_add(FNV_BEGIN ^ pos->line, message, strlen(message));

	h = pos->file != NULL ? fnv_add(h, pos->file, strlen(pos->file)) : h;
	for (unsigned i = 0; i < said->n; i++)
		if (said->hashes[i] == h)
			return true;
	if (said->n < CONF_FAULTS_MAX)
		said->hashes[said->n++] = h;
	return false;
}

void conf_fault(struct conf_faults *f, const struct conf_pos *pos, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (f->oom || f->n > CONF_FAULTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (conf_said(&f->said, pos, text))
		return;
	if (++f->n > CONF_FAULTS_MAX)
		f->fn(f->ctx, pos, "too many errors: the rest is not shown");
	else
		f->fn(f->ctx, pos, text);
}

void conf_fault_oom(struct conf_faults *f, const struct conf_pos *pos)
{
	if (f->oom)
		return;
	conf_fault(f, pos, "out of memory");
	f->oom = true;
	f->n++; /* a fault even if there were too many to show */
}

void conf_fault_format(const struct conf_pos *pos, const char *message, char *buf, size_t size)
{
	if (pos->file == NULL)
		snprintf(buf, size, "%s", message);
	else if (pos->line == 0)
		snprintf(buf, size, "%s: %s", pos->file, message);
	else
		snprintf(buf, size, "%s:%u: %s", pos->file, pos->line, message);
}

const char *conf_fault_prefix(const struct conf_pos *pos)
{
	return pos->file != NULL && pos->line > 0 ? "" : "h2d: ";
}

void conf_fault_print(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[CONF_FAULT_TEXT];

	(void)ctx;
	conf_fault_format(pos, message, text, sizeof(text));
	fprintf(stderr, "%s%s\n", conf_fault_prefix(pos), text);
}

void conf_fault_log(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[CONF_FAULT_TEXT];

	(void)ctx;
	conf_fault_format(pos, message, text, sizeof(text));
	log_warn("%s", text);
}
