"""A disk that is full for real, under the access log or the error log: service goes on, and what is lost is counted and said."""
import os
import re
import signal
import subprocess

import pytest

import harness
import procs

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (alert|error|warn|notice|info|debug) \[\d+\] (master|worker \d+|keeper): \S.*")
LOST = re.compile(r"access log: (\d+) lines were lost")


class Room:
	"""A file system of 128 KiB."""

	def __init__(self, path):
		os.mkdir(path)
		self.path, self.filler = path, os.path.join(path, "filler")
		done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=0777", "tmpfs", path], stderr=subprocess.PIPE, text=True)
		if done.returncode:
			harness.skip_without("mount", done.stderr.strip())

	def fill(self):
		"""Until not a byte is left, but for what the last page of another file has."""
		with open(self.filler, "wb", buffering=0) as f:
			with pytest.raises(OSError, match="No space left"):
				while True:
					f.write(bytes(4096))

	def empty(self):
		os.unlink(self.filler)

	def lines(self, name):
		with open(os.path.join(self.path, name)) as f:
			text = f.read()
		assert text == "" or text.endswith("\n")
		return text.split("\n")[:-1]


@pytest.fixture
def full(h2d):
	made = []

	def start(**options):
		server = h2d.new(workers=1, **options)
		server.room = Room(server.path("logs"))
		made.append(server.room)
		return server
	yield start
	for room in made:
		subprocess.run(["umount", "-l", room.path], check=True)


def ask(server, n):
	"""Each line of theirs is a kilobyte long."""
	with server.connect("tcp") as c:
		for _ in range(n // 50):
			for stream in [c.send(path="/" + "x" * 1000) for _ in range(50)]:
				assert c.response(stream).status == 404


def test_under_the_access_log(full):
	"""Lines are lost whole, each is there or counted, and they come again once there is room."""
	server = full(conf='access-log = "logs/access.log"').start()
	ask(server, 50)
	server.room.fill()
	ask(server, 400)
	server.log.wait("access log: No space left on device")
	server.room.empty()
	server.log.wait(LOST.pattern)
	ask(server, 50)
	server.signal(signal.SIGQUIT)
	assert server.wait_exit() == 0 and server.log.wait_end()
	lines = [line for line in server.room.lines("access.log") if "/xxx" in line]
	assert all(line.endswith('"') and line.count("x" * 1000) == 1 for line in lines)
	assert len(lines) + sum(int(LOST.search(line)[1]) for line in server.log.find(LOST.pattern)) == 500


def test_under_the_error_log(full):
	server = full(conf='error-log = "logs/error.log"\nlog-level = debug')
	server.spawn()
	procs.wait_for(lambda: procs.listens(server.admin_path))
	server.wait_up()
	server.ports["tcp"] = int(re.search(r"listening on 127\.0\.0\.1:(\d+)$", "\n".join(server.room.lines("error.log")), re.M)[1])
	server.baseline = None
	server.room.fill()
	for _ in range(200):
		with server.raw("tcp") as raw:
			raw.sock.sendall(b"nonsense " * 10)
	ask(server, 50)
	for _ in range(20):
		server.reload()
	server.wait_up()
	before = len(server.room.lines("error.log"))
	server.room.empty()
	server.reload()
	lines = server.room.lines("error.log")
	assert [line for line in lines[before:] if re.search(r" error \[%d\] master: \d+ log lines were lost$" % server.pid, line)]
	assert not [line for line in lines if not LINE.fullmatch(line)]
	assert server.quit() == 0
