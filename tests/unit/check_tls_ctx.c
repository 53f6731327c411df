/* check_tls_ctx: certificates and their faults, which one a name gets, and what a ticket is good
 * for. */
#include "tls/tls_ctx.h"

#include <openssl/err.h>

#include "unit_cert.h"
#include "unit_tls.h"

static const struct {
	const char *cert, *key, *says;
} contexts[] = {
	{ "ec.crt", "ec.key", NULL },
	{ "rsa.crt", "rsa.key", NULL },
	{ "none", "ec.key", "none: No such file" },
	{ "", "ec.key", "/: the file has no such PEM block" },
	{ "text", "ec.key", "text: the file has no such PEM block" },
	{ "ec.key", "ec.key", "ec.key: the file has no such PEM block" },
	{ "ec.crt", "none", "none: No such file" },
	{ "ec.crt", "text", "text: the file has no such PEM block" },
	{ "ec.crt", "ec.crt", "ec.crt: the file has no such PEM block" },
	{ "ec.crt", "locked.key", "locked.key: the key is encrypted" },
	{ "ec.crt", "locked-old.key", "locked-old.key: the key is encrypted" },
	{ "ec.crt", "other.key", "other.key does not match certificate " },
	{ "ec.crt", "rsa.key", "rsa.key does not match certificate " },
	{ "rsa.crt", "ec.key", "ec.key does not match certificate " },
};

TEST_ROWS(context, contexts)
{
	char cert[128], key[128];
	struct tls_fault fault = { 0 };
	struct tls_ctx *c = tls_ctx_new(true, true);
	const struct tls_cert *added;

	snprintf(cert, sizeof(cert), "%s", unit_cert(contexts[_i].cert));
	snprintf(key, sizeof(key), "%s", unit_cert(contexts[_i].key));
	added = tls_ctx_add(c, &(struct tls_files){ { cert, key, "" } }, 1, &fault);
	ck_assert_msg((added != NULL) == (contexts[_i].says == NULL), "%s", fault.text);
	ck_assert_ptr_eq(c->first, added);
	if (contexts[_i].says != NULL) {
		ck_assert_msg(strstr(fault.text, contexts[_i].says) != NULL, "%s", fault.text);
		ck_assert_msg(strncmp(fault.text, "certificate", 11) == 0, "%s", fault.text);
		ck_assert_int_eq(fault.in == TLS_FILE_KEY, fault.text[11] == '-');
	}
	tls_ctx_free(&c);
	ck_assert_ptr_null(c);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}

TEST(context_without_version)
{
	struct tls_ctx *c = tls_ctx_new(false, false);
	struct tls_fault fault;

	ck_assert_ptr_null(unit_cert_add(c, "ec.crt", "ec.key", &fault));
	ck_assert_str_eq(fault.text, "TLS: no protocol version is enabled");
	tls_ctx_free(&c);
}

TEST(the_same_files_are_one)
{
	struct tls_ctx *c = tls_ctx_new(true, true);
	struct tls_fault fault;
	const struct tls_cert *ec, *rsa;

	ec = unit_cert_add(c, "ec.crt", "ec.key", &fault);
	rsa = unit_cert_add(c, "rsa.crt", "rsa.key", &fault);
	ck_assert(ec != NULL && rsa != NULL && ec != rsa);
	ck_assert_ptr_eq(unit_cert_add(c, "ec.crt", "ec.key", &fault), ec);
	/* The same certificate with another file as its key is asked for anew. */
	ck_assert_ptr_null(unit_cert_add(c, "ec.crt", "rsa.key", &fault));
	ck_assert_int_eq(fault.in, TLS_FILE_KEY);
	ck_assert_ptr_eq(c->first, ec);
	tls_ctx_free(&c);
}

/* The first is "ec"; what is said of the second. */
static const struct {
	const char *cert, *key, *says;
} seconds[] = {
	{ "rsa.crt", "rsa.key", NULL },
	{ "names.crt", "names.key", "names.crt has the same type of key as " },
	{ "rsa.crt", "ec.key", "ec.key does not match certificate " },
	{ "rsa.crt", "none", "none: No such file" },
};

