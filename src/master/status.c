/*
 * status: the writer follows no symbolic link: it makes a new file and renames it. A master that
 * does not own the pid file never writes. Processes' counts are read from their slots of the
 * scoreboard before those are released, and impossible ones are ignored.
 */
#include "master/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_read.h"
#include "base/log.h"
#include "master/master_state.h"

enum { FILE_MAX = 2 * STATUS_TEXT + 256 + STATUS_GONE * 64 };

void status_add(struct status *s, const char *line)
{
	size_t used = strlen(s->text);
	size_t n = strlen(line);
	char *to = s->text + used;

	if (used + n + 2 > sizeof(s->text))
		return;
	if (used > 0)
		*to++ = '\n';
	memcpy(to, line, n + 1);
	for (; *to != '\0'; to++) {
		if (*to == '\n')
			*to = ' ';
	}
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = TEMP_FAILURE_RETRY(write(fd, p, n));

		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static const char *result(bool ok)
{
	return ok ? "ok" : "failed";
}

static size_t format(const struct status *s, char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size,
		"request %" PRIu32 "\ngeneration %" PRIu32 "\nresult %s\nrunning %" PRIu32
		"\nreplaced %" PRIu32 "\nupgrade %" PRIu32 " %s\n",
		s->request, s->generation, result(s->ok), s->running, s->replaced, s->upgrade,
		result(s->upgraded));
	const char *line = s->text;

	if (s->drained)
		n += (size_t)snprintf(buf + n, size - n, "drained 1\n");
	for (const struct status_gone *g = s->gone; g < s->gone + STATUS_GONE && g->generation != 0;
		g++)
		n += (size_t)snprintf(buf + n, size - n,
			"gone %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", g->generation,
			g->drained, g->cut, g->refused);
	while (*line != '\0') {
		size_t len = strcspn(line, "\n");

		if (n + len + sizeof("text \n") > size)
			break;
		n += (size_t)snprintf(buf + n, size - n, "text %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
	return n;
}

int status_write(const struct status *s, const char *pid_file)
{
	char path[PATH_MAX], tmp[PATH_MAX], buf[FILE_MAX];
	size_t n = format(s, buf, sizeof(buf));
	int fd, rc;

	if (snprintf(path, sizeof(path), "%s.status", pid_file) >= (int)sizeof(path) ||
		snprintf(tmp, sizeof(tmp), "%s.status.new", pid_file) >= (int)sizeof(tmp))
		return -ENAMETOOLONG;
	/* A name left by a crash; O_EXCL below follows no link put there. */
	if (unlink(tmp) < 0 && errno != ENOENT)
		return -errno;
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, buf, n);
	close(fd);
	if (rc == 0 && rename(tmp, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(tmp);
	return rc;
}

static bool status_number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long v;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	*out = (uint32_t)v;
	return errno == 0 && *end == '\0' && v <= UINT32_MAX;
}

static bool parse_gone(struct status *s, const char *value)
{
	struct status_gone g;
	int i = 0;

	while (i < STATUS_GONE && s->gone[i].generation != 0)
		i++;
	if (i == STATUS_GONE || sscanf(value, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
					&g.generation, &g.drained, &g.cut, &g.refused) != 4)
		return false;
	s->gone[i] = g;
	return true;
}

static bool parse_result(const char *text, bool *ok)
{
	*ok = strcmp(text, "ok") == 0;
	return *ok || strcmp(text, "failed") == 0;
}

static bool parse_upgrade(struct status *s, char *value)
{
	char *how = strchr(value, ' ');

	if (how == NULL)
		return false;
	*how++ = '\0';
	return status_number(value, &s->upgrade) && parse_result(how, &s->upgraded);
}

static bool parse_line(struct status *s, char *line)
{
	char *value = strchr(line, ' ');

	if (value == NULL)
		return false;
	*value++ = '\0';
	if (strcmp(line, "request") == 0)
		return status_number(value, &s->request);
	if (strcmp(line, "generation") == 0)
		return status_number(value, &s->generation);
	if (strcmp(line, "running") == 0)
		return status_number(value, &s->running);
	if (strcmp(line, "replaced") == 0)
		return status_number(value, &s->replaced);
	if (strcmp(line, "gone") == 0)
		return parse_gone(s, value);
	if (strcmp(line, "result") == 0)
		return parse_result(value, &s->ok);
	if (strcmp(line, "upgrade") == 0)
		return parse_upgrade(s, value);
	if (strcmp(line, "drained") == 0)
		return s->drained = strcmp(value, "1") == 0;
	if (strcmp(line, "text") == 0) {
		status_add(s, value);
		return true;
	}
	return false;
}

int status_read(struct status *s, const char *pid_file)
{
	char path[PATH_MAX], buf[FILE_MAX + 1];
	char *save = NULL;
	ssize_t n;

	memset(s, 0, sizeof(*s));
	if (snprintf(path, sizeof(path), "%s.status", pid_file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	n = file_read(path, buf, FILE_MAX);
	if (n < 0)
		return (int)n;
	buf[n] = '\0';
	if (n == 0 || buf[n - 1] != '\n' || strlen(buf) != (size_t)n)
		return -EPROTO;
	for (char *line = strtok_r(buf, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save)) {
		if (!parse_line(s, line))
			return -EPROTO;
	}
	return 0;
}

void status_remove(const char *pid_file)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s.status", pid_file) < (int)sizeof(path))
		unlink(path);
}

/* --- outcomes --------------------------------------------------------------------------------- */

/* Writes the file, if there is a pid file of ours beside it. 0, or -errno, which is logged. */
static int outcome_write(const struct master *m)
{
	int rc = m->pidfile.mine ? status_write(&m->outcome.last, m->pidfile.path) : 0;

	if (rc < 0)
		log_warn("%s.status: %s", m->pidfile.path, strerror(-rc));
	return rc;
}

void outcome_begin(struct master *m)
{
	m->outcome.next = (struct status){ .upgrade = m->outcome.last.upgrade,
		.upgraded = m->outcome.last.upgraded };
	m->outcome.last.running = m->outcome.last.request + 1;
	outcome_write(m);
}

void outcome_end(struct master *m, bool ok)
{
	m->outcome.next.request = m->outcome.last.running;
	m->outcome.next.generation = m->current->number;
	m->outcome.next.ok = ok;
	m->outcome.next.drained = (board_health(m->shared.board) & BOARD_HEALTH_DRAINED) != 0;
	memcpy(m->outcome.next.gone, m->outcome.last.gone, sizeof(m->outcome.next.gone));
	m->outcome.last = m->outcome.next;
	/* If it cannot be written, `h2d -s` sees the end by the pid file's time. */
	if (outcome_write(m) < 0)
		pidfile_name(&m->pidfile, getpid());
}

void outcome_replaced(struct master *m, const struct gen *old)
{
	char text[96];

	snprintf(text, sizeof(text), "generation %u → %u in %u ms", old->number, m->current->number,
		(unsigned)((clock_read_us() - m->build.begun_us) / 1000));
	m->outcome.next.replaced = old->number;
	board_count(&m->shared.board->head, BOARD_COUNT_reloads_done);
	status_add(&m->outcome.next, text);
	log_notice("%s", text);
}

static uint32_t outcome_count(const struct child *c, int counter)
{
	int64_t n = counters_get(&c->board->counters, counter);

	return n > 0 ? (uint32_t)n : 0;
}

/* Remaining connections were killed with it. */
void outcome_add(struct gen *g, const struct child *c)
{
	g->gone.drained += outcome_count(c, COUNTER_connections_drained);
	g->gone.cut +=
		outcome_count(c, COUNTER_connections_cut) + outcome_count(c, COUNTER_connections);
	g->gone.refused += outcome_count(c, COUNTER_connections_refused);
}

void outcome_gone(struct master *m, const struct gen *g)
{
	struct status_gone gone = g->gone;

	gone.generation = g->number;
	log_notice("generation %u exited: %u drained, %u cut, %u refused", g->number, gone.drained,
		gone.cut, gone.refused);
	memmove(m->outcome.last.gone + 1, m->outcome.last.gone,
		sizeof(m->outcome.last.gone) - sizeof(gone));
	m->outcome.last.gone[0] = gone;
	if (m->phase != MASTER_LEAVE)
		outcome_write(m);
}

/* --- health ----------------------------------------------------------------------------------- */

bool health_has(const struct master *m, enum board_health fact)
{
	return m->shared.board->head.health & fact;
}

void health_set(struct master *m, enum board_health fact, bool holds)
{
	uint32_t *facts = &m->shared.board->head.health;
	uint32_t now = holds ? *facts | fact : *facts & ~(uint32_t)fact;
	char text[FLAGS_TEXT];

	if (now == *facts)
		return;
	__atomic_store_n(facts, now, __ATOMIC_RELAXED);
	if (now == 0)
		log_notice("health check passes again");
	else
		log_notice("health check fails: %s", flags_text(board_health_words, now, text));
}

/* The first image has come, or, at the clock's first millisecond, an upgrade before it. */
static void set_warm(struct master *m, uint64_t at_ms)
{
	__atomic_store_n(&m->shared.board->head.warm_ms, at_ms, __ATOMIC_RELAXED);
}

void health_look(struct master *m)
{
	const struct board_head *h = &m->shared.board->head;
	const struct gen *g = m->current;

	if (g == NULL || m->phase == MASTER_LEAVE)
		return;
	if (h->image != 0 && h->warm_ms == 0)
		set_warm(m, clock_ms());
	health_set(m, BOARD_HEALTH_IMAGE,
		g->conf->health_waits_for_cache && g->conf->cache.max_size > 0 && h->warm_ms == 0);
}

/* A master that takes over keeps the machine in its load balancer while it reads the files. */
void health_begin(struct master *m)
{
	if (m->phase == MASTER_TAKE)
		set_warm(m, 1);
	health_look(m);
}

void health_drain(struct master *m, bool drained)
{
	uint32_t others = m->shared.board->head.health & ~(uint32_t)BOARD_HEALTH_DRAINED;
	char words[FLAGS_TEXT], text[FLAGS_TEXT + 64];

	outcome_begin(m);
	health_set(m, BOARD_HEALTH_DRAINED, drained);
	if (drained)
		status_add(
			&m->outcome.next, "drained: health check fails, requests are still served");
	else if (others == 0)
		status_add(&m->outcome.next, "undrained: health check passes");
	else {
		snprintf(text, sizeof(text), "undrained, but health check fails: %s",
			flags_text(board_health_words, others, words));
		status_add(&m->outcome.next, text);
	}
	outcome_end(m, true);
}
