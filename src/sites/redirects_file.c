/*
 * redirects_file: lines of "FROM TO [STATUS]", "#" begins a comment; like Netlify's, FROM may end
 * in "*", and TO in ":splat". Called while a generation is built; the file is read as a whole into
 * the sites' memory, split into words there, and closed.
 */
#include "sites/site_maker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file_read.h"
#include "conf/conf_check.h"
#include "conf/conf_table.h"
#include "http/path.h"

enum { FILE_MAX = 64 << 20, CIRCLE_MAX = 10 };

struct reading {
	struct site_maker *m;
	struct redirects *all;
	struct redirect_line *lines;
	char *rest;
	int status; /* of a line without one */
	const struct conf_row *statuses;
	struct conf_pos at;
	unsigned patterns;
};

static void bad(struct reading *r, const char *what, const char *why)
{
	conf_fault(r->m->faults, &r->at, "\"%.200s\" %s", what, why);
}

/* The text, ended by a NUL; NULL after a fault at pos. */
static char *redirect_read_file(struct site_maker *m, const char *path, const struct conf_pos *pos)
{
	struct stat st;
	ssize_t n = stat(path, &st) < 0 ? -errno : 0;
	char *text = NULL;

	if (n == 0 && st.st_size > FILE_MAX)
		n = -EFBIG;
	if (n == 0)
		text = site_maker_room(m, (size_t)st.st_size, 1);
	if (text != NULL)
		n = file_read(path, text, (size_t)st.st_size + 1);
	if (n > st.st_size)
		n = -EAGAIN; /* it grew */
	else if (n >= 0 && text != NULL)
		text[n] = '\0';
	if (n < 0)
		conf_fault(m->faults, pos, "redirect-file \"%.200s\": %s", path, strerror((int)-n));
	return n < 0 ? NULL : text;
}

/* Takes the next line of the rest, without its comment; NULL: the end. */
static char *redirect_next_line(struct reading *r)
{
	char *line = r->rest, *end;

	if (*line == '\0')
		return NULL;
	end = line + strcspn(line, "\n");
	r->rest = end + (*end == '\n');
	*end = '\0';
	r->at.line++;
	/* A "#" in a target is its fragment. */
	for (char *c = line; (c = strchr(c, '#')) != NULL; c++) {
		if (c == line || c[-1] == ' ' || c[-1] == '\t') {
			*c = '\0';
			break;
		}
	}
	return line;
}

/* Takes the next word off line; "": none. */
static char *redirect_next_word(char **line)
{
	char *word = *line + strspn(*line, " \t\r");
	char *end = word + strcspn(word, " \t\r");

	*line = end + (*end != '\0');
	*end = '\0';
	return word;
}

/* 0: none. */
static int status_of(const struct reading *r, const char *word)
{
	const struct conf_choice *status = conf_table_choice(r->statuses, word);

	if (*word == '\0')
		return r->status;
	return status != NULL ? status->value : 0;
}

/* Only the rest of a path has a name, and is at its end. NULL: no fault. */
static const char *pattern_fault(const char *from, const char *to, bool splat)
{
	const char *star = strchr(from, '*');

	if (star != NULL && (star[1] != '\0' || star == from || star[-1] != '/'))
		return "may have a \"*\" only at its end, after a \"/\"";
	if (strstr(from, "/:") != NULL)
		return "must not contain \"/:\": write \"*\" at the end for the rest of the path, "
		       "and \":\" as %3A";
	if (strchr(to, '*') != NULL || strstr(to, "/:") != NULL)
		return "has an invalid target: use only \":splat\", at the end after a \"/\"";
	if (splat && (star == NULL || strpbrk(to, "?#") != NULL))
		return "must end in \"*\" to use \":splat\", which must not be in a query";
	return NULL;
}

/* Cuts ":splat" off the end of a target. */
static bool cut_splat(char *to)
{
	size_t n = strlen(to), splat = strlen("/:splat");

	if (n < splat || strcmp(to + n - splat, "/:splat") != 0)
		return false;
	to[n - splat + 1] = '\0';
	return true;
}

