"""Directory listings: every link leads to the bytes it names, nothing hidden shows, over both protocols."""
import gzip
import html
import html.parser
import json
import os
import re
import urllib.parse

import pytest

AUTOINDEX = "autoindex = true"
NO_CACHE = "cache { max-size = 0 }"
VARY = "accept, accept-encoding"

# What people, and those who mean harm, call files. Bytes, as the file system has them.
HELL = [b"plain.txt", b"a b", b" leading", b"trailing ", b"new\nline", b"cr\rlf\n", b"tab\there",
	b"\x01\x1f\x7f", b"quo\"te", b"apos'trophe", b"<script>alert(1)<", b"<bdi><td><b>", b"a&amp;b", b"&#60;",
	b"what?now=1", b"#top", b"100%", b"%41", b"%", b"%2e%2e", b"javascript:alert(1)", b"data:text,x",
	b"http:", b"back\\slash", b"\\\\evil.example", b"...", b"..a", b"~", b"-", b"--", b"a;b=c", b"a=b&c=d",
	b"a+b", b"*", b"{}|^`[]", b"caf\xe9", b"caf\xc3\xa9", b"\xff\xfe", b"\xe6\x97", b"\xed\xa0\x80",
	"日本語".encode(), "\u202efdp.exe".encode(), "\U0001f4c1".encode(), b"x" * 255, b"\xc3" * 255]
# A name that begins with a dot is not served, so it cannot be in a tree whose links are followed.
HELL = [name for name in HELL if not name.startswith(b".")]


class Page(html.parser.HTMLParser):
	"""rows: (href, text, size's title, datetime) of the table's body; heads: (href, text, sort)."""

	def __init__(self, answer):
		super().__init__(convert_charrefs=True)
		assert answer.status == 200, answer
		assert answer.get("content-type") == "text/html; charset=utf-8"
		self.rows, self.heads, self.tags, self.pieces = [], [], set(), []
		self.cell = None
		self.feed(answer.body.decode("utf-8"))
		self.close()
		self.text = "".join(self.pieces)

	def handle_starttag(self, tag, attrs):
		attrs = dict(attrs)
		self.tags.add(tag)
		assert not [name for name in attrs if name.startswith("on") or name == "src"], attrs
		if tag == "tr":
			self.row = {"href": None, "text": "", "title": None, "date": None, "sort": None}
		elif tag == "a" and hasattr(self, "row"):
			self.row["href"] = attrs["href"]
		elif tag == "bdi" and hasattr(self, "row"):
			self.cell = "text"
		elif tag == "td" and "title" in attrs:
			self.row["title"] = attrs["title"]
		elif tag == "time":
			self.row["date"] = attrs["datetime"]
		elif tag == "th":
			self.row = {"href": None, "text": "", "sort": attrs.get("aria-sort")}
			self.cell = "text"

	def handle_endtag(self, tag):
		if tag in ("bdi", "th"):
			self.cell = None
		if tag == "th":
			self.heads.append(self.row)
		if tag == "tr" and "date" in self.row and self.row["href"] != "../":
			self.rows.append(self.row)

	def handle_data(self, data):
		self.pieces.append(data)
		if self.cell:
			self.row[self.cell] += data

	def hrefs(self):
		return [row["href"] for row in self.rows]

	def names(self):
		return [urllib.parse.unquote(href)[2:] for href in self.hrefs()]


@pytest.fixture(params=["image", "disk"])
def make(h2d, request):
	"""A server that answers from the image, or one without an image."""
	def make(server=AUTOINDEX, **options):
		if request.param == "disk":
			return h2d(sections=NO_CACHE, server=server, **options)
		return h2d(image=True, server=server, **options)
	return make


def resolve(base, href):
	"""As a browser does; a path, whatever the name tried to be."""
	url = urllib.parse.urlsplit(urllib.parse.urljoin("http://localhost" + base, href))
	assert (url.scheme, url.netloc) == ("http", "localhost"), href
	return url.path + ("?" + url.query if url.query else "")


def tree(server, top, names):
	"""A file of each name below top, its content its name; their paths as bytes."""
	folder = os.path.join(os.fsencode(server.root), top)
	os.makedirs(folder)
	for name in names:
		with open(os.path.join(folder, name), "wb") as f:
			f.write(b"I am " + name)
	return folder


