"""The form of a listing in Chromium: uploads go on after each cut, folders keep their structure, and errors are said in words."""
import base64
import contextlib
import os
import random
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import tree
from procs import wait_for
from test_chromium import FORM, browser, press, program, said, shown, tab_to  # noqa: F401
from test_looks import FAULTS
from uploads import content, folder, names

MIB = 1 << 20
PIECE = 8 * MIB  # what the form sends at most in a request


class Network:
	"""Between browser and server: carries a number of bytes a second, counts what goes up, and breaks."""

	def __init__(self, port, rate):
		self.port, self.rate, self.up, self.pairs = port, rate, 0, set()
		self.loses = None  # the beginning of an answer that is lost with its connection, once
		self.listener = socket.create_server(("127.0.0.1", 0))
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

	def new(server, how, rate=16 * MIB):
		made.append(Network(server.ports[how], rate))
		return made[0]
	yield new
	for one in made:
		one.close()


def put_file(path, size, seed=1):
	path.parent.mkdir(parents=True, exist_ok=True)
	path.write_bytes(random.Random(seed).randbytes(size))
	return path


def choose(browser, *paths, selector="#file"):  # noqa: F811
	browser.choose_files(selector, paths)
	wait_for(lambda: browser.evaluate("document.querySelector('%s').files.length" % selector), said="a directory has been read")
	browser.evaluate("document.forms[0].requestSubmit()")


def items(browser):  # noqa: F811
	return browser.evaluate("[...document.querySelectorAll('form li')].map(e => e.innerText.replaceAll('\\n', '|'))")


def click(browser, label):  # noqa: F811
	browser.evaluate("document.querySelector('button[aria-label=\"%s\"]').click()" % label)


def accepts(port):
	with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
		return True
	return False


def memory(browser):  # noqa: F811
	return browser.evaluate("Object.keys(localStorage).filter(key => key.startsWith('h2d'))")


def there(server):
	return sum(os.stat(os.path.join(folder(server), name)).st_size for name in names(server) if name.endswith(".part"))


def until(browser, what):  # noqa: F811
	try:
		wait_for(what)
	except AssertionError:
		raise AssertionError("the form says %r, %r" % (said(browser), items(browser))) from None


def ends(browser, text):  # noqa: F811
	until(browser, lambda: said(browser) == text)


def kill_worker(server, _):
	os.kill(server.worker_pids()[0], signal.SIGKILL)


def reload(server, _):
	server.hup()


def cut(_, network):  # noqa: F811
	network.cut()


CUTS = [kill_worker, reload, cut]
SIZES = """window.sizes = []; const send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function(body) { if (body) sizes.push(body.size); send.call(this, body); }; 0"""


@pytest.mark.parametrize("how", ["tls", "tcp"])
def test_goes_on(h2d, browser, network, tmp_path, how):  # noqa: F811
	"""A worker is killed, the server reloads, the connection breaks, the page is closed: the same bytes, and few of them twice."""
	server = h2d(workers=2, server=FORM, files={"up/.keep": b""})
	server.baseline = None
	line = network(server, how)
	url = server.url(how, "/up/").replace(str(server.ports[how]), str(line.own))
	path = put_file(tmp_path / "a film.mkv", 40 * MIB + 12345)
	browser.open(url)
	browser.evaluate(SIZES)
	choose(browser, path)
	for i, act in enumerate(CUTS):
		until(browser, lambda: there(server) > (i + 1) * 6 * MIB)
		act(server, line)
	until(browser, lambda: there(server) > 26 * MIB)
	assert len(memory(browser)) == 1
	sizes = browser.evaluate("sizes")
	assert len(sizes) > 5 and max(sizes) <= PIECE, sizes
	browser.open("about:blank")
	browser.open(url)
	item, = items(browser)
	assert item.startswith("a film.mkv|") and "of 40.0 MiB are stored: choose the file again to go on|Forget" in item
	choose(browser, path)
	ends(browser, "1 file stored")
	assert content(server, "a film.mkv") == path.read_bytes()
	assert (shown(browser), memory(browser), items(browser)) == (["a film.mkv"], [], [])
	again = line.up - path.stat().st_size
	assert again < (len(CUTS) + 1) * PIECE, again
	server.allow_alert("worker")


