"""WebSockets (h2d/websocket.h) by both protocols: the handshake and who may open one, messages, mistakes of clients,
what waits and what that costs, silence, and a worker that leaves. tests/handlers/t_websocket.c answers."""
import contextlib
import re
import socket
import struct
import time

import pytest

import procs
import websocket
from client import Closed
from procs import mostly, wait_for
from server import SANITIZED
from test_47_handlers import PATIENT, handlers, link  # noqa: F401 (fixtures)
from websocket import BINARY, CLOSE, PING, PONG, TEXT, Refused, close_frame, frame

ECHO, STRICT = "/t/websocket/echo", "/t/strict"


def connect(server, speak, path=ECHO, how="tcp", authority="localhost", **options):
	client = (server.h1 if speak == "h1" else server.connect)(how, timeout=PATIENT, authority=authority)
	return (websocket.ByUpgrade if speak == "h1" else websocket.ByConnect)(client, path, **options)


def counts(server):
	"""Of t_websocket: sockets that came, are gone and were closed, and the last close's code and reason."""
	with server.h1(timeout=PATIENT) as c:
		starts, gones, closes, last = c.get("/t/websocket/counts").body.decode().split(" ", 3)
	# Its own start is among them, and the one before is gone.
	return int(starts), int(gones), int(closes), last


def wait_closed(server, n, last):
	"""Until n were closed, the last one so."""
	def closed():
		_, _, closes, code = counts(server)
		return closes == n and code
	assert wait_for(closed, PATIENT).strip() == last


# --- messages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dispatch", ["", "acceptor"])
@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_echo(handlers, speak, how, dispatch):
	server = handlers(dispatch=dispatch, workers=2)
	with connect(server, speak, how=how) as ws:
		assert ws.ask("hello, µ €") == "hello, µ €"
		for size in (0, 1, 125, 126, 65535, 65536):
			ws.send(BINARY, bytes(i & 0xff for i in range(size)))
			assert ws.receive() == (BINARY, bytes(i & 0xff for i in range(size)))
		ws.write(frame(TEXT, b"frag\xe2", fin=False) + frame(PING, b"between") + frame(0, b"\x82", fin=False)
			+ frame(0, b"\xac"))
		assert ws.receive() == (PONG, b"between")
		assert ws.receive() == (TEXT, "frag€".encode())
		for byte in frame(TEXT, b"byte by byte"):
			ws.write(bytes([byte]))
		assert ws.receive() == (TEXT, b"byte by byte")
		ws.write(b"".join(frame(TEXT, b"%d" % i) for i in range(1000)))
		assert [ws.receive() for _ in range(1000)] == [(TEXT, b"%d" % i) for i in range(1000)]
		ws.send(PONG, b"nobody asked")
		assert ws.ask("text") == "refused"
		ws.write(close_frame(1000, b"bye"))
		assert ws.close_code() == (1000, b"")
	server.log.wait(r"handler t_websocket: WebSocket text is not UTF-8")


def test_two_on_one_connection(handlers):
	"""HTTP/2: streams beside each other, and requests beside them."""
	server = handlers()
	with server.connect(timeout=PATIENT) as c:
		one = websocket.ByConnect(c, ECHO)
		two = websocket.ByConnect(c, ECHO)
		for i in range(5):
			assert two.ask("two %d" % i) == "two %d" % i
			assert one.ask("one %d" % i) == "one %d" % i
			assert c.get("/").status == 200
		one.end()
		assert two.ask("still here") == "still here"
		two.write(close_frame())
		assert two.close_code() == (None, b"")
		assert c.get("/").status == 200


def test_what_is_sent_with_the_handshake(handlers):
	"""HTTP/1.1: frames right behind the request are read when it is accepted, now or later."""
	server = handlers()
	for path in (ECHO, "/t/websocket/later"):
		with connect(server, "h1", path, behind=frame(TEXT, b"early")) as ws:
			assert ws.receive() == (TEXT, b"early")


# --- the handshake ------------------------------------------------------------------------------------


def refused(server, speak, path=ECHO, **options):
	with pytest.raises(Refused) as e, connect(server, speak, path, **options):
		pass
	return e.value.answer


