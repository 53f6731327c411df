/*
 * tickets: while another master may serve beside this one, neither makes a new key: the other one
 * would not know it.
 */
#include "master/tickets.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/log.h"
#include "master/master_state.h"
#include "tls/tls_tickets.h"

enum { SECOND_MS = 1000, ROTATION_MS = 12 * 3600 * SECOND_MS };

static void take_file(const char *file)
{
	struct tls_tickets now = { 0 }, next;
	char why[PATH_MAX + 128];

	if (!tls_tickets_read(file, &next, why, sizeof(why))) {
		log_warn("%s; keeping the old session ticket keys", why);
		return;
	}
	if (tls_tickets_get(&now) && memcmp(&now, &next, sizeof(now)) != 0 &&
		tls_tickets_set(&next))
		log_info("session tickets: using keys of %s", file);
	OPENSSL_cleanse(&now, sizeof(now));
	OPENSSL_cleanse(&next, sizeof(next));
}

static void make_key(struct master *m)
{
	if (!tls_tickets_rotate()) {
		log_error("session tickets: no randomness; keeping the old key");
		return;
	}
	board_count(&m->shared.board->head, BOARD_COUNT_ticket_keys_made);
	log_info("session tickets: using a new key");
}

static const struct conf_tls *configured(const struct master *m)
{
	const struct gen *g = m->current;

	return g != NULL && g->resources.certs.tls != NULL ? &g->conf->tls : NULL;
}

void tickets_serve(struct master *m)
{
	const struct conf_tls *tls = configured(m);

	if (tls != NULL && *tls->session_ticket_key_file != '\0')
		take_file(tls->session_ticket_key_file);
}

void tickets_second(struct master *m)
{
	const struct conf_tls *tls = configured(m);

	if (tls == NULL || m->phase != MASTER_SERVE || *tls->session_ticket_key_file != '\0')
		return;
	if (tls_tickets_age_ms() >= ROTATION_MS)
		make_key(m);
}
