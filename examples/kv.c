/*
 * kv: a key-value store on SQLite. GET, PUT and DELETE of /kv/{name}; each value has an entity tag,
 * and if-match and if-none-match are heeded, so that nobody overwrites what he has not seen. The
 * database is asked in threads, over connections that they share (kv_db.c); its file is the key
 * database of handler "kv". Where there is no sqlite3.h (Debian: libsqlite3-dev) this is not built.
 */
#if __has_include(<sqlite3.h>)
#include "h2d/handler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kv_db.h"

enum { TAG = 24 };

/* --- the worker ------------------------------------------------------------------------------- */

struct store {
	struct kv_db *db; /* NULL: the operator names none */
	uint64_t value_max;
};

static void worker_exit(void *context)
{
	struct store *s = context;

	kv_db_close(s->db);
	free(s);
}

static int worker_init(struct h2d_worker *worker, void **context)
{
	const char *path = h2d_conf_string(worker, "database");
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	s->value_max = h2d_conf_number(worker, "max-value");
	if (path[0] != '\0')
		s->db = kv_db_open(path, (int)(1000 * h2d_conf_number(worker, "busy-timeout")));
	*context = s;
	if (path[0] == '\0' || s->db != NULL)
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

static sqlite3_stmt *bind_name(struct kv_link *l, enum kv_statement which, const struct job *j)
{
	sqlite3_stmt *s = kv_link_statement(l, which);

	sqlite3_bind_blob(s, 1, j->name, (int)j->name_len, SQLITE_STATIC);
	return s;
}

static void keep_tag(struct job *j, sqlite3_stmt *s)
{
	sqlite3_snprintf(TAG, j->tag, "%s", (const char *)sqlite3_column_text(s, 0));
}

/* One of those without an answer. */
static int step(struct kv_link *l, enum kv_statement which)
{
	int rc = sqlite3_step(kv_link_statement(l, which));

	sqlite3_reset(kv_link_statement(l, which));
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
static int look(struct kv_link *l, struct job *j)
{
	sqlite3_stmt *s = bind_name(l, KV_GET, j);
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

static int store_value(struct kv_link *l, struct job *j)
{
	sqlite3_stmt *s = bind_name(l, KV_PUT, j);
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

static int drop_value(struct kv_link *l, struct job *j)
{
	bool there = j->tag[0] != '\0';

	bind_name(l, KV_DROP, j);
	j->status = there ? 204 : 404;
	j->tag[0] = '\0';
	return there ? step(l, KV_DROP) : SQLITE_OK;
}

/* What the conditions have seen is what is written over: both are in one transaction. */
static int change(struct kv_link *l, struct job *j)
{
	int rc = step(l, KV_BEGIN);

	if (rc != SQLITE_OK)
		return rc;
	rc = look(l, j);
	if (rc == SQLITE_OK && (j->status = refusal(j)) == 0)
		rc = j->method == H2D_PUT ? store_value(l, j) : drop_value(l, j);
	if (rc == SQLITE_OK)
		rc = step(l, KV_COMMIT);
	if (rc != SQLITE_OK)
		step(l, KV_ROLLBACK);
	return rc;
}

static int ask(struct kv_link *l, struct job *j)
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
	struct kv_link *l = kv_link_take(j->store->db);
	int rc = l != NULL ? ask(l, j) : SQLITE_CANTOPEN;

	if (l != NULL)
		kv_link_give(j->store->db, l);
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
	h2d_reply_header(req, "location", text);
}

static void done(struct h2d_req *req, void *state, void *job)
{
	struct job *j = job;

	(void)state;
	if (req != NULL && j->status < 400) {
		if (j->status == 201)
			say_location(req, j);
		if (j->tag[0] != '\0')
			h2d_reply_header(req, "etag", j->tag);
		h2d_reply_header(req, "x-content-type-options", "nosniff");
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

	for (unsigned i = 0; (value = h2d_req_header_nth(req, name, i, &len)) != NULL; i++) {
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

	if (store->db == NULL)
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
