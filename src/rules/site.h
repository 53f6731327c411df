/*
 * site: the configuration for the names and paths of requests: virtual hosts (server blocks) and
 * their locations, for the request core. Made by sites/sites.c before the first request, const from
 * then on, borrowed by every request for its life.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/conf_pos.h"
#include "base/prefix_index.h"
#include "base/slice.h"
#include "http/field.h"
#include "rules/redirect.h"

struct access;     /* share/access.h */
struct auth;       /* auth/auth_queue.h */
struct subjects;   /* rules/subject.h */
struct pace_limit; /* request/pace.h */
struct rate;       /* share/tally.h */
struct mime_types; /* http/mime.h */

/* --- trusted proxies, and their headers with a client's address ---------------------------------
 */

enum proxies_field {
	PROXIES_NO_FIELD, /* the address is the connection's */
	PROXIES_X_FORWARDED_FOR,
	PROXIES_FORWARDED,
	PROXIES_NAMED, /* one address in the header of that name */
};

struct proxies {
	const struct access *trusted; /* NULL: none */
	enum proxies_field field;
	struct slice name;               /* of PROXIES_NAMED, lower case */
	const struct conf_pos *field_at; /* its line in the configuration; NULL in tests */
};

/* True if headers from this address are trusted. Never for an unknown one. */
bool proxies_trust(const struct proxies *p, const struct addr *from);

/* Headers of location->headers: the configuration's reader refuses more, with inherited ones. */
enum { SITE_HEADERS_MAX = 24 };

/* Prefix of the routes of uploads (routes.def): those of the server's upload-dir. */
#define SITE_UPLOADS_AT "/files"

/*
 * Headers of a response from the configuration, without contradictions:
 * - headers are added to every response, of any status and source. The response's own headers stay,
 *   and one of the same name from here is omitted: the configuration cannot weaken the server's own
 *   (date, server, content-length) nor those for safety (content-security-policy and
 *   x-content-type-options of uploads, the policy of its own pages, www-authenticate). Headers that
 *   may recur and add up (link, server-timing, set-cookie) are added besides, and vary is joined to
 *   an existing one.
 * - removed headers are those of the response itself, first, except the ones for safety. Those of
 *   outer blocks are not in headers, so that a block can replace one.
 * - cache_control is sent with 200, 203, 204, 206, 301, 302, 304, 307 and 308 that have none of
 *   their own; never with an error.
 * Responses on admin listeners get none of them.
 */

/*
 * The settings of one location: those of its server block overridden by its own. The longest prefix
 * decides; a location has all its effective settings, so one look-up is enough.
 */
struct file_rule;
struct tls_cert;
struct tls_client_ca;

/* Lines of the configuration, to explain a decision. File NULL: none, the default. */
struct location_at {
	struct conf_pos block; /* its title; the server's title for the server's location */
	struct conf_pos cache_control, root, redirect, hide, body_size, methods, satisfy, allow,
		deny, subjects, index, autoindex, archive, extensions, extensions_redirect,
		fallback, returned, return_page, requests, compress, compress_types, proxy;
	const struct conf_pos *headers; /* a position for each of location->headers */
};

/* A header that responses lack. */
struct site_removed {
	struct slice name; /* lower case */
	bool outer_only;   /* the response's own stays: only that of outer blocks is not added */
	struct conf_pos at;
};

/* A server of an application: one address of a key proxy. Several keys may name it. */
struct site_peer {
	struct slice name;    /* "127.0.0.1:3000", "unix:/run/app.sock", "app.internal:80" */
	struct addr addr;     /* len 0: the name is a host's, and workers look it up */
	unsigned connections; /* per worker: the least proxy-connections of those keys */
	struct conf_pos at;
};

/* The application behind a location. */
struct site_proxy {
	const unsigned *peers; /* in peers of struct sites */
	unsigned npeers;
	bool files_first;      /* it gets only requests for which there is no file */
	struct slice prefix;   /* of the target, instead of replaced; n 0: unchanged */
	struct slice replaced; /* a path: the title of the block that sets prefix; n 0: none */
	struct slice host;     /* of the Host header; n 0: the client's */
	struct slice subject_header; /* name of the header with the client certificate's subject;
				      * n 0: none */
	unsigned queue;              /* requests that wait for a connection, per worker */
	uint32_t connect_ms;         /* to a connection, with the wait for one */
	uint32_t silence_ms;         /* to the first byte of a response, and between bytes */
};

/* A fixed answer to every request. */
struct returned {
	int status;
	struct slice page;           /* below the root; n 0: the site's */
	const struct access *except; /* clients that are served all the same; NULL: none */
};