def test_names_from_hell(h2d, connect):
	server = h2d(server=AUTOINDEX)
	tree(server, b"hell", HELL)
	for name in HELL:
		os.makedirs(os.path.join(os.fsencode(server.root), b"folders", name))
	with connect(server) as c:
		page = Page(c.get("/hell/"))
		assert page.tags <= {"html", "head", "meta", "title", "link", "style", "body", "main", "h1", "a", "bdi",
			"table", "thead", "tbody", "tr", "th", "td", "time", "p", "form", "input", "script"}
		found = set()
		for row in page.rows:
			answer = c.get(resolve("/hell/", row["href"]))
			assert answer.status == 200, row
			assert answer.body.startswith(b"I am "), row
			name = answer.body[5:]
			assert row["title"] == "%d bytes" % len(answer.body)
			if name.isascii() and name.isalnum():
				assert row["text"] == name.decode()
			assert "\u202e" not in row["text"], "it would be read backwards"
			found.add(name)
		assert found == set(HELL) and len(page.rows) == len(HELL)
		listed = Page(c.get("/folders/"))
		assert len(listed.rows) == len(HELL)
		for row in listed.rows:
			assert row["href"].endswith("/") and row["text"] + "/" in listed.text
			inner = Page(c.get(resolve("/folders/", row["href"])))
			assert inner.rows == [] and "Nothing is here." in inner.text
		entries = json.loads(c.get("/hell/", [("accept", "application/json")]).body)
		assert {c.get(resolve("/hell/", e["href"])).body[5:] for e in entries} == set(HELL)


def test_the_whole_tree(make, connect):
	"""From the root by links alone: all that is there, and nothing else."""
	files = {"%s/f%d.txt" % ("/".join("level%d" % i for i in range(depth)), n): "%d,%d" % (depth, n)
		for depth in range(1, 12) for n in range(3)}
	files.update({"empty/.keep": "", "a b/c d/e": "1", "top": "2", ".well-known/acme-challenge/token": "t"})
	server = make(files=files, server=AUTOINDEX + ' index = {"none"}')
	files["index.html"] = "<!doctype html><title>index</title>\n"
	found, folders, left = {}, set(), ["/"]
	with connect(server) as c:
		while left:
			path = left.pop()
			folders.add(path)
			page = Page(c.get(path))
			if path != "/":
				assert resolve(path, "../") in folders
			for href in page.hrefs():
				target = resolve(path, href)
				if target.endswith("/"):
					left.append(target)
				else:
					found[urllib.parse.unquote(target)[1:]] = c.get(target).body.decode()
	del files["empty/.keep"]
	assert found == files
	assert "/empty/" in folders and "/a%20b/c%20d/" in folders


def test_order(make, connect):
	files = {"d/b": "x" * 900, "d/a": "xx", "d/C": "x", "d/Sub/x": "", "d/sub2/x": ""}
	server = make(files=files)
	for name, age in (("b", 10), ("a", 30), ("C", 20), ("Sub", 5), ("sub2", 9)):
		then = 1700000000 - age * 86400
		os.utime(os.path.join(server.root, "d", name), (then, then))
	by_name = ["Sub/", "sub2/", "a", "b", "C"]
	wanted = {
		"": by_name,
		"?sort=name&order=asc": by_name,
		"?sort=name&order=desc": ["sub2/", "Sub/", "C", "b", "a"],
		"?sort=size&order=asc": ["Sub/", "sub2/", "C", "a", "b"],
		"?sort=size&order=desc": ["Sub/", "sub2/", "b", "a", "C"],
		"?sort=date&order=asc": ["sub2/", "Sub/", "a", "C", "b"],
		"?order=desc&sort=date": ["Sub/", "sub2/", "b", "C", "a"],
		"?sort=colour&order=up": by_name,
		"?sort=%73ize": ["Sub/", "sub2/", "C", "a", "b"],
		"?" + "&" * 1000: by_name,
	}
	with connect(server) as c:
		for query, names in wanted.items():
			assert Page(c.get("/d/" + query)).names() == names, query
			entries = json.loads(c.get("/d/" + query, [("accept", "application/json")]).body)
			assert [e["href"] for e in entries] == ["./" + name for name in names], query
		# The heads are links that sort, and turn the order when followed again.
		page = Page(c.get("/d/"))
		assert [head["text"].split()[0] for head in page.heads] == ["Name", "Size", "Modified"]
		assert [head["sort"] for head in page.heads] == ["ascending", None, None]
		for column, key in enumerate(("name", "size", "date")):
			seen = []
			page = Page(c.get("/d/"))
			for _ in range(3):
				href = page.heads[column]["href"]
				seen.append(page.heads[column]["sort"])
				page = Page(c.get(resolve("/d/", href)))
				assert page.names() == wanted[re.sub("(sort=date)&(order=desc)", r"\2&\1", href)]
			assert seen[1] != seen[2] and None not in seen[1:]


