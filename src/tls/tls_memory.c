/*
 * tls_memory: the three functions that OpenSSL calls in place of malloc, realloc and free, in
 * every process.
 */
#include "tls/tls_memory.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wiping;
static bool starting;
static unsigned failures;

static void *counted(void *p)
{
	if (p != NULL)
		return p;
	/* OpenSSL 3.5 reports this by allocating, and would wait for itself for ever. */
	if (starting) {
		fputs("h2d: OpenSSL cannot start: out of memory\n", stderr);
		_exit(1);
	}
	__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *allocate(size_t n, const char *file, int line)
{
	(void)file, (void)line;
	return n != 0 ? counted(malloc(n)) : NULL;
}

static void release_block(void *p, const char *file, int line)
{
	(void)file, (void)line;
	if (wiping && p != NULL)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *reallocate(void *p, size_t n, const char *file, int line)
{
	size_t had = p != NULL ? malloc_usable_size(p) : 0;
	void *moved;

	if (n == 0) {
		release_block(p, file, line);
		return NULL;
	}
	if (!wiping)
		return counted(realloc(p, n));
	moved = counted(malloc(n));
	if (moved == NULL)
		return NULL;
	if (p != NULL)
		memcpy(moved, p, had < n ? had : n);
	release_block(p, file, line);
	return moved;
}

void tls_memory_init(void)
{
	CRYPTO_set_mem_functions(allocate, reallocate, release_block);
	starting = true;
	OPENSSL_init_crypto(0, NULL);
	ERR_clear_error();
	starting = false;
}

void tls_memory_wipe(bool on)
{
	wiping = on;
}

unsigned tls_memory_failures(void)
{
	return __atomic_load_n(&failures, __ATOMIC_RELAXED);
}
