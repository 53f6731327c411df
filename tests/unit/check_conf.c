/* check_conf: what a good configuration becomes, and what the command line makes of it. */
#include "conf_unit.h"

#include "conf/conf.h"
#include "conf/conf_table.h"
#include "tools/conf_page.h"

TEST(defaults)
{
	const struct conf_override ov = { .root = tree_path("www") };
	struct conf *c = load_with(&ov);

	no_faults("defaults");
	ck_assert_ptr_null(c->path);
	ck_assert_str_eq(c->user, "");
	ck_assert_str_eq(conf_balance_name(conf_balance(c)), "hash");
	ck_assert_ptr_null(c->user_at.file);
	ck_assert_ptr_null(c->tls.at.file);
	ck_assert_str_eq(c->tls.protocols.v[1], "TLSv1.3");
	ck_assert_uint_eq(c->nlistens, 2);
	ck_assert_str_eq(c->listens[0].address, "127.0.0.1:8080");
	ck_assert_str_eq(c->listens[1].address, "[::1]:8080");
	ck_assert(!c->listens[0].tls && !c->listens[1].tls && !c->listens[0].admin);
	ck_assert_uint_eq(c->listens[0].socket_mode, 0660);
	ck_assert_uint_eq(c->nservers, 1);
	ck_assert_str_eq(c->servers[0].name, "_");
	ck_assert_str_eq(c->servers[0].root, tree_path("www"));
	ck_assert_str_eq(c->servers[0].root_at.file, "command line");
	conf_free(&c);
	ck_assert_ptr_null(c);
}

static const char whole[] =
	"# comment with \"quotes\" and { braces\r\n"
	"user = \"a \\\"b\\\" \\\\ c # d\" # end\r\n"
	"worker-processes = 3  worker-cpu-affinity = auto\n"
	"log-level = \"warn\" balance = cpu\n"
	"access-log = \"access.log\"\n"
	"server-tokens = name  request-id = on\n"
	"listen \"127.0.0.1:443\" { tls = true }\n"
	"listen \"[::1]:8080\" {} listen \"127.0.0.1:0\" {} listen \"127.0.0.1:0\" {}\n"
	"listen \"unix:@/admin.sock\"\n{ admin = true  socket-mode = \"0600\" }\n"
	"tls {\n\tcertificate = \"cert.pem\"\n\tcertificate-key = \"./key.pem\"\n"
	"\tprotocols = { # why\n\t\t\"TLSv1.3\", # last\n\t}\n}\n"
	"cache { max-size = \"3M\" max-file-size = 64K }\n"
	"limits{max-concurrent-streams=1}timeouts { send = 86400 }\n"
	"server \"_\" {\n\troot = \"www\"\n\tindex = {}\n\tcharset = \"\"\n"
	"\tupload-dir =\n\t\t\"up/load\"\n"
	"\tadd-header = {\"x-a: \\\"1\\\"\"} deny = \"all\"\n"
	"\ttls { certificate = \"cert.pem\" certificate-key = \"key.pem\" }\n"
	"\terror-page \"404\" = \"/404.html\" error-page {\"503\", \"502\"} = \"/b/5.html\"\n"
	"\tlocation \"/a/\" { root = \"@/www\" autoindex = true charset = \"\" "
	"client-max-body-size = 1M  requests-per-second = 5  requests-burst = 7  "
	"client-bytes-per-second "
	"= 1M  connection-bytes-per-second = 9K  compress = off  compress-types = \"x/*\" }\n"
	"\tlocation \"/b\" {\n\t\tredirect = \"https://example.net/\" redirect-status = 308\n"
	"\t\tindex = {} auth-basic-file = \"key.pem\" upload-dir = \"b\"\n\t}\n}\n"
	"server \"www.example.com\" { aliases = {\"*.Example.org\", \"[::1]\"} root = \"www\"\n"
	"\tlocation \"/\" { allow = {\"10.0.0.0/8\"} } }";

