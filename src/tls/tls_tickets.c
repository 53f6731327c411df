/*
 * tls_tickets: keeps the keys of session tickets; see tls_tickets.h. The master alone writes; a
 * worker's handshakes read. They are in a memfd; a file of keys is read, and not kept open.
 */
#include "tls/tls_tickets.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_read.h"

enum {
	NAME_SIZE = 16,
	HMAC_SIZE = 32,
	AES_AT = NAME_SIZE + HMAC_SIZE,
};

/*
 * Two sets; the last bit of turn selects the valid one. The other one is written, then turn: a
 * master that dies at any point leaves a whole set.
 */
struct shared {
	uint32_t turn;    /* atomic; 0: no keys yet */
	uint64_t made_ms; /* clock_ms() of the encrypting key; 0: not our own */
	struct tls_tickets sets[2];
};

static struct shared *shared;
static int shared_fd = -1; /* the master's: new processes map it anew */

/* --- reading a set ---------------------------------------------------------------------------- */

/* A set is whole if it was valid before and after: only the other is written. */
static void read_from(const struct shared *from, struct tls_tickets *to)
{
	uint32_t turn;

	do {
		turn = __atomic_load_n(&from->turn, __ATOMIC_SEQ_CST);
		*to = from->sets[turn % 2];
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (turn != __atomic_load_n(&from->turn, __ATOMIC_SEQ_CST));
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct shared *map_keys(int fd, int how, void *at)
{
	void *p = mmap(
		at, sizeof(struct shared), how, MAP_SHARED | (at != NULL ? MAP_FIXED : 0), fd, 0);

	return p != MAP_FAILED ? p : NULL;
}

/* The master's mapping is older than the seal: later mappings can only read. */
static bool share(void)
{
	if (shared != NULL)
		return true;
	shared_fd = memfd_create("h2d-tickets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (shared_fd < 0)
		return false;
	if (ftruncate(shared_fd, sizeof(struct shared)) == 0)
		shared = map_keys(shared_fd, PROT_READ | PROT_WRITE, NULL);
	if (shared != NULL &&
		fcntl(shared_fd, F_ADD_SEALS,
			F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) {
		madvise(shared, sizeof(*shared), MADV_DONTDUMP);
		return true;
	}
	tls_tickets_forget();
	return false;
}

static void publish(const struct tls_tickets *from)
{
	uint32_t next = shared->turn + 1;

	/* 0 means none, also after 2^32 turns; the last bit still changes. */
	next += next == 0 ? 2 : 0;
	shared->sets[next % 2] = *from;
	__atomic_store_n(&shared->turn, next, __ATOMIC_SEQ_CST);
	OPENSSL_cleanse(&shared->sets[(next + 1) % 2], sizeof(shared->sets[0]));
}

bool tls_tickets_set(const struct tls_tickets *from)
{
	if (!share())
		return false;
	publish(from);
	shared->made_ms = 0;
	return true;
}

bool tls_tickets_rotate(void)
{
	struct tls_tickets next = { .n = 1 }, now = { 0 };
	bool ok = share() && RAND_priv_bytes(next.keys[0], sizeof(next.keys[0])) == 1;

	if (ok) {
		read_from(shared, &now);
		while (next.n < TLS_TICKETS_MADE && next.n <= now.n) {
			memcpy(next.keys[next.n], now.keys[next.n - 1], TLS_TICKETS_KEY);
			next.n++;
		}
		publish(&next);
		shared->made_ms = clock_ms();
	}
	OPENSSL_cleanse(&next, sizeof(next));
	OPENSSL_cleanse(&now, sizeof(now));
	return ok;
}

/* --- reading ---------------------------------------------------------------------------------- */

bool tls_tickets_get(struct tls_tickets *to)
{
	if (!share() || (shared->turn == 0 && !tls_tickets_rotate()))
		return false;
	read_from(shared, to);
	return true;
}

uint64_t tls_tickets_age_ms(void)
{
	if (shared == NULL)
		return 0;
	return shared->made_ms != 0 ? clock_ms() - shared->made_ms : UINT64_MAX;
}

static bool begin_ticket(const unsigned char *key, const unsigned char *iv, EVP_CIPHER_CTX *cipher,
	EVP_MAC_CTX *mac, int encrypts)
{
	char digest[] = "SHA256";
	unsigned char hmac[HMAC_SIZE];
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, hmac, sizeof(hmac)),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_end(),
	};
	bool ok;

	memcpy(hmac, key + NAME_SIZE, sizeof(hmac));
	ok = EVP_MAC_CTX_set_params(mac, params) == 1 &&
	     EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key + AES_AT, iv, encrypts) == 1;
	OPENSSL_cleanse(hmac, sizeof(hmac));
	return ok;
}

/* The callback of SSL_CTX_set_tlsext_ticket_key_evp_cb(3); 2: a ticket by the first key is due. */
static int key_of(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
	EVP_MAC_CTX *mac, int encrypts)
{
	struct tls_tickets set;
	unsigned i = 0;
	int rc = -1;

	(void)ssl;
	read_from(shared, &set);
	/* By the first key, which the search then finds. */
	if (encrypts)
		memcpy(name, set.keys[0], NAME_SIZE);
	while (i < set.n && memcmp(name, set.keys[i], NAME_SIZE) != 0)
		i++;
	if (i == set.n)
		rc = 0;
	else if ((!encrypts || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1) &&
		 begin_ticket(set.keys[i], iv, cipher, mac, encrypts))
		rc = i == 0 ? 1 : 2;
	OPENSSL_cleanse(&set, sizeof(set));
	return rc;
}

bool tls_tickets_use(SSL_CTX *ssl)
{
	struct tls_tickets made;
	bool ok = tls_tickets_get(&made);

	OPENSSL_cleanse(&made, sizeof(made));
	return ok && SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, key_of) == 1;
}

