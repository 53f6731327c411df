/* check_cgroup: limits are read from the group of the process and from all above it. */
#include "machine/cgroup.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char folder[32];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void make_folder(void)
{
	strcpy(folder, "/tmp/h2d-cgroup-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static struct cgroup_limits limits(void)
{
	char self[128];

	snprintf(self, sizeof(self), "%s/self", folder);
	return cgroup_limits_read(self, folder);
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

	put("self", "0::/\n");
	for (unsigned i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		put("cpu.max", quotas[i].cpu_max);
		expect(quotas[i].cpus, 0);
	}
}

TEST(test_groups_above)
{
	put("self", "4:cpu:/elsewhere\n0::/a/b\n");
	mkdir(at("a"), 0755);
	mkdir(at("a/b"), 0755);
	put("a/b/memory.max", "max\n");
	put("a/b/cpu.max", "300000 100000\n");
	expect(3, 0);
	put("a/cpu.max", "200000 100000\n");
	put("a/memory.max", "1048576\n");
	expect(2, 1048576);
	put("a/b/memory.max", "4096\n");
	put("cpu.max", "800000 100000\n");
	expect(2, 4096);
}

TEST(test_version_1)
{
	put("self", "9:name=systemd:/\n4:hugetlb,memory:/a/b\n0::/\n");
	mkdir(at("memory"), 0755);
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	expect(0, 0);
	put("memory/memory.limit_in_bytes", "134217728\n");
	expect(0, 134217728);
	mkdir(at("memory/a"), 0755);
	mkdir(at("memory/a/b"), 0755);
	put("memory/a/b/memory.limit_in_bytes", "67108864\n");
	expect(0, 67108864);
}

TEST(test_no_groups)
{
	expect(0, 0);
	put("self", "4:cpu:/elsewhere\n");
	put("cpu.max", "100000 100000\n");
	expect(0, 0);
}

UNIT_FIXTURE(make_folder, remove_folder)

UNIT_MAIN_PURE("cgroup")
