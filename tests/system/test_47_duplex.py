"""Replies that are made of the body while it comes (struct h2d_handler, duplex; tests/handlers/t_duplex.c)."""
import contextlib
import hashlib
import os
import random
import re
import select
import socket
import ssl
import struct
import time

import pytest

import procs
from client import Closed
from procs import mostly, wait_for
from server import SANITIZED
from test_47_handlers import PATIENT, handlers, link, post  # noqa: F401 (fixtures)

BLOCKED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Chunks:
	"""The content of a chunked response, as far as it has come."""

	def __init__(self):
		self.raw, self.content, self.ended, self.trailers = bytearray(), bytearray(), False, b""

	def add(self, data):
		self.raw += data
		while (at := self.raw.find(b"\r\n")) >= 0 and not self.ended:
			n = int(self.raw[:at], 16)
			if n == 0:
				self.ended = self.raw.endswith(b"\r\n\r\n")
				self.trailers = bytes(self.raw[at + 2:-2])
				return
			if len(self.raw) < at + 2 + n + 2:
				return
			self.content += self.raw[at + 2:at + 2 + n]
			del self.raw[:at + 2 + n + 2]


class Talk1:
	"""A request over HTTP/1 whose body and response come at the same time. length: of the body, which is chunked without one."""

	def __init__(self, c, path, headers=(), length=None, version="1.1"):
		self.c, self.length, self.raw, self.head, self.eof = c, length, bytearray(), None, False
		self.informed = []
		self.chunks = Chunks()
		coding = ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
		c.send_bytes(c.head("POST", path, [*headers, coding], version))
		c.sock.setblocking(False)

	def came(self, data):
		self.eof |= not data
		self.raw += data
		while self.head is None and b"\r\n\r\n" in self.raw:
			head, _, self.raw = self.raw.partition(b"\r\n\r\n")
			if head.startswith(b"HTTP/1.1 1"):
				self.informed.append(int(head.split()[1]))
			else:
				self.head = head.decode()
		if self.head and self.chunked:
			self.chunks.add(self.raw)
			self.raw.clear()

	@property
	def chunked(self):
		return "transfer-encoding: chunked" in self.head

	@property
	def status(self):
		return int(self.head.split()[1]) if self.head else None

	@property
	def content(self):
		return self.chunks.content if self.head and self.chunked else self.raw

	def turn(self, view=b""):
		"""Reads and writes what can be now; how many bytes it wrote."""
		pending = isinstance(self.c.sock, ssl.SSLSocket) and self.c.sock.pending()
		if not pending:
			able = select.select([] if self.eof else [self.c.sock], [self.c.sock] if view else [], [], PATIENT)
			assert any(able), "nothing in %d s: %r" % (PATIENT, self.head)
		n = 0
		try:
			n = self.c.sock.send(view) if view else 0
		except BLOCKED:
			pass
		except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
			raise Closed("while sending") from None
		try:
			self.came(self.c.sock.recv(1 << 18))
		except BLOCKED:
			pass
		except (ConnectionResetError, ssl.SSLError):
			self.came(b"")
		return n

	def until(self, what):
		while not what():
			assert not self.eof, "closed: %r, %d bytes" % (self.head, len(self.content))
			self.turn()

	def write(self, data):
		view = memoryview(data)
		while view:
			view = view[self.turn(view):]

	def send(self, data):
		self.write(data if self.length is not None else b"%x\r\n%s\r\n" % (len(data), data))

	send_on = send

	def write_some(self, data):
		try:
			return self.c.sock.send(data)
		except BLOCKED:
			return 0

	def end(self, trailers=()):
		if self.length is None:
			self.write(b"0\r\n" + b"".join(b"%s: %s\r\n" % (n.encode(), v.encode()) for n, v in trailers) + b"\r\n")

	def whole(self):
		"""All of the content, in its end."""
		self.until(lambda: self.head)
		length = re.search(r"\ncontent-length: (\d+)", self.head)
		if length:
			self.until(lambda: len(self.raw) == int(length[1]))
		else:
			self.until(lambda: self.chunks.ended)
		return bytes(self.content)

	@property
	def trailers(self):
		return [tuple(line.split(": ")) for line in self.chunks.trailers.decode().splitlines()]

	def is_cut(self):
		"""The connection ends, and the response has not."""
		with contextlib.suppress(Closed):
			while not self.eof:
				self.turn()
		return not self.chunks.ended

	def leave(self):
		self.c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		self.c.close()


