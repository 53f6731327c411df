/*
 * explain: makes a worker's parts for requests, without connections, starts one, and waits in the
 * loop for its answer. explain_report.c prints the result.
 */
#include "cli/explain.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/auth_queue.h"
#include "base/clock.h"
#include "files/files.h"
#include "http/base64.h"
#include "keeper/image_build.h"
#include "request/req_field.h"
#include "request/trace.h"
#include "server/http_env.h"

enum { THREADS = 4, MEMORY = 1 << 20, ANSWER_MS = 30000, TURN_MS = 100, TURNS = 100 };

extern const struct h2d_handler h2d_handler_files, h2d_handler_files_download,
	h2d_handler_files_options, h2d_handler_health;

static const struct h2d_handler *const harmless[] = { &h2d_handler_files,
	&h2d_handler_files_download, &h2d_handler_files_options, &h2d_handler_health };

struct explain {
	const struct conf *conf;
	const struct resources *resources;
	const struct options *ask;
	const char *asked; /* the URL */
	FILE *out;
	struct arena memory; /* of the URL and the headers */
	struct explain_url url;
	const struct conf_listen *listen;

	struct loop loop;
	struct offload *offload;
	struct auth_queue *auth_queue;
	struct files *files;
	char date[DATE_LEN + 1];
	struct http_env env;
	struct http_conn conn;
	struct one_image *image;
	const struct h2d_handler *refused;
	bool over;
	struct h2d_req req;
};

static int explain_fail(const struct explain *e, const char *what, const char *why)
{
	fprintf(stderr, "h2d: --explain %s: %s%s%s\n", e->asked, what, why != NULL ? ": " : "",
		why != NULL ? why : "");
	return -1;
}

/* --- the stream ------------------------------------------------------------------------------- */

static struct explain *explain_of(struct h2d_req *req)
{
	return LIST_ENTRY(req->env, struct explain, env);
}

static void on_reply(struct h2d_req *req)
{
	explain_of(req)->over = true;
}

static void on_resume(struct h2d_req *req)
{
	(void)req; /* the content is not read */
}

static void on_consume(struct h2d_req *req, size_t n)
{
	(void)req, (void)n;
}

static void on_interim(
	struct h2d_req *req, int status, const struct field *fields, unsigned nfields)
{
	(void)req, (void)status, (void)fields, (void)nfields;
}

static const struct stream_ops stream = {
	.reply = on_reply,
	.resume = on_resume,
	.consume = on_consume,
	.interim = on_interim,
};

static bool may_start(struct h2d_req *req, const struct h2d_handler *handler)
{
	struct explain *e = explain_of(req);

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (harmless[i] == handler)
			return true;
	e->refused = handler;
	e->over = true;
	return false;
}

/* --- listeners -------------------------------------------------------------------------------- */

static uint16_t port_of(const struct conf_listen *l)
{
	struct addr addr;

	return addr_parse(l->address, &addr) == NULL ? addr_port(&addr) : 0;
}

static bool is_unix(const struct conf_listen *l)
{
	return strncmp(l->address, "unix:", 5) == 0;
}

static uint16_t asked_port(const struct explain_url *url)
{
	return url->port != 0 ? url->port : url->tls ? 443 : 80;
}

/* The match of l with the URL; 0: not at all. A URL without a host matches the public ones. */
static unsigned fit(const struct explain *e, const struct conf_listen *l)
{
	const struct explain_url *url = &e->url;
	bool from_unix = e->ask->address != NULL && strcmp(e->ask->address, "unix") == 0;
	char text[ADDR_TEXT];
	unsigned n = 1;

	if (is_unix(l) != from_unix || (url->has_scheme && l->tls != url->tls))
		return 0;
	if (!url->has_scheme)
		return conf_listen_is_own(l) || l->redirect_to_https ? 1 : 2;
	if (port_of(l) == asked_port(url))
		n += 4;
	else if (!conf_listen_is_own(l))
		n += 1;
	snprintf(text, sizeof(text), "%.*s:", SLICE_ARG(url->host));
	return n + (unsigned)(strncmp(l->address + (l->address[0] == '['), text, url->host.n) == 0);
}

static int choose_listener(struct explain *e)
{
	const struct conf *conf = e->conf;
	unsigned best = 0;

	for (unsigned i = 0; i < conf->nlistens; i++) {
		unsigned n = fit(e, &conf->listens[i]);

		if (n > best)
			e->listen = &conf->listens[i];
		best = n > best ? n : best;
	}
	if (best == 0)
		return explain_fail(e, "no listener accepts it", NULL);
	if (!e->url.has_scheme)
		e->url.tls = e->listen->tls;
	return 0;
}

/* --- the request ------------------------------------------------------------------------------ */

static int set_peer(struct explain *e)
{
	const char *text = e->ask->address != NULL ? e->ask->address : "127.0.0.1";
	struct slice host = slice_str(text);

	if (strcmp(text, "unix") == 0) {
		e->conn.peer.un.sun_family = AF_UNIX;
		e->conn.peer.len = sizeof(sa_family_t);
		return 0;
	}
	if (addr_parse_host(AF_INET, host, &e->conn.peer) ||
		addr_parse_host(AF_INET6, host, &e->conn.peer))
		return 0;
	return explain_fail(e, text, "the client address must be IPv4, IPv6 or \"unix\"");
}