static void check_whole(struct conf *c)
{
	ck_assert_str_eq(c->path, tree_path("h2d.conf"));
	ck_assert_str_eq(c->user, "a \"b\" \\ c # d");
	ck_assert_str_eq(c->user_at.file, c->path);
	ck_assert_uint_eq(c->user_at.line, 2);
	ck_assert_uint_eq(c->worker_processes, 3);
	ck_assert_int_eq(c->worker_cpu_affinity, 1);
	ck_assert_uint_eq(c->worker_cpu_affinity_at.line, 3);
	ck_assert_int_eq(c->log_level, 2);
	ck_assert_str_eq(conf_balance_name(conf_balance(c)), "cpu");
	ck_assert_str_eq(c->log.access_log, tree_path("access.log"));
	ck_assert_int_eq(c->server_tokens, TOKENS_NAME);
	ck_assert(c->request_id);
	ck_assert_uint_eq(c->nlistens, 5);
	ck_assert(c->listens[0].tls && !c->listens[1].tls);
	ck_assert_uint_eq(c->listens[3].at.line, 8);
	ck_assert_str_eq(c->listens[4].address + 5, tree_path("admin.sock"));
	ck_assert(c->listens[4].admin);
	ck_assert_uint_eq(c->listens[4].socket_mode, 0600);
	ck_assert_str_eq(c->tls.pairs.certificate.v[0], tree_path("cert.pem"));
	ck_assert_str_eq(c->tls.pairs.certificate_key.v[0], tree_path("key.pem"));
	ck_assert_uint_eq(c->tls.protocols.n, 1);
	ck_assert_uint_eq(c->cache.max_size, 3 << 20);
	ck_assert_uint_eq(c->cache.max_file_size, 64 << 10);
	ck_assert_uint_eq(c->limits.max_concurrent_streams, 1);
	ck_assert_uint_eq(c->timeouts.send, 86400);
	ck_assert_uint_eq(c->timeouts.send_at.line, 19);
	ck_assert_str_eq(c->servers[0].root, tree_path("www"));
	ck_assert_uint_eq(c->servers[0].root_at.line, 21);
	ck_assert_uint_eq(c->servers[0].scope.index.n, 0);
	ck_assert_str_eq(c->servers[0].scope.charset, "");
	ck_assert_str_eq(c->servers[0].upload_dir, "up/load");
}

static void check_nested(struct conf *c)
{
	const struct conf_server *s = &c->servers[0];

	ck_assert_uint_eq(c->nservers, 2);
	ck_assert_uint_eq(conf_default_server(c), 0);
	ck_assert_str_eq(s->scope.add_header.v[0], "x-a: \"1\"");
	ck_assert_uint_eq(s->scope.deny.n, 1);
	ck_assert_str_eq(s->tls.pairs.certificate.v[0], tree_path("cert.pem"));
	ck_assert_uint_eq(s->nerror_pages, 3);
	ck_assert_str_eq(s->error_pages[1].status, "503");
	ck_assert_str_eq(s->error_pages[2].status, "502");
	ck_assert_str_eq(s->error_pages[2].file, "/b/5.html");
	ck_assert_uint_eq(s->nlocations, 2);
	ck_assert_str_eq(s->locations[0].prefix, "/a/");
	ck_assert(s->locations[0].scope.autoindex);
	ck_assert_str_eq(s->locations[0].scope.charset, "");
	/* Set to what the default is, and not set at all: that is not the same. */
	ck_assert_ptr_nonnull(s->locations[0].scope.charset_at.file);
	ck_assert_uint_eq(s->locations[0].scope.charset_at.outer, 0);
	ck_assert_uint_eq(s->locations[0].scope.index_at.outer, 1);
	ck_assert_uint_eq(s->locations[1].scope.index.n, 0);
	ck_assert_ptr_nonnull(s->locations[1].scope.index_at.file);
	ck_assert_int_eq(s->locations[1].scope.redirect_status, 308);
	ck_assert_str_eq(s->locations[1].scope.auth_basic_file, tree_path("key.pem"));
	ck_assert_uint_eq(s->locations[1].scope.redirect_at.line, 31);
	ck_assert_str_eq(c->servers[1].aliases.v[0], "*.Example.org");
	ck_assert_uint_eq(c->servers[1].nlocations, 1);
	ck_assert_str_eq(c->servers[1].locations[0].scope.allow.v[0], "10.0.0.0/8");
	ck_assert_str_eq(c->servers[1].scope.auth_basic_realm, "restricted");
}

TEST(every_kind_of_value)
{
	struct conf *c = load_text(whole);

	no_faults("whole");
	check_whole(c);
	check_nested(c);
	conf_free(&c);
}

