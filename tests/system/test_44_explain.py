"""h2d --explain: which lines of the configuration decide about a request, told without a server."""
import collections
import gzip
import http.client
import os
import random
import re

import pytest

import client
from harness import needs_root
from procs import DEADLINE, wait_for
from users import basic, hashed, put_users


def explained(done):
	"""What --explain printed: lists of (what, text, place); place is FILE:LINE's line, None if there is none."""
	found = []
	for block in done.out.split("\n\n"):
		lines = []
		for line in block.splitlines():
			what, rest = line[:20].rstrip(), line[20:]
			place = re.search(r"  \S*h2d\.conf:(\d+)$", rest)
			lines.append((what, rest[:place.start()].rstrip() if place else rest, place and int(place.group(1))))
		found.append(lines)
	return found


def explain(server, url, *args):
	return explained(server.run("--explain", url, *args, check=0))[0]


def status(lines):
	return int(next(text for what, text, _ in lines if what == "status").split()[0])


def line_of(server, text):
	"""The number of the configuration's line that has text."""
	with open(server.conf_path) as f:
		return next(n for n, line in enumerate(f, 1) if text in line)


def test_proxy(h2d):
	"""Where a request goes, and what came first; the application is not asked."""
	server = h2d.new(listens=("tcp",), files={"f": "f"}, admin=False)
	server.write_conf(server="""
location "/app/" {
proxy = {"127.0.0.1:1", "unix:/none"}
proxy-prefix = "/v2/"
}
location "/mixed/" {
proxy = "127.0.0.1:2"
proxy-after = files
}
""")
	both, other = line_of(server, 'unix:/none'), line_of(server, "127.0.0.1:2")
	to = ("proxy", 'goes to the application at 127.0.0.1:1, unix:/none, with "/v2/" instead of "/app/"', both)
	unknown = ("status", "unknown: h2d did not send the request to the application", None)
	for method in ("GET", "POST"):
		assert explain(server, "/app/x", "--method", method)[-2:] == [to, unknown]
	lines = explain(server, "/mixed/x")
	assert ("route", "none: h2d looks for a file", None) in lines
	assert lines[-2:] == [("proxy", "goes to the application at 127.0.0.1:2", other), unknown]
	assert any(what == "file" and "/mixed/x" in text for what, text, _ in lines[:-2]), lines
	assert explain(server, "/mixed/x", "--method", "POST")[-2][0] == "proxy"
	assert status(explain(server, "/f")) == 200


@pytest.fixture
def tree(h2d):
	server = h2d.new(listens=("tcp",), files={"a/x.css": "body {}", "about.html": "about", "404.html": "gone",
		"app/index.html": "app", "docs/f": "f", "secret/f": "f"}, admin=False)
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(conf='trusted-proxies = {"192.0.2.7"}\nclient-address = "x-forwarded-for"',
		sections='listen "127.0.0.1:0" { redirect-to-https = true  https-port = 8443 }', server="""
cache-control = "max-age=60"
error-page "404" { file = "/404.html" }
upload-dir = "up"
upload-public = true
files "*.css" { cache-control = "max-age=1000" }
location "/a/" {
allow = {"10.0.0.0/8", "192.0.2.1"}
deny = {"10.9.0.0/16"}
add-header = {"x-frame-options: DENY"}
}
location "/old/" {
redirect = "/new/"
}
location "/closed/" {
return = 503
}
location "/app/" {
fallback = "/app/index.html"
}
location "/app/index.html" {
cache-control = "no-cache"
}
location "/docs/" {
autoindex = true
}
location "/secret/" {
auth-basic-file = "%s"
}
extensions = {".html"}
}
server "www.example" {
aliases = {"*.www.example"}
redirect = "https://www.example.com/"
""" % users)
	return server


