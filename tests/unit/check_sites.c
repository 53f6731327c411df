/* check_sites: what server blocks and their locations become for the request core, and their
 * faults. */
#include "sites/sites.h"

#include "auth/auth_queue.h"
#include "conf_unit.h"
#include "h2d/request.h"
#include "http/coding.h"
#include "share/access.h"
#include "tls/tls_cert.h"

static struct conf *conf;
static struct trees trees;
static struct arena arena;
static size_t cap = SIZE_MAX;

static const struct sites *make(const char *text, const struct certs *certs)
{
	struct conf_faults all = { .fn = on_fault };

	conf = load_text(text);
	no_faults("conf");
	ck_assert(trees_init(&trees, conf, ~0u, &all));
	arena_init(&arena, NULL, 0, cap);
	return sites_make(conf, &trees, certs, NULL, &arena, &all);
}

UNIT_TEARDOWN(drop)
{
	arena_reset(&arena);
	trees_fini(&trees);
	conf_free(&conf);
}

static bool is(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

static const struct site *site(const struct sites *s, const char *authority)
{
	return sites_find(s, slice_str(authority));
}

static const struct location *location(const struct site *s, const char *path)
{
	return site_location(s, slice_str(path));
}

#define ROOT "root = \"@/www\"\n"

TEST(names)
{
	const struct tls_cert a = { 0 }, b = a, c = a;
	const struct tls_cert *certificates[] = { &a, &b, &c };
	const struct certs certs = { .of_server =
					     certificates }; /* without entries: none expires */
	const struct sites *s =
		make("server \"One.example\" { " ROOT " aliases = {\"*.one.example\",\n"
		     "\"one.EXAMPLE\", \"a.b\"} }\nserver \"_\" { " ROOT "aliases = {\"zero\"} }\n"
		     "server \"*.b\" { root = \"@\" }\n",
			&certs);

	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->n, 3);
	ck_assert_uint_eq(s->fallback, 1);
	/* Each once; "_" is none. */
	ck_assert_uint_eq(s->nnames, 5);
	ck_assert_ptr_eq(site(s, "ONE.example:443"), &s->v[0]);
	ck_assert_ptr_eq(site(s, "x.one.example"), &s->v[0]);
	ck_assert_ptr_eq(site(s, "a.b"), &s->v[0]);
	ck_assert_ptr_eq(site(s, "c.b"), &s->v[2]);
	ck_assert_ptr_eq(site(s, "_"), &s->v[1]);
	ck_assert_ptr_eq(site(s, "zero"), &s->v[1]);
	ck_assert_ptr_eq(site(s, "other"), &s->v[1]);
	ck_assert(!s->v[0].is_default && s->v[1].is_default);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_eq(s->v[i].certificate, certificates[i]);
}

TEST(the_first_is_the_default)
{
	const struct sites *s = make("server \"a\" { " ROOT "}\nserver \"b\" { " ROOT "}\n", NULL);

	ck_assert_ptr_eq(site(s, "b"), &s->v[1]);
	ck_assert_ptr_eq(site(s, "x"), &s->v[0]);
	ck_assert(s->v[0].is_default && !s->v[1].is_default);
	ck_assert_ptr_null(s->v[0].certificate);
}

TEST(each_root_once)
{
	const struct sites *s =
		make("server \"_\" { " ROOT "}\nserver \"a\" { root = \"@\" }\n"
		     "server \"b\" { " ROOT "charset = \"latin1\" }\nserver \"c\" { " ROOT "}\n"
		     "server \"d\" { redirect = \"https://e/\" }\n",
			NULL);

	ck_assert_uint_eq(trees.files.nroots, 4);
	for (unsigned i = 0; i < s->n; i++) {
		const struct doc_root *r = &trees.files.roots[s->v[i].root];

		ck_assert_str_eq(r->root, conf->servers[i].root);
		ck_assert_str_eq(r->charset, conf->servers[i].scope.charset);
	}
	ck_assert_uint_eq(s->v[0].root, s->v[3].root);
	ck_assert_uint_ne(s->v[0].root, s->v[2].root);
	ck_assert_uint_eq(trees.files.rescan_ms, 10000);
}

