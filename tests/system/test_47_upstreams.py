"""Applications that fail, or answer what is no answer: each request has its own end, in time, and a line in the log."""
import contextlib
import os
import re
import socket
import threading
import time

import pytest

import procs
from client import Closed
from procs import wait_for
from server import SANITIZED, SLOW
from test_47_duplex import Talk1, Talk2, pour, talk  # noqa: F401 (fixture)
from test_47_handlers import post
from test_47_proxy import behind, link, on_tcp, proxied, upstream  # noqa: F401 (fixtures)
from upstream import Upstream

OK = "HTTP/1.1 200 OK\r\nContent-Type: application/x\r\n"
LENGTH = OK + "Content-Length: 5\r\n"
CHUNKED = OK + "Transfer-Encoding: chunked\r\n"

# What is no answer, and what is said of it.
FAULTS = {
	"another protocol": ("FTP\r\n\r\n", "malformed status line"),
	"nothing but a line": ("\r\n\r\n", "malformed status line"),
	"http/2": ("HTTP/2 200 OK\r\n\r\n", "status line|version"),
	"http/3.1": ("HTTP/3.1 200 OK\r\n\r\n", "status line|version"),
	"two digits": ("HTTP/1.1 20 OK\r\n\r\n", "malformed status line"),
	"four digits": ("HTTP/1.1 2000 OK\r\n\r\n", "malformed status line"),
	"no digits": ("HTTP/1.1 2x0 OK\r\n\r\n", "malformed status line"),
	"status 99": ("HTTP/1.1 099 No\r\n\r\n", "status out of range"),
	"status 600": ("HTTP/1.1 600 No\r\n\r\n", "status out of range"),
	"leading space": (" HTTP/1.1 200 OK\r\n\r\n", "malformed status line"),
	"bare lf": (LENGTH.replace("\r\n", "\n") + "\n12345", "malformed"),
	"bare cr": ("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "malformed"),
	"two lengths": (LENGTH + "Content-Length: 6\r\n\r\n123456", "content-length"),
	"length plus": (OK + "Content-Length: +5\r\n\r\n12345", "content-length"),
	"length hex": (OK + "Content-Length: 0x5\r\n\r\n12345", "content-length"),
	"length list": (OK + "Content-Length: 5, 6\r\n\r\n12345", "content-length"),
	"length minus": (OK + "Content-Length: -1\r\n\r\n12345", "content-length"),
	"length overflow": (OK + "Content-Length: 18446744073709551621\r\n\r\n12345", "content-length"),
	"length empty": (OK + "Content-Length:\r\n\r\n12345", "content-length"),
	"length and coding": (LENGTH + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "content-length with transfer-encoding"),
	"coding and length": (CHUNKED + "Content-Length: 5\r\n\r\n0\r\n\r\n", "content-length with transfer-encoding"),
	"unknown coding": (OK + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "transfer-encoding"),
	"coding twice": (CHUNKED + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "transfer-encoding"),
	"coding identity": (OK + "Transfer-Encoding: identity\r\n\r\n12345", "transfer-encoding"),
	"coding in 1.0": (CHUNKED.replace("1.1", "1.0") + "\r\n0\r\n\r\n", "transfer-encoding where none may be"),
	"coding with 204": (CHUNKED.replace("200 OK", "204 No") + "\r\n0\r\n\r\n", "transfer-encoding where none may be"),
	"folded": (LENGTH + "X: a\r\n b\r\n\r\n12345", "malformed header line"),
	"first line folded": ("HTTP/1.1 200 OK\r\n X: a\r\n\r\n", "malformed header line"),
	"space before colon": (OK + "Content-Length : 5\r\n\r\n12345", "malformed header line"),
	"no colon": (LENGTH + "x\r\n\r\n12345", "malformed header line"),
	"no name": (LENGTH + ": x\r\n\r\n12345", "malformed header line"),
	"name with space": (LENGTH + "x y: 1\r\n\r\n12345", "malformed header line"),
	"nul in a value": (LENGTH + "x: a\0b\r\n\r\n12345", "malformed header line"),
	"control in a value": (LENGTH + "x: a\x01b\r\n\r\n12345", "malformed header line"),
	"101 that was not asked for": ("HTTP/1.1 101 Yes\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", "101 that was not asked for"),
	"interim without end": ("HTTP/1.1 103 Early\r\n\r\n" * 100, "too many interim responses"),
	"a long line": ("HTTP/1.1 200 " + "x" * 70000 + "\r\n\r\n", "status line|limit"),
	"a long head": (OK + "x: %s\r\n" % ("y" * 9000) * 9 + "\r\n", "limit"),
	"nothing": ("", "closed the connection"),
	"half a line": ("HTTP/1.1 200", "connection ended in the head|closed the connection"),
	"half a head": (OK, "connection ended in the head|closed the connection"),
	"half an interim": ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 2", "connection ended in the head|closed the connection"),
}

# The same, once the client has some of the content: what comes then.
CUT = {
	"short": (LENGTH.replace("5", "100") + "\r\n12345", "", "closed the connection"),
	"no last chunk": (CHUNKED + "\r\n5\r\n12345", "\r\n", "closed the connection"),
	"half a chunk": (CHUNKED + "\r\n7\r\n12345", "", "closed the connection"),
	"chunk size": (CHUNKED + "\r\n5\r\n12345", "\r\nx\r\n", "malformed chunk"),
	"chunk size minus": (CHUNKED + "\r\n5\r\n12345", "\r\n-1\r\n", "malformed chunk"),
	"chunk size long": (CHUNKED + "\r\n5\r\n12345", "\r\n" + "f" * 17 + "\r\n", "malformed chunk"),
	"chunk too long": (CHUNKED + "\r\n5\r\n12345", "678\r\n0\r\n\r\n", "malformed chunk"),
	"chunk lf": (CHUNKED + "\r\n5\r\n12345", "\r\n5\n12345\r\n0\r\n\r\n", "malformed chunk"),
	"trailer": (CHUNKED + "\r\n5\r\n12345", "\r\n0\r\nx\r\n\r\n", "malformed header line"),
	"half a trailer": (CHUNKED + "\r\n5\r\n12345", "\r\n0\r\nx: 1", "closed the connection"),
}


@pytest.mark.parametrize("slices", [False, True])
def test_what_is_no_answer(proxied, upstream, speak, slices):
	"""502, and the connection is closed; whether it comes at once or byte by byte. Nothing at all is asked for once more."""
	server = proxied()
	with link(server, speak) as c:
		for i, (name, (text, _)) in enumerate(FAULTS.items()):
			data = text.encode("latin-1")
			if slices and len(data) > 1000:
				continue

			def say(connection, request, data=data):
				for at in range(0, len(data), 1 if slices else max(len(data), 1)):
					connection.send(data[at:at + (1 if slices else len(data))])
				return False
			path, n = "/fault/%d" % i, len(upstream.requests)
			upstream.on(path, say)
			assert c.get(path).status == 502, name
			assert len(upstream.requests) - n == (2 if data == b"" else 1), name
			upstream.wait_over(len(upstream.connections))
		assert c.get("/length/5").body == bytes(5)


def first_line(server, upstream):
	"""Which is about the only request."""
	return server.log.wait("upstream %s: " % re.escape(upstream.name))[-1]


@pytest.mark.parametrize("case", FAULTS)
@on_tcp
def test_the_line_says_what_is_wrong(proxied, upstream, case):
	text, why = FAULTS[case]
	upstream.on("/fault", text.encode("latin-1"))
	server = proxied()
	with link(server, "h1") as c:
		assert c.get("/fault?x").status == 502
	line = first_line(server, upstream)
	assert re.search(r": (%s).*: GET /fault\?x; " % why, line) or re.search(r": [^:]*(%s).*: GET /fault\?x; " % why, line), line


@pytest.mark.parametrize("case", CUT)
@on_tcp
def test_answers_that_are_cut_off(proxied, upstream, speak, talk, case):
	"""The client learns that it has not all: an end without the last chunk, a reset."""
	begin, rest, why = CUT[case]
	gate = threading.Event()

	def say(connection, request):
		connection.send(begin.encode())
		gate.wait(procs.DEADLINE)
		connection.send(rest.encode())
		return False
	upstream.on("/cut", say)
	server = proxied()
	with link(server, speak, seen=None) as c:
		t = talk(c, "/cut", length=0)
		t.end()
		t.until(lambda: len(t.content or b"") >= 5)
		gate.set()
		assert t.is_cut() and t.status == 200
	line = first_line(server, upstream)
	assert re.search("(%s).*: POST /cut; cutting the response off" % why, line), line
	upstream.wait_over(len(upstream.connections))


BEHIND = {"length": LENGTH + "\r\n12345", "chunks": CHUNKED + "\r\n5\r\n12345\r\n0\r\n\r\n", "204": "HTTP/1.1 204 No\r\n\r\n",
	"304": "HTTP/1.1 304 No\r\n\r\n", "empty": LENGTH.replace("5", "0") + "\r\n"}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("case", BEHIND)
@on_tcp
def test_bytes_behind_an_answer(proxied, upstream, speak, case, late):
	"""They are nobody's answer, whether they come with it or later."""
	gate, sent = threading.Event(), threading.Event()

	def two(connection, request):
		evil = (LENGTH + "\r\nEVIL!").encode()
		connection.send(BEHIND[case].encode() + (b"" if late else evil))
		if late:
			gate.wait(procs.DEADLINE)
			connection.send(evil)
			sent.set()
	upstream.on("/two", two)
	server = proxied()
	with link(server, speak, seen=None) as c:
		answer = c.get("/two", [("if-none-match", "*")])
		assert b"EVIL" not in answer.body
		gate.set()
		assert not late or sent.wait(procs.DEADLINE)
		for n in range(1, 4):
			assert c.get("/length/%d" % n).body == bytes(n)
	assert len(upstream.connections) == 2
	if not late:
		server.log.wait("upstream .*: bytes behind a response; closing the connection")


@pytest.mark.parametrize("more", [0, 1])
@on_tcp
def test_bytes_behind_an_answer_as_long_as_the_buffer(proxied, upstream, speak, more):
	"""They are in the socket when the answer is complete, and no event tells of them."""
	def two(connection, request):
		head = OK + "Content-Length: %d\r\n\r\n"
		n = (32 << 10) - len(head % 10000) + more
		connection.send((head % n).encode() + bytes(n) + (LENGTH + "\r\nEVIL!").encode())
	upstream.on("/two", two)
	with link(proxied(), speak, seen=None) as c:
		assert b"EVIL" not in c.get("/two").body
		for n in range(1, 4):
			assert c.get("/length/%d" % n).body == bytes(n)
	assert len(upstream.connections) == 2


# --- applications that are not there ------------------------------------------------------------------


def test_nobody_listens(proxied, upstream, speak, behind):
	server = proxied()
	upstream.deaf()
	with link(server, speak) as c:
		for _ in range(2):
			assert c.get("/x").status == 502
			assert post(c, "/x", b"12345").status == 502
	assert server.log.wait("upstream %s: cannot connect to the application: Connection refused: GET /x; " % re.escape(upstream.name), count=2)
	if behind == "unix":
		os.unlink(upstream.path)
		with link(server, speak) as c:
			assert c.get("/x").status == 502
		server.log.wait("No such file or directory: GET /x; ")


@on_tcp
def test_it_comes_back(proxied, upstream, speak):
	"""A failed one is asked again, if there is no other."""
	server = proxied()
	port = int(upstream.name.rpartition(":")[2])
	with link(server, speak) as c:
		assert c.get("/length/1").status == 200
		upstream.close()
		assert c.get("/length/1").status == 502
		again = Upstream()
		try:
			again.sock.close()
			again.sock = socket.create_server(("127.0.0.1", port))
			threading.Thread(target=again.accept, daemon=True).start()
			assert c.get("/length/1").status == 200
		finally:
			again.close()


class Full:
	"""Its queue of connections is full, and it takes none."""

	def __init__(self, folder, behind):
		if behind == "unix":
			self.sock, self.name = socket.socket(socket.AF_UNIX), "unix:%s/full.sock" % folder
			self.sock.bind(self.name[5:])
		else:
			self.sock = socket.create_server(("127.0.0.1", 0), backlog=0)
			self.name = "127.0.0.1:%d" % self.sock.getsockname()[1]
		self.sock.listen(0)
		self.waiting = []
		for _ in range(3):
			s = socket.socket(self.sock.family)
			s.setblocking(False)
			s.connect_ex(self.sock.getsockname())
			self.waiting.append(s)

	def close(self):
		for s in [*self.waiting, self.sock]:
			s.close()


def test_it_hangs_in_connect(h2d, speak, behind, tmp_path):
	"""An answer within proxy-connect-timeout."""
	full = Full(tmp_path, behind)
	try:
		server = h2d(listens=("tcp",), server='proxy = "%s"  proxy-connect-timeout = 1' % full.name)
		with link(server, speak) as c:
			before = time.monotonic()
			assert c.get("/x").status in (504, 502 if behind == "unix" else 504)
			assert time.monotonic() - before < 3 * SLOW
	finally:
		full.close()


class Hangs(Full):
	"""It takes one connection, answers one request there, and ends with the next; by then its queue is full."""

	def __init__(self):
		self.sock, self.waiting = socket.create_server(("127.0.0.1", 0), backlog=0), []
		self.name = "127.0.0.1:%d" % self.sock.getsockname()[1]
		threading.Thread(target=self.serve, daemon=True).start()

	def serve(self):
		sock, _ = self.sock.accept()
		sock.recv(10000)
		sock.sendall((LENGTH + "\r\n12345").encode())
		sock.recv(10000)
		for _ in range(3):
			s = socket.socket()
			s.setblocking(False)
			s.connect_ex(self.sock.getsockname())
			self.waiting.append(s)
		sock.close()


def test_it_hangs_in_connect_when_asked_again(h2d, speak):
	"""The second attempt has a limit, too."""
	upstream = Hangs()
	try:
		server = h2d(listens=("tcp",), server='proxy = "%s"  proxy-connect-timeout = 1' % upstream.name)
		with link(server, speak) as c:
			assert c.get("/x").body == b"12345"
			assert c.get("/x").status == 504
	finally:
		upstream.close()


# The first head with this target cannot be sent: the peer takes no more.
BROKEN_PIPE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	static int done;
	if (!done && m->msg_iovlen > 0 && m->msg_iov[0].iov_len > 9 && memcmp(m->msg_iov[0].iov_base, "PUT /pipe", 9) == 0) {
		done = 1;
		shutdown(fd, SHUT_WR);
		errno = EPIPE;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, m, flags);
}
"""


@on_tcp
def test_the_body_of_a_request_that_is_sent_again(h2d, upstream):
	"""It arrives whole, if none of it had been sent."""
	server = h2d.new(listens=("tcp",), server='proxy = "%s"' % upstream.name)
	server.preload(BROKEN_PIPE)
	server.start()
	with link(server, "h1") as c:
		assert c.get("/length/1").body == bytes(1)
		c.ask("PUT", "/pipe")
		c.send_bytes(c.head("PUT", "/pipe", [("content-length", "5")]))
		upstream.wait(2)
		c.send_bytes(b"12345")
		assert c.response().body == b"12345"


@on_tcp
def test_it_hangs_before_the_head(proxied, upstream, speak):
	"""504 after proxy-timeout, and the connection is closed; the next request has its own."""
	upstream.on("/hangs", lambda connection, request: request.whole() and None or connection.more() and False)
	upstream.on("/half", lambda connection, request: connection.send(b"HTTP/1.1 200") or connection.more() and False)
	server = proxied("proxy-timeout = 1")
	with link(server, speak) as c:
		for n, path in enumerate(("/hangs", "/half"), 1):
			before = time.monotonic()
			assert c.get(path).status == 504
			assert 0.9 < time.monotonic() - before < 3 * SLOW
			assert len(server.log.wait("upstream .*: the application does not answer in time: GET %s; " % path)) == 1
			upstream.wait_over(n)
		assert post(c, "/hangs", b"12345").status == 504
		assert c.get("/length/1").status == 200
	assert [r.target for r in upstream.requests] == ["/hangs", "/half", "/hangs", "/length/1"], "nothing is asked twice"


@on_tcp
def test_it_hangs_in_the_content(proxied, upstream, speak, talk):
	"""Nothing for proxy-timeout: the answer is cut off."""
	def half(connection, request):
		connection.send((LENGTH + "\r\n12").encode())
		connection.more()
		return False
	upstream.on("/half", half)
	server = proxied("proxy-timeout = 1")
	with link(server, speak) as c:
		t = talk(c, "/half", length=0)
		t.end()
		t.until(lambda: len(t.content) == 2)
		assert t.is_cut()
	server.log.wait("the application does not answer in time: POST /half; cutting the response off")


@on_tcp
def test_a_slow_one_is_not_late(proxied, upstream, speak):
	"""A byte now and then is enough; a client that reads nothing is not the application's fault."""
	def slow(connection, request):
		connection.head(200, [("content-type", "application/x"), ("content-length", "4")])
		for _ in range(4):
			threading.Event().wait(0.4)
			connection.send(b"x")
	upstream.on("/slow", slow)
	with link(proxied("proxy-timeout = 1"), speak) as c:
		assert c.get("/slow").body == b"xxxx"


