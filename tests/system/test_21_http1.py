"""HTTP/1.1 and 1.0 (RFC 9112): the same answers as over HTTP/2, connections that go on and that end."""
import contextlib
import os
import re
import signal
import socket
import time

import pytest

import client
import procs
from server import SANITIZED
from test_49_connections import hang

LARGE = os.urandom(3_000_000)
SHORT = "timeouts { handshake = 1  header = 1  body = 1  send = 1  keepalive = 1 }"


def waits_for_end(c, since=None):
	"""How long until the server's end (since: from then on), and what came before it."""
	start = time.monotonic()
	data = c.rest(start + procs.DEADLINE * procs.PATIENCE)
	return time.monotonic() - (since or start), data


def test_keep_alive(site, how):
	before = site.status()["totals"]
	with site.h1(how) as c:
		for _ in range(20):
			assert c.get("/").status == 200
		assert c.get("/nothing").status == 404
		assert c.request("POST", "/").status == 405
		assert c.request("BREW", "/").status == 501
		assert c.get("/a%zzb").status == 400
		assert c.get("/").status == 200
	after = site.status()["totals"]
	assert after["responses_2xx"] - before["responses_2xx"] >= 21
	assert after["responses_4xx"] - before["responses_4xx"] == 3
	assert after["responses_5xx"] - before["responses_5xx"] == 1
	assert after["protocol_errors"] == before["protocol_errors"]


# Fields that the second answer may have and the first has not: nothing waits for a file's hash, nor for the clock.
LATER = ("date", "etag", "last-modified")


@pytest.mark.parametrize("image", [False, True], ids=["disk", "image"])
def test_files_are_those_of_h2(h2d, how, image):
	names = ["empty", "small.txt", "page.html", "large.bin"]
	files = dict(zip(names, [b"", b"text\n", b"<p>" * 1000, LARGE]))
	server = h2d(files=files, image=image, sections="" if image else "cache { max-size = 0 }")
	with server.h1(how) as c, server.connect(how) as other:
		for name in names:
			for method in ("GET", "HEAD"):
				one = c.request(method, "/" + name)
				two = other.request(method, "/" + name)
				assert one.status == two.status == 200
				assert one.body == two.body == (files[name] if method == "GET" else b"")
				assert sorted(h for h in one.headers if h[0] not in LATER) == sorted(h for h in two.headers if h[0] not in LATER)
				for field in LATER[1:]:
					assert one.get(field) in (None, two.get(field))
		server.wait_tagged("/page.html")
		etag = c.get("/page.html").get("etag")
		assert c.get("/page.html", [("If-None-Match", etag)]).status == 304
		assert c.get("/page.html", [("If-Match", '"no"')]).status == 412


def test_fragments(site, how):
	"""A target has none (RFC 9112, 3.2): what a client takes it for is not what it would get."""
	with site.h1(how) as c:
		for target in ("/a#b", "/#b", "/?a#b", "http://localhost/#b"):
			answer = c.get(target)
			assert answer.status == 400 and b"malformed request target" in answer.body, target
	site.log.wait(r"malformed request target: /")


def test_pipelining(h2d, how):
	server = h2d(files={"%d" % i: b"%d" % i * 300 for i in range(40)})
	with server.h1(how) as c:
		c.send_bytes(b"".join(c.head(path="/%d" % (i % 40)) for i in range(400)))
		for i in range(400):
			assert c.response().body == b"%d" % (i % 40) * 300


def test_pipelining_of_large_files(h2d, how):
	"""What is asked while nothing is read waits in the sockets, not in memory."""
	server = h2d(files={"large": LARGE, "small": b"x" * 1000})
	pid = server.worker_pids()[0]

	def rss():
		with open("/proc/%d/statm" % pid) as f:
			return int(f.read().split()[1]) * 4096
	with server.h1(how, timeout=60) as c:
		assert c.get("/large").size == len(LARGE)
		before = rss()
		wanted = [("/large", LARGE), ("/small", b"x" * 1000)] * 20
		c.send_bytes(b"".join(c.head(path=path) for path, _ in wanted))
		c.sock.settimeout(procs.DEADLINE)
		junk = c.head(path="/small")
		sent = 0
		try:
			while sent < 4000:
				c.sock.sendall(junk)
				sent += 1
		except socket.timeout:
			pytest.fail("a few hundred kB of requests fit")
		assert SANITIZED or rss() - before < 8 << 20  # sanitizers keep what is freed
		for path, body in wanted + [("/small", b"x" * 1000)] * sent:
			assert c.response().body == body


