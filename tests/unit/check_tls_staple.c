/*
 * check_tls_staple: which OCSP responses are shown with a certificate, which are not, and why; and
 * that handshakes show them to clients that ask, at the time when they are good.
 */
#include "tls/tls_staple.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <time.h>

#include "base/clock.h"
#include "unit_cert.h"
#include "unit_tls.h"

enum { HOUR = 3600 };

static EVP_PKEY *keys[3]; /* of the issuer, of the leaf, of a stranger */
static X509 *issuer, *leaf, *stranger;
static time_t now;

static X509 *make(const char *subject, long serial, EVP_PKEY *key, X509 *by, EVP_PKEY *by_key)
{
	X509 *x = X509_new();

	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
	X509_gmtime_adj(X509_getm_notBefore(x), -HOUR);
	X509_gmtime_adj(X509_getm_notAfter(x), 24 * HOUR);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)subject, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(by != NULL ? by : x));
	if (by == NULL) {
		X509_EXTENSION *e =
			X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");

		X509_add_ext(x, e, -1);
		X509_EXTENSION_free(e);
	}
	ck_assert_int_gt(X509_sign(x, by_key, EVP_sha256()), 0);
	return x;
}

UNIT_SETUP(setup)
{
	for (unsigned i = 0; i < 3; i++)
		keys[i] = EVP_EC_gen("P-256");
	issuer = make("issuer", 1, keys[0], NULL, keys[0]);
	leaf = make("leaf", 2, keys[1], issuer, keys[0]);
	stranger = make("stranger", 1, keys[2], NULL, keys[2]);
	now = time(NULL);
}

UNIT_TEARDOWN(teardown)
{
	X509_free(leaf);
	X509_free(issuer);
	X509_free(stranger);
	for (unsigned i = 0; i < 3; i++)
		EVP_PKEY_free(keys[i]);
}

/* What a responder says, and when it was; until 0: it does not say. */
struct said {
	int status, response;
	int64_t from, until;
	bool other_serial, other_issuer, by_stranger, sha256;
};

static unsigned char *response(struct said s, int *n)
{
	const EVP_MD *md = s.sha256 ? EVP_sha256() : EVP_sha1();
	X509 *asked = s.other_serial ? make("leaf", 3, keys[1], issuer, keys[0]) : X509_dup(leaf);
	OCSP_CERTID *id = OCSP_cert_to_id(md, asked, s.other_issuer ? stranger : issuer);
	OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
	ASN1_TIME *from = ASN1_TIME_adj(NULL, now, 0, s.from),
		  *until = s.until != 0 ? ASN1_TIME_adj(NULL, now, 0, s.until) : NULL,
		  *revoked = s.status == V_OCSP_CERTSTATUS_REVOKED ? ASN1_TIME_adj(NULL, now, 0, 0)
								   : NULL;
	OCSP_RESPONSE *r;
	unsigned char *der = NULL;

	ck_assert_ptr_nonnull(OCSP_basic_add1_status(basic, id, s.status, 0, revoked, from, until));
	ck_assert_int_eq(OCSP_basic_sign(basic, s.by_stranger ? stranger : issuer,
				 keys[s.by_stranger ? 2 : 0], EVP_sha256(), NULL, 0),
		1);
	r = OCSP_response_create(s.response, s.response == 0 ? basic : NULL);
	*n = i2d_OCSP_RESPONSE(r, &der);
	ck_assert_int_gt(*n, 0);
	OCSP_RESPONSE_free(r);
	OCSP_BASICRESP_free(basic);
	OCSP_CERTID_free(id);
	ASN1_TIME_free(from);
	ASN1_TIME_free(until);
	ASN1_TIME_free(revoked);
	X509_free(asked);
	return der;
}

static const struct {
	struct said said;
	const char *unfit;
} cases[] = {
	{ { .from = -HOUR, .until = HOUR }, NULL },
	{ { .from = -HOUR, .until = HOUR, .sha256 = true }, NULL },
	{ { .from = -HOUR }, NULL },
	{ { .from = 200, .until = HOUR }, NULL },
	{ { .from = 400, .until = HOUR }, "it is not valid yet" },
	{ { .from = -HOUR, .until = -1 }, "it has expired" },
	{ { .from = -HOUR, .until = HOUR, .other_serial = true }, "it is for another certificate" },
	{ { .from = -HOUR, .until = HOUR, .other_issuer = true }, "it is for another certificate" },
	{ { .from = -HOUR, .until = HOUR, .by_stranger = true },
		"it is not signed by the issuer of the certificate" },
	{ { .from = -HOUR, .until = HOUR, .status = V_OCSP_CERTSTATUS_REVOKED },
		"it reports the certificate as revoked" },
	{ { .from = -HOUR, .until = HOUR, .status = V_OCSP_CERTSTATUS_UNKNOWN },
		"it reports the certificate as unknown" },
	{ { .response = OCSP_RESPONSE_STATUS_TRYLATER }, "it contains an error of the responder" },
};

