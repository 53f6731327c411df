/*
 * auth_queue: runs password checks in offload threads and answers the requests that wait. A check
 * is one question to a file; requests with the same question share one check, and auth_line chooses
 * the next one. With a known verdict, the check for an unchanged file skips the line. A check may
 * outlive the requests that wait for it: it owns copies of the credentials, and wipes them.
 */
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <sys/random.h>

#include "auth/auth_check.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

enum { SEEN_MS = 1000 /* a change of the file counts within this time */ };

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
	list_init(&queue->first);
	line_init(&queue->line, ACCOUNT_PASSWORDS, AUTH_RUNNING_MAX, 1, 1);
	queue->line.by_turn = true;
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
	explicit_bzero(queue, sizeof(*queue));
	free(queue);
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* In sets of four, chosen by the key's first byte, which is practically random. */
struct verdict *auth_cache_find(
	struct auth_cache *t, const uint8_t key[VERDICT_KEY], uint64_t now_ms)
{
	struct verdict *set = t->v[key[0] % VERDICT_SETS];

	for (struct verdict *v = set; v != set + VERDICT_WAYS; v++)
		if (v->expires_ms > now_ms && memcmp(v->key, key, VERDICT_KEY) == 0)
			return v;
	return NULL;
}

/* True if a is less worth keeping. */
static bool worth_less(const struct verdict *a, const struct verdict *b, uint64_t now_ms)
{
	bool a_over = a->expires_ms <= now_ms, b_over = b->expires_ms <= now_ms;

	if (a_over != b_over)
		return a_over;
	if (a->passed != b->passed)
		return !a->passed;
	return a->expires_ms < b->expires_ms;
}

void auth_cache_put(struct auth_cache *t, const struct verdict *v, uint64_t now_ms)
{
	struct verdict *set = t->v[v->key[0] % VERDICT_SETS];
	struct verdict *place = auth_cache_find(t, v->key, now_ms);

	if (place == NULL) {
		place = set;
		for (struct verdict *other = set + 1; other != set + VERDICT_WAYS; other++)
			if (worth_less(other, place, now_ms))
				place = other;
	}
	*place = *v;
}

/* --- names ---------------------------------------------------------------------------------------
 */

/* Makes a key for the first n bytes of credentials, and their file: it reveals nothing without
 * queue->key. */
static bool make_key(const struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, size_t n, uint8_t key[VERDICT_KEY])
{
	char text[PATH_MAX + AUTH_BASIC_MAX + 2];
	size_t file = strlen(auth->file) + 1;
	bool made;

	if (file > PATH_MAX)
		return false;
	/* Neither part contains a NUL. */
	memcpy(text, auth->file, file);
	memcpy(text + file, who->bytes, n);
	made = HMAC(EVP_sha256(), queue->key, AUTH_KEY, (const unsigned char *)text, file + n, key,
		       NULL) != NULL;
	explicit_bzero(text + file, n);
	return made;
}

/* --- checks ----------------------------------------------------------------------------------- */

static void check_free(struct auth_check *c)
{
	H2D_ASSERT(list_empty(&c->waits) && !list_linked(&c->turn.node));
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

/* Logs at most once a second, and once per state of a file. */
static void report(struct auth_queue *queue, const struct auth_check *c)
{
	const struct htpasswd *q = &c->question;

	if (c->result == HTPASSWD_FAILED)
		log_peer(LEVEL_ERROR, "%s: %s; denying access", q->file, strerror(q->error));
	if (!q->foreign)
		return;
	for (unsigned i = 0; i < AUTH_TOLD; i++)
		if (queue->told[i].file == q->file && file_id_eq(&queue->told[i].stamp, &q->stamp))
			return;
	queue->told[queue->ntold % AUTH_TOLD].file = q->file;
	queue->told[queue->ntold++ % AUTH_TOLD].stamp = q->stamp;
	log_error("%s: refusing users with plain-text passwords or hashes like \"$apr1$\" and "
		  "\"{SHA}\" (make new hashes: openssl passwd -6)",
		q->file);
}

/* Turns the thread's result into the verdict; remembers it. */
static enum auth_verdict conclude(struct auth_queue *queue, struct auth_check *c)
{
	struct verdict *v = &c->verdict;

	report(queue, c);
	if (c->result == HTPASSWD_FAILED)
		return AUTH_BROKEN;
	v->passed = c->result == HTPASSWD_RIGHT;
	if (v->passed)
		auth_client_right(c->client, c->user);
	else
		auth_client_wrong(c->client, c->user);
	if (!v->passed && c->account != NULL)
		c->account->keep_ms = clock_ms() + AUTH_FORGIVEN_MS;
	v->stamp = c->question.stamp;
	v->settled = file_id_settled(&v->stamp, c->asked_ns);
	v->seen_ms = clock_ms();
	/* A right password is valid for an hour, if the file's stamp shows each later change. */
	v->expires_ms = v->seen_ms + (v->passed && v->settled ? VERDICT_RIGHT_MS : VERDICT_MS);
	auth_cache_put(&queue->verdicts, v, clock_ms());
	return v->passed ? AUTH_PASSED : AUTH_REFUSED;
}

static void start_next(struct auth_queue *queue);

/* Answers all waiting requests, and ends the check. */
static void check_end(struct auth_check *c, enum auth_verdict verdict)
{
	LIST_TAKE(struct auth_wait, wait, node, &c->waits) {
		wait->check = NULL;
		wait->retry_ms = c->retry_ms;
		wait->fn(wait, verdict);
	}
	check_free(c);
}

static void tell_dropped(struct task *t)
{
	struct auth_queue *queue = LIST_ENTRY(t, struct auth_queue, tell);

	LIST_TAKE(struct auth_check, c, node, &queue->dropped)
		check_end(c, c->dropped);
}

static void check_done(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);
	struct auth_queue *queue = c->queue;
	enum auth_verdict verdict = conclude(queue, c);

	auth_check_go(c, AUTH_CHECK_END);
	/* Off the list: the same question from now on finds the verdict. */
	list_remove(&c->node);
	start_next(queue);
	check_end(c, verdict);
}