/* --- other processes -------------------------------------------------------------------------- */

int tls_tickets_fd(void)
{
	return shared_fd;
}

/* Both programs must have the same layout. */
bool tls_tickets_inherit(int fd)
{
	struct tls_tickets set = { 0 };
	struct shared *theirs;
	struct stat st;
	bool ok;

	if (fstat(fd, &st) < 0 || st.st_size != sizeof(*theirs))
		return false;
	theirs = map_keys(fd, PROT_READ, NULL);
	if (theirs == NULL)
		return false;
	read_from(theirs, &set);
	ok = set.n > 0 && set.n <= TLS_TICKETS_MAX && tls_tickets_set(&set);
	if (ok)
		shared->made_ms = theirs->made_ms;
	munmap(theirs, sizeof(*theirs));
	OPENSSL_cleanse(&set, sizeof(set));
	return ok;
}

int tls_tickets_protect(void)
{
	if (shared == NULL)
		return 0;
	return map_keys(shared_fd, PROT_READ, shared) != NULL ? 0 : -errno;
}

void tls_tickets_forget(void)
{
	if (shared != NULL)
		munmap(shared, sizeof(*shared));
	shared = NULL;
	if (shared_fd >= 0)
		close(shared_fd);
	shared_fd = -1;
}

/* --- a file of keys --------------------------------------------------------------------------- */

/* A file being written has a part of a key, or only zeros. */
static const char *check_keys(const unsigned char *buf, ssize_t n)
{
	static const unsigned char zeros[TLS_TICKETS_KEY];

	if (n == 0)
		return "it is empty";
	if (n > (ssize_t)sizeof(((struct tls_tickets *)0)->keys))
		return "it has more than eight keys";
	if (n % TLS_TICKETS_KEY != 0)
		return "its size is not a multiple of 80 bytes";
	for (ssize_t at = 0; at < n; at += TLS_TICKETS_KEY)
		if (memcmp(buf + at, zeros, sizeof(zeros)) == 0)
			return "a key is all zeros";
	return NULL;
}

bool tls_tickets_read(const char *file, struct tls_tickets *to, char *why, size_t size)
{
	unsigned char buf[sizeof(to->keys) + 1];
	ssize_t n = file_read(file, buf, sizeof(buf));
	const char *wrong = n < 0 ? strerror((int)-n) : check_keys(buf, n);

	*to = (struct tls_tickets){ 0 };
	if (wrong != NULL) {
		snprintf(why, size, "session-ticket-key-file %s: %s", file, wrong);
	} else {
		to->n = (unsigned)(n / TLS_TICKETS_KEY);
		memcpy(to->keys, buf, (size_t)n);
	}
	OPENSSL_cleanse(buf, sizeof(buf));
	return wrong == NULL;
}
