/*
 * site: what the configuration says about the names and paths of requests: virtual hosts (server
 * blocks) and their locations, as the request core reads them. Made by sites/sites.c before the
 * first request, const from then on, borrowed by every request for its life.
 */
#ifndef H2D_RULES_SITE_H
#define H2D_RULES_SITE_H

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

/* --- whom the configuration lets say who a client is (trusted-proxies), and where ---------------
 */

enum proxies_field {
	PROXIES_NO_FIELD, /* the address is the connection's */
	PROXIES_X_FORWARDED_FOR,
	PROXIES_FORWARDED,
	PROXIES_NAMED, /* one address in the field of that name */
};

struct proxies {
	const struct addr_range *ranges;
	unsigned n;
	bool any_unix; /* whoever comes over a unix socket */
	enum proxies_field field;
	struct slice name;               /* of PROXIES_NAMED, lower case */
	const struct conf_pos *field_at; /* where the configuration says so; NULL in tests */
};

/*
 * "10.0.0.0/8", "2001:db8::1" or "unix": goes into *p, whose ranges are room's, which has room for
 * it. NULL, or what is wrong with it, a const string.
 */
const char *proxies_add(struct proxies *p, struct addr_range *room, const char *text);

/* Whether what comes from this address is believed. Never of one that is not known. */
bool proxies_trust(const struct proxies *p, const struct addr *from);

/* Fields of location->headers: the reader of the configuration refuses more, inherited ones
 * included. */
enum { SITE_HEADERS_MAX = 24 };

/* Where the routes of uploads begin (routes.def). */
#define SITE_UPLOADS_AT "/files"

/*
 * Fields of a response that come from here, so that no two contradict each other:
 * - headers are added to every response, whatever its status and whatever made it. What the
 * response has already stays as it is, and the field of that name from here is left out: what the
 * server says of itself (date, server, content-length) and what it says to be safe
 * (content-security-policy and x-content-type-options of uploads, the policy of its own pages,
 * www-authenticate) is not for the configuration to soften. Fields that may come several times and
 * then add up (link, server-timing, set-cookie) are added beside, and vary is joined to what is
 * there.
 * - cache_control goes with 200, 203, 204, 206, 301, 302, 304, 307 and 308 that say nothing of it
 *   themselves; an error is never kept for it.
 * Responses on admin listeners get none of them.
 */

/*
 * The settings of one location: those of its server block with its own on top. One longest prefix
 * decides; a location holds everything that is in effect, so nothing is looked up twice.
 */
struct file_rule;
struct tls_cert;
struct tls_client_ca;

/* Where the configuration says so, for whoever asks why. File NULL: nowhere, it is the default. */
struct location_at {
	struct conf_pos block; /* its title; that of the server for the location of the server */
	struct conf_pos cache_control, root, redirect, hide, body_size, methods, satisfy, allow,
		deny, subjects, index, autoindex, extensions, extensions_redirect, fallback,
		returned, return_page, requests;
	const struct conf_pos *headers; /* a position for each of location->headers */
};

/* An answer that every request gets, whatever there is. */
struct returned {
	int status;
	struct slice page;           /* below the root; n 0: that of the site */
	const struct access *except; /* clients that are served all the same; NULL: none */
};

struct location {
	/* "/a" owns "/a", "/a/…" and its sidecars ("/a.gz"); "/assets/" what is below it. */
	struct slice prefix;
	struct slice cache_control;  /* n 0: none */
	const struct field *headers; /* added to every response, outer block's first */
	unsigned nheaders;
	unsigned root;                 /* number of its tree in struct doc_roots */
	const struct file_rule *rules; /* of names of files; the first that fits */
	unsigned nrules;
	const struct returned *returned; /* of every request; NULL: they are served */
	struct redirect redirect;
	uint64_t body_size;              /* of a request; 0: any */
	const struct pace_limit *pace;   /* of content; NULL: it goes as fast as it can */
	const struct rate *requests;     /* of each client; NULL: any number */
	unsigned refused_methods;        /* 1 << enum h2d_method; the others are let in */
	const struct access *access;     /* NULL: everybody */
	const struct auth *auth;         /* NULL: nobody is asked */
	const struct subjects *subjects; /* NULL: everybody, with a certificate or without */
	bool satisfy_any;                /* of those three one is enough */
	bool writers; /* it is said who may write: upload-public, users, or who is allowed */
	struct slice store_folder;      /* of uploads, in which handlers say who may; n 0: none */
	bool precompressed;             /* NAME.br, .zst and .gz are sent for NAME */
	struct slice charset;           /* of text files; n 0: none */
	const struct mime_types *types; /* NULL: those of mime.def alone */
	const struct slice *index;      /* names of index files */
	unsigned nindex;
	const struct slice *hide; /* patterns of names, lower case; "*" is any bytes */
	unsigned nhide;
	bool autoindex;
	bool sendfile;                  /* long files go out from the page cache (disk_body.c) */
	bool follow_links;              /* symbolic ones, out of the root */
	bool no_links;                  /* no symbolic link is followed */
	const struct slice *extensions; /* ".html": that a path may leave out */
	unsigned nextensions;
	bool extensions_redirect; /* a path that has one is sent to the one without */
	bool files_apart;      /* files of index and extensions may have locations of their own */
	struct slice fallback; /* answers for what is not there; n 0: nothing does */
	const struct location_at *at; /* NULL in tests */
};

/* The settings of responses with files of some names: those of a location with their own on top. */
struct file_rule {
	struct slice pattern; /* of the last segment, lower case; "*" is any bytes */
	struct location settings;
};

struct site_error_page {
	int status;
	struct slice file; /* below the root, "/404.html" */
	struct conf_pos at;
};

