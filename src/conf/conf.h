/*
 * conf: the whole effective configuration of one generation, read from a file and the command line.
 * Every key is one row of conf.def: the structs below, the reader, -T, the example file and the
 * manual come from it. A conf is built, checked, then only read; all of it is in its arena.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/conf_pos.h"

struct conf_list {
	char **v;
	unsigned n;
};

static inline bool conf_list_has(const struct conf_list *list, const char *text)
{
	for (unsigned i = 0; i < list->n; i++)
		if (strcmp(list->v[i], text) == 0)
			return true;
	return false;
}

/* True for the words "true" and "on", or (on false) "false" and "off". */
static inline bool conf_is_word(const char *s, bool on)
{
	return strcmp(s, on ? "true" : "false") == 0 || strcmp(s, on ? "on" : "off") == 0;
}

/* The C type of each type name in conf.def. */
#define CONF_C_STRING  char *           /* never NULL, may be "" */
#define CONF_C_PATH    char *           /* relative to the including file's directory; "": none */
#define CONF_C_PATHS   struct conf_list /* of such paths; a single one needs no braces */
#define CONF_C_BOOL    bool
#define CONF_C_NUMBER  uint64_t /* decimal only */
#define CONF_C_AUTO    uint64_t /* a number, or "auto" for 0 */
#define CONF_C_SIZE    uint64_t /* bytes; suffixes K, M, G */
#define CONF_C_SECONDS uint64_t
#define CONF_C_CHOICE  int      /* the value of one of the row's choices */
#define CONF_C_MODE    unsigned /* octal file mode in a string */
#define CONF_C_LIST    struct conf_list

#define CONF_ROW(name, member, type, dflt, min, max, choices, ...) \
	CONF_C_##type member; \
	struct conf_pos member##_at;

/* The access log, at the top level and in a server, which inherits like its scope. */
struct conf_log {
#define CONF_LOG CONF_ROW
#include "conf/conf.def"
};

/* One struct per section; the section's macro makes the members, the others are empty. */
struct conf_listen_timeouts {
	struct conf_pos at;
#define CONF_TIMEOUTS CONF_ROW
#include "conf/conf.def"
};

struct conf_listen {
	char *address; /* the section's title, unchanged */
	bool optional; /* skipped if the machine has no addresses of its family */
	struct conf_pos at;
#define CONF_LISTEN CONF_ROW
#include "conf/conf.def"
	struct conf_listen_timeouts
		timeouts; /* once checked: all of them, its own or the outer ones */
};

/* The certificates of a section tls, of either kind. */
struct conf_pairs {
#define CONF_CERTIFICATE CONF_ROW
#include "conf/conf.def"
};

struct conf_tls {
	struct conf_pos at; /* file NULL: no such section */
	struct conf_pairs pairs;
#define CONF_TLS CONF_ROW
#include "conf/conf.def"
};

struct conf_cache {
	struct conf_pos at;
#define CONF_CACHE CONF_ROW
#include "conf/conf.def"
};

struct conf_limits {
	struct conf_pos at;
#define CONF_LIMITS CONF_ROW
#include "conf/conf.def"
};

struct conf_timeouts {
	struct conf_pos at;
#define CONF_TIMEOUTS CONF_ROW
#define CONF_HANDLING CONF_ROW
#include "conf/conf.def"
};

struct conf_sandbox {
	struct conf_pos at;
#define CONF_SANDBOX CONF_ROW
#include "conf/conf.def"
};

/*
 * Keys of the top level, of a server block and its locations. Once a conf is checked, a server has
 * the keys of the top level, or of sections limits and cache, that it does not set, and a location
 * those of its server, each with its place (conf_pos.outer); only add-header and remove-header add
 * up and stay in place.
 */
struct conf_scope {
#define CONF_FIELDS  CONF_ROW
#define CONF_SCOPE   CONF_ROW
#define CONF_INNER   CONF_ROW /* not for the top level, like the next */
#define CONF_LIMITED CONF_ROW
#include "conf/conf.def"
};

/* In a server or a location: inherits its other settings. */
struct conf_files {
	char *pattern; /* the section's title, "*.woff2" */
	struct conf_pos at;
#define CONF_FIELDS CONF_ROW
#include "conf/conf.def"
};

struct conf_error_page {
	char *status; /* the section's title, "404" */
	struct conf_pos at;
#define CONF_ERROR_PAGE CONF_ROW
#include "conf/conf.def"
};