def test_json(make, connect):
	server = make(files={"d/small": "12345", "d/sub/x": "", "d/\u00fc": ""})
	os.utime(os.path.join(server.root, "d/small"), (784111777, 784111777))
	os.utime(os.path.join(server.root, "d/sub"), (0, 0))
	with connect(server) as c:
		answer = c.get("/d/", [("accept", "application/json")])
		assert answer.status == 200
		assert answer.get("content-type") == "application/json"
		assert answer.get("vary") == VARY
		entries = json.loads(answer.body)
		assert entries[0] == {"name": "sub", "href": "./sub/", "type": "directory", "size": None,
			"mtime": "1970-01-01T00:00:00Z"}
		assert entries[1] == {"name": "small", "href": "./small", "type": "file", "size": 5,
			"mtime": "1994-11-06T08:49:37Z"}
		assert entries[2]["name"] == "\u00fc"
		for accept, wanted in (("application/json, text/html;q=0.9", "application/json"),
				("application/json;q=0.8, text/html", "text/html"),
				("text/html, application/xhtml+xml, */*;q=0.8", "text/html"),
				("*/*", "text/html"), ("image/webp", "text/html"),
				("application/json;q=0", "text/html"),
				("application/json;q=oops", "text/html"),
				("application/*", "application/json")):
			answer = c.get("/d/", [("accept", accept)])
			assert answer.get("content-type").split(";")[0] == wanted, accept
			assert answer.get("vary") == VARY


def test_only_where_it_is_configured(make, connect):
	server = make(server='autoindex = false  location "/pub/" { autoindex = true }',
		files={"pub/x": "", "pub/sub/y": "", "private/z": "", "pub/page/index.html": "own"})
	with connect(server) as c:
		assert Page(c.get("/pub/")).names() == ["page/", "sub/", "x"]
		assert Page(c.get("/pub/sub/")).names() == ["y"]
		assert c.get("/pub/page/").body == b"own"
		none = c.get("/private/")
		assert none.status == 404 and b"z" not in re.sub(b"<style>.*?</style>|<.*?>", b"", none.body, flags=re.DOTALL)
		assert c.get("/pub/nothing/").status == 404
		assert c.get("/pub/x/").status == 404
		for path in ("/pub", "/pub/sub?sort=size"):
			answer = c.get(path)
			assert answer.status == 301
			assert answer.get("location") == path.replace("sub", "sub/") if "?" in path else "/pub/"


def test_fields(make, connect):
	server = make(files={"d/x": ""}, server=AUTOINDEX
		+ ' location "/d/" { cache-control = "max-age=60" }')
	os.mkdir(os.path.join(server.root, "e"))
	with connect(server) as c:
		answer = c.get("/e/")
		assert answer.get("cache-control") == "no-cache"
		assert answer.get("vary") == VARY
		assert int(answer.get("content-length")) == len(answer.body)
		assert answer.get("last-modified") is None
		head = c.request("HEAD", "/e/")
		assert head.status == 200 and head.body == b""
		for name in ("content-length", "content-type", "etag", "vary", "cache-control"):
			assert head.get(name) == answer.get(name), name
		assert c.get("/d/").get("cache-control") != "no-cache", "the location has its own"
		assert c.request("POST", "/e/").status == 405


def test_conditional(make, connect):
	server = make(files={"d/x": ""})
	with connect(server) as c:
		first = c.get("/d/")
		tag = first.get("etag")
		again = c.get("/d/", [("if-none-match", tag)])
		assert again.status == 304 and again.body == b"" and again.get("etag") == tag
		assert again.get("vary") == VARY
		assert c.get("/d/", [("if-none-match", tag), ("accept", "application/json")]).status == 200
		assert c.get("/d/?sort=size", [("if-none-match", tag)]).status == 200
		assert c.get("/d/", [("if-match", '"other"')]).status == 412
		assert c.get("/d/", [("if-modified-since", "Fri, 01 Jan 2038 00:00:00 GMT")]).status == 200
		# The disk is asked each time: what is new shows at once.
		server.write("d/new", "")
		fresh = c.get("/d/", [("if-none-match", tag)])
		assert fresh.status == 200 and Page(fresh).names() == ["new", "x"]
		os.unlink(os.path.join(server.root, "d/new"))
		assert c.get("/d/", [("if-none-match", tag)]).status == 304


