"""Headless Chromium loads a page with a hundred sub-resources, uploads files, and finds nothing to complain about."""
import base64
import json
import os
import pathlib
import re
import shutil
import urllib.parse

import pytest

import chromium
import page
from procs import wait_for
from tree import UPLOADS, put_uploads
from uploads import PUBLIC, content
from users import hashed, put_users

DEADLINE = 240  # of all that a test does; nothing is measured by it


@pytest.fixture(scope="module")
def program():
	found = shutil.which("chromium") or shutil.which("chromium-browser")
	if not found:
		pytest.skip("no chromium (Debian: chromium)")
	return found


@pytest.fixture
def browser(program, tmp_path, cert):
	with chromium.Browser(program, str(tmp_path), cert.cert, DEADLINE) as b:
		yield b


def compresses(name, files):
	return name.endswith((".css", ".json")) and len(files[name]) > 2000


def serve(h2d, files):
	server = h2d(workers=2, files=files, image=True)
	return server.wait_coded([name for name in files if compresses(name, files)])


def test_page(h2d, how, browser):
	files = page.build()
	server = serve(h2d, files)
	browser.open(server.url(how))
	result = browser.evaluate("judge()")
	assert result["failures"] == []
	assert browser.console_errors() == []

	resources = {r["path"].lstrip("/"): r for r in result["resources"]}
	assert set(files) - {"index.html", "favicon.ico"} <= set(resources) and len(resources) >= 100
	for name, resource in resources.items():
		assert resource["protocol"] == ("h2" if how == "tls" else "http/1.1"), resource
		assert resource["status"] in (200, 206), resource
		if name != "sound.wav":
			assert resource["decoded"] == len(files[name]), resource

	answers, codings, plain = {}, set(), []
	for event in browser.of("Network.responseReceived"):
		response = event["response"]
		name = urllib.parse.urlsplit(response["url"]).path.lstrip("/") or "index.html"
		answers.setdefault(name, []).append(response)
		assert response["status"] in (200, 206), response
		fields = {key.lower(): value for key, value in response["headers"].items()}
		codings.add(fields.get("content-encoding"))
		if compresses(name, files):
			if "content-encoding" not in fields:
				plain.append(name)
			elif name in resources:
				assert resources[name]["encoded"] < len(files[name]), name
	assert codings == {None, "br"}
	# Where the keeper is late for a moment the disk answers, without a coding.
	assert len(plain) < sum(compresses(name, files) for name in files) / 2, plain
	assert any(a["status"] == 206 for a in answers["sound.wav"])


def test_refused_upload(h2d, browser):
	"""An upload that is answered early is a 405 for the page, not a network error."""
	server = serve(h2d, page.build())
	browser.open(server.url("tls") + "#refused")
	assert browser.evaluate("judge()")["failures"] == []
	errors = browser.console_errors()
	assert len(errors) == 1 and "405" in errors[0], errors


def test_own_pages(h2d, browser):
	"""A listing and an error's page ask for nothing that is not there, and break no policy of their own."""
	server = h2d(server="autoindex = true  index = {}", files={"d/f": "f"})
	browser.call("Audits.enable")
	browser.open(server.url("tls", "/d/"))
	assert browser.console_errors() == []
	listing, = (e["response"] for e in browser.of("Network.responseReceived") if e["type"] == "Document")
	assert listing["headers"]["content-encoding"] == "br"
	assert browser.evaluate("document.querySelector('tbody tr:last-child a').textContent") == "f"
	browser.open(server.url("tls", "/none"))
	errors = browser.console_errors()
	assert len(errors) == 1 and "404" in errors[0] and errors[0].endswith("/none"), errors
	asked = {urllib.parse.urlsplit(e["request"]["url"]).path for e in browser.of("Network.requestWillBeSent")}
	assert asked <= {"/d/", "/none", ","}, asked
	assert browser.of("Audits.issueAdded") == []


TOP = pathlib.Path(__file__).resolve().parents[2]


def recipe():
	"""The guide's configuration of a single-page application, without its root."""
	text = (TOP / "docs/guide/single-page-application.md").read_text()
	found = re.search(r'server "_" \{\n(.*?)\n\}', text, re.S).group(1)
	return re.sub(r"^ *root = .*$", "", found, flags=re.M) + "\n"


