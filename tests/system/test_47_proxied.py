"""Locations with a proxy in the rest of h2d: rules, files first, logs, reloads, and how much is under way."""
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

import client
import procs
from client import Closed
from procs import wait_for
from server import SANITIZED
from test_47_duplex import Talk1, Talk2, pour
from test_47_handlers import post
from test_47_proxy import behind, link, on_tcp, proxied, upstream  # noqa: F401 (fixtures)
from upstream import Upstream
from users import basic, hashed, put_users

both_modes = pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])


# --- rules --------------------------------------------------------------------------------------------


@on_tcp
def test_headers_of_the_configuration(proxied, upstream, speak):
	"""They are added to the application's, and removed from them, whatever the status; its own cache-control stays."""
	said = [("x-powered-by", "app"), ("x-kept", "app"), ("cache-control", "no-store"), ("set-cookie", "a=1"), ("set-cookie", "b=2"), ("vary", "cookie")]
	upstream.on("/x", lambda c, r: c.reply(b"12345", int(r.target.partition("?")[2]), said))
	server = proxied('remove-header = {"x-powered-by"}  add-header = {"x-conf: 1", "x-kept: conf", "set-cookie: c=3", "vary: origin"}')
	with link(server, speak, seen=None) as c:
		for status in (200, 404, 500):
			answer = c.get("/x?%d" % status)
			assert (answer.status, answer.body) == (status, b"12345")
			assert [answer.get(name) for name in ("x-powered-by", "x-conf", "x-kept", "cache-control")] == [None, "1", "app", "no-store"]
			assert sorted(value for name, value in answer.headers if name == "set-cookie") == ["a=1", "b=2", "c=3"]
			assert re.split(", *", answer.get("vary")) == ["cookie", "origin"]


@on_tcp
def test_an_error_page(proxied, upstream, speak):
	"""For what h2d says itself, and not for the application's 502."""
	upstream.on("/own", lambda c, r: c.reply(b"mine", 502))
	upstream.on("/bad", b"nonsense\r\n\r\n")
	server = proxied(server='error-page "502" { file = "/502.html" }', files={"502.html": "<!doctype html>sorry\n"})
	with link(server, speak, seen=None) as c:
		assert c.get("/own").body == b"mine"
		answer = c.get("/bad")
		assert (answer.status, answer.body) == (502, b"<!doctype html>sorry\n")
		assert c.get("/length/1").status == 200


@on_tcp
def test_who_is_let_in(h2d, upstream, speak):
	server = h2d.new(listens=("tcp",))
	users = put_users(server, ann=hashed("secret"))
	server.write_conf(server='proxy = "%s"  location "/none/" { deny = {"127.0.0.0/8"} }  location "/ann/" { auth-basic-file = "%s" }  '
		'location "/read/" { allow-methods = {"GET"} }  location "/moved/" { proxy = {}  redirect = "https://example.com/" }' % (upstream.name, users))
	server.start()
	with link(server, speak) as c:
		assert [c.get("/none/x").status, c.get("/ann/x").status, post(c, "/ann/x", b"12345").status, post(c, "/read/x", b"1").status,
			c.request("BREW", "/read/x").status, c.get("/moved/x").status] == [403, 401, 401, 405, 405, 301]
		assert upstream.requests == []
		assert c.get("/ann/x", basic("ann", "secret")).status == 200
		assert c.get("/read/x").status == 200


@on_tcp
def test_rates(proxied, upstream, speak):
	with link(proxied(conf="limits { requests-per-second = 1  requests-burst = 3 }"), speak) as c:
		statuses = [c.get("/x").status for _ in range(6)]
	assert statuses[:3] == [200] * 3 and 429 in statuses
	assert len(upstream.requests) == statuses.count(200)


@on_tcp
def test_nothing_is_compressed(proxied, upstream, speak):
	"""What the application sends is what the client gets, also a coding of its own."""
	upstream.on("/text", lambda c, r: c.reply(b"a" * 10000, 200, [("x-coding", r.get("accept-encoding") or "")]))
	upstream.on("/coded", lambda c, r: c.reply(b"\x1f\x8b", 200, [("content-encoding", "gzip"), ("vary", "accept-encoding")]))
	with link(proxied(), speak) as c:
		answer = c.get("/text", [("accept-encoding", "br, gzip, zstd")])
		assert (answer.body, answer.get("content-encoding"), answer.get("x-coding")) == (b"a" * 10000, None, "br, gzip, zstd")
		answer = c.get("/coded", [("accept-encoding", "gzip")])
		assert (answer.body, answer.get("content-encoding")) == (b"\x1f\x8b", "gzip")