class Talk2:
	"""As Talk1, over HTTP/2."""

	def __init__(self, c, path, headers=(), length=None):
		self.c = c
		said = [("content-length", str(length))] if length is not None else []
		self.stream = c.send("POST", path, [*headers, *said], end=False)
		self.answer = c.responses[self.stream]

	@property
	def status(self):
		return self.answer.status

	@property
	def informed(self):
		return [status for status, _ in self.answer.informed]

	@property
	def content(self):
		return self.answer.body

	@property
	def trailers(self):
		return self.answer.trailers

	def until(self, what):
		self.c.until(what, PATIENT)

	def send(self, data):
		self.c.send_body(self.stream, data, end=False)

	def write_some(self, data):
		"""Up to what the window lets pass; how many bytes."""
		n = min(self.c.conn.local_flow_control_window(self.stream), 16384, len(data))
		if n > 0:
			self.c.conn.send_data(self.stream, data[:n])
		self.c.ping()
		return n

	def send_on(self, data):
		"""Also behind the end of the response."""
		conn = self.c.conn
		while data and self.answer.reset is None:
			n = min(conn.local_flow_control_window(self.stream), conn.max_outbound_frame_size, len(data))
			if n == 0:
				self.c.turn(time.monotonic() + PATIENT)
				continue
			conn.send_data(self.stream, data[:n])
			self.c.flush()
			data = data[n:]

	def end(self, trailers=()):
		if trailers:
			self.c.send_trailers(self.stream, trailers)
		else:
			self.c.conn.end_stream(self.stream)
			self.c.flush()

	def whole(self):
		answer = self.c.response(self.stream, PATIENT)
		assert answer.ended and answer.reset is None
		return answer.body

	def is_cut(self):
		return self.c.response(self.stream, PATIENT).reset not in (None, 0)

	def leave(self):
		self.c.reset(self.stream)


@pytest.fixture
def talk(speak):
	return Talk2 if speak == "h2" else Talk1


def counts(server):
	"""How many requests began, are gone, and were called when they should not have been."""
	with server.connect(timeout=PATIENT) as c:
		return tuple(int(n) for n in c.get("/t/duplex/counts").body.split())


def all_gone(server):
	wait_for(lambda: len(set(counts(server)[:2])) == 1, PATIENT, said="gone() of each")
	assert counts(server)[2] == 0
	return counts(server)[0]


# --- both ways ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_each_piece_comes_back_before_the_next(handlers, speak, talk, how, dispatch):
	"""Whether the handler replies at once or behind the first piece."""
	server = handlers(dispatch=dispatch)
	with link(server, speak, how) as c:
		for path in ("start", "body", "start?work", "body?work"):
			t, said = talk(c, "/t/duplex/" + path), b""
			for i in range(20):
				piece = b"%d " % i * random.randrange(1, 3000)
				t.send(piece)
				said += piece
				t.until(lambda: len(t.content) == len(said))
			t.end()
			assert t.whole() == said and t.status == 200
	assert all_gone(server) == 4


@pytest.mark.parametrize("size", [0, 1, 2000000])
def test_the_body_comes_back(handlers, speak, talk, how, size):
	"""More than fits in between; the connection goes on behind it."""
	server, data = handlers(), random.Random(size).randbytes(size)
	with link(server, speak, how) as c:
		for path in ("start", "start?work", "start?sized", "body?sized&work")[:4 if size else 3]:
			t = talk(c, "/t/duplex/" + path, length=size if "sized" in path else None)
			if size:
				t.send(data)
			t.end()
			assert t.whole() == data
	all_gone(server)


def test_a_reply_behind_the_end(handlers, speak, talk):
	with link(handlers(), speak) as c:
		t = talk(c, "/t/duplex/end")
		t.send(b"12345")
		t.end()
		assert t.whole() == b"12345"


TRAILERS = [("x-sum", "1"), ("x-two", "a, b")]


def test_trailers_both_ways(handlers, speak, talk, how):
	with link(handlers(), speak, how) as c:
		t = talk(c, "/t/duplex/start")
		t.send(b"12345")
		t.until(lambda: len(t.content) == 5)
		t.end(TRAILERS)
		assert t.whole() == b"12345" and t.trailers == TRAILERS


def test_a_long_body_through_little_memory(handlers):
	"""64 MiB, and the worker never has more than a few of them."""
	server, piece = handlers(listens=("tcp",)), os.urandom(1 << 20)
	pid = server.worker_pids()[0]
	said, heard, most, size = hashlib.sha256(), hashlib.sha256(), 0, 0
	with link(server, "h1") as c:
		t = Talk1(c, "/t/duplex/start?sized", length=64 << 20)
		t.until(lambda: t.head)
		before = procs.private_memory(pid)
		for _ in range(64):
			t.send(piece)
			said.update(piece)
			heard.update(t.raw)
			size += len(t.raw)
			t.raw.clear()
			most = max(most, procs.private_memory(pid))
		t.until(lambda: size + len(t.raw) == 64 << 20)
		heard.update(t.raw)
	assert heard.digest() == said.digest()
	assert SANITIZED or most - before < 2 << 20  # sanitizers keep what is freed


