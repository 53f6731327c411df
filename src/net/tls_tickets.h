/*
 * tls_tickets: the keys that session tickets are made and read with: one set for all certificates,
 * workers and generations, and for the program that an upgrade puts in the place of this one. The
 * master makes them before any fork; a process that serves no TLS forgets them.
 */
#ifndef H2D_NET_TLS_TICKETS_H
#define H2D_NET_TLS_TICKETS_H

#include <openssl/ssl.h>
#include <stdbool.h>

enum { TLS_TICKET_KEYS = 80 }; /* as SSL_CTX_set_tlsext_ticket_keys(3) takes them */

/* Has ssl use the keys, which are made at the first call. */
bool tls_tickets_use(SSL_CTX *ssl);

/* The keys, to hand them over. */
bool tls_tickets_get(unsigned char keys[TLS_TICKET_KEYS]);

/* Uses those of another process from now on. */
void tls_tickets_set(const unsigned char keys[TLS_TICKET_KEYS]);

/* They go from this process's memory. */
void tls_tickets_forget(void);

#endif