def test_pieces(h2d, browser, tmp_path):  # noqa: F811
	"""No longer than the key says, and small files in one request each."""
	server = h2d(server=FORM + "upload-piece = 512K", files={"up/.keep": b""})
	paths = [put_file(tmp_path / "large", 3 * MIB), put_file(tmp_path / "small", 1000), put_file(tmp_path / "empty", 0)]
	browser.open(server.url("tls", "/up/"))
	choose(browser, *paths)
	ends(browser, "3 files stored")
	sent = [(e["request"]["method"], e["request"]["url"].rpartition("/")[2]) for e in browser.of("Network.requestWillBeSent")]
	assert [m for m, _ in sent].count("PATCH") >= 6 and [m for m, _ in sent].count("POST") == 3
	for path in paths:
		assert content(server, path.name) == path.read_bytes()
	assert browser.console_errors() == []


def test_lost_answer(h2d, browser, network, tmp_path):  # noqa: F811
	"""A small file has arrived, and its answer has not: it is stored, and not refused as one that exists. Another file's bytes are."""
	server = h2d(server=FORM + "upload-overwrite = false", files={"up/longer": bytes(1001), "up/empty": b"x"})
	line = network(server, "tcp")
	paths = [put_file(tmp_path / "small", 1000), tmp_path / "longer", put_file(tmp_path / "empty", 0)]
	paths[1].write_bytes(bytes(1000))
	browser.open("http://127.0.0.1:%d/up/" % line.own)
	line.loses = b"HTTP/1.1 201"
	choose(browser, paths[0])
	ends(browser, "1 file stored")
	assert line.loses is None and content(server, "small") == paths[0].read_bytes()
	choose(browser, *paths[1:])
	ends(browser, "0 files stored, 2 not")
	assert set(items(browser)) == {name + "|name exists and must not be replaced|Retry|Remove" for name in ("longer", "empty")}


