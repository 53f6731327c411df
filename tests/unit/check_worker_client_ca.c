/*
 * check_worker_client_ca: parcels of authorities on their way into a worker's: in a thread, the
 * last one that came stays, and what is none changes nothing.
 */
#include "server/worker_client_ca.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "unit_cert.h"

enum { MANY = 20000, HANDSHAKE_MS = 10000 };

static struct loop loop;
static struct offload *threads;
static struct client_cas_entry entry;
static const struct client_cas cas = { .entries = &entry, .n = 1 };
static struct worker_client_ca worker;

static void pass(uint64_t ms)
{
	uint64_t now = clock_ms() + ms;

	clock_set(now * 1000, (struct timespec){ .tv_sec = 1 });
	wheel_advance(&loop.wheel, now);
}

static struct tls_client_ca *load(const char *file, const char *crl)
{
	struct tls_client_ca_fault fault;
	struct tls_client_ca *ca =
		tls_client_ca_load(unit_cert(file), *crl != '\0' ? unit_cert(crl) : "", &fault);

	ck_assert_msg(ca != NULL, "%s", fault.text);
	return ca;
}

static void setup(void)
{
	log_max = LEVEL_ALERT;
	ck_assert_int_eq(loop_init(&loop), 0);
	threads = offload_new(&loop, 4);
	ck_assert_ptr_nonnull(threads);
	entry = (struct client_cas_entry){ .ca = load("ec.crt", "") };
	worker_client_ca_init(&worker, &loop, threads, &cas, HANDSHAKE_MS);
}

static void teardown(void)
{
	offload_free(&threads);
	worker_client_ca_fini(&worker);
	loop_fini(&loop);
	tls_client_ca_free(&entry.ca);
}

static void tell(const struct tls_client_ca *ca)
{
	int fd = tls_client_ca_pack(ca);

	ck_assert_int_ge(fd, 0);
	worker_client_ca_take(&worker, 0, fd);
}

static void come_to_rest(void)
{
	while (offload_pending(threads) > 0)
		ck_assert_int_ge(loop_turn(&loop, -1), 0);
}

static bool is(const struct tls_client_ca *ca)
{
	return memcmp(entry.ca->id, ca->id, sizeof(ca->id)) == 0;
}

START_TEST(by_a_thread)
{
	struct tls_client_ca *other = load("rsa.crt", "");

	tell(other);
	ck_assert(!is(other)); /* the loop has not had its turn */
	come_to_rest();
	ck_assert(is(other));
	/* What was there before is freed likewise, when no handshake can hold it. */
	ck_assert(timer_armed(&worker.drop));
	pass(HANDSHAKE_MS + 100);
	ck_assert_uint_eq(offload_pending(threads), 1);
	come_to_rest();
	ck_assert(!timer_armed(&worker.drop) && list_empty(&worker.replaced));
	tls_client_ca_free(&other);
}
END_TEST

/* The first takes longer. */
START_TEST(the_last_one_stays)
{
	struct tls_client_ca *first, *last = load("rsa.crt", "");

	unit_cert_revoke("ec.crt", "ec.key", "crl", MANY);
	first = load("ec.crt", "crl");
	tell(first);
	tell(last);
	come_to_rest();
	ck_assert(is(last));
	tell(first);
	come_to_rest();
	ck_assert(is(first));
	tls_client_ca_free(&first);
	tls_client_ca_free(&last);
}
END_TEST

START_TEST(what_is_none)
{
	struct tls_client_ca *before = load("ec.crt", "");

	for (unsigned n = 0; n < 2; n++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		worker_client_ca_take(&worker, n, fd);
		come_to_rest();
		ck_assert(is(before));
		ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
	}
	worker_client_ca_take(&worker, 0, -1);
	come_to_rest();
	ck_assert(is(before));
	tls_client_ca_free(&before);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("worker_client_ca");

	tcase_add_unchecked_fixture(tc, unit_certs_make, unit_certs_remove);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, by_a_thread);
	tcase_add_test(tc, the_last_one_stays);
	tcase_add_test(tc, what_is_none);
	return tc;
}

UNIT_MAIN("worker_client_ca")