# --- proxy-after = files ------------------------------------------------------------------------------

FILES = {"page.html": "<!doctype html>page\n", "empty/x": "x", "full/index.html": "<!doctype html>full\n", ".hidden": "h"}


@pytest.mark.parametrize("image", [True, False])
def test_files_first(h2d, upstream, speak, image):
	"""What is a file is served; what is none, a directory without an index, and other methods go to the application."""
	server = h2d(listens=("tcp",), files=FILES, image=image, server='proxy = "%s"  proxy-after = files' % upstream.name)
	with link(server, speak) as c:
		for path in ("/page.html", "/full/", "/"):
			assert b"<!doctype html>" in c.get(path).body, path
			assert c.request("HEAD", path).status == 200
		assert c.get("/page.html", [("range", "bytes=0-3")]).status == 206
		assert c.get("/healthz").body != b"" and upstream.requests == []
		for path in ("/missing", "/missing?x=1", "/empty/", "/a/b/c", "/page.html/x", "/.hidden", "/page%2Ehtml%2Fx"):
			answer = c.get(path)
			assert (answer.status, answer.get("content-type")) == (200, "application/x"), path
			assert upstream.last.target == path
		n = len(upstream.requests)
		assert c.request("HEAD", "/length/5").get("content-length") == "5"
		assert post(c, "/page.html", b"12345").body == b"12345"
		assert c.request("DELETE", "/page.html").status == 200
		assert c.request("OPTIONS", "/page.html").status == 200
		assert c.request("GET", "/page.html", [("content-length", "1")] if speak == "h2" else (), b"1").body == b"1"
		assert len(upstream.requests) == n + 5
		answer = c.get("/full")
		assert answer.status in (301, 308)
		assert len(upstream.requests) == n + 5


@on_tcp
def test_a_file_that_comes_and_goes(h2d, upstream, speak):
	server = h2d(listens=("tcp",), server='proxy = "%s"  proxy-after = files' % upstream.name)
	with link(server, speak, seen=None) as c:
		assert c.get("/new.html").get("content-type") == "application/x"
		server.write("new.html", "<!doctype html>\n")
		wait_for(lambda: c.get("/new.html").get("content-type") != "application/x", said="the file is served")
		os.unlink(os.path.join(server.root, "new.html"))
		wait_for(lambda: c.get("/new.html").get("content-type") == "application/x", said="the application is asked")


@on_tcp
def test_files_first_of_a_failed_application(h2d, upstream, speak):
	server = h2d(listens=("tcp",), files=FILES, server='proxy = "%s"  proxy-after = files' % upstream.name)
	upstream.deaf()
	with link(server, speak) as c:
		assert c.get("/page.html").status == 200
		assert c.get("/missing").status == 502


# --- logs and counts ----------------------------------------------------------------------------------


@on_tcp
def test_the_access_log(h2d, upstream, speak):
	server = h2d(listens=("tcp",), conf='access-log = "all.log"  access-log-format = json', server='proxy = "%s"' % upstream.name)
	upstream.on("/bad", b"nonsense\r\n\r\n")
	with link(server, speak) as c:
		assert c.get("/length/1234?q").status == 200
		assert post(c, "/whole", b"12345").status == 200
		assert c.get("/bad").status == 502
	lines = logged(server, 3)
	assert [(line["status"], line["method"]) for line in lines] == [(200, "GET"), (200, "POST"), (502, "GET")]
	assert "/length/1234?q" in json.dumps(lines[0]) and "proxy" in json.dumps(lines[0])
	assert "malformed response of the application" in json.dumps(lines[2])
	assert server.status()["totals"]["upstream_failures"] == 1


def logged(server, n):
	def read():
		lines = [json.loads(line) for line in procs.whole_lines(server.path("all.log")) if "status.json" not in line]
		return lines if len(lines) >= n else None
	return wait_for(read, said="%d lines" % n)


# --- reloads and ends ---------------------------------------------------------------------------------


class Gate:
	"""An answer that begins, and ends when the test says so."""

	def __init__(self, upstream, path="/gate"):
		self.open = threading.Event()
		upstream.on(path, self.answer)

	def answer(self, connection, request):
		request.whole()
		connection.head(200, [("content-type", "application/x"), ("content-length", "10")])
		connection.send(b"12345")
		assert self.open.wait(procs.DEADLINE)
		connection.send(b"67890")


