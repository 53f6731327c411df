/*
 * login: a form, a password, a session. GET /login is the form, POST /login checks the password in
 * a thread and sets a cookie, GET /account is for who has one, POST /logout takes it away. Users
 * are lines of name:hash (crypt(5), yescrypt: mkpasswd -m yescrypt), as of auth-basic-file. The
 * cookie is signed: every worker knows it, also of the next program and of another machine with the
 * same key-file, and it holds until it expires, or the key is another one.
 */
#include "h2d/handler.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

enum {
	NAME = 65,
	PASSWORD = 129,
	LINE = 512,
	KEY_MIN = 32,
	KEY_MAX = 4096,
	ID = 16, /* bytes: 128 bits */
	MAC = 32,
	SIGNED = NAME + 24 + 2 * ID, /* name:expires:id */
	COOKIE = SIGNED + 2 * MAC + 2,
	FORM_MAX = 4096,
	CHECKS_MAX = 32, /* at a time */
	WRONG_MS = 1000,
};

/* --- the worker ------------------------------------------------------------------------------- */

struct home {
	struct h2d_worker *worker;
	const char *users; /* "": nobody logs in */
	uint64_t lifetime;
	unsigned checks;
	int key_len;
	unsigned char key[KEY_MAX];
};

static int worker_init(struct h2d_worker *worker, void **context)
{
	struct home *h = calloc(1, sizeof(*h));
	const char *path = h2d_conf_string(worker, "key-file");
	FILE *file;

	if (h == NULL)
		return -1;
	*context = h;
	h->worker = worker;
	h->users = h2d_conf_string(worker, "users");
	h->lifetime = h2d_conf_number(worker, "lifetime");
	if (h->users[0] == '\0')
		return 0;
	file = fopen(path, "re");
	if (file != NULL) {
		h->key_len = (int)fread(h->key, 1, sizeof(h->key), file);
		fclose(file);
	}
	if (h->key_len >= KEY_MIN)
		return 0;
	h2d_worker_log(
		worker, H2D_LOG_ERROR, "key-file \"%s\" has fewer than %d bytes", path, KEY_MIN);
	free(h);
	return -1;
}

static void worker_exit(void *context)
{
	OPENSSL_cleanse(context, sizeof(struct home));
	free(context);
}

static struct home *home_of(struct h2d_req *req)
{
	return h2d_worker_context(h2d_req_worker(req));
}

/* --- the session ------------------------------------------------------------------------------ */

/* A browser takes a name with this prefix from https alone, and for this host alone. */
static const char *cookie_name(const struct h2d_req *req)
{
	return strcmp(h2d_req_scheme(req), "https") == 0 ? "__Host-session" : "session";
}

static void write_hex(char *out, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
}

/* The first n bytes of text, signed, in hexadecimal digits. */
static bool sign(const struct home *h, const char *text, size_t n, char out[2 * MAC + 1])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (HMAC(EVP_sha256(), h->key, h->key_len, (const unsigned char *)text, n, mac, &len) ==
			NULL ||
		len != MAC)
		return false;
	write_hex(out, mac, MAC);
	return true;
}

static bool session_new(const struct home *h, const char *name, char cookie[COOKIE])
{
	unsigned char id[ID];
	char hex[2 * ID + 1];
	int n;

	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		return false;
	write_hex(hex, id, sizeof(id));
	n = snprintf(cookie, SIGNED, "%s:%llu:%s", name,
		(unsigned long long)time(NULL) + h->lifetime, hex);
	cookie[n] = ':';
	return sign(h, cookie, (size_t)n, cookie + n + 1);
}

/* The name in the session's cookie; false: there is none, or none of ours, or it has expired. */
static bool session_of(struct h2d_req *req, const struct home *h, char name[NAME])
{
	size_t len, n;
	const char *cookie = h2d_req_cookie(req, cookie_name(req), &len);
	char text[COOKIE], mac[2 * MAC + 1];
	unsigned long long expires;

	if (h->key_len == 0 || cookie == NULL || len <= 2 * MAC + 1 || len >= sizeof(text))
		return false;
	memcpy(text, cookie, len);
	text[len] = '\0';
	n = len - 2 * MAC - 1;
	if (!sign(h, text, n, mac) || CRYPTO_memcmp(text + n + 1, mac, 2 * MAC) != 0)
		return false;
	return sscanf(text, "%64[^:]:%llu:", name, &expires) == 2 &&
	       expires > (unsigned long long)time(NULL);
}