static char *dump(const struct conf *c, bool all)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(out);
	conf_dump(c, all, out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

/* With every default, or without one: it is the same configuration. */
TEST_EACH(the_dump_reads_back, 3)
{
	static const char *const texts[] = { whole, "server \"_\" { root = \"@/www\" }\n",
		"index = {\"a\"}\nserver \"_\" { root = \"@/www\"  index = {\"index.html\"}\n"
		" location \"/a\" { index = {\"a\"}  autoindex = true }\n"
		" location \"/b\" { }  files \"*.x\" { } }\nlisten \"127.0.0.1:1\" { }\n" };
	struct conf *c = load_text(texts[_i]);
	char *all = dump(c, true), *set = dump(c, false);

	no_faults("whole");
	ck_assert_uint_lt(strlen(set), strlen(all));
	conf_free(&c);
	for (unsigned i = 0; i < 2; i++) {
		char *again;

		write_file("again.conf", i == 0 ? set : all);
		c = load_name("again.conf");
		no_faults("the dump");
		again = dump(c, true);
		ck_assert_str_eq(again, all);
		conf_free(&c);
		free(again);
	}
	free(set);
	free(all);
}

TEST(the_dump_names_every_key)
{
	struct conf *c = load_text(whole);
	char *text = dump(c, true);

	for (unsigned i = 0; i < CONF_SECTIONS; i++) {
		for (unsigned j = 0; j < conf_sections[i].nrows; j++) {
			char key[64];

			snprintf(key, sizeof(key), "%s = ", conf_sections[i].rows[j].name);
			ck_assert_msg(strstr(text, key) != NULL, "%s", key);
			ck_assert_msg(
				strstr(text, conf_sections[i].rows[j].help) != NULL, "%s", key);
		}
	}
	free(text);
	conf_free(&c);
}

TEST(a_help_has_at_most_25_words)
{
	for (unsigned i = 0; i < CONF_SECTIONS; i++) {
		const struct conf_section *s = &conf_sections[i];

		for (unsigned j = 0; j < s->nrows; j++) {
			unsigned words = 1;

			for (const char *p = s->rows[j].help; (p = strchr(p, ' ')) != NULL; p++)
				words++;
			ck_assert_msg(words <= 25, "%s: %u words", s->rows[j].name, words);
		}
	}
}

/* Every "from" becomes "to", of the same length or shorter. */
static void replace(char *text, const char *from, const char *to)
{
	for (char *p = text; (p = strstr(p, from)) != NULL; p += strlen(to)) {
		memmove(p + strlen(to), p + strlen(from), strlen(p + strlen(from)) + 1);
		memcpy(p, to, strlen(to));
	}
}

/* What a section is written with. */
static const char *head_of(const struct conf_section *s)
{
	static const char *const heads[CONF_SECTIONS] = {
		[CONF_SECTION_LISTEN] = "listen \"127.0.0.1:0\"",
		[CONF_SECTION_SERVER] = "server \"_\"",
		[CONF_SECTION_ERROR_PAGE] = "error-page \"404\"",
		[CONF_SECTION_LOCATION] = "location \"/a\"",
		[CONF_SECTION_SERVER_FILES] = "files \"*.css\"",
		[CONF_SECTION_LOCATION_FILES] = "files \"*.css\"",
		[CONF_SECTION_LOCATION_ERROR_PAGE] = "error-page \"404\"",
	};

	return s->title != NULL ? heads[s - conf_sections] : s->name;
}

/* The setting in its sections. */
static void write_setting(const struct conf_section *s, const char *setting)
{
	char text[1024], inner[1024];

	snprintf(text, sizeof(text), "%s\n", setting);
	for (; s->parent != NULL; s = s->parent) {
		strcpy(inner, text);
		snprintf(text, sizeof(text), "%s {\n%.900s}\n", head_of(s), inner);
	}
	write_file("h2d.conf", text);
}

/* Every example is a value of its key: the only faults are other keys or files that it needs. */
TEST(examples_are_values)
{
	char *file = strdup(tree_path("h2d.conf")), *root = strdup(tree_path("www"));
	const struct conf_override ov = { .file = file, .root = root };
	unsigned n = 0;

	for (unsigned i = 0; i < CONF_SECTIONS; i++) {
		const struct conf_section *s = &conf_sections[i];

		for (const struct conf_row *row = s->rows; row < s->rows + s->nrows; row++) {
			bool quotes = row->type == CONF_TYPE_STRING || row->type == CONF_TYPE_PATH;
			char setting[256];
			struct conf *c;

			if (row->example == NULL)
				continue;
			ck_assert_str_ne(row->example, row->dflt);
			snprintf(setting, sizeof(setting), quotes ? "%s = \"%s\"" : "%s = %s",
				row->name, row->example);
			write_setting(s, setting);
			c = load_with(&ov);
			for (unsigned k = 0; k < nfaults; k++)
				ck_assert_msg(strstr(faults[k], "No such file") != NULL ||
						      strstr(faults[k], " needs ") != NULL,
					"%s", faults[k]);
			if (c != NULL)
				conf_free(&c);
			n++;
		}
	}
	ck_assert_uint_gt(n, 20);
	free(file);
	free(root);
}

/* Each key of conf_related.def exists, and two rows share at most one. */
TEST(related_keys)
{
	static const char *const rows[][16] = {
#define RELATED(...) { __VA_ARGS__ },
#include "tools/conf_related.def"
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

	for (unsigned i = 0; i < ROWS; i++) {
		ck_assert_ptr_nonnull(rows[i][1]);
		for (const char *const *key = rows[i]; *key != NULL; key++) {
			const struct conf_section *s = conf_sections;

			while (s < conf_sections + CONF_SECTIONS &&
				conf_table_row(s, slice_str(*key)) == NULL)
				s++;
			ck_assert_msg(s < conf_sections + CONF_SECTIONS, "no key %s", *key);
		}
		for (unsigned j = 0; j <= i; j++) {
			unsigned shared = 0, own = 0;

			for (const char *const *a = rows[i]; *a != NULL; a++, own++)
				for (const char *const *b = rows[j]; *b != NULL; b++)
					shared += strcmp(*a, *b) == 0;
			ck_assert_msg(shared == own || (i != j && shared <= 1),
				"%s and %s are together twice", rows[i][0], rows[i][1]);
		}
	}
}

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
		n++;
	return n;
}

enum example { AS_IT_IS, WITH_DEFAULTS, WITH_SECTIONS };

/* What stands behind a "#" of a section: "tls { …", "server "x" {", its keys and its end. */
static const char *const begin[] = { "#tls {", "#listen", "#error-page", "#location", "#server \"",
	"#\t", "#}", NULL };

/* What the example shows a default of, and sets. */
static const char *const set[] = { "#user", "#pid-file", "#root", "#include", NULL };

static bool begins(const char *p, const char *const *with)
{
	while (*with != NULL && strncmp(p, *with, strlen(*with)) != 0)
		with++;
	return *with != NULL;
}

/* The example, with its paths in the folder, and with its defaults or sections no comments. */
static char *example(enum example what)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	conf_page_example(out);
	fclose(out);
	replace(text, "/run/h2d", "@");
	replace(text, "/srv/www.example.com", "@/www");
	replace(text, "/srv/www", "@/www");
	replace(text, "/etc/h2d/tls/server.crt", "@/cert.pem");
	replace(text, "/etc/h2d/tls/server.key", "@/key.pem");
	for (char *p = text; what != AS_IT_IS && (p = strchr(p, '#')) != NULL; p++) {
		bool behind = p > text && strchr("\n\t", p[-1]) == NULL;

		if (p[1] != ' ' && !behind && !begins(p, set) &&
			begins(p, begin) == (what == WITH_SECTIONS))
			*p = ' ';
		else
			p += strcspn(p, "\n");
	}
	return text;
}

