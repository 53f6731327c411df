/* check_one_image: the image of one file has what the keeper's would have of it, and nothing else.
 */

#include "base/clock.h"
#include "http/compress.h"
#include "image/image.h"
#include "keeper/image_build.h"
#include "loop_unit.h"
#include "tree_unit.h"

static struct doc_root root;
static struct doc_roots conf;
static struct one_image *image;

UNIT_SETUP(setup)
{
	root = (struct doc_root){ .root = tree, .charset = "utf-8", .precompressed = true };
	conf = (struct doc_roots){ .roots = &root,
		.nroots = 1,
		.max_size = 16 << 20,
		.max_file_size = 1 << 20,
		.codings = 1u << CODING_GZIP };
	clock_update();
	tree_dir("d");
	tree_dir("d/e");
}

UNIT_TEARDOWN(teardown)
{
	one_image_free(&image);
}

/* The entry of path; NULL: the image does not have it. */
static const struct image_entry *entry(const char *path, bool compress)
{
	static char index[1 << 16];
	const struct built_image *built;

	image = one_image_new(&loop, &conf, 0, slice_str(path), compress);
	ck_assert_ptr_nonnull(image);
	built = one_image_built(image);
	ck_assert_int_gt(pread(built->fds[0], index, sizeof(index), 0), 0);
	ck_assert_uint_le(built->nentries, 2);
	return image_find((const struct image_head *)(void *)index, 0, slice_str(path));
}

static void text(const char *name)
{
	char long_text[2000];

	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	tree_text(name, long_text);
}

TEST_EACH(a_file, compress_has(CODING_GZIP) ? 2 : 1)
{
	const struct image_entry *e;

	text("d/e/x.css");
	text("d/e/other.css");
	e = entry("/d/e/x.css", _i == 1);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->body.n, 1999);
	ck_assert_int_eq(e->variants[CODING_GZIP].n > 0, _i == 1);
	ck_assert_uint_eq(e->variants[CODING_BR].n, 0);
	ck_assert_uint_eq(one_image_built(image)->nentries, 1);
}

TEST_EACH(what_lies_beside, compress_has(CODING_GZIP) ? 2 : 0)
{
	const struct image_entry *e;

	text("x.css");
	tree_text("x.css.gz", "made elsewhere");
	tree_date("x.css.gz", 1);
	e = entry("/x.css", _i == 1);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->flags & IMAGE_SIDECAR << CODING_GZIP, 0);
	one_image_free(&image);
	tree_text("x.css.gz", "made elsewhere");
	e = entry("/x.css", _i == 1);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_ne(e->flags & IMAGE_SIDECAR << CODING_GZIP, 0);
	ck_assert_uint_eq(e->variants[CODING_GZIP].n, strlen("made elsewhere"));
}

static const char *const not_there[] = { "/none", "/d", "/none/x", "/link", "/large" };

TEST_ROWS(no_file, not_there)
{
	static char large[(1 << 20) + 2];

	memset(large, 'a', sizeof(large) - 1);
	tree_text("large", large);
	tree_text("d/x", "x");
	tree_link("d/x", "link");
	ck_assert_ptr_null(entry(not_there[_i], true));
}