/* Whose root it is does not matter: around the folder, beside it, or in it. */
TEST(uploads_of_each_root)
{
	static const struct {
		unsigned server;
		const char *path;
		bool uploads;
	} cases[] = {
		{ 0, "/files", true },
		{ 0, "/files/a", true },
		{ 0, "/files/a/b", true },
		{ 0, "/filesa", false },
		{ 0, "/a", false },
		{ 1, "/a", false },
		{ 1, "/www/files/a", true },
		{ 1, "/www/more/up/a", true },
		{ 1, "/files/a", false },
		{ 2, "/a", true },
		{ 2, "/files/a", true },
		{ 3, "/up/a", true },
		{ 3, "/a", false },
	};
	const struct sites *s;

	ck_assert_int_eq(mkdir(tree_path("www/files"), 0755), 0);
	ck_assert_int_eq(mkdir(tree_path("www/more"), 0755), 0);
	s = make("server \"_\" { root = \"@/www/\" upload-dir = \"files/\" }\n"
		 "server \"a\" { root = \"@\" upload-dir = \"www/more/up\" }\n"
		 "server \"b\" { root = \"@/www/files\" }\n"
		 "server \"c\" { root = \"@/www/more\" }\n",
		NULL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(doc_root_is_upload(&trees.files.roots[s->v[cases[i].server].root],
				      slice_str(cases[i].path)) == cases[i].uploads,
			"%s", cases[i].path);
	rmdir(tree_path("www/files"));
	rmdir(tree_path("www/more"));
}

static const char places_text[] =
	"server \"_\" {\n" ROOT
	"index = {\"a\", \"b\"} charset = \"latin1\" cache-control = \"no-cache\"\n"
	"add-header = {\"X-One: 1\", \"vary: a\"}\n"
	"redirect-status = 307 deny = {\"10.1.0.0/16\"} auth-basic-file = \"key.pem\"\n"
	"location \"/a\" { add-header = {\"x-two : 2\"} }\n"
	"location \"/a/b/\" { add-header = {\"x-two:  2 \\\"q\\\"  \", \"x-three:\"} autoindex = "
	"true\n"
	"index = {} charset = \"\" cache-control = \"\" redirect = \"/c/\" redirect-status = 308\n"
	"allow = {\"10.0.0.0/8\", \"unix\"} auth-basic-realm = \"all of it\" }\n"
	"location \"/a/b/c\" { deny = {} auth-basic-file = \"\" }\n}\n";

TEST(a_location_inherits)
{
	const struct sites *s;
	const struct location *p;

	/* A name takes no white space in front of its colon. */
	ck_assert_ptr_null(make(places_text, NULL));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert_str_eq(faults[0], "h2d.conf:6: add-header \"x-two : 2\": the part before the "
				    "colon is not a header name");
	drop();
	s = make("server \"_\" {\n" ROOT "}", NULL);
	p = location(&s->v[0], "/a");
	ck_assert(is(p->charset, "utf-8") && p->cache_control.n == 0 && p->redirect.to.n == 0);
	ck_assert(p->access == NULL && p->auth == NULL && p->nheaders == 0 && !p->autoindex);
	ck_assert_uint_eq(p->nindex, 1);
}

static const struct sites *make_places(void)
{
	static char text[sizeof(places_text)];
	char *bad;

	memcpy(text, places_text, sizeof(text));
	bad = strstr(text, "x-two : 2");
	memmove(bad + 5, bad + 6, strlen(bad + 6) + 1);
	return make(text, NULL);
}

TEST(what_a_location_inherits)
{
	const struct sites *s = make_places();
	const struct location *all = &s->v[0].all, *p = location(&s->v[0], "/a");

	ck_assert(is(all->prefix, "/"));
	ck_assert_ptr_eq(location(&s->v[0], "/b"), all);
	ck_assert_uint_eq(all->nheaders, 2);
	ck_assert(is(all->headers[0].name, "x-one") && is(all->headers[0].value, "1"));
	ck_assert(is(all->cache_control, "no-cache"));
	ck_assert_int_eq(all->redirect.status, 307);
	ck_assert_uint_eq(all->access->n, 1);
	ck_assert(!all->access->rules[0].allow);
	ck_assert_str_eq(all->auth->file, tree_path("key.pem"));
	ck_assert(is(all->auth->realm, "restricted"));

	ck_assert(is(p->prefix, "/a"));
	ck_assert(is(p->charset, "latin1") && is(p->cache_control, "no-cache"));
	ck_assert_uint_eq(p->nindex, 2);
	ck_assert_uint_eq(p->nheaders, 3);
	ck_assert(is(p->headers[1].name, "vary") && is(p->headers[2].name, "x-two"));
	ck_assert_uint_eq(p->access->n, 1);
	ck_assert_str_eq(p->auth->file, tree_path("key.pem"));
}

/* Inner add-header comes after outer remove-header, and both add up. */
TEST(which_headers_are_removed)
{
	const struct sites *s = make("remove-header = {\"X-A\"} add-header = {\"x-a: top\"}\n"
				     "server \"_\" {\n" ROOT "remove-header = {\"vary\"}\n"
				     "add-header = {\"x-b: 1\", \"vary: cookie\"}\n"
				     "files \"*.c\" { remove-header = {\"x-d\"} }\n"
				     "location \"/l\" { add-header = {\"x-d: 4\", \"x-b: 3\"}\n"
				     "remove-header = {\"x-b\"} } }\n",
		NULL);
	const struct location *p = location(&s->v[0], "/l/x"), *file;

	ck_assert_uint_eq(s->v[0].all.nremoved, 2);
	ck_assert(s->v[0].all.removed[1].outer_only && !s->v[0].all.removed[0].outer_only);
	ck_assert_uint_eq(s->v[0].all.nheaders, 3);
	ck_assert_uint_eq(p->nremoved, 3);
	ck_assert(is(p->removed[0].name, "x-a") && is(p->removed[2].name, "x-b"));
	ck_assert_uint_eq(p->removed[2].at.line, 8);
	ck_assert_uint_eq(p->nheaders, 4);
	ck_assert(is(p->headers[0].value, "top") && is(p->headers[1].value, "cookie"));
	ck_assert(is(p->headers[2].value, "4") && is(p->headers[3].value, "3"));
	ck_assert_uint_eq(p->at->headers[1].line, 5);
	file = site_file_settings(p, SLICE("/l/x.c"));
	ck_assert_uint_eq(file->nheaders, 3);
	ck_assert_ptr_nonnull(site_removal(file, SLICE("x-d")));
	ck_assert_ptr_null(site_removal(p, SLICE("x-d")));
}

static bool lets_in(const struct access *access, const char *text)
{
	struct addr peer;

	ck_assert_ptr_null(addr_parse(text, &peer));
	return access_allows(access, &peer);
}

TEST(what_a_location_sets)
{
	const struct sites *s = make_places();
	const struct location *p = location(&s->v[0], "/a/b/x");

	ck_assert(is(p->prefix, "/a/b/"));
	ck_assert_uint_eq(p->nindex, 0);
	ck_assert(p->charset.n == 0 && p->cache_control.n == 0 && p->autoindex);
	ck_assert(is(p->redirect.to, "/c/"));
	ck_assert_int_eq(p->redirect.status, 308);
	ck_assert_uint_eq(p->nheaders, 4);
	ck_assert(is(p->headers[0].name, "x-one"));
	ck_assert(is(p->headers[2].value, "2 \"q\""));
	ck_assert(is(p->headers[3].name, "x-three") && p->headers[3].value.n == 0);
	/* The server's deny stays beside its own allow. */
	ck_assert_uint_eq(p->access->n, 3);
	ck_assert(lets_in(p->access, "10.0.0.1:1"));
	ck_assert(!lets_in(p->access, "10.1.0.1:1"));
	ck_assert(lets_in(p->access, "unix:/x"));
	ck_assert(is(p->auth->realm, "all of it"));
	ck_assert_str_eq(p->auth->file, tree_path("key.pem"));

	p = location(&s->v[0], "/a/b/c/d");
	ck_assert(is(p->prefix, "/a/b/c"));
	ck_assert(p->access == NULL && p->auth == NULL);
	ck_assert_uint_eq(p->nindex, 2);
}

/* What the target of a server block takes the place of is the whole path, in its locations too. */
TEST(whose_redirect_it_is)
{
	const struct sites *s = make("server \"_\" {\n" ROOT "redirect = \"https://example.org/\"\n"
				     "location \"/a/\" { cache-control = \"no-store\" }\n"
				     "location \"/b/\" { redirect = \"/c/\" }\n"
				     "location \"/d/\" { redirect = \"\" }\n}\n",
		NULL);

	ck_assert(is(s->v[0].all.redirect.prefix, "/"));
	ck_assert(is(location(&s->v[0], "/a/x")->redirect.to, "https://example.org/"));
	ck_assert(is(location(&s->v[0], "/a/x")->redirect.prefix, "/"));
	ck_assert(is(location(&s->v[0], "/b/x")->redirect.to, "/c/"));
	ck_assert(is(location(&s->v[0], "/b/x")->redirect.prefix, "/b/"));
	ck_assert_uint_eq(location(&s->v[0], "/d/x")->redirect.to.n, 0);
}

TEST(error_pages_and_uploads)
{
	const struct sites *s =
		make("server \"_\" {\n" ROOT "upload-dir = \"up/\"\n"
		     "error-page \"404\" { file = \"/e/404.html\" } error-page "
		     "\"503\" { file = \"/5\" }\n"
		     "location \"/a\" { error-page \"404\" { file = \"/a/4\" } } }\n"
		     "server \"a\" { " ROOT "}",
			NULL);

	ck_assert(is(site_error_page(&s->v[0], &s->v[0].all, 404)->file, "/e/404.html"));
	ck_assert(is(site_error_page(&s->v[0], &s->v[0].all, 503)->file, "/5"));
	ck_assert_ptr_null(site_error_page(&s->v[0], &s->v[0].all, 500));
	ck_assert_ptr_null(site_error_page(&s->v[1], &s->v[1].all, 404));
	ck_assert(is(site_error_page(&s->v[0], location(&s->v[0], "/a/x"), 404)->file, "/a/4"));
	ck_assert(is(site_error_page(&s->v[0], location(&s->v[0], "/a/x"), 503)->file, "/5"));
	ck_assert_uint_eq(s->v[0].nuploads, 1);
	ck_assert(is(s->v[0].uploads->dir, "/up"));
	ck_assert(is(s->v[0].uploads->url, "/files"));
	ck_assert_ptr_eq(s->v[0].all.upload, s->v[0].uploads);
	ck_assert_uint_eq(s->v[1].nuploads, 0);
	ck_assert_ptr_null(s->v[1].all.upload);
}

TEST(uploads_of_locations)
{
	const struct sites *s =
		make("server \"_\" {\n" ROOT "location \"/drop/\" { upload-dir = \"up\"\n"
		     "files \"*.x\" { } }\n"
		     "location \"/box\" { upload-dir = \"box/\" }\n"
		     "location \"/a\" { }\n}\n"
		     "server \"a\" { " ROOT "upload-dir = \"up\" location \"/b\" { } }",
			NULL);
	const struct site_upload *drop = location(&s->v[0], "/drop/x")->upload,
				 *box = location(&s->v[0], "/box/x")->upload;

	ck_assert_uint_eq(s->v[0].nuploads, 2);
	ck_assert(is(drop->url, "/drop") && is(drop->form, "/drop/") && is(drop->dir, "/up"));
	ck_assert(is(box->url, "/box") && is(box->form, "/box/") && is(box->dir, "/box"));
	ck_assert_ptr_null(location(&s->v[0], "/a/x")->upload);
	ck_assert_ptr_eq(
		site_file_settings(location(&s->v[0], "/drop/x"), SLICE("/drop/a.x"))->upload,
		drop);
	ck_assert_ptr_eq(location(&s->v[1], "/b/x")->upload, s->v[1].uploads);
	ck_assert_ptr_eq(site_upload_of(&s->v[0], SLICE("/up/x")), drop);
	ck_assert_ptr_eq(site_upload_of(&s->v[0], SLICE("/box")), box);
	ck_assert_ptr_null(site_upload_of(&s->v[0], SLICE("/upper")));
}

/* Keys of a server, on line 3, and what is said of each. */
static const struct {
	const char *text, *faults[4];
} cases[] = {
	{ "add-header = {\"x\", \": a\", \"a b: c\", \"x: \\\"\"}",
		{ "\"x\": write \"name: value\"", "\": a\"", "\"a b: c\"" } },
	{ "add-header = {\"Content-Length: 5\", \"DATE: x\", \"location: /\"}",
		{ "h2d sets", "h2d sets", "h2d sets" } },
	{ "remove-header = {\"Content-Length\", \"server\", \"x: y\"}",
		{ "need", "server-tokens", "without its value" } },
	{ "remove-header = {\"strict-transport-security\", \"\", \"upload-offset\"}",
		{ "strict-transport-security of the server", "write the name", "need" } },
	{ "add-header = {\"cache-control: no-store\", \"Strict-Transport-Security: x\"}",
		{ "use the key cache-control", "use the key strict-transport-security" } },
	{ "cache-control = \" no-store\"", { "cache-control \" no-store\"" } },
	{ "allow = {\"10.0.0.0/33\", \"unix\"} deny = {\"all\", \"nobody\"}",
		{ "allow \"10.0.0.0/33\"", "deny \"nobody\"" } },
	{ "auth-basic-realm = \"a \\\"b\\\"\"", { "auth-basic-realm" } },
#ifndef HAVE_ZLIB
	{ "archive = {\"tar\", \"zip\"}", { "built without zlib" } },
#endif
};

/* Variants are made for the location of a file, or for all servers of its root. */
TEST(where_files_are_compressed)
{
	static const struct {
		unsigned server;
		const char *path;
		unsigned codings;
	} paths[] = {
		{ 0, "/a", 1 << CODING_GZIP },
		{ 0, "/off/a", 0 },
		{ 0, "/off", 1 << CODING_GZIP },
		{ 0, "/off/on/a", 7 },
		{ 0, "/br", 1 << CODING_BR },
		{ 0, "/br/a", 1 << CODING_BR },
		{ 0, "/bra", 1 << CODING_GZIP },
		{ 1, "/a", 1 << CODING_BR },
		{ 2, "/a", 1 << CODING_BR },
		{ 3, "/a", 0 },
		{ 3, "/own/a", 1 << CODING_ZSTD },
	};
	const struct sites *s =
		make("cache { compress = {\"gzip\"} }\nserver \"_\" { " ROOT
		     "location \"/off/\" { compress = off }\n"
		     "location \"/off/on/\" { compress = on } location \"/br\" { compress = "
		     "{\"br\"} } "
		     "}\nserver \"b\" { root = \"@\" compress = false }\n"
		     "server \"c\" { root = \"@\" compress = br location \"/x/\" { compress = "
		     "false } }\n"
		     "server \"d\" { root = \"@/\" charset = \"\" compress = zstd\n"
		     "location \"/\" { compress = false } location \"/own/\" { } }\n",
			NULL);

	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(trees.files.codings, 7);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		ck_assert_msg((7 & ~doc_root_refused(&trees.files.roots[s->v[paths[i].server].root],
					   slice_str(paths[i].path))) == paths[i].codings,
			"%u %s", paths[i].server, paths[i].path);
	ck_assert_uint_eq(site_codings(location(&s->v[0], "/off/a"), 7), 0);
	ck_assert_uint_eq(site_codings(location(&s->v[0], "/a"), 7), 1 << CODING_GZIP);
	ck_assert_uint_eq(site_codings(&s->v[1].all, 7), 0);
}

/* In a server, where locations inherit it, and in a location: said once, where it stands. */
TEST(a_tree_of_its_own)
{
	const struct sites *s = make("server \"_\" { " ROOT "location \"/a\" { root = \"@\" }\n"
				     "location \"/b\" { charset = \"latin1\" }\n"
				     "location \"/c\" { root = \"@\" charset = \"latin1\" }\n"
				     "location \"/d\" { root = \"@/www\" } }\n",
		NULL);
	const struct site *all;

	ck_assert_ptr_nonnull(s);
	all = &s->v[0];
	ck_assert_uint_eq(trees.files.nroots, 3);
	ck_assert_uint_eq(all->all.root, all->root);
	ck_assert_uint_eq(location(all, "/b")->root, all->root);
	ck_assert_uint_eq(location(all, "/d")->root, all->root);
	ck_assert_uint_ne(location(all, "/a")->root, all->root);
	ck_assert_str_eq(trees.files.roots[location(all, "/a")->root].charset, "utf-8");
	ck_assert_uint_ne(location(all, "/c")->root, location(all, "/a")->root);
	ck_assert_str_eq(trees.files.roots[location(all, "/c")->root].charset, "latin1");
}

TEST(types_of_servers)
{
	const struct sites *s = make("server \"_\" { " ROOT "types = {\"b: x/b\", \"a: x/a\"} }\n"
				     "server \"same\" { " ROOT "types = {\"a: x/a\", \"b: x/b\"}\n"
				     "location \"/l\" { root = \"@\" } location \"/m\" { } }\n"
				     "server \"plain\" { " ROOT "}\n"
				     "server \"default\" { " ROOT "default-type = \"text/x\" }\n",
		NULL);
	const struct mime_types *own;

	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->v[0].root, s->v[1].root);
	ck_assert_uint_ne(s->v[0].root, s->v[2].root);
	ck_assert_uint_ne(s->v[2].root, s->v[3].root);
	own = location(&s->v[1], "/l")->types;
	ck_assert_ptr_eq(location(&s->v[1], "/m")->types, own);
	ck_assert_ptr_eq(trees.files.roots[location(&s->v[1], "/l")->root].types, own);
	ck_assert(slice_eq(mime_find(own, SLICE("/x.a"))->type, SLICE("x/a")));
	ck_assert(slice_eq(mime_find(s->v[3].all.types, SLICE("/x"))->type, SLICE("text/x")));
}

