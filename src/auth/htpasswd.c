/*
 * htpasswd: reads a file of users and compares one password with crypt(3). Called by auth_queue.c
 * in offload threads; wipes and frees its memory in the same call.
 */
#include "auth/htpasswd.h"

#include <crypt.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "base/file_read.h"

#define DES_DIGITS "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

enum {
	FILE_MAX = 4 << 20,
	KINDS_MAX = 8,
	BSDI_HASH = 20, /* "_", four digits of a count, salt and hash */
	BSDI_KIND = 5,
};

/* Apache's MD5: some versions of libcrypt have it. */
static bool knows_apr1(void)
{
#ifdef CRYPT_CHECKSALT_AVAILABLE
	return crypt_checksalt("$apr1$abcdefgh$") != CRYPT_SALT_INVALID;
#else
	return false;
#endif
}

bool htpasswd_foreign(struct slice hash)
{
	return (slice_starts(hash, SLICE("$apr1$")) && !knows_apr1()) ||
	       slice_starts(hash, SLICE("{"));
}

static bool is_des(struct slice hash)
{
	for (size_t i = 0; i < hash.n; i++)
		if (memchr(DES_DIGITS, hash.p[i], sizeof(DES_DIGITS) - 1) == NULL)
			return false;
	return hash.n >= 13 && (hash.n - 13) % 11 == 0;
}

bool htpasswd_plain(struct slice hash)
{
	/* "*" and "!" lock a user; of the others only those of DES begin otherwise (crypt(5)). */
	return hash.n > 0 && memchr("$_*!", hash.p[0], 4) == NULL && !htpasswd_foreign(hash) &&
	       !is_des(hash);
}

/* A line with a user, and the lines after it. */
struct entry {
	struct slice line, user, hash, rest;
	unsigned number; /* of the line, from 1 on */
};

/* Before the first line of text. Windows editors put a byte-order mark before UTF-8 (Unicode 15.0,
 * 2.13). */
static struct entry entries(struct slice text)
{
	struct entry e = { .rest = text };

	if (slice_starts(text, SLICE("\xef\xbb\xbf")))
		slice_skip(&e.rest, 3);
	return e;
}