def release(server, number):
	"""Files a year old, as tools of deployment leave them: browsers keep such a page for weeks, unless they are told."""
	page = '<!doctype html><link rel="icon" href="data:,"><script src="/assets/%d.js"></script>' % number
	server.write("assets/%d.js" % number, "document.title = 'release %d'" % number)
	made = server.write("index.html.new", page)
	os.utime(made, (1e9, 1e9))
	os.rename(made, os.path.join(server.root, "index.html"))
	with server.connect("tls") as c:
		wait_for(lambda: c.get("/").body == page.encode(), said="release %d" % number)


def test_release(h2d, browser):
	"""Visit, release, come back: each address of the application shows the new release."""
	server = h2d(listens=("tls",), server=recipe(), files={"index.html": "", "api/x": "x"})
	for number in (1, 2):
		release(server, number)
		for path in ("/", "/index.html", "/users/42"):
			browser.open(server.url("tls", path))
			assert browser.evaluate("document.title") == "release %d" % number, path
		browser.open("about:blank")
	assert browser.console_errors() == []


@pytest.fixture
def uploads(h2d):
	"""A server with a page to upload by, and the icon that a browser asks for with an answer without one."""
	with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "upload.html"), "rb") as f:
		files = {"upload.html": f.read(), "favicon.ico": page.png(16, 16), "up/.keep": b""}
	return h2d(workers=2, files=files, server=PUBLIC)


def test_upload_by_form(uploads, how, browser, tmp_path):
	"""A person chooses files and sends a form of the site's own; the answer is the page that the browser shows then."""
	browser.open(uploads.url(how, "/upload.html"))
	browser.choose_files("input[type=file]", put_uploads(tmp_path))
	with browser.loading():
		browser.evaluate("document.querySelector('form').requestSubmit()")
	assert shown(browser) == list(UPLOADS)
	assert browser.evaluate("document.querySelector('h1').textContent") == "%d files stored" % len(UPLOADS)
	for name, data in UPLOADS.items():
		assert content(uploads, name) == data
	assert browser.console_errors() == []


def test_upload_by_fetch(uploads, how, browser, tmp_path):
	"""fetch() by PUT, of a form, and of a stream (HTTP/2 alone has that); XMLHttpRequest; all are read back."""
	browser.open(uploads.url(how, "/upload.html"))
	browser.choose_files("input[type=file]", put_uploads(tmp_path))
	done = browser.evaluate("uploads(%s)" % json.dumps(how == "tls"))
	assert done == {"failures": [], "files": len(UPLOADS)}
	for name, data in UPLOADS.items():
		for way in ("put", "form", "xhr") + (("stream",) if how == "tls" else ()):
			assert content(uploads, "%s %s" % (way, name)) == data
	protocols = {e["response"]["protocol"] for e in browser.of("Network.responseReceived")}
	assert protocols == {"h2" if how == "tls" else "http/1.1"}
	assert browser.console_errors() == []


RECORD = """(async () => {
	const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
	const recorder = new MediaRecorder(canvas.captureStream(30), {mimeType: "video/webm"}), pieces = [];
	const over = new Promise(resolve => recorder.onstop = resolve);
	recorder.ondataavailable = e => { pieces.push(e.data); if (e.data.size > 0) recorder.stop(); };
	recorder.start(100);
	for (let i = 0; recorder.state == "recording"; i++) {
		context.fillRect(i % 200, i % 100, 10, 10);
		await new Promise(resolve => setTimeout(resolve, 20));
	}
	await over;
	return (await fetch("/files/film.webm", {method: "PUT", body: new Blob(pieces)})).status;
})()"""
# An event that came before this looked is told by readyState.
PLAYED = """new Promise(resolve => {
	const media = document.querySelector("video, audio"), tell = () => resolve(media.error ? media.error.message : "plays");
	if (media.readyState > 0 || media.error) tell();
	for (const name of ["loadedmetadata", "error"]) media.addEventListener(name, tell);
})"""


