/* check_disk_root: roots that are swapped, vanish and come back, while files of theirs are being
 * sent. */
#include "fds_unit.h"
#include "files_unit.h"
#include "unit.h"

enum { LARGE = 700000 };

static char path[512];

/* The root is tree/now, a link to tree/one or tree/two. */
UNIT_SETUP(start)
{
	static struct doc_roots conf; /* files_new() keeps it */

	tree_dir("one");
	tree_dir("two");
	tree_text("one/f", "one");
	tree_text("two/f", "two");
	tree_link("one", "now");
	snprintf(path, sizeof(path), "%s/now", tree);
	unit_root.root = path;
	conf = unit_conf;
	files_free(&unit_files);
	unit_files = files_new(&unit_loop, unit_offload, &conf);
	ck_assert_ptr_nonnull(unit_files);
	unit_env.files = unit_files;
}

static void swap(const char *to)
{
	tree_link(to, "next");
	ck_assert_int_eq(rename(tree_path("next"), tree_path("now")), 0);
}

/* The last look was so long ago. */
static void age(uint64_t ms)
{
	unit_files->disk->trees[0].looked_ms = clock_ms() - ms;
}

static void expect(const char *text)
{
	struct h2d_req *req = unit_answer(H2D_GET, "/f", NULL);

	if (text == NULL) {
		ck_assert_int_eq(req->reply.status, 404);
	} else {
		ck_assert_int_eq(req->reply.status, 200);
		unit_expect_body(req, text, strlen(text));
	}
	unit_end(req);
}

TEST_EACH(swapped, 2)
{
	if (_i)
		unit_be_slow();
	expect("one");
	swap("two");
	age(0);
	expect("one");
	age(DISK_LOOK_MS);
	expect("two");
	expect("two");
	ck_assert_int_eq(remove(tree_path("now")), 0);
	age(DISK_LOOK_MS);
	expect(NULL);
	expect(NULL);
	tree_link("one", "now");
	age(DISK_LOOK_MS);
	expect("one");
}

/* Files of the old one are sent to their end; what is under way in a thread meets no closed
 * descriptor. */
TEST(swapped_meanwhile)
{
	char *data = tree_bytes(LARGE, 3), *got = malloc(LARGE);
	struct h2d_req *reading, *opening, *leaving;
	ssize_t n;

	tree_write("one/large", data, LARGE);
	tree_date("one/large", 784111777);
	reading = unit_answer(H2D_GET, "/large", NULL);
	ck_assert_int_eq(unit_read(reading, got, 1000), 1000);
	unit_be_slow();
	age(0); /* however long that took: it opens below the root as it was */
	opening = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/f", NULL, NULL);
	leaving = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/f", NULL, NULL);
	unit_end(leaving);
	swap("two");
	age(DISK_LOOK_MS);
	expect("two");
	unit_wait(opening);
	ck_assert_int_eq(opening->reply.status, 200);
	unit_expect_body(opening, "one", 3);
	unit_end(opening);
	for (size_t at = 1000; at < LARGE; at += (size_t)n) {
		n = unit_read(reading, got + at, LARGE);
		ck_assert_int_gt(n, 0);
	}
	ck_assert_mem_eq(got, data, LARGE);
	unit_end(reading);
	free(data);
	free(got);
}

/* Many look at once, and one of them goes away: the root is the one that was seen last. */
TEST(looked_at_by_many)
{
	struct h2d_req *reqs[8];

	swap("two");
	age(DISK_LOOK_MS);
	for (int i = 0; i < 8; i++)
		reqs[i] = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/f", NULL, NULL);
	unit_end(reqs[3]);
	for (int i = 0; i < 8; i++) {
		if (i == 3)
			continue;
		unit_wait(reqs[i]);
		unit_expect_body(reqs[i], "two", 3);
		unit_end(reqs[i]);
	}
	age(0);
	expect("two");
}

/* Another look began later and came back earlier. */
TEST(overtaken)
{
	struct h2d_req *late;

	swap("two");
	age(DISK_LOOK_MS);
	late = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/f", NULL, NULL);
	unit_files->disk->trees[0].looked_ms = clock_ms() + 1;
	unit_wait(late);
	unit_expect_body(late, "two", 3);
	unit_end(late);
	ck_assert_uint_eq(unit_files->disk->trees[0].root->ref.count, 1);
	age(0);
	expect("one");
}

static void granted(struct place *p)
{
}

/* It waits for a place behind its first look, and its second one finds another directory. */
TEST(swapped_while_it_waits)
{
	struct places *places = &unit_files->disk->places;
	struct place upload = { .upload = true, .granted = granted };
	struct h2d_req *req;
	int before;

	expect("one");
	unit_settle();
	before = open_fds();
	places_limit(&unit_files->disk->places, 1);
	ck_assert(places_take(places, NULL, NULL, &upload));
	swap("two");
	age(DISK_LOOK_MS);
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/f", NULL, NULL);
	unit_settle();
	ck_assert(!req->reply.ready);
	swap("one");
	age(DISK_LOOK_MS);
	places_leave(places, &upload);
	places_give(places, &upload);
	unit_wait(req);
	unit_expect_body(req, "one", 3);
	unit_end(req);
	unit_settle();
	ck_assert_uint_eq(unit_files->disk->trees[0].root->ref.count, 1);
	ck_assert_int_eq(open_fds(), before);
}

/* A look that fails for another reason than the path says nothing about it. */
TEST(keeps_what_it_has)
{
	struct disk_root *root = disk_root_look(path, NULL);
	char loop[512];

	ck_assert_ptr_nonnull(root);
	ck_assert_int_ge(root->fd, 0);
	ck_assert_ptr_null(disk_root_look(path, root));
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(tree, 0), 0);
		ck_assert_int_eq(seteuid(65534), 0);
		ck_assert_ptr_null(disk_root_look(path, root));
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert_int_eq(chmod(tree, 0700), 0);
	}
	snprintf(loop, sizeof(loop), "%s/nothing", tree);
	ref_put(&root->ref);
	root = disk_root_look(loop, NULL);
	ck_assert_int_eq(root->fd, -1);
	ck_assert_ptr_null(disk_root_look(loop, root));
	ref_put(&root->ref);
}