struct conf_location {
	char *prefix; /* the section's title, "/assets/" */
	struct conf_pos at;
#define CONF_LOCATION CONF_ROW
#include "conf/conf.def"
	struct conf_pos limits_at; /* of section limits, whose keys are in scope, too */
	struct conf_scope scope;
	struct conf_files *files;
	unsigned nfiles;
	struct conf_error_page *error_pages;
	unsigned nerror_pages;
};

/* Section tls of a server. */
struct conf_server_tls {
	struct conf_pos at;
	struct conf_pairs pairs;
#define CONF_CLIENT_CA CONF_ROW
#include "conf/conf.def"
};

struct conf_server {
	char *name; /* the section's title: a name, or "_" of the default server */
	struct conf_pos at;
#define CONF_SERVER CONF_ROW
#include "conf/conf.def"
	struct conf_pos limits_at;
	struct conf_log log;
	struct conf_scope scope;
	struct conf_server_tls tls;
	struct conf_error_page *error_pages;
	unsigned nerror_pages;
	struct conf_files *files;
	unsigned nfiles;
	struct conf_location *locations;
	unsigned nlocations;
};

struct conf {
	struct arena arena;
	char *path;  /* the file read, NULL if none was */
	bool faulty; /* of conf_load_faulty() only */
#define CONF_GLOBAL CONF_ROW
#include "conf/conf.def"
	struct conf_log log;
	struct conf_scope scope;
	struct conf_tls tls;
	struct conf_cache cache;
	struct conf_limits limits;
	struct conf_timeouts timeouts;
	struct conf_sandbox sandbox;
	struct conf_listen *listens;
	unsigned nlistens;
	struct conf_server *servers;
	unsigned nservers;
	const struct conf_server *patterns; /* with ${host} in them, unchanged (conf_hosts.h) */
	unsigned npatterns;
	uint64_t hosts_seen;   /* conf_hosts_look() at the reading */
	uint64_t watched_seen; /* conf_watched_look() at that time */
};

/* True if a listener is for the operator: outside the acceptor, and served when clients have no
 * room. */
static inline bool conf_listen_is_own(const struct conf_listen *l)
{
	return l->admin || l->haproxy_agent;
}

enum { CONF_LISTENS_MAX = 256 }; /* each is a socket per worker */

/* Values of choices; the words are in conf.def. */
enum conf_dispatch { DISPATCH_REUSEPORT, DISPATCH_ACCEPTOR };
enum conf_links { LINKS_INSIDE, LINKS_ALL, LINKS_NONE };
enum conf_keep { KEEP_NO, KEEP_YES, KEEP_AUTO };
enum conf_tokens { TOKENS_VERSION, TOKENS_NAME, TOKENS_OFF };
enum conf_seccomp { SECCOMP_OFF, SECCOMP_LOG, SECCOMP_ON };
enum conf_verify { VERIFY_OFF, VERIFY_OPTIONAL, VERIFY_REQUIRE };
enum access_format { ACCESS_COMBINED, ACCESS_COMBINED_VHOST, ACCESS_JSON, ACCESS_SHORT };
enum conf_balance {
	BALANCE_AUTO,
	BALANCE_HASH,
	BALANCE_CPU,
	BALANCE_LEAST_CONNECTIONS,
	BALANCE_SOURCE_HASH,
	BALANCES
};
enum conf_proxy_after { PROXY_AFTER_NONE, PROXY_AFTER_FILES };

/* Settings of the command line; it wins over the file and survives HUP. NULL or 0: not given. */
struct conf_override {
	const char *file;       /* -f; NULL: none, only defaults */
	const char *root;       /* -r */
	const char *port;       /* -p, digits; IPv4 and IPv6, instead of the file's */
	const char *key, *cert; /* -k, -c */
	const char *workers;    /* -n, unchanged */
	const char *dispatch;   /* -d */
	const char *user;       /* -u */
	const char *pid_file;   /* --pid-file */
	const char *access_log; /* --access-log */
	bool terminal;          /* standard error is a terminal */
	bool h2c;               /* the listener of -p is cleartext, with or without a certificate */
	size_t memory;          /* most bytes of the conf; 0: 256 MiB */
};

/*
 * Collects faults: called once per fault; pos and message are valid for the call only. pos->file is
 * never NULL, message has no newline: "FILE:LINE: message", "FILE: message" or "command line:
 * message".
 */