def pour(server, talks):
	"""Writes until no more is taken, without reading; how many bytes."""
	came, sent = [0, 1], 0
	while (n := sum(t.write_some(bytes(1 << 16)) for t in talks)) > 0 or came[-1] != came[-2]:
		came.append(server.status()["totals"]["bytes_in"] >> 14)
		sent += n
	return sent


@pytest.mark.parametrize("work", ["", "?work"])
def test_a_client_that_writes_and_does_not_read(handlers, work):
	"""HTTP/1: what it writes waits with it, once the server has a little of it."""
	server = handlers(listens=("tcp",))
	with contextlib.ExitStack() as stack:
		talks = [Talk1(stack.enter_context(link(server, "h1")), "/t/duplex/start" + work, length=1 << 30) for _ in range(8)]
		wait_for(lambda: counts(server)[0] == 8, said="all have begun")
		pid = server.worker_pids()[0]
		before = procs.private_memory(pid)
		assert pour(server, talks) > 8 << 20
		assert SANITIZED or procs.private_memory(pid) - before < 8 << 20  # sanitizers keep what is freed
	all_gone(server)


@pytest.mark.parametrize("work", ["", "?work"])
def test_a_client_whose_window_is_closed(handlers, work):
	"""HTTP/2: the same, by windows; as much as those let come waits in the server."""
	server = handlers(listens=("tcp",))
	with server.connect(timeout=PATIENT, credit=False, settings={4: 1}) as c:
		t = Talk2(c, "/t/duplex/start" + work)
		pid = server.worker_pids()[0]
		before = procs.private_memory(pid)
		assert 65535 <= pour(server, [t]) < 2 << 20
		t.until(lambda: t.content)
		assert len(t.content) == 1
		assert SANITIZED or procs.private_memory(pid) - before < 4 << 20  # sanitizers keep what is freed
		t.leave()
	all_gone(server)


# --- beginnings and ends ------------------------------------------------------------------------------


def test_head_has_no_content_and_needs_no_body(handlers, speak):
	server = handlers()
	with link(server, speak) as c:
		for body in (None, b"12345"):
			answer = c.request("HEAD", "/t/duplex/start", (), body)
			assert (answer.status, answer.body) == (200, b"")
	assert all_gone(server) == 2


@pytest.mark.parametrize("path", ["start", "body", "start?work"])
def test_who_waits_for_100(handlers, speak, talk, path):
	"""It is told to continue in front of the reply, which may be there at once."""
	server = handlers()
	with link(server, speak) as c:
		t = talk(c, "/t/duplex/" + path, [("expect", "100-continue")])
		t.until(lambda: t.informed)
		assert path == "body" or t.until(lambda: t.status == 200) is None
		t.send(b"12345")
		t.end()
		assert t.whole() == b"12345" and t.informed == [100]


def test_a_client_of_http_1_0(handlers):
	"""The end of the connection is that of the content."""
	data = os.urandom(300000)
	with link(handlers(), "h1") as c:
		t = Talk1(c, "/t/duplex/start", length=len(data), version="1.0")
		t.send(data)
		t.is_cut()
		assert t.status == 200 and t.raw == data and not t.chunked


@pytest.mark.parametrize("rest", [10, 3000000])
def test_the_reply_ends_before_the_body(handlers, speak, talk, rest):
	"""A little more of the body is dropped; a client that goes on and on is told to stop."""
	server = handlers()
	with link(server, speak) as c:
		t = talk(c, "/t/duplex/start?limit=5")
		t.send(b"1234567")
		assert t.whole() == b"12345"
		with contextlib.suppress(Closed):
			t.send_on(bytes(rest))
			if speak == "h1" or t.answer.reset is None:
				t.end()
		if rest == 10:
			again = talk(c, "/t/duplex/start?limit=1")
			again.send(b"2")
			assert again.whole() == b"2"
		elif speak == "h2":
			t.until(lambda: t.answer.reset is not None)
			assert t.answer.reset == 0
		else:
			t.is_cut()
	all_gone(server)


def test_a_reply_that_fails(handlers, speak, talk):
	server = handlers()
	with link(server, speak) as c:
		t = talk(c, "/t/duplex/start?fail=5")
		t.send(b"1234567")
		assert t.is_cut() and t.content == b"12345"
	assert all_gone(server) == 1


def test_a_reply_that_is_no_stream_ends_the_body(handlers, speak, talk):
	server = handlers()
	with link(server, speak) as c:
		t = talk(c, "/t/duplex/body?bytes")
		t.send(b"1")
		t.until(lambda: t.status)
		t.send(b"2")
		t.end()
		assert t.whole() == b"bytes"
	assert all_gone(server) == 1


