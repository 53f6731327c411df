"""Responses of an application that are compressed on the way (key compress-responses)."""
import base64
import contextlib
import random
import threading
import zlib

import pytest

import procs
from client import Closed
from test_47_duplex import TRAILERS, talk  # noqa: F401 (fixture)
from test_47_proxy import behind, link, on_tcp, proxied, upstream  # noqa: F401 (fixtures)
from test_47_proxied import curl
from test_47_tunnels import accept, dial, hears

TEXT = b"".join(b"<p>line %d of a page</p>\n" % i for i in range(20000))
ALL = "compress-responses = true"
GZIP = [("accept-encoding", "gzip")]


def gunzip(data):
	return zlib.decompress(data, 31)


def says(body, fields, status=200):
	"""An answer with these fields, by content-length."""
	def say(connection, request):
		connection.head(status, [*fields, ("content-length", str(len(body)))])
		connection.send(b"" if request.method == "HEAD" else body)
	return say


def chunks(connection, fields, pieces, trailers=()):
	connection.head(200, [*fields, ("transfer-encoding", "chunked")])
	for piece in pieces:
		connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
	connection.send(b"0\r\n" + b"".join(b"%s: %s\r\n" % (n.encode(), v.encode()) for n, v in trailers) + b"\r\n")


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip"])
def test_a_client_decodes_it(proxied, upstream, speak, coding):
	upstream.on("/length", says(TEXT, [("content-type", "text/html; charset=utf-8"), ("etag", '"a"'), ("accept-ranges", "bytes")]))
	upstream.on("/chunks", lambda c, r: chunks(c, [("content-type", "application/json")], [TEXT[i:i + 9999] for i in range(0, len(TEXT), 9999)]))
	server = proxied(ALL)
	for path, etag, ranges in (("/length", 'W/"a"', "none"), ("/chunks", None, None)):
		assert curl("--http2-prior-knowledge" if speak == "h2" else "--http1.1", "--compressed", "-H", "accept-encoding: " + coding,
			server.url(path=path)) == TEXT
		with link(server, speak, seen=None) as c:  # seen: h2d has no such weak tags
			answer = c.get(path, [("accept-encoding", coding)])
		assert (answer.status, len(answer.body) < len(TEXT) // 5) == (200, True)
		assert [answer.get(name) for name in ("content-encoding", "vary", "content-length", "etag", "accept-ranges")] == \
			[coding, "accept-encoding", None, etag, ranges]


@on_tcp
def test_what_is_not_compressed(proxied, upstream, speak):
	"""By the client, by the type, by the length, and by the application's fields."""
	html = ("content-type", "text/html; charset=utf-8")
	cases = [  # fields of the answer, those of the request, whether caches have to know
		([html], [], True),
		([html], [("accept-encoding", "br")], True),
		([html], [("accept-encoding", "gzip;q=0")], True),
		([("content-type", "image/png")], GZIP, False),
		([("content-type", "nonsense")], GZIP, False),
		([], GZIP, False),
		([html, ("cache-control", "max-age=3, No-Transform")], GZIP, False),
		([html, ("content-encoding", "x-own")], GZIP, False),
		([html, ("content-range", "bytes 0-1/2")], GZIP, False),
		([html, ("repr-digest", "sha-256=:AAAA:")], GZIP, False),
	]
	with link(proxied('compress-responses = {"gzip"}'), speak, seen=None) as c:
		for fields, asked, varies in cases:
			upstream.on("/x", says(TEXT, fields))
			answer = c.get("/x", asked)
			assert (answer.body, answer.get("vary")) == (TEXT, "accept-encoding" if varies else None), fields
			assert answer.get("content-encoding") in (None, "x-own") and answer.get("content-length") == str(len(TEXT))
		for body, status in ((TEXT[:1023], 200), (TEXT, 206)):
			upstream.on("/x", says(body, [html], status))
			answer = c.get("/x", GZIP)
			assert (answer.status, answer.body, answer.get("content-encoding")) == (status, body, None)
		upstream.on("/x", says(TEXT, [html]))
		assert gunzip(c.get("/x", GZIP).body) == TEXT
		head = c.request("HEAD", "/x", GZIP)
		assert (head.get("vary"), head.get("content-encoding"), head.body) == ("accept-encoding", None, b"")


@on_tcp
def test_locations(h2d, upstream, speak):
	"""A location inherits the key, has its own types, and may have none."""
	upstream.on("/png", says(TEXT, [("content-type", "image/png")]))
	for path in ("/x", "/none/x"):
		upstream.on(path, says(TEXT, [("content-type", "text/html; charset=utf-8")]))
	server = h2d(listens=("tcp",), server='proxy = "%s"  compress-responses = {"gzip"}  location "/none/" { compress-responses = {} }  '
		'location "/png" { compress-types = {"image/png"} }' % upstream.name)
	with link(server, speak) as c:
		assert [c.get(path, GZIP).get("content-encoding") for path in ("/x", "/none/x", "/png")] == ["gzip", None, "gzip"]


def echoes(connection, request):
	"""The body as it comes, as events."""
	connection.head(200, [("content-type", "text/event-stream; charset=utf-8"), ("transfer-encoding", "chunked")])
	for piece in request.pieces():
		connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
	connection.send(b"0\r\n" + b"".join(b"%s: %s\r\n" % (n.encode(), v.encode()) for n, v in request.trailers) + b"\r\n")


@on_tcp
def test_events(proxied, upstream, speak, talk):
	"""A client can decode each before the next is sent; trailers are kept."""
	upstream.on("/events", echoes)
	with link(proxied(ALL), speak) as c:
		t, sent = talk(c, "/events", GZIP), b""
		for i in range(5):
			event = b"data: %d\n\n" % i * (1 + i * 5000)
			t.send(event)
			sent += event
			t.until(lambda: zlib.decompressobj(31).decompress(bytes(t.content)) == sent)
		t.end(TRAILERS)
		assert gunzip(t.whole()) == sent and t.trailers == TRAILERS


@on_tcp
def test_a_tunnel(proxied, upstream, speak):
	"""Its bytes pass as they are, whatever its head says."""
	upstream.on("/ws", lambda connection, request: accept(connection, request, fields=[("content-type", "text/html; charset=utf-8")], early=b"hello") or False)
	with dial(proxied(ALL), speak, fields=GZIP) as ws:
		hears(ws, b"hello")


@on_tcp
def test_a_part_for_each_client(proxied, upstream, speak, talk):
	"""A client whose part is used up gets the others uncompressed, until one of the first ends."""
	upstream.on("/events", echoes)
	upstream.on("/x", says(TEXT, [("content-type", "text/html; charset=utf-8")]))
	server = proxied(ALL)
	with contextlib.ExitStack() as stack:
		many = []
		for _ in range(16):
			many.append(talk(stack.enter_context(link(server, speak)), "/events", GZIP))
			many[-1].send(b"data: 1\n\n")
			many[-1].until(lambda: zlib.decompressobj(31).decompress(bytes(many[-1].content)) == b"data: 1\n\n")
		with link(server, speak) as c:
			assert c.get("/x", GZIP).body == TEXT
			many[0].end()
			many[0].whole()
			assert gunzip(c.get("/x", GZIP).body) == TEXT


@on_tcp
def test_a_client_leaves(proxied, upstream, speak, talk):
	"""Compressors of clients that left in the middle are free again."""
	upstream.on("/events", echoes)
	upstream.on("/x", says(TEXT, [("content-type", "text/html; charset=utf-8")]))
	server = proxied(ALL)
	for _ in range(40):
		with link(server, speak, seen=None) as c:
			t = talk(c, "/events", GZIP)
			t.send(b"data: 1\n\n")
			t.until(lambda: t.content)
			t.leave()
	upstream.wait_over(40)
	with link(server, speak) as c:
		assert gunzip(c.get("/x", GZIP).body) == TEXT


@on_tcp
def test_an_application_that_dies(proxied, upstream, speak):
	"""The response is cut, not ended."""
	upstream.on("/dies", b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9999\r\n\r\n" + TEXT[:5000])
	server = proxied(ALL)
	with link(server, speak) as c:
		if speak == "h2":
			assert c.get("/dies", GZIP).reset not in (None, 0)
		else:
			with pytest.raises(Closed):
				c.get("/dies", GZIP)
	server.log.wait("upstream .*GET /dies")


@on_tcp
def test_a_slow_client_of_compressed_content(proxied, upstream):
	"""proxy-timeout is the application's: the client has its own time."""
	text = base64.b64encode(random.Random(1).randbytes(7500))
	went = threading.Event()

	def say(connection, request):
		connection.head(200, [("content-type", "text/html; charset=utf-8"), ("transfer-encoding", "chunked")])
		connection.send(b"%x\r\n%s\r\n" % (len(text), text))
		went.wait(procs.DEADLINE)
		connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))
	upstream.on("/x", say)
	for keys in ("", 'compress-responses = {"gzip"}'):
		went.clear()
		server = proxied("proxy-timeout = 1  " + keys)
		with server.connect("tcp", settings={4: 1000}, credit=False, seen=None) as c:
			s = c.send("GET", "/x", [("accept-encoding", "gzip")])
			c.until(lambda: len(c.responses[s].body) == 1000)
			went.set()
			with contextlib.suppress(TimeoutError, AssertionError):
				c.until(lambda: c.responses[s].done, 2.5)
			assert not c.responses[s].done, "cut off: %r" % (keys,)
			c.window(1000000, s)
			assert c.response(s).status == 200, keys
		assert server.log.find("upstream ") == [], keys
