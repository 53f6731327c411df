"""How h2d's own pages look in Chromium: nothing is cut off or too faint, in light and dark, on a desk and on a telephone.
The pictures are kept in $H2D_PICTURES, if that is set."""
import base64
import json
import os
import pathlib
import subprocess

import pytest

from test_chromium import FORM, browser, program  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS = 1280, 360
FAINT = 4.5  # WCAG 2.2, 1.4.3

# The texts whose contrast with what lies behind them is less than that, and whatever is wider than the page.
FAULTS = """(() => {
	const rgba = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length == 3 ? [...n, 1] : n; };
	const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3]));
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b; };
	const canvas = matchMedia("(prefers-color-scheme: dark)").matches &&
		getComputedStyle(document.documentElement).colorScheme.includes("dark") ? [18, 18, 18] : [255, 255, 255];
	const behind = e => e ? over(rgba(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : canvas;
	const found = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const text = walker.currentNode.textContent.trim(), e = walker.currentNode.parentElement;
		if (!text || !e.checkVisibility() || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
		const back = behind(e), front = over(rgba(getComputedStyle(e).color), back);
		const [a, b] = [light(front), light(back)].sort((x, y) => y - x), contrast = (a + .05) / (b + .05);
		if (contrast < %g) found.push(`"${text.slice(0, 30)}": ${contrast.toFixed(2)}, ${front} on ${back}`);
	}
	const wide = document.documentElement.scrollWidth, room = document.documentElement.clientWidth;
	if (wide > room) found.push(`${wide} pixels where ${room} are`);
	if (!document.body.innerText.trim()) found.push("nothing to read");
	return found;
})()""" % FAINT

FILES = {"up/a file with a rather long name, as people have them (final) (2).tar.gz": "x" * 4321, "up/photo.jpg": "x" * 123456,
	"up/short": ""}
ADMIN = 'listen "127.0.0.1:0" { admin = true }'


@pytest.fixture
def pages(h2d):
	"""The address of each page, and what its console may say."""
	server = h2d(listens=("tls",), server=FORM, sections=ADMIN, files=FILES, workers=2)
	port = server.log.wait(r" listening on 127", count=2)[-1].rsplit(":", 1)[1].split()[0]
	return {"listing": (server.url("tls", "/up/"), 0), "error": (server.url("tls", "/none"), 1),
		"status": ("http://127.0.0.1:%s/status" % port, 0),
		"connections": ("http://127.0.0.1:%s/status/connections" % port, 0)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_own_pages_can_be_read(pages, browser, tmp_path, scheme):  # noqa: F811
	folder = pathlib.Path(os.environ.get("H2D_PICTURES", tmp_path))
	folder.mkdir(exist_ok=True)
	browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
	faults = {}
	for name, (url, errors) in pages.items():
		for width in WIDTHS:
			browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
			browser.events.clear()
			browser.open(url)
			shown = browser.call("Page.captureScreenshot", format="png")["data"]
			(folder / ("%s-%s-%d.png" % (name, scheme, width))).write_bytes(base64.b64decode(shown))
			found = browser.evaluate(FAULTS)
			said = browser.console_errors()
			if found or len(said) > errors:
				faults[name, width] = found + said
	assert not faults, faults


@pytest.fixture
def report(tmp_path):
	"""The page that scripts/bench makes of a small result that is kept here, as a file."""
	path = tmp_path / "bench.html"
	with open(path, "wb") as f:
		subprocess.run([HERE.parents[1] / "scripts" / "bench_report.py", HERE / "bench.json"], stdout=f, check=True)
	return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_a_benchmark(report, browser, tmp_path, scheme):  # noqa: F811
	"""It can be read, asks for nothing but itself, and its bars are as long as its numbers say."""
	folder = pathlib.Path(os.environ.get("H2D_PICTURES", tmp_path))
	folder.mkdir(exist_ok=True)
	browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
	for width in WIDTHS:
		browser.call("Emulation.setDeviceMetricsOverride", width=width, height=1200, deviceScaleFactor=1, mobile=width < 500)
		browser.events.clear()
		browser.open(report.as_uri())
		shown = browser.call("Page.captureScreenshot", format="png")["data"]
		(folder / ("bench-%s-%d.png" % (scheme, width))).write_bytes(base64.b64decode(shown))
		assert browser.evaluate(FAULTS) == [] and browser.console_errors() == []
		assert [r["request"]["url"] for r in browser.of("Network.requestWillBeSent")
			if not r["request"]["url"].startswith("data:")] == [report.as_uri()]
	found = json.loads((HERE / "bench.json").read_text())["results"]
	bars = browser.evaluate("""[...document.querySelectorAll("svg")].map(s => [...s.querySelectorAll("rect")].map(r => r.getBBox().width))""")
	assert len(bars) == len(found)
	for widths, servers in zip(bars, found.values()):
		costs = [s["cpu_us"] or 0 for s in servers.values()]
		assert len(widths) == len(costs)
		for width, cost in zip(widths, costs):
			assert width / max(widths) == pytest.approx(cost / max(costs), abs=0.01)
	text = browser.evaluate("document.body.textContent")
	assert text.count("0.68") == 2 and text.count("0.69 =") == 2, text  # in the picture, and in the table


def test_faults_are_found(pages, browser):  # noqa: F811
	"""The judge itself: a text that is too faint, and a line that is too long."""
	browser.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
	browser.open(pages["error"][0])
	browser.evaluate("""(() => { const p = document.createElement("p"); p.textContent = "faint";
		p.style.cssText = "color: #888; background: #fff; width: 2000px"; document.body.append(p); })()""")
	faint, wide = browser.evaluate(FAULTS)
	assert '"faint": 3.5' in faint and "pixels where 360 are" in wide, (faint, wide)
