/*
 * auth_queue: runs password checks in offload threads and tells the requests that wait. A check is
 * one question to a file; requests that ask the same question wait for one check. Two run at a
 * time, so that threads are left for files, of one peer one; some more wait in line, peers take
 * turns, and past that the answer is "busy". Each wrong guess of a peer delays that peer's next
 * check. Where a verdict is known, a look whether the file is the same waits in no line. A check
 * may outlive the requests that wait for it: it owns copies of the credentials, and wipes them.
 */
#include "request/auth_queue.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "request/auth_cache.h"
#include "request/auth_peer.h"

enum {
	RUNNING_MAX = 2, /* of the worker's four threads */
	PEER_RUNNING_MAX = 1,
	IN_LINE_MAX = 64,
	PEER_IN_LINE_MAX = 8,
	SEEN_MS = 1000, /* a change of the file counts after so long at most */
	TOLD = 16,
	KEY = 32,
};

struct auth_check {
	struct job job;
	struct auth_queue *queue;
	struct list node;  /* on queue->checks */
	struct list waits; /* struct auth_wait */
	bool looking;      /* a thread looks at the file: in no line, of no peer */
	bool running;
	struct addr addr;
	struct auth_peer *peer; /* in line or running: whose turn it takes */
	struct auth_basic who;
	struct htpasswd question;
	enum htpasswd_result result;
	bool unchanged;         /* what the look found */
	int64_t asked_ns;       /* wall clock before the file was read */
	struct verdict verdict; /* the key, and what was known of it before */
};

struct auth_queue {
	struct loop *loop;
	struct offload *offload;
	struct list checks; /* as they came */
	unsigned nrunning, nline;
	uint64_t turns;
	struct timer timer; /* while all who are in line have to wait */
	struct auth_peers peers;
	uint8_t key[KEY];   /* random, of this process alone */
	uint64_t failed_ms; /* when a file that cannot be read was last logged */
	struct {
		const char *file;
		struct file_id stamp;
	} told[TOLD]; /* files with hashes of others that were logged */
	unsigned ntold;
	struct auth_cache verdicts;
};

static void on_timer(struct timer *t);

struct auth_queue *auth_queue_new(struct loop *l, struct offload *o)
{
	struct auth_queue *queue = calloc(1, sizeof(*queue));

	if (queue == NULL)
		return NULL;
	if (getrandom(queue->key, sizeof(queue->key), 0) != sizeof(queue->key)) {
		free(queue);
		return NULL;
	}
	queue->loop = l;
	queue->offload = o;
	list_init(&queue->checks);
	timer_init(&queue->timer, on_timer);
	return queue;
}

void auth_queue_free(struct auth_queue **dp)
{
	struct auth_queue *queue = *dp;

	if (queue == NULL)
		return;
	*dp = NULL;
	H2D_ASSERT(list_empty(&queue->checks));
	timer_disarm(&queue->loop->wheel, &queue->timer);
	explicit_bzero(queue, sizeof(*queue));
	free(queue);
}

/* --- checks ----------------------------------------------------------------------------------- */

static void check_free(struct auth_check *c)
{
	H2D_ASSERT(list_empty(&c->waits));
	list_remove(&c->node);
	explicit_bzero(c, sizeof(*c));
	free(c);
}

static void check_work(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);

	c->result = htpasswd_check(&c->question);
}

/* Said at most once a second, and once per state of a file. */
static void report(struct auth_queue *queue, const struct auth_check *c)
{
	const struct htpasswd *q = &c->question;

	if (c->result == HTPASSWD_FAILED &&
		(queue->failed_ms == 0 || clock_ms() - queue->failed_ms >= 1000)) {
		queue->failed_ms = clock_ms();
		log_error("%s: %s", q->file, strerror(q->error));
	}
	if (!q->foreign)
		return;
	for (unsigned i = 0; i < TOLD; i++)
		if (queue->told[i].file == q->file && file_id_eq(&queue->told[i].stamp, &q->stamp))
			return;
	queue->told[queue->ntold % TOLD].file = q->file;
	queue->told[queue->ntold++ % TOLD].stamp = q->stamp;
	log_error("%s: hashes like \"$apr1$\" and \"{SHA}\", and passwords in plain text, are not "
		  "crypt(5)'s: their users are refused (make new ones with htpasswd -B or "
		  "mkpasswd)",
		q->file);
}

/* From what the thread found to what is answered; remembers it. */
static enum auth_verdict conclude(struct auth_queue *queue, struct auth_check *c)
{
	struct verdict *v = &c->verdict;

