/* check_htpasswd: lines of a password file, hashes of every kind that crypt(3) makes, and files
 * that are odd. */
#include "auth/htpasswd.h"

#include <crypt.h>
#include <time.h>

#include "tree_unit.h"

static const struct {
	const char *text, *user, *hash;
} texts[] = {
	{ "", "a", "" },
	{ "a:1", "a", "1" },
	{ "a:1\n", "a", "1" },
	{ "a:1\r\nb:2\r\n", "b", "2" },
	{ "a:1\nb:2\n", "a", "1" },
	{ "a:1\nb:2\n", "c", "" },
	{ "a:1\na:2\n", "a", "1" },
	{ "# a:1\n\n\r\n#\nb:2", "b", "2" },
	{ "#a:1\n", "#a", "" },
	{ "ab:1\n", "a", "" },
	{ "a:1\n", "ab", "" },
	{ "a\n", "a", "" },
	{ "a:\nb:2\n", "a", "" },
	{ "a::x\nb:2\n", "a", "" },
	{ "a:1:comment\n", "a", "1" },
	{ ":1\n", "", "1" },
	{ "A:1\n", "a", "" },
	{ " a:1\n", "a", "" },
	{ "a:$apr1$x$y\nb:2\n", "a", "$apr1$x$y" },
	{ "a:{SHA}x\nb:2\n", "b", "2" },
	/* a byte-order mark, in front of all and elsewhere */
	{ "\357\273\277a:1\r\nb:2\r\n", "a", "1" },
	{ "\357\273\277#a:1\n", "\357\273\277#a", "" },
	{ "a:1\n\357\273\277b:2\n", "b", "" },
};

TEST_ROWS(a_text, texts)
{
	size_t n = strlen(texts[_i].text);
	char *exact = malloc(n); /* no byte behind it is read */
	struct slice hash;

	memcpy(exact, texts[_i].text, n);
	hash = htpasswd_find(slice_of(exact, n), slice_str(texts[_i].user));
	ck_assert_msg(
		slice_eq(hash, slice_str(texts[_i].hash)), "%d: \"%.*s\"", _i, SLICE_ARG(hash));
	free(exact);
}

/* What Debian's crypt(5) has; "" is the old DES. */
static const struct {
	const char *prefix;
	unsigned long count;
} kinds[] = { { "$y$", 1 }, { "$2b$", 4 }, { "$2a$", 4 }, { "$6$", 1000 }, { "$5$", 1000 },
	{ "$1$", 0 }, { "", 0 } };

static char hashed[CRYPT_OUTPUT_SIZE];

static const char *hash_of(const char *password, const char *prefix, unsigned long count)
{
	char salt[CRYPT_GENSALT_OUTPUT_SIZE];

	ck_assert_ptr_nonnull(crypt_gensalt_rn(prefix, count, NULL, 0, salt, sizeof(salt)));
	return strcpy(hashed, crypt(password, salt));
}

TEST_ROWS(a_kind, kinds)
{
	struct slice hash = slice_str(hash_of("p\xc3\xa4ss", kinds[_i].prefix, kinds[_i].count));

	ck_assert_int_eq(hashed[0] == '*', 0);
	ck_assert(htpasswd_verify("p\xc3\xa4ss", hash));
	ck_assert(!htpasswd_verify("p\xc3\xa4st", hash));
	ck_assert(!htpasswd_verify("", hash));
	/* a part of a hash is none, though it is all the setting that crypt(3) needs */
	ck_assert(!htpasswd_verify("p\xc3\xa4ss", slice_of(hash.p, hash.n - 1)));
	ck_assert(!htpasswd_foreign(hash));
	ck_assert(!htpasswd_plain(hash));
}

TEST(plain_text)
{
	static const char *const plain[] = { "x", "secret", "pass word", "0123456789ab",
		"0123456789abcd", "0123456789ab:", "caf\xc3\xa9" };
	static const char *const others[] = { "", "*", "!", "*0", "!x", "$", "_", "{SHA}x",
		"$apr1$x$y", "0123456789ab.", "0123456789abcdefghijklmn" };

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		ck_assert_msg(htpasswd_plain(slice_str(plain[i])), "%s", plain[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!htpasswd_plain(slice_str(others[i])), "%s", others[i]);
}

TEST(what_is_no_hash)
{
	static const char *const hashes[] = { "", "*", "!", "*0", "*1", "x", "secret", "$",
		"$9$a$b", "$2b$", "$apr1$abcdefgh$xxxxxxxxxxxxxxxxxxxxxx",
		"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" };
	char long_one[2 * CRYPT_OUTPUT_SIZE];

	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++)
		ck_assert_msg(!htpasswd_verify("secret", slice_str(hashes[i])), "%s", hashes[i]);
	memset(long_one, 'x', sizeof(long_one));
	ck_assert(!htpasswd_verify("secret", slice_of(long_one, sizeof(long_one))));
	ck_assert(!htpasswd_verify("secret", slice_of(long_one, CRYPT_OUTPUT_SIZE)));
}