def begun(server, speak, c):
	"""A request whose answer has begun; its end."""
	if speak == "h2":
		stream = c.send("GET", "/gate")
		c.until(lambda: c.responses[stream].size == 5)
		return lambda: c.response(stream).body
	c.send("GET", "/gate")
	c.sock.settimeout(procs.DEADLINE)
	while not c.buffer.endswith(b"12345"):
		assert c.more(time.monotonic() + procs.DEADLINE)
	return lambda: c.response().body


@both_modes
@on_tcp
def test_a_reload(proxied, upstream, speak, dispatch):
	"""What runs is finished; idle connections of the old workers close; the new ones have their own."""
	gate, server = Gate(upstream), proxied(dispatch=dispatch)
	with link(server, speak) as c, link(server, speak) as other:
		assert other.get("/length/1").status == 200
		end = begun(server, speak, c)
		assert other.get("/length/1").status == 200
		assert len(upstream.connections) == 2
		server.reload()
		upstream.wait_over(1)
		with link(server, speak) as new:
			assert new.get("/length/1").status == 200
		gate.open.set()
		assert end() == b"1234567890"
		upstream.wait_over(2)
	assert len(upstream.connections) == 3


@on_tcp
def test_another_application_after_a_reload(h2d, upstream, speak, tmp_path):
	other = Upstream(str(tmp_path / "other.sock"))
	try:
		server = h2d(listens=("tcp",), server='proxy = "%s"' % upstream.name)
		with link(server, speak) as c:
			assert c.get("/length/1").status == 200
		server.put_conf(server.conf_text.replace(upstream.name, other.name))
		server.reload()
		with link(server, speak) as c:
			assert c.get("/length/1").status == 200
		assert (len(upstream.requests), len(other.requests)) == (1, 1)
		upstream.wait_over(1)
	finally:
		other.close()


@both_modes
@on_tcp
def test_a_worker_is_killed(proxied, upstream, speak, dispatch):
	"""Its requests end, also for the application; others are answered."""
	gate, server = Gate(upstream), proxied(dispatch=dispatch)
	with link(server, speak, seen=None) as c:
		begun(server, speak, c)
		server.kill_workers()
		upstream.wait_over(0)
		with link(server, speak) as new:
			assert new.get("/length/1").status == 200
		gate.open.set()
	server.baseline = None


@on_tcp
def test_quit(proxied, upstream, speak):
	"""What runs is finished, then it leaves."""
	gate, server = Gate(upstream), proxied()
	with link(server, speak) as c:
		end = begun(server, speak, c)
		server.signal(signal.SIGQUIT)
		server.log.wait("signal QUIT")
		gate.open.set()
		assert end() == b"1234567890"
	assert server.wait_exit() == 0


@on_tcp
def test_drain(proxied, upstream, speak):
	"""-s drain takes the machine out of balancers only: all is served."""
	server = proxied()
	server.run("-s", "drain", check=0)
	with link(server, speak) as c:
		assert c.get("/length/1").status == 200
		assert c.get("/healthz").status == 503
	server.run("-s", "undrain", check=0)


# --- much, and slow ones ------------------------------------------------------------------------------

TOTAL = 100 << 20
PIECE = os.urandom(1 << 20)


