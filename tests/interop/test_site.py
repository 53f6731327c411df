"""The documentation as a site: scripts/docs builds it without a warning, h2d serves it by examples/docs-site.conf, each link leads to a page and
to a place in it, and nothing is loaded from another host."""
import html.parser
import pathlib
import re
import subprocess
import urllib.parse
import urllib.request

import pytest

import procs
from server import H2D, with_user
from tree import program

pytestmark = pytest.mark.xdist_group("site")  # one build of it
TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(H2D).resolve().parents[1]


class Page(html.parser.HTMLParser):
	def __init__(self, text):
		super().__init__()
		self.ids, self.links, self.loads = {""}, [], []
		self.feed(text)

	def handle_starttag(self, tag, attributes):
		attributes = dict(attributes)
		self.ids.add(attributes.get("id"))
		self.links += [attributes["href"]] if tag == "a" and "href" in attributes else []
		self.loads += [attributes[name] for name in ("src", "href") if tag != "a" and not attributes.get(name, "data:").startswith("data:")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
	"""Its address."""
	program("sphinx-build", "python3-sphinx")
	folder, port = tmp_path_factory.mktemp("site"), procs.free_port()
	done = subprocess.run([TOP / "scripts/docs", BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	assert done.returncode == 0, done.stdout
	conf = (TOP / "examples/docs-site.conf").read_text()
	assert "```conf\n%s```" % conf in (TOP / "docs/recipes/docs-site.md").read_text()
	(folder / "h2d.conf").write_text(with_user(conf.replace('user = "h2d"\n', "").replace(":8080", ":%d" % port).replace("/srv/docs", str(BUILD / "docs"))))
	with open(folder / "log", "w") as log:
		server = subprocess.Popen([H2D, "-f", folder / "h2d.conf"], stderr=log)
	try:
		procs.wait_for(lambda: "serving" in (folder / "log").read_text(), said="h2d serves")
		yield "http://127.0.0.1:%d/" % port
	finally:
		server.terminate()
		server.wait()


def test_each_link_leads_somewhere(site):
	pages, left = {}, [site]
	while left:
		url = left.pop()
		if url not in pages:
			with urllib.request.urlopen(url, timeout=60) as answer:
				kind, text = answer.headers["content-type"], answer.read().decode(errors="replace")
			page = pages[url] = Page(text if kind.startswith("text/html") else "")
			page.loads += re.findall(r"url\(['\"]?(?!data:)([^)'\"]+)", text) if kind.startswith("text/css") else []
			assert all(urllib.parse.urljoin(url, load).startswith(site) for load in page.loads), url
			there = {urllib.parse.urldefrag(urllib.parse.urljoin(url, link))[0] for link in page.links + page.loads}
			left += [link for link in there if link.startswith(site)]
	assert len(pages) > 60
	for url, page in pages.items():
		for link in page.links:
			target, place = urllib.parse.urldefrag(urllib.parse.urljoin(url, link))
			assert target not in pages or urllib.parse.unquote(place) in pages[target].ids, (url, link)


@pytest.mark.parametrize("page, rows, words", [
	("metrics", None, ["h2d_requests_total", "h2d_connections_accepted_total", "h2d_handshake_seconds", "h2d_reloads_total", "h2d_cache_entries", "worker-connections"]),
	("errors", "base/err.def ERR", ["431 Request Header Fields Too Large", "ENHANCE_YOUR_CALM", "Without a response", "multipart: too many parts"]),
	("options", "cli/options.def OPTION", ["--explain", "-V", "the same as the option above"])])
def test_a_table(site, page, rows, words):
	"""Each row of the source is one of the page."""
	with urllib.request.urlopen("%sreference/%s.html" % (site, page), timeout=60) as answer:
		text = answer.read().decode()
	assert all(word in text for word in words)
	if rows:
		path, macro = rows.split()
		assert text.count("<tr") - text.count("<thead") == len(re.findall(r"^%s\(" % macro, (TOP / "src" / path).read_text(), re.M))


def test_the_search_knows_keys_and_pages(site):
	with urllib.request.urlopen(site + "searchindex.js", timeout=60) as answer:
		index = answer.read().decode()
	assert all(re.search(r'[",]%s["]?:' % word, index) for word in ("quota", "sendfil", "recip")) and "reference/h2d.conf" in index