static int submit(struct auth_check *c, void (*work)(struct job *), void (*done)(struct job *),
	enum job_class class, const char *volume)
{
	int rc;

	c->job.work = work;
	c->job.done = done;
	c->job.class = class;
	c->job.volume = volume;
	rc = offload_submit(c->queue->offload, &c->job);
	if (rc != 0)
		log_error("password check: %s", strerror(-rc));
	return rc;
}

/* --- the line --- */

static void start_next(struct auth_queue *queue)
{
	struct auth_check *c;

	while ((c = auth_line_next(queue)) != NULL) {
		auth_check_go(c, AUTH_CHECK_RUN);
		c->asked_ns = file_id_ns(clock_wall());
		if (submit(c, check_work, check_done, JOB_PASSWORD, NULL) == 0)
			continue;
		c->retry_ms = 0;
		auth_line_drop(c, AUTH_BROKEN);
	}
}

static void on_delay_over(struct timer *t)
{
	struct auth_check *c = LIST_ENTRY(t, struct auth_check, timer);
	struct auth_queue *queue = c->queue;
	uint64_t ms = auth_client_delay(c->client, c->user);
	enum auth_verdict verdict = AUTH_LATER;

	if (ms > 0)
		timer_arm(&queue->loop->wheel, t, clock_ms() + ms);
	else
		verdict = auth_line_join(c);
	if (verdict != AUTH_LATER)
		auth_line_drop(c, verdict);
	start_next(queue);
}

/* --- looking --- */

static void look_work(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);

	c->unchanged = htpasswd_unchanged(c->question.file, &c->verdict.stamp);
}

/* An unchanged file keeps the verdict; else the check is a new one. */
static void look_done(struct job *j)
{
	struct auth_check *c = LIST_ENTRY(j, struct auth_check, job);
	struct auth_queue *queue = c->queue;
	struct verdict *v = &c->verdict;
	enum auth_verdict verdict = AUTH_BUSY;

	if (!c->unchanged && !list_empty(&c->waits)) {
		verdict = auth_line_join(c);
		start_next(queue);
		if (verdict == AUTH_LATER)
			return;
	}
	auth_check_go(c, AUTH_CHECK_END);
	list_remove(&c->node);
	if (c->unchanged) {
		verdict = v->passed ? AUTH_PASSED : AUTH_REFUSED;
		v->seen_ms = clock_ms();
		if (v->passed && v->settled)
			v->expires_ms = v->seen_ms + VERDICT_RIGHT_MS;
		auth_cache_put(&queue->verdicts, v, v->seen_ms);
	}
	check_end(c, verdict);
}

static struct auth_check *check_new(struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, struct account *account, const uint8_t key[VERDICT_KEY])
{
	struct auth_check *c = calloc(1, sizeof(*c));
	uint8_t user[VERDICT_KEY] = { 0 };

	if (c == NULL)
		return NULL;
	c->queue = queue;
	account_hold(account);
	c->account = c->turn.account = account;
	c->client = account != NULL ? auth_client_of(account) : NULL;
	if (c->client == NULL)
		c->client = &queue->nobody;
	list_init(&c->node);
	list_init(&c->turn.node);
	timer_init(&c->timer, on_delay_over);
	list_init(&c->waits);
	memcpy(c->who.bytes, who->bytes, who->user.n + 1 + who->password.n + 1);
	c->who.user = slice_of(c->who.bytes, who->user.n);
	c->who.password = slice_of(c->who.bytes + who->user.n + 1, who->password.n);
	c->question = (struct htpasswd){
		.file = auth->file, .user = c->who.user, .password = c->who.password
	};
	memcpy(c->verdict.key, key, VERDICT_KEY);
	make_key(queue, auth, who, who->user.n, user);
	memcpy(&c->user, user, sizeof(c->user));
	return c;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct auth_check *same_check(struct auth_queue *queue, const uint8_t key[VERDICT_KEY])
{
	LIST_EACH(struct auth_check, c, node, &queue->checks)
		if (memcmp(c->verdict.key, key, VERDICT_KEY) == 0)
			return c;
	return NULL;
}

/* A new question: a known verdict is checked, else it is queued. */
static enum auth_verdict check_begin(struct auth_check *c, const struct verdict *known)
{
	list_append(&c->queue->checks, &c->node);
	if (known != NULL) {
		c->verdict = *known;
		if (submit(c, look_work, look_done, JOB_FILE, c->question.file) != 0)
			return AUTH_BROKEN;
		auth_check_go(c, AUTH_CHECK_LOOK);
		return AUTH_LATER;
	}
	return auth_line_join(c);
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
	/* A running check continues: its verdict is worth remembering. */
	if (!list_empty(&c->waits) || c->state == AUTH_CHECK_RUN || c->state == AUTH_CHECK_LOOK)
		return;
	if (c->state != AUTH_CHECK_END)
		auth_check_go(c, AUTH_CHECK_END);
	check_free(c);
}
