"""The form of a listing in browsers: uploads go on after each cut, folders keep their structure, and errors are said in words."""
import base64
import os

import pytest

from form import (MIB, PIECE, choose, click, cut, each_browser, ends, items, kill_worker, memory,  # noqa: F401
	network, put_file, reload, there, until)
from procs import wait_for
from test_chromium import FORM, browser, press, program, said, shown, tab_to  # noqa: F401
from test_looks import FAULTS
from uploads import content, names

WIDTHS = 900, 360
CUTS = [kill_worker, reload, cut]
SIZES = """(() => { window.sizes = []; const send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function(body) { if (body) sizes.push(body.size); send.call(this, body); }; })()"""


@pytest.mark.parametrize("how", ["tls", "tcp"])
def test_goes_on(h2d, each_browser, network, tmp_path, how):  # noqa: F811
	"""A worker is killed, the server reloads, the connection breaks, the page is closed: the same bytes, and few of them twice."""
	server = h2d(workers=2, server=FORM, files={"up/.keep": b""})
	server.baseline = None
	line = network(server.ports[how])
	url = server.url(how, "/up/").replace(str(server.ports[how]), str(line.own))
	path = put_file(tmp_path / "a film.mkv", 40 * MIB + 12345)
	each_browser.open(url)
	each_browser.evaluate(SIZES)
	choose(each_browser, path)
	for i, act in enumerate(CUTS):
		until(each_browser, lambda: there(server) > (i + 1) * 6 * MIB)
		act(server, line)
	until(each_browser, lambda: there(server) > 26 * MIB)
	assert len(memory(each_browser)) == 1
	sizes = each_browser.evaluate("sizes")
	assert len(sizes) > 5 and max(sizes) <= PIECE, sizes
	each_browser.open("about:blank")
	each_browser.open(url)
	item, = items(each_browser)
	assert item.startswith("a film.mkv|") and "of 40.0 MiB are stored: choose the file again to go on|Forget" in item
	choose(each_browser, path)
	ends(each_browser, "1 file stored")
	assert content(server, "a film.mkv") == path.read_bytes()
	assert (shown(each_browser), memory(each_browser), items(each_browser)) == (["a film.mkv"], [], [])
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


def test_lost_answer(h2d, each_browser, network, tmp_path):  # noqa: F811
	"""A small file has arrived, and its answer has not: it is stored, and not refused as one that exists. Another file's bytes are."""
	server = h2d(server=FORM + "upload-overwrite = false", files={"up/longer": bytes(1001), "up/empty": b"x"})
	line = network(server.ports["tcp"])
	paths = [put_file(tmp_path / "small", 1000), tmp_path / "longer", put_file(tmp_path / "empty", 0)]
	paths[1].write_bytes(bytes(1000))
	each_browser.open("http://127.0.0.1:%d/up/" % line.own)
	line.loses = b"HTTP/1.1 201"
	choose(each_browser, paths[0])
	ends(each_browser, "1 file stored")
	assert line.loses is None and content(server, "small") == paths[0].read_bytes()
	choose(each_browser, *paths[1:])
	ends(each_browser, "0 files stored, 2 not")
	assert set(items(each_browser)) == {name + "|name exists and must not be replaced|Retry|Remove" for name in ("longer", "empty")}


def test_two_tabs(h2d, browser, network, tmp_path):  # noqa: F811
	"""The same file in both: one goes on, and the other says that it was taken over, and takes nothing back by itself."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	line = network(server.ports["tls"], 8 * MIB)
	url = server.url("tls", "/up/").replace(str(server.ports["tls"]), str(line.own))
	path = put_file(tmp_path / "film", 24 * MIB)

	def end():
		until(browser, lambda: "stored" in said(browser))
		return said(browser), items(browser)
	browser.open(url)
	choose(browser, path)
	until(browser, lambda: there(server) > 2 * MIB)
	with browser.tab():
		browser.open(url)
		choose(browser, path)
		second = end()
	assert dict([second, end()]) == {
		"1 file stored": [], "0 files stored, 1 not": ["film|upload was taken over by another request|Retry|Remove"]}
	assert content(server, "film") == path.read_bytes()
	assert line.up - path.stat().st_size < PIECE


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


def test_words(h2d, each_browser, tmp_path):  # noqa: F811
	"""Too large, no room, and stored when there is room."""
	server = h2d(server=FORM + 'upload-quota = "4M"', sections='limits { client-max-body-size = "5M" }', files={"up/old": b"x" * 3 * MIB})
	each_browser.open(server.url("tls", "/up/"))
	choose(each_browser, put_file(tmp_path / "huge", 6 * MIB), put_file(tmp_path / "large", 2 * MIB), put_file(tmp_path / "small", 1000))
	ends(each_browser, "1 file stored, 2 not")
	assert set(items(each_browser)) == {"huge|the file is larger than the server takes: 5.0 MiB|Retry|Remove",
		"large|no room left in upload-quota or on the disk|Retry|Remove"}
	asked = each_browser.evaluate("performance.getEntriesByType('resource').map(e => e.name.split('/').pop())")
	assert "small" in asked and "huge" not in asked, asked
	with server.connect("tls") as c:
		assert c.request("DELETE", "/files/old").status == 204
	click(each_browser, "Retry large")
	ends(each_browser, "2 files stored, 1 not")
	click(each_browser, "Remove huge")
	assert items(each_browser) == [] and content(server, "large") == (tmp_path / "large").read_bytes()


def test_buttons(h2d, browser, network, tmp_path):  # noqa: F811
	"""By the keyboard alone: pause, go on, cancel, which removes it at the server; and forget."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	line = network(server.ports["tls"], 4 * MIB)
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
	"""While it sends, paused and refused, on a telephone and on a desk. The pictures are kept in $H2D_PICTURES, if that is set."""
	server = h2d(server=FORM + "upload-overwrite = false", files={"up/notes.txt": b"", "up/photos/.keep": b""})
	line = network(server.ports["tls"], MIB)
	browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
	browser.call("Emulation.setScrollbarsHidden", hidden=True)
	browser.open(server.url("tls", "/up/").replace(str(server.ports["tls"]), str(line.own)))
	choose(browser, put_file(tmp_path / "notes.txt", 10), put_file(tmp_path / "harbour.mp4", 9 * MIB),
		put_file(tmp_path / "Minutes of the meeting of November, with all that was handed out (final) (2).pdf", 9 * MIB))
	wait_for(lambda: there(server) > MIB, said="some of it is stored")
	click(browser, "Pause harbour.mp4")
	wait_for(lambda: any(" left" in item for item in items(browser)), said="the time that is left")
	for width in WIDTHS:
		browser.call("Emulation.setDeviceMetricsOverride", width=width, height=620, deviceScaleFactor=1, mobile=width < 500)
		assert browser.evaluate(FAULTS) == [], width
		data = browser.call("Page.captureScreenshot", format="png")["data"]
		with open(os.path.join(os.environ.get("H2D_PICTURES", tmp_path), "form-%s-%d.png" % (scheme, width)), "wb") as f:
			f.write(base64.b64decode(data))
	nodes = [n for n in browser.call("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
	for node in nodes:
		if node["role"]["value"] in ("button", "progressbar", "ProgressIndicator"):
			assert node["name"]["value"], node