TEST(the_example_is_a_configuration)
{
	for (int i = AS_IT_IS; i <= WITH_SECTIONS; i++) {
		bool sections = i == WITH_SECTIONS;
		char *text = example((enum example)i);
		struct conf *c = load_text(text);

		no_faults("example");
		ck_assert_str_eq(c->servers[0].root, tree_path("www"));
		ck_assert_str_eq(c->pid_file, tree_path("h2d.pid"));
		ck_assert_uint_eq(c->nlistens, sections ? 7 : 2);
		ck_assert_uint_eq(c->worker_connections, 16384);
		ck_assert_int_eq(c->worker_connections_at.file != NULL, i == WITH_DEFAULTS);
		ck_assert_int_eq(c->tls.protocols_at.file != NULL, i == WITH_DEFAULTS);
		ck_assert_uint_eq(c->nservers, sections ? 2 : 1);
		ck_assert_uint_eq(c->servers[0].nlocations, sections);
		ck_assert_uint_eq(c->servers[0].nerror_pages, sections);
		ck_assert_int_eq(c->servers[0].tls.pairs.certificate.n > 0, sections);
		conf_free(&c);
		free(text);
	}
}

/* In the example and in the manual, each section has its basic keys first. */
TEST(basic_keys_come_first)
{
	static const char *const order[] = { "listen ",
		"#tls = ", "# Expert keys:", "#http1 = ", "timeouts {", "#keepalive = ", "server ",
		"#root = ", "# Expert keys:", "#types = ", "#error-page " };
	char *text = example(AS_IT_IS), *p = text;

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		p = strstr(p, order[i]);
		ck_assert_msg(p != NULL, "%s", order[i]);
	}
	ck_assert_uint_eq(times(text, "Expert keys:"), 6);
	free(text);
}

TEST(the_manual_names_every_key)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	unsigned keys = 0;

	conf_page_manual(out);
	fclose(out);
	for (const struct conf_section *s = conf_sections; s < conf_sections + CONF_SECTIONS; s++) {
		for (unsigned i = 0; i < s->nrows; i++)
			keys += conf_table_home(s, &s->rows[i]) == s;
	}
	ck_assert_uint_eq(times(text, "\n.It Ic "), keys);
	ck_assert_ptr_nonnull(strstr(text, "auto or a number from 1 to 512"));
	ck_assert_ptr_nonnull(strstr(text, ".Ic auth\\-basic\\-realm .\n"));
	ck_assert_ptr_nonnull(strstr(text, ".Tg worker-processes\n.It Ic worker\\-processes\n"));
	ck_assert_ptr_nonnull(strstr(text, "See also\n.Ic worker\\-cpu\\-affinity .\n"));
	ck_assert_ptr_nonnull(strstr(text, ".br\nExample: allow\\-methods = {\\(dqGET\\(dq}\n"));
	ck_assert_ptr_nonnull(strstr(text, ".br\nExample: health = \\(dq/healthz\\(dq\n"));
	free(text);
}

/* Keys of a section limits are those of the block around it. */
TEST(limits_of_servers)
{
	struct conf *c = load_text("server \"_\" { root = \"www\"\n"
				   "limits { client-max-body-size = 2M requests-per-second = 5 }\n"
				   "location \"/a\" { limits { requests-per-second = 6 } } }\n");
	const struct conf_scope *s = &c->servers[0].scope, *l = &c->servers[0].locations[0].scope;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	ck_assert_uint_eq(s->client_max_body_size, 2 << 20);
	ck_assert_uint_eq(s->requests_per_second, 5);
	ck_assert_uint_eq(l->client_max_body_size, 2 << 20);
	ck_assert_uint_eq(l->requests_per_second, 6);
	ck_assert_uint_eq(l->requests_per_second_at.line, 3);
	conf_dump(c, false, out);
	fclose(out);
	ck_assert_uint_eq(times(text, "requests-per-second = "), 2);
	ck_assert_uint_eq(times(text, "limits {"), 0);
	free(text);
	conf_free(&c);
}

