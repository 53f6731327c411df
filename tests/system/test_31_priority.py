"""RFC 9218: what is urgent overtakes what is large, on one connection, by field and by PRIORITY_UPDATE. Without either, long
responses take turns."""
import os
import socket
import struct

import pytest
from h2.settings import SettingCodes

import client

LARGE = 4_000_000
# What may lie in front of an urgent response that is ready: a whole piece and a frame in the connection's
# queue (WRITE_PIECE), what one write may leave unsent in the kernel (NOTSENT_LOWAT and a segment), the
# client's receive buffer, and a TLS record on its way. All of it was made before, and so is what a busy server
# writes before it reads the request: another piece.
AHEAD = (2 * (256 + 16 + 128) + 64 + 32 + 16) << 10


def slow(server, how):
	"""A client whose socket holds little, and whose streams' windows hold everything; so does the connection's by go()."""
	sock = socket.socket()
	sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
	sock.settimeout(60)
	sock.connect(("127.0.0.1", server.ports[how]))
	if how == "tls":
		sock = client.tls_context().wrap_socket(sock, server_hostname="localhost")
	c = client.Client(sock, settings={SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1}, credit=False,
		keep=False, timeout=60, seen=server.lint.see)
	return c


def go(c, *answers):
	"""Lets them come once all of them have begun: threads open files, in any order and at any time."""
	c.until(lambda: all(answer.status for answer in answers))
	c.window(2**30)


def ask(c, path, priority=None):
	return c.responses[begin(c, path, priority)]


def begin(c, path, priority=None):
	return c.send(path=path, headers=[("priority", priority)] if priority else [])


def update(c, stream, priority):
	"""RFC 9218, 7.1: PRIORITY_UPDATE."""
	value = struct.pack(">L", stream) + priority.encode()
	c.sock.sendall(struct.pack(">LBL", len(value) << 8 | 0x10, 0, 0) + value)


@pytest.fixture
def server(h2d):
	return h2d(files={"small.bin": b"s" * 5000, "l1.bin": os.urandom(LARGE), "l2.bin": os.urandom(LARGE),
		"l3.bin": os.urandom(LARGE)})


@pytest.fixture
def cached(h2d):
	return h2d(image=True, sections="cache { max-file-size = 8M }",
		files={"small.bin": b"s" * 5000, "l1.bin": os.urandom(LARGE), "l2.bin": os.urandom(LARGE),
			"l3.bin": os.urandom(LARGE)})


def in_turn(c, *paths):
	"""Asks for each when the one before has begun: two that are opened at once may be ready in any order. The first
	says the default priority, so that the others mean it."""
	answers = []
	for path in paths:
		answers.append(ask(c, path, None if answers else "u=3"))
		c.until(lambda: answers[0].size > 0 and answers[-1].status)
	go(c)
	return answers


