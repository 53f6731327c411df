"""A disk that stands still under an upload whose windows have grown: the client waits, and nobody else does."""
import os
import socket
import subprocess
import threading
import time

import pytest

import harness
import procs
import server as srv
from disks import Disk
from test_65_upload_large import MIB, OPTIONS, WINDOW, summed
from uploads import PUBLIC, folder, names, wait_over

SIZE = 64 * MIB
DELAY = 0.01
SOCKETS = 16 * MIB  # what the kernel takes for the server's and the relay's sockets, and what the disk has begun


class Relay:
	"""A path of 20 ms in front of a port; counts what the server took."""

	def __init__(self, port):
		self.port, self.passed = port, 0
		self.listener = socket.create_server(("127.0.0.1", 0))
		threading.Thread(target=self.accept, daemon=True).start()

	def accept(self):
		with self.listener:
			client, _ = self.listener.accept()
		server = socket.create_connection(("127.0.0.1", self.port))
		for s in (client, server):
			s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
		for way in ((client, server, True), (server, client, False)):
			threading.Thread(target=self.carry, args=way, daemon=True).start()

	def carry(self, source, sink, counts):
		pieces, changed = [], threading.Condition()

		def send():
			while True:
				with changed:
					changed.wait_for(lambda: pieces)
					when, data = pieces.pop(0)
				time.sleep(max(0, when - time.monotonic()))
				if not data:
					sink.shutdown(socket.SHUT_WR)
					return
				sink.sendall(data)
				self.passed += len(data) * counts
		threading.Thread(target=send, daemon=True).start()
		data = True
		while data:
			data = source.recv(64 << 10)
			with changed:
				pieces.append((time.monotonic() + DELAY, data))
				changed.notify()


def still(value, seconds=1):
	"""What value() is once it has not moved for so long."""
	last, since = value(), time.monotonic()
	while time.monotonic() - since < seconds * procs.PATIENCE:
		time.sleep(0.02)
		if value() != last:
			last, since = value(), time.monotonic()
	return last


@pytest.mark.slow
@pytest.mark.xdist_group("large")
@pytest.mark.parametrize("way", ["h2-tcp", "h1-tcp"])
def test_frozen(h2d, tmp_path, way):
	server = h2d.new(server=PUBLIC, listens=("tcp",), files={"up/.keep": b"", "small": b"s"})
	disk = Disk(tmp_path / "disk", folder(server), 2 * SIZE)
	data = tmp_path / "data"
	data.write_bytes(b"".join(b"%07d\n" % n for n in range(SIZE // 8)))
	try:
		server.start()
		pid = server.worker_pids()[0]
		memory = procs.proportional_memory(pid)
		relay = Relay(server.ports["tcp"])
		with subprocess.Popen(["curl", "-qsS", OPTIONS[way], "-o", "/dev/null", "-w", "%{http_code}", "-T", str(data),
				"http://127.0.0.1:%d/files/data" % relay.listener.getsockname()[1]], stdout=subprocess.PIPE) as curl:
			procs.wait_for(lambda: relay.passed > SIZE // 3, said="the upload goes on")
			# It waits for those who write, while more comes and is written.
			disk.freeze()
			before = relay.passed
			try:
				taken = still(lambda: relay.passed) - before
				grown = procs.proportional_memory(pid) - memory
				with server.connect() as c:
					assert c.get("/small").body == b"s", "the others are served"
			finally:
				disk.thaw()
			assert curl.stdout.read() == b"201"
		harness.REPORT.append("uploads: the disk stood still under %s: %.1f MiB came after it, PSS grew by %.1f MiB" % (
			way, taken / MIB, grown / MIB))
		assert taken < WINDOW + SOCKETS
		assert srv.SANITIZED or grown < WINDOW
		wait_over(server)
		assert names(server) == ["data"]
		assert summed(os.path.join(folder(server), "data")) == summed(data)
		assert server.quit() == 0
	finally:
		disk.close()
