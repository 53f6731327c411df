/* check_upload_field: what clients say of resumable uploads, well and badly. */
#include "http/upload.h"

#include "unit.h"

static struct upload_field parse(const struct field *fields, unsigned n)
{
	struct upload_field u;

	memset(&u, 0xff, sizeof(u));
	upload_field_parse(fields, n, &u);
	return u;
}

static struct upload_field one(struct slice name, struct slice value)
{
	const struct field fields[] = { { SLICE_LIT("host"), SLICE_LIT("localhost") },
		{ name, value } };

	return parse(fields, 2);
}

TEST(absent)
{
	struct upload_field u = parse(NULL, 0);

	ck_assert(!u.has_complete && !u.complete && !u.has_offset && !u.has_length && !u.takes_104);
}

TEST(all)
{
	const struct field fields[] = {
		{ SLICE_LIT("upload-complete"), SLICE_LIT("?1") },
		{ SLICE_LIT("upload-offset"), SLICE_LIT("100") },
		{ SLICE_LIT("upload-length"), SLICE_LIT("999999999999999;a") },
		{ SLICE_LIT("upload-draft-interop-version"), SLICE_LIT("8") },
	};
	struct upload_field u = parse(fields, 4);

	ck_assert(u.has_complete && u.complete);
	ck_assert(u.has_offset && u.offset == 100);
	ck_assert(u.has_length && u.length == 999999999999999);
	ck_assert(u.takes_104);
}

/* Section 4.1: another value is ignored. */
TEST(ignored)
{
	ck_assert(one(SLICE("upload-complete"), SLICE("?0")).has_complete);
	ck_assert(!one(SLICE("upload-complete"), SLICE("?0")).complete);
	ck_assert(!one(SLICE("upload-complete"), SLICE("1")).has_complete);
	ck_assert(!one(SLICE("upload-complete"), SLICE("")).has_complete);
	ck_assert(!one(SLICE("upload-offset"), SLICE("-1")).has_offset);
	ck_assert(!one(SLICE("upload-offset"), SLICE("1.5")).has_offset);
	ck_assert(!one(SLICE("upload-offset"), SLICE("9999999999999999")).has_offset);
	ck_assert(!one(SLICE("upload-length"), SLICE("?1")).has_length);
	ck_assert(!one(SLICE("upload-draft-interop-version"), SLICE("7")).takes_104);
	ck_assert(!one(SLICE("upload-draft-interop-version"), SLICE("80")).takes_104);
	ck_assert(!one(SLICE("upload-draft-interop-version"), SLICE("\"8\"")).takes_104);
}

TEST(twice)
{
	const struct field fields[] = {
		{ SLICE_LIT("upload-complete"), SLICE_LIT("?1") },
		{ SLICE_LIT("upload-complete"), SLICE_LIT("?1") },
	};

	ck_assert(!parse(fields, 2).has_complete);
}

TEST(media_type)
{
	ck_assert(upload_field_is_partial(SLICE("application/partial-upload")));
	ck_assert(upload_field_is_partial(SLICE("Application/Partial-Upload")));
	ck_assert(upload_field_is_partial(SLICE("application/partial-upload; a=b")));
	ck_assert(!upload_field_is_partial(SLICE("application/partial-uploads")));
	ck_assert(!upload_field_is_partial(SLICE("application/partial-upload/x")));
	ck_assert(!upload_field_is_partial(SLICE("application/partial")));
	ck_assert(!upload_field_is_partial(SLICE("application/octet-stream")));
	ck_assert(!upload_field_is_partial(SLICE("")));
}

UNIT_MAIN_PURE("upload_field")