def large_then_small(c, large, small, ready):
	"""
	Bytes of three large files that come between the request for a small one and its end. ready: between
	its status and its end. What a thread opens is answered some time later, and others are sent meanwhile.
	"""
	files = [ask(c, "/l%d.bin" % i, large) for i in (1, 2, 3)]
	go(c, *files)
	c.until(lambda: sum(f.size for f in files) > LARGE // 4)
	before = sum(f.size for f in files)
	answer = ask(c, "/small.bin", small)
	if ready:
		c.until(lambda: answer.status)
		before = sum(f.size for f in files)
	c.until(lambda: answer.ended)
	between = sum(f.size for f in files) - before
	c.until(lambda: all(f.ended for f in files))
	return between


@pytest.mark.parametrize("where", ["server", "cached"])
def test_urgent_overtakes(request, where, how):
	server = request.getfixturevalue(where)
	for large, small in (("u=7", "u=0"), ("u=7, i", "u=6"), (None, "u=2")):
		with slow(server, how) as c:
			assert large_then_small(c, large, small, where == "server") < AHEAD
	# The same without being urgent: it waits for all that was asked before.
	with slow(server, how) as c:
		assert large_then_small(c, "u=3", None, where == "server") > 2 * LARGE


def test_incremental_shares(server, how):
	with slow(server, how) as c:
		files = [ask(c, "/l%d.bin" % i, "u=3, i") for i in (1, 2, 3)]
		c.until(lambda: all(f.status for f in files))
		c.window(3 * LARGE // 2)
		c.until(lambda: sum(f.size for f in files) >= 3 * LARGE // 2)
		assert all(f.size > LARGE // 4 for f in files)
		small = ask(c, "/small.bin", "i")
		go(c, small)
		c.until(lambda: small.ended)
		assert not any(f.ended for f in files)
		c.until(lambda: all(f.ended for f in files))
	with slow(server, how) as c:
		files = in_turn(c, "/l1.bin", "/l2.bin")
		c.until(lambda: files[0].ended)
		assert files[1].size < AHEAD, "one after the other"
		c.until(lambda: files[1].ended)


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_no_priorities(h2d, dispatch, how):
	"""A client that says none: long responses share, and what is asked behind them does not wait for their end."""
	server = h2d(dispatch=dispatch, image=True, sections="cache { max-file-size = 8M }",
		files={"small.bin": b"s" * 5000, "l1.bin": os.urandom(LARGE), "l2.bin": os.urandom(LARGE)})
	with slow(server, how) as c:
		files = [ask(c, "/l%d.bin" % i) for i in (1, 2)]
		go(c, *files)
		c.until(lambda: all(f.size > LARGE // 8 for f in files))
		assert not any(f.ended for f in files)
		before = sum(f.size for f in files)
		small = ask(c, "/small.bin")
		c.until(lambda: small.ended)
		assert small.size == 5000 and sum(f.size for f in files) - before < AHEAD
		c.until(lambda: all(f.ended for f in files))


@pytest.mark.parametrize("sign", ["field", "update"])
def test_default_behind_a_priority(cached, sign, how):
	"""A client that has said one for a short response, or ahead of any, means the default where it says none."""
	with slow(cached, how) as c:
		if sign == "field":
			assert c.response(begin(c, "/small.bin", "u=1, i")).status == 200
		else:
			update(c, 1, "u=1")
			assert c.response(begin(c, "/small.bin")).status == 200
		files = [ask(c, "/l%d.bin" % i) for i in (1, 2)]
		go(c, *files)
		c.until(lambda: files[0].ended)
		assert files[1].size < AHEAD
		c.until(lambda: files[1].ended)


def test_update(server, how):
	"""What was asked later is made urgent while it waits."""
	with slow(server, how) as c:
		one, two = in_turn(c, "/l1.bin", "/l2.bin")
		c.until(lambda: one.size > LARGE // 8)
		assert two.size == 0
		update(c, 3, "u=0")
		before = one.size
		c.until(lambda: two.ended)
		assert one.size - before < AHEAD
		c.until(lambda: one.ended)


def test_update_comes_first(cached, how):
	with slow(cached, how) as c:
		files = in_turn(c, "/l1.bin", "/l2.bin")
		c.until(lambda: files[0].size > LARGE // 8)
		update(c, 5, "u=1")
		before = files[0].size
		stream = begin(c, "/small.bin")
		assert stream == 5
		c.until(lambda: c.responses[stream].ended)
		assert files[0].size - before < AHEAD
		c.until(lambda: all(f.ended for f in files))


def test_nonsense_is_ignored(server, how):
	"""RFC 9218, 4: what cannot be parsed is as if it were not there."""
	with slow(server, how) as c:
		for text in ("u=9", "x", "u=", "\"", "u=1;q", "i=7"):
			assert c.response(begin(c, "/small.bin", text)).status == 200
		go(c)
		stream = begin(c, "/small.bin")
		update(c, stream, "nonsense")
		assert c.response(stream).status == 200