def test_codings(make):
	"""A page is sent in the coding that the client likes best, as small as that makes it, with a tag of its own."""
	server = make(files={"d/some file of the second folder %04d.txt" % i: "" for i in range(2000)})
	with server.connect("tcp") as c:
		for accept in ("text/html", "application/json"):
			plain, tags = c.get("/d/", [("accept", accept)]), set()
			assert plain.get("content-encoding") is None and len(plain.body) > 200000
			for field, coding in (("gzip, deflate, br, zstd", "br"), ("zstd", "zstd"), ("gzip", "gzip"), ("gzip;q=0.5, br;q=0.1", "gzip"),
					("identity", None), ("br;q=0", None), ("lzma, identity;q=0", None)):
				fields = [("accept", accept), ("accept-encoding", field)]
				answer = c.get("/d/", fields)
				assert (answer.status, answer.get("content-encoding"), answer.get("vary")) == (200, coding, VARY), field
				assert int(answer.get("content-length")) == len(answer.body)
				head = c.request("HEAD", "/d/", fields)
				assert (head.get("content-length"), head.get("etag")) == (answer.get("content-length"), answer.get("etag"))
				assert c.get("/d/", fields + [("if-none-match", answer.get("etag"))]).status == 304
				if coding is None:
					assert answer.body == plain.body
					continue
				assert len(answer.body) < len(plain.body) / 12, (coding, len(plain.body), len(answer.body))
				if coding == "gzip":
					assert gzip.decompress(answer.body) == plain.body
				tags.add(answer.get("etag"))
			assert len(tags) == 3 and plain.get("etag") not in tags


def test_without_codings(h2d):
	"""What cache.compress does not name, listings are not sent in either."""
	for compress, coding, vary in (("{}", None, "accept"), ('{"gzip"}', "gzip", VARY)):
		server = h2d(server=AUTOINDEX, sections="cache { compress = %s }" % compress, files={"d/f": "f"})
		with server.connect() as c:
			answer = c.get("/d/", [("accept-encoding", "br, gzip")])
			assert (answer.get("content-encoding"), answer.get("vary")) == (coding, vary)


def test_412_varies(h2d):
	"""Another form has another tag; and the site's page for it may vary for itself."""
	for page, vary in (("", VARY), ('error-page "412" { file = "/412.html" }', VARY)):
		server = h2d(files={"412.html": "page", "d/f": ""}, server=AUTOINDEX + " " + page)
		with server.connect("tcp") as c:
			answer = c.get("/d/", [("if-match", '"other"')])
			assert (answer.status, answer.body == b"page") == (412, page != "")
			assert [v for n, v in answer.headers if n == "vary"] == [vary]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
	"""A directory with more than a page shows."""
	top = tmp_path_factory.mktemp("crowd")
	top.chmod(0o755)
	(top / "many").mkdir()
	for i in range(50010):
		os.close(os.open(top / "many" / ("file number %d" % i), os.O_CREAT | os.O_WRONLY, 0o644))
	return str(top)


@pytest.mark.slow
@pytest.mark.xdist_group("crowd")
def test_a_crowd(h2d, crowd, connect):
	server = h2d(server=AUTOINDEX, sections=NO_CACHE, root=crowd)
	with connect(server, timeout=60) as c:
		links, path = set(), "/many/"
		for page in range(1, 51):
			answer = c.get(path)
			assert answer.get("x-listing") == "incomplete"
			assert b"Page %d of 50 " % page in answer.body and b"and more that are not listed" in answer.body
			links.update(re.findall(rb'<a href="\./(file%20number%20\d+)"', answer.body))
			assert len(links) == 1000 * page
			path = "/many/" + re.findall(r'href="(\?[^"]*)">Next|$', html.unescape(answer.body.decode()))[0]
		assert path == "/many/"
		found = Page(c.get("/many/?q=NUMBER%205000"))
		assert sorted(found.names()) == sorted(["file number 5000"] + ["file number 5000%d" % i for i in range(10)])
		assert found.rows == Page(c.get("/many/?q=number+5000")).rows
		assert "No name contains this text" in Page(c.get("/many/?q=number5")).text
		answer = c.get("/many/", [("accept", "application/json")])
		assert answer.get("x-listing") == "incomplete"
		assert len(json.loads(answer.body)) == 50000


@pytest.mark.xdist_group("crowd")
def test_listings_nobody_wants(h2d, crowd):
	"""Hundreds of long listings, each reset at once, are not made, and nobody waits behind them."""
	server = h2d(server=AUTOINDEX, sections=NO_CACHE, root=crowd)
	with server.connect("tcp") as c:
		for _ in range(400):
			c.reset(c.send("GET", "/many/"))
	with server.connect("tcp") as c:
		assert Page(c.get("/")).names() == ["many/"]
	server.wait_quiet()