static bool packs(const struct mime_types *types, const char *path)
{
	return mime_packs(types, mime_find(types, slice_str(path)));
}

/* A tree has the types that any of its locations compresses; each location its own. */
TEST(types_to_compress)
{
	const struct sites *s = make(
		"cache { compress-types = \"text/*\" }\n"
		"server \"_\" { " ROOT "location \"/own/\" { compress-types = {\"image/*\"} }\n"
		"location \"/none/\" { compress-types = {} } location \"/like/\" { } }\n"
		"server \"same\" { " ROOT "}\n"
		"server \"all\" { " ROOT "compress-types = {} }\n",
		NULL);
	const struct mime_types *all;

	ck_assert_ptr_nonnull(s);
	all = trees.files.roots[s->v[0].root].types;
	ck_assert(packs(all, "/a.css") && packs(all, "/a.png") && !packs(all, "/a.json"));
	ck_assert(packs(s->v[0].all.types, "/a.css") && !packs(s->v[0].all.types, "/a.png"));
	all = location(&s->v[0], "/own/a")->types;
	ck_assert(!packs(all, "/a.css") && packs(all, "/a.png"));
	ck_assert(!packs(location(&s->v[0], "/none/a")->types, "/a.css"));
	ck_assert(packs(location(&s->v[0], "/like/a")->types, "/a.css"));
	ck_assert_uint_ne(s->v[0].root, s->v[1].root);
	ck_assert_ptr_eq(s->v[1].all.types, trees.files.roots[s->v[1].root].types);
	ck_assert(!packs(s->v[2].all.types, "/a.css"));
	ck_assert(!packs(trees.files.roots[s->v[2].root].types, "/a.css"));
}