TEST_ROWS(two_for_the_same_names, seconds)
{
	char paths[4][128];
	const struct tls_files files[] = { { { paths[0], paths[1], "" } },
		{ { paths[2], paths[3], "" } } };
	struct tls_ctx *c = tls_ctx_new(true, true);
	struct tls_fault fault = { 0 };
	const struct tls_cert *added, *alone;

	snprintf(paths[0], sizeof(paths[0]), "%s", unit_cert("ec.crt"));
	snprintf(paths[1], sizeof(paths[1]), "%s", unit_cert("ec.key"));
	snprintf(paths[2], sizeof(paths[2]), "%s", unit_cert(seconds[_i].cert));
	snprintf(paths[3], sizeof(paths[3]), "%s", unit_cert(seconds[_i].key));
	added = tls_ctx_add(c, files, 2, &fault);
	ck_assert_msg((added != NULL) == (seconds[_i].says == NULL), "%s", fault.text);
	if (added != NULL) {
		alone = tls_ctx_add(c, files, 1, &fault);
		ck_assert_ptr_ne(alone, added);
		ck_assert_ptr_eq(tls_ctx_add(c, files, 2, &fault), added);
		ck_assert_uint_eq(added->npairs, 2);
		ck_assert_str_eq(added->pairs[0].kind, "ecdsa");
		ck_assert_str_eq(added->pairs[1].kind, "rsa");
		ck_assert_int_ne(memcmp(added->id, alone->id, sizeof(alone->id)), 0);
	} else {
		ck_assert_msg(strstr(fault.text, seconds[_i].says) != NULL, "%s", fault.text);
		ck_assert_int_eq(
			fault.in == TLS_FILE_KEY, strncmp(fault.text, "certificate-key", 15) == 0);
	}
	tls_ctx_free(&c);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}

static const struct {
	const char *host;
	bool covered;
} hosts[] = {
	{ "a.example", true },
	{ "A.Example", true },
	{ "b.a.example", false },
	{ "b.example", false },
	{ "x.b.example", true },
	{ "x.y.b.example", false },
	{ "192.0.2.1", true },
	{ "192.0.2.2", false },
	{ "[2001:db8::1]", true },
	{ "[2001:DB8:0::1]", true },
	{ "[2001:db8::2]", false },
	{ "2001:db8::1", false },
	{ "[a.example]", false },
	{ "", false },
	/* The common name, and what looks like a name or an address but is not. */
	{ "localhost", false },
	{ "[]", false },
	{ "a.example:443", false },
	{ "192.0.2", false },
};

TEST(covers)
{
	struct tls_ctx *c = tls_ctx_new(true, true);
	struct tls_fault fault;
	const struct tls_cert *cert = unit_cert_add(c, "names.crt", "names.key", &fault);
	char longest[300];

	for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		ck_assert_msg(tls_cert_covers(cert, slice_str(hosts[i].host)) == hosts[i].covered,
			"%s", hosts[i].host);
	ck_assert(!tls_cert_covers(cert, SLICE("a.example\0")));
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + sizeof(longest) - 10, ".b.example", 10);
	ck_assert(!tls_cert_covers(cert, slice_of(longest, sizeof(longest))));
	tls_ctx_free(&c);
}

/* --- handshakes, in memory -------------------------------------------------------------------- */

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
static struct tls_ctx *ctx;
static const struct tls_cert *first, *other;
static SSL_CTX *client_ctx;
static SSL_SESSION *ticket;

/* "other" and what is in it have a certificate of their own. */
static const struct tls_cert *choose(const void *owner, struct slice name)
{
	ck_assert_ptr_eq(owner, &ctx);
	if (slice_ieq(name, SLICE("other")) || slice_ends(name, SLICE(".other")))
		return other;
	return NULL;
}

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
	SSL_SESSION_free(ticket);
	ticket = session;
	return 1;
}