/* One server block. */
/* When a certificate of a site expires. */
struct site_expiry {
	const char *key; /* the kind of its key: "ecdsa", "rsa", … */
	int64_t at;      /* seconds since 1970; 0: it does not say */
};

struct site {
	struct slice name; /* its title; "_" is the default's */
	bool is_default;
	struct location all;              /* of the block itself */
	const struct location *locations; /* of its locations, longest prefix first */
	unsigned nlocations;
	struct prefix_index by_prefix; /* the locations, by their titles; n 0: there is none */
	bool guarded; /* a location, or the block, has access, subjects, auth, refused_methods or
			 hide */
	bool hides;   /* a location, or the block, has hide */
	const struct site_error_page *error_pages;
	unsigned nerror_pages;
	unsigned root; /* number of its tree: of uploads, error pages, and locations without one */
	bool has_root; /* it has files: root is not the empty tree */
	struct slice uploads;              /* "/dir", the folder of uploads below root; n 0: none */
	unsigned upload_depth;             /* of folders below that one, and below a store-folder */
	unsigned uploads_depth;            /* of all folders that uploads lie in */
	bool upload_overwrite;             /* a file may be replaced */
	uint64_t upload_quota;             /* bytes of that folder; 0: any */
	uint64_t resume_expires;           /* seconds that an upload can be resumed; 0: none can */
	const struct redirects *redirects; /* of single paths; NULL: none */
	struct slice health; /* the path that tells whether the worker drains; n 0: none */
	struct slice transport_security;       /* value of strict-transport-security; n 0: none */
	const struct tls_cert *certificate;    /* of its names: compared, never followed */
	const struct site_expiry *expiries;    /* of what that shows */
	unsigned nexpiries;                    /* 0: there is no certificate */
	const struct tls_client_ca *client_ca; /* of its clients; likewise; NULL: nobody asks */
	bool needs_certificate;                /* clients without a good one are refused */
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
	unsigned fallback;              /* the default: answers what no name does */
	struct proxies proxies;         /* of all of them: who may say who a client is */
	const struct access *exempt;    /* clients without limits by rate; NULL: none */
	const struct rate *connections; /* new ones, of each client; NULL: any number */
	bool dry_run;                   /* clients over such a limit are named, not refused */
	const struct site_name *names;  /* exact ones and wildcards, in site_name_order() */
	unsigned nnames;
};

/*
 * The site of an authority ("host", "host:port", "[v6]:port", any case, perhaps a final dot): the
 * exact name, else the longest wildcard, else the default. Never NULL.
 */
const struct site *sites_find(const struct sites *s, struct slice authority);

/* As sites_find(), without the default: NULL if no name of a site is the authority's. */
const struct site *sites_named(const struct sites *s, struct slice authority);

/* By which name that is; NULL as there. */
const struct site_name *sites_name(const struct sites *s, struct slice authority);

/* Compares two names, as qsort() wants it, in the order that sites_find() searches in. */
int site_name_order(const void *a, const void *b);

/* Whether the title of a location covers path: it is path, or what is below it, or beside it. */
bool site_prefix_owns(struct slice prefix, struct slice path);

/* Whether the last segment of path, or it without extensions of codings, is one of those names. */
bool site_hides_name(const struct location *location, struct slice path);

/* Whether a segment of path is. */
bool site_hides(const struct location *location, struct slice path);

/* The location that decides about path (decoded, as path_parse() makes it). Never NULL. Inline
 * where a site has none, as most. */
const struct location *site_location_among(const struct site *s, struct slice path);
static inline const struct location *site_location(const struct site *s, struct slice path)
{
	return s->nlocations == 0 ? &s->all : site_location_among(s, path);
}

/* Settings of a response of location with the file at path: of its rule of files, or its own. */
const struct location *site_file_settings(const struct location *location, struct slice path);

/*
 * Settings of a response with the file at path, which stands for a path that is location's: those
 * of the location with the longer title.
 */
const struct location *site_location_of_file(
	const struct site *s, const struct location *location, struct slice path);

/*
 * Whether p is the location of an index file of path, a directory ("/d/") whose location is dir:
 * what p asks of a client holds for the directory, too, which may be answered with that file.
 */
bool site_location_is_index(
	const struct location *p, const struct location *dir, struct slice path);

/*
 * How many segments of path decide by their spelling which rules hold for it, on file systems that
 * take others for it; 0: none does. As many as locations have, if the site has rules; all
 * (UINT_MAX), if one could stand for a name that begins with a dot, or the site hides names.
 */
unsigned site_spelling_matters(const struct site *s, struct slice path);

/* Whether path is the one that tells whether the worker drains. */
static inline bool site_is_health(const struct site *s, struct slice path)
{
	return s->health.n > 0 && slice_eq(path, s->health);
}

/* The file that answers status for site; NULL if none is configured. */
const struct site_error_page *site_error_page(const struct site *s, int status);

/* One site that serves tree 0 without any settings but index.html and utf-8: for tests. */
extern const struct sites sites_plain;

/* Few authorities, which clients of one worker send again and again, and what sites_find() said. */
enum {
	SITE_MEMO_ENTRIES = 16, /* a power of two */
	SITE_MEMO_TEXT = 55,    /* longer ones are taken apart each time */
};

struct site_memo_entry {
	const struct site *site;
	uint8_t n; /* bytes of text; 0: nobody has the entry */
	char text[SITE_MEMO_TEXT];
};

/* All zero: empty. Good for one struct sites, and one thread. An authority that falls on another's
 * entry takes it. */
struct site_memo {
	struct site_memo_entry entries[SITE_MEMO_ENTRIES];
};

/* As sites_find(); NULL: the authority is malformed. One that is empty is not. */
const struct site *site_memo_find(
	struct site_memo *m, const struct sites *s, struct slice authority);

#endif