def test_accepted_later_and_with_fields(handlers, speak):
	server = handlers()
	for path in ("/t/websocket/later", "/t/websocket/fields"):
		with connect(server, speak, path) as ws:
			assert ws.ask("hello") == "hello"
			assert (dict(ws.headers).get("set-cookie") == "a=b") == path.endswith("fields")


@pytest.mark.parametrize("origin, path, may", [
	("http://localhost", ECHO, True),
	("https://localhost", ECHO, False),  # another port
	("https://evil.example", ECHO, False),
	("https://a.example", STRICT, True),
	("https://b.example", STRICT, False),
])
def test_origins(handlers, speak, origin, path, may):
	"""A page of another site has the user's cookies, and must not have the user's WebSocket (RFC 6455, 10.2)."""
	server = handlers(listens=("tcp",))
	options = {"fields": [("origin", origin)]}
	if may:
		with connect(server, speak, path, authority="localhost:80", **options) as ws:
			assert ws.ask("hello") == "hello"
	else:
		assert refused(server, speak, path, authority="localhost:80", **options).status == 403
		server.log.wait(re.escape("WebSocket origin is not allowed: " + origin))


@pytest.mark.parametrize("origin, may", [("https://localhost", True), ("http://localhost", False)])
def test_origins_of_wss(handlers, speak, origin, may):
	"""A page that came without TLS may be anybody's."""
	options = {"how": "tls", "fields": [("origin", origin)]}
	if may:
		with connect(handlers(), speak, **options) as ws:
			assert ws.ask("hello") == "hello"
	else:
		assert refused(handlers(), speak, **options).status == 403


@pytest.mark.parametrize("offered, chosen", [("one", "one"), ("zero, one, two", "two"), ("three", None), (None, None)])
def test_subprotocols(handlers, speak, offered, chosen):
	with connect(handlers(), speak, STRICT, fields=[("sec-websocket-protocol", offered)] if offered else []) as ws:
		assert dict(ws.headers).get("sec-websocket-protocol") == chosen
		assert ws.ask("protocol") == (chosen or "none")


def test_what_waits_is_told(handlers, speak):
	"""h2d_websocket_waiting() counts bytes with their frames."""
	with connect(handlers(), speak) as ws:
		assert ws.ask("waiting") == "x"
		assert ws.receive() == (TEXT, b"0 3")


@pytest.mark.parametrize("version", ["12", None])
def test_other_versions(handlers, speak, version):
	answer = refused(handlers(), speak, version=version)
	assert answer.status == 400 and dict(answer.headers)["sec-websocket-version"] == "13"


@pytest.mark.parametrize("options", [
	{"connection": "keep-alive"}, {"upgrade": "h2c"}, {"method": "HEAD"}, {"fields": [("content-length", "1")]},
], ids=str)
def test_no_handshake_over_http1(handlers, options):
	"""It is what it is without an upgrade; a handler that accepts anyway has 400 answered."""
	server = handlers()
	with pytest.raises((Refused, Closed)) as e, connect(server, "h1", "/t/websocket/anyway", behind=b"x", **options):
		pass
	if e.type is Refused:
		assert e.value.answer.status == 400


@pytest.mark.parametrize("connection, upgrade", [("keep-alive, Upgrade", "WebSocket"), ("upgrade", "h2c, websocket")])
def test_spellings_of_the_upgrade(handlers, connection, upgrade):
	with connect(handlers(), "h1", connection=connection, upgrade=upgrade) as ws:
		assert ws.ask("hello") == "hello"


def test_other_uses_of_connect(handlers):
	"""RFC 8441, 4: no other protocol, no route without WebSockets, no stream without a way for the client's frames."""
	server = handlers()
	assert refused(server, "h2", protocol="connect-udp").status == 501
	for path in ("/", "/t/facts/a/b/c", "/nothing", "/t/topic/a"):
		assert refused(server, "h2", path).status == 501
	assert refused(server, "h2", end=True).status == 501
	for drop in (":path", ":scheme", ":authority"):
		assert refused(server, "h2", drop=(drop,)).response.reset == 1, drop
	answer = refused(server, "h2", "/t/websocket/wrong")
	assert (answer.status, answer.response.reset) == (None, 2)
	server.log.wait(r"handler t_websocket: content in reply to a WebSocket handshake")
	assert refused(server, "h1", "/t/websocket/wrong").status == 200