/*
 * Whether a page of this server has sent the form: browsers say where it is from, in a field that
 * no script can set. SameSite=Lax keeps the cookie from what other sites send; this keeps them from
 * logging somebody in.
 */
static bool is_from_here(struct h2d_req *req)
{
	size_t len, authority_len;
	const char *from = h2d_req_header(req, "origin", &len);
	const char *authority = h2d_req_authority(req, &authority_len);
	const char *scheme = h2d_req_scheme(req);
	size_t skip = strlen(scheme) + 3;

	if (from == NULL)
		return true; /* no browser, or one that would not have sent its cookie */
	return len == skip + authority_len && strncmp(from, scheme, skip - 3) == 0 &&
	       memcmp(from + skip - 3, "://", 3) == 0 &&
	       strncasecmp(from + skip, authority, authority_len) == 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

static const char form[] =
	"<form method=\"post\" action=\"/login\">"
	"<p><label>Name <input name=\"name\" autocomplete=\"username\" required></label>"
	"<p><label>Password <input name=\"password\" type=\"password\" "
	"autocomplete=\"current-password\" required></label>"
	"<p><button>Log in</button></form>";

/* name: letters and digits alone, see is_name(); nothing else of a client's is on any page. */
static void reply_page(struct h2d_req *req, int status, const char *title, const char *content)
{
	h2d_reply_header(req, "cache-control", "no-store");
	h2d_reply_header(req, "content-security-policy",
		"default-src 'none'; form-action 'self'; frame-ancestors 'none'");
	h2d_reply_printf(req, status, H2D_HTML,
		"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>%s</title>"
		"<h1>%s</h1>%s\n",
		title, title, content);
}

/* 303: what comes next is a GET, also when the page is loaded again. */
static void reply_see(struct h2d_req *req, const char *where)
{
	h2d_reply_header(req, "cache-control", "no-store");
	h2d_reply_redirect(req, 303, where);
}

/* --- the password ----------------------------------------------------------------------------- */

struct check {
	struct home *home;
	bool right;
	double seconds; /* that it took */
	char name[NAME], password[PASSWORD];
	char hash[LINE];
	struct crypt_data crypt;
};

/* What a name that nobody has is compared with, so that it takes as long. */
static const char nobody[] = "$y$j9T$AAAAAAAAAAAAAAAAAAAAA.$";

static bool find_hash(struct check *c)
{
	FILE *file = fopen(c->home->users, "re");
	size_t n = strlen(c->name);
	char line[LINE];
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
		found = strncmp(line, c->name, n) == 0 && line[n] == ':';
		if (found)
			snprintf(c->hash, sizeof(c->hash), "%.*s",
				(int)strcspn(line + n + 1, ":\r\n"), line + n + 1);
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static bool is_right(struct check *c)
{
	bool known = find_hash(c);
	const char *made = crypt_r(c->password, known ? c->hash : nobody, &c->crypt);

	return known && made != NULL && made[0] != '*' && strlen(made) == strlen(c->hash) &&
	       CRYPTO_memcmp(made, c->hash, strlen(made)) == 0;
}

/* In a thread, for it is meant to take long. */
static void run(void *job)
{
	struct check *c = job;
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	c->right = is_right(c);
	clock_gettime(CLOCK_MONOTONIC, &to);
	c->seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

struct state {
	struct h2d_timer *timer;
};

static void tell_wrong(struct h2d_req *req, void *state)
{
	char content[1024];

	(void)state;
	snprintf(content, sizeof(content), "<p>Name or password is wrong.%s", form);
	reply_page(req, 403, "Log in", content);
}

/* See metrics.def. Guesses count although nobody waits for what comes of them. */
static void count(const struct check *c)
{
	h2d_observe(c->home->worker, "login_check_seconds", c->seconds);
	if (!c->right)
		h2d_count(c->home->worker, "login_wrong_total", 1);
}

static void done(struct h2d_req *req, void *state, void *job)
{
	struct check *c = job;
	struct state *s = state;
	char cookie[COOKIE];

	c->home->checks--;
	count(c);
	if (req == NULL) {
		/* Nobody waits. */
	} else if (!c->right) {
		h2d_timer_set(s->timer, WRONG_MS); /* who guesses has to wait */
	} else if (session_new(c->home, c->name, cookie)) {
		h2d_count(c->home->worker, "login_sessions_total", 1);
		h2d_reply_cookie(req, cookie_name(req), cookie, (int64_t)c->home->lifetime);
		reply_see(req, "/account");
	} else {
		h2d_reply_error(req, 503);
	}
	OPENSSL_cleanse(c, sizeof(*c));
	free(c);
}

/* A name that is safe in a cookie, in a page and in the file. */
static bool is_name(const char *name, size_t len)
{
	static const char some[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	return len > 0 && len < NAME && strspn(name, some) == len;
}

static void on_form(struct h2d_req *req, void *state, int status)
{
	struct home *h = home_of(req);
	struct state *s = state;
	size_t name_len = 0, len = 0;
	const char *name = h2d_form_param(req, "name", &name_len);
	const char *password = h2d_form_param(req, "password", &len);
	struct check *c;

	if (status != 200 || name == NULL || password == NULL || !is_name(name, name_len) ||
		len >= PASSWORD || strlen(password) != len) {
		h2d_reply_error(req, status != 200 ? status : 400);
		return;
	}
	s->timer = h2d_timer_new(req, tell_wrong);
	c = s->timer != NULL && h->checks < CHECKS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL) {
		h2d_reply_header(req, "retry-after", "5");
		h2d_reply_error(req, 503);
		return;
	}
	c->home = h;
	memcpy(c->name, name, name_len);
	memcpy(c->password, password, len);
	h->checks++;
	if (h2d_work(req, run, done, c) == 0)
		return;
	h->checks--;
	free(c);
	h2d_reply_error(req, 503);
}

/* --- requests --------------------------------------------------------------------------------- */

static void login_start(struct h2d_req *req, void *state)
{
	const struct home *h = home_of(req);
	char name[NAME];

	(void)state;
	if (h->users[0] == '\0')
		h2d_reply_error(req, 404);
	else if (h2d_req_method(req) == H2D_POST && !is_from_here(req))
		h2d_reply_error(req, 403);
	else if (h2d_req_method(req) == H2D_POST)
		h2d_form_read(req, FORM_MAX, on_form);
	else if (session_of(req, h, name))
		reply_see(req, "/account");
	else
		reply_page(req, 200, "Log in", form);
}

const struct h2d_handler h2d_handler_login = {
	.name = "login",
	.state_size = sizeof(struct state),
	.start = login_start,
	.worker_init = worker_init,
	.worker_exit = worker_exit,
};

static void account_start(struct h2d_req *req, void *state)
{
	const struct home *h = home_of(req);
	char name[NAME], content[256];

	(void)state;
	if (h->users[0] == '\0') {
		h2d_reply_error(req, 404);
	} else if (!session_of(req, h, name)) {
		reply_see(req, "/login");
	} else {
		snprintf(content, sizeof(content),
			"<p>You are %s.<form method=\"post\" action=\"/logout\">"
			"<button>Log out</button></form>",
			name);
		reply_page(req, 200, "Account", content);
	}
}

const struct h2d_handler h2d_handler_account = {
	.name = "account",
	.start = account_start,
	.worker_init = worker_init,
	.worker_exit = worker_exit,
	.section = "login",
};

static void logout_start(struct h2d_req *req, void *state)
{
	(void)state;
	if (!is_from_here(req)) {
		h2d_reply_error(req, 403);
		return;
	}
	h2d_reply_cookie(req, cookie_name(req), "", 0);
	reply_see(req, "/login");
}

const struct h2d_handler h2d_handler_logout = {
	.name = "logout",
	.start = logout_start,
};
