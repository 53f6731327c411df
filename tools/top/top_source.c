/* top_source: reads the user's text, or the listen lines of the configuration; contacts no
 * server. */
#include "tools/top/top_source.h"

#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "conf/conf.h"

static int wrong(char *error, const char *what, const char *why)
{
	snprintf(error, TOP_ERROR, "%s: %s", what, why);
	return -1;
}

static int take_unix(struct top_source *s, const char *path, char *error)
{
	struct addr a;

	if (path[0] == '\0' || strlen(path) >= sizeof(a.un.sun_path))
		return wrong(error, s->text, "not a path of a unix socket");
	snprintf(s->path, sizeof(s->path), "%s", path);
	return 0;
}

/* "HOST", "HOST:PORT", "[V6]:PORT", perhaps followed by a path. */
static int take_host(struct top_source *s, const char *text, char *error)
{
	static const char wants[] = "write http://HOST:PORT or unix:PATH";
	bool v6 = *text == '[';
	const char *end = v6 ? strchr(text, ']') : text + strcspn(text, ":/");
	size_t n;

	if (end == NULL || end == text + v6)
		return wrong(error, s->text, wants);
	snprintf(s->host, sizeof(s->host), "%.*s", (int)(end - text - v6), text + v6);
	end += v6;
	snprintf(s->port, sizeof(s->port), "80");
	if (*end == ':') {
		n = strspn(++end, "0123456789");
		if (n == 0 || n >= 6)
			return wrong(error, s->text, wants);
		snprintf(s->port, sizeof(s->port), "%.*s", (int)n, end);
		end += n;
	}
	return *end == '\0' || *end == '/' ? 0 : wrong(error, s->text, wants);
}

int top_source_parse(struct top_source *s, const char *where, char error[TOP_ERROR])
{
	*s = (struct top_source){ 0 };
	if (snprintf(s->text, sizeof(s->text), "%s", where) >= (int)sizeof(s->text))
		return wrong(error, s->text, "too long");
	if (strncmp(where, "unix:", 5) == 0)
		return take_unix(s, where + 5, error);
	if (strncmp(where, "https://", 8) == 0)
		return wrong(error, where, "TLS is not supported: use a unix socket");
	if (strncmp(where, "http://", 7) == 0)
		where += 7;
	return take_host(s, where, error);
}

/* --- the configuration ------------------------------------------------------------------------ */

/* The first fault explains a missing listener. */
static void keep_first(void *ctx, const struct conf_pos *pos, const char *message)
{
	char *first = ctx;

	if (*first == '\0' && pos->line > 0)
		snprintf(first, TOP_ERROR, "%s:%u: %s", pos->file, pos->line, message);
	else if (*first == '\0')
		snprintf(first, TOP_ERROR, "%s: %s", pos->file, message);
}

/* A wildcard is reached on this machine. */
static int take_listen(struct top_source *s, const struct conf_listen *l, char *error)
{
	char text[TOP_SOURCE_TEXT + 8];
	struct addr a;

	if (strncmp(l->address, "unix:", 5) == 0)
		return top_source_parse(s, l->address, error);
	if (addr_parse(l->address, &a) != NULL || addr_port(&a) == 0)
		return wrong(error, l->address, "the configuration has no fixed port for it");
	if (a.sa.sa_family == AF_INET && a.in.sin_addr.s_addr == htonl(INADDR_ANY))
		snprintf(text, sizeof(text), "http://127.0.0.1:%u", addr_port(&a));
	else if (a.sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a.in6.sin6_addr))
		snprintf(text, sizeof(text), "http://[::1]:%u", addr_port(&a));
	else
		snprintf(text, sizeof(text), "http://%s", l->address);
	return top_source_parse(s, text, error);
}

/* The preference for it; 0: unusable. */
static unsigned rank(const struct conf_listen *l)
{
	if (!l->admin || l->tls || l->proxy_protocol)
		return 0;
	return strncmp(l->address, "unix:", 5) == 0 ? 2 : 1;
}

static int choose(struct top_source *s, const struct conf *conf, char *error)
{
	const struct conf_listen *best = NULL;

	for (unsigned i = 0; i < conf->nlistens; i++)
		if (rank(&conf->listens[i]) > (best != NULL ? rank(best) : 0))
			best = &conf->listens[i];
	if (best != NULL)
		return take_listen(s, best, error);
	snprintf(error, TOP_ERROR,
		"%s has no admin listener without TLS and PROXY headers: add one, such as\n  "
		"listen \"unix:/run/h2d/admin.sock\" { admin = true }\nor give an address: h2d top "
		"http://HOST:PORT, h2d top unix:PATH",
		conf->path);
	return -1;
}

int top_source_find(struct top_source *s, const char *file, char error[TOP_ERROR])
{
	char fault[TOP_ERROR] = "";
	struct conf *conf =
		conf_load_faulty(&(struct conf_override){ .file = file }, keep_first, fault);
	int rc;

	if (conf == NULL)
		return wrong(error, file,
			"cannot be read: name it with -f, or give an address: h2d top "
			"http://HOST:PORT, h2d top unix:PATH");
	rc = choose(s, conf, error);
	if (rc < 0 && fault[0] != '\0')
		memcpy(error, fault, sizeof(fault));
	conf_free(&conf);
	return rc;
}
