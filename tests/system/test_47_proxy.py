"""Locations with a proxy: what an application gets of a request, and a client of its answer."""
import contextlib
import os
import re
import threading

import pytest

from client import Closed
from client_ca import ClientCa
from test_42_client_certificates import connect as connect_as
from procs import DEADLINE
from test_47_duplex import TRAILERS, Talk2, talk  # noqa: F401 (fixture)
from test_47_handlers import post
from upstream import Upstream
from users import basic, hashed, put_users


def link(server, speak, how="tcp", **options):
	return (server.connect if speak == "h2" else server.h1)(how, **options)


@pytest.fixture(params=["tcp", "unix"])
def behind(request):
	"""How the application listens."""
	return request.param


@pytest.fixture
def upstream(h2d, behind, tmp_path):
	"""Made behind h2d, so that it has gone when the servers are looked at."""
	server = Upstream(str(tmp_path / "app.sock") if behind == "unix" else None)
	yield server
	server.close()
	assert server.faults() == []


@pytest.fixture
def proxied(h2d, upstream):
	"""A server before it. keys: of the location; server: more of the server block."""
	def start(keys="", at="/", server="", **options):
		options.setdefault("listens", ("tcp",))
		return h2d(server='%s location "%s" { proxy = "%s"  %s }' % (server, at, upstream.name, keys), **options)
	return start


on_tcp = pytest.mark.parametrize("behind", ["tcp"], indirect=True)


# --- requests -----------------------------------------------------------------------------------------

METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "MKCOL", "COPY", "REPORT", "BREW", "M-SEARCH", "x"]


def test_methods(proxied, upstream, speak):
	"""Those that h2d does not know, too; with a body and without."""
	with link(proxied(), speak) as c:
		for i, method in enumerate(METHODS):
			assert c.request(method, "/m").status == 200, method
			assert (upstream.last.method, upstream.last.all("transfer-encoding")) == (method, [])
			answer = post(c, "/m", b"12345", method=method)
			assert (answer.status, answer.body) == (200, b"12345"), method
			assert (upstream.last.method, upstream.last.get("content-length"), len(upstream.requests)) == (method, "5", 2 * i + 2)
		answer = c.request("HEAD", "/length/7")
		assert (answer.status, answer.body, answer.get("content-length")) == (200, b"", "7")
	assert len(upstream.connections) == 1


TARGETS = ["/", "/a%2Fb", "/a%2fb/", "/a//b", "/a\\b", "/a/b//", "/%61bc", "/a%20b?x=%2F&y=%", "/?", "/a?", "/a;x=1/b", "/~x", "/%E4%B8%AD", "/a?../b", "/...",
	"/a'b(c)", "/healthz/", "/a?/%2e%2e/"]


@on_tcp
def test_targets(proxied, upstream, speak):
	"""As the client wrote them."""
	with link(proxied(), speak) as c:
		for target in TARGETS:
			assert c.get(target).status == 200, target
			assert upstream.last.target == target
	if speak == "h1":
		with link(proxied(), "h1") as c:
			assert c.get("http://localhost/a%2Fb?c").status == 200
			assert (upstream.last.target, upstream.last.get("host")) == ("/a%2Fb?c", "localhost")


DOTS = ["/a/../b", "/..", "/../a", "/a/..", "/a/./b", "/.", "/a/.", "/a/%2e%2e/b", "/a/.%2E/b", "/a/%2e/b", "/a/..%2fb", "/a%2f..%2fb", "/a%2f../b",
	"/a%2F%2e%2E%2Fb", "/a//../b", "/%2e%2e", "/a/b/%2e?x",
	# as some applications read them: a backslash is a slash, a segment ends at ";", two slashes name a host
	"/a\\..\\b", "/a%5c..%5Cb", "/a/..;/b", "/a/..;x=1/b", "/a/.;", "//", "//x/a", "/\\x/a", "/%5Cx/a", "/;/a", "/%2F/a"]


