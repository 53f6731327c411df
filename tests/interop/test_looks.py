"""How h2d's own pages look in Chromium: nothing is cut off or too faint, in light and dark, on a desk and on a telephone.
The pictures are kept in $H2D_PICTURES, if that is set."""
import base64
import os
import pathlib

import pytest

from test_chromium import FORM, browser, program  # noqa: F401

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


def test_faults_are_found(pages, browser):  # noqa: F811
	"""The judge itself: a text that is too faint, and a line that is too long."""
	browser.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
	browser.open(pages["error"][0])
	browser.evaluate("""(() => { const p = document.createElement("p"); p.textContent = "faint";
		p.style.cssText = "color: #888; background: #fff; width: 2000px"; document.body.append(p); })()""")
	faint, wide = browser.evaluate(FAULTS)
	assert '"faint": 3.5' in faint and "pixels where 360 are" in wide, (faint, wide)
