"""Uploads by people: the form in the listing of a folder where the client may write, and what a browser is answered with."""
import base64
import hashlib
import html.parser
import re
import urllib.parse

import pytest

from uploads import PUBLIC, WAYS, connect, names, post
from users import basic, hashed, put_users

LIST = "autoindex = true  index = {}\n"
BROWSER = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8")
POLICY = "content-security-policy"


class Form(html.parser.HTMLParser):
	"""Of a page: the attributes of its form and of what is in it, styles and scripts; found is None without a form."""

	def __init__(self, answer):
		super().__init__(convert_charrefs=True)
		self.found, self.inside, self.texts, self.element = None, [], {"style": [], "script": []}, None
		self.feed(answer.body.decode())

	def handle_starttag(self, tag, attrs):
		self.element = tag
		if tag == "form":
			self.found = dict(attrs)
		elif self.found is not None:
			self.inside.append((tag, dict(attrs)))

	def handle_data(self, data):
		if self.element in self.texts:
			self.texts[self.element].append(data)
			self.element = None


def action(answer, path):
	"""Where the form of a page at path sends files; None: it has none."""
	found = Form(answer).found
	return found and urllib.parse.urlsplit(urllib.parse.urljoin("http://localhost" + path, found["action"])).path


@pytest.fixture
def make(h2d):
	def make(server=PUBLIC + LIST, **options):
		return h2d(server=server, files={"up/there": b"there", "other/x": b""}, **options)
	return make


@pytest.mark.parametrize("way", WAYS)
def test_form(make, way):
	"""Its page, sent as a browser sends it, leads to the page again, with the files in it."""
	server = make()
	with connect(server, way) as c:
		page = c.get("/up/")
		form = Form(page)
		assert action(page, "/up/") == "/files"
		assert (form.found["method"], form.found["enctype"]) == ("post", "multipart/form-data")
		assert ("input", {"id": "file", "name": "file", "type": "file", "multiple": None, "required": None}) in form.inside
		answer = post(c, [("a.txt", b"a"), ("b", b"b")], headers=[BROWSER])
		assert (answer.status, answer.get("location"), answer.body) == (303, "/up/", b"")
		listed = c.get(answer.get("location"))
		assert b'href="./a.txt"' in listed.body and b'href="./b"' in listed.body
		for accept in ("*/*", "application/json", "text/html;q=0.5, application/json", "text/html;q=0"):
			answer = post(c, [("a.txt", b"a")], headers=[("accept", accept)])
			assert (answer.status, answer.get("content-type")) == (201, "application/json"), accept
		assert action(c.get("/other/"), "/other/") is None
		assert b"<form" not in c.get("/up/", [("accept", "application/json")]).body
	assert names(server) == ["a.txt", "b", "there"]


def test_policy(make):
	"""No style and no script but its own, by their hashes, whatever the configuration and the sandbox of uploads say."""
	for more in ("", 'add-header = {"content-security-policy: default-src *"}'):
		server = make(PUBLIC + LIST + more)
		with server.connect() as c:
			page = c.get("/up/")
			policy, form = page.get(POLICY), Form(page)
			assert [name for name, _ in page.headers].count(POLICY) == 1
			assert (len(form.texts["style"]), len(form.texts["script"])) == (3, 3)
			for kind, texts in form.texts.items():
				allowed = re.search(kind + "-src ([^;]*)", policy).group(1)
				assert "unsafe" not in allowed
				for text in texts:
					digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
					assert "'sha256-%s'" % digest in allowed, (kind, digest)
			assert "default-src 'none'" in policy and "form-action 'self'" in policy
			assert page.get("x-content-type-options") == "nosniff"
			again = c.get("/up/", [("if-none-match", page.get("etag"))])
			assert (again.status, again.get(POLICY)) == (304, policy), "a browser would take another one for the page"
			assert not re.search(r'<[^>]* (on\w+|style)=', page.body.decode())
			assert c.get("/up/there").get(POLICY) == "sandbox"
			assert c.get("/other/").get(POLICY).count("sha256-") == 3


def test_without_a_listing(make):
	"""What was stored is the page then."""
	server = make(PUBLIC)
	hostile = '<b>"&.txt'
	with server.connect() as c:
		answer = post(c, [("a.txt", b"a" * 2048), (hostile.replace('"', "%22"), b"")], headers=[BROWSER])
		assert (answer.status, answer.get("content-type")) == (201, "text/html; charset=utf-8")
		page = answer.body.decode()
		assert "<h1>2 files stored</h1>" in page and 'href="/files/a.txt"><bdi>a.txt</bdi>' in page and "2.0 KiB" in page
		assert "<b>" not in page and "default-src 'none'" in answer.get(POLICY)
		for name in names(server):
			assert c.get("/files/" + urllib.parse.quote(name)).status == 200


def test_refused(make):
	"""A page says why, and nothing is there."""
	server = make(PUBLIC + LIST + "upload-overwrite = false")
	with server.connect() as c:
		answer = post(c, [("new", b"1"), ("there", b"2")], headers=[BROWSER])
		assert (answer.status, answer.get("location")) == (409, None)
		assert b'<p class="why">name exists and must not be replaced' in answer.body
	assert names(server) == ["there"]


def test_who_is_shown_a_form(h2d):
	"""Who may write there, as far as that can be told before a password."""
	server = h2d.new(files={"up/x": b"", "up/sub/y": b"", "apart/up/z": b""})
	users = put_users(server, anna=hashed("sesame"))
	base = 'upload-dir = "up"\n' + LIST
	for rules, form in (
			("", None),
			("upload-public = true", "/files"),
			('location "/files" { auth-basic-file = "%s" }' % users, "/files"),
			('location "/up" { auth-basic-file = "%s" }' % users, "/files"),
			('location "/files" { allow = {"127.0.0.0/8"} }', "/files"),
			('location "/files" { allow = {"192.0.2.0/24"} }', None),
			('upload-public = true  location "/files" { allow-methods = {"GET", "PUT"} }', None),
			('upload-public = true  location "/files" { deny = {"all"} }', None)):
		server.write_conf(server=base + rules)
		if server.process is None:
			server.start()
		else:
			server.reload()
		with server.connect() as c:
			page = c.get("/up/", basic("anna", "sesame"))
			assert page.status == 200 and action(page, "/up/") == form, rules
			assert action(c.get("/up/sub/", basic("anna", "sesame")), "/up/sub/") is None
	server.write_conf(server=PUBLIC + LIST + 'location "/up" { root = "%s/apart" }' % server.root)
	server.reload()
	with server.connect() as c:
		page = c.get("/up/")
		assert b'href="./z"' in page.body and action(page, "/up/") is None, "it is another tree's folder"