@on_tcp
def test_dot_segments_are_refused(proxied, upstream, speak):
	with link(proxied(), speak) as c:
		for target in DOTS:
			assert c.get(target).status == 400, target
		assert c.get("/a").status == 200
	assert len(upstream.requests) == 1


TRICKS = ["/", "/secret", "//secret", "/public", "/publicx", "//public/x", "/public%2Fx", "/public%2fx", "/%2Fpublic/x", "/public//../x", "/public/../x",
	"/public/%2e%2e/secret", "/public/..%2Fsecret", "/public%2F..%2Fsecret", "/public%2F../secret", "//public//x", "/%2F/public/x", "/./public/x",
	"/x/../public/x", "/x/%2e%2e/public/x", "/PUBLIC/x", "/public\\x", "/public%5Cx", "/public%00/x", "/public;/x", "/public?/x", "/public/%2Fx"]
OPEN = ["/public/", "/public/x", "/public//x", "/public/a%2Fb", "/%70ublic/x", "/public/x?/../y", "/p%75blic//x"]


@on_tcp
def test_targets_that_mean_another_location(h2d, upstream, speak):
	"""Whatever an application makes of slashes: without the password it gets what lies below /public/, and no more."""
	server = h2d.new(listens=("tcp",))
	users = put_users(server, ann=hashed("secret"))
	server.write_conf(server='proxy = "%s"  location "/" { auth-basic-file = "%s" }  location "/public/" { satisfy = any }' % (upstream.name, users))
	server.start()
	with link(server, speak) as c:
		for target in TRICKS:
			assert c.get(target).status in (400, 401, 404), target
		assert upstream.requests == []
		for target in OPEN:
			assert c.get(target).status == 200, target
			assert upstream.last.target == target
		assert c.get("/secret", basic("ann", "secret")).status == 200


@on_tcp
def test_a_guarded_location_in_an_open_one(h2d, upstream, speak):
	"""No spelling of /admin/ leads there without the password."""
	server = h2d.new(listens=("tcp",))
	users = put_users(server, ann=hashed("secret"))
	server.write_conf(server='proxy = "%s"  location "/admin/" { auth-basic-file = "%s" }' % (upstream.name, users))
	server.start()
	with link(server, speak) as c:
		for target in ("/admin/", "/admin/x", "//admin/x", "/%61dmin/x", "/admin%2Fx", "/%2Fadmin/x", "/x/../admin/y", "/x/%2e%2e/admin/y", "/admin//x", "/./admin/x",
				"//%61dmin%2fx", "/%2e/admin/x", "/x/..%2fadmin/y", "/%2e%2fadmin/x"):
			assert c.get(target).status in (400, 401), target
		assert upstream.requests == []
		assert c.get("/admin/x", basic("ann", "secret")).status == 200
		assert c.get("/x").status == 200


@on_tcp
def test_a_prefix(proxied, upstream, speak):
	with link(proxied('proxy-prefix = "/v2/"', at="/api/"), speak) as c:
		for target, wanted in (("/api/", "/v2/"), ("/api/x%2Fy?q=/api/", "/v2/x%2Fy?q=/api/"), ("/api/x//x", "/v2/x//x"), ("/api/api/", "/v2/api/"), ("/api/?x", "/v2/?x")):
			assert c.get(target).status == 200
			assert upstream.last.target == wanted
		n = len(upstream.requests)
		for target in ("/api//x", "/api/%2Fx", "/api/;/x"):
			assert c.get(target).status == 400, target
		for target in ("/%61pi/x", "//api/x", "/api%2Fx", "/api/./x", "/x/../api/"):
			assert c.get(target).status == 400, target
		assert c.get("/apix").status == 404
		assert len(upstream.requests) == n


