"""Tunnels through a proxy: WebSockets by an upgrade or by an extended CONNECT (RFC 8441), and other protocols."""
import base64
import hashlib
import threading
import time

import pytest

import procs
from client import Request, Response
from procs import wait_for
from server import SANITIZED
from test_47_proxy import behind, link, on_tcp, proxied, upstream  # noqa: F401 (fixtures)
from websocket import GUID, ByConnect, ByUpgrade, Refused


def accept(connection, request, protocol="websocket", fields=(), early=b""):
	"""The head of a 101, and bytes behind it at once."""
	key = request.get("sec-websocket-key")
	more = [("sec-websocket-accept", base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode())] if key else []
	connection.send(("HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: %s\r\n" % protocol + "".join("%s: %s\r\n" % pair for pair in [*more, *fields]) + "\r\n").encode()
		+ early)


def echo(connection, request):
	"""What comes goes back, up to the end."""
	accept(connection, request, fields=[("sec-websocket-protocol", "chat")], early=b"hello")
	while connection.at < len(connection.raw) or connection.more():
		data = bytes(connection.raw[connection.at:])
		connection.at += len(data)
		connection.send(data)
	return False


def dial(server, speak, path="/ws", how="tcp", **options):
	return (ByConnect if speak == "h2" else ByUpgrade)(link(server, speak, how), path, **options)


def hears(ws, data):
	assert ws.take(len(data), time.monotonic() + procs.DEADLINE) == data


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_websocket(proxied, upstream, speak, how, dispatch):
	"""An upgrade with a key arrives in either case; bytes go both ways, as they are."""
	upstream.on("/ws", echo)
	server = proxied(listens=(how,), dispatch=dispatch)
	with dial(server, speak, how=how, fields=[("sec-websocket-protocol", "chat, x"), ("origin", "http://a")]) as ws:
		hears(ws, b"hello")
		for n in (1, 10, 70000, 300000):
			ws.write(b"x" * n)
			hears(ws, b"x" * n)
		assert dict(ws.headers)["sec-websocket-protocol"] == "chat"
		got = upstream.last
		assert (got.method, got.get("connection").lower(), got.get("upgrade"), got.get("sec-websocket-version")) == ("GET", "upgrade", "websocket", "13")
		assert len(base64.b64decode(got.get("sec-websocket-key"))) == 16
		assert (got.get("sec-websocket-protocol"), got.get("origin"), got.get("x-forwarded-for")) == ("chat, x", "http://a", "127.0.0.1")
		assert not {"content-length", "transfer-encoding"} & {name for name, _ in got.fields}
	upstream.wait_over(1)


@on_tcp
def test_ends(proxied, upstream, speak):
	"""Whichever side ends it, the other learns it."""
	upstream.on("/ws", echo)
	upstream.on("/bye", lambda connection, request: accept(connection, request, early=b"bye") or False)
	server = proxied()
	with dial(server, speak, "/bye") as ws:
		hears(ws, b"bye")
		assert ws.read(time.monotonic() + procs.DEADLINE) == b""
	with dial(server, speak) as ws:
		hears(ws, b"hello")
		upstream.hang_up()
		assert ws.read(time.monotonic() + procs.DEADLINE) == b""
	ws = dial(server, speak)
	hears(ws, b"hello")
	ws.end()
	upstream.wait_over(3)
	ws.client.close()


@on_tcp
def test_it_is_refused(proxied, upstream, speak):
	"""The application's answer is the client's."""
	def refuses(connection, request):
		connection.reply(b"no", 403, [("x-why", "1")])
	upstream.on("/ws", refuses)
	server = proxied()
	with pytest.raises(Refused) as refused:
		dial(server, speak)
	assert (refused.value.answer.status, dict(refused.value.answer.headers)["x-why"]) == (403, "1")
	if speak == "h1":
		with link(server, "h1") as c:
			c.ask("GET", "/ws")
			c.send_bytes(c.head("GET", "/ws", [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "x")]))
			c.send()
			assert (c.response().status, c.response().status) == (403, 200)
			assert upstream.last.target == "/"


def test_another_protocol(proxied, upstream):
	"""By its name, as it was asked for."""
	def other(connection, request):
		assert (request.get("upgrade"), request.get("connection").lower(), request.method) == ("x-chat", "upgrade", "GET")
		accept(connection, request, "x-chat")
		connection.send(b"12345")
		return False
	upstream.on("/other", other)
	with link(proxied(), "h1") as c:
		c.send_bytes(c.head("GET", "/other", [("connection", "keep-alive, Upgrade"), ("upgrade", "x-chat")]))
		status, _, fields = c.take_head(time.monotonic() + procs.DEADLINE)
		assert (status, dict(fields)["upgrade"], dict(fields)["connection"]) == (101, "x-chat", "upgrade")
		assert c.rest() == b"12345"


@pytest.mark.parametrize("upgrade", ["h2c", "H2C", "h2c, x", "x, h2c"])
@on_tcp
def test_no_http_2_inside(proxied, upstream, upgrade):
	"""An application's h2c would be requests that nobody looks at."""
	with link(proxied(), "h1") as c:
		assert c.get("/a", [("connection", "Upgrade, HTTP2-Settings"), ("upgrade", upgrade), ("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA")]).status == 200
		assert not {"upgrade", "connection", "http2-settings"} & {name for name, _ in upstream.last.fields}


ASKED = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "x"), ("sec-websocket-version", "13")]
UNASKED = {"nothing": [], "no option": ASKED[1:], "a body": [*ASKED, ("content-length", "0")], "another": None}


