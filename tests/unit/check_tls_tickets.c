/* check_tls_tickets: which keys make and read tickets, for how long, and who can write them; files
 * of keys. */
#include "tls/tls_tickets.h"

#include "base/clock.h"
#include "base/slice.h"
#include "unit.h"
#include "unit_cert.h"
#include "unit_tls.h"

static SSL_CTX *server_ctx, *client_ctx;
static SSL_SESSION *ticket;

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
	SSL_SESSION_free(ticket);
	ticket = session;
	return 1;
}

UNIT_SETUP(setup)
{
	server_ctx = SSL_CTX_new(TLS_server_method());
	client_ctx = SSL_CTX_new(TLS_client_method());
	ck_assert_int_eq(SSL_CTX_use_certificate_chain_file(server_ctx, unit_cert("ec.crt")), 1);
	ck_assert_int_eq(
		SSL_CTX_use_PrivateKey_file(server_ctx, unit_cert("ec.key"), SSL_FILETYPE_PEM), 1);
	SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
	SSL_CTX_sess_set_new_cb(client_ctx, on_ticket);
	ck_assert(tls_tickets_use(server_ctx));
}

UNIT_TEARDOWN(teardown)
{
	SSL_SESSION_free(ticket);
	ticket = NULL;
	SSL_CTX_free(client_ctx);
	SSL_CTX_free(server_ctx);
	tls_tickets_forget();
}

/* A connection that asks for a resumption of session; whether it was one. The ticket is renewed. */
static bool resumes(SSL_SESSION *session, int version)
{
	SSL *s = SSL_new(server_ctx), *c = SSL_new(client_ctx);
	/* OpenSSL's client uses one up. */
	SSL_SESSION *copy = session != NULL ? SSL_SESSION_dup(session) : NULL;
	bool resumed;

	SSL_set_max_proto_version(c, version);
	if (copy != NULL)
		SSL_set_session(c, copy);
	SSL_SESSION_free(copy);
	ck_assert(unit_tls_shake(s, c));
	SSL_read(c, &(char){ 0 }, 1);
	/* A ticket that is renewed in TLS 1.2 is no new session to OpenSSL's client. */
	if (version == TLS1_2_VERSION)
		on_ticket(c, SSL_get1_session(c));
	resumed = SSL_session_reused(s);
	SSL_shutdown(c);
	SSL_free(s);
	SSL_free(c);
	return resumed;
}

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

static SSL_SESSION *new_session(int version)
{
	SSL_SESSION *made;

	ck_assert(!resumes(NULL, version));
	ck_assert_ptr_nonnull(ticket);
	made = ticket;
	ticket = NULL;
	return made;
}

/* By the key that encrypts and by the two before it; the third is one of three generations ago. */
TEST_EACH(three_generations, 2)
{
	SSL_SESSION *old = new_session(versions[_i]);

	for (int i = 0; i < TLS_TICKETS_MADE; i++) {
		ck_assert_msg(resumes(old, versions[_i]), "%d keys behind", i);
		ck_assert(tls_tickets_rotate());
	}
	ck_assert(!resumes(old, versions[_i]));
	SSL_SESSION_free(old);
}

/* Who comes often enough has a ticket by a new key before the old one goes. */
TEST_EACH(renewed, 2)
{
	SSL_SESSION *last = new_session(versions[_i]);

	for (int i = 0; i < 10; i++) {
		ck_assert(resumes(last, versions[_i]));
		ck_assert(tls_tickets_rotate());
		if (ticket != NULL) {
			SSL_SESSION_free(last);
			last = ticket;
			ticket = NULL;
		}
	}
	SSL_SESSION_free(last);
}

TEST(handed_over)
{
	SSL_SESSION *old = new_session(TLS1_3_VERSION);
	int fd, other = memfd_create("other", MFD_CLOEXEC);
	struct tls_tickets keys;

	clock_set(5000000, (struct timespec){ 0 });
	ck_assert(tls_tickets_rotate());
	fd = dup(tls_tickets_fd());
	tls_tickets_forget();
	ck_assert_int_eq(tls_tickets_fd(), -1);
	clock_set(12000000, (struct timespec){ 0 });
	ck_assert(tls_tickets_rotate());
	ck_assert_uint_eq(tls_tickets_age_ms(), 0);
	ck_assert(!resumes(old, TLS1_3_VERSION));
	ck_assert(!tls_tickets_inherit(other) && !resumes(old, TLS1_3_VERSION));
	ck_assert(tls_tickets_inherit(fd));
	ck_assert(resumes(old, TLS1_3_VERSION));
	ck_assert_uint_eq(tls_tickets_age_ms(), 7000);
	ck_assert(tls_tickets_get(&keys) && tls_tickets_set(&keys));
	ck_assert_uint_eq(tls_tickets_age_ms(), UINT64_MAX);
	SSL_SESSION_free(old);
	close(other);
	close(fd);
}

/* The memory that all processes share. */
static struct slice region(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from = 0, to = 0;
	char line[512];

	while (fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, "h2d-tickets") != NULL)
			break;
	fclose(f);
	ck_assert_int_eq(sscanf(line, "%lx-%lx", &from, &to), 2);
	return slice_of((void *)from, to - from);
}

static bool lies_there(const unsigned char *key)
{
	struct slice all = region();

	return memmem(all.p, all.n, key, 16) != NULL || memmem(all.p, all.n, key + 48, 32) != NULL;
}

TEST(old_keys_are_wiped)
{
	struct tls_tickets first, one = { .n = 1 };

	ck_assert(tls_tickets_get(&first));
	for (int i = 0; i < TLS_TICKETS_MADE; i++) {
		ck_assert(lies_there(first.keys[0]));
		ck_assert(tls_tickets_rotate());
	}
	ck_assert(!lies_there(first.keys[0]));
	ck_assert(tls_tickets_get(&first));
	memset(one.keys[0], 7, sizeof(one.keys[0]));
	ck_assert(tls_tickets_set(&one));
	for (unsigned i = 0; i < first.n; i++)
		ck_assert(!lies_there(first.keys[i]));
}

/* What a new process finds: keys that change under it, and that it cannot change. */
static int in_child(int ready, int go)
{
	struct tls_tickets had, has;
	struct slice all;
	char c;

	if (tls_tickets_protect() != 0 || !tls_tickets_get(&had))
		return 1;
	all = region();
	if (mprotect((void *)(uintptr_t)all.p, all.n, PROT_READ | PROT_WRITE) == 0)
		return 2;
	if (write(ready, "x", 1) != 1)
		return 5;
	if (read(go, &c, 1) != 1 || !tls_tickets_get(&has))
		return 3;
	return memcmp(has.keys[1], had.keys[0], TLS_TICKETS_KEY) == 0 ? 0 : 4;
}

TEST(another_process)
{
	int ready[2], go[2], status;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(go), 0);
	pid = fork();
	if (pid == 0)
		_exit(in_child(ready[1], go[0]));
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert(tls_tickets_rotate());
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

/* --- files: how many keys they have, and what is none ----------------------------------------- */

static char path[64];

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

	snprintf(path, sizeof(path), "%s", unit_cert("keys"));
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

	snprintf(path, sizeof(path), "%s", unit_cert("keys"));
	ck_assert(reads(0, &keys, why, sizeof(why)) == false);
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
