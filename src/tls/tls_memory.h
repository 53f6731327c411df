/*
 * tls_memory: OpenSSL's allocator. While a private key is read, everything that OpenSSL frees is
 * wiped first: its decoders leave copies of the key behind otherwise, and the processes that the
 * master forks later would inherit them. At all other times it is malloc(3) and free(3). It counts
 * what there was no memory for: OpenSSL itself goes on without what it could not have made.
 */
#ifndef H2D_TLS_TLS_MEMORY_H
#define H2D_TLS_TLS_MEMORY_H

#include <stdbool.h>

/* Once, before OpenSSL allocates anything (CRYPTO_set_mem_functions(3)); without it nothing is
 * wiped. Starts OpenSSL; ends the process, with a line on stderr and code 1, if there is no memory
 * for that. */
void tls_memory_init(void);

/* From now on freed memory is wiped, or no longer. For a process that has one thread. */
void tls_memory_wipe(bool on);

/* Allocations that failed, since the process began. */
unsigned tls_memory_failures(void);

#endif
