/*
 * conf_watched: walks the keys of watched files, and reads each file's state. Conf_load calls it,
 * and the master's changes do while a generation serves. It keeps no file open.
 */
#include "conf/conf_watched.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_id.h"
#include "base/name_map.h"

enum { READ_BYTES = 4096 };

/* --- the files -------------------------------------------------------------------------------- */

static void call_for(const char *path, conf_watched_fn *fn, void *ctx)
{
	if (path != NULL && *path != '\0')
		fn(ctx, path);
}

static void call_for_each(const struct conf_list *list, conf_watched_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < list->n; i++)
		call_for(list->v[i], fn, ctx);
}

/* Thousands of servers made from one share its strings. */
static void of_server(const struct conf_server_tls *tls, const struct conf_server_tls *before,
	conf_watched_fn *fn, void *ctx)
{
	if (before == NULL || tls->certificate.v != before->certificate.v) {
		call_for_each(&tls->certificate, fn, ctx);
		call_for_each(&tls->certificate_key, fn, ctx);
		call_for_each(&tls->stapling_file, fn, ctx);
	}
	if (before == NULL || tls->client_ca != before->client_ca ||
		tls->client_crl != before->client_crl) {
		call_for(tls->client_ca, fn, ctx);
		call_for(tls->client_crl, fn, ctx);
	}
}

void conf_watched_each(const struct conf *conf, conf_watched_fn *fn, void *ctx)
{
	call_for_each(&conf->tls.certificate, fn, ctx);
	call_for_each(&conf->tls.certificate_key, fn, ctx);
	call_for_each(&conf->tls.stapling_file, fn, ctx);
	call_for(conf->tls.session_ticket_key_file, fn, ctx);
	for (unsigned i = 0; i < conf->nservers; i++)
		of_server(&conf->servers[i].tls, i > 0 ? &conf->servers[i - 1].tls : NULL, fn, ctx);
}

/* --- their state ------------------------------------------------------------------------------ */

static void watched_look_at(void *ctx, const char *path)
{
	uint64_t *hash = ctx;
	struct file_id id = { 0 };
	struct stat st;

	if (stat(path, &st) == 0)
		id = file_id_of(&st);
	*hash = fnv_add(*hash, &id, sizeof(id));
}

uint64_t conf_watched_look(const struct conf *conf, uint64_t hosts)
{
	uint64_t hash = hosts;

	conf_watched_each(conf, watched_look_at, &hash);
	return hash;
}

/* The file may be a key: wiped. */
static void watched_read_file(void *ctx, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t *hash = ctx;
	char buf[READ_BYTES];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		*hash = fnv_add(*hash, buf, (size_t)n);
	*hash = fnv_add(*hash, path, strlen(path) + 1);
	explicit_bzero(buf, sizeof(buf));
	if (fd >= 0)
		close(fd);
}

uint64_t conf_watched_read(const struct conf *conf, uint64_t hosts)
{
	uint64_t hash = hosts;

	conf_watched_each(conf, watched_read_file, &hash);
	return hash != 0 ? hash : 1;
}