/* Goes to the next user; false: none. */
static bool next_entry(struct entry *e)
{
	while (e->rest.n > 0) {
		struct slice line;

		slice_cut(&e->rest, '\n', &line);
		if (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		e->number++;
		if (line.n == 0 || line.p[0] == '#')
			continue;
		e->line = line;
		slice_cut(&line, ':', &e->user);
		slice_cut(&line, ':', &e->hash);
		return true;
	}
	return false;
}

struct slice htpasswd_find(struct slice text, struct slice user)
{
	struct entry e = entries(text);

	while (next_entry(&e))
		if (slice_eq(e.user, user))
			return e.hash;
	return (struct slice){ 0 };
}

/*
 * The method of a hash and how often it is applied (crypt(5)): checks of one kind take the same
 * time. False: no password is right, for example of a locked user.
 */
static bool find_kind(struct slice hash, struct slice *kind)
{
	unsigned parts = slice_starts(hash, SLICE("$2")) ? 1 : 2; /* salt and hash */
	size_t n = hash.n;

	*kind = slice_of(hash.p, 0);
	if (is_des(hash))
		return true;
	if (n == BSDI_HASH && hash.p[0] == '_')
		n = BSDI_KIND;
	else
		for (; n > 0 && parts > 0; parts -= hash.p[n] == '$')
			n--;
	*kind = slice_of(hash.p, n);
	return n > 0 && memchr("$_", hash.p[0], 2) != NULL && !htpasswd_foreign(hash);
}

bool htpasswd_verify(const char *password, struct slice hash)
{
	char setting[CRYPT_OUTPUT_SIZE];
	struct crypt_data *data;
	const char *made;
	bool same;

	if (hash.n == 0 || hash.n >= sizeof(setting))
		return false;
	memcpy(setting, hash.p, hash.n);
	setting[hash.n] = '\0';
	data = calloc(1, sizeof(*data));
	if (data == NULL)
		return false;
	made = crypt_r(password, setting, data);
	/* crypt(3): a failure is "*0" or "*1", which can be the hash of a locked user. */
	same = made != NULL && made[0] != '*' && strlen(made) == hash.n &&
	       CRYPTO_memcmp(made, setting, hash.n) == 0;
	explicit_bzero(data, sizeof(*data));
	free(data);
	return same;
}

/* Finds one hash of each kind in the file; returns how many. */
static unsigned find_kinds(struct slice text, struct slice hashes[KINDS_MAX])
{
	struct entry e = entries(text);
	struct slice kind, other;
	unsigned n = 0, i;

	while (n < KINDS_MAX && next_entry(&e)) {
		if (!find_kind(e.hash, &kind))
			continue;
		for (i = 0; i < n && find_kind(hashes[i], &other) && !slice_eq(kind, other); i++)
			;
		if (i == n)
			hashes[n++] = e.hash;
	}
	return n;
}

/* A check of each kind is made for every name: the time must not reveal who is in the file, or
 * locked. */
static enum htpasswd_result htpasswd_compare(struct htpasswd *h, struct slice text)
{
	struct slice hashes[KINDS_MAX], hash = htpasswd_find(text, h->user), kind, other;
	unsigned n = find_kinds(text, hashes);
	bool own = find_kind(hash, &kind), asked = false, right = false;

	h->foreign = htpasswd_foreign(hash) || htpasswd_plain(hash);
	for (unsigned i = 0; i < n; i++) {
		bool same = own && find_kind(hashes[i], &other) && slice_eq(kind, other);

		if (htpasswd_verify(h->password.p, same ? hash : hashes[i]))
			right |= same;
		asked |= same;
	}
	if (own && !asked)
		right = htpasswd_verify(h->password.p, hash);
	return right ? HTPASSWD_RIGHT : HTPASSWD_WRONG;
}

/* The whole file, for discard(); p NULL with errno. st: of that file, or of one before, whose
 * change the next look finds. */
static struct slice read_whole(const char *file, struct stat *st)
{
	char *text = NULL;
	ssize_t n;

	if (stat(file, st) < 0)
		return (struct slice){ 0 };
	errno = !S_ISREG(st->st_mode) ? EINVAL : st->st_size > FILE_MAX ? EFBIG : 0;
	if (errno == 0)
		text = calloc(1, (size_t)st->st_size + 1);
	if (text == NULL)
		return (struct slice){ 0 };
	n = file_read(file, text, (size_t)st->st_size);
	if (n >= 0)
		return slice_of(text, (size_t)n);
	free(text);
	errno = (int)-n;
	return (struct slice){ 0 };
}

static void discard(struct slice text)
{
	char *p = (char *)(uintptr_t)text.p;

	explicit_bzero(p, text.n);
	free(p);
}

enum htpasswd_result htpasswd_check(struct htpasswd *h)
{
	enum htpasswd_result result;
	struct stat st;
	struct slice text = read_whole(h->file, &st);

	h->foreign = false;
	h->error = text.p == NULL ? errno : 0;
	if (text.p == NULL)
		return HTPASSWD_FAILED;
	h->stamp = file_id_of(&st);
	result = htpasswd_compare(h, text);
	discard(text);
	return result;
}

/* NULL: it may have a valid password. */
static const char *why_refused(struct slice line, struct slice hash)
{
	if (memchr(line.p, ':', line.n) == NULL)
		return "the user has no \":\" after it";
	if (hash.n == 0)
		return "the user has no password";
	if (htpasswd_foreign(hash))
		return "libcrypt has no hashes like $apr1$ or {SHA}";
	return htpasswd_plain(hash) ? "a plain-text password is refused" : NULL;
}

int htpasswd_look(const char *file, htpasswd_refused_fn *refused, void *ctx)
{
	struct stat st;
	struct slice all = read_whole(file, &st);
	struct entry e = entries(all);
	int n = 0;

	if (all.p == NULL)
		return -errno;
	for (; next_entry(&e); n++) {
		const char *why = why_refused(e.line, e.hash);

		if (why != NULL)
			refused(ctx, e.number, e.user, why);
	}
	discard(all);
	return n;
}

bool htpasswd_unchanged(const char *file, const struct file_id *stamp)
{
	struct file_id now;
	struct stat st;

	if (stat(file, &st) < 0)
		return false;
	now = file_id_of(&st);
	return file_id_eq(&now, stamp);
}