	report(queue, c);
	if (c->result == HTPASSWD_FAILED)
		return AUTH_BROKEN;
	v->passed = c->result == HTPASSWD_RIGHT;
	if (!v->passed)
		auth_peer_failed(c->peer, clock_ms());
	v->stamp = c->question.stamp;
	v->settled = file_id_settled(&v->stamp, c->asked_ns);
	v->seen_ms = clock_ms();
	v->expires_ms = v->seen_ms + VERDICT_MS;
	auth_cache_put(&queue->verdicts, v, clock_ms());
	return v->passed ? AUTH_PASSED : AUTH_REFUSED;
}

static void start_next(struct auth_queue *queue);

/* Tells all requests that wait, and ends the check. */
static void check_end(struct auth_check *c, enum auth_verdict verdict)
{
	struct list *node;

	while ((node = list_pop(&c->waits)) != NULL) {
		struct auth_wait *wait = LIST_ENTRY(node, struct auth_wait, node);

		wait->check = NULL;
		wait->fn(wait, verdict);
	}
	check_free(c);
}

static void check_done(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);
	struct auth_queue *queue = c->queue;
	enum auth_verdict verdict = conclude(queue, c);

	/* Off the list: a request that asks the same from now on finds the verdict. */
	list_remove(&c->node);
	queue->nrunning--;
	c->peer->nrunning--;
	start_next(queue);
	check_end(c, verdict);
}

static int submit(struct auth_check *c)
{
	int rc = offload_submit(c->queue->offload, &c->job);

	if (rc != 0)
		log_error("password check: %s", strerror(-rc));
	return rc;
}

/* --- the line --- */

static void line_leave(struct auth_check *c)
{
	c->queue->nline--;
	c->peer->nline--;
}

static int check_start(struct auth_check *c)
{
	struct auth_queue *queue = c->queue;
	int rc;

	line_leave(c);
	c->job.work = check_work;
	c->job.done = check_done;
	c->job.class = JOB_PASSWORD;
	c->job.place = NULL;
	c->asked_ns = file_id_ns(clock_wall());
	rc = submit(c);
	if (rc != 0)
		return rc;
	c->running = true;
	c->peer->turn = ++queue->turns;
	c->peer->nrunning++;
	queue->nrunning++;
	return 0;
}

/*
 * The check whose turn it is: the first one of the peer that has waited longest. NULL with *at:
 * none before that time, UINT64_MAX: not before a check is over.
 */
static struct auth_check *next_in_line(struct auth_queue *queue, uint64_t *at)
{
	struct auth_check *best = NULL;

	*at = UINT64_MAX;
	LIST_FOREACH(node, &queue->checks) {
		struct auth_check *c = LIST_ENTRY(node, struct auth_check, node);

		if (c->running || c->looking || c->peer->nrunning >= PEER_RUNNING_MAX)
			continue;
		if (c->peer->ready_ms > clock_ms()) {
			if (c->peer->ready_ms < *at)
				*at = c->peer->ready_ms;
		} else if (best == NULL || c->peer->turn < best->peer->turn) {
			best = c;
		}
	}
	return best;
}

static void start_next(struct auth_queue *queue)
{
	while (queue->nline > 0 && queue->nrunning < RUNNING_MAX) {
		uint64_t at;
		struct auth_check *c = next_in_line(queue, &at);

		if (c == NULL) {
			if (at != UINT64_MAX)
				timer_arm(&queue->loop->wheel, &queue->timer, at);
			return;
		}
		if (check_start(c) == 0)
			continue;
		list_remove(&c->node);
		check_end(c, AUTH_BROKEN);
	}
}

static void on_timer(struct timer *t)
{
	start_next(LIST_ENTRY(t, struct auth_queue, timer));
}

/* False: too many are in it. */
static bool line_join(struct auth_check *c)
{
	struct auth_queue *queue = c->queue;

	if (queue->nline >= IN_LINE_MAX)
		return false;
	c->peer = auth_peers_find(&queue->peers, &c->addr);
	if (c->peer == NULL || c->peer->nline >= PEER_IN_LINE_MAX)
		return false;
	queue->nline++;
	c->peer->nline++;
	return true;
}

/* --- looking --- */

static void look_work(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);

	c->unchanged = htpasswd_unchanged(c->question.file, &c->verdict.stamp);
}

/* The file is the same, and so is the verdict; else the question is a new one. */
static void look_done(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);
	struct auth_queue *queue = c->queue;
	struct verdict *v = &c->verdict;
	enum auth_verdict verdict = AUTH_BUSY;

	c->looking = false;
	if (!c->unchanged && !list_empty(&c->waits) && line_join(c)) {
		start_next(queue);
		return;
	}
	list_remove(&c->node);
	if (c->unchanged) {
		verdict = v->passed ? AUTH_PASSED : AUTH_REFUSED;
		v->seen_ms = clock_ms();
		if (v->passed && v->settled)
			v->expires_ms = v->seen_ms + VERDICT_MS;
		auth_cache_put(&queue->verdicts, v, v->seen_ms);
	}
	check_end(c, verdict);
}

