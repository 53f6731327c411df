/*
 * kv: a key-value store on SQLite. GET, PUT and DELETE of /kv/{name}; each value has an entity tag,
 * and if-match and if-none-match are heeded, so that nobody overwrites what he has not seen. The
 * database is asked in threads, over connections that they share; its file is the key database of
 * handler "kv". Where there is no sqlite3.h (Debian: libsqlite3-dev) this is not built.
 */
#if __has_include(<sqlite3.h>)
#include "h2d/handler.h"

#include <ctype.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 24, TRIES = 200, PAUSE_MS = 25 };

/* --- the database ----------------------------------------------------------------------------- */

/* The i-th makes version i + 1 of the database; what is released never changes. */
static const char *const migrations[] = {
	"CREATE TABLE kv (id INTEGER PRIMARY KEY, name BLOB UNIQUE NOT NULL, value BLOB NOT NULL)",
	"ALTER TABLE kv ADD COLUMN tag TEXT NOT NULL DEFAULT '\"0\"'",
};
enum { VERSION = sizeof(migrations) / sizeof(migrations[0]) };

/* Other workers do the same; not for all that locks does SQLite wait. */
static int patiently(sqlite3 *db, const char *text)
{
	int rc = sqlite3_exec(db, text, NULL, NULL, NULL);

	for (int i = 0; i < TRIES && rc == SQLITE_BUSY; i++) {
		sqlite3_sleep(PAUSE_MS);
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	}
	return rc;
}

static int version_of(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int version = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
		sqlite3_step(s) == SQLITE_ROW)
		version = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return version;
}

/* From whatever version it has; false also for one that is newer than this program. */
static bool migrate(sqlite3 *db)
{
	int version;
	bool done;

	if (patiently(db, "PRAGMA journal_mode = WAL") != SQLITE_OK ||
		patiently(db, "BEGIN IMMEDIATE") != SQLITE_OK)
		return false;
	version = version_of(db);
	done = version >= 0 && version <= VERSION;
	for (int i = version; done && i < VERSION; i++) {
		char next[40];

		sqlite3_snprintf(sizeof(next), next, "PRAGMA user_version = %d", i + 1);
		done = sqlite3_exec(db, migrations[i], NULL, NULL, NULL) == SQLITE_OK &&
		       sqlite3_exec(db, next, NULL, NULL, NULL) == SQLITE_OK;
	}
	return sqlite3_exec(db, done ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK &&
	       done;
}

/* --- connections ------------------------------------------------------------------------------ */

enum statement { BEGIN, COMMIT, ROLLBACK, GET, PUT, DROP, STATEMENTS };

static const char *const texts[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[GET] = "SELECT tag, value FROM kv WHERE name = ?1",
	[PUT] = "INSERT INTO kv (name, value, tag) VALUES (?1, ?2, '\"' || "
		"lower(hex(randomblob(8))) || '\"') "
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value, tag = excluded.tag "
		"RETURNING tag",
	[DROP] = "DELETE FROM kv WHERE name = ?1",
};

/* Of one thread at a time. */
struct link {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	struct link *next;
};

/* The worker's. */
struct store {
	const char *path; /* "": there is none */
	uint64_t value_max, busy_ms;
	pthread_mutex_t lock;
	struct link *idle;
};

static void link_free(struct link *l)
{
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(l->statements[i]);
	sqlite3_close(l->db);
	free(l);
}

static bool link_open(struct link *l, const struct store *s)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

	return sqlite3_open_v2(s->path, &l->db, flags, NULL) == SQLITE_OK &&
	       sqlite3_busy_timeout(l->db, (int)s->busy_ms) == SQLITE_OK;
}

static bool link_prepare(struct link *l)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < STATEMENTS && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v3(
			l->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &l->statements[i], NULL);
	return rc == SQLITE_OK;
}

/* first: of this worker; it brings the database to this version. */
static struct link *link_new(const struct store *s, bool first)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL || (link_open(l, s) && (!first || migrate(l->db)) && link_prepare(l)))
		return l;
	link_free(l);
	return NULL;
}

static struct link *link_take(struct store *s)
{
	struct link *l;

	pthread_mutex_lock(&s->lock);
	l = s->idle;
	if (l != NULL)
		s->idle = l->next;
	pthread_mutex_unlock(&s->lock);
	return l != NULL ? l : link_new(s, false);
}

static void link_give(struct store *s, struct link *l)
{
	pthread_mutex_lock(&s->lock);
	l->next = s->idle;
	s->idle = l;
	pthread_mutex_unlock(&s->lock);
}

/* --- the worker ------------------------------------------------------------------------------- */

