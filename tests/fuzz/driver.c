/*
 * driver: the main() of a fuzz target where there is no fuzzing engine (FUZZ_ENGINE). Runs every
 * file it is given, and every file of the folders it is given, once each: `make check` replays the
 * corpora so. Each input lies in memory of just its size, so that a sanitizer sees the first byte
 * read too far.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "driver.h"

static unsigned long inputs;

static void fail(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	exit(EXIT_FAILURE);
}

static void run_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size);

	if (file == NULL || (data == NULL && size > 0) || fread(data, 1, size, file) != size)
		fail(path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	inputs++;
}

static void run(const char *path);

static void run_folder(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0)
		fail(path);
	for (int i = 0; i < n; i++) {
		char *inner;

		if (names[i]->d_name[0] != '.') {
			if (asprintf(&inner, "%s/%s", path, names[i]->d_name) < 0)
				fail(path);
			run(inner);
			free(inner);
		}
		free(names[i]);
	}
	free(names);
}

static void run(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		fail(path);
	if (S_ISDIR(st.st_mode))
		run_folder(path);
	else
		run_file(path, (size_t)st.st_size);
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	printf("%s: %lu inputs\n", argv[0], inputs);
	/* An empty corpus is a mistake, not a success. */
	return inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
