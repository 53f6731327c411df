/* check_conf_foreign: words of other servers lead to keys that are there; their files are told. */
#include "conf/conf_foreign.h"

#include "conf/conf_table.h"
#include "unit_pure.h"

static const struct {
	const char *key, *section, *why, *words;
} rows[] = {
#define FOREIGN(key_, section_, note_, words_) { key_, section_, NULL, words_ },
#define NOT_BUILT(why_, words_)                { NULL, NULL, why_, words_ },
#include "conf/conf_foreign.def"
};

/* Sections tls are two; the one that has the key. */
static bool is_key(const char *section, struct slice key)
{
	for (unsigned i = 0; i < CONF_SECTIONS; i++)
		if (strcmp(conf_sections[i].name, section) == 0 &&
			conf_table_row(&conf_sections[i], key) != NULL)
			return true;
	return false;
}

static void leads_to_key(unsigned row, struct slice word)
{
	const char *key = rows[row].key, *section = rows[row].section;
	char hint[192];

	ck_assert(conf_foreign_word(section != NULL ? section : "", word, hint, sizeof(hint)));
	if (key == NULL) {
		ck_assert_str_eq(hint, rows[row].why);
		return;
	}
	ck_assert_msg(strstr(hint, key) != NULL, "%s", hint);
	ck_assert_msg(is_key(section, slice_str(key)), "no key %s in %s", key, section);
	ck_assert_msg(!is_key(section, word), "%.*s is a key itself", SLICE_ARG(word));
}

TEST(words_lead_to_keys)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slice words = slice_str(rows[i].words), word;

		while (slice_cut(&words, ' ', &word))
			leads_to_key(i, word);
		leads_to_key(i, word);
	}
}

TEST(other_words_are_none)
{
	char hint[192] = "as it was";

	ck_assert(!conf_foreign_word("", SLICE("root"), hint, sizeof(hint)));
	ck_assert(!conf_foreign_word("", SLICE(""), hint, sizeof(hint)));
	ck_assert_str_eq(hint, "as it was");
}

static const struct {
	const char *text, *server;
	unsigned line;
} files[] = {
	{ "", NULL, 0 },
	{ "\n\n# nothing\n", NULL, 0 },
	{ "server \"_\" { root = \"/srv\" }\n", NULL, 0 },
	{ "user = \"a\";\npid-file = \"b\";\n", NULL, 0 },
	/* One slip, or as many as what is right. */
	{ "worker-processes 4;\n", NULL, 0 },
	{ "a b;\nc d;\ne = 1\nf = 2\n", NULL, 0 },
	{ "user\nlog-level loud\n", NULL, 0 },
	{ "# x\n\tworker_processes auto; # all\r\nevents {\r\n}\nhttp {\n include mime.types;\n",
		"nginx", 2 },
	{ "server {\n listen 80;\n location / {\n  try_files $uri /index.html;\n }\n}\n", "nginx",
		2 },
	{ "example.com {\n root * /srv\n encode gzip\n file_server\n}\n", "Caddy", 1 },
	{ "hosts:\n  \"a:80\":\n    listen:\n      port: 80\n", "h2o", 1 },
	{ "server.modules = ( \"mod_access\" )\nserver.port = 80", "lighttpd", 1 },
	{ "ServerRoot \"/etc/apache2\"\nListen 80\n", "Apache", 1 },
};

TEST(files_are_told)
{
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		unsigned line = 0;
		const char *server = conf_foreign_file(slice_str(files[i].text), &line);

		if (files[i].server == NULL) {
			ck_assert_msg(server == NULL, "%s: %s", files[i].text, server);
			continue;
		}
		ck_assert_msg(server != NULL, "%s", files[i].text);
		ck_assert_str_eq(server, files[i].server);
		ck_assert_uint_eq(line, files[i].line);
	}
}
