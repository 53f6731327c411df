"""Server blocks and locations: whose request it is, what is demanded of it, and what responses carry."""
import gzip
import os
import re
import socket
import time

import pytest

import client
import h1client
import harness
from procs import wait_for
from users import BCRYPT, YESCRYPT, basic, hashed, put_users


def link(server, speak, how="tcp", **options):
	return server.connect(how, **options) if speak == "h2" else server.h1(how, **options)


def ask(server, speak, path, headers=(), method="GET", how="tcp", **options):
	with link(server, speak, how, **options) as c:
		return c.request(method, path, headers)


def extra_port(server, host="127.0.0.1", skip=2):
	"""Of the first listener behind the usual ones."""
	lines = server.log.wait(r"listening on %s:" % re.escape(host), count=skip + 1)
	return int(re.search(r":(\d+)", lines[skip].partition("listening on ")[2].replace(host, "")).group(1))


def blocks(server, **more):
	"""Roots www, a, b … with one file that says whose it is."""
	for name in more:
		os.makedirs(server.path(name), exist_ok=True)
		with open(server.path(name, "who"), "w") as f:
			f.write(name)


# --- whose it is --------------------------------------------------------------------------------------


MALFORMED = ("user@localhost", "localhost:x", "[::1", ":80", "a/b", "a b", "%zz", "a%4", "a%", ".")


@pytest.mark.parametrize("method, path", [("GET", "/"), ("OPTIONS", "*"), ("BREW", "/")])
def test_malformed_authority(h2d, speak, method, path):
	"""RFC 9110, 4.2: both protocols say the same, whatever else is wrong with the request."""
	server = h2d()
	for authority in MALFORMED:
		with (server.connect("tcp", authority=authority) if speak == "h2"
				else server.h1(authority=authority)) as c:
			answer = c.request(method, path)
			assert answer.status == 400 or answer.reset is not None, authority
			assert answer.status in (400, None)


def test_an_empty_host(h2d):
	"""RFC 9113, 8.3.1 and RFC 9112, 3.2: where a host has to be, an empty one is none."""
	server = h2d()
	with server.raw("tcp") as raw:
		raw.send(raw.headers(1, [f for f in raw.head() if f[0] != ":authority"] + [("host", "")]))
		assert raw.status_of(1) in (400, "reset")
	with server.h1(authority="") as c:
		assert c.request("GET", "/").status == 400


def test_host_beside_authority(h2d):
	"""RFC 9113, 8.3.1: they name the same, or the request is malformed. Host alone stands in."""
	server = h2d.new(files={"who": "www"})
	blocks(server, a=1)
	server.write_conf(sections='server "a.example" { root = "%s" }' % server.path("a"))
	server.start()
	with server.connect("tcp", authority="a.example") as c:
		for host in ("a.example", "A.Example", "a.example:80", "a.example."):
			assert c.get("/who", [("host", host)]).body == b"a", host
		for host in ("localhost", "a.example.evil", "a", "", "user@a.example"):
			answer = c.get("/who", [("host", host)])
			assert answer.status == 400 or answer.reset is not None, host
			assert answer.body != b"a"


# --- fields --------------------------------------------------------------------------------------------


HEADERS = """
add-header = {"X-Frame-Options: DENY", "link: </a>"}
cache-control = "max-age=60"
redirect-status = 302
location "/old/" { redirect = "/new/" }
location "/deny/" { deny = {"all"} }
location "/healthz" { add-header = {"x-health: 1"} }
location "/v/" { add-header = {"vary: Accept-Encoding, cookie", "content-security-policy: default-src 'self'"}
	cache-control = "no-cache" }
upload-dir = "up"
location "/files" { add-header = {"content-security-policy: default-src 'self'"} }
"""


