/* unit_tls: handshakes between two ends in memory, for test programs. */
#pragma once

#include <openssl/ssl.h>

#include "unit.h"

/* Joins both, which stay the caller's; whether both have come to the end of the handshake. What
 * OpenSSL has to complain of is left to be looked at. */
static bool unit_tls_shake(SSL *server, SSL *client)
{
	BIO *a, *b;

	ck_assert_int_eq(BIO_new_bio_pair(&a, 0, &b, 0), 1);
	SSL_set_bio(client, a, a);
	SSL_set_bio(server, b, b);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	for (int i = 0; i < 10; i++) {
		SSL_do_handshake(client);
		SSL_do_handshake(server);
	}
	return SSL_is_init_finished(client) && SSL_is_init_finished(server);
}
