/*
 * check_tls_memory: what OpenSSL finds no memory for is counted, and no context is made that lacks
 * it, nor authorities or lists of what they have revoked. Each test is a process of its own, and
 * the first context of it.
 */
#include "tls/tls_memory.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include "tls/tls_client_ca.h"
#include "unit_cert.h"

static int fail_at; /* so many calls later, once */
static int left;    /* of them, when a context was made */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	return fail_at > 0 && --fail_at == 0 ? NULL : __real_malloc(n);
}

static bool add(struct tls_fault *fault)
{
	struct tls_ctx *c = tls_ctx_new(true, true);
	bool added = unit_cert_add(c, "ec.crt", "ec.key", fault) != NULL;

	left = fail_at;
	fail_at = 0;
	tls_ctx_free(&c);
	return added;
}

TEST(counted)
{
	void *p = OPENSSL_malloc(10);

	ck_assert_uint_eq(tls_memory_failures(), 0);
	fail_at = 1;
	ck_assert_ptr_null(OPENSSL_malloc(10));
	ck_assert_uint_eq(tls_memory_failures(), 1);
	OPENSSL_free(p);
}

/* What was made before the first context may be what it needs. */
TEST(before_the_first_context)
{
	struct tls_fault fault;

	fail_at = 1;
	ck_assert_ptr_null(OPENSSL_malloc(10));
	ck_assert(!add(&fault));
	ck_assert_str_eq(fault.text, "TLS: out of memory");
	ck_assert(add(&fault));
	fail_at = 1;
	ck_assert_ptr_null(OPENSSL_malloc(10));
	ck_assert(add(&fault));
}

/* One call after the other, later ones with gaps: OpenSSL 3.0 has a context made in spite of every
 * second one. */
TEST(in_a_context)
{
	struct tls_fault fault;
	int calls = 0;

	ck_assert(add(&fault));
	do {
		unsigned failures = tls_memory_failures();
		bool added;

		calls += 1 + calls / 50;
		fail_at = calls;
		added = add(&fault);
		if (tls_memory_failures() != failures)
			ck_assert_msg(!added, "call %d", calls);
	} while (left == 0);
	ck_assert_int_gt(calls, 20);
	ck_assert(add(&fault));
}

/* --- authorities ------------------------------------------------------------------------------ */

static struct tls_client_ca *load(void)
{
	struct tls_client_ca_fault fault;

	return tls_client_ca_load(unit_cert("ec.crt"), unit_cert("crl"), &fault);
}

/* A list that lacks something would let in who is revoked. */
TEST(in_authorities)
{
	int calls = 0;

	unit_cert_revoke("ec.crt", "ec.key", "crl", 3);
	do {
		unsigned failures = tls_memory_failures();
		struct tls_client_ca *ca;
		bool ok;

		fail_at = ++calls;
		ca = load();
		ok = ca != NULL;
		left = fail_at;
		fail_at = 0;
		tls_client_ca_free(&ca);
		if (tls_memory_failures() != failures)
			ck_assert_msg(!ok, "call %d", calls);
	} while (left == 0);
	ck_assert_int_gt(calls, 20);
}

UNIT_STATEMENT(memory, tls_memory_init())
