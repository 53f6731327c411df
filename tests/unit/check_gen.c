/*
 * check_gen: a generation for which there is no memory, at whichever call of malloc(3) and
 * calloc(3), is said and leaves nothing (linked with --wrap).
 */
#include "master/gen.h"

#include <stdbool.h>
#include <stddef.h>

#include "master/child.h"
#include "unit.h"

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static unsigned fail_at; /* the call that fails, counted from 1; 0: none does */
static unsigned ncalls, nfaults;

static bool fails(void)
{
	return ++ncalls == fail_at;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

static int no_run(const struct gifts *args)
{
	return 0;
}

static unsigned three(const struct conf *conf)
{
	return 3;
}

static const struct child_kind kinds[] = {
	{ .name = "worker", .board = true, .run = no_run, .count = three },
	{ .name = NULL },
};

static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	nfaults++;
}

static struct gen *make(void)
{
	const struct conf_override ov = {
		.root = "/tmp", .user = "root", .port = "8080", .h2c = true, .dispatch = "acceptor"
	};

	ncalls = nfaults = 0;
	return gen_new(&ov, kinds, 1, on_fault, NULL);
}

TEST(without_memory)
{
	struct gen *g = make();
	unsigned all = ncalls, failed = 0;

	ck_assert_ptr_nonnull(g);
	ck_assert_uint_eq(g->nchildren, 3);
	gen_free(&g);
	ck_assert_uint_gt(all, 10);
	for (fail_at = 1; fail_at <= all; fail_at++) {
		g = make();
		/* Without memory for what is kept for later it does without. */
		ck_assert(g != NULL || nfaults > 0);
		failed += g == NULL;
		gen_free(&g);
	}
	fail_at = 0;
	ck_assert_uint_gt(failed, 10);
}