/* Takes the certificate for the URL's name; addresses have none (RFC 6066, 3). */
static int set_certificate(struct explain *e)
{
	const struct tls_ctx *tls = e->resources->certs.tls;
	const struct tls_cert *cert = NULL;
	struct slice name = e->url.host;
	struct addr addr;

	if (!e->url.tls || tls == NULL)
		return 0;
	if (addr_parse_host(AF_INET, name, &addr) || addr_parse_host(AF_INET6, name, &addr))
		name.n = 0;
	if (name.n > 0 && tls->choose != NULL)
		cert = tls->choose(tls->owner, name);
	if (cert == NULL && tls->rejects)
		return explain_fail(
			e, "no server has this name, and reject-handshake refuses it", NULL);
	e->conn.certificate = cert != NULL ? cert : tls->first;
	e->conn.covers = tls_cert_covers;
	if (tls->ask != NULL)
		e->conn.client_ca = tls->ask(tls->owner, name);
	return 0;
}

static int set_conn(struct explain *e)
{
	e->conn = (struct http_conn){
		.tls = e->url.tls ? HTTP_TLS_OURS : HTTP_TLS_NONE,
		.admin = e->listen->admin,
		.redirect_at =
			e->listen->redirect_to_https ? &e->listen->redirect_to_https_at : NULL,
		.https_port = (uint16_t)e->listen->https_port,
	};
	if (set_certificate(e) < 0 || set_peer(e) < 0)
		return -1;
	e->conn.trusted = proxies_trust(&e->resources->sites->proxies, &e->conn.peer);
	return 0;
}

static int add_field(struct explain *e, struct slice name, struct slice value)
{
	if (slice_eq(name, SLICE("host"))) {
		e->req.authority = value;
		return 0;
	}
	if (slice_eq(name, SLICE("content-length"))) {
		e->req.body_length = strtoull(value.p, NULL, 10);
		e->req.has_body = true;
	}
	return req_field_add(&e->req, name, value) < 0 ? explain_fail(e, "out of memory", NULL) : 0;
}

/* "name: value" */
static int add_line(struct explain *e, const char *line)
{
	size_t n = strcspn(line, ":");
	char *name = arena_strdup(&e->memory, line);
	const char *value = line + n + (line[n] == ':');

	if (name == NULL)
		return explain_fail(e, "out of memory", NULL);
	for (size_t i = 0; i < n; i++)
		name[i] = (char)tolower((unsigned char)name[i]);
	value += strspn(value, " \t");
	if (line[n] != ':' || !field_name_valid(slice_of(name, n)) ||
		!field_value_valid(slice_str(value)))
		return explain_fail(e, line, "write a header as \"name: value\"");
	return add_field(e, slice_of(name, n), slice_str(value));
}

/* User and password of the URL, in a client's form (RFC 7617, 2). */
static int add_user(struct explain *e)
{
	static const char scheme[] = "Basic ";
	size_t n = sizeof(scheme) - 1 + BASE64_ENCODED(e->url.user.n);
	char *value;

	if (e->url.user.p == NULL)
		return 0;
	value = arena_alloc(&e->memory, n);
	if (value == NULL)
		return explain_fail(e, "out of memory", NULL);
	memcpy(value, scheme, sizeof(scheme) - 1);
	base64_encode(e->url.user.p, e->url.user.n, value + sizeof(scheme) - 1);
	return add_field(e, SLICE("authorization"), slice_of(value, n));
}

