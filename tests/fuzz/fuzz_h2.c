/*
 * fuzz_h2: what follows a client's preface, against the h2 protocol with two routes. "--MARK--" in
 * the input splits it into separate reads. Output is made after each read and must never fail.
 */
#include "../unit/proto_unit.h"
#include "driver.h"

static const char mark[] = "--MARK--";
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void drop(void *ctx, const void *data, size_t n)
{
	(void)ctx, (void)data, (void)n;
}

static void pull(void)
{
	proto_unit_pull(server, &out, 1024, drop, NULL);
}

static const struct err *give(const void *data, size_t n, uint64_t now)
{
	const struct err *err = NULL;

	for (size_t k, at = 0; err == NULL && at < n; at += k) {
		k = n - at;
		err = server->ops->input(server, (const uint8_t *)data + at, &k, now);
		if (err == NULL && k < n - at)
			H2D_ASSERT(server->ops->output(server, &out, 1 << 20) >= 0);
	}
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct route_row rows[] = {
		{ "rows", 1, "POST", "/p/{x}", "summing", "BODY_STREAM" },
	};
	static const struct h2d_handler *const handlers[] = { &summing };
	const struct err *err;

	if (routes.table.routes == NULL) {
		proto_unit_init(rows, 1, handlers, &hello);
		env.conf.header_fields = 32;
		env.conf.header_size = 2048;
		conf.receive_window = 1 << 20;
	}
	proto_unit_open(h2_open);
	err = give(preface, sizeof(preface) - 1, 1000);
	for (uint64_t now = 1000; err == NULL && size > 0; now += 100) {
		const uint8_t *m = memmem(data, size, mark, sizeof(mark) - 1);
		size_t n = m != NULL ? (size_t)(m - data) : size;

		err = give(data, n, now);
		pull();
		server->ops->waits(server);
		if (proto_over(server))
			break;
		n += m != NULL ? sizeof(mark) - 1 : 0;
		data += n;
		size -= n;
	}
	pull();
	server->ops->drain(server, true);
	pull();
	server->ops->close(&server);
	outq_clear(&out);
	return 0;
}