CASES = [
	("/a/x.css", (), 403, [("location", "/a/"), ("allow", "allow = ")]),
	("/a/x.css", ("--address", "10.1.1.1"), 200, [("allow", "allow = "), ("files", "files "), ("header", "add-header"),
		("header", 'files "*.css"')]),
	("/a/x.css", ("--address", "10.9.1.1"), 403, [("deny", "deny = ")]),
	("/a/x.css", ("--address", "192.0.2.7", "-H", "x-forwarded-for: 10.1.1.1"), 200,
		[("client-address", "client-address = "), ("allow", "allow = ")]),
	("/a/x.css", ("--address", "192.0.2.8", "-H", "x-forwarded-for: 10.1.1.1"), 403, [("allow", "allow = ")]),
	("/old/x?y", (), 301, [("redirect", 'redirect = "/new/"')]),
	("/closed/x", (), 503, [("return", "return = 503")]),
	("/about", (), 200, [("header", 'cache-control = "max-age=60"')]),
	("/app/any", (), 200, [("fallback", "fallback = "), ("location", 'location "/app/index.html"'),
		("header", 'cache-control = "no-cache"')]),
	("/app/", (), 200, [("location", 'location "/app/" '), ("location", 'location "/app/index.html"'),
		("header", 'cache-control = "no-cache"')]),
	("/docs/", (), 200, [("autoindex", "autoindex = ")]),
	("/nope", (), 404, [("error-page", "error-page ")]),
	("http://localhost:1/secret/f", (), 401, [("auth-basic-file", "auth-basic-file")]),
	("/secret/f", ("-H", "authorization: " + basic("anna", "sesame")[0][1]), 200, [("auth-basic-file", "auth-basic-file")]),
	("/secret/f", ("-H", "authorization: " + basic("anna", "no")[0][1]), 401, [("auth-basic-file", "auth-basic-file")]),
	("http://anna:sesame@localhost/secret/f", (), 200, [("auth-basic-file", "auth-basic-file")]),
	("http://x.www.example/f", (), 301, [("server", 'server "www.example"'), ("redirect", "www.example.com")]),
	("/%zz", (), 400, []),
	("/.htaccess", (), 404, []),
	("/about", ("--method", "BREW"), 501, []),
	("/about", ("--method", "POST"), 405, []),
	("/about.html", ("-H", "range: bytes=1-2"), 206, []),
	("/about", ("-H", "If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT"), 304, [("condition", None)]),
]


def test_which_lines_decide(tree):
	for url, args, expected, places in CASES:
		lines = explain(tree, url, *args)
		assert status(lines) == expected, (url, lines)
		for what, text in places:
			assert (what, text and line_of(tree, text)) in [(w, at) for w, _, at in lines], (url, what, lines)


def test_headers_that_stay(tree):
	"""A rule that removes no header of the response itself is told, too; a page has such."""
	tree.put_conf(tree.conf_text.replace('cache-control = "max-age=60"', 'remove-header = {"content-security-policy"}'))
	place = line_of(tree, "remove-header")
	for path in ("/docs/", "/a/none"):
		assert ("remove-header", "keeps the response's own content-security-policy", place) in explain(tree, path), path


def test_nothing_is_written(tree):
	"""Uploads and deletions are told up to their handler, which is not started."""
	folder = tree.path("www", "up")
	tree.write("up/there", "there")
	before = os.listdir(folder)
	for method in ("PUT", "DELETE"):
		lines = explain(tree, "/files/there", "--method", method, "-H", "content-length: 3")
		assert [text for what, text, _ in lines if what == "status"][0].startswith("unknown: handler files_")
	lines = explain(tree, "/files/there", "--method", "PUT", "-H", "content-length: 9999999999999")
	assert status(lines) == 413
	assert os.listdir(folder) == before
	assert open(os.path.join(folder, "there")).read() == "there"


def test_the_longest_key_stands_apart(tree):
	done = tree.run("--explain", "/files/there", "--method", "PUT", "-H", "content-length: 9999999999999", check=0)
	assert "\nclient-max-body-size refuses the request: its body is too large\n" in done.out


def test_several_at_once(tree):
	done = tree.run("--explain", "/about", "--explain", "/nope", "--explain", "/old/", check=0)
	assert [status(lines) for lines in explained(done)] == [200, 404, 301]


@pytest.mark.parametrize("args, code, message", [
	(("--explain", "ftp://x/"), 1, "write http://, https:// or / first"),
	(("--explain", "https://x/"), 1, "no listener accepts it"),
	(("--explain", "/", "--address", "nobody"), 1, "the client address"),
	(("--explain", "/", "-H", "a b: c"), 1, 'write a header as "name: value"'),
	(("--method", "GET"), 2, "need --explain"),
])
def test_what_cannot_be_explained(tree, args, code, message):
	done = tree.run(*args, check=code)
	assert message in done.err