UNIT_SETUP(setup)
{
	struct tls_fault fault;

	ctx = tls_ctx_new(true, true);
	first = unit_cert_add(ctx, "ec.crt", "ec.key", &fault);
	other = unit_cert_add(ctx, "rsa.crt", "rsa.key", &fault);
	ctx->owner = &ctx;
	ctx->choose = choose;
	client_ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
	SSL_CTX_sess_set_new_cb(client_ctx, on_ticket);
}

UNIT_TEARDOWN(teardown)
{
	SSL_SESSION_free(ticket);
	ticket = NULL;
	SSL_CTX_free(client_ctx);
	tls_ctx_free(&ctx);
}

struct hand {
	const struct tls_cert *shown; /* NULL: it failed */
	bool reused;
};

static bool is_one_of(const struct tls_cert *c, const X509 *x)
{
	for (unsigned i = 0; i < c->npairs; i++)
		if (X509_cmp(c->pairs[i].leaf, x) == 0)
			return true;
	return false;
}

/* groups: of the client, NULL for its own choice. */
static struct hand shake(int version, const char *name, SSL_SESSION *session, const char *groups)
{
	SSL *client = SSL_new(client_ctx), *server = SSL_new(ctx->first->ssl);
	struct hand h = { 0 };
	char byte;

	SSL_set_min_proto_version(client, version);
	SSL_set_max_proto_version(client, version);
	if (name != NULL)
		SSL_set_tlsext_host_name(client, (void *)(uintptr_t)name);
	if (groups != NULL)
		ck_assert_int_eq(SSL_set1_groups_list(client, (void *)(uintptr_t)groups), 1);
	if (session != NULL)
		ck_assert_int_eq(SSL_set_session(client, session), 1);
	if (unit_tls_shake(server, client)) {
		X509 *x = SSL_get1_peer_certificate(client);

		SSL_read(client, &byte, 1); /* the ticket comes behind the handshake */
		h.shown = SSL_CTX_get_app_data(SSL_get_SSL_CTX(server));
		h.reused = SSL_session_reused(client);
		/* A client that resumes has the one that it was shown then. */
		ck_assert(h.reused || is_one_of(h.shown, x));
		X509_free(x);
	}
	SSL_shutdown(client);
	SSL_free(client);
	SSL_free(server);
	ERR_clear_error();
	return h;
}

TEST_EACH(the_name_decides, 2)
{
	char longest[256];

	ck_assert_ptr_eq(shake(versions[_i], NULL, NULL, NULL).shown, first);
	ck_assert_ptr_eq(shake(versions[_i], "unknown", NULL, NULL).shown, first);
	ck_assert_ptr_eq(shake(versions[_i], "other", NULL, NULL).shown, other);
	ck_assert_ptr_eq(shake(versions[_i], "OTHER", NULL, NULL).shown, other);
	ck_assert_ptr_eq(shake(versions[_i], "x.other", NULL, NULL).shown, other);
	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest + sizeof(longest) - 7, ".other", 7);
	ck_assert_ptr_eq(shake(versions[_i], longest, NULL, NULL).shown, other);
	ctx->choose = NULL;
	ck_assert_ptr_eq(shake(versions[_i], "other", NULL, NULL).shown, first);
}

/* RFC 8446, 4.1.4: the choice is made again, and comes out the same. */
TEST(after_a_retry)
{
	ck_assert_ptr_eq(shake(TLS1_3_VERSION, "other", NULL, "P-521:P-384").shown, other);
	ck_assert_ptr_eq(shake(TLS1_3_VERSION, "x", NULL, "P-521:P-384").shown, first);
}