TEST(rules_of_files)
{
	const struct sites *s =
		make("server \"_\" {\n" ROOT "cache-control = \"all\" add-header = {\"a: 1\"}\n"
		     "files \"*.css\" { cache-control = \"css\" }\n"
		     "location \"/l\" { cache-control = \"l\" add-header = {\"b: 2\"}\n"
		     "files \"*.js\" { add-header = {\"c: 3\"} } files \"*.c*\" { cache-control = "
		     "\"\" } }\n"
		     "}",
			NULL);
	const struct location *all, *p, *rule;

	ck_assert_ptr_nonnull(s);
	all = &s->v[0].all;
	ck_assert_uint_eq(all->nrules, 1);
	rule = site_file_settings(all, SLICE("/x/a.css"));
	ck_assert(is(rule->cache_control, "css") && rule->nheaders == 1 && rule->nrules == 0);
	ck_assert_ptr_eq(site_file_settings(all, SLICE("/x/a.js")), all);
	/* The location's own come first, and the rest of it stays. */
	p = location(&s->v[0], "/l/x");
	ck_assert_uint_eq(p->nrules, 3);
	rule = site_file_settings(p, SLICE("/l/a.js"));
	ck_assert(is(rule->cache_control, "l"));
	ck_assert_uint_eq(rule->nheaders, 3);
	ck_assert(is(rule->headers[0].name, "a") && is(rule->headers[2].name, "c"));
	ck_assert(site_file_settings(p, SLICE("/l/a.css"))->cache_control.n == 0);
	ck_assert_ptr_eq(site_file_settings(p, SLICE("/l/a.html")), p);
}

