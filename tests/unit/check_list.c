/* check_list: order, splice, and that removing twice does no harm. */
#include "base/list.h"

#include "unit.h"

struct item {
	int id;
	struct list node;
};

static void expect(struct list *l, const int *ids, int n)
{
	int i = 0;

	LIST_EACH(struct item, x, node, l) {
		ck_assert_int_lt(i, n);
		ck_assert_int_eq(x->id, ids[i]);
		i++;
	}
	ck_assert_int_eq(i, n);
	for (struct list *node = l->prev; node != l; node = node->prev)
		ck_assert_int_eq(LIST_ENTRY(node, struct item, node)->id, ids[--i]);
	ck_assert_int_eq(i, 0);
}

static void make(struct item *items, int n)
{
	for (int i = 0; i < n; i++) {
		items[i].id = i;
		list_init(&items[i].node);
	}
}

TEST(order)
{
	struct item it[4];
	struct list l;

	make(it, 4);
	list_init(&l);
	ck_assert(list_empty(&l));
	ck_assert_ptr_null(list_pop(&l));
	list_append(&l, &it[0].node);
	list_append(&l, &it[1].node);
	list_prepend(&l, &it[2].node);
	list_prepend(&l, &it[3].node);
	ck_assert(!list_empty(&l));
	expect(&l, (int[]){ 3, 2, 0, 1 }, 4);
	ck_assert_ptr_eq(list_pop(&l), &it[3].node);
	ck_assert(!list_linked(&it[3].node));
	ck_assert(list_linked(&it[2].node));
	list_remove(&it[0].node);
	list_remove(&it[0].node);
	expect(&l, (int[]){ 2, 1 }, 2);
}

TEST(remove_while_walking)
{
	struct item it[5];
	struct list l;

	make(it, 5);
	list_init(&l);
	for (int i = 0; i < 5; i++)
		list_append(&l, &it[i].node);
	LIST_EACH(struct item, x, node, &l) {
		if (x->id % 2 == 0)
			list_remove(&x->node);
	}
	expect(&l, (int[]){ 1, 3 }, 2);
}

TEST(splicing)
{
	struct item it[4];
	struct list a, b;

	make(it, 4);
	list_init(&a);
	list_init(&b);
	list_splice(&a, &b);
	ck_assert(list_empty(&a));
	list_append(&b, &it[0].node);
	list_append(&b, &it[1].node);
	list_splice(&a, &b);
	ck_assert(list_empty(&b));
	expect(&a, (int[]){ 0, 1 }, 2);
	list_append(&b, &it[2].node);
	list_append(&b, &it[3].node);
	list_splice(&a, &b);
	expect(&a, (int[]){ 0, 1, 2, 3 }, 4);
	list_splice(&a, &b);
	expect(&a, (int[]){ 0, 1, 2, 3 }, 4);
}