@on_tcp
def test_an_inherited_prefix(proxied, upstream, speak):
	"""It replaces the title of the block that sets it."""
	with link(proxied(at="/api/", server='proxy-prefix = "/v2/"'), speak) as c:
		assert c.get("/api/x").status == 200
		assert upstream.last.target == "/v2/api/x"


@on_tcp
def test_hosts(proxied, upstream, speak):
	"""The client's, or one that the configuration says; what the client asked for is told beside it."""
	for keys, host in (("", "Example.com:81"), ('proxy-host = "app.internal"', "app.internal")):
		with link(proxied(keys), speak, authority="Example.com:81") as c:
			assert c.get("/", [("x-forwarded-host", "evil")]).status == 200
			assert (upstream.last.get("host"), upstream.last.get("x-forwarded-host")) == (host, "Example.com:81")


def names(request):
	return {name for name, _ in request.fields}


OF_CONNECTIONS = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect"}


def test_fields(proxied, upstream, speak, behind):
	"""All arrive but those of the connection, those that it names, and what an application could take for h2d's own."""
	server = proxied()
	fields = [("x-a", "1"), ("te", "trailers"), ("accept", "*/*"), ("x-a", "2"), ("x_real_ip", "192.0.2.9"), ("x-empty", ""),
		("content_length", "5"), ("authorization", "Basic eDp5"), ("range", "bytes=0-1"), ("trailer", "x-b")]
	hop = [("connection", "X-B, close-not"), ("connection", "x-c"), ("x-b", "2"), ("x-c", "3"), ("keep-alive", "timeout=5"), ("proxy-connection", "keep-alive"),
		("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA")]
	with link(server, speak, seen=None) as c:
		assert c.get("/a", fields + (hop if speak == "h1" else [])).status == 200
		got = upstream.last
		assert not names(got) & (OF_CONNECTIONS | {"x-b", "x-c"})
		assert not any("_" in name for name in names(got))
		assert got.all("x-a") == ["1", "2"]
		assert [got.get(name) for name in ("accept", "x-empty", "authorization", "range")] == ["*/*", "", "Basic eDp5", "bytes=0-1"]
		assert got.get("via") == ("2.0 h2d" if speak == "h2" else "1.1 h2d")
		assert [name for name, _ in got.fields][0] == "host"