static void redirect_add(struct reading *r, const char *from, struct redirect_line *line)
{
	const char *why_not = pattern_fault(from, line->redirect.to.p, line->redirect.keeps);
	struct slice path, query;
	unsigned *n;

	if (why_not != NULL) {
		bad(r, from, why_not);
		return;
	}
	if (path_parse(slice_str(from), r->m->a, &path, &query) != NULL || query.n > 0 ||
		strchr(from, '?') != NULL) {
		bad(r, from, "is not a path: write \"/PATH\" without a query");
		return;
	}
	n = name_map_put(&r->all->by_path, path);
	if (*n != 0) {
		char why[64];

		snprintf(why, sizeof(why), "is a duplicate of line %u", r->lines[*n - 1].at.line);
		bad(r, from, why);
		return;
	}
	if (strchr(from, '*') != NULL) {
		line->redirect.prefix = slice_of(path.p, path.n - 1);
		r->patterns++;
	}
	r->lines[r->all->n] = *line;
	*n = ++r->all->n;
}

static void read_line(struct reading *r, char *line)
{
	const char *from = redirect_next_word(&line);
	char *to = redirect_next_word(&line);
	const char *status = redirect_next_word(&line);
	bool splat = cut_splat(to);
	struct redirect_line made = {
		.redirect = { .to = slice_str(to), .status = status_of(r, status), .keeps = splat },
		.at = r->at,
	};

	if (*from == '\0')
		return;
	if (*to == '\0')
		bad(r, from, "has no target: write FROM TO [STATUS]");
	else if (!conf_check_server_target(to))
		bad(r, to, "is neither a path nor a URL (https://...)");
	else if (made.redirect.status == 0 || *redirect_next_word(&line) != '\0')
		bad(r, status, "must be 301, 302, 307 or 308, and end the line");
	else
		redirect_add(r, from, &made);
}

/* Reports a target that leads back to its own line, directly or by others. */
static void check_circles(struct reading *r)
{
	for (unsigned i = 0; i < r->all->n; i++) {
		const struct redirect_line *l = &r->lines[i], *to = l;

		for (unsigned n = 0; to != NULL && n < CIRCLE_MAX; n++) {
			to = redirects_find(r->all, to->redirect.to);
			if (to != l)
				continue;
			r->at = l->at;
			bad(r, l->redirect.to.p, "loops back to this line");
			break;
		}
	}
}

static void index_patterns(struct reading *r)
{
	struct prefix_entry *v = site_maker_room(r->m, r->patterns, sizeof(*v));
	unsigned n = 0;

	for (unsigned i = 0; v != NULL && i < r->all->n; i++)
		if (r->lines[i].redirect.prefix.n > 0)
			v[n++] = (struct prefix_entry){ .prefix = r->lines[i].redirect.prefix,
				.of = i };
	if (v != NULL)
		r->all->by_prefix = prefix_index_make(v, n);
}

/* Room for all lines; false: memory is out. */
static bool redirect_room(struct reading *r)
{
	unsigned n = 1, nslots = 16;

	for (const char *p = r->rest; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	while (nslots < 2 * n)
		nslots *= 2;
	r->all = site_maker_room(r->m, 1, sizeof(*r->all));
	r->lines = site_maker_room(r->m, n, sizeof(*r->lines));
	if (r->all == NULL || r->lines == NULL)
		return false;
	/* At most half full, so that it does not grow. */
	r->all->by_path.slots = site_maker_room(r->m, nslots, sizeof(struct name_slot));
	r->all->by_path.nslots = nslots;
	r->all->v = r->lines;
	return r->all->by_path.slots != NULL;
}

const struct redirects *redirects_file_read(struct site_maker *m, const struct conf_server *s)
{
	struct reading r = { .m = m,
		.status = s->scope.redirect_status,
		.statuses = conf_table_row(
			&conf_sections[CONF_SECTION_SERVER], SLICE("redirect-status")),
		.at = { .file = s->redirect_file } };
	char *line;

	if (*s->redirect_file == '\0')
		return NULL;
	r.rest = redirect_read_file(m, s->redirect_file, &s->redirect_file_at);
	if (r.rest == NULL || !redirect_room(&r))
		return NULL;
	while ((line = redirect_next_line(&r)) != NULL)
		read_line(&r, line);
	index_patterns(&r);
	check_circles(&r);
	return r.all;
}