struct location {
	/* "/a" owns "/a", "/a/…" and its sidecars ("/a.gz"); "/assets/" the paths below it. */
	struct slice prefix;
	struct slice cache_control;  /* n 0: none */
	const struct field *headers; /* added to every response, outer block's first */
	unsigned nheaders;
	const struct site_removed *removed; /* from every response; outer block's first */
	unsigned nremoved;
	unsigned root;                 /* number of its tree in struct doc_roots */
	const struct file_rule *rules; /* by names of files; the first that matches */
	unsigned nrules;
	const struct returned *returned; /* for every request; NULL: they are served */
	const struct site_proxy *proxy;  /* answers what no route does; NULL: files do */
	struct redirect redirect;
	uint64_t body_size;              /* of a request; 0: any */
	const struct pace_limit *pace;   /* of content; NULL: no limit */
	const struct rate *requests;     /* of each client; NULL: no limit */
	unsigned refused_methods;        /* 1 << enum h2d_method; the others are allowed */
	const struct access *access;     /* NULL: all clients */
	const struct auth *auth;         /* NULL: no password */
	const struct subjects *subjects; /* NULL: all clients, with or without a certificate */
	bool satisfy_any;                /* any of those three is enough */
	bool writers; /* writers are named: upload-public, users, or allowed addresses */
	const struct site_upload *upload; /* of its requests; NULL: none */
	struct slice store_folder;      /* of uploads whose handlers check the writer; n 0: none */
	bool precompressed;             /* NAME.br, .zst and .gz are sent for NAME */
	unsigned response_codings;      /* 1 << enum coding: of the application's responses */
	unsigned refused_codings;       /* 1 << enum coding: not made of files and listings */
	struct slice charset;           /* of text files; n 0: none */
	const struct mime_types *types; /* NULL: mime.def alone */
	const struct slice *index;      /* names of index files */
	unsigned nindex;
	const struct slice *hide; /* patterns of names, lower case; "*" matches any bytes */
	unsigned nhide;
	bool autoindex;
	bool webdav;       /* its upload-dir is a drive (RFC 4918) */
	unsigned archives; /* 1 << enum archive_kind (files/archive.h): directories as a whole */
	bool sendfile;     /* long files are sent from the page cache (disk_body.c) */
	bool follow_links; /* symbolic ones, also out of the root */
	bool no_links;     /* no symbolic link is followed */
	const struct slice *extensions; /* ".html": may be omitted in a path */
	unsigned nextensions;
	bool extensions_redirect; /* a path with one is redirected to the one without */
	struct slice fallback;    /* answers for missing files; n 0: none */
	const struct site_error_page *error_pages; /* its own */
	unsigned nerror_pages;
	const struct location_at *at; /* NULL in tests */
};

/* The settings of responses with files of some names: those of a location overridden by their
 * own. */
struct file_rule {
	struct slice pattern; /* of the last segment, lower case; "*" matches any bytes */
	struct location settings;
};

/* A directory of uploads. */
struct site_upload {
	struct slice url;  /* "/files", or the title of its location without a final slash */
	struct slice form; /* the path for forms: "/files", or that title with a slash */
	struct slice dir;  /* "/dir", below the site's root */
	struct conf_pos at;
};

struct site_error_page {
	int status;
	struct slice file; /* below the root, "/404.html" */
	struct conf_pos at;
};

/* One server block. */
/* The expiry of a site's certificate. */
struct site_expiry {
	const char *key; /* the kind of its key: "ecdsa", "rsa", … */
	int64_t at;      /* seconds since 1970; 0: unknown */
};

struct site {
	struct slice name; /* its title; "_" is the default's */
	bool is_default;
	struct location all;              /* of the block itself */
	const struct location *locations; /* of its locations, longest prefix first */
	unsigned nlocations;
	struct prefix_index by_prefix; /* the locations, by their titles; n 0: none */
	bool guarded;  /* a location, or the block, has access, subjects, auth, refused_methods or
			  hide */
	bool hides;    /* a location, or the block, has hide */
	unsigned root; /* number of its tree: of uploads, error pages, and locations without one */
	bool has_root; /* it has files: root is not the empty tree */
	const struct site_upload *uploads; /* the server's first */
	unsigned nuploads;
	unsigned upload_depth;  /* of directories below one of these, and below a
				 * store-folder */
	unsigned uploads_depth; /* of all directories of uploads */
	bool upload_overwrite;  /* a file may be replaced */
	uint64_t upload_quota;  /* bytes of each of these; 0: no limit */
	uint64_t upload_piece;  /* bytes of a part of a resumable upload; 0: any */
	char **upload_origins;  /* other origins: their pages may send forms */
	unsigned nupload_origins;
	uint64_t resume_expires;               /* seconds that an upload can be resumed; 0: never */
	const struct redirects *redirects;     /* of single paths; NULL: none */
	struct slice health;                   /* the path of the health check; n 0: none */
	struct slice transport_security;       /* value of strict-transport-security; n 0: none */
	const struct tls_cert *certificate;    /* of its names: compared, never followed */
	const struct site_expiry *expiries;    /* of that certificate */
	unsigned nexpiries;                    /* 0: no certificate */
	const struct tls_client_ca *client_ca; /* of its clients; the same; NULL: none are
						* requested */
	bool needs_certificate;                /* clients without a valid one are refused */
	struct conf_pos health_at, transport_security_at, verify_at;
};