static int set_request(struct explain *e)
{
	struct h2d_req *req = &e->req;
	int rc = 0;

	req_init(req, &e->env, &e->conn, &stream);
	req->protocol = SLICE("HTTP/1.1");
	req->method_text = slice_str(e->ask->method != NULL ? e->ask->method : "GET");
	req->scheme = e->url.tls ? SLICE("https") : SLICE("http");
	req->authority = e->url.has_scheme ? e->url.authority : SLICE("localhost");
	req->target = e->url.target;
	for (unsigned i = 0; rc == 0 && i < e->ask->nfields; i++)
		rc = add_line(e, e->ask->fields[i]);
	return rc == 0 ? add_user(e) : rc;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int explain_start(struct explain *e)
{
	const struct conf_listen *https = conf_https(e->conf);

	e->offload = offload_new(&e->loop, THREADS);
	if (e->offload != NULL)
		e->auth_queue = auth_queue_new(&e->loop, e->offload);
	if (e->auth_queue != NULL)
		e->files = files_new(&e->loop, e->offload, &e->resources->trees.files);
	if (e->files == NULL)
		return explain_fail(e, strerror(errno), NULL);
	e->env = (struct http_env){ .loop = &e->loop,
		.files = e->files,
		.sites = e->resources->sites,
		.auth_queue = e->auth_queue };
	http_env_init(&e->env, e->conf, https != NULL ? port_of(https) : 443, e->date);
	e->env.conf.traced = true;
	e->env.conf.starts = may_start;
	return 0;
}

/* The user of the command may see other files than the workers. */
static void note_user(const struct explain *e)
{
	const struct conf *conf = e->conf;
	const struct passwd *pw = conf->user[0] != '\0' ? getpwnam(conf->user) : NULL;

	if (conf->user[0] != '\0' && (pw == NULL || pw->pw_uid != geteuid()))
		explain_line(e->out, "note", &conf->user_at,
			"h2d opens files as user %u, not as \"%s\"", geteuid(), conf->user);
}

static void write_head(const struct explain *e)
{
	const struct conf_listen *l = e->listen;

	explain_line(e->out, "request", NULL, "%.*s %s://%.*s%.*s", SLICE_ARG(e->req.method_text),
		e->url.tls ? "https" : "http", SLICE_ARG(e->req.authority),
		SLICE_ARG(e->req.target));
	explain_line(e->out, "client", NULL, "%s", ADDR_HOST(&e->conn.peer));
	note_user(e);
	explain_line(e->out, "listen", &l->at, "%s%s%s", l->address, l->tls ? ", TLS" : "",
		l->admin ? ", admin" : "");
	if (e->url.has_scheme && !is_unix(l) && port_of(l) != asked_port(&e->url))
		explain_line(e->out, "note", NULL,
			"no %s listener has port %u: h2d explains port %u",
			l->tls ? "TLS" : "cleartext", asked_port(&e->url), port_of(l));
}

/* 0: the request has its answer, or may have none. */
static int explain_answer(struct explain *e)
{
	uint64_t until = clock_ms() + ANSWER_MS;
	int rc = set_request(e);

	e->over = false;
	if (rc == 0)
		req_start(&e->req);
	while (rc == 0 && !e->over) {
		rc = loop_turn(&e->loop, ANSWER_MS);
		if (rc == 0 && !e->over && clock_ms() >= until)
			return explain_fail(
				e, "no answer in 30 seconds: does a file system hang?", NULL);
	}
	return rc;
}

static void explain_leave(struct explain *e)
{
	if (e->req.state == REQ_HEAD)
		req_go(&e->req, REQ_WAIT);
	req_fini(&e->req);
}

/* The answering file, if any. */
static const struct trace_step *found(const struct explain *e)
{
	const struct trace_step *last = NULL;

	for (const struct trace_step *s = e->req.trace; s != NULL; s = s->next)
		if (s->found.p != NULL)
			last = s;
	return last;
}

/* True if the file is in an image, which can then make the second answer. */
static bool cache(struct explain *e)
{
	const struct trace_step *file = e->conf->cache.max_size > 0 ? found(e) : NULL;
	const struct built_image *image;
	int fds[IMAGE_FDS + IMAGE_SEGMENTS];

	if (file == NULL)
		return false;
	e->image = one_image_new(&e->loop, &e->resources->trees.files, file->root, file->found,
		field_find(e->req.fields, e->req.nfields, SLICE("accept-encoding")) != NULL);
	if (e->image == NULL)
		return false;
	image = one_image_built(e->image);
	for (int i = 0; i < image->nfds; i++)
		fds[i] = fcntl(image->fds[i], F_DUPFD_CLOEXEC, 0);
	files_take_image(e->files, image->number, fds, image->nfds);
	/* A thread maps it. */
	for (int i = 0; i < TURNS && files_image_number(e->files) == 0; i++)
		loop_turn(&e->loop, TURN_MS);
	return files_image_number(e->files) != 0;
}

/* The disk answers first, to find the file; then the cache does. */
static int answer_and_tell(struct explain *e)
{
	int rc = explain_answer(e);

	if (rc == 0 && cache(e)) {
		explain_leave(e);
		rc = explain_answer(e);
	}
	if (rc == 0) {
		write_head(e);
		explain_report(e->out, e->conf, &e->req, e->refused);
	}
	explain_leave(e);
	return rc;
}

static int explain_run(struct explain *e)
{
	int rc = loop_init(&e->loop);

	if (rc < 0)
		return explain_fail(e, strerror(-rc), NULL);
	rc = explain_start(e);
	if (rc == 0)
		rc = answer_and_tell(e);
	files_free(&e->files);
	one_image_free(&e->image);
	offload_free(&e->offload);
	auth_queue_free(&e->auth_queue);
	loop_fini(&e->loop);
	return rc;
}

int explain(const struct conf *conf, const struct resources *resources, const struct options *ask,
	const char *url, FILE *out)
{
	struct explain *e = calloc(1, sizeof(*e));
	const char *why;
	int rc = -1;

	if (e == NULL)
		return -1;
	e->conf = conf;
	e->resources = resources;
	e->ask = ask;
	e->asked = url;
	e->out = out;
	arena_init(&e->memory, NULL, 0, MEMORY);
	why = explain_url_parse(&e->url, url, &e->memory);
	if (why != NULL)
		explain_fail(e, why, NULL);
	else if (choose_listener(e) == 0 && set_conn(e) == 0)
		rc = explain_run(e);
	arena_reset(&e->memory);
	free(e);
	return rc;
}