@on_tcp
def test_it_resets_in_the_head(proxied, upstream, speak):
	def in_head(connection, request):
		connection.send(b"HTTP/1.1 2")
		connection.reset()
		return False
	upstream.on("/head", in_head)
	server = proxied()
	with link(server, speak) as c:
		assert c.get("/head").status == 502
	server.log.wait("Connection reset by peer: GET /head; replying with an error")


@on_tcp
def test_it_resets_in_the_content(proxied, upstream, speak, talk):
	gate = threading.Event()

	def in_content(connection, request):
		connection.send((LENGTH + "\r\n12").encode())
		gate.wait(procs.DEADLINE)
		connection.reset()
		return False
	upstream.on("/content", in_content)
	server = proxied()
	with link(server, speak) as c:
		t = talk(c, "/content", length=0)
		t.end()
		t.until(lambda: len(t.content or b"") == 2)
		gate.set()
		assert t.is_cut()
	server.log.wait("Connection reset by peer: POST /content; cutting the response off")


# --- once more, and to others -------------------------------------------------------------------------


def test_an_idle_connection_ends(proxied, upstream, speak):
	"""h2d sees it, and makes another one."""
	server = proxied()
	with link(server, speak) as c:
		for n in range(3):
			assert c.get("/length/10").size == 10
			assert len(upstream.connections) == 2 * n + 1
			upstream.hang_up()
			assert post(c, "/whole", b"12345").body == b"12345"
			assert len(upstream.connections) == 2 * n + 2
			upstream.hang_up()
	assert server.log.find("upstream ") == []


