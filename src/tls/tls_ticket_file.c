/*
 * tls_ticket_file: reads such a file; see tls_ticket_file.h. Called by tickets, once a second, and
 * by certs. It keeps no file open, and wipes what it read.
 */
#include "tls/tls_ticket_file.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "base/file_read.h"

/* A file that is being written has no whole number of keys, or one that is nothing but zeros. */
static const char *check(const unsigned char *buf, ssize_t n)
{
	static const unsigned char zeros[TLS_TICKETS_KEY];

	if (n == 0)
		return "it is empty";
	if (n > (ssize_t)sizeof(((struct tls_tickets *)0)->keys))
		return "it has more than eight keys";
	if (n % TLS_TICKETS_KEY != 0)
		return "keys have 80 bytes each, and nothing between them";
	for (ssize_t at = 0; at < n; at += TLS_TICKETS_KEY)
		if (memcmp(buf + at, zeros, sizeof(zeros)) == 0)
			return "a key is nothing but zeros";
	return NULL;
}

bool tls_ticket_file_read(const char *file, struct tls_tickets *to, char *why, size_t size)
{
	unsigned char buf[sizeof(to->keys) + 1];
	ssize_t n = file_read(file, buf, sizeof(buf));
	const char *wrong = n < 0 ? strerror((int)-n) : check(buf, n);

	*to = (struct tls_tickets){ 0 };
	if (wrong != NULL) {
		snprintf(why, size, "session-ticket-key-file %s: %s", file, wrong);
	} else {
		to->n = (unsigned)(n / TLS_TICKETS_KEY);
		memcpy(to->keys, buf, (size_t)n);
	}
	OPENSSL_cleanse(buf, sizeof(buf));
	return wrong == NULL;
}
