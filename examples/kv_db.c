/* kv_db: see kv_db.h. */
#if __has_include(<sqlite3.h>)
#include "kv_db.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { TRIES = 200, PAUSE_MS = 25 };

/* --- its versions ----------------------------------------------------------------------------- */

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

static const char *const texts[KV_STATEMENTS] = {
	[KV_BEGIN] = "BEGIN IMMEDIATE",
	[KV_COMMIT] = "COMMIT",
	[KV_ROLLBACK] = "ROLLBACK",
	[KV_GET] = "SELECT tag, value FROM kv WHERE name = ?1",
	[KV_PUT] = "INSERT INTO kv (name, value, tag) VALUES (?1, ?2, '\"' || "
		   "lower(hex(randomblob(8))) || '\"') "
		   "ON CONFLICT (name) DO UPDATE SET value = excluded.value, tag = excluded.tag "
		   "RETURNING tag",
	[KV_DROP] = "DELETE FROM kv WHERE name = ?1",
};

struct kv_link {
	sqlite3 *db;
	sqlite3_stmt *statements[KV_STATEMENTS];
	struct kv_link *next; /* idle */
};

struct kv_db {
	const char *path;
	int busy_ms;
	pthread_mutex_t lock;
	struct kv_link *idle;
};

static void link_free(struct kv_link *l)
{
	for (int i = 0; i < KV_STATEMENTS; i++)
		sqlite3_finalize(l->statements[i]);
	sqlite3_close(l->db);
	free(l);
}

static bool link_open(struct kv_link *l, const struct kv_db *d)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

	return sqlite3_open_v2(d->path, &l->db, flags, NULL) == SQLITE_OK &&
	       sqlite3_busy_timeout(l->db, d->busy_ms) == SQLITE_OK;
}

static bool link_prepare(struct kv_link *l)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < KV_STATEMENTS && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v3(
			l->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &l->statements[i], NULL);
	return rc == SQLITE_OK;
}

/* first: of this worker; it brings the database to this version. */
static struct kv_link *link_new(const struct kv_db *d, bool first)
{
	struct kv_link *l = calloc(1, sizeof(*l));

	if (l == NULL || (link_open(l, d) && (!first || migrate(l->db)) && link_prepare(l)))
		return l;
	link_free(l);
	return NULL;
}

struct kv_link *kv_link_take(struct kv_db *d)
{
	struct kv_link *l;

	pthread_mutex_lock(&d->lock);
	l = d->idle;
	if (l != NULL)
		d->idle = l->next;
	pthread_mutex_unlock(&d->lock);
	return l != NULL ? l : link_new(d, false);
}

void kv_link_give(struct kv_db *d, struct kv_link *l)
{
	pthread_mutex_lock(&d->lock);
	l->next = d->idle;
	d->idle = l;
	pthread_mutex_unlock(&d->lock);
}

sqlite3_stmt *kv_link_statement(struct kv_link *l, enum kv_statement which)
{
	return l->statements[which];
}

/* --- the worker's ----------------------------------------------------------------------------- */

struct kv_db *kv_db_open(const char *path, int busy_ms)
{
	struct kv_db *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->path = path;
	d->busy_ms = busy_ms;
	pthread_mutex_init(&d->lock, NULL);
	d->idle = link_new(d, true);
	if (d->idle != NULL)
		return d;
	kv_db_close(d);
	return NULL;
}

void kv_db_close(struct kv_db *d)
{
	struct kv_link *l;

	if (d == NULL)
		return;
	while ((l = d->idle) != NULL) {
		d->idle = l->next;
		link_free(l);
	}
	pthread_mutex_destroy(&d->lock);
	free(d);
}
#endif
