/* check_conf_watched: which files ask for a reload, and what tells that one has changed. */
#include "conf/conf.h"

#include "conf_unit.h"

static const char *const names[] = { "a.crt", "b.crt", "a.key", "b.key", "a.ocsp", "b.ocsp",
	"tickets", "ca", "crl" };

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static struct conf *conf;
static char seen[256];

UNIT_SETUP(set_up)
{
	for (unsigned i = 0; i < NAMES; i++)
		write_file(names[i], names[i]);
	conf = load_text(
		"listen \"127.0.0.1:0\" { tls = true }\n"
		"tls { certificate = {\"a.crt\", \"b.crt\"}\n"
		"certificate-key = {\"a.key\", \"b.key\"}\n"
		"stapling-file = {\"a.ocsp\", \"b.ocsp\"}\n"
		"session-ticket-key-file = \"tickets\" }\n"
		"server \"_\" { root = \"www\" tls { client-ca = \"ca\" client-crl = \"crl\" } }\n"
		"server \"b\" { root = \"www\" }\n");
	no_faults("it");
}

UNIT_TEARDOWN(tear_down)
{
	conf_free(&conf);
}

static void note(void *ctx, const char *path)
{
	strcat(strcat(seen, strrchr(path, '/') + 1), " ");
}

TEST(which)
{
	conf_watched_each(conf, note, NULL);
	ck_assert_str_eq(seen, "a.crt b.crt a.key b.key a.ocsp b.ocsp tickets ca crl ");
	ck_assert_uint_eq(conf_watched_look(conf, conf->hosts_seen), conf->watched_seen);
}

/* _i: written again as it was, otherwise, and taken away. */
TEST_EACH(changed, 3 * NAMES)
{
	uint64_t content = conf_watched_read(conf, conf->hosts_seen);
	const char *name = names[_i / 3];

	ck_assert_int_eq(unlink(tree_path(name)), 0);
	if (_i % 3 < 2)
		write_file(name, _i % 3 == 0 ? name : "other");
	ck_assert_uint_ne(conf_watched_look(conf, conf->hosts_seen), conf->watched_seen);
	ck_assert_int_eq(conf_watched_read(conf, conf->hosts_seen) == content, _i % 3 == 0);
}