def held(*upstreams):
	"""An event until which they do not answer /wait."""
	gate = threading.Event()

	def wait(connection, request):
		gate.wait(procs.DEADLINE)
		connection.reply(b"12345")
	for one in upstreams:
		one.on("/wait", wait)
	return gate


RETRIED = {"GET": 200, "HEAD": 200, "PUT": 200, "DELETE": 200, "OPTIONS": 200, "PROPFIND": 200, "POST": 502, "PATCH": 502, "BREW": 502, "MKCOL": 502}


@pytest.mark.parametrize("how_it_ends", ["fin", "reset"])
def test_a_used_connection_ends_without_an_answer(proxied, upstream, speak, how_it_ends):
	"""An idempotent request is sent once more; others are not."""
	def once(connection, request):
		if len(connection.requests) == 1:
			connection.reply(b"")
			return True
		if how_it_ends == "reset":
			connection.reset()
		return False
	upstream.on("/once", once)
	server = proxied()
	with link(server, speak) as c:
		for method, status in RETRIED.items():
			assert c.get("/once").status == 200
			n = len(upstream.requests)
			assert c.request(method, "/once").status == status, method
			assert len(upstream.requests) - n == (2 if status == 200 else 1), method
			upstream.hang_up()
		assert c.get("/once").status == 200
		n = len(upstream.requests)
		assert post(c, "/once", b"12345").status == 502
		assert len(upstream.requests) - n == 1


