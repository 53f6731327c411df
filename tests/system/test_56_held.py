"""Readers that stand still with a file of every version: they hold up no image, and lose no byte."""
import email.utils
import hashlib
import os
import socket

import h2.settings
import pytest

import server as under_test
from client import Client
from h1client import H1
from procs import memfds, private_memory, wait_for

WINDOW = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
LARGE = 6 << 20  # more than the sockets between take
SMALL = 3000     # one that the queue of a connection would borrow, not copy
VERSIONS = 5     # more than there may be images
CONF = "timeouts { send = 600 }"
CACHE = 'cache { max-file-size = "8M"  compress = {} }'
PUBLISHED = 120  # seconds on a machine that has no time; it takes four at most


def tight(port):
	"""A socket that takes little while nobody reads from it."""
	sock = socket.socket()
	sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
	sock.settimeout(120)
	sock.connect(("127.0.0.1", port))
	return sock


class Version:
	"""What the two files held at a time, and those who were asking then."""

	def __init__(self, server, number):
		self.files = {"/large.bin": os.urandom(LARGE), "/small.txt": os.urandom(SMALL)}
		self.modified = {}
		for name, data in self.files.items():
			new = server.write(".new", data)
			self.modified[name] = email.utils.formatdate(os.stat(new).st_mtime, usegmt=True)
			os.rename(new, server.path("www", name[1:]))
		self.number = number
		self.readers = []

	def published(self, server):
		"""Whether an image has both."""
		before = server.status()["totals"]["cache_hits"]
		with server.connect("tcp", timeout=120) as c:
			got = {name: c.get(name, [("range", "bytes=0-9")]).body for name in self.files}
		return (got == {name: data[:10] for name, data in self.files.items()}
			and server.status()["totals"]["cache_hits"] == before + 2)

	def fields(self, answer, name):
		assert answer.status in (200, 206), (self.number, answer)
		kind = {"/large.bin": "application/octet-stream", "/small.txt": "text/plain; charset=utf-8"}
		if "multipart" not in answer.get("content-type"):
			assert answer.get("content-type") == kind[name]
		# None while the date of responses has not come to it (RFC 9110, 8.8.2.1).
		assert answer.get("last-modified") in (None, self.modified[name]), (self.number, answer)
		return answer.get("etag")


class Windowed:
	"""HTTP/2 streams without a window: the whole, a range, several ranges."""
	PARTS = [(10, 19), (1 << 20, (3 << 20) - 1), (5 << 20, LARGE - 1)]

	def __init__(self, server, version, how):
		self.c = server.connect(how, settings={WINDOW: 1}, credit=False, timeout=120)
		self.version = version
		self.c.window((1 << 31) - 1 - 65535)
		self.whole = self.c.send(path="/large.bin")
		self.range = self.c.send(path="/large.bin", headers=[("range", "bytes=1000-4999999")])
		self.parts = self.c.send(path="/large.bin", headers=[("range", "bytes=" +
			",".join("%d-%d" % part for part in self.PARTS))])
		self.c.until(lambda: all(r.size == 1 for r in self.c.responses.values()))

	def finish(self):
		for stream in (self.parts, self.whole, self.range):
			self.c.window(LARGE + 1000, stream)
		data = self.version.files["/large.bin"]
		whole, part, parts = (self.c.response(s) for s in (self.whole, self.range, self.parts))
		assert whole.body == data and part.body == data[1000:5000000]
		for first, last in self.PARTS:
			assert data[first:last + 1] in parts.body
		assert len({self.version.fields(r, "/large.bin") for r in (whole, part, parts)}) == 1
		self.c.close()


class Greedy:
	"""HTTP/2 with every window open and nobody who reads: replies whose heads cannot be written yet."""

	def __init__(self, server, version):
		self.c = Client(tight(server.ports["tcp"]), settings={WINDOW: 1 << 30}, credit=False, timeout=120)
		self.version = version
		self.c.window((1 << 31) - 1 - 65535)
		self.asked = [("GET", "/large.bin")] + 30 * [("GET", "/small.txt"), ("HEAD", "/large.bin")]
		self.asked.append(("GET", "/large.bin"))
		self.streams = [self.c.send(*pair) for pair in self.asked]

	def finish(self):
		seen = set()
		for (method, name), stream in zip(self.asked, self.streams):
			answer = self.c.response(stream)
			assert answer.body == (self.version.files[name] if method == "GET" else b"")
			seen.add(self.version.fields(answer, name))
		assert len(seen) == 2
		self.c.close()


class Idle:
	"""HTTP/1.1 and nobody who reads."""

	def __init__(self, server, version, how):
		sock = tight(server.ports[how])
		if how == "tls":
			context = under_test.client.tls_context(alpn=("http/1.1",))
			sock = context.wrap_socket(sock, server_hostname="localhost")
		self.c = H1(sock, timeout=120)
		self.version = version
		self.c.send(path="/large.bin")

	def finish(self):
		answer = self.c.response()
		assert hashlib.sha256(answer.body).digest() == hashlib.sha256(
			self.version.files["/large.bin"]).digest()
		self.version.fields(answer, "/large.bin")
		self.c.close()


def hold(server, version):
	"""All of them are answered out of the image: some are not where the keeper has no processor for a second."""
	for _ in range(10):
		before = server.status()["totals"]
		version.readers = [Windowed(server, version, "tcp"), Windowed(server, version, "tls"),
			Greedy(server, version), Idle(server, version, "tcp"), Idle(server, version, "tls")]

		def counted(name):
			return server.status()["totals"][name] - before[name]
		# From the disk the greedy one is not answered to the end while it does not read.
		wait_for(lambda: counted("cache_misses") > 0 or counted("cache_hits") >= 6 + 62 + 2, 120, said="all of them are answered")
		if counted("cache_misses") == 0:
			return
		for reader in version.readers:
			reader.finish()
	raise AssertionError("none of ten times all out of the image")


@pytest.mark.slow
def test_readers_that_stand_still_hold_up_no_image(h2d):
	still = os.urandom(LARGE)
	server = h2d(image=True, conf=CONF, sections=CACHE, files={"still.bin": still})
	worker = server.worker_pids()[0]
	before = private_memory(worker)
	# This one is in all images: it is copied once at most, when the keeper moves it to another segment.
	patient = server.connect("tcp", settings={WINDOW: 1}, timeout=120)
	stream = patient.send(path="/still.bin")
	patient.until(lambda: patient.responses[stream].size == 1)
	versions = []
	for number in range(VERSIONS):
		versions.append(Version(server, number))
		wait_for(lambda: versions[-1].published(server), PUBLISHED, 0.1, said="version %d in an image" % number)
		hold(server, versions[-1])
	last = Version(server, VERSIONS)
	wait_for(lambda: last.published(server), PUBLISHED, 0.1, said="the last version in an image")
	totals = wait_for(lambda: server.status()["totals"]["images"] == 0 and server.status()["totals"],
		120, said="old images are gone while their readers stay")
	assert totals["pieces_moved"] >= VERSIONS * 9 and totals["pieces_refused"] == 0
	assert totals["held_bytes"] <= (VERSIONS + 1) * (LARGE + (128 << 10))
	patient.conn.increment_flow_control_window(LARGE, stream)
	patient.flush()
	assert patient.response(stream).body == still
	patient.close()
	for version in versions:
		for reader in version.readers:
			reader.finish()
	server.wait_quiet(60)
	wait_for(lambda: sum(memfds(worker).values()) < 4 * LARGE, 60, said="their segments are gone")
	if not under_test.SANITIZED:
		assert private_memory(worker) < before + LARGE
