/* check_hello: hello's tests without a server, over HTTP/1.1 and HTTP/2. `make check-handlers` runs
 * them. */
#include "h2d/test.h"

#include <stdio.h>
#include <string.h>

extern const struct h2d_handler h2d_handler_hello;

static const struct h2d_test_route routes[] = { H2D_TEST_ROUTE(
	GET, "/hello/{name}", hello, BODY_NONE) };

static int greets(struct h2d_test *t)
{
	h2d_test_request(t, "GET", "/hello/w%C3%B6rld", NULL);
	return h2d_test_status(t) == 200 &&
	       strcmp(h2d_test_content(t, NULL), "Hello, w\xc3\xb6rld!\n") == 0;
}

int main(void)
{
	int faults = 0;

	for (int http = H2D_TEST_HTTP1; http <= H2D_TEST_HTTP2; http++) {
		struct h2d_test *t = h2d_test_open((enum h2d_test_http)http, routes, 1);

		if (!greets(t)) {
			fprintf(stderr, "HTTP/%d: it does not greet\n", http + 1);
			faults++;
		}
		h2d_test_close(&t);
	}
	return faults > 0;
}