@on_tcp
def test_once_more_is_once(proxied, upstream, speak):
	upstream.on("/never", lambda connection, request: False)
	server = proxied()
	with link(server, speak) as c:
		for _ in range(2):
			n = len(upstream.requests)
			assert c.get("/length/1").status == 200
			assert c.get("/never").status == 502
			assert len(upstream.requests) - n == 3
			assert post(c, "/never").status == 502
			assert len(upstream.requests) - n == 4


@pytest.fixture
def several(h2d, behind, tmp_path):
	"""Three of one application."""
	made = [Upstream(str(tmp_path / ("%d.sock" % i)) if behind == "unix" else None) for i in range(3)]
	yield made
	for one in made:
		one.close()
		assert one.faults() == []


def before_all(h2d, several, keys="", **options):
	return h2d(listens=("tcp",), server="proxy = {%s}  %s" % (", ".join('"%s"' % one.name for one in several), keys), **options)


def test_several(h2d, several, speak):
	"""Requests at the same time are spread."""
	gate = held(*several)
	server = before_all(h2d, several)
	with contextlib.ExitStack() as stack:
		links = [stack.enter_context(link(server, speak)) for _ in range(9)]
		asked = [c.send("GET", "/wait") for c in links]
		for one in several:
			one.wait(3)
		gate.set()
		for c, stream in zip(links, asked):
			assert (c.response(stream) if speak == "h2" else c.response()).body == b"12345"
	assert [len(one.requests) for one in several] == [3, 3, 3]


