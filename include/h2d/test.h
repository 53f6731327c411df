/*
 * h2d/test.h: drives handlers without sockets. A server lies in the process of the test; requests
 * come to it as the bytes of HTTP/1.1 or HTTP/2, and handlers see what they see anywhere else. Its
 * time stands still but for h2d_test_pass(). There is one server at a time, and one request.
 *
 * Each check_*.c of a folder of handlers (configure --with-handlers) is a program of its own, with
 * the folder's handlers and this in it; `make check-handlers` runs them, and make check does. A
 * call that cannot be, a handler that breaks a rule and one that was not told of its end stop the
 * program.
 */
#ifndef H2D_TEST_H
#define H2D_TEST_H

#include "h2d/handler.h"

#ifdef __cplusplus
extern "C" {
#endif

enum h2d_test_http { H2D_TEST_HTTP1, H2D_TEST_HTTP2 };

/* A row of a table of routes, which may be the folder's own: #define ROUTE H2D_TEST_ROUTE, and
 * #include "routes.def" between the braces of an array. */
struct h2d_test_route {
	const char *file;
	int line;
	const char *method, *pattern, *name, *body;
	const struct h2d_handler *handler;
};
#define H2D_TEST_ROUTE(method, pattern, handler, body) \
	{ __FILE__, __LINE__, #method, pattern, #handler, #body, &h2d_handler_##handler },

/* A server with these n routes; what none of them owns is 404. The handlers' worker_init() is
 * called. */
struct h2d_test *h2d_test_open(
	enum h2d_test_http http, const struct h2d_test_route *routes, unsigned n);

/*
 * Has the server that is opened next this value of a handler's key, as h2d.conf has it (a string or
 * a path without quotes); the others are on their defaults. A key that conf.def has not, or a value
 * that it does not take, stops the program.
 */
void h2d_test_key(const char *handler, const char *key, const char *value);

/* The client is gone, then the worker: gone() and worker_exit() are called. */
void h2d_test_close(struct h2d_test **t);

/* Sends a request without a body. fields: name, value, …, NULL; or NULL for none. */
void h2d_test_ask(
	struct h2d_test *t, const char *method, const char *path, const char *const *fields);

/* Sends the head of a request with a body; length: -1 is not said. */
void h2d_test_begin(struct h2d_test *t, const char *method, const char *path,
	const char *const *fields, int64_t length);

/* Sends a piece of that body, and its end. What the handler gives no credit for waits. */
void h2d_test_piece(struct h2d_test *t, const void *data, size_t len);
void h2d_test_end(struct h2d_test *t);

/* The client goes away in the middle of the request; gone() is called. Another request may follow.
 */
void h2d_test_leave(struct h2d_test *t);

/* ms milliseconds pass, and timers fire. */
void h2d_test_pass(struct h2d_test *t, uint64_t ms);

/* Waits until the threads have done what h2d_work(), h2d_store() and h2d_reply_file() gave them. */
void h2d_test_wait(struct h2d_test *t);

/* Another worker publishes a message (h2d_publish()); handlers that have subscribed hear it before
 * this returns, as they hear their own before a call of the test returns. */
void h2d_test_publish(struct h2d_test *t, const char *topic, const void *data, size_t len);

/* A file that h2d_store() has stored, "name" or "folder/name", in a folder that is empty when the
 * server opens; everybody may write there. Ends in NUL, lives until the next such call; NULL: there
 * is none. */
const char *h2d_test_file(struct h2d_test *t, const char *name, size_t *len);

/* The answer so far: its status, 0 if there is none; a field (the first of that name, ends in
 * NUL; NULL if absent); its content, which ends in NUL; whether it is complete. They live until the
 * next call that is not one of these. */
int h2d_test_status(const struct h2d_test *t);
const char *h2d_test_field(const struct h2d_test *t, const char *name);
const char *h2d_test_content(const struct h2d_test *t, size_t *len);
bool h2d_test_complete(const struct h2d_test *t);

#ifdef __cplusplus
}
#endif

#endif