static int look_start(struct auth_check *c)
{
	c->job.work = look_work;
	c->job.done = look_done;
	c->job.class = JOB_FILE;
	c->job.place = c->question.file;
	c->looking = submit(c) == 0;
	return c->looking ? 0 : -1;
}

static struct auth_check *check_new(struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, const struct addr *peer, const uint8_t key[VERDICT_KEY])
{
	struct auth_check *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->queue = queue;
	c->addr = *peer;
	list_init(&c->node);
	list_init(&c->waits);
	memcpy(c->who.bytes, who->bytes, who->user.n + 1 + who->password.n + 1);
	c->who.user = slice_of(c->who.bytes, who->user.n);
	c->who.password = slice_of(c->who.bytes + who->user.n + 1, who->password.n);
	c->question = (struct htpasswd){
		.file = auth->file, .user = c->who.user, .password = c->who.password
	};
	memcpy(c->verdict.key, key, VERDICT_KEY);
	return c;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The name that these credentials have here: it tells nothing of them without queue->key. */
static bool make_key(const struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, uint8_t key[VERDICT_KEY])
{
	char text[PATH_MAX + AUTH_BASIC_MAX + 2];
	size_t file = strlen(auth->file) + 1, pair = who->user.n + 1 + who->password.n;
	bool made;

	if (file > PATH_MAX)
		return false;
	/* Neither part holds a NUL. */
	memcpy(text, auth->file, file);
	memcpy(text + file, who->bytes, pair);
	made = HMAC(EVP_sha256(), queue->key, KEY, (const unsigned char *)text, file + pair, key,
		       NULL) != NULL;
	explicit_bzero(text + file, pair);
	return made;
}

static struct auth_check *same_check(struct auth_queue *queue, const uint8_t key[VERDICT_KEY])
{
	LIST_FOREACH(node, &queue->checks) {
		struct auth_check *c = LIST_ENTRY(node, struct auth_check, node);

		if (memcmp(c->verdict.key, key, VERDICT_KEY) == 0)
			return c;
	}
	return NULL;
}

/* A question that nobody asks yet: what is known of it is looked at, else it goes in line. */
static enum auth_verdict check_begin(struct auth_check *c, const struct verdict *known)
{
	struct auth_queue *queue = c->queue;
	enum auth_verdict verdict = AUTH_LATER;

	list_append(&queue->checks, &c->node);
	if (known != NULL) {
		c->verdict = *known;
		verdict = look_start(c) == 0 ? AUTH_LATER : AUTH_BROKEN;
	} else if (!line_join(c)) {
		verdict = AUTH_BUSY;
	} else if (queue->nrunning < RUNNING_MAX && c->peer->nrunning < PEER_RUNNING_MAX &&
		   c->peer->ready_ms <= clock_ms()) {
		verdict = check_start(c) == 0 ? AUTH_LATER : AUTH_BROKEN;
	} else if (c->peer->ready_ms > clock_ms() &&
		   (!timer_armed(&queue->timer) || queue->timer.at > c->peer->ready_ms)) {
		timer_arm(&queue->loop->wheel, &queue->timer, c->peer->ready_ms);
	}
	if (verdict != AUTH_LATER)
		check_free(c);
	return verdict;
}

enum auth_verdict auth_ask(struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, const struct addr *peer, struct auth_wait *wait)
{
	const struct verdict *known;
	enum auth_verdict verdict;
	uint8_t key[VERDICT_KEY];
	struct auth_check *c;

	if (!make_key(queue, auth, who, key))
		return AUTH_BROKEN;
	known = auth_cache_find(&queue->verdicts, key, clock_ms());
	if (known != NULL && clock_ms() - known->seen_ms < SEEN_MS)
		return known->passed ? AUTH_PASSED : AUTH_REFUSED;
	c = same_check(queue, key);
	if (c == NULL) {
		c = check_new(queue, auth, who, peer, key);
		if (c == NULL)
			return AUTH_BROKEN;
		verdict = check_begin(c, known);
		if (verdict != AUTH_LATER)
			return verdict;
	}
	wait->check = c;
	list_append(&c->waits, &wait->node);
	return AUTH_LATER;
}

void auth_forget(struct auth_wait *wait)
{
	struct auth_check *c = wait->check;

	if (c == NULL)
		return;
	wait->check = NULL;
	list_remove(&wait->node);
	/* One that runs goes on: its verdict is worth remembering. */
	if (list_empty(&c->waits) && !c->running && !c->looking) {
		line_leave(c);
		check_free(c);
	}
}