def test_a_dead_one_among_several(h2d, several, speak):
	"""All requests are answered, also those with a body, and it is left alone for a while."""
	server = before_all(h2d, several)
	several[1].deaf()
	with link(server, speak) as c:
		for i in range(30):
			assert c.get("/length/5").body == bytes(5)
			assert post(c, "/whole", b"12345").body == b"12345"
	assert 1 <= len(server.log.find("upstream %s: " % re.escape(several[1].name))) <= 3
	for one in several[::2]:
		one.deaf()
		one.hang_up()
	with link(server, speak) as c:
		assert c.get("/length/5").status == 502


# --- the line -----------------------------------------------------------------------------------------


@on_tcp
def test_the_line_is_full(proxied, upstream, speak):
	"""One is asked, one waits, others get 503; then the one that waited is answered."""
	gate = held(upstream)
	server = proxied("proxy-connections = 1  proxy-queue = 1  proxy-connect-timeout = 60")
	with contextlib.ExitStack() as stack:
		links = [stack.enter_context(link(server, speak)) for _ in range(4)]
		asked = [links[0].send("GET", "/wait")]
		upstream.wait(1)
		asked.append(links[1].send("GET", "/wait"))
		wait_for(lambda: server.gauges()["requests_live"] == 2, said="both are there")
		for c in links[2:]:
			answer = c.get("/wait")
			assert answer.status == 503 and int(answer.get("retry-after")) > 0
		gate.set()
		for c, stream in zip(links, asked):
			assert (c.response(stream) if speak == "h2" else c.response()).body == b"12345"
		assert links[3].get("/length/1").status == 200
	assert len(upstream.connections) == 1