TEST(faults_of_files)
{
	ck_assert_ptr_null(make("server \"_\" { " ROOT "\nfiles \"*.a\" { add-header = {\"x\"} }\n"
				"location \"/l\" {\nfiles \"*.b\" { add-header = {\"y\"}\n"
				"cache-control = \" z\" } } }",
		NULL));
	ck_assert_uint_eq(nfaults, 3);
	ck_assert_int_eq(strncmp(faults[0], "h2d.conf:3: add-header \"x\"", 26), 0);
	ck_assert_int_eq(strncmp(faults[1], "h2d.conf:6: cache-control \" z\"", 30), 0);
	ck_assert_int_eq(strncmp(faults[2], "h2d.conf:5: add-header \"y\"", 26), 0);
}

TEST(mistakes_of_cache_control)
{
	static const char *const expected[] = {
		"h2d.conf:2: cache-control \"no-cache; private\": separate directives with commas",
		"h2d.conf:5: cache-control \"Max-Age\": write a number of seconds",
		"h2d.conf:4: cache-control \"public, max-age: 3\": write directives with",
		"h2d.conf:7: cache-control \"s-maxage=1d\": write a number of seconds",
	};
	struct conf_faults warnings = { .fn = on_fault };
	const struct sites *s =
		make("server \"_\" { " ROOT "cache-control = \"no-cache; private\"\n"
		     "location \"/none\" { cache-control = \"\" }\n"
		     "location \"/directive\" { cache-control = \"public, max-age: 3\" }\n"
		     "files \"*.a\" { cache-control = \"Max-Age\" }\n"
		     "location \"/right\" { cache-control = \"private=\\\"a, b\\\", max-age=3\" }\n"
		     "location \"/day\" { cache-control = \"s-maxage=1d\" }\n"
		     "location \"/inherits\" { } }\n",
			NULL);

	ck_assert_ptr_nonnull(s);
	site_locations_warn(&s->v[0], &warnings);
	ck_assert_uint_eq(nfaults, 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_msg(strstr(faults[i], expected[i]) == faults[i], "%s", faults[i]);
}

TEST(locations_of_files)
{
	static const struct {
		const char *path, *file, *prefix; /* of the location that decides */
	} paths[] = {
		{ "/", "/index.html", "/" },
		{ "/d/", "/d/index.html", "/d/index.html" },
		{ "/d/x/", "/d/x/index.html", "/d/" },
		{ "/d/d/", "/d/d/none", "/d/d/" },
		{ "/e/about", "/e/about.html", "/e/about.html" },
		{ "/e/page", "/e/page.html", "/e/page" },
		{ "/f/", "/f/a", "/f/" },
	};
	const struct sites *s = make("server \"_\" { " ROOT "location \"/d/\" { }\n"
				     "location \"/d/index.html\" { }\n"
				     "location \"/d/d/\" { index = {\"none\"} }\n"
				     "location \"/d/d/index.html\" { }\n"
				     "location \"/e\" { extensions = {\".html\"} index = {} }\n"
				     "location \"/e/about.html\" { }\n"
				     "location \"/e/page\" { extensions = {\".html\"} }\n"
				     "location \"/f/\" { } location \"/f/index.html/\" { } }\n",
		NULL);

	ck_assert_ptr_nonnull(s);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const struct location *p = location(&s->v[0], paths[i].path);

		p = site_location_of_file(&s->v[0], p, slice_str(paths[i].file));
		ck_assert_msg(is(p->prefix, paths[i].prefix), "%s", paths[i].path);
	}
}

