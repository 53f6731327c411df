/*
 * fuzz_h1: a client's bytes against the h1 protocol with two routes, whole and in pieces: what is
 * answered must not depend on how they come (but for 100-continue, which is about just that).
 */
#include "../unit/proto_unit.h"
#include "base/log.h"
#include "driver.h"

static void take(void *ctx, const void *data, size_t n)
{
	fwrite(data, 1, n, ctx);
}

/* FNV-1a, but for a field that a response cannot have if a fault behind its request is not seen
 * yet. */
static uint64_t hash_of(const char *p, size_t n)
{
	static const char close[] = "connection: close\r\n";
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++) {
		if (n - i >= sizeof(close) - 1 && memcmp(p + i, close, sizeof(close) - 1) == 0)
			i += sizeof(close) - 2;
		else
			hash = (hash ^ (uint8_t)p[i]) * 0x100000001b3;
	}
	return hash;
}

/* Gives the server all bytes, step at a time, until it has ended. */
static void give(const uint8_t *data, size_t size, size_t step, FILE *to)
{
	unsigned idle = 0;

	while (size > 0 && !proto_over(server)) {
		size_t n = size < step ? size : step, taken = n;
		uint8_t *piece = malloc(n);

		memcpy(piece, data, n);
		H2D_ASSERT(server->ops->input(server, piece, &taken, 1000) == NULL);
		free(piece);
		proto_unit_pull(server, &out, 1024, take, to);
		server->ops->waits(server);
		idle = taken == 0 ? idle + 1 : 0;
		H2D_ASSERT(idle < 2); /* everything was answered at once */
		data += taken;
		size -= taken;
	}
}

static uint64_t answers(const uint8_t *data, size_t size, size_t step)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	uint64_t hash;

	H2D_ASSERT(to != NULL);
	proto_unit_open(h1_open);
	give(data, size, step, to);
	if (size % 2 == 0 && !proto_over(server) &&
		server->ops->look(server, 0, ERR_TIMEOUT_HEADER) == NULL)
		proto_unit_pull(server, &out, 1024, take, to);
	server->ops->drain(server, true);
	proto_unit_pull(server, &out, 1024, take, to);
	server->ops->close(&server);
	outq_clear(&out);
	fclose(to);
	hash = hash_of(text, length);
	free(text);
	return hash;
}

static bool about_pieces(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 6 <= size; i++)
		if (strncasecmp((const char *)data + i, "expect", 6) == 0)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct route_row rows[] = {
		{ "rows", 1, "POST", "/p/{x}", "summing", "BODY_STREAM" },
	};
	static const struct h2d_handler *const handlers[] = { &summing };
	uint64_t whole;

	if (routes.table.routes == NULL) {
		proto_unit_init(rows, 1, handlers, &echo);
		env.conf.header_fields = 32;
		env.conf.header_size = 1024;
		log_max = LEVEL_ALERT;
	}
	whole = answers(data, size, SIZE_MAX);
	if (!about_pieces(data, size))
		H2D_ASSERT(answers(data, size, 1) == whole && answers(data, size, 7) == whole);
	return 0;
}
