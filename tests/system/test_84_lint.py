"""Response lint: the lint itself against bad responses, then a walk through what h2d can be asked."""
import os
import re
import subprocess

import pytest

from client import Request, Response
from lint import lint
from lint_history import History

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
LATER = "Sun, 06 Nov 1994 08:49:38 GMT"
ASKED = {"method": "GET", "path": "/a", "headers": [], "version": "1.1"}
GOOD = {"date": DATE, "server": "h2d", "content-type": "text/html; charset=utf-8", "content-length": "4",
	"etag": '"abc"', "last-modified": DATE, "accept-ranges": "bytes"}
BARE = {"date": DATE, "server": "h2d"}
PARTS = "multipart/byteranges; boundary=x"
TWO_PARTS = (b"--x\r\ncontent-type: text/plain\r\ncontent-range: bytes 0-0/9\r\n\r\na\r\n"
	b"--x\r\ncontent-type: text/plain\r\ncontent-range: bytes 2-3/9\r\n\r\nbc\r\n--x--\r\n")


def request(**changes):
	asked = dict(ASKED, **changes)
	headers = asked["headers"]
	headers = headers.items() if isinstance(headers, dict) else headers
	return Request(asked["method"], asked["path"], headers, "localhost", asked["version"])


def response(fields=None, base=GOOD, status=200, body=b"body", closed=False, more=(), **changes):
	"""A good one but for fields (None takes one away) and the request's changes."""
	answer = Response(request(**changes))
	answer.status, answer.body, answer.size, answer.closed = status, body, len(body), closed
	merged = dict(base, **(fields or {}))
	answer.headers = [f for f in merged.items() if f[1] is not None] + list(more)
	return answer


def faults(answer):
	return lint(answer.request, answer)


RANGE = {"headers": {"range": "bytes=0-3"}}
CONDITIONAL = {"headers": {"if-none-match": '"abc"'}}
BR = {"headers": {"accept-encoding": "gzip, br;q=0.5"}}
CODED = {"content-encoding": "br", "vary": "accept-encoding"}
LENGTH = {"content-length": "4"}

GOOD_ONES = {
	"plain": {},
	"2": {"version": "2"},
	"head": {"method": "HEAD", "body": b""},
	"chunked": {"fields": {"content-length": None, "transfer-encoding": "chunked"}},
	"until close": {"fields": {"content-length": None, "connection": "close"}, "closed": True},
	"304": {**CONDITIONAL, "base": BARE, "fields": {"etag": '"abc"'}, "status": 304, "body": b""},
	"204": {"base": BARE, "status": 204, "body": b"", "method": "DELETE"},
	"206": {**RANGE, "status": 206, "fields": {"content-range": "bytes 0-3/9"}},
	"206 parts": {**RANGE, "status": 206, "body": TWO_PARTS,
		"fields": {"content-type": PARTS, "content-length": str(len(TWO_PARTS))}},
	"416": {**RANGE, "status": 416, "fields": {"content-range": "bytes */9"}},
	"405": {"base": BARE, "status": 405, "fields": {"allow": "GET, HEAD", "content-length": "0"},
		"method": "PUT", "body": b""},
	"301": {"base": BARE, "status": 301, "fields": {"location": "/%c3%bc/?a=b", "content-length": "0"},
		"body": b""},
	"coded": {**BR, "fields": CODED},
	"caching": {"fields": {"cache-control": 'public, max-age=31536000, immutable'}},
	"quoted": {"fields": {"cache-control": 'no-cache="a, b", private'}},
}

