"""Files that grow while they are sent: logs and recordings. What was announced comes, whole and right."""
import contextlib
import os
import threading

import pytest
from h2.settings import SettingCodes

WINDOW = SettingCodes.INITIAL_WINDOW_SIZE
STEP = 300007
PATTERN = os.urandom(1 << 20) * 2
SOURCES = {
	"image": (1 << 20, ""), "disk": (1 << 20, "cache { max-size = 0 }"), "long": (12 << 20, ""),
}


def content(at, n):
	"""What is at that place of the file, however long it is."""
	at %= 1 << 20
	return (PATTERN * (n // (1 << 20) + 2))[at:at + n]


class Growing:
	"""A file, and somebody who appends to it."""

	def __init__(self, path, size):
		self.path, self.size = path, size
		self.over = threading.Event()

	def grow(self, n=STEP):
		with open(self.path, "ab", buffering=0) as f:
			assert f.write(content(self.size, n)) == n
		self.size += n

	def run(self):
		while not self.over.wait(0.02):
			self.grow(65537)

	@contextlib.contextmanager
	def writer(self):
		thread = threading.Thread(target=self.run)
		thread.start()
		try:
			yield self
		finally:
			self.over.set()
			thread.join()


@pytest.fixture(params=SOURCES)
def growing(request, h2d):
	size, sections = SOURCES[request.param]
	server = h2d(sections=sections, files={"log": content(0, size)})
	return server, Growing(os.path.join(server.root, "log"), size)


def check(answer, at=0, n=None):
	"""All that was announced came, and is what the file had there."""
	assert answer.status in (200, 206) and answer.reset is None, answer
	n = int(answer.get("content-length")) if n is None else n
	assert len(answer.body) == n and answer.body == content(at, n)


def test_grows_between_two_pieces(growing, how):
	"""An append in front of each piece, however small the window is."""
	server, file = growing
	with server.connect(how, settings={WINDOW: 100000}, credit=False) as c:
		c.window(1 << 27)
		for headers, at, n in (([], 0, file.size), ([("range", "bytes=100-600099")], 100, 600000)):
			stream = c.send(path="/log", headers=headers)
			got = 0
			while got < n:
				c.until(lambda: c.responses[stream].size >= min(n, got + 100000) or c.responses[stream].done)
				assert c.responses[stream].reset is None
				got = c.responses[stream].size
				if got < n:
					file.grow(5000)
					c.window(100000, stream)
			check(c.response(stream), at, n)
			n = file.size


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_grows_all_the_time(growing, protocol, how):
	server, file = growing
	connect = server.connect if protocol == "h2" else server.h1
	with file.writer():
		for _ in range(6):
			with connect(how) as c:
				answer = c.get("/log")
				check(answer)
				check(c.get("/log", headers=[("range", "bytes=5000-700000")]), 5000, 695001)
				head = c.request("HEAD", "/log")
				assert head.status == 200 and int(head.get("content-length")) >= len(answer.body)
