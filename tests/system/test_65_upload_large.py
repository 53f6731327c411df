"""A large upload: its bytes arrive, and the worker's memory does not grow with them.

H2D_UPLOAD_SIZE: MiB of it; the disk takes the original and one copy.
"""
import base64
import hashlib
import os
import subprocess
import time

import pytest

import harness
import procs
import server as srv
from uploads import PUBLIC, WAYS, folder, names, wait_over

SIZE = int(os.environ.get("H2D_UPLOAD_SIZE", "64"))
MIB = 1 << 20
WINDOW = 16 * MIB  # limits.receive-window: what a client may have sent and the disk has not, at most
OPTIONS = {"h2-tcp": "--http2-prior-knowledge", "h2-tls": "--http2", "h1-tcp": "--http1.1", "h1-tls": "--http1.1"}


class Watch(procs.Beside):
	"""The most memory a process has while this runs."""

	def __init__(self, pid):
		super().__init__()
		self.pid = pid
		self.first = self.most = procs.proportional_memory(pid)
		self.looks = 0

	def run(self):
		while not self.over.wait(0.01):
			self.most = max(self.most, procs.proportional_memory(self.pid))
			self.looks += 1


@pytest.fixture(scope="module")
def large(tmp_path_factory):
	"""(path, SHA-256) of a file in which no MiB is like another."""
	path = tmp_path_factory.mktemp("large") / "large.bin"
	block, summed = bytearray(os.urandom(MIB)), hashlib.sha256()
	with open(path, "wb") as f:
		for i in range(SIZE):
			block[:8] = b"%08d" % i
			f.write(block)
			summed.update(block)
	yield path, summed.digest()
	os.unlink(path)


def summed(path):
	found = hashlib.sha256()
	with open(path, "rb") as f:
		while piece := f.read(MIB):
			found.update(piece)
	return found.digest()


@pytest.mark.slow
@pytest.mark.xdist_group("large")
@pytest.mark.parametrize("way", WAYS)
def test_memory(h2d, large, way):
	server = h2d(server=PUBLIC, files={"up/.keep": b""}, sections='limits { client-max-body-size = "4G" }')
	os.unlink(os.path.join(folder(server), ".keep"))
	path, right = large
	for status in (" 201", " 204", " 204"):
		begun = time.monotonic()
		with Watch(server.worker_pids()[0]) as watch:
			done = subprocess.run(["curl", "-qksS", OPTIONS[way], "-D", "-", "-T", path, "-H", "want-repr-digest: sha-256=1",
				server.url(way[3:], "/files/large.bin")], stdout=subprocess.PIPE, timeout=60 + SIZE, check=True)
		took = time.monotonic() - begun
		head = done.stdout.decode().lower()
		assert status in head.split("\r\n\r\n")[-2], head
		if watch.looks:
			break  # else the one that looks had no processor while it went on
	assert ("repr-digest: sha-256=:%s:" % base64.b64encode(right).decode()).encode() in done.stdout
	assert summed(os.path.join(folder(server), "large.bin")) == right
	wait_over(server)
	assert names(server) == ["large.bin"]
	grown = watch.most - watch.first
	harness.REPORT.append("uploads: %d MiB by %s in %.1f s; the worker's PSS grew by %.2f MiB (%d looks)" % (
		SIZE, way, took, grown / MIB, watch.looks))
	assert watch.looks, "nobody looked while it went on"
	# A sanitizer keeps what was freed.
	assert srv.SANITIZED or grown < 16 * MIB + WINDOW