def test_headers_on_every_status(h2d, speak):
	server = h2d(files={"f": "0123456789", "v/f.txt": "x" * 2000, "dir/index.html": "", "up/u": "",
		"v/f.txt.gz": gzip.compress(b"x" * 2000)}, server=HEADERS,
		sections="cache { max-size = 0 }")
	with link(server, speak) as c:
		whole = c.get("/f")
		for status, method, path, headers in (
				(200, "GET", "/f", []), (200, "HEAD", "/f", []),
				(206, "GET", "/f", [("range", "bytes=1-2")]),
				(304, "GET", "/f", [("if-none-match", whole.get("etag"))]),
				(301, "GET", "/dir", []), (302, "GET", "/old/x", []),
				(416, "GET", "/f", [("range", "bytes=99-")]),
				(412, "GET", "/f", [("if-match", '"no"')]),
				(404, "GET", "/no", []), (403, "GET", "/deny/x", []),
				(405, "POST", "/f", []), (405, "PUT", "/healthz", []),
				(204, "OPTIONS", "/f", []), (200, "GET", "/healthz", []),
				(400, "GET", "/%zz", [])):
			answer = c.request(method, path, headers)
			what = "%s %s" % (method, path)
			assert answer.status == status, what
			assert answer.get("x-frame-options") == "DENY", what
			assert answer.get("link") == "</a>", what
			kept = [v for n, v in answer.headers if n == "cache-control"]
			if path == "/healthz":
				assert kept == (["no-store"] if status == 200 else []), what
				assert answer.get("x-health") == "1", what
			else:
				assert kept == (["max-age=60"] if status < 400 else []), what
		answer = c.get("/v/f.txt")
		vary = [v for n, v in answer.headers if n == "vary"]
		assert vary == ["accept-encoding, cookie"]
		assert answer.get("cache-control") == "no-cache"
		assert answer.get("content-security-policy") == "default-src 'self'"
		# What the server says to be safe is not for the configuration to soften.
		answer = c.get("/files/u")
		assert answer.status == 200
		assert [v for n, v in answer.headers if n == "content-security-policy"] == ["sandbox"]


def test_removed_headers(h2d, speak):
	"""Of outer blocks; an inner add-header replaces them. What protects clients and caches stays."""
	server = h2d(files={"f": "", "a/f.txt": "x" * 2000, "a/b/f": "", "up/u": "", "a/x.js": ""}, server="""
add-header = {"x-one: 1", "x-two: 2", "content-security-policy: default-src 'self'", "vary: cookie"}
upload-dir = "up"
location "/files" { remove-header = {"X-One", "content-security-policy", "x-content-type-options"} }
location "/a/" {
	remove-header = {"x-one", "content-security-policy", "vary"}
	add-header = {"content-security-policy: default-src *"}
	files "*.js" { remove-header = {"x-two"} }
}
location "/a/b/" { add-header = {"x-one: 3"} }""")
	with link(server, speak) as c:
		def got(path, *names):
			return [[v for n, v in c.get(path).headers if n == name] for name in names]
		assert got("/f", "x-one", "x-two") == [["1"], ["2"]]
		assert got("/files/u", "x-one", "x-two", "content-security-policy", "x-content-type-options") == [
			[], ["2"], ["sandbox"], ["nosniff"]]
		assert got("/a/f.txt", "x-one", "x-two", "content-security-policy", "vary") == [
			[], ["2"], ["default-src *"], ["accept-encoding"]]
		assert got("/a/none", "x-one", "x-two") == [[], ["2"]]
		assert got("/a/x.js", "x-one", "x-two") == [[], []]
		# A location inherits from its server alone.
		assert got("/a/b/f", "x-one", "x-two") == [["1", "3"], ["2"]]
	server.write_conf(server='remove-header = {"x-two"}  add-header = {"x-two: 2"}  location "/a/" { remove-header = {"x-two"} }')
	server.reload()
	with link(server, speak) as c:
		assert (c.get("/f").get("x-two"), c.get("/a/f.txt").get("x-two")) == ("2", None)
	# A cache must not answer for health.
	server.write_conf(server='health = "/healthz"  cache-control = "max-age=60"  remove-header = {"cache-control"}')
	server.reload()
	with link(server, speak) as c:
		assert [c.get(path).get("cache-control") for path in ("/f", "/healthz")] == ["max-age=60", "no-store"]


def test_headers_on_refusals(h2d, speak):
	"""Of the location, too, where not more than the path is read of a request; HEAD gets no content."""
	server = h2d(server='add-header = {"x-outer: 1"} location "/a" { add-header = {"x-inner: 2"} }')
	large = [("x-large", "y" * 40000)]
	for status, method, headers in ((501, "BREW", []), (431, "GET", large), (431, "HEAD", large)):
		answer = ask(server, speak, "/a/x", headers, method)
		assert (answer.status, answer.reset) == (status, None), method
		assert (answer.get("x-outer"), answer.get("x-inner")) == ("1", "2"), (status, method)
		assert (answer.body == b"") == (method == "HEAD"), (status, method)


