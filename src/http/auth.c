/*
 * auth: see auth.h. A check is one question to a file; all who ask the same wait for one. Two run at a
 * time, so that threads are left for files; some more wait in line, and past that the answer is "busy".
 * A check outlives those who asked for it: it owns copies, and wipes them.
 */
#include "http/auth.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/verdicts.h"

enum {
	RUNNING_MAX = 2,       /* of the worker's four threads */
	IN_LINE_MAX = 64,
	SEEN_MS = 1000,        /* a change of the file counts after so long at most */
	TOLD = 16,
	KEY = 32,
};

struct auth_check {
	struct job job;
	struct auth_desk *desk;
	struct list node;               /* on desk->checks */
	struct list waits;              /* struct auth_wait */
	bool running;
	struct basic who;
	struct htpasswd question;
	enum htpasswd_result result;
	struct verdict verdict;         /* the key, and what was known of it before */
};

struct auth_desk {
	struct offload *offload;
	struct list checks;             /* those that run, then those in line */
	unsigned nrunning, nline;
	uint8_t key[KEY];               /* random, of this process alone */
	uint64_t failed_ms;             /* when a file that cannot be read was last logged */
	struct {
		const char *file;
		struct htpasswd_stamp stamp;
	} told[TOLD];                   /* files with hashes of others that were logged */
	unsigned ntold;
	struct verdicts verdicts;
};

struct auth_desk *auth_desk_new(struct offload *o)
{
	struct auth_desk *desk = calloc(1, sizeof(*desk));

	if (desk == NULL)
		return NULL;
	if (getrandom(desk->key, sizeof(desk->key), 0) != sizeof(desk->key)) {
		free(desk);
		return NULL;
	}
	desk->offload = o;
	list_init(&desk->checks);
	return desk;
}

void auth_desk_free(struct auth_desk **dp)
{
	struct auth_desk *desk = *dp;

	if (desk == NULL)
		return;
	*dp = NULL;
	H2D_ASSERT(list_empty(&desk->checks));
	explicit_bzero(desk, sizeof(*desk));
	free(desk);
}

/* --- checks ---------------------------------------------------------------------------------------- */

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
static void report(struct auth_desk *desk, const struct auth_check *c)
{
	const struct htpasswd *q = &c->question;

	if (c->result == HTPASSWD_FAILED &&
		(desk->failed_ms == 0 || clock_ms() - desk->failed_ms >= 1000)) {
		desk->failed_ms = clock_ms();
		log_error("%s: %s", q->file, strerror(q->error));
	}
	if (!q->foreign)
		return;
	for (unsigned i = 0; i < TOLD; i++)
		if (desk->told[i].file == q->file &&
			htpasswd_same(&desk->told[i].stamp, &q->stamp))
			return;
	desk->told[desk->ntold % TOLD].file = q->file;
	desk->told[desk->ntold++ % TOLD].stamp = q->stamp;
	log_error("%s: hashes like \"$apr1$\" and \"{SHA}\" are not crypt(5)'s: their users are "
		  "refused (make new ones with htpasswd -B or mkpasswd)",
		q->file);
}

/* From what the thread found to what is answered; remembers it. */
static enum auth_verdict conclude(struct auth_desk *desk, struct auth_check *c)
{
	struct verdict *v = &c->verdict;

	report(desk, c);
	if (c->result == HTPASSWD_FAILED)
		return AUTH_BROKEN;
	if (c->result != HTPASSWD_UNCHANGED) {
		v->passed = c->result == HTPASSWD_RIGHT;
		v->stamp = c->question.stamp;
		v->expires_ms = clock_ms() + VERDICT_MS;
	}
	v->seen_ms = clock_ms();
	verdicts_put(&desk->verdicts, v, clock_ms());
	return v->passed ? AUTH_PASSED : AUTH_REFUSED;
}

static void start_next(struct auth_desk *desk);

/* Tells all who wait, and ends the check. */
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
	struct auth_desk *desk = c->desk;
	enum auth_verdict verdict = conclude(desk, c);

	/* Off the list: who asks the same from now on finds the verdict. */
	list_remove(&c->node);
	desk->nrunning--;
	start_next(desk);
	check_end(c, verdict);
}