/* A listener has the outer timeouts that it does not set; ":1" is both of its families. */
TEST(timeouts_of_listeners)
{
	struct conf *c = load_text("timeouts { send = 7 header = 8 }\n"
				   "listen \":1\" { timeouts { header = 5 } }\n"
				   "listen \"127.0.0.1:2\" { }\nserver \"_\" { root = \"www\" }\n");
	static const unsigned header[] = { 5, 8, 5 };

	ck_assert_uint_eq(c->nlistens, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct conf_listen_timeouts *t = &c->listens[i].timeouts;

		ck_assert_uint_eq(t->header, header[i]);
		ck_assert_uint_eq(t->send, 7);
		ck_assert_uint_eq(t->body, 20);
		ck_assert_uint_eq(t->header_at.line, header[i] == 5 ? 2 : 1);
	}
	conf_free(&c);
}

/* What a server sets is its own, the rest is the top level's; a file is there once. */
TEST(access_logs)
{
	struct conf *c = load_text("access-log = \"a.log\" access-log-skip = {\"/h\"}\n"
				   "server \"_\" { root = \"www\" access-log-format = json }\n"
				   "server \"b\" { root = \"www\" access-log = \"off\" }\n"
				   "server \"c\" { root = \"www\" access-log = \"stdout\" "
				   "access-log-skip = {} }\n"
				   "server \"d\" { root = \"www\" access-log = \"@/a.log\" }\n");
	static const int logs[] = { 0, -1, 1, 0, 0 };
	struct conf_access_logs all;
	struct conf_access_log log;

	no_faults("access logs");
	conf_access_logs(c, &all);
	ck_assert_uint_eq(all.n, 2);
	ck_assert_str_eq(all.v[0].name, tree_path("a.log"));
	ck_assert_uint_eq(all.v[0].at->line, 1);
	ck_assert_str_eq(all.v[1].name, "stdout");
	ck_assert_uint_eq(all.v[1].at->line, 4);
	for (unsigned i = 0; i <= c->nservers; i++) {
		log = conf_access_log(c, &all, i);
		ck_assert_int_eq(log.log, logs[i]);
		ck_assert_int_eq(log.format, i == 0 ? 2 : 0);
		ck_assert_uint_eq(log.skip->n, i == 2 ? 0 : 1);
	}
	conf_free(&c);
}

/* As many as descriptors go with one message. */
TEST(too_many_access_logs)
{
	char text[16384], *p = text;

	for (int i = 0; i <= CONF_ACCESS_LOGS_MAX; i++)
		p += sprintf(
			p, "server \"s%d\" { root = \"@/www\" access-log = \"%d.log\" }\n", i, i);
	ck_assert_ptr_null(load_text(text));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert_str_eq(faults[0], "h2d.conf:61: more than 60 access logs");
	_Static_assert(CONF_ACCESS_LOGS_MAX == 60, "the fault says it");
}

