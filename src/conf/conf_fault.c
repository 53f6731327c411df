/*
 * conf_fault: formats, counts and passes on the faults of a configuration. Called by every part of
 * conf, and to show faults; never allocates, and decides no reaction.
 */
#include "conf/conf_fault.h"

#include "base/log.h"
#include "base/name_map.h"

const struct conf_pos conf_command_line = { .file = "command line" };

/* True if message was reported for pos before; from now on it was. */
static bool is_known(struct conf_faults *f, const struct conf_pos *pos, const char *message)
{
	uint64_t h = fnv_add(FNV_BEGIN ^ pos->line, message, strlen(message));

	h = pos->file != NULL ? fnv_add(h, pos->file, strlen(pos->file)) : h;
	for (unsigned i = 0; i < f->n; i++)
		if (f->hashes[i] == h)
			return true;
	if (f->n < CONF_FAULTS_MAX)
		f->hashes[f->n] = h;
	return false;
}

void conf_vfault(struct conf_faults *f, const struct conf_pos *pos, const char *fmt, va_list ap)
{
	char text[2048];

	if (f->oom || f->n > CONF_FAULTS_MAX)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	if (is_known(f, pos, text))
		return;
	if (++f->n > CONF_FAULTS_MAX)
		snprintf(text, sizeof(text), "too many messages: the rest is not shown");
	if (f->fn != NULL)
		f->fn(f->ctx, pos, text);
}

void conf_fault(struct conf_faults *f, const struct conf_pos *pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	conf_vfault(f, pos, fmt, ap);
	va_end(ap);
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
