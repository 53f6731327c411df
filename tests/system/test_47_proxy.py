"""examples/proxy.c: requests that another server answers, bodies both ways as they come."""
import os
import re
import socket
import threading

import pytest

import procs
from procs import wait_for
from server import SANITIZED
from test_47_duplex import Talk1, pour, talk  # noqa: F401 (fixtures)
from test_47_handlers import PATIENT, handlers, link, post  # noqa: F401 (fixtures)


class Upstream:
	"""A small server of HTTP/1.1: what the path says decides about the answer."""

	def __init__(self):
		self.sock = socket.create_server(("127.0.0.1", 0))
		self.port = self.sock.getsockname()[1]
		self.connections, self.heads, self.open, self.ended = 0, [], [], []
		threading.Thread(target=self.accept, daemon=True).start()

	def accept(self):
		while True:
			try:
				sock, _ = self.sock.accept()
			except OSError:
				return
			self.connections += 1
			self.open.append(sock)
			threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

	def serve(self, sock):
		head = ""
		try:
			with sock, sock.makefile("rb") as f:
				while f.peek(1):
					head = b"".join(iter(f.readline, b"\r\n")).decode("latin-1")
					self.heads.append(head)
					if not self.answer(sock, f, head):
						return
		except (OSError, ValueError):  # it leaves, in the midst of a chunk perhaps
			pass
		finally:
			self.ended.append(head)

	def pieces(self, f, head):
		"""Of the request's body."""
		length = re.search(r"\ncontent-length: (\d+)", head)
		left = int(length[1]) if length else 0
		while left > 0 and (piece := f.read1(min(left, 65536))):
			left -= len(piece)
			yield piece
		while "\ntransfer-encoding: chunked" in head and (n := int(f.readline(), 16)):
			yield f.read(n)
			f.readline()
		if "\ntransfer-encoding: chunked" in head:
			assert f.readline() == b"\r\n"

	def answer(self, sock, f, head):
		"""False: the connection ends."""
		path = head.split()[1]
		kind, _, number = path[1:].partition("/")
		body = self.pieces(f, head)
		if kind == "echo":
			sock.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: application/x\r\n\r\n")
			for piece in body:
				sock.sendall(b"%x;a=b\r\n%s\r\n" % (len(piece), piece))
			sock.sendall(b"0\r\nx-late: 1\r\n\r\n")
			return True
		got = b"".join(body)
		if kind == "length":
			n = int(number)
			sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x\r\nX-One: 1\r\nConnection: x-one\r\nKeep-Alive: x\r\n"
				b"ETag: \"a\"\r\nContent-Length: %d\r\n\r\n" % n + (bytes(n) if not head.startswith("HEAD") else b""))
		elif kind == "status":
			sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 %s No\r\nx-a: 1\r\n\r\n" % number.encode())
			return number in ("204", "304")
		elif kind == "close":
			sock.sendall(b"HTTP/1.0 200 OK\r\ncontent-type: application/x\r\n\r\n" + b"to the end")
			return False
		elif kind == "short":
			sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/x\r\ncontent-length: 100\r\n\r\n1234567890")
			return False
		elif kind == "noise":
			sock.sendall(number.encode().replace(b"_", b" ") + b"\r\n\r\n")
		elif kind == "lengths":
			sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/x\r\n%s\r\n12345" % b"".join(b"content-length: %s\r\n" % n.encode() for n in number.split("_")))
		elif kind == "hangs":
			f.read(1)
		else:
			sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/x\r\ncontent-length: %d\r\n\r\n%s" % (len(got), got))
		return True

	def close(self):
		self.sock.close()
		for sock in self.open:
			try:
				sock.shutdown(socket.SHUT_RDWR)
			except OSError:
				pass


@pytest.fixture
def upstream():
	server = Upstream()
	yield server
	server.close()


@pytest.fixture
def proxied(handlers, upstream):
	def start(timeout=30, **options):
		return handlers(sections='sandbox { network = true }\nhandler "proxy" { upstream = "127.0.0.1:%d"  timeout = %d }'
			% (upstream.port, timeout), **options)
	return start


def test_answers(proxied, upstream, speak, how):
	"""Content by length, in chunks, up to the end, and none; fields of the connection stay behind."""
	server = proxied()
	with link(server, speak, how) as c:
		answer = c.get("/proxy/length/100000")
		assert (answer.status, answer.body, answer.get("content-length")) == (200, bytes(100000), "100000")
		assert (answer.get("etag"), answer.get("x-one"), answer.get("keep-alive")) == ('"a"', None, None)
		head = c.request("HEAD", "/proxy/length/7")
		assert (head.status, head.body, head.get("content-length")) == (200, b"", "7")
		assert c.get("/proxy/length/0").body == b""
		assert c.get("/proxy/close").body == b"to the end"
		for status in (204, 304):
			answer = c.get("/proxy/status/%d" % status, [("if-none-match", "*")])
			assert (answer.status, answer.body) == (status, b"")
	server.baseline = None