TEST(includes)
{
	struct conf *c;

	mkdir(tree_path("d[1]"), 0755);
	mkdir(tree_path("d[1]/more"), 0755);
	write_file("d[1]/20.conf", "log-level = warn\n");
	write_file("d[1]/10.conf", "listen \"127.0.0.1:1\" {}\ninclude(\"more/x.conf\")\n");
	write_file("d[1]/30.txt", "this is not one of them\n");
	write_file("d[1]/more/x.conf", "\nuser = \"x\"\nlisten \"127.0.0.1:2\" {}\n"
				       "server \"_\" { root = \"../../www\" }\n");
	write_file("d[1]/main.conf", "include ( \"[0-9]*.conf\" ) include(\"none-*.conf\")\n"
				     "include(\"no-folder/*.conf\")\ninclude(\"@/last.conf\")\n");
	write_file("last.conf", "listen \"127.0.0.1:3\" {}\n");
	c = load_name("d[1]/main.conf");
	no_faults("includes");
	ck_assert_uint_eq(c->nlistens, 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(c->listens[i].address[10], '1' + (int)i);
	ck_assert_int_eq(c->log_level, 2);
	ck_assert_str_eq(c->user_at.file, tree_path("d[1]/more/x.conf"));
	ck_assert_uint_eq(c->user_at.line, 2);
	ck_assert_str_eq(c->servers[0].root, tree_path("d[1]/more/../../www"));
	conf_free(&c);
}

TEST(includes_in_sections)
{
	struct conf *c;

	mkdir(tree_path("snippets"), 0755);
	write_file("snippets/tls.inc",
		"certificate = \"../cert.pem\"\ncertificate-key = \"../key.pem\"\n");
	write_file("snippets/all.inc", "autoindex = true\ntls { include(\"tls.inc\") }\n"
				       "location \"/assets/\" { include(\"assets.inc\") }\n");
	write_file("snippets/assets.inc", "cache-control = \"max-age=60\"\n");
	c = load_text("server \"a\" { root = \"www\" include(\"snippets/all.inc\") }\n"
		      "server \"b\" { include(\"snippets/all.inc\") root = \"www\"\n"
		      "  location \"/x/\" { include(\"snippets/ass*.inc\") } }\n");
	no_faults("includes in sections");
	ck_assert_uint_eq(c->nservers, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct conf_server *s = &c->servers[i];

		ck_assert(s->scope.autoindex);
		ck_assert_str_eq(s->tls.pairs.certificate.v[0], tree_path("snippets/../cert.pem"));
		ck_assert_uint_eq(s->nlocations, i + 1);
		for (unsigned j = 0; j < s->nlocations; j++)
			ck_assert_str_eq(s->locations[j].scope.cache_control, "max-age=60");
		ck_assert_str_eq(s->locations[0].scope.cache_control_at.file,
			tree_path("snippets/assets.inc"));
	}
	conf_free(&c);
}

/* What a server or a location does not set is of around it, value and line; add-header and
 * remove-header stay where they are. */
TEST(defaults_of_servers)
{
	struct conf *c =
		load_text("autoindex = true  charset = \"\"\nindex = {\"a\"}\n"
			  "add-header = {\"x: 1\"} remove-header = {\"z\"}\nreturn = 404\n"
			  "server \"a\" { root = \"www\" }\n"
			  "server \"b\" { autoindex = false\n return = off\n root = \"www\" "
			  "location \"/l\" { index = {\"b\"} } add-header = {\"y: 2\"} }\n"
			  "limits { requests-per-second = 7 }\n");
	const struct conf_scope *a = &c->servers[0].scope, *b = &c->servers[1].scope;
	const struct conf_scope *l = &c->servers[1].locations[0].scope;
	char *text;

	no_faults("defaults of servers");
	ck_assert(a->autoindex && !b->autoindex);
	ck_assert_int_eq(a->returned, 404);
	ck_assert_int_eq(b->returned, 0);
	ck_assert_str_eq(b->index.v[0], "a");
	ck_assert_uint_eq(b->index_at.line, 2);
	ck_assert_uint_eq(a->autoindex_at.line, 1);
	ck_assert_uint_eq(b->autoindex_at.line, 6);
	ck_assert_str_eq(b->charset, "");
	ck_assert_uint_eq(l->charset_at.line, 1);
	ck_assert_uint_eq(l->charset_at.outer, 2);
	ck_assert_uint_eq(l->autoindex_at.outer, 1);
	ck_assert_uint_eq(l->index_at.outer, 0);
	ck_assert_uint_eq(l->requests_per_second, 7);
	ck_assert_uint_eq(l->requests_per_second_at.line, 9);
	ck_assert_uint_eq(l->add_header.n, 0);
	ck_assert_uint_eq(a->add_header.n + a->remove_header.n, 0);
	ck_assert_str_eq(b->add_header.v[0], "y: 2");
	ck_assert_str_eq(c->scope.add_header.v[0], "x: 1");

	/* Said once, where it is set. */
	text = dump(c, true);
	ck_assert_uint_eq(times(text, "index = {\"a\"}"), 1);
	ck_assert_uint_eq(times(text, "charset = "), 1);
	conf_free(&c);
	c = load_text(text);
	no_faults("the dump of it");
	ck_assert(c->servers[0].scope.autoindex && !c->servers[1].scope.autoindex);
	ck_assert_int_eq(c->servers[1].scope.returned, 0);
	conf_free(&c);
	free(text);
}

static void write_many(unsigned servers, unsigned locations)
{
	FILE *out = fopen(tree_path("h2d.conf"), "w");

	ck_assert_ptr_nonnull(out);
	for (unsigned i = 0; i < servers; i++) {
		fprintf(out, "server \"s%u.example.com\" { root = \"www\"\n", i);
		for (unsigned j = 0; i == 0 && j < locations; j++)
			fprintf(out, " location \"/%u\" { redirect = \"/%u/x\" }\n", j, j + 1);
		fputs("}\n", out);
	}
	ck_assert_int_eq(fclose(out), 0);
}

TEST(thousands)
{
	enum { SERVERS = 5000, LOCATIONS = 5000 };
	struct conf *c;

	write_many(SERVERS, LOCATIONS);
	c = load_name("h2d.conf");
	no_faults("thousands");
	ck_assert_uint_eq(c->nservers, SERVERS);
	ck_assert_uint_eq(c->servers[0].nlocations, LOCATIONS);
	ck_assert_str_eq(c->servers[SERVERS - 1].name, "s4999.example.com");
	ck_assert_str_eq(c->servers[0].locations[LOCATIONS - 1].prefix, "/4999");
	ck_assert_uint_lt(c->arena.used, 64 << 20);
	conf_free(&c);
}

/* In titles, strings, words, lists and includes; -T says what they stand for. */
TEST(the_environment)
{
	struct conf *c;
	char *text;

	setenv("CHECK_PORT", "8123", 1);
	setenv("CHECK_EMPTY", "", 1);
	setenv("CHECK_ODD", "a\"b\\c${CHECK_PORT}{}#", 1);
	unsetenv("CHECK_NONE");
	write_file("env.inc", "worker-processes = ${CHECK_NONE:3}\n");
	c = load_text("include(\"${CHECK_NONE:env}.inc\") listen \"127.0.0.1:${CHECK_PORT}\" {}\n"
		      "worker-connections = ${CHECK_PORT}\nserver \"_\" {\n root = "
		      "\"@/${CHECK_NONE:www}\"\n"
		      " index = {\"${CHECK_EMPTY}a\", \"${CHECK_EMPTY:b}\", \"c${CHECK_NONE:}\"}\n"
		      " cache-control = \"\\${CHECK_PORT} $1 \\$\"\n auth-basic-realm = "
		      "\"${CHECK_ODD}\" }\n");
	no_faults("the environment");
	ck_assert_str_eq(c->listens[0].address, "127.0.0.1:8123");
	ck_assert_uint_eq(c->worker_processes, 3);
	ck_assert_uint_eq(c->worker_connections, 8123);
	ck_assert_str_eq(c->servers[0].root, tree_path("www"));
	ck_assert_str_eq(c->servers[0].scope.index.v[0], "a");
	ck_assert_str_eq(c->servers[0].scope.index.v[1], "b");
	ck_assert_str_eq(c->servers[0].scope.index.v[2], "c");
	ck_assert_str_eq(c->servers[0].scope.cache_control, "${CHECK_PORT} $1 $");
	ck_assert_str_eq(c->servers[0].scope.auth_basic_realm, "a\"b\\c${CHECK_PORT}{}#");
	text = dump(c, true);
	conf_free(&c);
	c = load_text(text);
	no_faults("the dump of it");
	ck_assert_str_eq(c->servers[0].scope.auth_basic_realm, "a\"b\\c${CHECK_PORT}{}#");
	conf_free(&c);
	free(text);
}

/* A server for each folder that is the name of a host, which it answers and nobody else does. */
TEST(roots_of_hosts)
{
	static const char *const folders[] = { "a.example.com/public", "b.example.com/public",
		"c.example.com", "d.example.org/public", "e.example.com/public", ".git/public",
		"UPPER.example.com/public", "a b/public", "_/public", "*.example.com/public",
		"g_.example.com/public" };
	static const char *const names[] = { "*.example.com", "e.example.com", "a.example.com",
		"b.example.com", "g_.example.com" };
	char path[128];
	struct conf *c;

	mkdir(tree_path("hosts"), 0755);
	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "hosts/%.*s", (int)strcspn(folders[i], "/"),
			folders[i]);
		mkdir(tree_path(path), 0755);
		snprintf(path, sizeof(path), "hosts/%s", folders[i]);
		mkdir(tree_path(path), 0755);
	}
	c = load_text(
		"server \"*.example.com\" { root = \"hosts/${host}/public\" autoindex = true }\n"
		"server \"E.example.com\" { root = \"www\" }\n");
	no_faults("roots of hosts");
	ck_assert_uint_eq(c->nservers, 5);
	for (unsigned i = 2; i < 5; i++) {
		ck_assert_str_eq(c->servers[i].name, names[i]);
		snprintf(path, sizeof(path), "hosts/%s/public", names[i]);
		ck_assert_str_eq(c->servers[i].root, tree_path(path));
		ck_assert(c->servers[i].scope.autoindex);
		ck_assert_int_eq(c->servers[i].scope.returned, 0);
	}
	ck_assert_str_eq(c->servers[0].root, "");
	ck_assert_int_eq(c->servers[0].scope.returned, 404);
	conf_free(&c);
}