BAD_ONES = [
	("invalid value", {"fields": {"x": " a"}}), ("invalid value", {"fields": {"x": "a\t"}}),
	("invalid value", {"fields": {"x": "a\rb"}}), ("invalid or not in lower", {"fields": {"X-A": "b"}}),
	("invalid or not in lower", {"fields": {"x a": "b"}}), ("no field date", {"fields": {"date": None}}),
	
	*(("%s comes more than once" % name, {"more": [(name, GOOD[name])]}) for name in GOOD),
	("field connection with HTTP/2", {"version": "2", "fields": {"connection": "close"}}),
	("field transfer-encoding with", {"version": "2", "fields": {"transfer-encoding": "chunked"}}),
	("beside transfer-encoding", {"fields": {"transfer-encoding": "chunked"}}),
	("transfer-encoding is", {"fields": {"content-length": None, "transfer-encoding": "gzip"}}),
	("for an HTTP/1.0", {"version": "1.0", "fields": {"content-length": None,
		"transfer-encoding": "chunked"}}),
	("without connection: close", {"closed": True}),
	("it stays open", {"fields": {"connection": "close"}}),
	("close and keep-alive", {"fields": {"connection": "close, keep-alive"}, "closed": True}),
	("neither content-length nor", {"fields": {"content-length": None}}),
	("content-length is", {"fields": {"content-length": "4, 4"}}),
	("but 4 bytes", {"fields": {"content-length": "5"}}),
	("4 bytes of content with HEAD", {"method": "HEAD"}),
	("field content-length with 304", {**CONDITIONAL, "base": BARE, "status": 304, "fields": LENGTH,
		"body": b""}),
	("field content-length with 204", {"base": BARE, "status": 204, "fields": LENGTH, "body": b""}),
	("bytes of content with GET 304", {**CONDITIONAL, "base": BARE, "status": 304}),
	("content without content-type", {"fields": {"content-type": None}}),
	("content without content-type", {"method": "HEAD", "body": b"", "fields": {"content-type": None}}),
	("is malformed", {"fields": {"content-type": "text"}}),
	("is malformed", {"fields": {"content-type": "text/html; charset"}}),
	("without charset", {"fields": {"content-type": "text/html"}}),
	("301 without location", {"status": 301}), ("201 without location", {"status": 201}),
	("405 without allow", {"status": 405}), ("401 without www-authenticate", {"status": 401}),
	("is no URI", {"status": 301, "fields": {"location": "/a b"}}),
	("is no URI", {"status": 301, "fields": {"location": "/\xfc"}}),
	("allow has PUT", {"status": 405, "method": "PUT", "fields": {"allow": "PUT"}}),
	("GET without HEAD", {"status": 405, "method": "PUT", "fields": {"allow": "GET"}}),
	("allow 'get' is malformed", {"status": 405, "method": "PUT", "fields": {"allow": "get"}}),
	("304 to an unconditional", {"status": 304, "base": BARE, "body": b""}),
	("304 to PUT", {**CONDITIONAL, "method": "PUT", "status": 304, "base": BARE, "body": b""}),
	("412 to an unconditional", {"status": 412}), ("field etag with 404", {"status": 404}),
	("last-modified with 403", {"status": 403}), ("accept-ranges with 500", {"status": 500}),
	("neither a strong", {"fields": {"etag": "abc"}}), ("neither a strong", {"fields": {"etag": 'W/"xyz"'}}),
	("is no IMF-fixdate", {"fields": {"date": "Sunday, 06-Nov-94 08:49:37 GMT"}}),
	("is no IMF-fixdate", {"fields": {"date": DATE.replace("Sun", "Mon")}}),
	("is no IMF-fixdate", {"fields": {"last-modified": DATE.replace("GMT", "UTC")}}),
	("is no IMF-fixdate", {"fields": {"expires": "0"}}),
	("later than date", {"fields": {"last-modified": LATER}}),
	("vary ['a', 'a'] is malformed", {"fields": {"vary": "A, a"}}),
	("content-encoding 'deflate'", {"headers": {"accept-encoding": "*"},
		"fields": {**CODED, "content-encoding": "deflate"}}),
	("without vary", {**BR, "fields": {"content-encoding": "br"}}),
	("was not asked for", {"fields": CODED}),
	("was not asked for", {**BR, "fields": {**CODED, "content-encoding": "zstd"}}),
	("wants seconds", {"fields": {"cache-control": "max-age"}}),
	("takes no argument", {"fields": {"cache-control": "public=1"}}),
	("is unknown", {"fields": {"cache-control": "maxage=3"}}),
	("is malformed", {"fields": {"cache-control": "public,"}}),
	("says something twice", {"fields": {"cache-control": "max-age=3, max-age=4"}}),
	("no-store and max-age", {"fields": {"cache-control": "no-store, max-age=3"}}),
	("public and private", {"fields": {"cache-control": "public, private"}}),
	("404 is immutable", {"status": 404, "fields": {"cache-control": "immutable"}}),
	("accept-ranges: byte", {"fields": {"accept-ranges": "byte"}}),
	("content-range with 200", {"fields": {"content-range": "bytes 0-3/4"}}),
	("is malformed", {**RANGE, "status": 206, "fields": {"content-range": "bytes 0-3"}}),
	("range is ignored", RANGE), ("206 to GET without range", {"status": 206}),
	("206 to HEAD without", {**RANGE, "method": "HEAD", "status": 206, "body": b""}),
	("416 without content-range", {**RANGE, "status": 416}),
	("416 without content-range", {**RANGE, "status": 416, "fields": {"content-range": "bytes 0-3/4"}}),
	("206 without content-range", {**RANGE, "status": 206}),
	("206 without content-range", {**RANGE, "status": 206, "fields": {"content-range": "bytes */9"}}),
	("206 and accept-ranges: none", {**RANGE, "status": 206,
		"fields": {"content-range": "bytes 0-3/9", "accept-ranges": "none"}}),
	("with 4 bytes", {**RANGE, "status": 206, "fields": {"content-range": "bytes 0-4/9"}}),
	("is impossible", {**RANGE, "status": 206, "fields": {"content-range": "bytes 0-3/3"}}),
	("beside multipart", {**RANGE, "status": 206, "body": TWO_PARTS,
		"fields": {"content-type": PARTS, "content-range": "bytes 0-3/9"}}),
	("no boundary", {**RANGE, "status": 206, "fields": {"content-type": "multipart/byteranges"}}),
	("no such boundaries", {**RANGE, "status": 206, "fields": {"content-type": PARTS}}),
	*(("multipart/byteranges", {**RANGE, "status": 206, "fields": {"content-type": PARTS},
		"body": TWO_PARTS.replace(*change)}) for change in (
			(b"--x--", b"--x"), (b"0-0/9", b"0-0/8"), (b"\r\n\r\na", b"\r\na"),
			(b"content-range: bytes 0-0", b"range: 0-0"), (b"content-type: text/plain\r\n", b""))),
	("with 1 bytes", {**RANGE, "status": 206, "fields": {"content-type": PARTS},
		"body": TWO_PARTS.replace(b"0-0/9", b"0-1/9")}),
]