# --- what cuts it off ---------------------------------------------------------------------------------


def cut_off(server, talk, c, do, said, path="/t/duplex/start"):
	"""do(talk), behind the first bytes of a response, cuts it off, and the log says why."""
	t = talk(c, path)
	t.send(b"12345")
	t.until(lambda: len(t.content) == 5)
	do(t)
	assert t.is_cut()
	server.log.wait(said)
	assert all_gone(server) >= 1


def test_a_body_that_is_too_large(handlers, speak, talk):
	server = handlers(sections="limits { client-max-body-size = 100000 }")
	def too_much(t):
		with contextlib.suppress(Closed):
			t.send(bytes(200000))
	with link(server, speak) as c:
		cut_off(server, talk, c, too_much, r" info .*request body exceeds the limit")


def test_a_chunk_that_is_none(handlers):
	server = handlers()
	with link(server, "h1") as c:
		cut_off(server, Talk1, c, lambda t: t.write(b"no size\r\n"), r" info .*chunk")


def test_trailers_that_are_too_many(handlers, speak, talk):
	server = handlers()
	with link(server, speak) as c:
		cut_off(server, talk, c, lambda t: t.end([("x-%d" % i, "1") for i in range(40)]), r" info .*header section")


@pytest.mark.parametrize("work", ["", "?work"])
def test_a_client_that_says_no_more(handlers, speak, talk, work):
	"""It owes its body; nobody waits longer than timeouts.body for it."""
	server = handlers(sections="timeouts { body = 1 }")
	with link(server, speak) as c:
		cut_off(server, talk, c, lambda t: None, r" info .*request body timed out", "/t/duplex/start" + work)


def goes_on(server):
	"""Whether a body of which some comes ten times a second is taken for two."""
	with link(server, "h2") as c:
		t = Talk2(c, "/t/duplex/start")
		for _ in range(20):
			t.send(b"x" * 100)
			time.sleep(0.1)
		if not t.answer.done:
			t.end()
		c.response(t.stream, PATIENT)
		return t.answer.reset is None and len(t.content) == 2000


def test_a_client_that_says_little_and_hears_much(handlers):
	"""A response that goes on is as good as a body that does; a client that was held up for a second fails."""
	server = handlers(sections="timeouts { body = 1 }")
	assert mostly(lambda: goes_on(server))


def test_a_client_that_reads_no_more(handlers):
	server = handlers(sections="timeouts { send = 1 }")
	with server.connect(timeout=PATIENT, credit=False, settings={4: 1000}) as c:
		t = Talk2(c, "/t/duplex/start")
		t.send(bytes(2000))
		assert t.is_cut()
	server.log.wait(r" info .*client reads too slowly")
	assert all_gone(server) == 1


def test_a_handler_that_takes_nothing_is_waited_for(handlers, speak, talk):
	"""It is not the client's fault; all its window holds is there."""
	server = handlers(sections="timeouts { body = 1  send = 1 }")
	with link(server, speak) as c:
		t = talk(c, "/t/duplex/start?hold", length=64 << 20)
		t.until(lambda: t.status == 200)
		pour(server, [t])
		began = time.monotonic()
		while time.monotonic() - began < 2.5:
			with link(server, "h2") as other:
				assert other.get("/later/100").status == 200
		assert counts(server)[:2] == (1, 0)
		t.leave()
		assert all_gone(server) == 1


# --- the worker leaves --------------------------------------------------------------------------------


def test_a_reload_waits_for_it(handlers, speak, talk):
	server = handlers()
	with link(server, speak) as c:
		t = talk(c, "/t/duplex/start")
		t.send(b"1")
		t.until(lambda: t.content == b"1")
		server.reload()
		for i in range(5):
			t.send(b"2")
			t.until(lambda: t.content == b"1" + b"2" * (i + 1))
		t.end()
		assert t.whole() == b"122222"
	server.log.wait(r"worker 0 .*(left|exit|ended)")


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_clients_leave_at_any_moment(handlers, speak, talk, how, dispatch):
	"""Each request that began has its end, however far it came; nothing is left of it."""
	server, at = handlers(dispatch=dispatch), random.Random(7)
	for i in range(60):
		c = link(server, speak, how)
		t = talk(c, "/t/duplex/" + at.choice(["start", "body", "start?work", "body?work", "start?limit=700", "start?fail=700"]))
		with contextlib.suppress(Closed):
			for _ in range(pieces := at.randrange(4)):
				t.send(at.randbytes(at.choice([1, 500, 40000])))
			if pieces and at.random() < 0.5:
				t.until(lambda: t.content)
			if at.random() < 0.3:
				t.end()
		t.leave()
		c.close()
	assert all_gone(server) > 10  # of a client that is gone before it is heard, nothing begins
	server.wait_quiet(PATIENT)