# --- sent elsewhere ----------------------------------------------------------------------------------------


def test_redirect_of_a_long_target(h2d, speak):
	"""Where it leads is three times as long, and no head that HTTP/2 is sent by nghttp2."""
	server = h2d(server='location "/old/" { redirect = "/new/" }')
	with link(server, speak) as c:
		assert c.get("/old/" + "a" * 25000).status == 301
		assert c.get("/old/?" + "|" * 25000).status == 414
		assert c.get("/old/b").status == 301
	assert server.log.wait("info.*: response headers too long")


def test_to_https(h2d, speak):
	server = h2d(sections='listen "127.0.0.1:0" { redirect-to-https = true }',
		files={".well-known/acme-challenge/token": "proof", "f": "f"},
		server='add-header = {"x-here: 1"}')
	port = extra_port(server)
	kind = client.Client if speak == "h2" else h1client.H1
	tls = server.ports["tls"]
	with kind.tcp(port, authority="example.com:80", seen=server.lint.see) as c:
		answer = c.get("/f%20?a=b")
		assert answer.status == 308 and answer.get("x-here") == "1"
		assert answer.get("location") == "https://example.com:%d/f%%20?a=b" % tls
		assert c.get("/healthz").status == 200
		assert c.request("POST", "/healthz").status == 405
		answer = c.get("/.well-known/acme-challenge/token")
		assert (answer.status, answer.body) == (200, b"proof")
		assert c.get("/.well-known/acme-challenge/none").status == 404
		assert c.get("/.well-known/acme-challenge/../../f").status == 308
		assert c.get("/.well-known/other").status == 308
	if speak == "h1":
		with kind.tcp(port) as c:
			c.send_bytes(b"GET / HTTP/1.0\r\n\r\n")
			assert c.rest().startswith(b"HTTP/1.1 400 ")
	# The target is there.
	assert ask(server, speak, "/f", how="tls").body == b"f"


def test_refusals_are_explained(h2d, speak):
	"""The access log has the status; the error log has the reason, where there may be several."""
	server = h2d(files={"no/f": ""}, server='location "/no" { deny = {"all"} }')
	assert ask(server, speak, "/no/f?x").status == 403
	server.log.wait(r"info .*connection 127\.0\.0\.1: /no/f\?x: client address is not allowed")
	assert ask(server, speak, "/%zz").status == 400
	server.log.wait(r"info .*connection 127\.0\.0\.1: malformed request target: /%zz$")


@pytest.fixture(scope="module")
def certs(tmp_path_factory):
	folder = str(tmp_path_factory.mktemp("sites"))
	return {name: harness.Certificate(folder, name) for name in ("a.example", "b.example")}


def test_misdirected(h2d, speak, certs):
	"""Only where the name's block has another certificate, and the connection's is not good for it."""
	server = h2d.new(files={"who": "www"})
	blocks(server, a=1, b=1)
	text = ""
	for name, cert in certs.items():
		text += ('server "%s" { root = "%s"  tls { certificate = "%s"  certificate-key = "%s" } }\n'
			% (name, server.path(name[0]), cert.cert, cert.key))
	text += 'server "c.example" { root = "%s" }\n' % server.path("a")
	server.write_conf(sections=text)
	server.start()

	def over(sni, authority, how="tls"):
		alpn = "h2" if speak == "h2" else "http/1.1"
		plain = socket.create_connection(("127.0.0.1", server.ports[how]), client.DEADLINE)
		sock = plain
		if how == "tls":
			sock = client.tls_context(alpn=(alpn,)).wrap_socket(plain, server_hostname=sni)
		made = (client.Client(sock, authority=authority, scheme="https") if speak == "h2"
			else h1client.H1(sock, authority=authority))
		with made as c:
			answer = c.get("/who")
			return answer.status if answer.status != 200 else answer.body

	assert over("a.example", "a.example") == b"a"
	assert over("b.example", "b.example:443") == b"b"
	assert over("a.example", "b.example") == 421
	assert over("b.example", "A.example.") == 421
	assert over("localhost", "a.example") == 421
	# The default block answers every name, on whatever connection.
	assert over("a.example", "other.example") == b"www"
	assert over("a.example", "localhost") == b"www"
	# c.example shows the default certificate, which is good for localhost alone.
	assert over("localhost", "c.example") == b"a"
	assert over("b.example", "c.example") == 421
	assert over(None, "a.example", how="tcp") == b"a"