@pytest.mark.parametrize("name", GOOD_ONES)
def test_good(name):
	assert faults(response(**GOOD_ONES[name])) == []


@pytest.mark.parametrize("wanted, what", BAD_ONES, ids=[w for w, _ in BAD_ONES])
def test_bad(wanted, what):
	assert any(wanted in fault for fault in faults(response(**what))), faults(response(**what))


def seen(*answers):
	history = History()
	for answer in answers:
		history.see(answer)
	return history.faults


PART = {**RANGE, "status": 206, "fields": {"content-range": "bytes 0-3/9", "content-length": "4"}}
NINE = {"body": b"body nine", "fields": {"content-length": "9"}}
NOT_MODIFIED = {**CONDITIONAL, "base": BARE, "status": 304, "body": b""}

PAIRS = [
	("", {}, {}), ("", {}, {"method": "HEAD", "body": b""}), ("", NINE, PART),
	("", {**BR, "fields": dict(CODED, etag='"br"')}, {"fields": {"vary": "accept-encoding"}}),
	("", {}, {**NOT_MODIFIED, "fields": {"etag": '"abc"'}}),
	("", {}, {"fields": {"etag": '"new"'}, "body": b"edit"}),
	("", {}, {"fields": {"content-type": "text/css; charset=utf-8"}, "path": "/b"}),
	("", {}, {"fields": {"last-modified": None}}),
	("", {"fields": {"last-modified": DATE.replace("1994", "1988")}}, {}),
	("other bytes", {}, {"body": b"BODY"}), ("other fields", {}, {"fields": {"cache-control": "no-store"}}),
	("other fields", {}, {"method": "HEAD", "body": b"", "fields": {"content-length": "5"}}),
	("other fields", {}, {"fields": {"last-modified": DATE.replace("1994", "1988")}}),
	("another content-encoding", {"fields": {"vary": "accept-encoding"}}, {**BR, "fields": CODED}),
	("vary does not always", {}, {**BR, "fields": dict(CODED, etag='"br"')}),
	("a part differs", NINE, {**PART, "body": b"nine"}),
	("a part differs", {}, PART),
	("a part differs", NINE, {**RANGE, "status": 206, "body": TWO_PARTS,
		"fields": {"content-type": PARTS, "content-length": None, "transfer-encoding": "chunked"}}),
	("vary differs", {"fields": {"vary": "accept"}}, {**NOT_MODIFIED, "fields": {"etag": '"abc"'}}),
	("cache-control differs", {}, {**NOT_MODIFIED,
		"fields": {"etag": '"abc"', "cache-control": "no-store"}}),
]