/* --- files ------------------------------------------------------------------------------------ */

static char file[sizeof(tree) + 6];

UNIT_SETUP(setup)
{
	snprintf(file, sizeof(file), "%s/users", tree);
}

static enum htpasswd_result check(struct htpasswd *h, const char *user, const char *password)
{
	h->file = file;
	h->user = slice_str(user);
	h->password = slice_str(password);
	return htpasswd_check(h);
}

TEST(a_file)
{
	struct htpasswd h = { 0 };
	char text[CRYPT_OUTPUT_SIZE + 100];

	snprintf(text, sizeof(text), "# users\r\nanna:%s\r\nbob:$apr1$abcdefgh$x\r\n",
		hash_of("secret", "$2b$", 4));
	tree_text("users", text);
	ck_assert_int_eq(check(&h, "anna", "secret"), HTPASSWD_RIGHT);
	ck_assert(!h.foreign);
	ck_assert_int_eq(check(&h, "anna", "Secret"), HTPASSWD_WRONG);
	ck_assert_int_eq(check(&h, "anna", ""), HTPASSWD_WRONG);
	ck_assert_int_eq(check(&h, "carl", "secret"), HTPASSWD_WRONG);
	ck_assert_int_eq(check(&h, "", ""), HTPASSWD_WRONG);
	ck_assert(!h.foreign);
	ck_assert_int_eq(check(&h, "bob", "secret"), HTPASSWD_WRONG);
	ck_assert(h.foreign);
}

TEST(a_file_that_changes)
{
	struct htpasswd h = { 0 };
	struct file_id known;

	tree_text("users", "anna:x\n");
	ck_assert_int_eq(check(&h, "anna", "secret"), HTPASSWD_WRONG);
	known = h.stamp;
	ck_assert(htpasswd_unchanged(h.file, &known));
	ck_assert(!htpasswd_unchanged("/nowhere", &known));
	tree_text("users", "anna:xy\n");
	ck_assert_int_eq(check(&h, "anna", "secret"), HTPASSWD_WRONG);
	ck_assert(!file_id_eq(&known, &h.stamp));
}

/* Of the processor: the machine may be busy. */
static double seconds(const char *user)
{
	struct htpasswd h = { 0 };
	struct timespec begin, end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(check(&h, user, "wrong"), HTPASSWD_WRONG);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/* A third of it, at least, whoever is asked for: bcrypt at 8 is some 15 ms, MD5 one, reading the
 * file a hundredth of one. */
TEST(each_takes_as_long)
{
	static const char *const users[] = { "nobody", "bob", "locked", "md5", "anna" };
	char text[4 * CRYPT_OUTPUT_SIZE], md5[CRYPT_OUTPUT_SIZE];
	double least = 1e9, most = 0;

	strcpy(md5, hash_of("secret", "$1$", 0));
	/* The first is a locked one. */
	snprintf(text, sizeof(text), "locked:!%s\nmd5:%s\nbob:{SHA}x\nanna:%s\n", md5, md5,
		hash_of("secret", "$2b$", 8));
	tree_text("users", text);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		double took = seconds(users[i]);

		least = took < least ? took : least;
		most = took > most ? took : most;
	}
	ck_assert_double_gt(least, most / 3);
}

TEST(two_kinds)
{
	struct htpasswd h = { 0 };
	char text[3 * CRYPT_OUTPUT_SIZE], md5[CRYPT_OUTPUT_SIZE];

	strcpy(md5, hash_of("first", "$1$", 0));
	snprintf(text, sizeof(text), "md5:%s\nanna:%s\n", md5, hash_of("second", "$2b$", 4));
	tree_text("users", text);
	ck_assert_int_eq(check(&h, "md5", "first"), HTPASSWD_RIGHT);
	ck_assert_int_eq(check(&h, "md5", "second"), HTPASSWD_WRONG);
	ck_assert_int_eq(check(&h, "anna", "second"), HTPASSWD_RIGHT);
	ck_assert_int_eq(check(&h, "anna", "first"), HTPASSWD_WRONG);
	ck_assert_int_eq(check(&h, "nobody", "first"), HTPASSWD_WRONG);
}

TEST(what_is_no_file)
{
	struct htpasswd h = { 0 };

	unlink(file);
	ck_assert_int_eq(check(&h, "a", "b"), HTPASSWD_FAILED);
	ck_assert_int_eq(h.error, ENOENT);
	ck_assert_int_eq(mkfifo(file, 0600), 0); /* does not block */
	ck_assert_int_eq(check(&h, "a", "b"), HTPASSWD_FAILED);
	ck_assert_int_eq(h.error, EINVAL);
	unlink(file);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	ck_assert_int_eq(check(&h, "a", "b"), HTPASSWD_FAILED);
	rmdir(file);
	tree_text("users", "a:x");
	ck_assert_int_eq(truncate(file, 5 << 20), 0);
	ck_assert_int_eq(check(&h, "a", "b"), HTPASSWD_FAILED);
	ck_assert_int_eq(h.error, EFBIG);
}
