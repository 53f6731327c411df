/*
 * kv_db: the database of the handler kv, as a worker has it: brought to this program's version when
 * it is opened, and asked in threads, each over a connection of its own with its statements ready.
 */
#ifndef KV_DB_H
#define KV_DB_H

#include <sqlite3.h>

enum kv_statement { KV_BEGIN, KV_COMMIT, KV_ROLLBACK, KV_GET, KV_PUT, KV_DROP, KV_STATEMENTS };

struct kv_db;
struct kv_link; /* a connection, of one thread at a time */

/*
 * busy_ms: how long a statement waits for the writers of other workers. path is kept and not
 * copied. NULL: it cannot be opened, or is of a newer version. The caller closes it, NULL too, when
 * no thread has a connection.
 */
struct kv_db *kv_db_open(const char *path, int busy_ms);
void kv_db_close(struct kv_db *d);

/* One that is idle, or a new one; NULL: it cannot be had. Any thread may ask; give it back. */
struct kv_link *kv_link_take(struct kv_db *d);
void kv_link_give(struct kv_db *d, struct kv_link *l);

/* Ready to be bound; whoever steps it resets it. */
sqlite3_stmt *kv_link_statement(struct kv_link *l, enum kv_statement which);

#endif