def test_bodies_nobody_takes(site, how):
	before = site.status()["totals"]["protocol_errors"]
	with site.h1(how) as c:
		for body in (b"x" * 100000, b""):
			assert c.request("POST", "/", body=body).status == 405
		assert c.request("GET", "/", body=b"of a GET").status == 200
	with site.h1(how) as c:
		c.send("POST", "/", [("content-length", "10000000")])
		assert c.response().closed
	for body in ([b"abc", b"x" * 70000], [], [b"x" * (1 << 20)] * 3):
		with site.h1(how) as c:
			answer = c.request("POST", "/", body=body)
			assert answer.status == 405
			if len(body) == 3:
				assert answer.closed, "how much is to come, nobody knows"
	with site.h1(how) as c:
		c.send("POST", "/", [("transfer-encoding", "chunked")])
		piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
		c.send_bytes(5 * piece)
		assert c.response().status == 405, "so much is looked at before the answer"
		end = time.monotonic() + procs.DEADLINE * procs.PATIENCE
		while c.try_send(piece):
			assert time.monotonic() < end, "it is taken for ever"
	assert site.status()["totals"]["protocol_errors"] == before


OPTIONS = [("/", "GET, HEAD, OPTIONS"), ("/nothing/here", "GET, HEAD, OPTIONS"),
	("/healthz", "GET, HEAD, OPTIONS"), ("/files/x", "GET, HEAD")]


@pytest.mark.parametrize("protocol", ["h1", "connect"])
def test_options(site, how, protocol):
	with getattr(site, protocol)(how) as c:
		for path, allow in OPTIONS:
			answer = c.request("OPTIONS", path)
			assert (answer.status, answer.size, answer.get("content-length")) == (204, 0, None)
			assert answer.get("allow").startswith(allow) and "OPTIONS" in answer.get("allow")
		answer = c.request("OPTIONS", "*")
		assert answer.status == 204 and answer.get("allow").startswith("GET, HEAD")
		assert "OPTIONS" in c.request("POST", "/").get("allow")
		assert "OPTIONS" in c.request("POST", "/healthz").get("allow")
		if protocol == "h1":  # of h2, nghttp2 resets the stream
			assert c.get("*").status == 400


def test_half_close(h2d):
	server = h2d(files={"large": LARGE})
	with server.h1() as c:
		c.send(path="/large")
		c.sock.shutdown(socket.SHUT_WR)
		assert c.response().body == LARGE
		assert c.rest() == b""


def test_sudden_ends(site, how):
	text = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345"
	for i in range(0, len(text), 3):
		with site.h1(how) as c:
			c.send_bytes(text[:i])
			if i % 2:
				c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
					b"\x01\x00\x00\x00\x00\x00\x00\x00")
	with site.h1(how) as c:
		assert c.get("/").status == 200


def test_tls_cut_is_no_end(site):
	"""A head that is cut without close_notify is not taken for a whole one."""
	with site.h1("tls") as c:
		c.send_bytes(b"GET / HTTP/1.0\r\n")
		plain = socket.socket(fileno=os.dup(c.sock.fileno()))
		plain.shutdown(socket.SHUT_WR)
		assert c.rest() == b""
		plain.close()


def test_access_log(h2d):
	server = h2d(conf='access-log = "access.log"')
	with server.h1() as c:
		c.get("/")
		c.get("/", [("connection", "keep-alive")], version="1.0")
		c.get("http://x/")
		c.send_bytes(b"GET / HTTP/1.1\r\nBad line\r\n\r\n")
		assert c.response().status == 400
	with server.h1() as c:
		c.send_bytes(b"\xff\xfe\r\n")
		assert c.response().status == 400

	def requests():
		with open(server.path("access.log")) as f:
			return [line.split('"')[1:3] for line in f if "/status" not in line]
	procs.wait_for(lambda: len(requests()) >= 5)
	assert [(text, rest.split()[0]) for text, rest in requests()] == [("GET / HTTP/1.1", "200"),
		("GET / HTTP/1.0", "200"), ("GET / HTTP/1.1", "200"), ("GET / HTTP/1.1", "400"),
		("  HTTP/1.1", "400")]


# --- time ---------------------------------------------------------------------------------------

def drip(c, text, pause=0.1):
	"""Sends a byte at a time; how long until the server had something to say."""
	start = time.monotonic()
	c.sock.setblocking(False)
	for i in range(len(text)):
		c.try_send(text[i:i + 1])
		c.sock.settimeout(pause)
		try:
			c.buffer += c.sock.recv(1000)
			return time.monotonic() - start
		except socket.timeout:
			pass
	pytest.fail("%d bytes were taken, one every %g s" % (len(text), pause))


