/*
 * tickets: looks once a second how old the first key is. While another master may serve beside this
 * one, neither makes a new key: the other one would not know it.
 */
#include "master/tickets.h"

#include "base/clock.h"
#include "base/log.h"
#include "master/master_state.h"

enum { SECOND_MS = 1000 };

void tickets_second(struct master *m)
{
	const struct gen *g = m->current;
	uint64_t age_ms = clock_ms() - m->ticket_made_ms;

	if (g == NULL || g->resources.certs.tls == NULL || m->phase != MASTER_SERVE ||
		age_ms < g->conf->tls.session_ticket_rotation * SECOND_MS)
		return;
	m->ticket_made_ms = clock_ms();
	if (!tls_tickets_rotate()) {
		log_error("session tickets: there is no new key: no randomness");
		return;
	}
	board_count(&m->board->head, BOARD_COUNT_ticket_keys_made);
	log_info("session tickets: a new key encrypts");
}

bool tickets_hand_over(const struct master *m, struct handover *h)
{
	h->ticket_age = (clock_ms() - m->ticket_made_ms) / SECOND_MS;
	return tls_tickets_get(&h->tickets);
}

bool tickets_adopt(struct master *m, const struct handover *h)
{
	/* The machine, and its clock, may be younger than the key. */
	m->ticket_made_ms = clock_ms() - h->ticket_age * SECOND_MS;
	return tls_tickets_set(&h->tickets);
}
