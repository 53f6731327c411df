/*
 * h2d/test.h: tests handlers without sockets. The server is in the process of the test, and gets
 * requests as the bytes of HTTP/1.1 or HTTP/2. Its clock advances only by h2d_test_advance_ms().
 * There is one server at a time, and one request.
 *
 * Each check_*.c of a directory of handlers (configure --with-handlers) becomes a program with the
 * handlers of that directory; `make check-handlers` and `make check` run it. An invalid call, a
 * handler that breaks a rule and a missing gone() end the program.
 */
#ifndef H2D_TEST_H
#define H2D_TEST_H

#include "h2d/handler.h"

#ifdef __cplusplus
extern "C" {
#endif

enum h2d_test_http { H2D_TEST_HTTP1, H2D_TEST_HTTP2 };

/* A row of a route table. To use the directory's own, #define ROUTE H2D_TEST_ROUTE, and #include
 * "routes.def" between the braces of an array. */
struct h2d_test_route {
	const char *file;
	int line;
	const char *method, *pattern, *name, *body;
	const struct h2d_handler *handler;
};
#define H2D_TEST_ROUTE(method, pattern, handler, body) \
	{ __FILE__, __LINE__, #method, pattern, #handler, #body, &h2d_handler_##handler },

/* Starts a server with these n routes, and calls worker_init(). Other paths are 404. */
struct h2d_test *h2d_test_open(
	enum h2d_test_http http, const struct h2d_test_route *routes, unsigned n);

/*
 * Sets a handler's key for the server that is opened next, in the form of h2d.conf (a string or a
 * path without quotes). Other keys have their defaults. An unknown key or an invalid value ends the
 * program.
 */
void h2d_test_key(const char *handler, const char *key, const char *value);

/* Disconnects the client and ends the worker: calls gone() and worker_exit(). */
void h2d_test_close(struct h2d_test **t);

/* Sends a request without a body. headers: name, value, …, NULL; or NULL for none. */
void h2d_test_request(
	struct h2d_test *t, const char *method, const char *path, const char *const *headers);

/* Sends the headers of a request with a body; length -1: without content-length. */
void h2d_test_begin_request(struct h2d_test *t, const char *method, const char *path,
	const char *const *headers, int64_t length);

/* Sends a piece of that body; its end. Bytes beyond the handler's credit wait. */
void h2d_test_send_body(struct h2d_test *t, const void *data, size_t len);
void h2d_test_end_body(struct h2d_test *t);

/* The client disconnects during the request, which calls gone(). Another request may follow. */
void h2d_test_disconnect(struct h2d_test *t);

/* Advances the clock by ms milliseconds; timers fire. */
void h2d_test_advance_ms(struct h2d_test *t, uint64_t ms);

/* Waits until threads have completed the jobs of h2d_work(), h2d_store() and h2d_reply_file(). */
void h2d_test_wait(struct h2d_test *t);

/* Publishes a message as another worker does (h2d_publish()). Subscribers get it before this
 * returns, as they get messages of this worker before each call of the test returns. */
void h2d_test_publish(struct h2d_test *t, const char *topic, const void *data, size_t len);

/* The content of a file that h2d_store() has stored, "name" or "directory/name", valid until the
 * next such call; NULL: there is none. The upload-dir is empty at first, and all clients may write.
 */
const char *h2d_test_file(struct h2d_test *t, const char *name, size_t *len);

/* The answer so far: its status, 0 if there is none; its first header of that name, NULL if absent;
 * its content; whether it is complete. Valid until the next call that is not one of these. */
int h2d_test_status(const struct h2d_test *t);
const char *h2d_test_header(const struct h2d_test *t, const char *name);
const char *h2d_test_content(const struct h2d_test *t, size_t *len);
bool h2d_test_complete(const struct h2d_test *t);

#ifdef __cplusplus
}
#endif

#endif