static void worker_exit(void *context)
{
	struct store *s = context;
	struct link *l;

	while ((l = s->idle) != NULL) {
		s->idle = l->next;
		link_free(l);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int worker_init(struct h2d_worker *worker, void **context)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	s->path = h2d_conf_string(worker, "database");
	s->value_max = h2d_conf_number(worker, "max-value");
	s->busy_ms = 1000 * h2d_conf_number(worker, "busy-timeout");
	pthread_mutex_init(&s->lock, NULL);
	*context = s;
	if (s->path[0] != '\0')
		s->idle = link_new(s, true);
	if (s->path[0] == '\0' || s->idle != NULL)
		return 0;
	worker_exit(s);
	return -1;
}

/* --- in a thread ------------------------------------------------------------------------------ */

struct job {
	struct store *store;
	enum h2d_method method;
	char *match, *none_match; /* the fields; NULL: absent */
	char *value;
	size_t value_len, value_size;
	int status;    /* the answer */
	char tag[TAG]; /* "" where there is no value */
	size_t name_len;
	char name[];
};

static void job_free(struct job *j)
{
	if (j == NULL)
		return;
	free(j->match);
	free(j->none_match);
	free(j->value);
	free(j);
}

/* Whether the list has the tag, or is "*". weak: W/"x" is "x" (RFC 9110, 8.8.3.2). */
static bool names(const char *list, const char *tag, bool weak)
{
	size_t n = strlen(tag);

	while (*(list += strspn(list, " \t,")) != '\0') {
		bool is_weak = strncmp(list, "W/", 2) == 0;
		const char *end;

		if (*list == '*')
			return true;
		list += is_weak ? 2 : 0;
		if (*list != '"' || (end = strchr(list + 1, '"')) == NULL)
			return false;
		if ((weak || !is_weak) && (size_t)(end + 1 - list) == n &&
			memcmp(list, tag, n) == 0)
			return true;
		list = end + 1;
	}
	return false;
}

/* RFC 9110, 13.2.2. 0: the conditions hold. */
static int refusal(const struct job *j)
{
	bool there = j->tag[0] != '\0';

	if (j->match != NULL && !(there && names(j->match, j->tag, false)))
		return 412;
	if (j->none_match != NULL && there && names(j->none_match, j->tag, true))
		return j->method == H2D_GET || j->method == H2D_HEAD ? 304 : 412;
	return 0;
}

static sqlite3_stmt *bind_name(struct link *l, enum statement which, const struct job *j)
{
	sqlite3_stmt *s = l->statements[which];

	sqlite3_bind_blob(s, 1, j->name, (int)j->name_len, SQLITE_STATIC);
	return s;
}

static void keep_tag(struct job *j, sqlite3_stmt *s)
{
	sqlite3_snprintf(TAG, j->tag, "%s", (const char *)sqlite3_column_text(s, 0));
}

/* One of those without an answer. */
static int step(struct link *l, enum statement which)
{
	int rc = sqlite3_step(l->statements[which]);

	sqlite3_reset(l->statements[which]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int keep_value(struct job *j, sqlite3_stmt *s)
{
	size_t n = (size_t)sqlite3_column_bytes(s, 1);

	j->value = malloc(n + 1);
	if (j->value == NULL)
		return SQLITE_NOMEM;
	if (n > 0)
		memcpy(j->value, sqlite3_column_blob(s, 1), n);
	j->value_len = n;
	return SQLITE_OK;
}

/* The tag that the name has; and its value, where that is asked for. */
static int look(struct link *l, struct job *j)
{
	sqlite3_stmt *s = bind_name(l, GET, j);
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW) {
		keep_tag(j, s);
		rc = j->method == H2D_GET || j->method == H2D_HEAD ? keep_value(j, s) : SQLITE_OK;
	} else if (rc == SQLITE_DONE) {
		rc = SQLITE_OK;
	}
	sqlite3_reset(s);
	return rc;
}

static int store_value(struct link *l, struct job *j)
{
	sqlite3_stmt *s = bind_name(l, PUT, j);
	int rc;

	if (j->value_len > 0)
		sqlite3_bind_blob(s, 2, j->value, (int)j->value_len, SQLITE_STATIC);
	else
		sqlite3_bind_zeroblob(s, 2, 0);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		j->status = j->tag[0] != '\0' ? 204 : 201;
		keep_tag(j, s);
		rc = sqlite3_step(s);
	}
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int drop_value(struct link *l, struct job *j)
{
	bool there = j->tag[0] != '\0';

	bind_name(l, DROP, j);
	j->status = there ? 204 : 404;
	j->tag[0] = '\0';
	return there ? step(l, DROP) : SQLITE_OK;
}

/* What the conditions have seen is what is written over: both are in one transaction. */
static int change(struct link *l, struct job *j)
{
	int rc = step(l, BEGIN);

	if (rc != SQLITE_OK)
		return rc;
	rc = look(l, j);
	if (rc == SQLITE_OK && (j->status = refusal(j)) == 0)
		rc = j->method == H2D_PUT ? store_value(l, j) : drop_value(l, j);
	if (rc == SQLITE_OK)
		rc = step(l, COMMIT);
	if (rc != SQLITE_OK)
		step(l, ROLLBACK);
	return rc;
}

static int ask(struct link *l, struct job *j)
{
	int rc;

	if (j->method == H2D_PUT || j->method == H2D_DELETE)
		return change(l, j);
	rc = look(l, j);
	j->status = refusal(j);
	if (j->status == 0)
		j->status = j->tag[0] != '\0' ? 200 : 404;
	return rc;
}

static void run(void *job)
{
	struct job *j = job;
	struct link *l = link_take(j->store);
	int rc = l != NULL ? ask(l, j) : SQLITE_CANTOPEN;

	if (l != NULL)
		link_give(j->store, l);
	if (rc != SQLITE_OK)
		j->status = rc == SQLITE_FULL ? 507 : 503;
}

/* --- on the loop ------------------------------------------------------------------------------ */

struct state {
	struct job *job; /* until it is a thread's */
};

/* Where the value is now (RFC 9110, 10.2.2), percent-encoded. */
static void say_location(struct h2d_req *req, const struct job *j)
{
	static const char path[] = "/kv/", digits[] = "0123456789ABCDEF";
	char *text = h2d_req_alloc(req, sizeof(path) + 3 * j->name_len), *out = text;

	if (text == NULL)
		return;
	memcpy(out, path, sizeof(path) - 1);
	out += sizeof(path) - 1;
	for (size_t i = 0; i < j->name_len; i++) {
		unsigned char c = (unsigned char)j->name[i];

		if (isalnum(c) || strchr("-._~", c) != NULL) {
			*out++ = (char)c;
			continue;
		}
		*out++ = '%';
		*out++ = digits[c >> 4];
		*out++ = digits[c & 15];
	}
	*out = '\0';
	h2d_reply_field(req, "location", text);
}

static void done(struct h2d_req *req, void *state, void *job)
{
	struct job *j = job;

	(void)state;
	if (req != NULL && j->status < 400) {
		if (j->status == 201)
			say_location(req, j);
		if (j->tag[0] != '\0')
			h2d_reply_field(req, "etag", j->tag);
		h2d_reply_field(req, "x-content-type-options", "nosniff");
		h2d_reply_bytes(req, j->status,
			j->status == 200 ? "application/octet-stream" : NULL,
			j->status == 200 ? j->value : NULL, j->status == 200 ? j->value_len : 0);
	} else if (req != NULL) {
		h2d_reply_error(req, j->status);
	}
	job_free(j);
}

static void hand_over(struct h2d_req *req, struct state *s)
{
	struct job *j = s->job;

	if (h2d_work(req, run, done, j) < 0)
		h2d_reply_error(req, 503);
	else
		s->job = NULL;
}

/* All fields of that name as one list; *out NULL where there is none. False: memory is out. */
static bool take_field(struct h2d_req *req, const char *name, char **out)
{
	size_t have = 0, len;
	const char *value;

	for (unsigned i = 0; (value = h2d_req_field_at(req, name, i, &len)) != NULL; i++) {
		char *more = realloc(*out, have + len + 2);

		if (more == NULL)
			return false;
		*out = more;
		memcpy(more + have, value, len);
		have += len;
		more[have++] = ',';
		more[have] = '\0';
	}
	return true;
}

static struct job *job_new(struct h2d_req *req, struct store *store)
{
	size_t len;
	const char *name = h2d_req_param(req, "name", &len);
	struct job *j = calloc(1, sizeof(*j) + len);

	if (j == NULL)
		return NULL;
	j->store = store;
	j->method = h2d_req_method(req);
	j->name_len = len;
	memcpy(j->name, name, len);
	if (take_field(req, "if-match", &j->match) &&
		take_field(req, "if-none-match", &j->none_match))
		return j;
	job_free(j);
	return NULL;
}

static void start(struct h2d_req *req, void *state)
{
	struct state *s = state;
	struct store *store = h2d_worker_context(h2d_req_worker(req));

	if (store->path[0] == '\0')
		h2d_reply_error(req, 404);
	else if (h2d_req_length(req) > (int64_t)store->value_max)
		h2d_reply_error(req, 413);
	else if ((s->job = job_new(req, store)) == NULL)
		h2d_reply_error(req, 503);
	else if (s->job->method != H2D_PUT)
		hand_over(req, s);
}

/* Makes room for len more bytes. */
static bool grow(struct job *j, size_t len)
{
	size_t size = 2 * (j->value_len + len);
	char *more;

	if (j->value_len + len <= j->value_size)
		return true;
	more = realloc(j->value, size);
	if (more == NULL)
		return false;
	j->value = more;
	j->value_size = size;
	return true;
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct job *j = ((struct state *)state)->job;

	if (len > j->store->value_max - j->value_len) {
		h2d_reply_error(req, 413);
	} else if (!grow(j, len)) {
		h2d_reply_error(req, 503);
	} else {
		memcpy(j->value + j->value_len, data, len);
		j->value_len += len;
		h2d_consume(req, len);
	}
}

static void end(struct h2d_req *req, void *state)
{
	hand_over(req, state);
}

static void gone(struct h2d_req *req, void *state)
{
	(void)req;
	job_free(((struct state *)state)->job);
}

const struct h2d_handler h2d_handler_kv = {
	.name = "kv",
	.state_size = sizeof(struct state),
	.start = start,
	.body = body,
	.end = end,
	.gone = gone,
	.worker_init = worker_init,
	.worker_exit = worker_exit,
};
#endif
