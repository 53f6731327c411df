/*
 * tls_look: reads the leaf and what is behind it in its file. Sites and certs call it, in the
 * master; it changes nothing and logs nothing.
 */
#include "tls/tls_look.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static bool is_issued_by_itself(X509 *cert)
{
	return X509_NAME_cmp(X509_get_subject_name(cert), X509_get_issuer_name(cert)) == 0;
}

/* Whether the system trusts who has issued it. */
static bool is_issuer_trusted(X509 *cert)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *issuer = NULL;
	bool found = store != NULL && ctx != NULL && X509_STORE_set_default_paths(store) == 1 &&
		     X509_STORE_CTX_init(ctx, store, cert, NULL) == 1 &&
		     X509_STORE_CTX_get1_issuer(&issuer, ctx, cert) == 1;

	X509_free(issuer);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return found;
}

const char *tls_look_chain(const struct tls_cert *c, const struct tls_pair *p)
{
	STACK_OF(X509) *chain = NULL;
	X509 *cert = p->leaf;

	SSL_CTX_select_current_cert(c->ssl, cert);
	SSL_CTX_get0_chain_certs(c->ssl, &chain);
	for (int i = 0; i < sk_X509_num(chain); i++) {
		X509 *next = sk_X509_value(chain, i);

		if (X509_check_issued(next, cert) != X509_V_OK)
			return "behind each certificate stands its issuer's, and here one does "
			       "not: "
			       "clients may refuse it";
		cert = next;
	}
	if (is_issued_by_itself(cert) || is_issuer_trusted(cert))
		return NULL;
	return "the certificate of its issuer is not in it, nor one that this machine trusts: "
	       "clients "
	       "may refuse it (certbot's fullchain.pem has both)";
}
