/*
 * bench_libh2o: the arena's small answers by libh2o, as fast as it is: /baseline11, /baseline2,
 * /pipeline, /upload and /json/COUNT?m=M, over HTTP/1.1 and h2c on one port and over TLS on
 * another. Built and run by scripts/bench --arena, for the server to be compared with; nothing else
 * of h2d knows of it.
 *
 * Usage: bench_libh2o PORT TLS-PORT CERTIFICATE KEY DATASET
 */
#define H2O_USE_LIBUV 0
#include <errno.h>
#include <h2o.h>
#include <h2o/http1.h>
#include <h2o/http2.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static h2o_globalconf_t config;
static h2o_context_t ctx;
static h2o_accept_ctx_t clear_ctx, tls_ctx;

static int64_t number_of(const char *p, size_t n)
{
	char text[24];

	n = n < sizeof(text) ? n : sizeof(text) - 1;
	memcpy(text, p, n);
	text[n] = '\0';
	return strtoll(text, NULL, 10);
}

static int64_t sum_of_query(const h2o_req_t *req)
{
	const char *p, *end = req->path.base + req->path.len;
	int64_t sum = 0;

	if (req->query_at == SIZE_MAX)
		return 0;
	for (p = req->path.base + req->query_at; p < end; p++)
		if (*p == '=')
			sum += number_of(p + 1, (size_t)(end - p - 1));
	return sum;
}

static int answer(h2o_req_t *req, const char *text, size_t n)
{
	req->res.status = 200;
	req->res.reason = "OK";
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
		H2O_STRLIT("text/plain"));
	h2o_send_inline(req, text, n);
	return 0;
}

static int on_sum(h2o_handler_t *self, h2o_req_t *req)
{
	char text[24];
	int64_t sum = sum_of_query(req) +
		      (req->entity.len > 0 ? number_of(req->entity.base, req->entity.len) : 0);

	(void)self;
	return answer(req, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, sum));
}

static int on_pipeline(h2o_handler_t *self, h2o_req_t *req)
{
	(void)self;
	return answer(req, H2O_STRLIT("ok"));
}

static int on_upload(h2o_handler_t *self, h2o_req_t *req)
{
	char text[24];

	(void)self;
	return answer(req, text, (size_t)snprintf(text, sizeof(text), "%zu", req->entity.len));
}

/* --- items ------------------------------------------------------------------------------------ */

#define ITEMS_MAX 256

/* As examples/arena/json.c has them: the text of an item without its last brace, and price ×
 * quantity. */
static struct {
	char *text;
	size_t len;
	int64_t product;
} items[ITEMS_MAX];
static size_t n_items;

static void read_items(const char *path)
{
	json_t *item, *array = json_load_file(path, 0, NULL);

	if (array == NULL) {
		perror(path);
		exit(1);
	}
	json_array_foreach(array, n_items, item)
	{
		if (n_items == ITEMS_MAX)
			break;
		items[n_items].text = json_dumps(item, JSON_COMPACT);
		items[n_items].len = strlen(items[n_items].text) - 1;
		items[n_items].product = json_integer_value(json_object_get(item, "price")) *
					 json_integer_value(json_object_get(item, "quantity"));
	}
}

static int on_json(h2o_handler_t *self, h2o_req_t *req)
{
	const char *at = req->path_normalized.base + strlen("/json/");
	size_t i, n = (size_t)number_of(at, req->path_normalized.len - strlen("/json/"));
	int64_t m = sum_of_query(req);
	h2o_iovec_t text;
	size_t room = 64;
	char *p;

	(void)self;
	n = n < n_items ? n : n_items;
	for (i = 0; i < n; i++)
		room += items[i].len + 40;
	text = h2o_iovec_init(h2o_mem_alloc_pool(&req->pool, room), 0);
	p = text.base + sprintf(text.base, "{\"items\":[");
	for (i = 0; i < n; i++) {
		p = (char *)memcpy(p, items[i].text, items[i].len) + items[i].len;
		p += sprintf(
			p, ",\"total\":%" PRId64 "}%s", items[i].product * m, i + 1 < n ? "," : "");
	}
	p += sprintf(p, "],\"count\":%zu}", n);
	text.len = (size_t)(p - text.base);
	req->res.status = 200;
	req->res.reason = "OK";
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
		H2O_STRLIT("application/json"));
	h2o_send_inline(req, text.base, text.len);
	return 0;
}

static void add(h2o_hostconf_t *host, const char *path, int (*on_req)(h2o_handler_t *, h2o_req_t *))
{
	h2o_pathconf_t *at = h2o_config_register_path(host, path, 0);

	h2o_create_handler(at, sizeof(h2o_handler_t))->on_req = on_req;
}

/* --- listening -------------------------------------------------------------------------------- */

static void on_accept(h2o_socket_t *listener, const char *err)
{
	h2o_socket_t *sock;

	if (err != NULL)
		return;
	while ((sock = h2o_evloop_socket_accept(listener)) != NULL)
		h2o_accept(listener->data, sock);
}

static void listen_on(const char *port, h2o_accept_ctx_t *accept_ctx)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	h2o_socket_t *sock;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4096) < 0) {
		perror(port);
		exit(1);
	}
	sock = h2o_evloop_socket_create(ctx.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
	sock->data = accept_ctx;
	h2o_socket_read_start(sock, on_accept);
}

static SSL_CTX *tls_of(const char *certificate, const char *key)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());

	if (ssl == NULL || SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1 ||
		SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "bench_libh2o: certificate or key\n");
		exit(1);
	}
	SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION);
	h2o_ssl_register_alpn_protocols(ssl, h2o_http2_alpn_protocols);
	return ssl;
}

int main(int argc, char **argv)
{
	h2o_hostconf_t *host;

	if (argc != 6)
		return 2;
	read_items(argv[5]);
	signal(SIGPIPE, SIG_IGN);
	h2o_config_init(&config);
	config.http2.max_concurrent_requests_per_connection = 128;
	host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
	add(host, "/baseline11", on_sum);
	add(host, "/baseline2", on_sum);
	add(host, "/pipeline", on_pipeline);
	add(host, "/upload", on_upload);
	add(host, "/json", on_json);
	h2o_context_init(&ctx, h2o_evloop_create(), &config);
	clear_ctx = (h2o_accept_ctx_t){ .ctx = &ctx, .hosts = config.hosts };
	tls_ctx = clear_ctx;
	tls_ctx.ssl_ctx = tls_of(argv[3], argv[4]);
	listen_on(argv[1], &clear_ctx);
	listen_on(argv[2], &tls_ctx);
	while (h2o_evloop_run(ctx.loop, INT32_MAX) == 0)
		;
	return 1;
}