def test_the_log_says_the_same(tree):
	"""At debug, one line a request, with the same decisions and places."""
	tree.write_conf(conf="log-level = debug", server='\nlocation "/no/" {\ndeny = {"all"}\n}')
	tree.start()
	with tree.connect("tcp") as c:
		assert c.get("/no/f").status == 403
	place = r"h2d\.conf:%d" % line_of(tree, "deny =")
	tree.log.wait(r'debug .*request from 127\.0\.0\.1: GET /no/f; server "_".*; location "/no/".*; '
		r'deny refuses 127\.0\.0\.1 in "/no/": "all" matches \(.*' + place + r'\); status 403$')



def test_codings_are_those_of_the_cache(tree):
	tree.write("big.css", "body { color: red }\n" * 100)
	tree.write("beside.txt", "text " * 100)
	tree.write("beside.txt.gz", gzip.compress(b"text " * 100))
	for path, accept, coding, found in (
			("/big.css", "gzip", "gzip; available: br zstd gzip", "cache"),
			("/big.css", "x", "none: the client accepts none of br zstd gzip", "cache"),
			("/beside.txt", "gzip", "gzip; available: br zstd gzip", "cache"),
			("/big.css", None, "none: the request has no accept-encoding", "cache")):
		lines = explain(tree, path, *(("-H", "accept-encoding: " + accept) if accept else ()))
		texts = [(what, text) for what, text, _ in lines]
		assert ("content-encoding", coding) in texts, lines
		assert ("file", '"%s" answers from the %s' % (path, found)) in texts, lines
	tree.put_conf(tree.conf_text + "cache { max-size = 0 }\n")
	for path, accept, coding in (
			("/big.css", "br", "none: the file is neither precompressed nor cached"),
			("/beside.txt", "gzip", "gzip, from the precompressed file")):
		texts = [(what, text) for what, text, _ in explain(tree, path, "-H", "accept-encoding: " + accept)]
		assert ("content-encoding", coding) in texts and ("file", '"%s" answers from the disk' % path) in texts, texts


@needs_root("only root can look as another user")
def test_files_are_looked_for_as_the_user(tree):
	tree.write("mine", "mine", mode=0o600)
	assert status(explain(tree, "/mine")) == 200
	tree.put_conf('user = "nobody"\n' + tree.conf_text)
	lines = explain(tree, "/mine")
	assert status(lines) == 403
	assert ("file", '"/mine": Permission denied') in [(what, text) for what, text, _ in lines]


# --- what is explained is what is answered ---------------------------------------------------------------

