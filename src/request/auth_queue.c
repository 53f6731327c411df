/*
 * auth_queue: runs password checks in offload threads and tells the requests that wait. A check is
 * one question to a file; requests that ask the same question wait for one check, and auth_line
 * says which check is the next. Where a verdict is known, a look whether the file is the same waits
 * in no line. A check may outlive the requests that wait for it: it owns copies of the credentials,
 * and wipes them.
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
#include "request/auth_line.h"

enum {
	SEEN_MS = 1000, /* a change of the file counts after so long at most */
	TOLD = 16,
	KEY = 32,
};

struct auth_check {
	struct job job;
	struct auth_queue *queue;
	struct list node;  /* on queue->checks */
	struct list waits; /* struct auth_wait */
	bool looking;      /* a thread looks at the file: it has no turn */
	struct auth_turn turn;
	struct account *account;   /* open; NULL: nobody's */
	uint32_t user;             /* hash of the user whose password it asks for */
	enum auth_verdict dropped; /* the verdict it ends with, once it is on queue->dropped */
	uint64_t retry_ms;         /* ms after which the client may ask again; 0: soon */
	struct auth_basic who;
	struct htpasswd question;
	enum htpasswd_result result;
	bool unchanged;         /* the look found the file as it was */
	int64_t asked_ns;       /* wall clock before the file was read */
	struct verdict verdict; /* the key, and what was known of it before */
};

struct auth_queue {
	struct loop *loop;
	struct offload *offload;
	struct list checks; /* as they came */
	struct auth_line line;
	struct timer timer;  /* while all who are in line have to wait */
	struct list dropped; /* struct auth_check that had to leave the line */
	struct task tell;    /* tells the requests of dropped checks */
	uint8_t key[KEY];    /* random, of this process alone */
	uint64_t failed_ms;  /* when a file that cannot be read was last logged */
	struct {
		const char *file;
		struct file_id stamp;
	} told[TOLD]; /* files with hashes of others that were logged */
	unsigned ntold;
	struct auth_cache verdicts;
};

static void on_timer(struct timer *t);
static void on_dropped(struct auth_line *line, struct auth_turn *turn, uint64_t ms);
static void tell_dropped(struct task *t);

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
	list_init(&queue->dropped);
	auth_line_init(&queue->line, on_dropped);
	timer_init(&queue->timer, on_timer);
	task_init(&queue->tell, tell_dropped);
	return queue;
}

void auth_queue_free(struct auth_queue **dp)
{
	struct auth_queue *queue = *dp;

	if (queue == NULL)
		return;
	*dp = NULL;
	H2D_ASSERT(list_empty(&queue->checks) && list_empty(&queue->dropped));
	loop_cancel(&queue->tell);
	timer_disarm(&queue->loop->wheel, &queue->timer);
	explicit_bzero(queue, sizeof(*queue));
	free(queue);
}

/* --- names ---------------------------------------------------------------------------------------
 */

/* A name for the first n bytes of credentials, and their file: it tells nothing of them without
 * queue->key. */
static bool make_key(const struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, size_t n, uint8_t key[VERDICT_KEY])
{
	char text[PATH_MAX + AUTH_BASIC_MAX + 2];
	size_t file = strlen(auth->file) + 1;
	bool made;

	if (file > PATH_MAX)
		return false;
	/* Neither part holds a NUL. */
	memcpy(text, auth->file, file);
	memcpy(text + file, who->bytes, n);
	made = HMAC(EVP_sha256(), queue->key, KEY, (const unsigned char *)text, file + n, key,
		       NULL) != NULL;
	explicit_bzero(text + file, n);
	return made;
}

static uint32_t user_of(
	const struct auth_queue *queue, const struct auth *auth, const struct auth_basic *who)
{
	uint8_t key[VERDICT_KEY] = { 0 };
	uint32_t user;

	make_key(queue, auth, who, who->user.n, key);
	memcpy(&user, key, sizeof(user));
	return user;
}

/* --- checks ----------------------------------------------------------------------------------- */

static void check_free(struct auth_check *c)
{
	H2D_ASSERT(list_empty(&c->waits));
	list_remove(&c->node);
	account_close(&c->account);
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
		  "crypt(5)'s: their users are refused (make new ones: openssl passwd -6)",
		q->file);
}

/* From what the thread found to what is answered; remembers it. */
static enum auth_verdict conclude(struct auth_queue *queue, struct auth_check *c)
{
	struct verdict *v = &c->verdict;

	report(queue, c);
	if (c->result == HTPASSWD_FAILED) {
		auth_line_end(&queue->line, &c->turn, AUTH_TURN_UNKNOWN);
		return AUTH_BROKEN;
	}
	v->passed = c->result == HTPASSWD_RIGHT;
	auth_line_end(&queue->line, &c->turn, v->passed ? AUTH_TURN_RIGHT : AUTH_TURN_WRONG);
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
		wait->retry_ms = c->retry_ms;
		wait->fn(wait, verdict);
	}
	check_free(c);
}

/* Ends a check that has lost its turn, at the end of the loop's turn: whoever made it lose that may
 * be in the middle of a request. */
