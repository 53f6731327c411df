/*
 * states_unit: walks a table of states from each to each, for tests of a table. Each step is a
 * process of its own: a legal one ends well, an illegal one by an alert that names the table and
 * both states.
 */
#pragma once

#include "base/assert.h"
#include "base/states.h"
#include "unit.h"

enum { STATES_UNIT_WORDS = 400 };

/* Takes a step in a process of its own, whose last words are in words; its status. */
static inline int states_unit_step(const struct states *table, unsigned from, unsigned to,
	unsigned (*go)(unsigned from, unsigned to), char *words)
{
	int status;
	pid_t pid;

	words[0] = '\0';
	pid = fork();
	if (pid == 0) {
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		assert_last_words_to(words, STATES_UNIT_WORDS);
		if (go == NULL)
			STATES_STEP(table, from, to);
		_exit(go == NULL || go(from, to) == to ? 0 : 1);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* NULL, or the fault of a step that was taken in the way that status and words tell. */
static inline const char *states_unit_judge(
	bool legal, const char *told, int status, const char *words)
{
	if (legal)
		return status == 0 ? NULL : "is legal, and not taken";
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		return "is illegal, and taken";
	return strstr(words, told) != NULL ? NULL : "is not named by the alert";
}

/*
 * The first fault of the table or of its writer, by name; "" if there is none. legal names all
 * legal steps: "START>SERVE START>DRAIN SERVE>DRAIN". go puts something into the state from, has
 * its writer take the step, and returns the state that it is in then; NULL: the table alone is
 * asked.
 */
static inline const char *states_unit_fault(
	const struct states *table, const char *legal, unsigned (*go)(unsigned from, unsigned to))
{
	static char fault[200];
	char *words = mmap(
		NULL, STATES_UNIT_WORDS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char all[1024], step[64], told[100];
	unsigned unknown = 0, n = 0;

	while (n < STATES_MAX && table->rows[n].name != NULL)
		n++;
	ck_assert_ptr_ne(words, MAP_FAILED);
	fault[0] = '\0';
	snprintf(all, sizeof(all), " %s ", legal);
	for (const char *p = all; (p = strchr(p, '>')) != NULL; p++)
		unknown++;
	for (unsigned i = 0; i < n * n && fault[0] == '\0'; i++) {
		unsigned from = i / n, to = i % n;
		const char *a = states_name(table, from), *b = states_name(table, to), *wrong;

		snprintf(step, sizeof(step), " %s>%s ", a, b);
		snprintf(told, sizeof(told), "%s: no step %s -> %s", table->of, a, b);
		wrong = states_unit_judge(strstr(all, step) != NULL, told,
			states_unit_step(table, from, to, go, words), words);
		unknown -= strstr(all, step) != NULL;
		if (wrong != NULL)
			snprintf(fault, sizeof(fault), "%s%s", step + 1, wrong);
	}
	if (fault[0] == '\0' && unknown > 0)
		snprintf(fault, sizeof(fault), "%u of these steps are of no states", unknown);
	munmap(words, STATES_UNIT_WORDS);
	return fault;
}

/* Asserts that there is no such fault. */
static inline void states_unit_walk(
	const struct states *table, const char *legal, unsigned (*go)(unsigned from, unsigned to))
{
	ck_assert_str_eq(states_unit_fault(table, legal, go), "");
}
