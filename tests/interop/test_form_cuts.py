"""The upload form through cuts that need a network of its own, and a large directory.

H2D_FORM_SIZE: MiB of the file, which is then cut twenty times, in every way; H2D_FORM_FILES: files of the directory.
"""
import hashlib
import os
import signal
import socket
import time

import pytest

from balancer import Namespace
from form import PIECE, MIB, Network, choose, cut, each_browser, ends, items, kill_worker, launch, memory, reload, there, until  # noqa: F401
from harness import REPORT, need_namespaces
from test_chromium import FORM, said
from uploads import folder

SIZE = int(os.environ.get("H2D_FORM_SIZE", "0")) or 40
FILES = int(os.environ.get("H2D_FORM_FILES", "0")) or 100
PATIENCE = 120  # a browser tries again within 30 s


class Place:
	"""A browser behind a link of its own, and the line from the link's far end to the server."""

	def __init__(self, server):
		self.server = server
		self.near, self.far = Namespace(), Namespace()
		self.far.join("line", self.near)
		self.far.give("line", "192.0.2.1/24")
		self.near.give("peer-line", "192.0.2.2/24")
		self.line = Network(server.ports["tls"], 64 * MIB, self.far.call(lambda: socket.create_server(("192.0.2.1", 0))))
		self.url = "https://192.0.2.1:%d/up/" % self.line.own

	def close(self):
		self.line.close()
		self.near.close()
		self.far.close()

	def open_and_choose(self, browser, path):
		browser.open(self.url)
		choose(browser, path)


def link_down(place, *_):
	place.far.run("ip", "link", "set", "line", "down")
	time.sleep(3)  # this is the cut
	place.far.run("ip", "link", "set", "line", "up")


def upgrade(place, *_):
	place.server.upgrade()


def restart(place, *_):
	"""As a machine does that loses its power."""
	server = place.server
	os.killpg(server.process.pid, signal.SIGKILL)
	server.process.wait()
	server.heir = None
	server.start()
	server.baseline = None
	place.line.port = server.ports["tls"]


def close_page(place, browser, path):
	browser.open("about:blank")
	place.open_and_choose(browser, path)


CUTS = [link_down, upgrade, restart, close_page]
if SIZE > 40:
	CUTS = (CUTS + [lambda place, *_: kill_worker(place.server, None), lambda place, *_: reload(place.server, None),
		lambda place, *_: cut(None, place.line)]) * 3
	CUTS.pop()


def hash_of(path):
	with open(path, "rb") as f:
		return hashlib.file_digest(f, "sha256").hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chromium", "firefox"])
def test_cuts(h2d, cert, tmp_path, name):
	"""The link is down, the server is replaced, killed and started again, the page closed: the same bytes, at most a piece twice by each."""
	need_namespaces("-n")
	server = h2d(workers=2, listens=("tls",), server=FORM, files={"up/.keep": b""}, conf="shutdown-timeout = 1  reload-timeout = 1\n",
		sections='limits { client-max-body-size = "10G" }')
	server.baseline = None
	server.allow_alert("worker")
	place, path, began = Place(server), tmp_path / "film", time.monotonic()
	with open(path, "wb") as f:
		for _ in range(SIZE):
			f.write(os.urandom(MIB))
	try:
		with launch(name, tmp_path, cert, 3600, place.near) as browser:
			place.open_and_choose(browser, path)
			twice = [0]
			for i, act in enumerate(CUTS):
				until(browser, lambda: said(browser) and there(server) > (i + 1) * SIZE * MIB // (len(CUTS) + 1), PATIENCE)
				twice.append(place.line.up - there(server))
				act(place, browser, path)
			ends(browser, "1 file stored", PATIENCE)
			assert (memory(browser), items(browser)) == ([], [])
		twice.append(place.line.up - SIZE * MIB)
	finally:
		place.close()
	assert hash_of(path) == hash_of(os.path.join(folder(server), "film"))
	each = [later - earlier for earlier, later in zip(twice[1:], twice[2:])]
	REPORT.append("form, %s: %d MiB, %d cuts, %d s, sent twice %.1f MiB, by a cut %s MiB" % (name, SIZE, len(CUTS),
		time.monotonic() - began, twice[-1] / MIB, " ".join("%.1f" % (n / MIB) for n in each)))
	assert twice[-1] < len(CUTS) * PIECE, twice


def test_large_directory(h2d, each_browser, tmp_path):  # noqa: F811
	"""All files of all directories, with their structure."""
	server = h2d(workers=2, server=FORM + "upload-depth = 3", files={"up/.keep": b""})
	wanted = {}
	for i in range(FILES):
		at = tmp_path / "all" / ("%d" % (i % 10)) / ("%d" % (i % 7)) / ("file %d" % i)
		at.parent.mkdir(parents=True, exist_ok=True)
		at.write_bytes(b"%d\n" % i * (i % 1000))
		wanted[str(at.relative_to(tmp_path))] = at.read_bytes()
	each_browser.open(server.url("tls", "/up/"))
	began = time.monotonic()
	choose(each_browser, tmp_path / "all", selector="#folder")
	ends(each_browser, "%d files stored" % FILES, 30 + FILES / 20)
	REPORT.append("form, %s: %d files, %d s" % (type(each_browser).__module__, FILES, time.monotonic() - began))
	top = folder(server)
	found = {os.path.relpath(os.path.join(at, name), top) for at, _, names in os.walk(top) for name in names}
	assert {name for name in found if not name.startswith(".")} == set(wanted)
	for name, data in wanted.items():
		with open(os.path.join(top, name), "rb") as f:
			assert f.read() == data, name
