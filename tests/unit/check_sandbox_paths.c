/* sandbox_paths: which folders stand for a path whose file may be replaced. */
#include "sandbox/sandbox_paths.h"

#include "sandbox/seccomp.h"
#include "tree_unit.h"

static char seen[4096];

UNIT_SETUP(setup)
{
	ck_assert_int_eq(chdir(tree), 0);
	seen[0] = '\0';
}

/* Paths below the tree, a blank behind each. */
static void note(void *ctx, const char *path, unsigned rights)
{
	size_t n = strlen(seen);

	/* With sanitizers, what their reports need is allowed as well. */
	if (UNIT_SANITIZED && (strncmp(path, "/proc", 5) == 0 || strcmp(path, "/lib") == 0 ||
				      strcmp(path, "/usr/lib") == 0))
		return;
	if (strncmp(path, tree, strlen(tree)) == 0)
		path += strlen(tree);
	snprintf(seen + n, sizeof(seen) - n, "%s ", path);
}

static void way(char *path)
{
	struct conf_server server = { .root = path };
	const struct conf conf = { .servers = &server, .nservers = 1 };

	sandbox_paths(&conf, SANDBOX_ROOTS, note, NULL);
}

static void way_of(const char *path)
{
	seen[0] = '\0';
	way(tree_path(path + 1));
}

TEST(a_file_and_its_folder)
{
	tree_dir("etc");
	way_of("/etc/users");
	ck_assert_str_eq(seen, "/etc ");
	way_of("/etc///");
	ck_assert_str_eq(seen, " ");
}

TEST(where_links_lead)
{
	tree_dir("releases");
	tree_dir("releases/42");
	tree_dir("releases/42/public");
	tree_link("releases/42", "current");
	tree_link("current/public", "www");
	way_of("/current");
	ck_assert_str_eq(seen, "/releases  /current ");
	way_of("/current/public");
	ck_assert_str_eq(seen, "/releases /releases/42 ");
	way_of("/www");
	ck_assert_str_eq(seen, "/releases /releases/42  /www ");
}

/* Thousands of roots in one folder are that folder, and each way is gone once. */
TEST(many_in_one_folder)
{
	struct conf_server servers[3] = { 0 };
	struct conf conf = { .servers = servers, .nservers = 3 };
	char roots[3][sizeof(tree) + 8];

	tree_dir("srv");
	tree_link("/usr/share", "srv/b");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(roots[i], sizeof(roots[i]), "%s/srv/%c", tree, 'a' + (int)i);
		servers[i].root = roots[i];
	}
	sandbox_paths(&conf, SANDBOX_ROOTS, note, NULL);
	ck_assert_str_eq(seen, "/srv /usr/share /srv/b ");
}

TEST(a_link_to_itself_ends)
{
	tree_link("b", "a");
	tree_link("a", "b");
	way_of("/a");
	ck_assert(strlen(seen) > 0);
}

static unsigned ports[4], nports;

static void note_port(void *ctx, unsigned port)
{
	(void)ctx;
	ck_assert_uint_lt(nports, 4);
	ports[nports++] = port;
}

/* Names are looked up with files, links included; ports are those of all blocks. */
TEST(what_proxies_need)
{
	char first[] = "unix:/run/a", second[] = "[::1]:3000", third[] = "app.internal:80";
	char *both[] = { first, second }, *name[] = { third };
	struct conf_location location = { 0 };
	struct conf_server server = { .locations = &location, .nlocations = 1 };
	const struct conf conf = { .servers = &server, .nservers = 1 };

	ck_assert_uint_eq(sandbox_proxies(&conf, note_port, NULL), 0);
	server.scope.proxy = (struct conf_list){ both, 1 };
	ck_assert_uint_eq(sandbox_proxies(&conf, note_port, NULL), SECCOMP_PROXY);
	ck_assert_uint_eq(nports, 0);
	server.scope.proxy.n = 2;
	ck_assert_uint_eq(sandbox_proxies(&conf, note_port, NULL), SECCOMP_PROXY);
	ck_assert_uint_eq(nports, 1);
	ck_assert_uint_eq(ports[0], 3000);
	sandbox_paths(&conf, SANDBOX_MORE, note, NULL);
	ck_assert_ptr_null(strstr(seen, "/etc/hosts"));
	location.scope.proxy = (struct conf_list){ name, 1 };
	ck_assert_uint_eq(sandbox_proxies(&conf, note_port, NULL), SECCOMP_PROXY | SECCOMP_NAMES);
	ck_assert_uint_eq(ports[2], 80);
	seen[0] = '\0';
	sandbox_paths(&conf, SANDBOX_MORE, note, NULL);
	ck_assert_ptr_nonnull(strstr(seen, "/etc/hosts"));
	ck_assert_ptr_null(strstr(seen, "/etc/ssl/certs"));
}

TEST(never_everything)
{
	seen[0] = '\0';
	way((char[]){ "/tmp" });
	way((char[]){ "/" });
	way((char[]){ "/tmp/.." });
	way((char[]){ "relative" });
	way((char[]){ "" });
	way(NULL);
	ck_assert_str_eq(seen, "/tmp / /tmp/.. ");
}