def test_uploaded_media(uploads, how, browser):
	"""A film (made by the browser), a sound and a picture out of the folder of uploads are shown; a page in it runs no script."""
	for name, data in (("sound.wav", page.wav(1)), ("p.png", page.png(30, 20)),
			("page.html", b"<script>document.title = 'ran'</script>")):
		uploads.write("up/" + name, data)
	browser.open(uploads.url(how, "/upload.html"))
	assert browser.evaluate(RECORD) == 201
	for name in ("film.webm", "sound.wav"):
		browser.open(uploads.url(how, "/files/" + name))
		assert browser.evaluate(PLAYED) == "plays", name
	browser.open(uploads.url(how, "/files/p.png"))
	assert browser.evaluate("document.images[0].naturalWidth") == 30
	assert browser.console_errors() == []
	browser.open(uploads.url(how, "/files/page.html"))
	assert browser.evaluate("document.title") == ""


def press(browser, key, code=None, number=0, text=""):
	for kind in ("keyDown", "keyUp"):
		browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode=number,
			**({"text": text} if text and kind == "keyDown" else {}))


def focus(browser):
	return browser.evaluate("document.activeElement.type || document.activeElement.localName")


def tab_to(browser, wanted):
	"""As a person without a mouse gets there."""
	for _ in range(20):
		if focus(browser) == wanted:
			return
		press(browser, "Tab", number=9)
	raise AssertionError("no Tab leads to " + wanted)


FORM = PUBLIC + "autoindex = true  index = {}  "


def shown(browser):
	return browser.evaluate("[...document.querySelectorAll('tbody a bdi')].map(e => e.textContent)")


def said(browser):
	return browser.evaluate("document.querySelector('form p').textContent")


@pytest.mark.parametrize("how, scripts", [("tls", True), ("tcp", False)])
def test_people_upload(h2d, browser, tmp_path, how, scripts):
	"""By the form of a listing and the keyboard alone, with scripts and without: the page shows what is there then."""
	server = h2d(server=FORM, files={"up/there": b"there"})
	browser.call("Emulation.setScriptExecutionDisabled", value=not scripts)
	browser.open(server.url(how, "/up/"))
	browser.choose_files("input[type=file]", put_uploads(tmp_path))
	tab_to(browser, "file")
	tab_to(browser, "submit")
	if scripts:
		press(browser, "Enter", number=13, text="\r")
		wait_for(lambda: said(browser) == "%d files stored" % len(UPLOADS), said="the end")
	else:
		with browser.loading():
			press(browser, "Enter", number=13, text="\r")
	assert sorted(shown(browser)) == sorted([*UPLOADS, "there"])
	for name, data in UPLOADS.items():
		assert content(server, name) == data
	assert browser.console_errors() == []


def test_people_drop(h2d, browser, tmp_path):
	"""Files are dropped where the mouse is; one that is refused says why, and the others are stored."""
	server = h2d(server=FORM + "upload-overwrite = false", files={"up/there": b"there"})
	for name in ("there", "one", "two"):
		(tmp_path / name).write_bytes(b"new " + name.encode())
	browser.open(server.url("tls", "/up/"))
	data = {"items": [], "files": [str(tmp_path / name) for name in ("one", "there", "two")], "dragOperationsMask": 1}
	for kind in ("dragEnter", "dragOver"):
		browser.call("Input.dispatchDragEvent", type=kind, x=400, y=300, data=data)
	wait_for(lambda: browser.evaluate("document.forms[0].className") == "over", said="it shows that files can be dropped")
	browser.call("Input.dispatchDragEvent", type="drop", x=400, y=300, data=data)
	wait_for(lambda: said(browser) == "2 files stored, 1 not", said="the end")
	assert browser.evaluate("document.querySelector('form li').innerText").split("\n") == [
		"there", "name exists and must not be replaced", "Retry", "Remove"]
	assert shown(browser) == ["one", "there", "two"]
	assert [content(server, name) for name in ("one", "there", "two")] == [b"new one", b"there", b"new two"]
	errors = browser.console_errors()
	assert len(errors) == 1 and "409" in errors[0], errors