def test_settings_tell_who_takes_any(handlers, h2d):
	"""SETTINGS_ENABLE_CONNECT_PROTOCOL comes where a route takes WebSockets, and nowhere else."""
	for server, value in ((handlers(), 1), (h2d(), 0)):
		with server.connect() as c:
			c.until(lambda: c.settings_acked > 0)
			assert c.conn.remote_settings.enable_connect_protocol == value
			if value == 0:
				stream = c.conn.get_next_available_stream_id()
				with pytest.raises((Refused, Closed)) as e:
					websocket.ByConnect(c, "/")
				assert e.value.answer.response.reset == 1, stream


# --- mistakes of clients, and closes ------------------------------------------------------------------


# One of each kind: check_ws has all.
MISTAKES = {
	"not masked": (frame(TEXT, b"hello", mask=None), 1002),
	"long ping": (frame(PING, bytes(126)), 1002),
	"no UTF-8": (frame(TEXT, b"a\xc0\xaf"), 1007),
	"too long": (frame(BINARY, bytes(65537)), 1009),
	"too long together": (frame(BINARY, bytes(65536), fin=False) + frame(0, b"x"), 1009),
	"far too long": (b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 1009),
	"code 1005": (close_frame(1005), 1002),
}


def test_mistakes(handlers, speak):
	"""Each ends in its close, and the handler knows; nobody else's WebSocket does."""
	server = handlers()
	with connect(server, speak) as other:
		for n, (name, (sent, code)) in enumerate(MISTAKES.items()):
			with connect(server, speak) as ws:
				assert ws.ask("hello") == "hello"
				with contextlib.suppress(Closed):
					ws.write(sent + frame(TEXT, b"behind"))
				assert ws.close_code() == (code, b""), name
			wait_closed(server, n + 1, str(code))
		assert other.ask("hello") == "hello"


@pytest.mark.parametrize("code, reason, last", [
	(None, b"", "1005"), (1000, b"bye", "1000 bye"), (1001, b"", "1001"), (3000, b"", "3000"),
	(4999, "µ".encode() * 61, "4999 " + "µ" * 61)])
def test_the_client_closes(handlers, speak, code, reason, last):
	server = handlers()
	with connect(server, speak) as ws:
		ws.write(close_frame(code, reason) + frame(TEXT, b"behind"))
		assert ws.close_code() == (code, b"")
	wait_closed(server, 1, last)


def test_the_handler_closes(handlers, speak):
	"""What waits goes out first; messages that come behind it are nobody's."""
	server = handlers()
	with connect(server, speak) as ws:
		ws.write(frame(TEXT, b"first") + frame(TEXT, b"close 4000 enough") + frame(TEXT, b"behind"))
		assert ws.receive() == (TEXT, b"first")
		assert ws.receive() == (CLOSE, struct.pack("!H", 4000) + b"enough")
		ws.write(frame(TEXT, b"behind, too") + close_frame(4000))
		with pytest.raises(Closed):
			ws.receive()
	wait_closed(server, 1, "4000")


def test_the_client_leaves(handlers, speak):
	"""Without a close: 1006, in the middle of a message, too."""
	server = handlers()
	for n, begun in enumerate((b"", frame(TEXT, b"begun", fin=False), frame(TEXT, b"begun")[:8])):
		with connect(server, speak) as ws:
			assert ws.ask("hello") == "hello"
			ws.write(begun)
			ws.end()
			wait_closed(server, n + 1, "1006")
	server.wait_quiet(PATIENT)
	starts, gones, closes, _ = counts(server)
	assert starts == gones + 1 and closes == 3


def test_the_client_says_no_more(handlers):
	"""HTTP/1.1: the end of its half is the end; HTTP/2: END_STREAM."""
	server = handlers()
	with connect(server, "h1") as ws:
		ws.client.sock.shutdown(socket.SHUT_WR)
		assert ws.read(time.monotonic() + PATIENT) == b""
	wait_closed(server, 1, "1006")
	with connect(server, "h2") as ws:
		ws.client.conn.end_stream(ws.stream)
		ws.client.flush()
		assert ws.read(time.monotonic() + PATIENT) == b""
		assert ws.response.ended
	wait_closed(server, 2, "1006")


