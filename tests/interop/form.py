"""What the tests of the upload form share: browsers, a network that breaks, and what a person does and sees."""
import contextlib
import os
import random
import shutil
import signal
import socket
import struct
import threading
import time

import pytest

import chromium
import firefox
import procs
import tree
from procs import wait_for
from test_chromium import DEADLINE, said
from uploads import folder, names

MIB = 1 << 20
PIECE = 8 * MIB  # what the form sends at most in a request


def launch(name, tmp_path, cert, deadline=DEADLINE, inside=None):
	"""That browser; inside: its network namespace."""
	driver = {"chromium": chromium, "firefox": firefox}[name]
	program = shutil.which(name) or tree.program({"chromium": "chromium", "firefox": "firefox-esr"}[name])
	return driver.Browser(program, str(tmp_path), cert.cert, deadline, inside)


@pytest.fixture(params=["chromium", "firefox"])
def each_browser(request, tmp_path, cert):
	with launch(request.param, tmp_path, cert) as b:
		yield b


class Network:
	"""Between browser and server: carries a number of bytes a second, counts what goes up, and breaks."""

	def __init__(self, port, rate, listener=None):
		self.port, self.rate, self.up, self.pairs = port, rate, 0, set()
		self.loses = None  # the beginning of an answer that is lost with its connection, once
		self.listener = listener or socket.create_server(("127.0.0.1", 0))
		self.own = self.listener.getsockname()[1]
		threading.Thread(target=self.accept, daemon=True).start()

	def accept(self):
		with contextlib.suppress(OSError):
			while True:
				near, _ = self.listener.accept()
				try:
					far = socket.create_connection(("127.0.0.1", self.port))
				except OSError:
					near.close()
					continue
				self.pairs.add((near, far))
				for pair in (near, far), (far, near):
					threading.Thread(target=self.carry, args=pair, daemon=True).start()

	def carry(self, source, to):
		goes_up = (source, to) in self.pairs
		with contextlib.suppress(OSError):
			while data := source.recv(65536):
				if goes_up:
					self.up += len(data)
					time.sleep(len(data) / self.rate)  # the line itself
				elif self.loses and data.startswith(self.loses):
					self.loses = None
					break
				to.sendall(data)
		self.end(source, to)

	@staticmethod
	def end(*sockets):
		for s in sockets:
			with contextlib.suppress(OSError):
				s.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
			s.close()

	def cut(self):
		for pair in list(self.pairs):
			for s in pair:
				with contextlib.suppress(OSError):
					s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
			self.end(*pair)
		self.pairs.clear()

	def close(self):
		self.listener.close()
		self.cut()


@pytest.fixture
def network():
	made = []

	def new(port, rate=16 * MIB):
		made.append(Network(port, rate))
		return made[0]
	yield new
	for one in made:
		one.close()


def put_file(path, size, seed=1):
	path.parent.mkdir(parents=True, exist_ok=True)
	source = random.Random(seed)
	with open(path, "wb") as f:
		for at in range(0, size, MIB):
			f.write(source.randbytes(min(MIB, size - at)))
	return path


def choose(browser, *paths, selector="#file"):
	browser.choose_files(selector, paths)
	wait_for(lambda: browser.evaluate("document.querySelector('%s').files.length" % selector), said="a directory has been read")
	browser.evaluate("document.forms[0].requestSubmit()")


def items(browser):
	return browser.evaluate("[...document.querySelectorAll('form li')].map(e => e.innerText.replaceAll('\\n', '|'))")


def click(browser, label):
	browser.evaluate("document.querySelector('button[aria-label=\"%s\"]').click()" % label)


def accepts(port):
	with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
		return True
	return False


def memory(browser):
	return browser.evaluate("Object.keys(localStorage).filter(key => key.startsWith('h2d'))")


def there(server):
	return sum(os.stat(os.path.join(folder(server), name)).st_size for name in names(server) if name.endswith(".part"))


def until(browser, what, deadline=procs.DEADLINE):
	try:
		wait_for(what, deadline)
	except AssertionError:
		raise AssertionError("the form says %r, %r" % (said(browser), items(browser))) from None


def ends(browser, text, deadline=procs.DEADLINE):
	until(browser, lambda: said(browser) == text, deadline)


def kill_worker(server, _):
	os.kill(server.worker_pids()[0], signal.SIGKILL)


def reload(server, _):
	server.hup()


def cut(_, network):
	network.cut()
