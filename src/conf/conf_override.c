/*
 * conf_override: lays what the command line says over a conf, then adds the listeners and the
 * server block that the defaults say. Called once per conf; it checks values as the reader does,
 * and nothing else.
 */
#include "conf/conf_override.h"

#include "base/assert.h"
#include "conf/conf_value.h"

struct override {
	struct conf *conf;
	struct conf_faults *faults;
};

/* The text given for key of section s lands in obj as if the file had said so, but wins. */
static void override_set(
	struct override *o, enum conf_section_id s, const char *key, void *obj, const char *text)
{
	const struct conf_row *row = conf_table_row(&conf_sections[s], slice_str(key));

	H2D_ASSERT(row != NULL);
	if (text == NULL)
		return;
	/* -T could not write it so that it can be read again. */
	for (const char *p = text; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			conf_fault(o->faults, &conf_command_line, "a control byte in %s", key);
			return;
		}
	}
	conf_value_set_text(&o->conf->arena, row, obj, text, &conf_command_line, o->faults);
}

/* Requests are logged to the terminal where h2d is started by hand, without a file. */
static void log_to_terminal(struct override *o, const struct conf_override *ov)
{
	if (!ov->terminal || ov->file != NULL || ov->access_log != NULL)
		return;
	override_set(o, CONF_SECTION_GLOBAL, "access-log", o->conf, "stderr");
	override_set(o, CONF_SECTION_GLOBAL, "access-log-format", o->conf, "short");
}

static struct conf_listen *add_listen(
	struct override *o, struct conf_pos at, const char *host, uint64_t number)
{
	struct conf_listen *l =
		conf_table_add(&o->conf->arena, o->conf, &conf_sections[CONF_SECTION_LISTEN]);
	char address[64];

	if (l == NULL)
		return NULL;
	snprintf(address, sizeof(address), "%s:%u", host, (unsigned)number);
	l->address = arena_strdup(&o->conf->arena, address);
	l->at = at;
	return l->address != NULL ? l : NULL;
}

static void drop_public_listens(struct conf *conf)
{
	unsigned n = 0;

	for (unsigned i = 0; i < conf->nlistens; i++)
		if (conf_listen_is_own(&conf->listens[i]))
			conf->listens[n++] = conf->listens[i];
	conf->nlistens = n;
}

static void port(struct override *o, const struct conf_override *ov)
{
	static const char *const any[] = { "0.0.0.0", "[::]" };
	uint64_t number;
	const char *why = conf_value_number(ov->port, 65535, &number);

	if (why != NULL) {
		conf_fault(o->faults, &conf_command_line,
			"-p must be a number from 0 to 65535, not %.64s: %s", ov->port, why);
		return;
	}
	drop_public_listens(o->conf);
	for (unsigned i = 0; i < 2; i++) {
		struct conf_listen *l = add_listen(o, conf_command_line, any[i], number);

		if (l == NULL) {
			conf_fault_oom(o->faults, &conf_command_line);
			return;
		}
		l->tls = !ov->h2c && conf_has_certificate(o->conf);
		l->tls_at = conf_command_line;
	}
}

/* The file may have servers or not; -r needs one, and is for that of no name. */
static struct conf_server *default_server(struct override *o)
{
	struct conf *conf = o->conf;
	struct conf_server *s;

	if (conf->nservers > 0)
		return &conf->servers[conf_default_server(conf)];
	s = conf_table_add(&conf->arena, conf, &conf_sections[CONF_SECTION_SERVER]);
	if (s == NULL)
		return NULL;
	s->name = arena_strdup(&conf->arena, "_");
	return s->name != NULL ? s : NULL;
}

void conf_override(struct conf *conf, const struct conf_override *ov, struct conf_faults *faults)
{
	struct override o = { .conf = conf, .faults = faults };
	struct conf_server *server = default_server(&o);

	if (server == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	override_set(&o, CONF_SECTION_SERVER, "root", server, ov->root);
	override_set(&o, CONF_SECTION_TLS, "certificate-key", &conf->tls, ov->key);
	override_set(&o, CONF_SECTION_TLS, "certificate", &conf->tls, ov->cert);
	override_set(&o, CONF_SECTION_GLOBAL, "worker-processes", conf, ov->workers);
	override_set(&o, CONF_SECTION_GLOBAL, "dispatch", conf, ov->dispatch);
	override_set(&o, CONF_SECTION_GLOBAL, "pid-file", conf, ov->pid_file);
	override_set(&o, CONF_SECTION_GLOBAL, "access-log", conf, ov->access_log);
	log_to_terminal(&o, ov);
	if (ov->port != NULL)
		port(&o, ov);
	if (conf->nlistens == 0 && !faults->lost &&
		(add_listen(&o, (struct conf_pos){ 0 }, "127.0.0.1", 8080) == NULL ||
			add_listen(&o, (struct conf_pos){ 0 }, "[::1]", 8080) == NULL))
		conf_fault_oom(faults, &conf_command_line);
}
