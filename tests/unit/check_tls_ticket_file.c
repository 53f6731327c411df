/* check_tls_ticket_file: how many keys a file has, and what is none. */
#include "tls/tls_tickets.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char path[64];

static void setup(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/h2d-keys-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

/* Reads a file of n bytes, of which each 80 are of one value. */
static bool reads(size_t n, struct tls_tickets *keys, char *why, size_t size)
{
	FILE *f = fopen(path, "w");

	for (size_t i = 0; i < n; i++)
		fputc((int)(i / TLS_TICKETS_KEY + 1), f);
	fclose(f);
	return tls_tickets_read(path, keys, why, size);
}

TEST(sizes)
{
	static const size_t bad[] = { 0, 1, 48, 79, 81, 160 - 1, 640 + 1, 720, 100000 };
	struct tls_tickets keys;
	char why[512];

	for (unsigned n = 1; n <= TLS_TICKETS_MAX; n++) {
		ck_assert(reads((size_t)n * TLS_TICKETS_KEY, &keys, why, sizeof(why)));
		ck_assert_uint_eq(keys.n, n);
		ck_assert_uint_eq(keys.keys[n - 1][0], n);
		ck_assert_uint_eq(keys.keys[n - 1][79], n);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert(!reads(bad[i], &keys, why, sizeof(why)));
		ck_assert_ptr_nonnull(strstr(why, path));
		ck_assert_uint_eq(keys.n, 0);
	}
}

TEST(no_keys)
{
	struct tls_tickets keys;
	char why[512];

	ck_assert_int_eq(truncate(path, 160), 0);
	ck_assert(!tls_tickets_read(path, &keys, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "all zeros"));
	unlink(path);
	ck_assert(!tls_tickets_read(path, &keys, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "No such file"));
	ck_assert(!tls_tickets_read("/tmp", &keys, why, sizeof(why)));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(!tls_tickets_read(path, &keys, why, sizeof(why)));
}

UNIT_FIXTURE(setup, teardown)

UNIT_MAIN("tls_ticket_file")