TEST(relative_names)
{
	const struct conf_override ov = { .file = "sub/h2d.conf", .pid_file = "pid" };
	struct conf *c;
	char cwd[512];

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	mkdir(tree_path("sub"), 0755);
	write_file("sub/h2d.conf", "include(\"*.inc\")\n");
	write_file("sub/a.inc", "server \"_\" { root = \".\" }\n");
	ck_assert_int_eq(chdir(tree), 0);
	c = load_with(&ov);
	no_faults("relative");
	ck_assert_str_eq(c->servers[0].root_at.file, "sub/a.inc");
	ck_assert_str_eq(c->servers[0].root, tree_path("sub/"));
	ck_assert_str_eq(c->pid_file, tree_path("pid"));
	conf_free(&c);
	ck_assert_int_eq(chdir(cwd), 0);
}

TEST(the_command_line_wins)
{
	const struct conf_override ov = {
		.file = tree_path("h2d.conf"),
		.root = tree_path("www"),
		.port = "0",
		.workers = "auto",
		.dispatch = "reuseport",
		.pid_file = tree_path("p"),
		.key = tree_path("key.pem"),
		.cert = tree_path("cert.pem"),
	};
	struct conf *c;

	/* Even over a value that would not do. */
	write_file("h2d.conf", "worker-processes = 7\npid-file = \"/no/such/folder/p\"\n"
			       "listen \"127.0.0.1:1\" {}\nlisten \"unix:@/a\" { admin = true }\n"
			       "listen \"127.0.0.1:2\" {}\nserver \"_\" { root = \"/no/such\" }\n");
	c = load_with(&ov);
	no_faults("override");
	ck_assert_uint_eq(c->worker_processes, 0);
	ck_assert_str_eq(c->worker_processes_at.file, "command line");
	ck_assert_str_eq(c->pid_file, tree_path("p"));
	ck_assert_uint_eq(c->nlistens, 3);
	ck_assert(c->listens[0].admin);
	ck_assert_str_eq(c->listens[1].address, "0.0.0.0:0");
	ck_assert_str_eq(c->listens[2].address, "[::]:0");
	ck_assert(c->listens[1].tls && c->listens[2].tls && !c->listens[2].admin);
	ck_assert_str_eq(c->tls.pairs.certificate.v[0], tree_path("cert.pem"));
	conf_free(&c);
}