# --- who may -------------------------------------------------------------------------------------------------


def test_allow_and_deny(h2d, speak):
	harness.need_ipv6()
	server = h2d(listens=("tcp", "tls", "unix"), sections='listen "[::1]:0" { tls = false }',
		files={"%s/f" % n: n for n in ("four", "six", "unix", "not4", "none")}, server="""
location "/four" { allow = {"127.0.0.0/8"} }
location "/six" { allow = {"::1"} }
location "/unix" { allow = {"unix"} }
location "/not4" { deny = {"127.0.0.1"} }
location "/none" { deny = {"all"} }
location "/healthz" { allow = {"unix"} }""")
	port6 = extra_port(server, "[::1]", 0)
	kind = client.Client if speak == "h2" else h1client.H1

	def seen_from(where):
		if where == "six":
			c = kind(socket.create_connection(("::1", port6), client.DEADLINE))
		else:
			c = link(server, speak, where)
		with c:
			return {p for p in ("four/f", "six/f", "unix/f", "not4/f", "none/f", "healthz")
				if c.get("/" + p).status == 200}

	assert seen_from("tcp") == {"four/f"}
	assert seen_from("tls") == {"four/f"}
	assert seen_from("six") == {"six/f", "not4/f"}
	assert seen_from("unix") == {"unix/f", "not4/f", "healthz"}
	for method, path in (("POST", "/none/f"), ("HEAD", "/none/f"), ("GET", "/none"), ("GET", "/none/x"),
			("GET", "/%6eone/f"), ("POST", "/healthz")):
		assert ask(server, speak, path, method=method).status == 403, path


@pytest.fixture
def guarded(h2d):
	server = h2d.new(files={"in/f": "secret", "in/dir/g": "", "out": "open"})
	path = put_users(server, anna=hashed("sesame"), bob=hashed("b:o:b", BCRYPT % 4),
		yann=hashed("yes", YESCRYPT))
	server.write_conf(conf='access-log = "%s"' % server.path("access.log"), server="""
location "/in" { auth-basic-file = "%s"  auth-basic-realm = "the vault"  autoindex = true }
location "/healthz" { auth-basic-file = "%s" }
location "/both" { auth-basic-file = "%s"  allow = {"::1"} }""" % (path, path, path))
	return server.start(image=True)


def test_passwords(guarded, speak):
	with link(guarded, speak) as c:
		for path in ("/in/f", "/in/dir/", "/in/none", "/in", "/healthz"):
			answer = c.get(path)
			assert answer.status == 401, path
			realm = "restricted" if path == "/healthz" else "the vault"
			assert answer.get("www-authenticate") == 'Basic realm="%s", charset="UTF-8"' % realm
			assert c.get(path, basic("anna", "wrong")).status == 401
			assert c.get(path, basic("carl", "sesame")).status == 401
			assert c.get(path, basic("bob", "b:o:b")).status in (200, 301, 404), path
		for _ in range(2):
			assert c.get("/in/f", basic("anna", "sesame")).body == b"secret"
			assert b"g" in c.get("/in/dir/", basic("anna", "sesame")).body
			assert c.get("/healthz", basic("anna", "sesame")).body == b"ok\n"
		assert c.get("/in/f", basic("yann", "yes")).body == b"secret"
		assert c.get("/in/f", basic("yann", "no")).status == 401
		assert c.get("/out").status == 200
		assert c.get("/both", basic("anna", "sesame")).status == 403
		assert c.get("/in/f", [("authorization", "Bearer x")]).status == 401
		assert c.request("HEAD", "/in/f").status == 401
	# A body that nobody takes, while the password is being checked and when the verdict is known.
	for password, status in (("sesame", 401), ("sesame", 401), ("b:o:b", 405), ("b:o:b", 405)):
		with link(guarded, speak) as c:
			answer = c.request("POST", "/in/f", basic("bob", password), body=b"x" * 300000)
			assert answer.status == status
	guarded.quit()
	with open(guarded.path("access.log")) as f:
		lines = f.read().splitlines()
	assert any('127.0.0.1 - anna [' in line and '"GET /in/f' in line and '" 200 ' in line
		for line in lines)
	assert all(" - - [" in line for line in lines if '" 401 ' in line)


