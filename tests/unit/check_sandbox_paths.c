/* sandbox_paths: which folders stand for a path whose file may be replaced. */
#include "sandbox/sandbox_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char top[64];
static char seen[4096];

static void setup(void)
{
	snprintf(top, sizeof(top), "/tmp/h2d-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	seen[0] = '\0';
}

static void teardown(void)
{
	char command[128];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", top);
	ck_assert_int_eq(system(command), 0);
}

/* Paths below top, a blank behind each. */
static void note(void *ctx, const char *path, unsigned rights)
{
	size_t n = strlen(seen);

	(void)ctx, (void)rights;
	/* With sanitizers, what their reports need is allowed as well. */
	if (UNIT_SANITIZED && (strncmp(path, "/proc", 5) == 0 || strcmp(path, "/lib") == 0 ||
				      strcmp(path, "/usr/lib") == 0))
		return;
	if (strncmp(path, top, strlen(top)) == 0)
		path += strlen(top);
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
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", top, path);
	seen[0] = '\0';
	way(whole);
}

TEST(a_file_and_its_folder)
{
	ck_assert_int_eq(mkdir("etc", 0700), 0);
	way_of("/etc/users");
	ck_assert_str_eq(seen, "/etc ");
	way_of("/etc///");
	ck_assert_str_eq(seen, " ");
}

TEST(where_links_lead)
{
	ck_assert_int_eq(mkdir("releases", 0700), 0);
	ck_assert_int_eq(mkdir("releases/42", 0700), 0);
	ck_assert_int_eq(mkdir("releases/42/public", 0700), 0);
	ck_assert_int_eq(symlink("releases/42", "current"), 0);
	ck_assert_int_eq(symlink("current/public", "www"), 0);
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
	char roots[3][128];

	ck_assert_int_eq(mkdir("srv", 0700), 0);
	ck_assert_int_eq(symlink("/usr/share", "srv/b"), 0);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(roots[i], sizeof(roots[i]), "%s/srv/%c", top, 'a' + (int)i);
		servers[i].root = roots[i];
	}
	sandbox_paths(&conf, SANDBOX_ROOTS, note, NULL);
	ck_assert_str_eq(seen, "/srv /usr/share /srv/b ");
}

TEST(a_link_to_itself_ends)
{
	ck_assert_int_eq(symlink("b", "a"), 0);
	ck_assert_int_eq(symlink("a", "b"), 0);
	way_of("/a");
	ck_assert(strlen(seen) > 0);
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

UNIT_FIXTURE(setup, teardown)

UNIT_MAIN("sandbox_paths")