def test_a_code_that_may_not_be_said(handlers, speak):
	"""A mistake of the handler ends the worker."""
	server = handlers()
	server.allow_alert(r"closed a WebSocket with an invalid code for")
	server.allow_alert(r"worker")
	with connect(server, speak) as ws:
		ws.text("close 1006 no")
		with pytest.raises(Closed):
			ws.receive()
	server.log.wait(r"handler t_websocket closed a WebSocket with an invalid code for \S+ %s" % ECHO)
	server.baseline = None


def test_a_route_that_streams_its_body(handlers, speak):
	"""Another mistake of a handler: the body would be taken from the frames."""
	server = handlers()
	server.allow_alert(r"opened a WebSocket on a route that streams its body for")
	server.allow_alert(r"worker")
	with pytest.raises((Closed, Refused)), connect(server, speak, "/t/misuse/socket"):
		pass
	server.log.wait(r"handler t_streamed opened a WebSocket on a route that streams its body for \S+ /t/misuse/socket")
	server.baseline = None


# --- what waits ---------------------------------------------------------------------------------------


def test_a_client_that_does_not_read(handlers, speak):
	"""The handler is told of room as there is some: 20 MB go out with less than 3 in memory, pings get their answers."""
	server = handlers()
	pid, = server.worker_pids()
	with connect(server, speak) as ws:
		assert ws.ask("hello") == "hello"
		before = procs.private_memory(pid)
		ws.text("send 200 100000")
		ws.write(frame(PING, b"x" * 125) * 1000)
		server.wait_connections(1)
		assert SANITIZED or procs.private_memory(pid) - before < 3 << 20  # sanitizers keep what is freed
		pongs = messages = 0
		while (pongs, messages) != (1000, 200):
			op, payload = ws.receive(PATIENT)
			pongs += op == PONG and payload == b"x" * 125
			messages += op == BINARY and len(payload) == 100000
		assert ws.ask("still here") == "still here"
	server.baseline = None


def test_pings_of_a_client_that_does_not_read(handlers):
	"""Their answers are bounded: what comes is not read any further."""
	server = handlers(listens=("tcp",))
	pid, = server.worker_pids()
	with connect(server, "h1") as ws:
		assert ws.ask("hello") == "hello"
		ws.client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
		before = procs.private_memory(pid)
		ws.client.sock.settimeout(0.5)
		pings, sent = frame(PING, b"x" * 125) * 1000, 0
		with contextlib.suppress(socket.timeout):
			while sent < 200 << 20:
				sent += ws.client.sock.send(pings)
		assert sent < 200 << 20, "it takes pings without end"
		assert SANITIZED or procs.private_memory(pid) - before < 3 << 20  # sanitizers keep what is freed
	server.baseline = None