TEST(whether_the_path_is_kept)
{
	const struct sites *s =
		make("server \"_\" { " ROOT "redirect = \"https://x/\"\n"
		     "location \"/a\" { redirect = \"/b\" }\n"
		     "location \"/c\" { redirect = \"/d\" redirect-keep-path = true }\n"
		     "location \"/e\" { redirect-keep-path = false } }\n",
			NULL);

	ck_assert_ptr_nonnull(s);
	ck_assert(s->v[0].all.redirect.keeps);
	ck_assert(!location(&s->v[0], "/a")->redirect.keeps);
	ck_assert(location(&s->v[0], "/c")->redirect.keeps);
	ck_assert(!location(&s->v[0], "/e")->redirect.keeps);
}

TEST_ROWS(each_fault, cases)
{
	for (unsigned form = 0; form < 2; form++) {
		char text[512];
		unsigned n = 0;

		if (form == 0)
			snprintf(text, sizeof(text),
				"server \"_\" {\n" ROOT "%s\nlocation \"/a\" {} "
				"location \"/b\" { add-header = {} } }",
				cases[_i].text);
		else
			snprintf(text, sizeof(text),
				"server \"_\" { " ROOT "location \"/a\" {\n%s } "
				"location \"/b\" {} }",
				cases[_i].text);
		ck_assert_ptr_null(make(text, NULL));
		for (; cases[_i].faults[n] != NULL; n++) {
			ck_assert_uint_lt(n, nfaults);
			ck_assert_msg(strncmp(faults[n], "h2d.conf:3: ", 12) == 0 &&
					      strstr(faults[n], cases[_i].faults[n]) != NULL,
				"%s", faults[n]);
		}
		ck_assert_uint_eq(n, nfaults);
		drop();
	}
	make("server \"_\" { " ROOT "}", NULL);
}

static void headers(char *text, unsigned server, unsigned location)
{
	char *p = text + sprintf(text, "server \"_\" { " ROOT "add-header = {");

	for (unsigned i = 0; i < server; i++)
		p += sprintf(p, "\"a: b\",");
	p += sprintf(p, "}\nlocation \"/a\" {} location \"/b\" { add-header = {");
	for (unsigned i = 0; i < location; i++)
		p += sprintf(p, "\"a: b\",");
	sprintf(p, "} } }");
}

TEST(too_many_headers)
{
	char text[1024];

	headers(text, 20, 5);
	ck_assert_ptr_null(make(text, NULL));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert_str_eq(faults[0], "h2d.conf:3: add-header: 25 headers are set here, but the "
				    "maximum is 24");
	drop();
	headers(text, 25, 1);
	ck_assert_ptr_null(make(text, NULL));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert_int_eq(strncmp(faults[0], "h2d.conf:2: ", 12), 0);
	drop();
	headers(text, 20, 4);
	ck_assert_ptr_nonnull(make(text, NULL));
}

