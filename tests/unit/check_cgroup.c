/* check_cgroup: limits are read from the group of the process and from all above it. */
#include "machine/cgroup.h"

#include "tree_unit.h"
#include "unit_pure.h"

static struct cgroup_limits limits(void)
{
	return cgroup_limits_read(tree_path("self"), tree);
}

static void expect(unsigned cpus, uint64_t memory)
{
	struct cgroup_limits l = limits();

	ck_assert_uint_eq(l.cpus, cpus);
	ck_assert_uint_eq(l.memory, memory);
}

TEST(test_quota)
{
	static const struct {
		const char *cpu_max;
		unsigned cpus;
	} quotas[] = { { "max 100000\n", 0 }, { "100000 100000\n", 1 }, { "50000 100000\n", 1 },
		{ "150000 100000\n", 2 }, { "400000 100000", 4 }, { "0 100000\n", 0 },
		{ "100000 0\n", 0 }, { "", 0 }, { "x\n", 0 }, { "18446744073709551615 1\n", 0 } };

	tree_text("self", "0::/\n");
	for (unsigned i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		tree_text("cpu.max", quotas[i].cpu_max);
		expect(quotas[i].cpus, 0);
	}
}

TEST(test_groups_above)
{
	tree_text("self", "4:cpu:/elsewhere\n0::/a/b\n");
	tree_dir("a");
	tree_dir("a/b");
	tree_text("a/b/memory.max", "max\n");
	tree_text("a/b/cpu.max", "300000 100000\n");
	expect(3, 0);
	tree_text("a/cpu.max", "200000 100000\n");
	tree_text("a/memory.max", "1048576\n");
	expect(2, 1048576);
	tree_text("a/b/memory.max", "4096\n");
	tree_text("cpu.max", "800000 100000\n");
	expect(2, 4096);
}

TEST(test_version_1)
{
	tree_text("self", "9:name=systemd:/\n4:hugetlb,memory:/a/b\n0::/\n");
	tree_dir("memory");
	tree_text("memory/memory.limit_in_bytes", "9223372036854771712\n");
	expect(0, 0);
	tree_text("memory/memory.limit_in_bytes", "134217728\n");
	expect(0, 134217728);
	tree_dir("memory/a");
	tree_dir("memory/a/b");
	tree_text("memory/a/b/memory.limit_in_bytes", "67108864\n");
	expect(0, 67108864);
}

TEST(test_no_groups)
{
	expect(0, 0);
	tree_text("self", "4:cpu:/elsewhere\n");
	tree_text("cpu.max", "100000 100000\n");
	expect(0, 0);
}