@pytest.mark.parametrize("case", UNASKED)
@on_tcp
def test_a_101_that_nobody_asked_for(proxied, upstream, case):
	"""Neither does a protocol that is not the one that the client asked for open a tunnel."""
	def switch(connection, request):
		request.whole()
		accept(connection, request, "x-other" if case == "another" else "websocket", early=b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
		return False
	upstream.on("/ws", switch)
	server = proxied()
	fields = ASKED if UNASKED[case] is None else UNASKED[case]
	with link(server, "h1", seen=None) as c:
		method = "POST" if case == "a body" else "GET"
		assert c.request(method, "/ws", fields).status == 502
		assert c.get("/length/1").body == bytes(1)
	server.log.wait("upstream .*: malformed response of the application: 101 .*: %s /ws; " % method)
	assert len(upstream.connections) == 2


@on_tcp
def test_what_is_sent_early_waits_for_the_101(proxied, upstream):
	"""Before it the application could take it for a request."""
	gate, came = threading.Event(), []

	def late(connection, request):
		gate.wait(procs.DEADLINE)
		connection.sock.setblocking(False)
		try:
			came.append(connection.sock.recv(1000))
		except BlockingIOError:
			came.append(None)
		connection.sock.setblocking(True)
		return echo(connection, request)
	upstream.on("/ws", late)
	server = proxied()
	with link(server, "h1") as c:
		c.send_bytes(c.head("GET", "/ws", ASKED) + b"GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n")
		upstream.wait(1)
		before = server.status()["totals"]["bytes_in"]
		c.send_bytes(b"more")
		server.status()
		assert server.status()["totals"]["bytes_in"] >= before
		gate.set()
		status, _, _ = c.take_head(time.monotonic() + procs.DEADLINE)
		assert status == 101 and came == [None]
		c.take(5, time.monotonic() + procs.DEADLINE, Bytes())
		upstream.wait(1)
		said = b"GET /hidden HTTP/1.1\r\nhost: a\r\n\r\nmore"
		heard = Bytes()
		c.take(len(said), time.monotonic() + procs.DEADLINE, heard)
		assert b"".join(heard.pieces) == said
	assert len(upstream.requests) == 1


class Bytes:
	def __init__(self):
		self.size, self.pieces = 0, []


@on_tcp
def test_what_is_sent_early_over_http_2(proxied, upstream):
	"""The same, of DATA frames behind the CONNECT."""
	gate, before = threading.Event(), []

	def late(connection, request):
		gate.wait(procs.DEADLINE)
		before.append(bytes(connection.raw[connection.at:]))
		return echo(connection, request)
	upstream.on("/ws", late)
	server = proxied()
	with server.connect() as c:
		c.until(lambda: c.settings_acked > 0)
		stream = c.conn.get_next_available_stream_id()
		answer = c.responses[stream] = Response(Request("CONNECT", "/ws", (), c.authority))
		c.conn.send_headers(stream, [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/ws"), (":authority", "localhost"),
			("sec-websocket-version", "13")])
		c.conn.send_data(stream, b"early")
		c.flush()
		upstream.wait(1)
		c.ping()
		gate.set()
		c.until(lambda: answer.size >= 10)
		assert answer.body == b"helloearly" and before == [b""]
		c.reset(stream)
	upstream.wait_over(1)


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
@on_tcp
def test_a_tunnel_survives_a_reload(proxied, upstream, speak, dispatch):
	upstream.on("/ws", echo)
	server = proxied(dispatch=dispatch)
	with dial(server, speak) as ws:
		hears(ws, b"hello")
		server.reload()
		wait_for(lambda: server.status()["generation"] == 2 and server.live_workers(), said="new workers")
		ws.write(b"still here")
		hears(ws, b"still here")
		with dial(server, speak) as other:
			hears(other, b"hello")
		ws.write(b"!")
		hears(ws, b"!")
	upstream.wait_over(2)


@on_tcp
def test_many_tunnels(proxied, upstream, speak):
	"""At the same time; each has its own bytes."""
	upstream.on("/ws", echo)
	server = proxied()
	sockets = [dial(server, speak) for _ in range(30)]
	try:
		for i, ws in enumerate(sockets):
			ws.write(b"%d" % i * 1000)
		for i, ws in enumerate(sockets):
			hears(ws, b"hello" + b"%d" % i * 1000)
	finally:
		for ws in sockets:
			ws.client.close()
	wait_for(lambda: sum(c.over.is_set() for c in upstream.connections) == 30, said="all are over")


@on_tcp
def test_a_tunnel_that_is_not_read(proxied, upstream, speak):
	"""The application is held, and later has all of it."""
	total = 20 << 20

	def pours(connection, request):
		accept(connection, request)
		connection.send(bytes(total))
		return False
	upstream.on("/ws", pours)
	server = proxied()
	pid = server.worker_pids()[0]
	with dial(server, speak) as ws:
		before = procs.private_memory(pid)
		last = [-1, 0]

		def held():
			server.status()
			last.append(upstream.connections[0].sent)
			return last[-1] == last[-2] == last[-3] and upstream.connections[0].is_blocked()
		wait_for(held, said="the application waits")
		assert last[-1] < total
		assert SANITIZED or procs.private_memory(pid) - before < 8 << 20
		n = 0
		while data := ws.read(time.monotonic() + procs.DEADLINE):
			n += len(data)
		assert n == total