def test_two_tabs(h2d, browser, network, tmp_path):  # noqa: F811
	"""The same file in both: the second goes on with it, and the first says so and takes nothing back by itself."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	line = network(server, "tls", 8 * MIB)
	url = server.url("tls", "/up/").replace(str(server.ports["tls"]), str(line.own))
	path = put_file(tmp_path / "film", 24 * MIB)
	browser.open(url)
	choose(browser, path)
	until(browser, lambda: there(server) > 2 * MIB)
	with browser.tab():
		browser.open(url)
		choose(browser, path)
		until(browser, lambda: any(" left" in item for item in items(browser)))
		ends(browser, "1 file stored")
	assert items(browser) == ["film|upload was taken over by another request|Retry|Remove"]
	assert content(server, "film") == path.read_bytes()
	assert line.up - path.stat().st_size < PIECE
	click(browser, "Remove film")
	assert items(browser) == []


NGINX = """daemon off;  pid nginx.pid;  error_log stderr;  worker_processes 1;  %s
events { }
http {
	access_log off;  client_body_temp_path t1;  proxy_temp_path t2;  fastcgi_temp_path t3;  uwsgi_temp_path t4;  scgi_temp_path t5;
	server { listen 127.0.0.1:%d;  location / { proxy_pass http://127.0.0.1:%d; } }
}
"""


def test_through_nginx(h2d, browser, tmp_path):  # noqa: F811
	"""With its own limit for bodies, which is 1 MiB: a piece that it refuses is sent again in smaller ones."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	with socket.create_server(("127.0.0.1", 0)) as free:
		port = free.getsockname()[1]
	(tmp_path / "nginx.conf").write_text(NGINX % ("user root;" if os.geteuid() == 0 else "", port, server.ports["tcp"]))
	nginx = subprocess.Popen([tree.program("nginx"), "-p", tmp_path, "-c", "nginx.conf"], stderr=subprocess.DEVNULL)
	try:
		wait_for(lambda: accepts(port), said="nginx listens")
		path = put_file(tmp_path / "large", 9 * MIB)
		browser.open("http://127.0.0.1:%d/up/" % port)
		choose(browser, path)
		ends(browser, "1 file stored")
		assert content(server, "large") == path.read_bytes()
		refused = [e for e in browser.of("Network.responseReceived") if e["response"]["status"] == 413]
		assert 1 <= len(refused) <= 3, len(refused)
	finally:
		nginx.terminate()
		nginx.wait()


def test_other_bytes(h2d, browser, tmp_path):  # noqa: F811
	"""A file is not said to be stored if the server has another digest of it."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	paths = [put_file(tmp_path / "large", 3 * MIB), put_file(tmp_path / "small", 1000)]
	browser.open(server.url("tls", "/up/"))
	browser.evaluate("""(() => { const get = XMLHttpRequest.prototype.getResponseHeader; XMLHttpRequest.prototype.getResponseHeader =
		function(name) { const found = get.call(this, name); return name === 'repr-digest' ? found.replace(/.:$/, 'x:') : found; }; })()""")
	choose(browser, *paths)
	ends(browser, "0 files stored, 2 not")
	assert set(items(browser)) == {"%s|stored, but not with the bytes that the file has now|Retry|Remove" % path.name for path in paths}


FILES = {"top.txt": 10, "sub/deep.bin": 1 * MIB + 5, "sub/sub2/deeper": 20, "sub/.hidden": 5, ".git/config": 5}


def put_folder(tmp_path):
	for i, (name, size) in enumerate(FILES.items()):
		put_file(tmp_path / "photos" / name, size, i)
	return tmp_path / "photos"


@pytest.mark.parametrize("drop", [False, True])
def test_folder(h2d, browser, tmp_path, drop):  # noqa: F811
	"""Chosen or dropped, with its structure; hidden files stay where they are."""
	server = h2d(server=FORM + "upload-depth = 3", files={"up/.keep": b""})
	browser.open(server.url("tls", "/up/"))
	top = put_folder(tmp_path)
	if drop:
		data = {"items": [], "files": [str(top)], "dragOperationsMask": 1}
		for kind in ("dragEnter", "dragOver", "drop"):
			browser.call("Input.dispatchDragEvent", type=kind, x=400, y=300, data=data)
	else:
		choose(browser, top, selector="#folder")
	ends(browser, "3 files stored, 2 hidden files left out")
	for name in ("top.txt", "sub/deep.bin", "sub/sub2/deeper"):
		assert content(server, "photos/" + name) == (top / name).read_bytes()
	assert shown(browser) == ["photos"]
	assert browser.console_errors() == []


def test_folder_without_depth(h2d, browser, tmp_path):  # noqa: F811
	"""By name where the server makes no directories; a name that comes twice is said before anything is sent."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	for name in ("a/same", "b/same", "b/other"):
		put_file(tmp_path / "all" / name, 10, name)
	browser.open(server.url("tls", "/up/"))
	choose(browser, tmp_path / "all", selector="#folder")
	ends(browser, "2 files stored, 1 not")
	item, = items(browser)
	assert item.endswith("/same: another of these files has its name|Retry|Remove"), item
	assert sorted(shown(browser)) == ["other", "same"]


def test_words(h2d, browser, tmp_path):  # noqa: F811
	"""Too large, no room, and stored when there is room."""
	server = h2d(server=FORM + 'upload-quota = "4M"', sections='limits { client-max-body-size = "5M" }', files={"up/old": b"x" * 3 * MIB})
	browser.open(server.url("tls", "/up/"))
	choose(browser, put_file(tmp_path / "huge", 6 * MIB), put_file(tmp_path / "large", 2 * MIB), put_file(tmp_path / "small", 1000))
	ends(browser, "1 file stored, 2 not")
	assert set(items(browser)) == {"huge|the file is larger than the server takes: 5.0 MiB|Retry|Remove",
		"large|no room left in upload-quota or on the disk|Retry|Remove"}
	assert not [e for e in browser.of("Network.requestWillBeSent") if e["request"]["url"].endswith("/huge")]
	with server.connect("tls") as c:
		assert c.request("DELETE", "/files/old").status == 204
	click(browser, "Retry large")
	ends(browser, "2 files stored, 1 not")
	click(browser, "Remove huge")
	assert items(browser) == [] and content(server, "large") == (tmp_path / "large").read_bytes()


def test_buttons(h2d, browser, network, tmp_path):  # noqa: F811
	"""By the keyboard alone: pause, go on, cancel, which removes it at the server; and forget."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	line = network(server, "tls", 4 * MIB)
	url = server.url("tls", "/up/").replace(str(server.ports["tls"]), str(line.own))
	browser.open(url)
	choose(browser, put_file(tmp_path / "one", 12 * MIB), put_file(tmp_path / "two", 12 * MIB, 2))
	wait_for(lambda: there(server) > MIB, said="some of it is stored")
	browser.evaluate("document.querySelector('button[aria-label=\"Pause one\"]').focus()")
	press(browser, "Enter", number=13, text="\r")
	wait_for(lambda: any("paused at" in item for item in items(browser)), said="it is paused")
	assert browser.evaluate("document.activeElement.ariaLabel") == "Go on one", "the keyboard stays there"
	click(browser, "Cancel two")
	ends(browser, "0 files stored, 1 paused")
	wait_for(lambda: len([n for n in names(server) if n.endswith(".part")]) == 1, said="the other one is gone")
	browser.evaluate("document.querySelector('button[aria-label=\"Go on one\"]').focus()")
	press(browser, "Enter", number=13, text="\r")
	ends(browser, "1 file stored")
	assert content(server, "one") == (tmp_path / "one").read_bytes()
	choose(browser, put_file(tmp_path / "three", 12 * MIB, 3))
	until(browser, lambda: there(server) > MIB and memory(browser))
	browser.evaluate("onbeforeunload = null")  # it would ask
	browser.open("about:blank")
	browser.open(url)
	click(browser, "Forget three")
	until(browser, lambda: there(server) == 0 and memory(browser) == [] and items(browser) == [])


def test_without_resumption(h2d, browser, tmp_path):  # noqa: F811
	"""As a form, where uploads cannot be resumed."""
	server = h2d(server=FORM + "resume-expires = 0", files={"up/.keep": b""})
	browser.open(server.url("tls", "/up/"))
	paths = [put_file(tmp_path / "large", 3 * MIB), put_file(tmp_path / "small", 1000)]
	choose(browser, *paths)
	ends(browser, "2 files stored")
	for path in paths:
		assert content(server, path.name) == path.read_bytes()
	assert browser.console_errors() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks(h2d, browser, network, tmp_path, scheme):  # noqa: F811
	"""While it sends, paused and refused, on a telephone."""
	server = h2d(server=FORM + "upload-overwrite = false", files={"up/there": b""})
	line = network(server, "tls", MIB)
	browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
	browser.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
	browser.open(server.url("tls", "/up/").replace(str(server.ports["tls"]), str(line.own)))
	choose(browser, put_file(tmp_path / "there", 10), put_file(tmp_path / ("a long name " * 8), 9 * MIB), put_file(tmp_path / "other", 9 * MIB))
	wait_for(lambda: there(server) > MIB, said="some of it is stored")
	click(browser, "Pause other")
	wait_for(lambda: any(" left" in item for item in items(browser)), said="the time that is left")
	assert browser.evaluate(FAULTS) == []
	nodes = [n for n in browser.call("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
	for node in nodes:
		if node["role"]["value"] in ("button", "progressbar", "ProgressIndicator"):
			assert node["name"]["value"], node
	data = browser.call("Page.captureScreenshot", format="png")["data"]
	with open(os.path.join(os.environ.get("H2D_PICTURES", tmp_path), "form-%s.png" % scheme), "wb") as f:
		f.write(base64.b64decode(data))