TEST(trusted_proxies)
{
	const struct sites *s = make("trusted-proxies = {\"10.0.0.0/8\", \"unix\", \"::1\"}\n"
				     "client-address = forwarded\nserver \"_\" { " ROOT "}\n",
		NULL);

	ck_assert_uint_eq(s->proxies.trusted->n, 3);
	ck_assert(s->proxies.trusted->rules[1].is_unix);
	ck_assert_int_eq(s->proxies.field, PROXIES_FORWARDED);
	drop();
	ck_assert_ptr_null(make("server \"_\" { " ROOT "}\n"
				"trusted-proxies = {\"10.0.0.1/8\", \"all\"}\n",
		NULL));
	ck_assert_uint_eq(nfaults, 2);
	ck_assert_str_eq(faults[0], "h2d.conf:3: trusted-proxies \"10.0.0.1/8\": the address has "
				    "bits set after its prefix");
	ck_assert_str_eq(faults[1], "h2d.conf:3: trusted-proxies \"all\": not an IPv4 or IPv6 "
				    "address or \"unix\"");
}

/* --- proxies ---------------------------------------------------------------------------------- */

#define APP "proxy = \"127.0.0.1:3000\"\n"

static const struct site_peer *peer(const struct sites *s, const struct location *l, unsigned i)
{
	ck_assert_ptr_nonnull(l->proxy);
	ck_assert_uint_lt(i, l->proxy->npeers);
	ck_assert_uint_lt(l->proxy->peers[i], s->npeers);
	return &s->peers[l->proxy->peers[i]];
}

/* A server with one needs no root; a peer is a text. */
TEST(proxies)
{
	const struct sites *s =
		make("server \"_\" { proxy = {\"127.0.0.1:3000\", \"[::1]:80\"}\n"
		     "proxy-prefix = \"/v2/\"  proxy-queue = 7\n"
		     "location \"/same\" { index = \"a\" }\n"
		     "location \"/off/\" { proxy = {} }\n"
		     "location \"/api\" { proxy = {\"unix:/run/a b\", \"App-1.internal:8080\",\n"
		     "\"127.0.0.1:3000\"} proxy-after = files proxy-prefix = \"/v3\"\n"
		     "proxy-host = \"app:1\" proxy-subject-header = \"x-subject\"\n"
		     "proxy-connections = 2 proxy-connect-timeout = 3 proxy-timeout = 4 } }\n",
			NULL);
	const struct location *all, *api;
	char text[ADDR_TEXT];

	ck_assert_ptr_nonnull(s);
	all = location(s->v, "/x");
	api = location(s->v, "/api");
	ck_assert_uint_eq(s->npeers, 4);
	ck_assert_ptr_null(location(s->v, "/off/")->proxy);
	ck_assert_ptr_eq(peer(s, location(s->v, "/same"), 0), peer(s, all, 0));
	ck_assert(!s->v->has_root);

	ck_assert(is(all->proxy->prefix, "/v2/") && is(all->proxy->replaced, "/"));
	ck_assert(!all->proxy->files_first && all->proxy->host.n == 0);
	ck_assert_uint_eq(all->proxy->queue, 7);
	ck_assert_uint_eq(peer(s, all, 0)->connections, 2);
	ck_assert_uint_eq(peer(s, all, 1)->connections, 256);
	ck_assert_uint_eq(all->proxy->connect_ms, 5000);
	ck_assert_uint_eq(all->proxy->silence_ms, 60000);
	ck_assert_uint_eq(all->at->proxy.line, 1);
	ck_assert(is(peer(s, all, 1)->name, "[::1]:80"));

	ck_assert(is(api->proxy->prefix, "/v3") && is(api->proxy->replaced, "/api"));
	ck_assert(api->proxy->files_first && is(api->proxy->host, "app:1"));
	ck_assert(is(api->proxy->subject_header, "x-subject"));
	ck_assert_uint_eq(api->proxy->queue, 7);
	ck_assert_uint_eq(peer(s, api, 1)->connections, 2);
	ck_assert_uint_eq(api->proxy->connect_ms, 3000);
	ck_assert_uint_eq(api->proxy->silence_ms, 4000);
	ck_assert(is(peer(s, api, 1)->name, "App-1.internal:8080"));
	ck_assert_uint_eq(peer(s, api, 1)->addr.len, 0);
	ck_assert_uint_eq(peer(s, api, 1)->at.line, 5);
	ck_assert_ptr_eq(peer(s, api, 2), peer(s, all, 0));
	for (unsigned i = 0; i < s->npeers; i++) {
		addr_format(&s->peers[i].addr, text, sizeof(text));
		ck_assert(s->peers[i].addr.len == 0 || is(s->peers[i].name, text));
	}
}

/* "@" in fault is the folder. */
static void proxy_fault(const char *text, const char *fault)
{
	size_t n = strcspn(fault, "@");
	char want[512];

	ck_assert_ptr_null(make(text, NULL));
	ck_assert_uint_eq(nfaults, 1);
	snprintf(want, sizeof(want), "%.*s%s%s", (int)n, fault, fault[n] != '\0' ? tree : "",
		fault[n] != '\0' ? fault + n + 1 : "");
	ck_assert_str_eq(faults[0], want);
	drop();
}

