/*
 * etag_memo: a set-associative table in shared memory. Each entry has a count that is odd while it
 * is written: readers that meet a writer know nothing, writers that meet one give up. Workers trust
 * each other with it as far as a tag's form goes: who spoils it spoils what others say of files.
 */
#include "image/etag_memo.h"

#include <string.h>
#include <sys/mman.h>

struct entry {
	uint32_t writes; /* atomic; odd: one is under way */
	uint8_t row;     /* hashes in a row of a file that changed in between */
	bool known;      /* text is its tag */
	char text[ETAG_CONTENT_LEN];
	struct file_id id;
	int64_t hashed_ns;
	uint64_t used; /* atomic; of etag_memo.used, when it was asked for last; 0: it is free */
};

struct etag_memo {
	uint64_t used; /* atomic */
	struct entry sets[ETAG_MEMO_SETS][ETAG_MEMO_WAYS];
};

struct etag_memo *etag_memo_new(void)
{
	void *p = mmap(NULL, sizeof(struct etag_memo), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

void etag_memo_free(struct etag_memo **m)
{
	if (*m != NULL)
		munmap(*m, sizeof(**m));
	*m = NULL;
}

struct etag_memo *etag_memo_shared(void)
{
	static struct etag_memo *shared;

	if (shared == NULL)
		shared = etag_memo_new();
	return shared;
}

/* The set of a file, whatever its state, so that all that is known of it is in one. */
static unsigned set_of(const struct file_id *id)
{
	uint64_t h = (id->ino ^ id->dev << 32) * 0x9e3779b97f4a7c15u;

	return (unsigned)(h >> 32) % ETAG_MEMO_SETS;
}

static bool is_file(const struct entry *e, const struct file_id *id)
{
	return e->used != 0 && e->id.dev == id->dev && e->id.ino == id->ino;
}

/* False: it is being written. */
static bool read_entry(const struct entry *from, struct entry *e)
{
	uint32_t writes = __atomic_load_n(&from->writes, __ATOMIC_ACQUIRE);

	if (writes % 2 != 0)
		return false;
	memcpy(e, from, sizeof(*e));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->writes, __ATOMIC_RELAXED) == writes;
}

/* The entry of the file; NULL: there is none. *e is a copy. */
static struct entry *find(const struct etag_memo *m, const struct file_id *id, struct entry *e)
{
	const struct entry *set = m->sets[set_of(id)];

	for (unsigned i = 0; i < ETAG_MEMO_WAYS; i++)
		if (read_entry(&set[i], e) && is_file(e, id))
			return (struct entry *)(uintptr_t)&set[i];
	return NULL;
}

/* Whether text is a tag, and nothing else: it goes into the head of a response. */
static bool is_tag(const char text[ETAG_CONTENT_LEN])
{
	for (unsigned i = 2; i < ETAG_CONTENT_LEN - 2; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
			c != '-' && c != '_')
			return false;
	}
	return memcmp(text, "\"{", 2) == 0 && memcmp(text + ETAG_CONTENT_LEN - 2, "}\"", 2) == 0;
}

static uint64_t ask(struct etag_memo *m)
{
	return __atomic_add_fetch(&m->used, 1, __ATOMIC_RELAXED);
}

bool etag_memo_get(struct etag_memo *m, const struct file_id *id, struct etag *e)
{
	struct entry copy, *there = find(m, id, &copy);

	if (there == NULL || !copy.known || !file_id_eq(&copy.id, id) || !is_tag(copy.text))
		return false;
	__atomic_store_n(&there->used, ask(m), __ATOMIC_RELAXED);
	memcpy(e->text, copy.text, ETAG_CONTENT_LEN);
	e->n = ETAG_CONTENT_LEN;
	return true;
}

static bool hashed_within(const struct entry *e, int64_t ns, int64_t wall_ns)
{
	return wall_ns >= e->hashed_ns && wall_ns - e->hashed_ns < ns;
}

bool etag_memo_restless(const struct etag_memo *m, const struct file_id *id, int64_t wall_ns)
{
	struct entry e;

	return find(m, id, &e) != NULL && e.row >= ETAG_MEMO_RESTLESS &&
	       hashed_within(&e, ETAG_MEMO_ROW_NS, wall_ns);
}

/* The file's own, or the one that was not asked for longest; NULL: all are being written. */
static struct entry *place_for(struct etag_memo *m, const struct file_id *id)
{
	struct entry *set = m->sets[set_of(id)], *oldest = NULL, e;
	struct entry *there = find(m, id, &e);

	for (unsigned i = 0; i < ETAG_MEMO_WAYS; i++)
		if (set[i].writes % 2 == 0 && (oldest == NULL || set[i].used < oldest->used))
			oldest = &set[i];
	return there != NULL ? there : oldest;
}

static uint8_t row_of(
	const struct entry *e, const struct file_id *id, const struct etag *etag, int64_t wall_ns)
{
	if (etag->n == 0)
		return ETAG_MEMO_RESTLESS;
	if (!is_file(e, id) || !hashed_within(e, 2 * ETAG_MEMO_ROW_NS, wall_ns))
		return 1;
	return e->row < ETAG_MEMO_RESTLESS ? e->row + 1 : e->row;
}

/* False: somebody else does. */
static bool begin_write(struct entry *e)
{
	uint32_t writes = __atomic_load_n(&e->writes, __ATOMIC_RELAXED);

	return writes % 2 == 0 && __atomic_compare_exchange_n(&e->writes, &writes, writes + 1,
					  false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void end_write(struct entry *e)
{
	__atomic_add_fetch(&e->writes, 1, __ATOMIC_RELEASE);
}

void etag_memo_forget(struct etag_memo *m, const struct file_id *id)
{
	struct entry copy, *e = find(m, id, &copy);

	if (e == NULL || !begin_write(e))
		return;
	e->known = false;
	e->row = 0;
	end_write(e);
}

void etag_memo_put(struct etag_memo *m, const struct file_id *id, const struct etag *etag,
	int64_t wall_ns, bool tells)
{
	struct entry *e = place_for(m, id);

	if (e == NULL || !begin_write(e))
		return;
	e->row = row_of(e, id, etag, wall_ns);
	e->known = tells && etag->n == ETAG_CONTENT_LEN;
	e->id = *id;
	e->hashed_ns = wall_ns;
	memcpy(e->text, etag->text, ETAG_CONTENT_LEN);
	__atomic_store_n(&e->used, ask(m), __ATOMIC_RELAXED);
	end_write(e);
}