TEST_EACH(a_ticket_is_for_its_name, 2)
{
	static const char *const names[] = { NULL, "unknown", "other", "x.other", "y.other" };
	enum { N = sizeof(names) / sizeof(names[0]) };

	for (int i = 0; i < N; i++) {
		SSL_SESSION *mine;

		ck_assert(!shake(versions[_i], names[i], NULL, NULL).reused);
		mine = ticket;
		ticket = NULL;
		ck_assert_ptr_nonnull(mine);
		for (int j = 0; j < N; j++) {
			/* What the client keeps of one name it shows for another. */
			SSL_SESSION *copy = SSL_SESSION_dup(mine);
			struct hand h;

			SSL_SESSION_set1_hostname(copy, names[j]);
			h = shake(versions[_i], names[j], copy, NULL);
			ck_assert_ptr_eq(h.shown, j < 2 ? first : other);
			ck_assert_msg(h.reused == (i == j), "%s for %s", names[i], names[j]);
			SSL_SESSION_free(copy);
		}
		SSL_SESSION_free(mine);
	}
}

/* A name whose certificate has changed: the ticket is good for whoever has the same names. */
TEST_EACH(a_ticket_is_for_its_names, 2)
{
	struct tls_fault fault;
	SSL_SESSION *mine, *copy;

	ck_assert_ptr_eq(shake(versions[_i], "other", NULL, NULL).shown, other);
	mine = ticket;
	ticket = NULL;
	copy = SSL_SESSION_dup(mine);
	other = unit_cert_add(ctx, "names.crt", "names.key", &fault);
	ck_assert(!shake(versions[_i], "other", copy, NULL).reused);
	other = first;
	ck_assert(shake(versions[_i], "other", mine, NULL).reused);
	SSL_SESSION_free(copy);
	SSL_SESSION_free(mine);
}

/* A server that is given n bytes, in memory that ends with them; what comes of it is its business.
 */
static void feed(const char *bytes, size_t n)
{
	SSL *server = SSL_new(ctx->first->ssl);
	char *copy = malloc(n);

	memcpy(copy, bytes, n);
	SSL_set_bio(server, BIO_new_mem_buf(copy, (int)n), BIO_new(BIO_s_mem()));
	SSL_set_accept_state(server);
	ck_assert_int_ne(SSL_do_handshake(server), 1);
	SSL_free(server);
	free(copy);
	ERR_clear_error();
}

static unsigned asked;

/* Whatever the extension says of lengths, the name is a part of it. */
static const struct tls_cert *choose_bent(const void *owner, struct slice name)
{
	const struct slice *hello = owner;

	asked++;
	if (name.n > 0)
		ck_assert_uint_le(name.n, hello->n);
	for (size_t i = 0; i < name.n; i++)
		ck_assert_ptr_nonnull(memchr(hello->p, name.p[i], hello->n));
	return NULL;
}

TEST(a_bent_server_name)
{
	static const uint8_t values[] = { 0, 1, 2, 4, 5, 6, 9, 10, 0x7f, 0xff };
	SSL *client = SSL_new(client_ctx);
	struct slice hello;
	char *at, bytes[4096];
	BIO *out = BIO_new(BIO_s_mem());

	SSL_set_tlsext_host_name(client, (char[]){ "other" });
	SSL_set_bio(client, BIO_new(BIO_s_mem()), out);
	SSL_set_connect_state(client);
	SSL_do_handshake(client);
	hello.n = (size_t)BIO_get_mem_data(out, &hello.p);
	ck_assert_uint_le(hello.n, sizeof(bytes));
	memcpy(bytes, hello.p, hello.n);
	ctx->owner = &hello;
	ctx->choose = choose_bent;
	at = memmem(bytes, hello.n, "other", 5);
	ck_assert_ptr_nonnull(at);
	/* Lengths of the extension, of the list, the type, the length of the name; by twos. */
	for (int i = -9; i < 0; i++) {
		for (int j = i; j < 0; j++) {
			for (unsigned k = 0; k < sizeof(values) * sizeof(values); k++) {
				memcpy(bytes, hello.p, hello.n);
				at[i] = (char)values[k % sizeof(values)];
				at[j] = (char)values[k / sizeof(values)];
				feed(bytes, hello.n);
			}
		}
	}
	ck_assert_uint_gt(asked, 1000);
	SSL_free(client);
}