def test_header_timeout(h2d, how):
	"""Counted from the first byte, and not moved by those that follow."""
	server = h2d(sections=SHORT)
	with server.h1(how) as c:
		assert c.get("/").status == 200
		took = drip(c, b"GET / HTTP/1.1\r\nX: " + b"y" * 300)
		assert took > 0.7
		answer = c.response()
		assert (answer.status, answer.closed) == (408, True)
	assert server.status()["totals"]["timeouts"] == 1


def test_timeouts_of_a_listener(h2d):
	"""Those of its own; all others are the outer ones, and of other listeners."""
	server = h2d.new(listens=("tcp", "unix"), sections="timeouts { header = 300  body = 300 }",
		server='upload-dir = "up"  upload-public = true')
	server.put_conf(server.conf_text.replace('"0666" }', '"0666"  timeouts { header = 1  body = 1 } }'))
	os.mkdir(os.path.join(server.root, "up"))
	server.start()
	with server.h1("tcp") as patient, server.h1("unix") as hasty:
		for c in (patient, hasty):
			c.send_bytes(b"GET / HTTP/1.1\r\nHo")
		assert hasty.response().status == 408
		patient.send_bytes(b"st: a\r\n\r\n")
		patient.ask("GET", "/")
		assert patient.response().status == 200
	with server.connect("tcp") as patient, server.connect("unix") as hasty:
		waiting, late = (c.send("PUT", "/files/f", [("content-length", "2")], body=b"x", end=False) for c in (patient, hasty))
		assert hasty.response(late).status == 408
		patient.send_body(waiting, b"y")
		assert patient.response(waiting).status == 201
	assert re.search(r"timeouts \{\n\t\t# [^\n]*\n\t\theader = 1\n\t\t# [^\n]*\n\t\tbody = 1\n\t\}\n", server.run("-T", check=0).out)


def goes_on(server, how):
	"""Whether a body of which some comes twice a second is taken for three, and no longer than it comes."""
	with server.h1(how) as c, contextlib.suppress(client.Closed):
		c.send("POST", "/", [("content-length", "1000")])
		assert c.response().status == 405
		for _ in range(6):  # what comes fast enough begins the time anew
			time.sleep(0.5)
			last = time.monotonic()
			c.send_bytes(b"x" * 100)
		took, data = waits_for_end(c, last)
		assert data == b""
		return took > 1.5
	return False


def test_body_timeout(h2d, how):
	"""A client that was held up for two seconds is late."""
	server = h2d(sections=SHORT.replace("body = 1", "body = 2"))
	assert procs.mostly(lambda: goes_on(server, how))


def test_reply_taken_at_a_crawl(h2d):
	"""A reader that takes less than the least rate is cut off."""
	server = h2d(sections=SHORT, files={"large": LARGE * 4})
	with server.h1("tcp") as c:
		c.send(path="/large")
		end = time.monotonic() + 60
		while server.status()["totals"]["timeouts"] == 0:
			assert time.monotonic() < end
			c.sock.recv(10)
			time.sleep(0.05)


# --- leaving ------------------------------------------------------------------------------------

def test_reload_ends_idle_connections(h2d, how):
	server = h2d(files={"large": LARGE * 4, "small.bin": b"x"})
	idle, busy, begun = server.h1(how), server.h1(how, timeout=60), server.h1(how)
	assert idle.get("/").status == 200
	busy.send(path="/large")
	while len(busy.buffer) < 1000:
		assert busy.more(time.monotonic() + 60)
	assert begun.get("/small.bin").status == 200
	begun.ask("GET", "/small.bin")
	begun.send_bytes(b"GET /small.bin HTTP/1.1\r\nHo")
	hang(server, begun, streams_wait_for="1 for its header section")
	server.signal(signal.SIGHUP)
	took, data = waits_for_end(idle)
	assert data == b""
	begun.send_bytes(b"st: a\r\n\r\n")
	answer = begun.response()
	assert answer.status == 200 and answer.closed
	assert busy.response().body == LARGE * 4
	assert busy.rest() == b""
	for c in (idle, busy, begun):
		c.close()
	server.log.wait("generation 2")
	with server.h1(how) as c:
		assert c.get("/").status == 200


def test_wrong_protocols(site):
	"""What is neither is answered by HTTP/1."""
	for text in (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", b"\x00" * 64, b"\xff" * 64,
			b"\x16\x03\x01\x02\x00\x01" + b"\x00" * 58):
		with site.h1() as c:
			c.send_bytes(text)
			answer = c.response()
			assert (answer.status, answer.closed) == (400, True)
	with site.h1() as c:
		c.send_bytes(client.PREFACE[:-1] + b"X")
		assert c.response().status == 505
	with site.h1() as c:
		c.send_bytes(b"INVALID CONNECTION PREFACE\r\n\r\n")
		assert c.rest() == b""
