"""examples/gzip.c: a body that is sent back compressed while it comes."""
import os
import zlib

import pytest

import procs
from server import SANITIZED
from test_47_duplex import Talk1, pour, talk  # noqa: F401 (fixtures)
from test_47_handlers import PATIENT, handlers, link, post  # noqa: F401 (fixtures)


def unzip(data):
	return zlib.decompress(data, 31)


@pytest.mark.parametrize("size", [0, 1, 100000, 3000000])
def test_what_comes_back(handlers, speak, how, size):
	data = os.urandom(size // 2) + bytes(size - size // 2)
	with link(handlers(), speak, how) as c:
		for length in (True, False):
			answer = post(c, "/gzip", data, length=length)
			assert (answer.status, answer.get("content-type")) == (200, "application/gzip")
			assert unzip(answer.body) == data


def test_much_through_little_memory(handlers):
	"""64 MiB of what hardly compresses."""
	server, piece = handlers(listens=("tcp",)), os.urandom(1 << 20)
	pid, undo, size, most = server.worker_pids()[0], zlib.decompressobj(31), 0, 0
	with link(server, "h1") as c:
		t = Talk1(c, "/gzip", length=64 << 20)
		t.until(lambda: t.head)
		before = procs.private_memory(pid)
		for _ in range(64):
			t.send(piece)
			size += len(undo.decompress(bytes(t.content)))
			t.content.clear()
			most = max(most, procs.private_memory(pid))
		t.until(lambda: t.chunks.ended)
		size += len(undo.decompress(bytes(t.content)))
	assert size == 64 << 20 and undo.eof
	assert SANITIZED or most - before < 2 << 20  # sanitizers keep what is freed


def test_a_client_that_does_not_read(handlers):
	"""What it writes waits with it."""
	server = handlers(listens=("tcp",))
	pid = server.worker_pids()[0]
	with link(server, "h1") as c:
		t = Talk1(c, "/gzip", length=1 << 30)
		t.until(lambda: t.head)
		t.write_some = lambda data: Talk1.write_some(t, os.urandom(len(data)))
		before = procs.private_memory(pid)
		assert pour(server, [t]) > 1 << 20
		assert SANITIZED or procs.private_memory(pid) - before < 2 << 20  # sanitizers keep what is freed
		t.leave()
	server.wait_quiet(PATIENT)


def test_clients_leave(handlers, speak, talk):
	"""At any moment, a thread at work or not; sanitizers see what is left."""
	server = handlers()
	for n in (0, 1, 1000, 200000):
		for _ in range(5):
			with link(server, speak) as c:
				t = talk(c, "/gzip")
				if n:
					t.send(os.urandom(n))
				t.leave()
	server.wait_quiet(PATIENT)
