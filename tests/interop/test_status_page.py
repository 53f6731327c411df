"""Headless Chromium looks at the pages of an admin listener: they are live, keep to their policy, survive a reload, agree with
what programs are told, and take no text of peers for more than text."""
import base64
import os

import pytest

from procs import wait_for
from server import H2D
from test_chromium import browser, program  # noqa: F401 (fixtures)

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")
SCHEMES = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}


@pytest.fixture
def admin(h2d):
	"""A server with an admin listener that browsers can open; and its URL."""
	server = h2d.new(workers=2, listens=("tcp",), sections='listen "127.0.0.1:0" { admin = true }')
	server.spawn()
	lines = server.log.wait(r" listening on ", count=3)
	server.ports["tcp"], server.ports["page"] = (int(line.rsplit(":", 1)[1].split()[0]) for line in lines
		if "127.0.0.1:" in line)
	server.wait_up()
	return server


def number(browser, name):
	return browser.evaluate("Number(document.querySelector('#%s data').value)" % name)


def picture(browser, path):
	data = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
	with open(path, "wb") as f:
		f.write(base64.b64decode(data))
	return os.path.getsize(path)


def test_live(admin, browser, tmp_path):
	browser.open(admin.url("page", "/status"))
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="live")
	before = number(browser, "requests")
	with admin.connect("tcp") as c:
		for _ in range(20):
			c.get("/")
	wait_for(lambda: number(browser, "requests") >= before + 20, said="20 requests more on the page")
	for scheme, color in SCHEMES.items():
		browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
		assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == color
		assert picture(browser, str(tmp_path / (scheme + ".png"))) > 10000
	for width in (320, 480, 1000):
		browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
			mobile=False)
		assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
	assert browser.console_errors() == []


def test_pause(admin, browser):
	"""The button is reached by the keyboard; paused, nothing changes; what is selected stays."""
	browser.open(admin.url("page", "/status"))
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="live")
	browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
	assert browser.evaluate("document.activeElement.id") == "pause"
	browser.evaluate("document.activeElement.click()")
	stamp = browser.evaluate("document.getElementById('stamp').innerText")
	assert browser.evaluate("document.documentElement.dataset.state") == "paused"
	now = admin.status()["time"]
	wait_for(lambda: admin.status()["time"] > now + 2500, said="two seconds")
	assert browser.evaluate("document.getElementById('stamp').innerText") == stamp
	browser.evaluate("getSelection().selectAllChildren(document.getElementById('version')),"
		"document.activeElement.click()")
	wait_for(lambda: browser.evaluate("document.getElementById('stamp').innerText") != stamp, said="it goes on")
	assert browser.evaluate("getSelection().toString()") == admin.status()["version"]


def test_a_reload(admin, browser):
	"""The open page asks the next worker by itself."""
	browser.open(admin.url("page", "/status"))
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="live")
	assert ", 0 cut" in admin.run("-s", "reload", "--wait", check=0).out
	wait_for(lambda: number(browser, "generation") == 2, said="the next generation on the page")
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="live")


def test_numbers(admin, browser):
	"""They are those of /status.json."""
	with admin.connect("tcp") as c:
		for path in ("/", "/none"):
			c.get(path)
	browser.open(admin.url("page", "/status"))
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="live")
	wait_for(lambda: number(browser, "r4") == 1, said="the 404")
	wait_for(lambda: number(browser, "image") == admin.status()["image"], said="the latest image")
	status = admin.status()
	for name, want in (("generation", status["generation"]), ("keeper", status["keeper"]),
			("size", status["image_size"]), ("files", status["cache"]["entries"]), ("r2", None)):
		assert number(browser, name) == want if want is not None else number(browser, name) > 0, name
	rows = browser.evaluate("[...document.querySelectorAll('#rows tr')].map(r => [...r.cells].slice(0, 4).map(c => c.textContent))")
	assert rows == [[str(w[k]) for k in ("slot", "state", "pid", "generation")] for w in status["workers"]]
	for name in ("version", "dispatch", "balance"):
		assert browser.evaluate("document.getElementById('%s').textContent" % name) == status[name]


HUMAN = (("bytes(1023)", "1023 B"), ("bytes(1024)", "1.0 KiB"), ("bytes(10189)", "10 KiB"), ("bytes(1048063)", "1023 KiB"),
	("bytes(1048064)", "1.0 MiB"), ("count(1234567)", "1\u202f234\u202f567"), ("count(999)", "999"), ("seconds(59)", "59 s"),
	("seconds(3661)", "1 h 1 min"), ("seconds(90061)", "1 d 1 h"), ("us(9994)", "9.99 ms"), ("us(99949)", "99.9 ms"),
	("us(999499)", "999 ms"), ("us(999500)", "1.00 s"), ("us(null)", "\u2013"))


def test_how_numbers_are_read(admin, browser):
	browser.open(admin.url("page", "/status"))
	assert [browser.evaluate("human." + call) for call, _ in HUMAN] == [text for _, text in HUMAN]


def test_hostile_text(h2d, browser):
	"""The last words of a worker, in which a peer had a say."""
	server = h2d(binary=HANDLERS, listens=("tcp",), conf="worker-watchdog = 2", sections='listen "127.0.0.1:0" { admin = true }')
	server.allow_alert("signal 6")
	port = server.log.wait(r" listening on 127", count=2)[-1].rsplit(":", 1)[1].split()[0]
	with server.h1() as c:
		c.send_bytes(b"GET /t/sandbox/spin?<script>alert('1')</script>&\" HTTP/1.1\r\nhost: a\r\n\r\n")
		server.log.wait("crashed: .*<script>")
	server.wait_up()
	browser.open("http://127.0.0.1:%s/status" % port)
	wait_for(lambda: "<script>alert('1')</script>&\"" in browser.evaluate("document.getElementById('lines').textContent"))
	assert browser.evaluate("document.querySelectorAll('script').length") == 2


def test_connections(admin, browser):
	"""A row for each, asked for again by the button; a worker that stands still is named."""
	with admin.connect("tcp") as c:
		c.get("/")
		browser.open(admin.url("page", "/status/connections"))
		row = "[...document.querySelectorAll('#rows tr')].map(r => r.innerText).find(t => t.includes('%s:%d'))" % c.sock.getsockname()
		wait_for(lambda: browser.evaluate(row) is not None, said="its row")
		assert "h2\ttcp\topen\ta request" in browser.evaluate(row)
		assert browser.evaluate("document.querySelectorAll('#heads th').length === document.querySelector('#rows tr').cells.length")
	ask = "document.getElementById('pause').click()"  # as often as it takes: the server may not have seen the end yet
	wait_for(lambda: browser.evaluate(ask) is None and browser.evaluate(row) is None, said="it is gone")
	assert browser.console_errors() == []


def test_without_scripts(admin, browser):
	browser.call("Emulation.setScriptExecutionDisabled", value=True)
	browser.open(admin.url("page", "/status"))
	browser.call("DOM.enable")
	text = browser.call("DOM.getOuterHTML", nodeId=browser.call("DOM.getDocument")["root"]["nodeId"])["outerHTML"]
	assert "This page takes JavaScript." in text
	assert browser.console_errors() == []