/* A name of a site: lower case, without a final dot; "*.example.com" answers all names below. */
struct site_name {
	struct slice name;
	unsigned site;
};

struct sites {
	const struct site *v;
	unsigned n;                     /* at least one */
	unsigned fallback;              /* the default: answers all other names */
	struct proxies proxies;         /* of all of them: the trusted proxies */
	const struct access *exempt;    /* clients without limits by rate; NULL: none */
	const struct rate *connections; /* new ones, of each client; NULL: no limit */
	bool dry_run;                   /* clients over such a limit are logged, not refused */
	const struct site_peer *peers;  /* of all proxies, each once */
	unsigned npeers;
	const struct site_name *names; /* exact ones and wildcards, in site_name_order() */
	unsigned nnames;
};

/*
 * The site of an authority ("host", "host:port", "[v6]:port", any case, perhaps a final dot): the
 * exact name, else the longest wildcard, else the default. Never NULL.
 */
const struct site *sites_find(const struct sites *s, struct slice authority);

/* sites_find() without the default: NULL if no site has the authority's name. */
const struct site *sites_named(const struct sites *s, struct slice authority);

/* The name that matched; NULL likewise. */
const struct site_name *sites_name(const struct sites *s, struct slice authority);

/* Compares two names, for qsort(), in the order of sites_find()'s search. */
int site_name_order(const void *a, const void *b);

/* True if the title of a location covers path: itself, below it, or beside it. */
bool site_prefix_owns(struct slice prefix, struct slice path);

/* True if the last segment of path, or it without extensions of codings, is one of those names. */
bool site_hides_name(const struct location *location, struct slice path);

/* True if a segment of path is. */
bool site_hides(const struct location *location, struct slice path);

/* The rule that removes headers of that name; NULL: none. */
const struct site_removed *site_removal(const struct location *location, struct slice name);

/* The codings of a bit set by enum coding that compress of location has. */
static inline unsigned site_codings(const struct location *location, unsigned codings)
{
	return codings & ~location->refused_codings;
}

/* The location for path (decoded by path_parse()). Never NULL. Inline for a site without any, as
 * most. */
const struct location *site_location_among(const struct site *s, struct slice path);
static inline const struct location *site_location(const struct site *s, struct slice path)
{
	return s->nlocations == 0 ? &s->all : site_location_among(s, path);
}

/* Settings of a response of location with the file at path: of its rule of files, or its own. */
const struct location *site_file_settings(const struct location *location, struct slice path);

/*
 * Settings of a response with the file at path, which answers for a path of location: those of the
 * location with the longer title.
 */
const struct location *site_location_of_file(
	const struct site *s, const struct location *location, struct slice path);

/*
 * True if p is the location of an index file of path, a directory ("/d/") whose location is dir:
 * p's rules apply to the directory, too, because that file may answer it.
 */
bool site_location_is_index(
	const struct location *p, const struct location *dir, struct slice path);

/*
 * The number of path's segments whose spelling decides its rules, on file systems that accept other
 * spellings; 0: none. As many as locations have, if the site has rules; all (UINT_MAX), if one
 * could mean a name that begins with a dot, or the site hides names.
 */
unsigned site_spelling_matters(const struct site *s, struct slice path);

/* True if path is the health check of the site. */
static inline bool site_is_health(const struct site *s, struct slice path)
{
	return s->health.n > 0 && slice_eq(path, s->health);
}

/* The innermost directory of uploads that is or contains path, a file's; NULL: none. */
const struct site_upload *site_upload_of(const struct site *s, struct slice path);

/* The file that answers status in location, its own or the site's; NULL: none is configured. */
const struct site_error_page *site_error_page(
	const struct site *s, const struct location *location, int status);

/* One site that serves tree 0 without any settings but index.html and utf-8: for tests. */
extern const struct sites sites_plain;

/* Few authorities, repeated by clients of one worker, with their results of sites_find(). */
enum {
	SITE_MEMO_ENTRIES = 16, /* a power of two */
	SITE_MEMO_TEXT = 55,    /* longer ones are parsed each time */
};

struct site_memo_entry {
	const struct site *site;
	uint8_t n; /* bytes of text; 0: a free entry */
	char text[SITE_MEMO_TEXT];
};

/* Empty when zeroed. For one struct sites, and one thread. An authority that hashes to another's
 * entry takes it. */
struct site_memo {
	struct site_memo_entry entries[SITE_MEMO_ENTRIES];
};

/* sites_find(), remembered; NULL: the authority is malformed. An empty one is not. */
const struct site *site_memo_find(
	struct site_memo *m, const struct sites *s, struct slice authority);
