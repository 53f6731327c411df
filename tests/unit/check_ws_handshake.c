/* check_ws_handshake: keys, origins beside authorities, and which subprotocol is chosen. */
#include <stdio.h>

#include "http/ws.h"

#include "unit.h"

static const struct {
	const char *key;
	bool valid;
} keys[] = {
	{ "dGhlIHNhbXBsZSBub25jZQ==", true },
	{ "AAAAAAAAAAAAAAAAAAAAAA==", true },
	{ "", false },
	{ "dGhlIHNhbXBsZSBub25jZQ", false },
	{ "dGhlIHNhbXBsZSBub25jZQ==\n", false },
	{ "dGhlIHNhbXBsZSBub25jZSE=", false }, /* 17 bytes */
	{ "dGhlIHNhbXBsZSBub25j!Q==", false },
	{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", false },
};

TEST_ROWS(test_key, keys)
{
	ck_assert(ws_key_valid(slice_str(keys[_i].key)) == keys[_i].valid);
}

static const struct {
	const char *origin, *authority;
	bool same;
} origins[] = {
	{ "https://example.com", "example.com", true },
	{ "https://EXAMPLE.com", "example.com", true },
	{ "https://example.com", "example.com:443", true },
	{ "https://example.com:443", "example.com", true },
	{ "http://example.com", "example.com:80", true },
	{ "http://example.com:8080", "example.com:8080", true },
	{ "http://[::1]:8080", "[::1]:8080", true },
	{ "http://[::1]", "[::1]", true },
	{ "http://example.com", "example.com:443", false },
	{ "https://example.com", "example.com:80", false },
	{ "https://example.com", "example.com:8443", false },
	{ "https://example.com:8443", "example.com", false },
	{ "https://evil.example", "example.com", false },
	{ "https://example.com.evil.example", "example.com", false },
	{ "https://evilexample.com", "example.com", false },
	{ "https://example.com@evil.example", "example.com", false },
	{ "https://example.com/", "example.com", false },
	{ "http://[::1]:8080", "[::2]:8080", false },
	{ "https://", "example.com", false },
	{ "https://example.com", "", false },
	{ "https://", "", false },
	{ "file://example.com", "example.com", false },
	{ "example.com", "example.com", false },
	{ "null", "null", false },
	{ "", "", false },
};

TEST_ROWS(test_origin, origins)
{
	ck_assert(ws_origin_same(slice_str(origins[_i].origin), slice_str(origins[_i].authority),
			  false) == origins[_i].same);
}

/* A page that came without TLS may be anybody's, and the user's cookies go to wss: as well. */
TEST(test_origin_of_https)
{
	static const char *const authorities[] = { "example.com", "example.com:443",
		"example.com:80", "example.com:8443" };
	char origin[64];

	for (unsigned i = 0; i < sizeof(authorities) / sizeof(authorities[0]); i++) {
		struct slice authority = slice_str(authorities[i]);

		snprintf(origin, sizeof(origin), "http://%s", authorities[i]);
		ck_assert(ws_origin_same(slice_str(origin), authority, false));
		ck_assert(!ws_origin_same(slice_str(origin), authority, true));
		snprintf(origin, sizeof(origin), "https://%s", authorities[i]);
		ck_assert(ws_origin_same(slice_str(origin), authority, true));
	}
}

TEST(test_listed)
{
	static const char list[] = " https://a.example  https://b.example:8443 ";

	ck_assert(ws_origin_listed(SLICE("https://a.example"), list));
	ck_assert(ws_origin_listed(SLICE("https://B.example:8443"), list));
	ck_assert(!ws_origin_listed(SLICE("https://b.example"), list));
	ck_assert(!ws_origin_listed(SLICE("https://a.exampl"), list));
	ck_assert(!ws_origin_listed(SLICE(""), list));
	ck_assert(!ws_origin_listed(SLICE("https://a.example"), ""));
	ck_assert(ws_origin_listed(SLICE("null"), "*"));
}

static const struct {
	const char *spoken, *offered, *chosen;
} protocols[] = {
	{ "chat.v2 chat.v1", "chat.v1, chat.v2", "chat.v2" },
	{ "chat.v2 chat.v1", "chat.v1", "chat.v1" },
	{ "chat.v2", "chat.v1", "" },
	{ "chat.v2", "CHAT.V2", "" },
	{ "chat.v2", "", "" },
	{ "", "chat.v1", "" },
	{ "chat", " ,chat.v1,, chat ,", "chat" },
};

TEST_ROWS(test_protocol, protocols)
{
	struct slice chosen =
		ws_protocol_choose(protocols[_i].spoken, slice_str(protocols[_i].offered));

	ck_assert(slice_eq(chosen, slice_str(protocols[_i].chosen)));
}

UNIT_MAIN_PURE("ws_handshake")