def test_requests(proxied, upstream, speak):
	"""The path as it came, fields but those of the connection, whose request it is; bodies of either framing."""
	with link(proxied(), speak) as c:
		fields = [("x-a", "1"), ("te", "trailers"), ("x-forwarded-for", "192.0.2.9"), ("accept", "*/*")]
		if speak == "h1":
			fields += [("connection", "x-b"), ("x-b", "2")]
		for length in (True, False):
			answer = post(c, "/proxy/a%20b/%25?q=%20", b"12345" * 3, fields, length)
			assert answer.body == b"12345" * 3
			head = upstream.heads[-1].lower()
			assert head.startswith("post /a%20b/%25?q=%20 http/1.1\r\nhost: localhost\r\n")
			assert "\nx-a: 1\r" in head and "\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r" in head
			assert "\nte:" not in head and "\nx-b:" not in head and "\nconnection:" not in head
			assert ("\ncontent-length: 15\r" in head) == length and ("\ntransfer-encoding: chunked\r" in head) != length
		assert c.get("/proxy/" + "x" * 17000).status in (414, 431)


def test_connections_are_used_again(proxied, upstream, speak):
	server = proxied()
	for _ in range(2):
		with link(server, speak) as c:
			for i in range(10):
				assert c.get("/proxy/length/1000").size == 1000
				assert post(c, "/proxy/echo", b"x" * i).body == b"x" * i
	assert upstream.connections == 1
	server.baseline = None


def test_a_connection_that_ended_while_it_was_idle(proxied, upstream, speak):
	server = proxied()
	with link(server, speak) as c:
		for i in range(3):
			assert c.get("/proxy/length/10").size == 10
			for sock in upstream.open:
				try:
					sock.shutdown(socket.SHUT_RDWR)
				except OSError:
					pass
		assert upstream.connections == 3
	server.baseline = None


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_both_ways_at_once(proxied, speak, talk, how, dispatch):
	"""Each piece is back before the next; then more than fits in between."""
	server = proxied(dispatch=dispatch)
	with link(server, speak, how) as c:
		t, said = talk(c, "/proxy/echo"), b""
		for i in range(10):
			said += b"%d" % i * 1000
			t.send(b"%d" % i * 1000)
			t.until(lambda: len(t.content) == len(said))
		t.end()
		assert t.whole() == said
		data = os.urandom(2000000)
		t = talk(c, "/proxy/echo", length=len(data))
		t.send(data)
		t.end()
		assert t.whole() == data
	server.baseline = None


def test_a_client_that_does_not_read(proxied):
	server = proxied(listens=("tcp",))
	pid = server.worker_pids()[0]
	with link(server, "h1") as c:
		t = Talk1(c, "/proxy/echo", length=1 << 30)
		t.send(b"x")
		t.until(lambda: t.content)
		before = procs.private_memory(pid)
		assert pour(server, [t]) > 1 << 20
		assert SANITIZED or procs.private_memory(pid) - before < 2 << 20  # sanitizers keep what is freed
		t.leave()
	server.wait_quiet(PATIENT)


@pytest.mark.parametrize("path", ["noise/FTP", "noise/HTTP/1.1_999_x", "noise/HTTP/1.1_2", "lengths/5_6", "lengths/6_5_5", "lengths/x_5"])
def test_what_is_no_answer(proxied, speak, path):
	with link(proxied(), speak) as c:
		assert c.get("/proxy/" + path).status == 502
		# One length, said twice.
		assert c.get("/proxy/lengths/5_5").body == b"12345"


def test_an_answer_that_is_cut_off(proxied, speak, talk):
	with link(proxied(), speak) as c:
		t = talk(c, "/proxy/short")
		t.end()
		t.until(lambda: len(t.content) == 10)
		assert t.is_cut()


def test_an_upstream_that_is_silent(proxied, speak):
	with link(proxied(timeout=1), speak) as c:
		assert c.get("/proxy/hangs").status == 504


def test_no_upstream(proxied, upstream, speak):
	server = proxied()
	upstream.sock.shutdown(socket.SHUT_RDWR)
	upstream.sock.close()
	with link(server, speak) as c:
		assert c.get("/proxy/length/1").status == 502


def test_clients_leave(proxied, upstream, speak, talk):
	"""And the connection to the upstream ends with them."""
	server = proxied()
	for path in ("echo", "hangs", "length/1000000"):
		for n in (0, 1, 100000):
			with link(server, speak) as c:
				before = len(upstream.heads)
				t = talk(c, "/proxy/" + path)
				if n:
					t.send(bytes(n))
				wait_for(lambda: len(upstream.heads) > before, PATIENT, said="the upstream is asked")
				t.leave()
	wait_for(lambda: sum("/hangs " in head for head in upstream.ended) == 3, PATIENT, said="its connections end")
	server.wait_quiet(PATIENT)
	server.baseline = None