static int check_start(struct auth_check *c)
{
	struct auth_desk *desk = c->desk;
	int rc = offload_submit(desk->offload, &c->job);

	if (rc != 0) {
		log_error("password check: %s", strerror(-rc));
		return rc;
	}
	c->running = true;
	desk->nrunning++;
	return 0;
}

/* The first in line. */
static void start_next(struct auth_desk *desk)
{
	LIST_FOREACH(node, &desk->checks) {
		struct auth_check *c = LIST_ENTRY(node, struct auth_check, node);

		if (desk->nline == 0 || desk->nrunning >= RUNNING_MAX)
			break;
		if (c->running)
			continue;
		desk->nline--;
		if (check_start(c) == 0)
			continue;
		list_remove(&c->node);
		check_end(c, AUTH_BROKEN);
	}
}

static struct auth_check *check_new(struct auth_desk *desk, const struct auth *auth,
	const struct basic *who, const struct verdict *known, const uint8_t key[VERDICT_KEY])
{
	struct auth_check *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->job.work = check_work;
	c->job.done = check_done;
	c->desk = desk;
	list_init(&c->node);
	list_init(&c->waits);
	memcpy(c->who.bytes, who->bytes, who->user.n + 1 + who->password.n + 1);
	c->who.user = slice_of(c->who.bytes, who->user.n);
	c->who.password = slice_of(c->who.bytes + who->user.n + 1, who->password.n);
	c->question = (struct htpasswd){ .file = auth->file, .user = c->who.user,
		.password = c->who.password };
	memcpy(c->verdict.key, key, VERDICT_KEY);
	if (known != NULL) {
		c->verdict = *known;
		c->question.known = &c->verdict.stamp;
	}
	return c;
}

/* --- asking ------------------------------------------------------------------------------------------ */

/* The name that these credentials have here: it tells nothing of them without desk->key. */
static bool make_key(const struct auth_desk *desk, const struct auth *auth, const struct basic *who,
	uint8_t key[VERDICT_KEY])
{
	char text[PATH_MAX + BASIC_MAX + 2];
	size_t file = strlen(auth->file) + 1, pair = who->user.n + 1 + who->password.n;
	bool made;

	if (file > PATH_MAX)
		return false;
	/* Neither part holds a NUL. */
	memcpy(text, auth->file, file);
	memcpy(text + file, who->bytes, pair);
	made = HMAC(EVP_sha256(), desk->key, KEY, (const unsigned char *)text, file + pair, key, NULL) !=
	       NULL;
	explicit_bzero(text + file, pair);
	return made;
}

static struct auth_check *same_check(struct auth_desk *desk, const uint8_t key[VERDICT_KEY])
{
	LIST_FOREACH(node, &desk->checks) {
		struct auth_check *c = LIST_ENTRY(node, struct auth_check, node);

		if (memcmp(c->verdict.key, key, VERDICT_KEY) == 0)
			return c;
	}
	return NULL;
}

enum auth_verdict auth_ask(struct auth_desk *desk, const struct auth *auth, const struct basic *who,
	struct auth_wait *wait)
{
	const struct verdict *known;
	uint8_t key[VERDICT_KEY];
	struct auth_check *c;

	if (!make_key(desk, auth, who, key))
		return AUTH_BROKEN;
	known = verdicts_find(&desk->verdicts, key, clock_ms());
	if (known != NULL && clock_ms() - known->seen_ms < SEEN_MS)
		return known->passed ? AUTH_PASSED : AUTH_REFUSED;
	c = same_check(desk, key);
	if (c == NULL) {
		if (desk->nline >= IN_LINE_MAX)
			return AUTH_BUSY;
		c = check_new(desk, auth, who, known, key);
		if (c == NULL)
			return AUTH_BROKEN;
		if (desk->nrunning >= RUNNING_MAX) {
			desk->nline++;
		} else if (check_start(c) != 0) {
			check_free(c);
			return AUTH_BROKEN;
		}
		list_append(&desk->checks, &c->node);
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
	if (list_empty(&c->waits) && !c->running) {
		c->desk->nline--;
		check_free(c);
	}
}