def test_gone_while_it_is_checked(guarded):
	"""Resets and cut connections in the middle of checks, bodies on their way: the window comes back."""
	with guarded.connect("tcp") as c:
		for i in range(50):
			stream = c.send("POST", "/in/f", basic("bob", "gone%d" % i), end=False)
			c.send_body(stream, b"x" * 20000, end=False)
			c.reset(stream)
		assert c.request("POST", "/in/f", basic("anna", "sesame"), body=b"x" * 300000).status == 405
	# An end of input over HTTP/1 may be half a close: that guess is waited for.
	for speak, n in (("h2", 20), ("h1", 1)):
		for i in range(n):
			c = link(guarded, speak)
			c.send("GET", "/in/f", basic("bob", "cut%d" % i))
			c.close()
	guarded.wait_quiet(30)


def test_users_change(guarded, speak):
	words = ("sesame", "changed", "once more", "again")
	with link(guarded, speak) as c:
		for old, new in zip(words, words[1:]):
			assert c.get("/in/f", basic("anna", old)).status == 200
			begun = time.monotonic()
			put_users(guarded, anna=hashed(new))
			wait_for(lambda: c.get("/in/f", basic("anna", old)).status == 401)
			if time.monotonic() - begun < 9:  # a verdict of ten seconds has not ended by itself
				break
		else:
			raise AssertionError("a change counts only when the verdict of before ends")
		assert c.get("/in/f", basic("anna", new)).status == 200
		os.unlink(guarded.path("users"))
		wait_for(lambda: c.get("/in/f", basic("anna", new)).status == 503)
	guarded.log.wait(r"error .*/users: No such file")


def test_foreign_hashes(guarded):
	put_users(guarded, anna="{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", bob="$apr1$abcdefgh$FBEAAAAAAAAAAAAAAAAAA0")
	with guarded.connect("tcp") as c:
		for user in ("anna", "bob", "anna"):
			assert c.get("/in/f", basic(user, "secret")).status == 401
			assert c.get("/in/f", basic(user, "other")).status == 401
	assert len(guarded.log.wait(r"error .*/users: refusing users with .*hashes like ")) == 1


def test_rules_of_an_index_file(h2d, speak):
	"""They hold by whatever name it is asked for."""
	server = h2d.new(files={"a/index.html": "secret", "b/index.html": "secret", "c/other.html": "first",
		"d/index.html": "open",
		"e/index.html": "", "f/index.html": "secret", "g/page.html.gz": "secret"})
	path = put_users(server, anna=hashed("sesame"))
	with open(path + "2", "w") as f:
		f.write("anna:" + hashed("sesame"))
	server.write_conf(server="""
index = {"other.html", "index.html"}
location "/a/index.html" { deny = {"127.0.0.1"} }
location "/b/index.html" { auth-basic-file = "%s"  auth-basic-realm = "the index" }
location "/c/index.html" { deny = {"all"} }
location "/d/index.html/" { deny = {"all"} }
location "/d/index.htm" { deny = {"all"} }
location "/e/" { auth-basic-file = "%s" }
location "/e/index.html" { auth-basic-file = "%s2" }
location "/f/" { auth-basic-file = "%s" }
location "/f/index.html" { auth-basic-file = "%s" }
location "/g/" { index = {"page.html.gz"} }
location "/g/page.html" { deny = {"all"} }
""" % ((path,) * 5))
	server.start(image=True)
	with link(server, speak) as c:
		for path in ("/a/", "/a/index.html", "/a//?x", "/%61/", "/x/../a/./", "/g/page.html.gz", "/g/"):
			assert c.get(path).status == 403, path
		for path in ("/b/", "/b/index.html"):
			for headers in ([], basic("anna", "wrong")):
				answer = c.get(path, headers)
				assert answer.status == 401, path
				assert 'realm="the index"' in answer.get("www-authenticate")
			assert c.get(path, basic("anna", "sesame")).body == b"secret"
		# Which of its index files a directory has, is not known before it is read.
		assert c.get("/c/").status == 403
		assert c.get("/c/other.html").body == b"first"
		assert c.get("/d/").body == b"open"
		assert c.get("/e/", basic("anna", "sesame")).status == 403
		assert c.get("/f/").status == 401
		assert c.get("/f/", basic("anna", "sesame")).body == b"secret"