def much(upstream):
	"""/down: 100 MiB; /up: the hash of what comes."""
	def down(connection, request):
		fields = [("content-type", "application/x")]
		fields.append(("content-length", str(TOTAL)) if request.target.endswith("?length") else ("transfer-encoding", "chunked"))
		connection.head(200, fields)
		for _ in range(TOTAL // len(PIECE)):
			connection.send(PIECE if request.target.endswith("?length") else b"%x\r\n%s\r\n" % (len(PIECE), PIECE))
		connection.send(b"" if request.target.endswith("?length") else b"0\r\n\r\n")

	def up(connection, request):
		heard = hashlib.sha256()
		for piece in request.pieces():
			heard.update(piece)
		connection.reply(heard.hexdigest().encode())
	upstream.recording = False
	upstream.on("/down", down)
	upstream.on("/up", up)


def curl(*args, **options):
	"""What it says."""
	return subprocess.run(["curl", "-qsS", "--noproxy", "*", "--max-time", "50", *args], stdout=subprocess.PIPE, check=True, **options).stdout


def test_100_mib(proxied, upstream, speak, tmp_path):
	"""Down and up, by length and in chunks; the worker never holds much of it."""
	much(upstream)
	server = proxied(server="client-max-body-size = 0")
	pid = server.worker_pids()[0]
	said = hashlib.sha256(PIECE * (TOTAL // len(PIECE))).hexdigest()
	version = "--http2-prior-knowledge" if speak == "h2" else "--http1.1"
	before = procs.private_memory(pid)
	for query in ("", "?length"):
		assert hashlib.sha256(curl(version, server.url(path="/down" + query))).hexdigest() == said
	file = tmp_path / "much"
	file.write_bytes(PIECE * (TOTAL // len(PIECE)))
	for from_file in (True, False):
		with open(file, "rb") as f:
			assert curl(version, "-H", "expect:", "-T", str(file) if from_file else "-", server.url(path="/up"), stdin=f).decode() == said
		assert [len(upstream.last.all(name)) for name in ("content-length", "transfer-encoding")] == [from_file, not from_file]
	# By HTTP/2 as much as the window lets pass, which grows with the rate.
	assert SANITIZED or procs.private_memory(pid) - before < (24 if speak == "h2" else 4) << 20


def test_a_client_that_does_not_read(proxied, upstream, speak):
	"""The application is held after a bounded amount, and goes on when the client reads."""
	total = 50 << 20

	def pours(connection, request):
		connection.head(200, [("content-type", "application/x"), ("content-length", str(total))])
		connection.send(bytes(total))
	upstream.on("/pours", pours)
	server = proxied()
	pid = server.worker_pids()[0]
	with link(server, speak, **({"credit": False, "keep": False} if speak == "h2" else {"keep": False})) as c:
		before = procs.private_memory(pid)
		stream = c.send("GET", "/pours")
		upstream.wait(1)
		sent = [-1, -2]

		def held():
			server.status()
			sent.append(upstream.connections[0].sent)
			return sent[-1] == sent[-2] == sent[-3] > 0 and upstream.connections[0].is_blocked()
		wait_for(held, said="the application waits")
		assert sent[-1] < 30 << 20
		assert SANITIZED or procs.private_memory(pid) - before < 4 << 20
		if speak == "h2":
			c.credit = True
			c.window(1 << 30)
			c.window(1 << 30, stream)
			answer = c.response(stream)
		else:
			answer = c.response()
		assert answer.size == total


def test_an_application_that_does_not_read(proxied, upstream, speak):
	"""The client is held after a bounded amount, and goes on when the application reads."""
	gate = threading.Event()

	def later(connection, request):
		assert gate.wait(procs.DEADLINE)
		connection.reply(b"%d" % sum(len(piece) for piece in request.pieces()))
	upstream.on("/later", later)
	upstream.recording = False
	server = proxied(server="client-max-body-size = 0", conf="timeouts { body = 60 }")
	pid = server.worker_pids()[0]
	with link(server, speak) as c:
		before = procs.private_memory(pid)
		t = (Talk2 if speak == "h2" else Talk1)(c, "/later", length=60 << 20)
		upstream.wait(1)
		sent = pour(server, [t])
		assert 0 < sent < 40 << 20
		assert SANITIZED or procs.private_memory(pid) - before < 4 << 20
		gate.set()
		t.send(bytes((60 << 20) - sent))
		t.end()
		assert t.whole() == b"%d" % (60 << 20)


@on_tcp
def test_many_at_once(proxied, upstream, speak):
	"""Each has its own answer: 300 requests over few connections, of which the application takes 8."""
	upstream.on("/who", lambda c, r: c.reply(r.target.encode()))
	server = proxied("proxy-connections = 8")
	with contextlib.ExitStack() as stack:
		links = [stack.enter_context(link(server, speak)) for _ in range(10 if speak == "h2" else 30)]
		for round_ in range(10 if speak == "h1" else 3):
			asked = []
			for i, c in enumerate(links):
				for j in range(10 if speak == "h2" else 1):
					path = "/who?%d.%d.%d" % (round_, i, j)
					asked.append((c, c.send("GET", path), path))
			for c, stream, path in asked:
				answer = c.response(stream) if speak == "h2" else c.response()
				assert (answer.status, answer.body) == (200, path.encode())
	assert len(upstream.connections) <= 8


@on_tcp
def test_no_answer_is_another_s(proxied, upstream, speak):
	"""An application that ends and resets its connections wherever it likes: an answer is that of the request, or 502, or cut off."""
	chance = random.Random(7)

	def unreliable(connection, request):
		what, body = chance.random(), request.whole() or request.target.encode()
		head = b"HTTP/1.1 200 OK\r\ncontent-type: application/x\r\ncontent-length: %d\r\n\r\n" % len(body)
		if what < 0.6:
			connection.send(head + body)
			return what < 0.5
		connection.send((head + body)[:chance.randrange(len(head) + len(body))] if what < 0.9 else b"")
		if chance.random() < 0.5:
			connection.reset()
		return False
	upstream.on("/x", unreliable)
	server, right = proxied("proxy-connections = 4"), 0
	for i in range(40):
		with link(server, speak, seen=None) as c:
			paths = ["/x?%d.%d" % (i, j) for j in range(5)]
			try:
				if speak == "h2":
					asked = [(path, c.send("GET" if j % 2 else "POST", path, (), None if j % 2 else path.encode())) for j, path in enumerate(paths)]
					answers = [(path, c.response(stream)) for path, stream in asked]
				else:
					answers = []
					for j, path in enumerate(paths):
						answers.append((path, c.request("GET" if j % 2 else "POST", path, (), None if j % 2 else path.encode())))
			except Closed:  # cut off, over HTTP/1
				continue
			for path, answer in answers:
				if answer.status == 200 and answer.reset is None:
					assert answer.body == path.encode()
					right += 1
				else:
					assert answer.status == 502 or answer.reset is not None
	assert right > 40


@on_tcp
def test_an_application_that_begins_anew(h2d, upstream, speak, tmp_path):
	"""Its socket is another one from now on: requests go there without a reload."""
	path = str(tmp_path / "app.sock")
	first = Upstream(path)
	server = h2d(listens=("tcp",), server='proxy = "unix:%s"' % path)
	with link(server, speak) as c:
		assert c.get("/length/1").status == 200
		first.close()
		os.unlink(path)
		assert c.get("/length/1").status == 502
		second = Upstream(path)
		try:
			assert c.get("/length/1").status == 200
			assert len(second.requests) == 1
		finally:
			second.close()


# --- shares and counts --------------------------------------------------------------------------------


@on_tcp
def test_a_share_that_is_free_again(proxied, upstream):
	"""What a client holds keeps its other requests waiting, also those of other blocks, and no longer than that."""
	over = threading.Event()

	def long(connection, request):
		assert over.wait(60)
		connection.reply(b"12345")
		return True
	upstream.on("/b/long", long)
	server = proxied("proxy-connections = 4", server='location "/b/" { proxy = "%s"  proxy-connections = 4  proxy-timeout = 50 }' % upstream.name)
	with link(server, "h2", seen=None) as c:
		streams = [c.send("GET", "/b/long") for _ in range(2)]
		wait_for(lambda: len(upstream.requests) == 2)
		streams.append(c.send("GET", "/length/5"))
		server.status()
		over.set()
		c.until(lambda: all(c.responses[stream].done for stream in streams), 60)
		assert [c.responses[stream].status for stream in streams] == [200, 200, 200]


@on_tcp
def test_each_server_of_an_application_is_counted(proxied, upstream, speak):
	"""By its name: its responses, and its failures by their reason; over a reload, too."""
	upstream.on("/bad", b"nonsense\r\n\r\n")
	server = proxied()
	with link(server, speak, seen=None) as c:
		assert [c.get(path).status for path in ("/length/1", "/bad", "/bad")] == [200, 502, 502]
	server.reload()
	row, = [row for row in server.status()["upstreams"] if row["name"] != "(other)"]
	assert (row["responses"], row["response"], row["connect"] + row["timeout"] + row["reset"]) == (1, 2, 0)
	with client.Client.unix(server.admin_path) as c:
		text = c.get("/metrics").body.decode()
	assert 'h2d_upstream_responses_total{upstream="%s"} 1' % row["name"] in text
	assert 'h2d_upstream_errors_total{upstream="%s",reason="response"} 2' % row["name"] in text


@on_tcp
def test_a_client_whose_window_others_fill(proxied, upstream):
	"""The window of the connection is full: proxy-timeout does not run."""
	went = threading.Event()

	def say(connection, request):
		connection.head(200, [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
		connection.send(b"5\r\n12345\r\n")
		went.wait(procs.DEADLINE)
		connection.send(b"5\r\n12345\r\n0\r\n\r\n")
	upstream.on("/x", say)
	server = proxied("proxy-timeout = 1")
	with server.connect("tcp", settings={4: 1 << 20}, credit=False, seen=None) as c:
		s = c.send("GET", "/x")
		c.until(lambda: len(c.responses[s].body) == 5)
		other = c.send("GET", "/length/200000")
		c.until(lambda: len(c.responses[other].body) == 65530)
		went.set()
		with contextlib.suppress(TimeoutError, AssertionError):
			c.until(lambda: c.responses[s].done, 2.5)
		assert not c.responses[s].done, "cut off"
		c.window(1000000)
		assert c.response(s).body == b"1234512345"
	assert server.log.find("upstream ") == []