TEST(the_root_of_the_command_line_is_the_default_servers)
{
	char *file = strdup(tree_path("h2d.conf")), *root = strdup(tree_path("www"));
	const struct conf_override ov = { .file = file, .root = root };
	struct conf *c;

	write_file("h2d.conf", "server \"a\" { root = \"@\" }\nserver \"_\" {}\n");
	c = load_with(&ov);
	no_faults("root");
	ck_assert_str_eq(c->servers[0].root, tree);
	ck_assert_str_eq(c->servers[1].root, tree_path("www"));
	conf_free(&c);
	write_file("h2d.conf", "server \"a\" {}\nserver \"b\" { root = \"@\" }\n");
	c = load_with(&ov);
	no_faults("root");
	ck_assert_str_eq(c->servers[0].root, tree_path("www"));
	conf_free(&c);
	free(file);
	free(root);
}

TEST(a_cleartext_port)
{
	const struct conf_override ov = { .root = tree_path("www"), .port = "65535", .h2c = true };
	struct conf *c = load_with(&ov);

	no_faults("h2c");
	ck_assert_uint_eq(c->nlistens, 2);
	ck_assert_str_eq(c->listens[0].address, "0.0.0.0:65535");
	ck_assert(!c->listens[0].tls && !c->listens[1].tls);
	conf_free(&c);
}

/* What goes elsewhere needs no files, and an admin listener has none. */
TEST_EACH(needs_no_root, 2)
{
	struct conf *c = load_text(_i == 0 ? "listen \"127.0.0.1:9\" { admin = true }\n"
					   : "server \"_\" { redirect = \"https://a.org/\" }\n");

	no_faults("no root");
	ck_assert_uint_eq(c->nservers, 1);
	ck_assert_str_eq(c->servers[0].root, "");
	conf_free(&c);
}

/* Every allocation fails once: one fault, no conf, nothing leaked (the sanitizer says so). */
TEST(out_of_memory)
{
	struct conf_override ov = {
		.file = tree_path("h2d.conf"),
		.root = tree_path("www"),
		.port = "1",
		.h2c = true,
	};
	struct conf *c;
	unsigned failed = 0;

	write_file("h2d.conf", "include(\"mor[e].conf\") include(\"@/last.conf\")\n");
	write_file("more.conf", whole);
	write_file("last.conf", "error-log = \"e\"\n");
	for (ov.memory = 8; (c = load_with(&ov)) == NULL; ov.memory += 8) {
		ck_assert_msg(nfaults == 1 && strstr(faults[0], ": out of memory") != NULL,
			"memory %zu, %u faults: %s", ov.memory, nfaults, faults[0]);
		failed++;
	}
	ck_assert_uint_gt(failed, 100);
	conf_free(&c);
}

static const struct {
	const char *size, *time;
	uint64_t bytes, seconds;
} units_rows[] = {
	{ "2M", "120", 2 << 20, 120 },
	{ "2m", "120s", 2 << 20, 120 },
	{ "2MB", "2m", 2 << 20, 120 },
	{ "2MiB", "1h", 2 << 20, 3600 },
	{ "2048k", "1d", 2 << 20, 86400 },
	{ "4096B", "60s", 4096, 60 },
};

TEST_ROWS(units, units_rows)
{
	struct conf *c;
	char text[256];

	/* With the byte-order mark that some editors put in front. */
	snprintf(text, sizeof(text),
		"\xef\xbb\xbf"
		"shutdown-timeout = %s\ncache { max-size = %s }\n"
		"server \"_\" { root = \"@/www\" }\n",
		units_rows[_i].time, units_rows[_i].size);
	c = load_text(text);
	no_faults(text);
	ck_assert_uint_eq(c->cache.max_size, units_rows[_i].bytes);
	ck_assert_uint_eq(c->shutdown_timeout, units_rows[_i].seconds);
	conf_free(&c);
}
