"""The upload form through cuts that need a network of its own, through proxies, and with a large directory.

H2D_FORM_SIZE: MiB of each file, which is then cut twenty times, in every way; H2D_FORM_FILES: files of the directory.
"""
import hashlib
import os
import signal
import socket
import subprocess
import time

import pytest

import tree
from balancer import Namespace
from form import (MIB, PIECE, Network, accepts, choose, cut, each_browser, ends, items, kill_worker, launch, memory,  # noqa: F401
	network, put_file, reload, there, until)
from harness import REPORT, need_namespaces
from procs import wait_for
from test_chromium import FORM, said
from uploads import folder

SIZE = int(os.environ.get("H2D_FORM_SIZE", "0")) or 40
FILES = int(os.environ.get("H2D_FORM_FILES", "0")) or 100
HASTY = "shutdown-timeout = 1  reload-timeout = 1\n"
LARGE = 'limits { client-max-body-size = "10G" }'
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
	server = h2d(workers=2, listens=("tls",), server=FORM, files={"up/.keep": b""}, conf=HASTY, sections=LARGE)
	server.baseline = None
	server.allow_alert("worker")
	place, path, began = Place(server), put_file(tmp_path / "film", SIZE * MIB), time.monotonic()
	try:
		with launch(name, tmp_path, cert, 3600, place.near) as its:
			place.open_and_choose(its, path)
			twice = [0]
			for i, act in enumerate(CUTS):
				until(its, lambda: said(its) and there(server) > (i + 1) * SIZE * MIB // (len(CUTS) + 1), PATIENCE)
				twice.append(place.line.up - there(server))
				act(place, its, path)
			ends(its, "1 file stored", PATIENCE)
			assert (memory(its), items(its)) == ([], [])
		twice.append(place.line.up - SIZE * MIB)
	finally:
		place.close()
	assert hash_of(path) == hash_of(os.path.join(folder(server), "film"))
	each = [later - earlier for earlier, later in zip(twice[1:], twice[2:])]
	REPORT.append("form, %s: %d MiB, %d cuts, %d s, sent twice %.1f MiB, by a cut %s MiB" % (name, SIZE, len(CUTS),
		time.monotonic() - began, twice[-1] / MIB, " ".join("%.1f" % (n / MIB) for n in each)))
	assert twice[-1] < len(CUTS) * PIECE, twice


NGINX = """daemon off;  pid nginx.pid;  error_log stderr;  worker_processes 1;  %s
events { }
http {
	access_log off;  client_body_temp_path t1;  proxy_temp_path t2;  fastcgi_temp_path t3;  uwsgi_temp_path t4;  scgi_temp_path t5;
	server { listen 127.0.0.1:PORT;  location / { proxy_pass http://127.0.0.1:BACK; } }
}
""" % ("user root;" if os.geteuid() == 0 else "")
HAPROXY = """defaults
	mode http
	timeout connect 20s
	timeout client 60s
	timeout server 60s
listen h2d
	bind 127.0.0.1:PORT
	server h2d 127.0.0.1:BACK
"""
BEHIND = [kill_worker, reload, cut]
if SIZE > 40:
	BEHIND = (BEHIND * 7)[:20]


@pytest.mark.parametrize("name, conf, options, refusals", [("nginx", NGINX, ["-p", ".", "-c"], range(1, 4)),
	("haproxy", HAPROXY, ["-db", "-f"], [0])])
def test_through(h2d, cert, network, tmp_path, name, conf, options, refusals):  # noqa: F811
	"""Cut on both sides of it. nginx takes bodies of 1 MiB: a longer piece is refused, and sent again in smaller ones."""
	server = h2d(workers=2, server=FORM, files={"up/.keep": b""}, conf=HASTY, sections=LARGE)
	server.baseline = None
	server.allow_alert("worker")
	with socket.create_server(("127.0.0.1", 0)) as free:
		port = free.getsockname()[1]
	(tmp_path / "conf").write_text(conf.replace("PORT", str(port)).replace("BACK", str(server.ports["tcp"])))
	path, began, line = put_file(tmp_path / "film", SIZE * MIB), time.monotonic(), network(port, 64 * MIB if SIZE > 40 else 16 * MIB)
	proxy = subprocess.Popen([tree.program(name), *options, "conf"], cwd=tmp_path, stderr=subprocess.DEVNULL)
	try:
		wait_for(lambda: accepts(port), said=name + " listens")
		with launch("chromium", tmp_path, cert, 3600) as its:
			its.open("http://127.0.0.1:%d/up/" % line.own)
			choose(its, path)
			for i, act in enumerate(BEHIND):
				until(its, lambda: said(its) and there(server) > (i + 1) * SIZE * MIB // (len(BEHIND) + 1), PATIENCE)
				act(server, line)
			ends(its, "1 file stored", PATIENCE)
			refused = [e for e in its.of("Network.responseReceived") if e["response"]["status"] == 413]
	finally:
		proxy.terminate()
		proxy.wait()
	assert hash_of(path) == hash_of(os.path.join(folder(server), "film"))
	twice = line.up - SIZE * MIB
	REPORT.append("form, %s: %d MiB, %d cuts, %d s, sent twice %.1f MiB" % (name, SIZE, len(BEHIND), time.monotonic() - began, twice / MIB))
	assert len(refused) in refusals and twice < (len(BEHIND) + len(refused)) * PIECE, (len(refused), twice)


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
