"""Headless Chromium looks at /status: it is live, keeps to its policy, survives a reload, and is there without scripts."""
import base64
import os

import pytest

from procs import wait_for
from test_chromium import browser, program  # noqa: F401 (fixtures)

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
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="events")
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
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="events")
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
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="events")
	assert ", 0 cut" in admin.run("-s", "reload", "--wait", check=0).out
	wait_for(lambda: number(browser, "generation") == 2, said="the next generation on the page")
	wait_for(lambda: browser.evaluate("document.documentElement.dataset.state") == "live", said="events")


def test_without_scripts(admin, browser):
	browser.call("Emulation.setScriptExecutionDisabled", value=True)
	browser.open(admin.url("page", "/status"))
	browser.call("DOM.enable")
	text = browser.call("DOM.getOuterHTML", nodeId=browser.call("DOM.getDocument")["root"]["nodeId"])["outerHTML"]
	assert "As it was when it was asked for" in text and text.count("<th scope=\"row\">") == 2
	assert browser.console_errors() == []