TEST_ROWS(which_fit, cases)
{
	const char *unfit;
	int n;
	unsigned char *der = response(cases[_i].said, &n);

	ck_assert_ptr_null(tls_staple_of(leaf));
	ck_assert_ptr_null(tls_staple_parse(der, (size_t)n, leaf, issuer));
	unfit = tls_staple_unfit(tls_staple_of(leaf), now);
	if (cases[_i].unfit == NULL)
		ck_assert_msg(unfit == NULL, "%s", unfit);
	else
		ck_assert_str_eq(unfit, cases[_i].unfit);
	OPENSSL_free(der);
}

/* Whose issuer is not known: the signature is not looked at, whose it is still is. */
TEST(without_the_issuer)
{
	int n;
	unsigned char *der = response((struct said){ .until = HOUR, .by_stranger = true }, &n);

	ck_assert_ptr_null(tls_staple_parse(der, (size_t)n, leaf, NULL));
	ck_assert_ptr_null(tls_staple_unfit(tls_staple_of(leaf), now));
	ck_assert_ptr_null(tls_staple_parse(der, (size_t)n, stranger, NULL));
	ck_assert_str_eq(
		tls_staple_unfit(tls_staple_of(stranger), now), "it is for another certificate");
	OPENSSL_free(der);
}

/* Every beginning of a response, and one with something behind it. */
TEST(no_response)
{
	const char *why;
	int n;
	unsigned char *der = response((struct said){ .until = HOUR }, &n);
	unsigned char *more = calloc(1, (size_t)n + 1);

	memcpy(more, der, (size_t)n);
	for (int i = 0; i <= n + 1; i++) {
		if (i == n)
			continue;
		why = tls_staple_parse(more, (size_t)i, leaf, issuer);
		ck_assert_msg(why != NULL && strstr(why, "no OCSP response") != NULL, "%d", i);
	}
	ck_assert_ptr_null(tls_staple_of(leaf));
	ck_assert_uint_eq(ERR_peek_error(), 0);
	free(more);
	OPENSSL_free(der);
}

TEST(files)
{
	int n;
	unsigned char *der = response((struct said){ .until = HOUR }, &n);
	FILE *f;

	f = unit_cert_create("staple");
	ck_assert_uint_eq(fwrite(der, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	ck_assert_str_eq(
		tls_staple_load(unit_cert("none"), leaf, issuer), "No such file or directory");
	ck_assert_ptr_nonnull(tls_staple_load(unit_cert("text"), leaf, issuer));
	ck_assert_ptr_null(tls_staple_load(unit_cert("staple"), leaf, issuer));
	ck_assert_ptr_null(tls_staple_unfit(tls_staple_of(leaf), now));
	OPENSSL_free(der);
}

/* --- handshakes ------------------------------------------------------------------------------- */

static int take(SSL *client, void *arg)
{
	const unsigned char *der;

	*(long *)arg = SSL_get_tlsext_status_ocsp_resp(client, &der);
	return 1;
}

/* How many bytes a client gets that asks or does not; -1: none. */
static long shake(SSL_CTX *server_ctx, int version, bool asks)
{
	SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
	SSL *client, *server = SSL_new(server_ctx);
	long got = -1;

	SSL_CTX_set_tlsext_status_cb(client_ctx, take);
	SSL_CTX_set_tlsext_status_arg(client_ctx, &got);
	client = SSL_new(client_ctx);
	if (asks)
		SSL_set_tlsext_status_type(client, TLSEXT_STATUSTYPE_ocsp);
	SSL_set_min_proto_version(client, version);
	SSL_set_max_proto_version(client, version);
	ck_assert(unit_tls_shake(server, client));
	SSL_free(client);
	SSL_free(server);
	SSL_CTX_free(client_ctx);
	ERR_clear_error();
	return got;
}

TEST_EACH(shown, 2)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
	int n;
	unsigned char *der = response((struct said){ .until = HOUR }, &n);

	ck_assert(tls_staple_use(ssl));
	ck_assert_int_eq(SSL_CTX_use_certificate(ssl, leaf), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey(ssl, keys[1]), 1);
	clock_set(0, (struct timespec){ .tv_sec = now });
	ck_assert_int_eq(shake(ssl, versions[_i], true), -1);
	ck_assert_ptr_null(tls_staple_parse(der, (size_t)n, leaf, issuer));
	ck_assert_int_eq(shake(ssl, versions[_i], true), n);
	ck_assert_int_eq(shake(ssl, versions[_i], false), -1);
	clock_set(0, (struct timespec){ .tv_sec = now + HOUR + 1 });
	ck_assert_int_eq(shake(ssl, versions[_i], true), -1);
	clock_update();
	SSL_CTX_free(ssl);
	OPENSSL_free(der);
}