# --- error pages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["image", "disk"])
def test_error_pages(h2d, speak, source):
	server = h2d.new(files={"404.html": "<!doctype html><p>lost", "e/405.txt": "no " * 1000, "401.html": "who?", "own.html": "own"},
		sections="cache { max-size = 0 }" if source == "disk" else "")
	users = put_users(server, anna=hashed("x"))
	server.write_conf(sections="cache { max-size = 0 }" if source == "disk" else "", server="""
cache-control = "max-age=60"
add-header = {"x-here: 1"}
error-page "404" { file = "/404.html" }
error-page "405" { file = "/e/405.txt" }
error-page "401" { file = "/401.html" }
error-page "403" { file = "/none.html" }
location "/deny" { deny = {"all"} }
location "/own/" { error-page {"404", "410"} = "/own.html" }
location "/in" { auth-basic-file = "%s" }""" % users)
	server.start(image=source == "image")
	with link(server, speak) as c:
		for headers in ([], [("range", "bytes=0-1")], [("if-none-match", "*")],
				[("accept-encoding", "identity;q=0")]):
			answer = c.get("/no", headers)
			assert (answer.status, answer.body) == (404, b"<!doctype html><p>lost"), headers
			assert answer.get("content-type") == "text/html; charset=utf-8"
			assert answer.get("x-here") == "1"
			for name in ("etag", "last-modified", "cache-control", "content-range"):
				assert answer.get(name) is None, name
		answer = c.request("HEAD", "/no")
		assert (answer.status, answer.body) == (404, b"")
		assert answer.get("content-length") == "22"
		answer = c.request("POST", "/404.html", body=b"x" * 100)
		assert (answer.status, answer.body) == (405, b"no " * 1000)
		assert answer.get("allow") and answer.get("content-type").startswith("text/plain")
		answer = c.get("/in/x")
		assert (answer.status, answer.body) == (401, b"who?")
		assert answer.get("www-authenticate").startswith("Basic ")
		assert [c.get(path).body for path in ("/own/no", "/ownno")] == [b"own", b"<!doctype html><p>lost"]
		assert c.request("POST", "/own/no").body == b"no " * 1000, "the server's pages hold for the rest"
		# Its page is not there: the built-in one, for the error it was for.
		answer = c.get("/deny")
		assert answer.status == 403 and b"403 Forbidden" in answer.body
		assert answer.get("content-type") == "text/html; charset=utf-8"
		assert c.get("/404.html").status == 200


@pytest.mark.parametrize("source", ["image", "disk"])
def test_pages_for_malformed_requests(h2d, source):
	"""Over HTTP/1, where the connection ends with the answer: it is waited for."""
	server = h2d.new(files={"400.html": "bad page", "431.html": "large page", "501.html": "what?"})
	server.write_conf(sections="cache { max-size = 0 }" if source == "disk" else "",
		server=" ".join('error-page "%d" { file = "/%d.html" }' % (s, s) for s in (400, 431, 501)))
	server.start(image=source == "image")
	for data, status, page in ((b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"400", b"bad page"),
			(b"GET / HTTP/1.1\r\n\r\n", b"400", b"bad page"),
			(b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", b"400", b"bad page"),
			(b"BREW / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", b"501", b"what?"),
			(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n", b"501", b"what?"),
			(b"GET / HTTP/1.1\r\nHost: a\r\nx: " + b"y" * 40000 + b"\r\n\r\n", b"431", b"large page")):
		with server.h1() as c:
			c.send_bytes(data)
			if b"%zz" in data:
				answer = c.response()
				assert (answer.status, answer.body) == (400, page)
				continue
			got = c.rest()
			assert got.startswith(b"HTTP/1.1 " + status), (data[:50], got)
			assert got.endswith(page), (data[:50], got)


# --- reload --------------------------------------------------------------------------------------------------------