@pytest.mark.parametrize("wanted, one, other", PAIRS, ids=[p[0] or "agree" for p in PAIRS])
def test_pairs(wanted, one, other):
	found = seen(response(**one), response(**other))
	assert any(wanted in fault for fault in found) if wanted else found == [], found


def test_allowed_faults():
	history = History()
	history.allow(re.compile("without charset"), "a test")
	history.see(response({"content-type": "text/html"}))
	assert history.faults == []
	history.see(response({"content-type": "text/html", "etag": "weak"}))
	assert len(history.faults) == 1


def test_what_a_server_says_wrong_fails_its_test(h2d):
	"""The hook: a fault is in the faults of the server that the response came from."""
	server = h2d(server='charset = ""', files={"a.txt": "x"})
	with server.connect() as c:
		c.get("/a.txt")
	assert len(server.lint.faults) == 1 and "without charset" in server.lint.faults[0]
	server.lint.faults.clear()


# --- a walk through what h2d can be asked --------------------------------------------------------------

TEXT = b"<!doctype html><p>It was the best of times, it was the worst of times.</p>\n" * 60
FILES = {"index.html": TEXT, "page.html": TEXT * 2, "empty.txt": b"", "data.bin": bytes(range(256)) * 16,
	"large.bin": os.urandom(1 << 16) * 40, "assets/style.css": b"a { color: red }\n" * 200,
	"dir/index.html": TEXT * 3, "list/one.txt": b"1", "list/two.txt": b"2", "closed/a.txt": b"closed",
	"secret/a.txt": b"secret", "404.html": TEXT * 4, "other/index.html": TEXT * 5, "up/a.html": TEXT}
SITES = """
	upload-dir = "up"
	add-header = {"x-frame-options: DENY"}
	error-page "404" { file = "/404.html" }
	location "/assets/" { cache-control = "public, max-age=31536000, immutable" }
	location "/list" { autoindex = true  cache-control = "no-cache" }
	location "/closed" { allow = {"192.0.2.0/24"} }
	location "/secret" { auth-basic-file = "%s" }
	location "/moved/" { redirect = "/dir/"  redirect-status = 308 }
"""
PATHS = ["/", "/page.html", "/empty.txt", "/data.bin", "/large.bin", "/assets/style.css", "/assets/none.css",
	"/dir", "/dir/", "/dir?x=1", "/list/", "/list/one.txt", "/closed/a.txt", "/secret/a.txt", "/moved/a",
	"/none", "/none/", "/%00", "/files/a.html", "/files/none", "/healthz", "/status.json", "/.hidden",
	"/" + "x" * 300]
METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"]
CODINGS = ["gzip", "br, zstd", "identity;q=0, *;q=0", "identity;q=0", "*"]
PAST, FUTURE = "Sat, 08 Sep 2001 01:46:40 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"


