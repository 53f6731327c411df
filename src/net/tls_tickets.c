/*
 * tls_tickets: keeps the keys of session tickets; see tls_tickets.h. Called in the master by
 * tls_ctx, upgrade and heir, and by spawn in a child that is to forget them. Nothing writes them to
 * a file.
 */
#include "net/tls_tickets.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

static unsigned char secret[TLS_TICKET_KEYS];
static bool made;

bool tls_tickets_get(unsigned char keys[TLS_TICKET_KEYS])
{
	made = made || RAND_priv_bytes(secret, sizeof(secret)) == 1;
	memcpy(keys, secret, sizeof(secret));
	return made;
}

void tls_tickets_set(const unsigned char keys[TLS_TICKET_KEYS])
{
	memcpy(secret, keys, sizeof(secret));
	made = true;
}

bool tls_tickets_use(SSL_CTX *ssl)
{
	unsigned char keys[TLS_TICKET_KEYS];
	bool ok = tls_tickets_get(keys) &&
		  SSL_CTX_set_tlsext_ticket_keys(ssl, keys, sizeof(keys)) == 1;

	OPENSSL_cleanse(keys, sizeof(keys));
	return ok;
}

void tls_tickets_forget(void)
{
	OPENSSL_cleanse(secret, sizeof(secret));
	made = false;
}
