/*
 * handler_conf: values of a handler's own keys, out of the section handler "NAME" of the
 * configuration. Called by handlers; what it asks the configuration by lies in struct http_env, for
 * this layer knows none.
 */
#include <stdio.h>

#include "api/handler_worker.h"

enum { TEXT_MAX = 512 };

static const char *const kinds[] = {
	[KEY_NONE] = "nothing",
	[KEY_STRING] = "a string",
	[KEY_NUMBER] = "a number",
	[KEY_BOOL] = "true or false",
	[KEY_LIST] = "a list",
};

static _Noreturn void handler_conf_refuse(const struct h2d_worker *w, const char *key,
	enum key_kind wanted, const struct key_value *v, const char *call)
{
	char text[TEXT_MAX];

	if (v->kind == KEY_NONE)
		snprintf(text, sizeof(text),
			"handler %s asked for the key \"%.64s\", which conf.def has not for %s "
			"(%s)",
			w->handler->name, key, handler_worker_section(w), call);
	else
		snprintf(text, sizeof(text),
			"handler %s asked for %s, and its key \"%.64s\" is %s (%s)",
			w->handler->name, kinds[wanted], key, kinds[v->kind], call);
	assert_end(text);
}

static struct key_value value(
	const struct h2d_worker *w, const char *key, enum key_kind wanted, const char *call)
{
	const struct http_env *env = w->env;
	struct key_value v = { .kind = KEY_NONE };

	if (env->api->key_value != NULL)
		v = env->api->key_value(env->api->conf, handler_worker_section(w), key);
	if (v.kind != wanted)
		handler_conf_refuse(w, key, wanted, &v, call);
	return v;
}

const char *h2d_conf_string(const struct h2d_worker *worker, const char *key)
{
	HANDLER_CALL();
	return value(worker, key, KEY_STRING, __func__).string;
}

uint64_t h2d_conf_number(const struct h2d_worker *worker, const char *key)
{
	HANDLER_CALL();
	return value(worker, key, KEY_NUMBER, __func__).number;
}

bool h2d_conf_bool(const struct h2d_worker *worker, const char *key)
{
	HANDLER_CALL();
	return value(worker, key, KEY_BOOL, __func__).truth;
}

const char *h2d_conf_item(const struct h2d_worker *worker, const char *key, unsigned i)
{
	struct key_value v;

	HANDLER_CALL();
	v = value(worker, key, KEY_LIST, __func__);
	return i < v.n ? v.items[i] : NULL;
}