def test_people_progress(h2d, browser, tmp_path):
	"""A long file: its bar goes on, and the page asks before it is left."""
	server = h2d(server=FORM, files={"up/.keep": b""})
	with open(tmp_path / "long", "wb") as f:
		f.truncate(64 << 20)
	browser.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=16 << 20)
	browser.open(server.url("tls", "/up/"))
	browser.evaluate("window.seen = []; new MutationObserver(() => seen.push(document.querySelector('progress')?.value))"
		".observe(document.forms[0], {childList: true, subtree: true, characterData: true}); 0")
	browser.choose_files("input[type=file]", [tmp_path / "long"])
	browser.evaluate("document.forms[0].requestSubmit()")
	wait_for(lambda: said(browser) == "1 file stored", said="the end")
	values = [v for v in browser.evaluate("seen") if v]
	assert values == sorted(values) and len(set(values)) > 3, values
	assert browser.console_errors() == []


def people_recipe():
	"""What the manual says for a folder that everybody reads and some write to, without its root."""
	blocks = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", (TOP / "man/h2d.conf.5.in").read_text(), re.M | re.S)
	found, = (block for block in blocks if "upload\\-dir" in block and "auth\\-basic\\-file" in block)
	return re.sub("^server .*|^}$|^\troot = .*", "", found.replace("\\-", "-"), flags=re.M)


def test_people_password(h2d, browser, tmp_path):
	"""The manual's recipe: who only reads is asked for nothing, who uploads for a password, once."""
	recipe = people_recipe()
	server = h2d.new(files={"up/f": b"f"})
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(server=recipe.replace("/etc/h2d/users", users))
	server.start()
	for name in ("one", "two"):
		(tmp_path / name).write_bytes(name.encode())
	browser.open(server.url("tls", "/up/"))
	assert shown(browser) == ["f"] and not browser.of("Fetch.authRequired")
	browser.call("Fetch.enable", handleAuthRequests=True, patterns=[{"urlPattern": "*/files*"}])
	browser.choose_files("input[type=file]", [tmp_path / "one", tmp_path / "two"])
	browser.evaluate("document.forms[0].requestSubmit()")
	done = set()

	def over():
		for name, event in list(browser.events):
			if name in ("Fetch.requestPaused", "Fetch.authRequired") and (name, event["requestId"]) not in done:
				done.add((name, event["requestId"]))
				if name == "Fetch.requestPaused":
					browser.call("Fetch.continueRequest", requestId=event["requestId"])
				else:
					browser.call("Fetch.continueWithAuth", requestId=event["requestId"], authChallengeResponse={
						"response": "ProvideCredentials", "username": "anna", "password": "sesame"})
		return said(browser) == "2 files stored"
	wait_for(over, said="the end")
	assert len(browser.of("Fetch.authRequired")) == 1
	assert shown(browser) == ["f", "one", "two"]
	assert [content(server, name) for name in ("one", "two")] == [b"one", b"two"]