typedef void conf_fault_fn(void *ctx, const struct conf_pos *pos, const char *message);

/*
 * Reads, applies the overrides, sets defaults and checks all that can be checked without binding
 * or forking: files exist and can be read, addresses parse, roots are directories. Reports every
 * fault, not only the first. NULL if there was any.
 *
 * Listeners: -p replaces all except the admin ones by 0.0.0.0 and [::] on its port, by TLS if there
 * is a certificate (conf_has_certificate) and --h2c was not given; without any listener,
 * 127.0.0.1:8080 and [::1]:8080 serve in cleartext. There is always a server. Paths are absolute
 * afterwards.
 */
struct conf *conf_load(const struct conf_override *ov, conf_fault_fn *fault, void *ctx);

/*
 * conf_load() that also returns a configuration with faults: it is complete, with defaults for
 * refused values, and only fit to find further faults. NULL when memory is out.
 */
struct conf *conf_load_faulty(const struct conf_override *ov, conf_fault_fn *fault, void *ctx);

void conf_free(struct conf **conf);

/*
 * conf_watched: the files beside h2d.conf whose change requires a reload: certificates, their keys
 * and staples, authorities of clients and their lists, keys of session tickets.
 */

typedef void conf_watched_fn(void *ctx, const char *path);

/* Calls fn with the path of each, some more than once. */
void conf_watched_each(const struct conf *conf, conf_watched_fn *fn, void *ctx);

/* A number for the state of all, by device, inode, size and times, and of conf_hosts_look(): if it
 * differs from conf->watched_seen one was written or replaced, or a host came or went. */
uint64_t conf_watched_look(const struct conf *conf, uint64_t hosts);

/* A number for their content and hosts; reads all of them, and may block. Never 0. */
uint64_t conf_watched_read(const struct conf *conf, uint64_t hosts);

/* The server for unknown names: "_", else the first. */
unsigned conf_default_server(const struct conf *conf);

/* The location of s with the longest title that a path or its prefix has; NULL: none. */
const struct conf_location *conf_location_of(const struct conf_server *s, const char *path);

/* The settings of s (i 0), or of its location i - 1. */
const struct conf_scope *conf_scope(const struct conf_server *s, unsigned i);

/* The upload-dir of s (i 0), or of its location i - 1, and its line; "" or NULL: none. */
const char *conf_upload_dir(const struct conf_server *s, unsigned i, const struct conf_pos **at);

/* The first listener for clients with TLS; NULL: none. */
const struct conf_listen *conf_https(const struct conf *conf);

/* The meaning of balance with this dispatch; never BALANCE_AUTO. */
enum conf_balance conf_balance(const struct conf *conf);

/* All values of balance with this dispatch, BALANCE_AUTO after the last. */
const enum conf_balance *conf_balances(const struct conf *conf);

/* Their words in the file. */
const char *conf_balance_name(enum conf_balance balance);
const char *conf_dispatch_name(enum conf_dispatch dispatch);

/* Milliseconds that draining processes have: at a stop, or when another generation serves. */
uint64_t conf_drain_ms(const struct conf *conf, bool stop);
/* The key that sets them. */
const char *conf_drain_key(bool stop);

/* True if some section has a certificate, or must have one. */
bool conf_has_certificate(const struct conf *conf);

/* -T: the settings, in the input's grammar; all: the whole effective configuration. */
void conf_dump(const struct conf *conf, bool all, FILE *out);

/* --- access logs: each once, in the order in which descriptors are opened and handed to workers --
 */

/* Each is a descriptor in every worker, and one message has all of them (ipc/ctl.h). */
enum { CONF_ACCESS_LOGS_MAX = 60 };

struct conf_access_logs {
	/* "stdout", "stderr" or a path, and its line. */
	struct {
		const char *name;
		const struct conf_pos *at;
	} v[CONF_ACCESS_LOGS_MAX];
	unsigned n;
	const struct conf_pos *one_more; /* the line of the first one without room; else NULL */
};

/* Logging of the requests of one server. */
struct conf_access_log {
	int log; /* index in struct conf_access_logs; -1: not logged */
	enum access_format format;
	bool anonymous;
	const struct conf_list *skip;
};

void conf_access_logs(const struct conf *conf, struct conf_access_logs *out);

/* Logging of the i-th server's requests; i = conf->nservers: of requests without a server. */
struct conf_access_log conf_access_log(
	const struct conf *conf, const struct conf_access_logs *all, unsigned i);