TEST(bad_proxies)
{
	static const char *const bad[][2] = {
		{ "http://127.0.0.1:80",
			"remove the scheme: h2d connects in cleartext, by HTTP/1.1" },
		{ "localhost:80/v2",
			"remove the path: proxy-prefix replaces that of the location" },
		{ "127.0.0.1:0", "the port is 0" },
		{ "app:0", "the port is not a number from 1 to 65535" },
		{ "app:http", "the port is not a number from 1 to 65535" },
		{ "app:65536", "the port is not a number from 1 to 65535" },
		{ "app", "the port is missing: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH" },
		{ ":80", "neither an IPv4 address nor a host name before the port" },
		{ "127.1:80", "neither an IPv4 address nor a host name before the port" },
		{ "a b:80", "neither an IPv4 address nor a host name before the port" },
		{ "::1:80", "write an IPv6 address as [ADDRESS]:PORT" },
		{ "[app]:80", "no IPv6 address between the brackets" },
		{ "unix:run/a", "the path of a unix socket must be absolute" },
		{ "", "the address is empty: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH" },
	};
	char text[512], fault[512];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "server \"_\" {\nproxy = {\"%s\"} }\n", bad[i][0]);
		snprintf(
			fault, sizeof(fault), "h2d.conf:2: proxy \"%s\": %s", bad[i][0], bad[i][1]);
		proxy_fault(text, fault);
	}
}

TEST(contradictory_proxies)
{
	proxy_fault("server \"_\" { " APP "location \"/a\" {\nproxy-prefix = \"b\" } }\n",
		"h2d.conf:3: proxy-prefix \"b\" is not a path like \"/app/\"");
	proxy_fault("server \"_\" { " APP "location \"/a\" {\nproxy-prefix = \"/b?c\" } }\n",
		"h2d.conf:3: proxy-prefix \"/b?c\" is not a path like \"/app/\"");
	proxy_fault("server \"_\" { " APP "location \"/a\" {\nproxy-prefix = \"/b/\" } }\n",
		"h2d.conf:3: proxy-prefix \"/b/\" must not end in \"/\", like \"/a\", which it "
		"replaces");
	proxy_fault("server \"_\" { " APP "proxy-prefix = \"/b\"\nlocation \"/a\" { } }\n",
		"h2d.conf:2: proxy-prefix \"/b\" must end in \"/\", like \"/\", which it replaces");
	proxy_fault("server \"_\" { " APP "proxy-host = \"http://a\" }\n",
		"h2d.conf:2: proxy-host \"http://a\" is not a host name");
	proxy_fault("server \"_\" { " APP "proxy-subject-header = \"X-a\" }\n",
		"h2d.conf:2: proxy-subject-header \"X-a\": use lower-case letters, digits and -");
	proxy_fault("server \"_\" { " APP "proxy-subject-header = \"x-forwarded-for\" }\n",
		"h2d.conf:2: proxy-subject-header \"x-forwarded-for\" has another meaning");
	proxy_fault("server \"_\" { redirect = \"https://b/\"\nlocation \"/a\" { " APP "} }\n",
		"h2d.conf:2: proxy does nothing: redirect (@/h2d.conf:1) answers all requests "
		"here");
	proxy_fault("server \"_\" { " APP "location \"/a\" { fallback = \"/b\" } }\n",
		"h2d.conf:2: fallback does nothing: proxy (@/h2d.conf:1) answers for missing files "
		"here");
	proxy_fault("server \"_\" { " ROOT APP "location \"/a\" { upload-dir = \"b\" } }\n",
		"h2d.conf:3: upload-dir needs proxy = {} in its location (proxy: @/h2d.conf:2)");
}

/* An inner block has its own answers, with the proxy of an outer one. */
TEST(other_answers_with_a_proxy)
{
	const struct sites *s = make("fallback = \"/f\"\nserver \"_\" { " ROOT APP
				     "location \"/a\" { redirect = \"/b\" }\n"
				     "location \"/u\" { upload-dir = \"u\" proxy = {} } }\n",
		NULL);

	ck_assert_ptr_nonnull(s);
	ck_assert_ptr_nonnull(location(s->v, "/a")->proxy);
	ck_assert_ptr_null(location(s->v, "/u")->proxy);
}

TEST(methods_that_h2d_does_not_know)
{
	const struct sites *s = make("server \"_\" { " ROOT "location \"/a\" {\n"
				     "allow-methods = {\"GET\"} } }\n",
		NULL);

	ck_assert_uint_eq(location(s->v, "/")->refused_methods, 0);
	ck_assert(location(s->v, "/a")->refused_methods >> H2D_METHOD_UNKNOWN & 1);
	ck_assert(location(s->v, "/a")->refused_methods >> H2D_PUT & 1);
	ck_assert(!(location(s->v, "/a")->refused_methods >> H2D_HEAD & 1));
}

/* Every allocation fails once: one fault, no sites. */
TEST(out_of_memory)
{
	unsigned failed = 0;

	for (cap = 0;; cap += 8) {
		nfaults = 0;
		if (make_places() != NULL)
			break;
		ck_assert_uint_eq(nfaults, 1);
		ck_assert_str_eq(faults[0], "command line: out of memory");
		failed++;
		drop();
	}
	ck_assert_uint_gt(failed, 50);
}
