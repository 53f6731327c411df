"""upload-quota: a sum that is kept, of all that a folder of uploads holds, by whichever worker it came."""
import contextlib
import os
import random
import struct

import pytest

import resumable
from procs import together, wait_for
from uploads import PUBLIC, folder, names, post, put, wait_over

BLOCK = 4096
QUOTA = 1 << 20
SUM = ".h2d-quota"


@pytest.fixture
def make(h2d):
	def new(quota=QUOTA, files=(), **options):
		made = h2d(server=PUBLIC + "upload-quota = %d\n" % quota, workers=2,
			files={"up/.keep": b"", **{"up/" + name: data for name, data in dict(files).items()}}, **options)
		os.unlink(os.path.join(folder(made), ".keep"))
		return made
	return new


def kept(server):
	"""(of files, of what is being received), as the workers know it."""
	with open(os.path.join(folder(server), SUM), "rb") as f:
		return struct.unpack("QQQ", f.read(24))[1:]


def cost(server):
	"""What there is."""
	return sum(max(BLOCK, os.stat(os.path.join(folder(server), name)).st_size) for name in names(server))


def received(server):
	"""Bytes on the disk of files that have no name yet."""
	sizes = {}
	for pid in server.worker_pids():
		for fd in os.listdir("/proc/%d/fd" % pid):
			path = "/proc/%d/fd/%s" % (pid, fd)
			with contextlib.suppress(OSError):
				if os.readlink(path).startswith(folder(server)) and os.path.isfile(path):
					found = os.stat(path)
					if found.st_nlink == 0:
						sizes[found.st_ino] = found.st_size
	return sum(sizes.values())


def wait_kept(server, *want):
	"""What an upload held is free a moment behind its answer."""
	wait_for(lambda: kept(server) == want, said="the sum is %s, not %s" % (want, kept(server)))


def walked(server):
	return server.status()["totals"]["folders_walked"]


def open_uploads(server, n, size, length):
	"""So many uploads that are not ended; whose answers are there, those are over."""
	clients = [server.h1() for _ in range(n)]
	for i, c in enumerate(clients):
		c.send_bytes(b"PUT /files/n%d HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (i, length) + b"x" * size)
	return clients


def test_unfinished_uploads(make):
	"""64 of them, each with room alone: what the disk has of them never is more than there may be."""
	server = make(files={"there": b"x" * 200000})
	clients = open_uploads(server, 64, 100000, 100001)
	# Eight fit, and the others are answered.
	wait_for(lambda: server.status()["totals"]["limit_quota"] == 64 - 8, said="the others are refused")
	wait_for(lambda: received(server) == 8 * 100000, said="what the others sent is there")
	wait_kept(server, 200000, 8 * 100000)
	with server.connect() as c:
		assert put(c, "more", b"x" * 100000).status == 507
		assert put(c, "there", b"y" * 100000).status == 204, "in place of what it replaces"
	for c in clients:
		c.close()
	wait_over(server)
	wait_kept(server, 100000, 0)
	with server.connect() as c:
		assert put(c, "more", b"x" * 900000).status == 201


def test_what_a_dead_worker_held(make):
	server = make()
	server.allow_fault("worker .* killed", "by this test")
	clients = open_uploads(server, 8, 120000, 120001)
	wait_for(lambda: received(server) == 8 * 120000)
	with server.connect() as c:
		assert put(c, "a", b"x" * 120000).status == 507
	pids = server.worker_pids()
	for pid in pids:
		os.kill(pid, 9)
	for c in clients:
		c.close()
	server.baseline = None
	wait_for(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids), said="their end")
	server.wait_up(1)
	assert kept(server)[1] == 8 * 120000, "it could not say so"
	with server.connect() as c:
		assert put(c, "a", b"x" * 1000000).status == 201
	wait_kept(server, 1000000, 0)


def test_nothing_is_walked(make):
	"""Whatever is uploaded, replaced and removed, beside many files."""
	server = make(quota=100 << 20, files={"f%d" % i: b"x" for i in range(10000)})
	with server.connect() as c:
		assert put(c, "first", b"x").status == 201
		wait_over(server)
		assert 1 <= walked(server) <= 4, "by whoever was first"
		for i in range(20):
			assert put(c, "n%d" % i, b"x" * 5000).status == 201
			assert put(c, "f%d" % i, b"x" * 5000).status == 204
			assert post(c, [("a%d" % i, b"x"), ("f%d" % i, b"x" * 10000)]).status == 201
			assert c.request("DELETE", "/files/n%d" % i).status == 204
	wait_over(server)
	# On a slow machine the others of the first ones come meanwhile; 80 changes would add one each.
	assert walked(server) <= 4
	wait_kept(server, cost(server), 0)


def test_many_at_once(make):
	"""Of all kinds, some cut off, by two workers: in the end the sum is what there is."""
	server = make(quota=3 << 20)

	def life(number):
		chance = random.Random(number)
		for i in range(30):
			name, data = "n%d" % chance.randrange(12), b"x" * chance.randrange(300000)
			with server.connect() as c:
				what = chance.randrange(5)
				if what == 0:
					assert c.request("DELETE", "/files/" + name).status in (204, 404)
				elif what == 1:
					assert post(c, [(name, data), (name + "b", b"x")]).status in (201, 507)
				elif what == 2:
					c.send_body(c.send("PUT", "/files/" + name, [("content-length", str(len(data) + 1))], end=False), data, end=False)
				elif what == 3:
					location = resumable.create(c, name, data, complete=resumable.PIECE).get("location")
					if location:
						assert c.request("DELETE", location).status == 204
				else:
					assert put(c, name, data).status in (201, 204, 507)
				assert sum(kept(server)) <= (3 << 20) + 300000
	together(6, life)
	wait_over(server)
	wait_kept(server, cost(server), 0)


def test_others_change_the_folder(make):
	"""Behind h2d's back: it is found out, once in a while, by whoever would be refused at once."""
	server = make(files={"there": b"x" * 1000000})
	path = os.path.join(folder(server), "there")
	with server.connect() as c:
		assert put(c, "a", b"x" * 100000).status == 507
		os.unlink(path)
		wait_for(lambda: put(c, "a", b"x" * 100000).status in (201, 204), said="there is room")
		with open(path, "wb") as f:
			f.write(b"x" * 1000000)
		wait_for(lambda: put(c, "b", b"x" * 1000).status == 507, said="there is none any more")
		os.unlink(os.path.join(folder(server), SUM))
		assert put(c, "c", b"x" * 1000).status == 507
	before = cost(server), 0
	wait_kept(server, *before)
	server.reload()
	with server.connect() as c:
		assert put(c, "c", b"x" * 1000).status == 507
	wait_kept(server, *before)
