/* top_machine: keeps the last status when there is no new one. */
#include "tools/top/top_machine.h"

#include <stdio.h>

void top_machine_init(struct top_machine *m)
{
	top_ask_init(&m->ask, &m->source);
}

void top_machine_fini(struct top_machine *m)
{
	top_ask_fini(&m->ask);
	top_status_free(&m->status);
}

bool top_machine_is_looking(const struct top_machine *m)
{
	return m->ask.fd >= 0;
}

void top_machine_look(struct top_machine *m)
{
	if (!top_machine_is_looking(m))
		top_ask_begin(&m->ask, m->error);
}

static void top_machine_take(struct top_machine *m, const struct strbuf *body)
{
	char why[128];
	struct top_status *now = top_status_read(body->p, body->n, why, sizeof(why));

	if (now == NULL) {
		snprintf(m->error, sizeof(m->error), "%s: not the status of h2d: %s",
			m->source.text, why);
		return;
	}
	m->error[0] = '\0';
	top_status_free(&m->status);
	m->status = now;
}

bool top_machine_go(struct top_machine *m)
{
	struct strbuf body = { 0 };
	enum top_asked asked;

	if (!top_machine_is_looking(m))
		return false;
	asked = top_ask_go(&m->ask, &body, m->error);
	if (asked == TOP_ANSWERED)
		top_machine_take(m, &body);
	strbuf_fini(&body);
	return asked != TOP_ASKING;
}