def questions(etag):
	"""Fields of requests."""
	yield []
	for coding in CODINGS:
		yield [("accept-encoding", coding)]
		yield [("accept-encoding", coding), ("range", "bytes=1-9")]
		yield [("accept-encoding", coding), ("if-none-match", "*")]
	for what in ("bytes=0-0", "bytes=-5", "bytes=3-", "bytes=0-1,5-9,-2", "bytes=99999999-", "bytes=9-1", "lines=1-2"):
		yield [("range", what)]
		yield [("range", what), ("if-range", etag)]
		yield [("range", what), ("if-range", '"another"')]
	for condition in ("if-match", "if-none-match"):
		for tag in (etag, '"another"', "*", "W/" + etag):
			yield [(condition, tag)]
	for condition in ("if-modified-since", "if-unmodified-since"):
		for when in (PAST, FUTURE, "yesterday"):
			yield [(condition, when)]
	yield [("accept", "application/json")]
	yield [("authorization", "Basic dTpw")]
	yield [("authorization", "Basic eDp5")]


def said(answer):
	"""What must be the same whichever the protocol."""
	return answer.status, sorted((name, re.sub("(?<=boundary=).*", "", text)) for name, text in answer.headers
		if name not in ("date", "connection"))


def walk(c):
	"""Asks everything; what was said, by what was asked."""
	heard = {}
	for path in PATHS:
		etag = c.get(path).get("etag") or '"none"'
		for fields in questions(etag):
			for method in METHODS if len(fields) == 0 else METHODS[:2]:
				heard[method, path, tuple(fields)] = c.request(method, path, fields)
	for (method, path, fields), answer in heard.items():
		asked_for_part = any(name == "range" for name, _ in fields)
		if method == "HEAD" and not asked_for_part:
			assert said(answer) == said(heard["GET", path, fields]), (path, fields)
	return {question: said(answer) for question, answer in heard.items()}


@pytest.fixture
def many(h2d):
	server = h2d.new(files=FILES)
	for folder, _, names in os.walk(server.root):
		for name in names:
			os.utime(os.path.join(folder, name), (1000000000, 1000000000))
	users = server.path("users")
	password = subprocess.run(["openssl", "passwd", "-6", "p"], stdout=subprocess.PIPE, check=True, text=True).stdout
	with open(users, "w") as f:
		f.write("u:" + password)
	server.write_conf(server=SITES % users, sections='server "other.test" { root = "%s/other"  charset = "" '
		'cache-control = "no-store" }' % server.root)
	return server.start(image=True).wait_coded(["page.html", "assets/style.css", "dir/index.html"]).wait_tagged("/large.bin")


@pytest.mark.slow
def test_walk(many):
	"""The lint looks at every response; the protocols say the same, and so do GET and HEAD."""
	with many.connect("tls") as c:
		over_h2 = walk(c)
	c = Reconnecting(many, "tcp")
	over_h1 = walk(c)
	c.close()
	for question, answer in over_h2.items():
		assert over_h1[question] == answer, question
	statuses = {status for status, _ in over_h2.values()}
	assert {200, 206, 301, 304, 308, 400, 401, 403, 404, 405, 406, 412, 416} <= statuses, statuses


def test_walk_of_another_site(many):
	many.allow_fault("text/html without charset", "the configuration says so")
	with many.connect("tcp", authority="other.test") as c:
		assert c.get("/").get("cache-control") == "no-store"
		assert "x-frame-options" not in dict(c.get("/none").headers)
		walk(c)


class Reconnecting:
	"""HTTP/1 on as few connections as the server lets."""

	def __init__(self, server, how):
		self.server, self.how, self.c = server, how, None

	def request(self, *arguments):
		if self.c is None:
			self.c = self.server.h1(self.how)
		answer = self.c.request(*arguments)
		if answer.closed:
			self.close()
		return answer

	def get(self, path):
		return self.request("GET", path)

	def close(self):
		if self.c is not None:
			self.c.close()
			self.c = None