class Here(Upstream):
	"""On this port."""

	def __init__(self, port):
		super().__init__()
		self.deaf()
		self.sock = socket.create_server(("127.0.0.1", port))
		threading.Thread(target=self.accept, daemon=True).start()


def test_the_second_server_is_asked(h2d, speak):
	"""One that has come back is asked when the other dies."""
	one, two, back = Upstream(), Upstream(), None
	port = one.sock.getsockname()[1]
	one.close()
	server = h2d(listens=("tcp",), server='proxy = {"127.0.0.1:%d", "%s"}' % (port, two.name))
	try:
		with link(server, speak) as c:
			def failed():
				assert c.get("/length/5").status == 200
				return len(server.log.find("upstream 127.0.0.1:%d: " % port)) >= 3
			wait_for(failed, said="three failures: it rests for 4 s")
			back = Here(port)
			two.close()
			assert [c.get("/length/5").status for _ in range(3)] == [200] * 3
	finally:
		two.close()
		if back:
			back.close()


@on_tcp
def test_the_line_is_full_for_a_second_try(h2d, upstream, speak):
	"""A request whose used connection ends has no place in the line: the client gets one response, 503."""
	gate = threading.Event()

	def ends(connection, request):
		gate.wait(procs.DEADLINE)
		return False
	upstream.on("/few/ends", ends)
	server = h2d(listens=("tcp",), server='proxy = "%s"  proxy-connections = 1  proxy-connect-timeout = 60  location "/few/" { proxy-queue = 0 }' % upstream.name)
	with contextlib.ExitStack() as stack:
		links = [stack.enter_context(link(server, speak)) for _ in range(4)]
		assert links[0].get("/length/1").status == 200
		asked = [c.send("GET", path) for c, path in zip(links, ("/few/ends", *["/length/1"] * 3))]
		upstream.wait(2)
		wait_for(lambda: server.gauges()["requests_live"] == 4, said="all are there")
		gate.set()
		answers = [c.response(stream) if speak == "h2" else c.response() for c, stream in zip(links, asked)]
		assert [a.status for a in answers] == [503, 200, 200, 200] and int(answers[0].get("retry-after")) > 0
		assert [c.get("/length/1").status for c in links] == [200] * 4