static void drop(struct auth_check *c, enum auth_verdict verdict, uint64_t ms)
{
	c->dropped = verdict;
	c->retry_ms = ms;
	list_remove(&c->node);
	list_append(&c->queue->dropped, &c->node);
	loop_at_turn_end(c->queue->loop, &c->queue->tell);
}

static void tell_dropped(struct task *t)
{
	struct auth_queue *queue = LIST_ENTRY(t, struct auth_queue, tell);
	struct list *node;

	while ((node = list_pop(&queue->dropped)) != NULL) {
		struct auth_check *c = LIST_ENTRY(node, struct auth_check, node);

		check_end(c, c->dropped);
	}
}

static void check_done(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);
	struct auth_queue *queue = c->queue;
	enum auth_verdict verdict = conclude(queue, c);

	/* Off the list: a request that asks the same from now on finds the verdict. */
	list_remove(&c->node);
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

static int check_start(struct auth_check *c)
{
	c->job.work = check_work;
	c->job.done = check_done;
	c->job.class = JOB_PASSWORD;
	c->job.volume = NULL;
	c->asked_ns = file_id_ns(clock_wall());
	return submit(c);
}

static void start_next(struct auth_queue *queue)
{
	struct auth_turn *turn;
	uint64_t at;

	while ((turn = auth_line_next(&queue->line, &at)) != NULL) {
		struct auth_check *c = LIST_ENTRY(turn, struct auth_check, turn);

		if (check_start(c) == 0)
			continue;
		auth_line_end(&queue->line, turn, AUTH_TURN_UNKNOWN);
		drop(c, AUTH_BROKEN, 0);
	}
	if (at != UINT64_MAX)
		timer_arm(&queue->loop->wheel, &queue->timer, at);
}

static void on_timer(struct timer *t)
{
	start_next(LIST_ENTRY(t, struct auth_queue, timer));
}

static void on_dropped(struct auth_line *line, struct auth_turn *turn, uint64_t ms)
{
	(void)line;
	drop(LIST_ENTRY(turn, struct auth_check, turn), ms > 0 ? AUTH_DELAYED : AUTH_BUSY, ms);
}

/* The check has its place, or a verdict that says why not. */
static enum auth_verdict line_join(struct auth_check *c)
{
	uint64_t ms;

	if (auth_line_join(&c->queue->line, &c->turn, c->account, c->user, c->verdict.key, &ms))
		return AUTH_LATER;
	c->retry_ms = ms;
	return ms > 0 ? AUTH_DELAYED : AUTH_BUSY;
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
	if (!c->unchanged && !list_empty(&c->waits)) {
		verdict = line_join(c);
		start_next(queue);
		if (verdict == AUTH_LATER)
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
	c->job.volume = c->question.file;
	c->looking = submit(c) == 0;
	return c->looking ? 0 : -1;
}

static struct auth_check *check_new(struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, struct account *account, const uint8_t key[VERDICT_KEY])
{
	struct auth_check *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->queue = queue;
	account_hold(account);
	c->account = account;
	list_init(&c->node);
	list_init(&c->turn.node);
	list_init(&c->waits);
	memcpy(c->who.bytes, who->bytes, who->user.n + 1 + who->password.n + 1);
	c->who.user = slice_of(c->who.bytes, who->user.n);
	c->who.password = slice_of(c->who.bytes + who->user.n + 1, who->password.n);
	c->question = (struct htpasswd){
		.file = auth->file, .user = c->who.user, .password = c->who.password
	};
	memcpy(c->verdict.key, key, VERDICT_KEY);
	c->user = user_of(queue, auth, who);
	return c;
}

/* --- asking ----------------------------------------------------------------------------------- */

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
	list_append(&c->queue->checks, &c->node);
	if (known != NULL) {
		c->verdict = *known;
		return look_start(c) == 0 ? AUTH_LATER : AUTH_BROKEN;
	}
	return line_join(c);
}

enum auth_verdict auth_ask(struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, struct account *account, struct auth_wait *wait)
{
	const struct verdict *known;
	enum auth_verdict verdict;
	uint8_t key[VERDICT_KEY];
	struct auth_check *c;

	if (!make_key(queue, auth, who, who->user.n + 1 + who->password.n, key))
		return AUTH_BROKEN;
	known = auth_cache_find(&queue->verdicts, key, clock_ms());
	if (known != NULL && clock_ms() - known->seen_ms < SEEN_MS)
		return known->passed ? AUTH_PASSED : AUTH_REFUSED;
	c = same_check(queue, key);
	if (c == NULL) {
		c = check_new(queue, auth, who, account, key);
		if (c == NULL)
			return AUTH_BROKEN;
		verdict = check_begin(c, known);
		if (verdict != AUTH_LATER) {
			wait->retry_ms = c->retry_ms;
			check_free(c);
			return verdict;
		}
		start_next(queue);
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
	/* A check that runs goes on: its verdict is worth remembering. */
	if (list_empty(&c->waits) && c->turn.state != AUTH_TURN_RUN && !c->looking) {
		auth_line_leave(&c->queue->line, &c->turn);
		check_free(c);
	}
}
