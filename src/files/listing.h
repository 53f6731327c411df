/*
 * listing: the answer for a directory that has no index file and whose location says autoindex. It
 * is read and made into a page in an offload thread, below the root and by the rules that hold for
 * files: names that begin with a dot are not shown, .well-known aside, nor are links that leave the
 * root, unless those are followed.
 */
#ifndef H2D_FILES_LISTING_H
#define H2D_FILES_LISTING_H

#include "base/ref.h"
#include "event/offload.h"
#include "files/listing_page.h"
#include "http/coding.h"
#include "image/etag.h"
#include "request/req.h"

/*
 * listing_text: the page of a directory, made once for all requests that came before a thread
 * began, and shared by those that send it. A later request is given a later one, for the directory
 * may have changed since. Each reader has a job of its own in line, among those of its connection;
 * the first that a thread takes is done for all, the others are nothing any more.
 */

enum {
	LISTING_ENTRIES_MAX = 50000, /* of one page; it says so if there are more */
	/* Bytes of the pages that are being sent, of one connection and in all. At least one page.
	 */
	LISTING_SHARE = 24 << 20,
	LISTING_MEMORY = 64 << 20,
};

/*
 * The texts of a worker. Beyond LISTING_SHARE and LISTING_MEMORY those that were sent of longest
 * ago are let go; their streams have them made again before they go on, and fail if the directory
 * has changed.
 */
struct listings {
	struct offload *offload;
	unsigned codings;   /* of pages: bit set by enum coding */
	struct list wanted; /* no thread has begun, as far as is known */
	struct list pages;  /* there and being sent, last sent last */
};

/* A question for a listing; equal ones are equal texts. */
struct listing_key {
	const char *root, *path;         /* path below root, "/dir/" */
	const char *action;              /* listing_form.h; "": it has no form */
	const struct location *location; /* the directory's: what it hides is left out */
	unsigned spelled;                /* segments of path whose spelling matters */
	bool follows;                    /* symbolic links may lead out of root */
	struct listing_order order;
	bool json;
	bool readme; /* a file README may be shown */
	enum coding coding;
};

struct listing_text {
	struct ref ref;
	struct listings *all;
	struct list node;    /* in all->wanted or all->pages, or in neither */
	struct list waiting; /* readers, until it is made */
	struct list readers; /* readers that send it */
	struct job *maker;   /* set by the thread that makes it */
	struct listing_key key;
	struct listing_page page; /* the entries are gone once it is made */
	struct strbuf text;       /* in key.coding */
	struct etag etag;
	int result; /* 0, or -errno */
	char path[];
};

/* A member of what sends a text. */
struct listing_reader {
	struct list node; /* in waiting or readers of a text */
	struct job job;
	struct listing_key key;       /* its strings are the owner's */
	const struct http_conn *conn; /* the connection that has it in its share of memory; NULL:
					 none, as in tests */
	struct listing_text *text;    /* there, one reference held; NULL: it is not */
	struct listing_text *wanted;  /* the text that the job is for, one reference held */
	bool busy;                    /* the job is in line, or a thread has it */
	bool waits;                   /* got() will be called */
	bool again, gone;             /* asked, or left, while a thread had a job that is nothing */
	/* The text is there (0), or -errno. */
	void (*got)(struct listing_reader *r, int result);
	/* Others need the memory: it can do without r->text. False: it cannot. */
	bool (*let_go)(struct listing_reader *r);
	/* After listing_text_leave() said false: r may be freed. */
	void (*over)(struct listing_reader *r);
};

void listings_init(struct listings *all, struct offload *o, unsigned codings);

/* r wants a text; r is zeroed but for key, conn and the functions. 0: got() comes; -errno. */
int listing_text_ask(struct listings *all, struct listing_reader *r);

/* Some of it was sent just now: others are let go before it. */
void listing_text_sent(struct listing_reader *r);

/* r needs it no more. True: it may be freed at once. False: over() comes. */
bool listing_text_leave(struct listing_reader *r);

/*
 * Reads the directory that key names into page; its entries and names are from malloc, and page is
 * for listing_unread() whatever comes out. 0 or -errno,
 * -ECANCELED when nobody wants the job j any more; may block.
 */
int listing_read(const struct listing_key *key, unsigned max, const struct job *j,
	struct listing_page *page);
void listing_unread(struct listing_page *page);

/*
 * Answers req with the directory path, which begins and ends with "/", below root; both are copied.
 * As HTML or JSON by accept, in a coding by accept-encoding, in the order that the query asks for;
 * with an entity tag, and conditions that go with it. 404, 403 or 503 if it cannot be read. The
 * reply comes later. all outlives the request. follows: symbolic links may lead out of the root.
 */
void listing_reply(struct h2d_req *req, struct listings *all, const char *root, struct slice path,
	bool follows);

#endif