def test_each_server_has_its_limit(h2d, several, speak):
	"""The others do not take over what the limit of one leaves, nor what a dead one would have got: requests wait."""
	gate = held(*several)
	several[2].deaf()
	# A client gets half of the free connections of all servers: enough, with those of another application.
	server = before_all(h2d, several, """proxy-connections = 2  proxy-connect-timeout = 60
		location "/one/" { proxy = "%s"  proxy-connections = 1 }
		location "/other/" { proxy = "unix:/nowhere"  proxy-connections = 100 }""" % several[0].name)
	with contextlib.ExitStack() as stack:
		links = [stack.enter_context(link(server, speak)) for _ in range(6)]
		asked = [c.send("GET", "/wait") for c in links]
		several[0].wait(1)
		several[1].wait(2)
		wait_for(lambda: server.gauges()["requests_live"] == 6, said="all are there")
		assert [len(one.connections) for one in several] == [1, 2, 0]
		gate.set()
		for c, stream in zip(links, asked):
			assert (c.response(stream) if speak == "h2" else c.response()).body == b"12345"
	assert [len(one.connections) for one in several] == [1, 2, 0]


@on_tcp
def test_who_waits_too_long(proxied, upstream, speak):
	gate = held(upstream)
	server = proxied("proxy-connections = 1  proxy-connect-timeout = 1")
	with link(server, speak) as c, link(server, speak) as late:
		stream = c.send("GET", "/wait")
		upstream.wait(1)
		before = time.monotonic()
		assert late.get("/x").status in (503, 504)
		assert 0.9 < time.monotonic() - before < 3 * SLOW
		gate.set()
		assert (c.response(stream) if speak == "h2" else c.response()).body == b"12345"
	assert len(upstream.requests) == 1


def test_clients_leave(proxied, upstream, speak, talk):
	"""And the connection to the application ends with them; those that wait leave the line."""
	upstream.on("/hangs", lambda connection, request: request.whole() and None or connection.more() and False)
	server = proxied()
	n = 0
	for path in ("/echo", "/hangs", "/length/10000000"):
		for body in (0, 1, 100000):
			with link(server, speak) as c:
				t = talk(c, path)
				if body:
					t.send(bytes(body))
				n += 1
				upstream.wait(n)
				t.leave()
	upstream.wait_over(n)
	server.wait_quiet()


@pytest.mark.parametrize("how", ["tcp", "tls"])
@on_tcp
def test_clients_leave_a_quiet_response(proxied, upstream, how):
	"""HTTP/1.1: their end may be half a close. A leading zero of a chunk's size finds out, once."""
	gate = threading.Event()

	def events(connection, request):
		connection.head(200, [("transfer-encoding", "chunked")])
		connection.send(b"1\r\na\r\n")
		if request.target == "/goes-on":
			gate.wait(procs.DEADLINE)
			connection.send(b"1\r\nb\r\n0\r\n\r\n")
			return True
		return connection.more() and False
	upstream.on("/events", events)
	upstream.on("/goes-on", events)
	server = proxied("proxy-timeout = 3600", listens=("tcp", "tls"))

	def until(c, end):
		text = b""
		while not text.endswith(end):
			piece = c.sock.recv(100)
			assert piece, text
			text += piece
	with server.h1(how) as c:
		c.send("GET", "/events")
		until(c, b"\r\n1\r\na\r\n")
	upstream.wait_over(1)
	if how == "tcp":
		with server.h1(how) as c:
			c.send("GET", "/goes-on")
			until(c, b"\r\n1\r\na\r\n")
			c.sock.shutdown(socket.SHUT_WR)
			until(c, b"0")
			gate.set()
			assert c.rest() == b"1\r\nb\r\n0\r\n\r\n"
