/*
 * page_gen: a program of the build: `page_gen FILE…` prints a header with the text of each file of
 * a page, "form.css", as a string FORM_CSS, and its hash for a content-security-policy as
 * FORM_CSS_HASH. Indentation and lines that are only a "//" comment are omitted. Not installed.
 */
#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 65536 };

static void page_gen_fail(const char *file, const char *why)
{
	fprintf(stderr, "page_gen: %s: %s\n", file, why);
	exit(EXIT_FAILURE);
}

/* Reads the relevant lines; returns the number of bytes. */
static size_t read_text(const char *file, char text[TEXT_MAX])
{
	FILE *f = fopen(file, "r");
	size_t n = 0;

	if (f == NULL)
		page_gen_fail(file, "cannot be opened");
	while (fgets(text + n, (int)(TEXT_MAX - n), f) != NULL) {
		size_t tabs = strspn(text + n, "\t"), length = strlen(text + n + tabs);

		memmove(text + n, text + n + tabs, length + 1);
		if (length <= 1 || strncmp(text + n, "//", 2) == 0)
			continue;
		n += length;
		if (text[n - 1] != '\n')
			page_gen_fail(file, "is too long, or its last line has no newline");
	}
	fclose(f);
	return n;
}

static void put_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	for (const char *p = slash != NULL ? slash + 1 : file; *p != '\0'; p++)
		putchar(isalnum((unsigned char)*p) ? toupper((unsigned char)*p) : '_');
}

static void put_string(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || text[i - 1] == '\n')
			fputs(" \\\n\t\"", stdout);
		if (text[i] == '\n') {
			fputs("\\n\"", stdout);
			continue;
		}
		if (text[i] == '"' || text[i] == '\\')
			putchar('\\');
		putchar(text[i]);
	}
}

int main(int argc, char **argv)
{
	static char text[TEXT_MAX];
	unsigned char digest[SHA256_DIGEST_LENGTH], base64[2 * SHA256_DIGEST_LENGTH];

	puts("/* Made by page_gen. */");
	for (int i = 1; i < argc; i++) {
		size_t n = read_text(argv[i], text);

		SHA256((const unsigned char *)text, n, digest);
		EVP_EncodeBlock(base64, digest, sizeof(digest));
		fputs("#define ", stdout);
		put_name(argv[i]);
		put_string(text, n);
		fputs("\n#define ", stdout);
		put_name(argv[i]);
		printf("_HASH \"'sha256-%s'\"\n", (const char *)base64);
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
