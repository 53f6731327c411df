"""What idle connections cost a worker, and that memory comes back when they have left. scripts/bench-memory measures it."""
import os

import pytest

import procs
import server as srv
from procs import wait_for

WAVES = 3
SPARE = 64 << 10  # what a page here and there may come to
KEPT = "timeouts { handshake = 600  header = 600  keepalive = 600 }"  # a crowd may take a minute to have asked
FAR = "far.bin"  # past cache.max-file-size: read from the disk


def ask(raws, stream, **more):
	for raw in raws:
		raw.send(raw.headers(stream, raw.head(**more)))
	for raw in raws:
		assert raw.status_of(stream) == 200


def wave(server, how, n):
	"""So many connections that have asked; some for what takes more memory than others."""
	if how == "h1":
		clients = [server.h1() for _ in range(n)]
		for i, c in enumerate(clients):
			assert c.get("/" + FAR if i % 10 == 3 else "/").status == 200
		return clients
	raws = [server.raw(how) for _ in range(n)]
	ask(raws, 1)
	ask(raws[3::10], 3, path="/" + FAR)
	ask(raws[7::10], 3, extra=[("cookie", "c" * 6000)])
	return raws


def leave(server, connections):
	for c in connections:
		c.close()
	server.wait_connections(0)


# A session of Debian's libnghttp2 alone has 26 KiB.
@pytest.mark.parametrize("how, n, most", [("tcp", 600, 12 << 10), ("tls", 300, 30 << 10), ("h1", 600, 5 << 10)])
def test_crowd_comes_and_leaves(h2d, how, n, most):
	server = h2d(sections=KEPT, conf='cache { max-file-size = "4K" }', files={FAR: b"f" * 20000}, image=True)
	pid = server.worker_pids()[0]
	leave(server, wave(server, how, 64))
	before = procs.proportional_memory(pid)

	def cost():
		return procs.proportional_memory(pid) - before
	for _ in range(WAVES - 1):
		leave(server, wave(server, how, n))
	connections = wave(server, how, n)
	if srv.SANITIZED:
		leave(server, connections)
		return
	wait_for(lambda: cost() <= n * most, pause=0.1, said="%d bytes for each of %d idle connections" % (most, n))
	full = cost()
	# What was given back of an idle connection was nothing that it needs.
	if how != "h1":
		ask(connections[:5], 5, extra=[("cookie", "c" * 6000)])
	leave(server, connections)
	wait_for(lambda: cost() <= full / 10 + SPARE, pause=0.1, said="a tenth of %d bytes is left" % full)


def test_few_connections_with_much_work(h2d):
	"""Each holds as many requests as it may, and takes nothing of what they are answered with."""
	server = h2d(sections=KEPT, image=True, files={FAR: b"f" * 20000, "page": b"p" * 2000})
	pid = server.worker_pids()[0]
	leave(server, wave(server, "tcp", 10))
	before = procs.proportional_memory(pid)
	connections = [server.raw(settings={0x4: 0}) for _ in range(30)]
	for c in connections:
		c.send(*[c.headers(stream, c.head("/page")) for stream in range(1, 200, 2)])
	for c in connections:
		assert c.status_of(199) == 200
	full = procs.proportional_memory(pid) - before
	leave(server, connections)
	if not srv.SANITIZED:
		wait_for(lambda: procs.proportional_memory(pid) - before <= full / 10 + SPARE, pause=0.1,
			said="a tenth of %d bytes is left" % full)


def test_listings_by_threads(h2d):
	"""A thread's heap keeps the MiB at its end that malloc may keep, and half a MiB beside it."""
	names = {"many/a-file-with-a-name-%06d" % i: b"" for i in range(8000)}
	server = h2d(sections=KEPT, server="autoindex = true", image=True, files={FAR: b"f" * 20000, **names})
	pid = server.worker_pids()[0]
	leave(server, wave(server, "tcp", 10))
	before = procs.proportional_memory(pid)
	for _ in range(6):
		with server.connect() as c:
			assert c.get("/many/").status == 200
	threads = len(os.listdir("/proc/%d/task" % pid)) - 1  # without the loop
	left = threads * (6 << 18)
	if not srv.SANITIZED:
		wait_for(lambda: procs.proportional_memory(pid) - before <= left, pause=0.1, said="%d threads" % threads)