ROUNDS = int(os.environ.get("H2D_EXPLAIN_ROUNDS", "3"))
SEED = int(os.environ.get("H2D_EXPLAIN_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
FILES = {"index.html": "<p>" + "index " * 200, "about.html": "about", "404.html": "nothing here", "a/index.html": "a",
	"a/x.css": "body {} " * 200, "a/y.txt": "y" * 300, "a/b/z.js": "z()\n" * 100, "a/b/z.js.gz": gzip.compress(b"z()\n" * 100),
	"app/index.html": "app", "docs/f2": "2", "docs/f10": "10", "up/u": "u", "secret/f": "f", "secret/index.html": "in",
	".hidden": "h", ".well-known/acme-challenge/t": "t", "empty/.keep": "", "pic.png": b"\x89PNG" * 50,
	"space here.html": "s"}
PATHS = ["/", "/index.html", "/about", "/about.html", "/404.html", "/a", "/a/", "/a/x.css", "/a/y.txt", "/a/b/z.js",
	"/a/b/z.js.gz", "/a/b", "/a/b/", "/app/", "/app/deep/link", "/docs", "/docs/", "/docs/?sort=name", "/docs/f2", "/up/u",
	"/files/u", "/files/none", "/files", "/files/", "/secret/f", "/secret/", "/secret/f.gz", "/.hidden", "/empty/", "/out",
	"/.well-known/acme-challenge/t", "/pic.png", "/healthz", "/status.json", "/%zz", "/a/%2fb", "/a/../about.html",
	"/../x", "//a//x.css", "/%61bout?q=1", "/space%20here.html", "/none", "/none/", "/old/x", "/old", "/inside"]
PREFIXES = ["/a", "/a/", "/a/x.css", "/app/", "/docs/", "/secret/", "/secret/index.html", "/old", "/old/", "/up/", "/files/",
	"/files", "/about.html", "/a/b"]
RULES = ["10.0.0.0/8", "127.0.0.0/8", "127.0.0.1", "127.0.0.2/31", "127.0.0.4", "all", "unix", "::1"]


def some(rng, of, most=2):
	return "{%s}" % ", ".join('"%s"' % v for v in rng.sample(of, rng.randint(1, most)))


def scope(rng, users, location):
	"""Some of the keys that servers and locations have; rare ones are those that hide the others."""
	keys = [(3, lambda: 'cache-control = "max-age=%d"' % rng.randrange(1000)),
		(3, lambda: "add-header = " + some(rng, ["x-one: 1", "x-two: 2", "vary: cookie", "link: </a>; rel=next"])),
		(2, lambda: "allow = " + some(rng, RULES)),
		(2, lambda: "deny = " + some(rng, RULES[:-3])),
		(2, lambda: 'auth-basic-file = "%s"' % users),
		(1, lambda: 'auth-basic-realm = "here"'),
		(3, lambda: 'extensions = {".html"}'),
		(2, lambda: "extensions-redirect = true"),
		(2, lambda: 'fallback = "%s"' % rng.choice(["/index.html", "/app/index.html", "/none.html", ""])),
		(3, lambda: "autoindex = " + rng.choice(["true", "false"])),
		(2, lambda: "index = " + rng.choice(['{"f", "index.html"}', "{}", '{"none", "y.txt"}'])),
		(1, lambda: 'charset = "%s"' % rng.choice(["", "iso-8859-1"])),
		(1, lambda: 'redirect = "%s"  redirect-status = %s' % (
			rng.choice(["/a/", "https://elsewhere.example/x", "/about"]), rng.choice(["301", "302", "308"]))),
		(2, lambda: 'files "%s" { cache-control = "no-cache"  add-header = {"x-file: yes"} }'
			% rng.choice(["*.css", "*.html", "f*"]))]
	return [make() for weight, make in keys if rng.random() < weight * (0.12 if location else 0.05)]


def block(rng, name, www, users):
	"""A server block that nobody would write."""
	keys = ['root = "%s"' % (www if rng.random() < 0.9 else www + "/a")] + scope(rng, users, False)
	if rng.random() < 0.4:
		keys.append('upload-dir = "up"  upload-public = true')
	if rng.random() < 0.4:
		keys.append('health = "/healthz"')
	if rng.random() < 0.3:
		keys.append('strict-transport-security = "max-age=1"')
	if rng.random() < 0.4:
		keys.append('error-page "%d" { file = "%s" }' % (rng.choice([403, 404]), rng.choice(["/404.html", "/none.html"])))
	if rng.random() < 0.5:
		keys.append('aliases = {"*.%s"}' % name)
	for prefix in rng.sample(PREFIXES, rng.randint(0, 5)):
		inner = scope(rng, users, True) + (['root = "%s/a"' % www] if rng.random() < 0.1 else [])
		keys.append('location "%s" {\n\t\t%s\n\t}' % (prefix, "\n\t\t".join(inner)))
	return 'server "%s" {\n\t%s\n}' % (name, "\n\t".join(keys))


def client_of(rng):
	"""What several requests have in common: method, address, TLS, fields."""
	headers = []
	for chance, name, values in (
			(0.4, "authorization", [basic("anna", "sesame")[0][1]] * 5 + ["Basic !", "Bearer x"]),
			(0.2, "range", ["bytes=0-3", "bytes=-2", "bytes=0-0,2-3", "bytes=99999-", "lines=1"]),
			(0.2, "if-none-match", ["*", '"nothing"']),
			(0.1, "if-modified-since", ["Fri, 01 Jan 2100 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "x"]),
			(0.1, "if-match", ['"nothing"', "*"]),
			(0.5, "accept-encoding", CODINGS),
			(0.2, "accept", ["application/json", "text/html", "image/png"])):
		if rng.random() < chance:
			headers.append((name, rng.choice(values)))
	return (rng.choice(["GET"] * 8 + ["HEAD"] * 3 + ["OPTIONS", "POST", "BREW", "DELETE"]),
		"127.0.0.%d" % rng.randint(1, 5), rng.random() < 0.25, headers)


CODINGS = ["gzip", "br;q=0.1, gzip", "identity;q=0", "x, zstd", "*;q=0"]
UNEQUAL = {"date", "connection", "keep-alive", "transfer-encoding"}


def equal(fields):
	"""Sorted; without those that say when, or how the connection goes on; boundaries are random."""
	return sorted((name, re.sub("boundary=.*", "boundary", value)) for name, value in fields if name not in UNEQUAL)


def answered(server, url, method, address, tls, headers):
	"""The server's own answer: its status and fields."""
	host, _, path = url.partition("://")[2].partition("/")
	kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
	options = {"context": client.tls_context(alpn=("http/1.1",))} if tls else {}
	port = extra_port(server) if host == "127.0.0.2" else server.ports["tls" if tls else "tcp"]
	c = kind("127.0.0.2" if host == "127.0.0.2" else "127.0.0.1", port, timeout=DEADLINE, source_address=(address, 0), **options)
	try:
		c.putrequest(method, "/" + path, skip_host=True, skip_accept_encoding=True)
		for name, value in [("Host", host)] + headers:
			c.putheader(name, value)
		c.endheaders()
		answer = c.getresponse()
		fields = [(name.lower(), value) for name, value in answer.getheaders()]
		answer.read()
	finally:
		c.close()
	return answer.status, equal(fields)


def fields_of(lines):
	fields = [tuple(text.split(": ", 1)) if ": " in text else (text.rstrip(":"), "") for what, text, _ in lines
		if what == "header"]
	return equal(fields)


def extra_port(server):
	return int(server.log.wait(r"listening on 127\.0\.0\.2:")[0].rpartition(":")[2].split()[0])


def random_server(h2d, rng):
	server = h2d.new(files=FILES, listens=("tcp", "tls"))
	www, users = server.root, put_users(server, anna=hashed("sesame"))
	os.symlink("/etc", os.path.join(www, "out"))
	os.symlink("a/x.css", os.path.join(www, "inside"))
	names = ["s%d.example" % i for i in range(5)]
	head = server.conf_text[:server.conf_text.index("server \"_\"")]
	head += 'listen "127.0.0.2:0" { redirect-to-https = true  https-port = 8443 }\n'
	head += "cache { %s }\n" % rng.choice(["", "compress = {}", "max-size = 0", "max-file-size = 500", 'compress = {"gzip"}'])
	while True:
		server.put_conf(head + "\n".join(block(rng, name, www, users)
			for name in names + (["_"] if rng.random() < 0.5 else [])) + "\n")
		# Some lead to themselves, or say what cannot be meant.
		if server.run("-t").returncode == 0:
			return server.start(image="max-size = 0" not in head), names


@pytest.mark.parametrize("number", range(ROUNDS))
def test_random_configurations(h2d, number):
	"""Fifty random requests to six random server blocks: --explain and the server say the same."""
	print("H2D_EXPLAIN_SEED=%d" % SEED)
	rng = random.Random("%d %d" % (SEED, number))
	server, names = random_server(h2d, rng)
	hosts = names + ["www." + names[0], "nobody.example", "127.0.0.2"]
	compared, statuses = 0, collections.Counter()
	for _ in range(10):
		method, address, tls, headers = client_of(rng)
		urls = ["%s://%s%s" % ("https" if tls else "http", rng.choice(hosts[:-1] if tls else hosts), rng.choice(PATHS))
			for _ in range(5)]
		args = [arg for url in urls for arg in ("--explain", url)]
		args += [arg for field in headers for arg in ("-H", "%s: %s" % field)]
		done = server.run(*args, "--method", method, "--address", address, check=0)
		for url, lines in zip(urls, explained(done)):
			if "unknown: handler" in str(lines):
				continue
			said = status(lines), fields_of(lines)
			# While a busy machine holds up the keeper, the disk answers for the cache.
			wait_for(lambda: said == answered(server, url, method, address, tls, headers), pause=0.2,
				said=(SEED, number, url, method, address, headers, lines, server.conf_text))
			compared += 1
			statuses[said[0]] += 1
	print(compared, "compared:", dict(statuses))
	assert compared >= 40