SPOOFED = [("x-forwarded-for", "192.0.2.9"), ("x-forwarded-for", "192.0.2.8"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.example"),
	("x-forwarded-port", "443"), ("x-forwarded-prefix", "/x"), ("forwarded", "for=192.0.2.9"), ("x-real-ip", "192.0.2.9"), ("x-request-id", "mine-0123456789abcdef")]


@on_tcp
def test_a_stranger_says_who_it_is(proxied, upstream, speak):
	with link(proxied(conf="request-id = true"), speak) as c:
		answer = c.get("/", SPOOFED)
		got = upstream.last
		assert (got.get("x-forwarded-for"), got.get("x-real-ip"), got.get("x-forwarded-proto"), got.get("x-forwarded-host")) == (
			"127.0.0.1", "127.0.0.1", "http", "localhost")
		assert not names(got) & {"x-forwarded-port", "x-forwarded-prefix", "forwarded"}
		assert got.get("x-request-id") == answer.get("x-request-id") != "mine-0123456789abcdef"


@on_tcp
def test_a_trusted_proxy_says_who_the_client_is(proxied, upstream, speak):
	server = proxied(conf='request-id = true\ntrusted-proxies = {"127.0.0.1", "192.0.2.8"}\nclient-address = x-forwarded-for')
	with link(server, speak) as c:
		answer = c.get("/", SPOOFED)
		got = upstream.last
		assert re.split(", *", got.get("x-forwarded-for")) == ["192.0.2.9", "192.0.2.8", "127.0.0.1"]
		assert (got.get("x-real-ip"), got.get("x-forwarded-proto"), got.get("x-forwarded-host")) == ("192.0.2.9", "https", "evil.example")
		assert (got.get("x-forwarded-port"), got.get("x-forwarded-prefix"), got.get("forwarded")) == ("443", "/x", "for=192.0.2.9")
		assert got.get("x-request-id") == answer.get("x-request-id") == "mine-0123456789abcdef"
		assert c.get("/").status == 200
		assert (upstream.last.get("x-forwarded-for"), upstream.last.get("x-real-ip")) == ("127.0.0.1", "127.0.0.1")


@on_tcp
def test_a_client_by_a_unix_socket(proxied, upstream, speak):
	with link(proxied(listens=("tcp", "unix")), speak, "unix") as c:
		assert c.get("/", [("x-real-ip", "192.0.2.9"), ("x-forwarded-for", "192.0.2.9")]).status == 200
		assert not names(upstream.last) & {"x-real-ip", "x-forwarded-for"}


@on_tcp
def test_https(proxied, upstream, speak):
	with link(proxied(listens=("tcp", "tls")), speak, "tls") as c:
		assert c.get("/").status == 200
		assert upstream.last.get("x-forwarded-proto") == "https"


@on_tcp
def test_cookies(proxied, upstream, speak):
	"""RFC 9113, 8.2.3: HTTP/1.1 has one line."""
	fields = [("cookie", "a=1"), ("x-a", "1"), ("cookie", "b=2"), ("cookie", "c=3; d=4")] if speak == "h2" else [("cookie", "a=1; b=2; c=3; d=4")]
	with link(proxied(), speak) as c:
		assert c.get("/", fields).status == 200
		assert upstream.last.get("cookie") == "a=1; b=2; c=3; d=4"


@on_tcp
def test_the_subject_of_a_certificate(h2d, upstream, speak, tmp_path):
	"""Only h2d can say it."""
	ca = ClientCa(tmp_path, "house")
	alice = ca.issue("alice", "/O=Example/CN=alice")
	server = h2d(server='tls { client-ca = "%s"  client-verify = optional }  proxy = "%s"  proxy-subject-header = "x-client-subject"' % (ca.cert, upstream.name))
	for who, subject in ((alice, "CN=alice,O=Example"), (None, None)):
		with connect_as(server, "localhost", who, h1=speak == "h1") as c:
			for fields in ([], [("x-client-subject", "CN=root")], [("x_client_subject", "CN=root")]):
				assert c.get("/", fields).status == 200
				assert upstream.last.get("x-client-subject") == subject
				assert "x_client_subject" not in names(upstream.last)


@on_tcp
def test_what_the_core_refuses(proxied, upstream, speak):
	"""It never comes to the application."""
	with link(proxied(conf="limits { client-header-size = 8K }"), speak) as c:
		assert c.get("/" + "x" * 9000).status in (414, 431)
	with link(proxied(server="client-max-body-size = 10"), speak) as c:
		assert post(c, "/", b"x" * 11).status == 413
		assert c.get("/healthz").status == 200
	assert upstream.requests == []


# --- answers ------------------------------------------------------------------------------------------


def roomy(c):
	"""A client of long heads."""
	if hasattr(c, "conn"):
		c.conn.decoder.max_header_list_size = 1 << 20
	return c


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_answers(proxied, upstream, speak, how, dispatch):
	"""Content by length, in chunks, up to the end, and none; fields of the connection stay behind."""
	chunks = [("content-type", "application/x"), ("transfer-encoding", "chunked"), ("x-one", "1"), ("connection", "x-one"), ("keep-alive", "x"),
		("proxy-connection", "x"), ("etag", '"a"'), ("x-two", "2"), ("server", "app"), ("date", "Sat, 28 Nov 2026 00:00:00 GMT")]

	def chunked(connection, request):
		connection.head(200, chunks)
		connection.send(b"5;a=b\r\n12345\r\n5\r\n67890\r\n0;x\r\n\r\n")

	def closed(connection, request):
		connection.head(200, [("content-type", "application/x")], "1.0")
		connection.send(b"to the end")
		return False
	upstream.on("/chunked", chunked)
	upstream.on("/closed", closed)
	server = proxied(listens=(how,), dispatch=dispatch)
	with link(server, speak, how) as c:
		for n in (0, 1, 100000):
			answer = c.get("/length/%d" % n)
			assert (answer.status, answer.body, answer.get("content-length")) == (200, bytes(n), str(n))
		answer = c.get("/chunked")
		assert (answer.status, answer.body, answer.get("etag"), answer.get("x-two")) == (200, b"1234567890", '"a"', "2")
		assert [answer.get(name) for name in ("x-one", "keep-alive", "proxy-connection")] == [None] * 3
		assert (answer.get("server"), answer.get("date")) == ("app", "Sat, 28 Nov 2026 00:00:00 GMT")
		assert len(upstream.connections) == 1
		assert c.get("/closed").body == b"to the end"
		assert c.get("/length/1").status == 200
	assert len(upstream.connections) == 2


@on_tcp
def test_answers_without_content(proxied, upstream, speak):
	"""HEAD's length is that of the content; 204 and 304 end with their heads."""
	upstream.on("/head", lambda c, r: c.head(200, [("content-type", "application/x"), ("content-length", "1000000"), ("etag", '"b"')]))
	upstream.on("/chunks", lambda c, r: c.head(200, [("content-type", "application/x"), ("transfer-encoding", "chunked")]))
	upstream.on("/204", lambda c, r: c.head(204, [("x-a", "1")]))
	upstream.on("/304", lambda c, r: c.head(304, [("x-a", "1"), ("etag", '"b"'), ("content-length", "77")]))
	with link(proxied(), speak) as c:
		for _ in range(2):
			answer = c.request("HEAD", "/head")
			assert (answer.status, answer.body, answer.get("content-length")) == (200, b"", "1000000")
			assert c.request("HEAD", "/chunks").status == 200
			for status in (204, 304):
				answer = c.get("/%d" % status, [("if-none-match", '"b"')])
				assert (answer.status, answer.body, answer.get("x-a")) == (status, b"", "1")
			assert c.get("/length/3").body == bytes(3)
	assert len(upstream.connections) == 1


@pytest.mark.parametrize("status", [200, 201, 206, 302, 400, 401, 404, 416, 418, 429, 500, 503, 599])
@on_tcp
def test_statuses(proxied, upstream, speak, status):
	"""What the application says is what the client gets, and no error page."""
	upstream.on("/s", lambda c, r: c.reply(b"12345", status, [("x-a", "1"), ("www-authenticate", "x"), ("location", "/b"), ("retry-after", "7")]))
	with link(proxied(), speak, seen=None) as c:
		answer = c.get("/s")
		assert (answer.status, answer.body, answer.get("x-a"), answer.get("location"), answer.get("retry-after")) == (status, b"12345", "1", "/b", "7")


@on_tcp
def test_all_fields_arrive(proxied, upstream, speak, how):
	"""300 of them, 60 of these cookies, in their order."""
	fields = [("x-f%d" % i, "v%d" % i) if i % 5 else ("set-cookie", "c%d=%d; path=/" % (i, i)) for i in range(300)]
	upstream.on("/many", lambda c, r: c.reply(b"12345", 200, fields))
	with roomy(link(proxied(listens=(how,)), speak, how)) as c:
		for _ in range(2):
			answer = c.get("/many")
			assert (answer.status, answer.body) == (200, b"12345")
			assert [pair for pair in answer.headers if pair[0].startswith(("x-f", "set-cookie"))] == fields


@on_tcp
def test_a_long_head(proxied, upstream, speak):
	"""Up to 60 KiB in one field or in many; what is longer than 64 is no answer."""
	for path, fields in (("/one", [("x-long", "y" * 60000)]), ("/many", [("x-l%d" % i, "y" * 990) for i in range(58)])):
		upstream.on(path, lambda c, r, fields=fields: c.reply(b"12345", 200, fields))
	upstream.on("/over", lambda c, r: c.reply(b"12345", 200, [("x-long", "y" * 70000)]))
	server = proxied()
	with roomy(link(server, speak)) as c:
		for path in ("/one", "/many", "/one"):
			answer = c.get(path)
			assert (answer.status, answer.body) == (200, b"12345"), path
			assert sum(len(value) for name, value in answer.headers if name.startswith("x-l")) in (60000, 58 * 990)
		assert c.get("/over").status == 502
	server.log.wait(r"upstream %s: .*: GET /over; " % re.escape(upstream.name))


@on_tcp
def test_trailers(proxied, upstream, speak, talk):
	"""Both ways."""
	with link(proxied(), speak) as c:
		t = talk(c, "/echo")
		t.send(b"12345")
		t.until(lambda: len(t.content) == 5)
		t.end(TRAILERS)
		assert t.whole() == b"12345" and t.trailers == TRAILERS
		assert upstream.last.trailers == TRAILERS
		assert c.get("/echo").body == b""


@on_tcp
def test_interim_responses(proxied, upstream, speak):
	"""Those but 100, which nobody waits for; in front of the answer."""
	hints = [("link", "</a.css>; rel=preload"), ("connection", "x-hop"), ("x-hop", "1")]

	def early(connection, request):
		connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
		for _ in range(2):
			connection.head(103, hints)
		connection.head(102)
		connection.reply(b"12345")
	upstream.on("/early", early)
	with link(proxied(), speak) as c:
		answer = c.get("/early")
		assert (answer.status, answer.body) == (200, b"12345")
		informed = [(status, fields) for status, fields in answer.informed if status != 102]
		assert informed == [(103, {"link": "</a.css>; rel=preload"})] * 2
		assert 100 not in [status for status, _ in answer.informed]
	assert len(upstream.connections) == 1


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
@on_tcp
def test_both_ways_at_once(proxied, upstream, speak, talk, how, dispatch):
	"""Each piece is back before the next; then more than fits in between."""
	with link(proxied(listens=(how,), dispatch=dispatch), speak, how) as c:
		t, said = talk(c, "/echo"), b""
		for i in range(10):
			said += b"%d" % i * 1000
			t.send(b"%d" % i * 1000)
			t.until(lambda: len(t.content) == len(said))
		t.end()
		assert t.whole() == said
		data = os.urandom(2000000)
		t = talk(c, "/echo", length=len(data))
		t.send(data)
		t.end()
		assert t.whole() == data
	assert upstream.requests[-1].get("content-length") == "2000000"


@pytest.mark.parametrize("closes", [False, True])
@on_tcp
def test_an_answer_in_the_midst_of_an_upload(proxied, upstream, speak, talk, closes):
	"""The client gets it, whole, whether the application reads on or not; no other request gets what is left of the body."""
	def early(connection, request):
		next(request.pieces())
		connection.reply(b"too large", 413)
		return not closes
	upstream.on("/early", early)
	server = proxied()
	with link(server, speak, seen=None) as c:
		t = talk(c, "/early", length=3000000)
		t.send(b"x" * 1000)
		t.until(lambda: t.status is not None)
		assert t.whole() == b"too large" and t.status == 413
	with link(server, speak) as c:
		assert c.get("/length/5").body == bytes(5)


@pytest.mark.parametrize("reads", [False, True])
@on_tcp
def test_an_early_answer_to_a_client_that_goes_on(proxied, upstream, speak, talk, reads):
	"""Whether the application takes the rest or closes the connection: it has the answer, if it reads while it sends."""
	def early(connection, request):
		next(request.pieces())
		connection.reply(b"too large", 413, () if reads else [("connection", "close")])
		return reads
	upstream.on("/early", early)
	server = proxied()
	for _ in range(20):
		with link(server, speak, seen=None) as c:
			t = talk(c, "/early", length=3000000)
			with contextlib.suppress(Closed):
				t.send_on(bytes(3000000))
			t.until(lambda: t.status is not None and len(t.content or b"") == 9)
			assert t.status == 413 and bytes(t.content) == b"too large"


# --- expect: 100-continue -----------------------------------------------------------------------------

EXPECTS = [("expect", "100-continue")]


@on_tcp
def test_the_application_says_when_to_continue(proxied, upstream, speak, talk):
	"""Not before: none of the body has come by then."""
	def patient(connection, request):
		assert request.get("expect") == "100-continue" and connection.at == len(connection.raw)
		connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
		connection.reply(request.whole())
	upstream.on("/patient", patient)
	with link(proxied(), speak) as c:
		for length in (5, None):
			t = talk(c, "/patient", EXPECTS, length=length)
			t.until(lambda: t.informed)
			t.send(b"12345")
			t.end()
			assert t.whole() == b"12345" and t.informed == [100]


@on_tcp
def test_the_application_refuses_the_body(proxied, upstream, speak, talk):
	"""It is never sent, and the client is not told to continue."""
	def refuses(connection, request):
		connection.reply(b"no", 417)
		return False
	upstream.on("/no", refuses)
	with link(proxied(), speak, seen=None) as c:
		t = talk(c, "/no", EXPECTS, length=5)
		t.until(lambda: t.status is not None)
		assert t.whole() == b"no" and (t.status, t.informed) == (417, [])
	upstream.wait_over(1)
	assert bytes(upstream.connections[0].raw).endswith(b"\r\n\r\n")


@pytest.mark.parametrize("speak", ["h2"])
@on_tcp
def test_a_body_that_was_refused_and_came_all_the_same(proxied, upstream, speak):
	"""It was dropped: its connection, on which the application may still wait for it, gets no other request."""
	rest = threading.Event()

	def early(connection, request):
		connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345")
		assert rest.wait(DEADLINE)
		connection.send(b"67890")
		return True
	upstream.on("/early", early)
	with link(proxied(), speak, seen=None) as c:
		t = Talk2(c, "/early", EXPECTS, length=5)
		t.until(lambda: t.status is not None)
		t.send(b"ABCDE")
		assert c.get("/length/1").status == 200  # behind it on the same connection
		rest.set()
		assert t.whole() == b"1234567890"
		upstream.wait_over(1)
		assert c.get("/length/1").status == 200
	assert [len(connection.requests) for connection in upstream.connections] == [1, 2]


@on_tcp
def test_a_long_upgrade(proxied, upstream):
	with link(proxied(), "h1") as c:
		for n in (64, 65, 1000, 8000):
			assert c.get("/length/5", [("connection", "upgrade"), ("upgrade", "a" * n)]).status == 200
			assert upstream.last.get("upgrade") == ("a" * n if n <= 64 else None)


@on_tcp
def test_an_application_that_does_not_know_expect(proxied, upstream, speak, talk):
	"""After a second it gets the body all the same."""
	with link(proxied(), speak) as c:
		t = talk(c, "/whole", EXPECTS, length=5)
		t.until(lambda: t.informed)
		t.send(b"12345")
		t.end()
		assert t.whole() == b"12345" and t.informed == [100]


@on_tcp
def test_a_client_that_does_not_wait(proxied, upstream, speak, talk):
	"""It sends the body with expect; the application answers without a 100."""
	upstream.on("/final", lambda connection, request: connection.reply(request.whole()))
	with link(proxied(), speak) as c:
		answer = c.request("POST", "/final", EXPECTS + ([("content-length", "5")] if speak == "h2" else []), b"12345")
		assert (answer.status, answer.body) == (200, b"12345")
