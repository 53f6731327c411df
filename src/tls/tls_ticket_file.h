/*
 * tls_ticket_file: keys of session tickets out of a file, which several machines may have: 80 bytes
 * each, and nothing else; the first encrypts. The master reads it, and -t.
 */
#ifndef H2D_TLS_TLS_TICKET_FILE_H
#define H2D_TLS_TLS_TICKET_FILE_H

#include <stddef.h>

#include "tls/tls_tickets.h"

/* False: why it cannot be used is in why, and to is wiped. */
bool tls_ticket_file_read(const char *file, struct tls_tickets *to, char *why, size_t size);

#endif
