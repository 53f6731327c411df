/*
 * listing: the answer for a directory without an index file whose location sets autoindex. It is
 * read and made into a page in an offload thread, below the root and by the rules for files: names
 * that begin with a dot are hidden, except .well-known, and so are links that leave the root,
 * unless those are followed.
 */
#pragma once

#include "event/offload.h"
#include "files/archive.h"
#include "files/listing_page.h"
#include "http/coding.h"
#include "image/doc_root.h"
#include "image/etag.h"
#include "request/req.h"

enum {
	LISTING_ENTRIES_MAX = 50000, /* of one page, which then notes the rest */
	/* Bytes of the pages being sent, of one connection and in all. At least one page. */
	LISTING_SHARE = 24 << 20,
	LISTING_MEMORY = 64 << 20,
	LISTS_LEAST = 4 << 20, /* of lists of drives, of a client */
};

/*
 * listing_text: the page of a directory, made once for all requests that came before a thread
 * began, and shared by those that send it. A later request gets a later one, because the directory
 * may have changed. Connections take turns: one shares another's text only if its turn comes first.
 */

/*
 * The texts of a worker. Beyond LISTING_SHARE and LISTING_MEMORY the least recently sent ones are
 * freed; their streams have them made again to continue, and fail if the directory has changed.
 */
struct listings {
	struct offload *offload;
	unsigned codings;   /* of pages: bit set by enum coding */
	struct list wanted; /* queued, or being made */
	struct list pages;  /* being sent, last sent last */
};

/* The key of a listing; equal keys give equal texts. */
struct listing_key {
	const struct doc_root *tree;
	const char *path;                /* below its root, "/dir/" */
	const char *action;              /* action of its form for uploads; "": none */
	const struct location *location; /* the directory's: hides entries */
	unsigned spelled;                /* segments of path whose spelling is checked */
	unsigned links;                  /* BENEATH_LEAVE, BENEATH_NO_LINKS, or 0 */
	struct listing_view view;
	bool json;
	bool readme; /* a file README may be shown */
	enum coding coding;
	/* The format of an archive, and '1' in open for each location of site whose files it may
	 * have, the server's own last. Else ARCHIVE_NONE and "". */
	enum archive_kind archive;
	const char *open;
	const struct site *site;
	const struct route_table *routes; /* NULL: none */
};

struct listing_text {
	struct listings *all;
	struct list node;    /* in all->wanted or all->pages, or in neither */
	struct list readers; /* waiting for it, then sending it */
	struct job job;      /* its owner: the connection that asked first */
	bool busy;           /* the job is queued, or a thread has it */
	bool begun;          /* set by the thread */
	bool held;           /* stays without a reader */
	bool made;
	int result; /* of the job: 0, or -errno */
	struct listing_key key;
	struct strbuf bytes;      /* in key.coding */
	struct archive_list list; /* instead, of an archive */
	size_t room;              /* bytes of memory of either */
	struct etag etag;
	bool cut; /* there are more entries */
	char path[];
};

/* A member of the sender of a text. */
struct listing_reader {
	struct list node;             /* in readers of a text */
	struct listing_key key;       /* its strings are the owner's */
	const struct http_conn *conn; /* the connection whose share of memory it uses; NULL: none,
				       * as in tests */
	struct listing_text *text;    /* requested, or ready; NULL: neither */
	/* The text is ready (0), or -errno. */
	void (*got)(struct listing_reader *r, int result);
	/* Others need the memory: true if it can do without r->text. */
	bool (*let_go)(struct listing_reader *r);
};

void listings_init(struct listings *all, struct offload *o, unsigned codings);

/* Requests a text for r, which has none and is zeroed except key, conn and the functions. 0: got()
 * will come; -errno. */
int listing_text_ask(struct listings *all, struct listing_reader *r);

/* Some of it was just sent: others are freed before it. */
void listing_text_sent(struct listing_reader *r);

/* r needs it no more, and got() will not come. */
void listing_text_leave(struct listing_reader *r);

/* Reads the directory of t->key and writes t's bytes and facts. 0; -errno: -ECANCELED when its job
 * is no longer needed. May block. */
int listing_make(struct listing_text *t);

/*
 * Answers req with the directory path, which begins and ends with "/", of tree; it is copied.
 * As HTML or JSON by accept, in a coding by accept-encoding, in the order that the query asks for;
 * with an entity tag, and conditions that go with it. 404, 403 or 503 if it cannot be read. The
 * reply comes later. all outlives the request. links: BENEATH_LEAVE, BENEATH_NO_LINKS, or 0.
 */
void listing_reply(struct h2d_req *req, struct listings *all, const struct doc_root *tree,
	struct slice path, unsigned links);

/* Answers req with the error of its directory path that could not be read as what: 404, 403 or
 * 503. */
void listing_refuse(struct h2d_req *req, const char *what, const char *path, int rc);