def test_people_names(h2d, browser):
	"""What a screen reader is told: each thing that takes the focus has a name, and what happens is said."""
	server = h2d(server=FORM, files={"up/f": b""})
	browser.open(server.url("tls", "/up/"))
	nodes = [n for n in browser.call("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
	names = {(n["role"]["value"], n["name"]["value"]) for n in nodes if "name" in n}
	for node in nodes:
		if any(p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", ())):
			assert node["name"]["value"], node
	assert any(role == "button" and name == "Upload" for role, name in names)
	assert any(name.startswith("Upload files") for _, name in names), names
	assert "status" in {n["role"]["value"] for n in nodes} or browser.evaluate("document.querySelector('[role=status]') !== null")


PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def test_listing(h2d, browser):
	"""Names are found while one types, on other pages too; pictures have a row, and open on the page."""
	files = {"d/%04d.txt" % i: "" for i in range(1010)}
	server = h2d(listens=("tls",), server="autoindex = true", files={
		**files, **{"d/pic%d.png" % i: PIXEL for i in range(3)}, "texts/a.txt": "short", "texts/b.txt": "<i>longer", "others/a": "1", "others/b": "22"})
	browser.open(server.url("tls", "/d/"))
	ask = browser.evaluate
	assert ask("[document.querySelectorAll('tbody tr').length, !!document.querySelector('nav'), !document.querySelector('details')]") == \
		[1001, True, True]
	ask("(find => { find.value = 'PIC'; find.dispatchEvent(new Event('input')); })(document.querySelector('.find input'))")
	wait_for(lambda: ask("location.search") == "?q=PIC&sort=name&order=asc", said="the search")
	assert ask("[...document.querySelectorAll('tbody a')].map(a => a.textContent)") == ["..", "pic0.png", "pic1.png", "pic2.png"]
	assert ask("document.querySelector('nav')") is None
	ask("document.querySelector('details').open = true")
	wait_for(lambda: ask("[...document.querySelectorAll('details img')].map(i => i.naturalWidth)") == [1, 1, 1], said="the row of pictures")
	shown = "[document.querySelector('dialog').open, document.querySelector('dialog a')?.textContent]"
	ask("document.querySelectorAll('tbody a')[2].click()")
	assert ask(shown) == [True, "pic1.png"]
	for key, name in (("ArrowRight", "pic2.png"), ("ArrowRight", "pic2.png"), ("ArrowLeft", "pic1.png")):
		ask("document.querySelector('dialog').dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))" % key)
		assert ask(shown) == [True, name]
	ask("document.querySelector('dialog button').click()")
	wait_for(lambda: ask(shown) == [False, None], said="the end of the dialog")
	# A text opens there, too; and the order is remembered for other directories.
	browser.open(server.url("tls", "/texts/?sort=size&order=desc"))
	ask("document.querySelectorAll('tbody a')[1].click()")
	wait_for(lambda: ask("document.querySelector('dialog pre').textContent") == "<i>longer", said="the text")
	browser.open(server.url("tls", "/others/"))
	wait_for(lambda: ask("[...document.querySelectorAll('tbody a')].map(a => a.textContent)") == ["..", "b", "a"], said="the order")
	assert not browser.console_errors()


def test_edit(h2d, browser):
	"""A client that may upload renames, removes and makes directories in a listing; a refusal is said in words."""
	server = h2d(listens=("tls",), server='upload-dir = "files" upload-depth = 2 upload-public = true webdav = true autoindex = true\n'
		'location "/files/kept" { allow-methods = {"GET"} } location "/own/" { upload-dir = "own" webdav = false }',
		files={"own/x": "5", "own/d/x": "6", "files/a b": "1", "files/taken": "2", "files/d/x": "3", "files/kept": "4"})
	ask = browser.evaluate
	rows = "[...document.querySelectorAll('tbody a')].map(a => a.textContent)"
	told = "document.querySelector('[role=alert]').textContent"

	def press(text, name, answers):
		"""Answers the questions of the button."""
		ask("window.prompt = window.confirm = () => (%s)" % answers)
		ask("[...document.querySelectorAll('button')].find(b => b.textContent === '%s' && b.ariaLabel.endsWith('%s')).click()" % (text, name))

	browser.open(server.url("tls", "/files/"))
	assert ask("document.querySelectorAll('td button').length") == 0
	press("Edit", "names", "null")
	assert ask("document.querySelectorAll('td button').length") == 8
	press("Rename", "a b", "'b&c #1'")
	wait_for(lambda: ask(rows) == ["..", "d/", "b&c #1", "kept", "taken"], said="the new name")
	press("Rename", "b&c #1", "'taken'")
	wait_for(lambda: ask(told) == "taken: this name exists", said="a refusal")
	press("Delete", "kept", "true")
	wait_for(lambda: ask(told) == "kept: this is not allowed", said="another refusal")
	press("Delete", "taken", "false")
	press("Delete", "d", "true")
	wait_for(lambda: ask(rows) == ["..", "b&c #1", "kept", "taken"], said="the removal")
	assert ask(told) == ""
	press("New directory", "directory", "'.w'")
	wait_for(lambda: ask(told) == ".w: this name is not allowed", said="a refusal")
	press("New directory", "directory", "'né w'")
	wait_for(lambda: ask(rows) == ["..", "né w/", "b&c #1", "kept", "taken"], said="the directory")
	assert {"b&c #1", "kept", "né w", "taken"} == {name for name in os.listdir(os.path.join(server.root, "files")) if name[0] != "."}
	# Without a drive only files can be removed.
	browser.open(server.url("tls", "/own/"))
	press("Edit", "names", "null")
	assert ask("[...document.querySelectorAll('td button, .edit button')].map(b => b.ariaLabel)") == ["Edit names", "Delete x"]
	assert all("responded with a status of 4" in error for error in browser.console_errors())