def test_a_handler_that_pauses(handlers, speak):
	"""Its client is held up, and memory does not grow; then all of it comes, in order."""
	server = handlers()
	pid, = server.worker_pids()
	with connect(server, speak) as ws:
		assert ws.ask("hello") == "hello"
		before = procs.private_memory(pid)
		ws.text("pause 400")
		sent = b"".join(frame(BINARY, struct.pack("!I", i) + bytes(999)) for i in range(200))
		ws.write(sent[:len(sent) // 2])
		assert SANITIZED or procs.private_memory(pid) - before < 2 << 20  # sanitizers keep what is freed
		ws.write(sent[len(sent) // 2:])
		got = [ws.receive() for _ in range(200)]
		assert got == [(BINARY, struct.pack("!I", i) + bytes(999)) for i in range(200)]


def test_memory_of_messages(handlers, speak):
	"""Messages that are not whole have a bound for all of a worker: past it clients are told to come again."""
	server = handlers(sections="limits { websocket-memory = 1M }")
	with contextlib.ExitStack() as stack:
		sockets = [stack.enter_context(connect(server, speak)) for _ in range(30)]
		for ws in sockets:
			ws.write(frame(BINARY, bytes(60000), fin=False))
		server.log.wait(r"WebSocket messages exceed limits\.websocket-memory")
		wait_for(lambda: server.status()["totals"]["limit_websockets"] >= 14, PATIENT)
		for ws in sockets:
			with contextlib.suppress(Closed):
				ws.write(frame(0, bytes(10)))
		got = [ws.receive() for ws in sockets]
		whole = got.count((BINARY, bytes(60010)))
		assert 10 <= whole <= 16 and got.count((CLOSE, struct.pack("!H", 1013))) == 30 - whole
	server.wait_quiet(PATIENT)
	with connect(server, speak) as ws:
		ws.write(frame(BINARY, bytes(60000), fin=False) + frame(0))
		assert ws.receive() == (BINARY, bytes(60000))


def test_a_message_over_send_max(handlers, speak):
	with connect(handlers(), speak, STRICT) as ws:
		ws.text("send 1 4000")
		assert ws.receive() == (BINARY, bytes(4000))
		ws.text("send 1 4001")
		assert ws.ask("hello") == "hello"


# --- silence, and the end of a worker -----------------------------------------------------------------


def lives(server):
	"""Whether a client that answers gets a third ping; one that was held up for a second does not."""
	with connect(server, "h1", STRICT) as ws, contextlib.suppress(Closed):
		for _ in range(3):
			assert ws.receive(PATIENT) == (PING, b"")
			ws.send(PONG)
		return True
	return False


def test_silence(handlers):
	"""After idle seconds a ping, after as many again the end; who answers stays."""
	server = handlers()
	with contextlib.ExitStack() as stack:
		dead = [stack.enter_context(connect(server, speak, STRICT)) for speak in ("h1", "h2")]
		assert mostly(lambda: lives(server))
		for ws in dead:
			assert ws.receive(PATIENT) == (PING, b"")
			with pytest.raises(Closed):
				ws.receive(PATIENT)
		assert dead[1].response.reset == 8
	server.wait_quiet(PATIENT)


def test_a_reload(handlers, speak):
	"""All are closed with 1001, so that their worker can leave; clients find the next one."""
	server = handlers(conf="shutdown-timeout = 60")
	with contextlib.ExitStack() as stack:
		old = [stack.enter_context(connect(server, speak)) for _ in range(3)]
		for ws in old:
			assert ws.ask("hello") == "hello"
		old[0].write(frame(TEXT, b"in the middle", fin=False))
		pid, = server.worker_pids()
		server.hup()
		for ws in old:
			assert ws.receive(PATIENT) == (CLOSE, struct.pack("!H", 1001))
			ws.write(close_frame(1001))
			with pytest.raises(Closed):
				ws.receive(PATIENT)
			ws.client.close()
		wait_for(lambda: not procs.running(pid), 30)
		with connect(server, speak) as ws:
			assert ws.ask("hello") == "hello"
	server.baseline = None


def test_what_is_seen_of_it(handlers, speak):
	"""The access log has 101, or 200, and the bytes; a gauge has how many there are."""
	server = handlers(conf='access-log = "access.log"')
	with connect(server, speak) as ws:
		assert ws.ask("hello") == "hello"
		assert server.status()["totals"]["websockets"] == 1
		ws.write(close_frame(1000))
		ws.close_code()
	status = {"h1": "101", "h2": "200"}[speak]
	method = {"h1": "GET", "h2": "CONNECT"}[speak]
	wait_for(lambda: re.search(r'"%s %s HTTP/\S+" %s 11 ' % (method, ECHO, status),
		open(server.path("access.log")).read()), PATIENT)
	assert server.gauges().get("websockets", 0) == 0


def test_chat(handlers):
	"""examples/chat.c: texts of WebSockets and of POST come to WebSockets and to streams of events, in all workers."""
	server = handlers(workers=2)
	with contextlib.ExitStack() as stack:
		sockets = [stack.enter_context(connect(server, speak, "/chat/a")) for speak in ("h1", "h2", "h1", "h2")]
		other = stack.enter_context(connect(server, "h1", "/chat/b"))
		c = stack.enter_context(server.connect(timeout=PATIENT))
		stream = c.send(path="/chat/a")
		c.until(lambda: c.responses[stream].body == b":\n\n", PATIENT)
		sockets[0].text("from a socket")
		for ws in sockets:
			assert ws.receive() == (TEXT, b"from a socket")
		assert c.request("POST", "/chat/a", [("content-length", "9")], b"by a POST").status == 204
		for ws in sockets:
			assert ws.receive() == (TEXT, b"by a POST")
		c.until(lambda: c.responses[stream].body == b":\n\ndata: from a socket\n\ndata: by a POST\n\n", PATIENT)
		assert other.ask("alone") == "alone"
		sockets[1].send(BINARY, b"no text")
		assert sockets[1].receive() == (CLOSE, struct.pack("!H", 1008) + b"texts of up to 4096 bytes")
	server.baseline = None
