/*
 * kit: shared parts of the test kit. kit.c: the server, its time and the calls of h2d/test.h;
 * kit_files.c: files; kit_h1.c and kit_h2.c: the clients, each behind a table; kit_text.c: their
 * bytes and headers; kit_keys.c: keys of handlers. Never linked into a server.
 */
#pragma once

#include "api/handler_worker.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "event/bus.h"
#include "event/loop.h"
#include "event/offload.h"
#include "h2d/test.h"
#include "image/doc_root.h"
#include "proto/proto.h"
#include "proto/window.h"
#include "rules/site.h"
#include "tools/route_build.h"

struct h2d_test;

/* A client: sends all by kit_say(). */
struct kit_client {
	struct proto *(*speak)(const struct proto_conf *conf, struct proto_host *host);
	/* A new connection. */
	void (*open)(struct h2d_test *t);
	void (*begin)(struct h2d_test *t, const char *method, const char *path,
		const char *const *fields, bool body, int64_t length);
	/* A piece of the body; its end. */
	void (*piece)(struct h2d_test *t, const void *data, size_t len);
	void (*end)(struct h2d_test *t);
	/* Bytes from the server. */
	void (*take)(struct h2d_test *t, const void *data, size_t n);
	/* Frees the memory of open(). */
	void (*close)(struct h2d_test *t);
};
extern const struct kit_client kit_h1, kit_h2;

struct kit_files {
	char root[32]; /* the directory */
	struct doc_root tree;
	struct doc_roots trees;
	struct site site;
	struct sites sites;
	struct offload *offload;
	struct strbuf text; /* of the requested file */
};

struct h2d_test {
	const struct kit_client *client;
	void *session; /* of the client */
	struct loop loop;
	struct http_env env;
	struct api api;
	struct http_conn conn;
	struct proto_conf conf;
	struct proto_host host;
	struct ahead ahead;
	struct route_build routes;
	struct kit_files files;
	struct pool blocks;
	struct outq out;
	struct proto *proto;
	struct strbuf unsent; /* the client's, not taken by the server yet */
	size_t sent;          /* of unsent */
	bool asked;

	/* The answer received by the client. */
	int status;
	struct strbuf fields; /* name, NUL, value, NUL, … */
	struct strbuf content;
	bool complete;

	/* The clients' own. */
	struct strbuf raw; /* HTTP/1: the answer's bytes */
	bool chunked, head;
	struct strbuf body; /* HTTP/2: of the request, unsent */
	int32_t stream;
	bool body_ended;
};

void kit_files_open(struct h2d_test *t);
void kit_files_close(struct h2d_test *t);

/* The keys of handlers; made at the first call, freed with the server. */
const struct conf *kit_keys(void);
void kit_keys_free(void);

void kit_say(struct h2d_test *t, const void *data, size_t n);
void kit_field(struct h2d_test *t, struct slice name, struct slice value);
const char *kit_find(const struct h2d_test *t, const char *name);
