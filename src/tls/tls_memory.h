/*
 * tls_memory: OpenSSL's allocator. While a private key is read, all memory that OpenSSL frees is
 * wiped first: its decoders would leave copies of the key, and processes that the master forks
 * later would inherit them. At all other times it is malloc(3) and free(3). It counts failed
 * allocations: OpenSSL continues without the objects.
 */
#pragma once

#include <stdbool.h>

/* Called once, before OpenSSL's first allocation (CRYPTO_set_mem_functions(3)); without it no
 * memory is wiped. Starts OpenSSL; ends the process, with a line on stderr and code 1, if there is
 * no memory for that. */
void tls_memory_init(void);

/* Switches the wiping of freed memory on or off. For a process that has one thread. */
void tls_memory_wipe(bool on);

/* Failed allocations since the process began. */
unsigned tls_memory_failures(void);
