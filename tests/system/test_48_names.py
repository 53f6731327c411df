"""Names that stand for other files: fallbacks, paths without an extension, the path of health."""
import os

import pytest

from everywhere import Everywhere
from users import basic, hashed, put_users

INDEX = "<!doctype html><title>app</title>\n"


@pytest.fixture(params=["image", "disk"])
def serve(request, h2d):
	"""Starts a server whose files come from there."""
	def start(files, server="", sections="", **options):
		made = h2d.new(files=files, **options)
		made.write_conf(server=server % {"dir": made.dir}, sections=sections +
			'\ncache { max-file-size = "%s" }' % ("1M" if request.param == "image" else "1"))
		return made.start(image=True)
	return start


# --- fallback -------------------------------------------------------------------------------------------


def test_fallback(serve, connect):
	server = serve({"index.html": INDEX, "app.js": "code", "api/here": "data", "dir/f": "f"}, """
fallback = "/index.html"
location "/api/" { fallback = "" }
location "/api/v2/" { fallback = "/app.js" }
""")
	with connect(server) as c:
		for path in ("/none", "/no/such/thing", "/none.css", "/none?x=1", "/dir/", "/index.html/x", "/none/"):
			answer = c.get(path)
			assert (answer.status, answer.body) == (200, INDEX.encode()), path
			assert answer.get("content-type") == "text/html; charset=utf-8"
		answer = c.request("HEAD", "/none")
		assert (answer.status, answer.body) == (200, b"")
		assert answer.get("content-length") == str(len(INDEX))
		assert c.get("/app.js").body == b"code"
		assert c.get("/api/here").body == b"data"
		assert c.get("/api/none").status == 404
		assert c.get("/api/v2/none").body == b"code"
		# A directory has its own address; what is hidden stays hidden; other methods have none.
		assert c.get("/dir").status == 301
		assert c.get("/.git/config").status == 404
		assert c.get("/no/.env").status == 404
		assert c.request("POST", "/none").status == 405
		assert c.get("/%2e%2e/%2e%2e/x").status == 400


def test_conditions_of_a_fallback(serve, connect):
	"""It is the file, for ranges and conditions too."""
	server = serve({"index.html": INDEX}, 'fallback = "/index.html"')
	with connect(server) as c:
		tag = c.get("/index.html").get("etag")
		answer = c.get("/none")
		assert answer.get("etag") == tag and answer.get("last-modified")
		answer = c.get("/none", [("if-none-match", tag)])
		assert (answer.status, answer.body) == (304, b"")
		answer = c.get("/none", [("range", "bytes=2-8")])
		assert (answer.status, answer.body) == (206, b"doctype"[:7])
		assert c.get("/none", [("if-match", '"x"')]).status == 412
		assert c.get("/none", [("range", "bytes=900-")]).status == 416


def test_settings_of_a_fallback(serve, connect):
	"""Those of the fallback's own location: a year of cache-control was for what should be there."""
	server = serve({"index.html": INDEX, "assets/a.js": "code"}, """
fallback = "/index.html"
location "/assets/" { cache-control = "max-age=31536000"  add-header = {"x-assets: 1"} }
location "/index.html" { cache-control = "no-cache"  charset = "latin1" }
""")
	with connect(server) as c:
		assert c.get("/assets/a.js").get("cache-control") == "max-age=31536000"
		answer = c.get("/assets/gone.js")
		assert (answer.status, answer.get("cache-control"), answer.get("x-assets")) == (200, "no-cache", None)
		assert answer.get("content-type") == "text/html; charset=latin1"


def test_settings_of_an_index_file(serve, connect):
	"""Those of its own location, by whatever path it is asked for: the recipe of a single page sends "/" afresh, too."""
	server = serve({"index.html": INDEX, "d/index.html": INDEX, "d/e/index.html": INDEX, "empty/f": "f", "a.js": "code",
		"else/second/index.html": "elsewhere"}, """
cache-control = "max-age=31536000"
add-header = {"x-all: 1"}
files "*.js" { add-header = {"x-js: 1"} }
location "/index.html" {
	cache-control = "no-cache"
	charset = "latin1"
	add-header = {"x-index: 1"}
}
location "/d/" { cache-control = "max-age=9"  index = {"none.html", "index.html"} }
location "/d/none.html" { cache-control = "max-age=1" }
location "/d/e/index.html" { files "*.html" { cache-control = "no-store" } }
location "/empty/index.html" { add-header = {"x-index: 1"} }
location "/second/index.html" { root = "%(dir)s/www/else" }
""")
	fields = ("cache-control", "x-all", "x-index", "content-type")
	page, year, html = ("no-cache", "1", "1"), "max-age=31536000", "text/html; charset=utf-8"
	with connect(server) as c:
		for path, want in (("/", page + ("text/html; charset=latin1",)), ("/?x", page + ("text/html; charset=latin1",)),
				("/index.html", page + ("text/html; charset=latin1",)), ("/d/", ("max-age=9", "1", None, html)),
				("/d/e/", ("no-store", "1", None, html)), ("/second/", (year, "1", None, html))):
			for method in ("GET", "HEAD"):
				answer = c.request(method, path)
				assert (answer.status,) + tuple(answer.get(f) for f in fields) == (200,) + want, (method, path)
		assert c.get("/second/").body == c.get("/second/index.html").body == b"elsewhere"
		tag = c.get("/").get("etag")
		for headers, status in (([("if-none-match", tag)], 304), ([("range", "bytes=0-1")], 206)):
			answer = c.get("/", headers)
			assert (answer.status,) + tuple(answer.get(f) for f in fields[:3]) == (status,) + page
		answer = c.get("/", [("range", "bytes=900-")])
		assert (answer.status, answer.get("cache-control"), answer.get("x-index")) == (416, None, "1")
		# Without the file there is nothing but the directory.
		answer = c.get("/empty/")
		assert (answer.status, answer.get("x-all"), answer.get("x-index")) == (404, "1", None)


def test_settings_of_an_extension(serve, connect):
	"""The longer title of the two decides: that of the file, if there is one, else that of the path."""
	server = serve({"about.html": INDEX, "page.html": INDEX, "both.html": INDEX, "self": "self", "d.html/f": "f"}, """
extensions = {".html"}
location "/about.html" { cache-control = "no-cache" }
location "/page" { cache-control = "max-age=1" }
location "/both" { cache-control = "max-age=2" }
location "/both.html" { cache-control = "max-age=3" }
location "/self.html" { add-header = {"x-html: 1"} }
location "/d.html" { add-header = {"x-html: 1"} }
""")
	with connect(server) as c:
		for path, want in (("/about", "no-cache"), ("/about.html", "no-cache"), ("/page", "max-age=1"), ("/page.html", None),
				("/both", "max-age=3"), ("/both.html", "max-age=3")):
			answer = c.get(path)
			assert (answer.status, answer.get("cache-control")) == (200, want), path
		for path, status in (("/self", 200), ("/d", 404)):
			answer = c.get(path)
			assert (answer.status, answer.get("x-html")) == (status, None), path


def test_rules_of_a_fallback(serve, connect):
	"""Who may have the file holds by whatever path; the path's own rules hold first."""
	server = serve({"in/index.html": INDEX, "up/f": "f"})
	path = put_users(server, anna=hashed("sesame"))
	server.write_conf(server="""
fallback = "/in/index.html"
upload-dir = "up"
location "/in/" { auth-basic-file = "%s" }
location "/denied" { deny = {"all"} }
location "/never" { fallback = "/denied/x" }
""" % path)
	server.reload()
	with connect(server) as c:
		for name in ("/none", "/in/none"):
			assert c.get(name).status == 401, name
			answer = c.get(name, basic("anna", "sesame"))
			assert (answer.status, answer.body) == (200, INDEX.encode()), name
			assert c.get(name, basic("anna", "wrong")).status == 401
		assert c.get("/denied/none").status == 403
		assert c.get("/never/none").status == 403
		# What is not there for uploads is 404, by both of its paths.
		for name in ("/files/none", "/up/none"):
			assert c.get(name, basic("anna", "sesame")).status == 404, name


def test_a_fallback_that_is_not_there(serve, connect):
	server = serve({"404.html": "the page"}, """
fallback = "/gone.html"
error-page "404" { file = "/404.html" }
location "/loop/" { fallback = "/loop/index.html"  cache-control = "max-age=9" }
""")
	done = server.run("-t", check=0)
	assert 'warning: fallback "%s/gone.html"' % server.root in done.err, done.err
	assert 'warning: fallback "%s/loop/index.html"' % server.root in done.err, done.err
	with connect(server) as c:
		for path in ("/none", "/gone.html", "/loop/none", "/loop/index.html"):
			answer = c.get(path)
			assert (answer.status, answer.body) == (404, b"the page"), path


def test_a_fallback_behind_a_link(serve, connect):
	"""One that leads out of the root is not followed, and -t says so where follow-links does not allow it."""
	server = serve({"in/index.html": INDEX})
	os.mkdir(server.path("out"))
	with open(server.path("out", "index.html"), "w") as f:
		f.write(INDEX)
	os.symlink("../out/index.html", os.path.join(server.root, "away.html"))
	os.symlink("in/index.html", os.path.join(server.root, "here.html"))
	for name, links, status in (("away", "inside", 404), ("away", "all", 200), ("here", "inside", 200)):
		server.write_conf(server='fallback = "/%s.html"  follow-links = %s  error-page "404" { file = "/%s.html" }'
			% (name, links, name))
		warned = server.run("-t", check=0).err
		for key in ("fallback", "error-page"):
			said = 'warning: %s "%s/away.html": a symbolic link leads out of root' % (key, server.root)
			assert (said in warned) == (status == 404), warned
		server.reload()
		with connect(server) as c:
			assert c.get("/none").status == status


def test_freshness_of_a_fallback(h2d):
	"""Every worker is right at once, whether the fallback comes, changes, goes, or is in the way no more."""
	server = h2d.new(workers=2)
	server.write_conf(server='fallback = "/app.html"')
	server.start(image=True)
	with Everywhere(server) as all_of_them:
		all_of_them.agree("/none", 404)
		for text in ("one", "two"):
			all_of_them.changed()
			server.write("app.html", text)
			all_of_them.agree("/none", text.encode())
			all_of_them.settle("/none", text.encode())
		all_of_them.changed()
		server.write("none", "it is there")
		all_of_them.agree("/none", b"it is there")
		all_of_them.settle("/none", b"it is there")
		os.unlink(os.path.join(server.root, "none"))
		all_of_them.agree("/none", b"two")
		os.unlink(os.path.join(server.root, "app.html"))
		all_of_them.agree("/none", 404)


# --- extensions -----------------------------------------------------------------------------------------


def test_extensions(serve, connect):
	server = serve({"about.html": "about", "about/f.html": "f", "v1.2.html": "dotted", "plain": "plain",
		"plain.txt": "text", "both": "both", "both.html": "page", "a.b": "a.b", "a.b.html": "page"}, """
extensions = {".html", ".txt"}
location "/about/" { extensions = {} }
""")
	with connect(server) as c:
		for path, body in (("/about", b"about"), ("/about.html", b"about"), ("/v1.2", b"dotted"),
				("/plain", b"text"), ("/both", b"page"), ("/a.b", b"a.b"), ("/plain.txt", b"text"),
				("/about?x", b"about"), ("/about/f.html", b"f")):
			answer = c.get(path)
			assert (answer.status, answer.body) == (200, body), path
		assert c.get("/about").get("content-type") == "text/html; charset=utf-8"
		tag = c.get("/about.html").get("etag")
		assert c.get("/about", [("if-none-match", tag)]).status == 304
		assert c.get("/about", [("range", "bytes=1-2")]).body == b"bo"
		for path in ("/none", "/about/f", "/about/", "/none.html"):
			assert c.get(path).status == 404, path
		assert c.get("/files").status == 404


def test_extensions_redirect(serve, connect):
	server = serve({"about.html": "about", "d/index.html": "index", "d/x.html": "x", "v1.2.html": "dotted",
		"keep/y.html": "y"}, """
extensions = {".html"}
extensions-redirect = true
location "/keep" { extensions = {} }
""")
	with connect(server) as c:
		for path, to in (("/about.html", "/about"), ("/about.html?a=b", "/about?a=b"), ("/index.html", "/"),
				("/d/index.html", "/d/"), ("/d/x.html", "/d/x"), ("//d//x.html", "/d/x"),
				("/%61%20b.html", "/a%20b")):
			answer = c.get(path)
			assert (answer.status, answer.get("location")) == (301, to), path
		for path, body in (("/about", b"about"), ("/v1.2.html", b"dotted"), ("/v1.2", b"dotted"), ("/d/", b"index"),
				("/d/x", b"x"), ("/keep/y.html", b"y")):
			answer = c.get(path)
			assert (answer.status, answer.body) == (200, body), path


def test_freshness_of_extensions(h2d):
	server = h2d.new(workers=2)
	server.write_conf(server='extensions = {".html"}')
	server.start(image=True)
	with Everywhere(server) as all_of_them:
		all_of_them.agree("/about", 404)
		all_of_them.changed()
		server.write("about", "bare")
		all_of_them.agree("/about", b"bare")
		all_of_them.settle("/about", b"bare")
		all_of_them.changed()
		server.write("about.html", "page")
		all_of_them.agree("/about", b"page")
		all_of_them.settle("/about", b"page")
		all_of_them.cached("/about", b"page")
		all_of_them.changed()
		os.unlink(os.path.join(server.root, "about.html"))
		all_of_them.agree("/about", b"bare")
		all_of_them.settle("/about", b"bare")


# --- health ---------------------------------------------------------------------------------------------


def test_health(h2d, connect):
	"""It hides a file only where it is switched on; each server has its own."""
	server = h2d.new(files={"healthz": "a file", "up": "another"})
	server.put_conf(server.conf_text.replace('health = "/healthz"', "") +
		'server "a" { root = "%s"  health = "/up" }\n' % server.root)
	server.start(image=True)
	with connect(server) as c:
		assert c.get("/healthz").body == b"a file"
		assert c.get("/up").body == b"another"
	with connect(server, authority="a") as c:
		assert c.get("/healthz").body == b"a file"
		answer = c.get("/up")
		assert (answer.body, answer.get("cache-control")) == (b"ok\n", "no-store")
		assert c.request("HEAD", "/up").status == 200
		answer = c.request("OPTIONS", "/up")
		assert (answer.status, answer.get("allow")) == (204, "GET, HEAD, OPTIONS")
		answer = c.request("PUT", "/up")
		assert (answer.status, answer.get("allow")) == (405, "GET, HEAD, OPTIONS")
		assert c.get("/up/").status == 404
	with server.connect("admin") as c:
		assert c.get("/healthz").body == b"ok\n"
		assert c.get("/up").status == 404


SCOPE = """location "/rules/" { cache-control = "no-store" }
location "/x" { add-header = {"x-in: x"} }
upload-dir = "up"  upload-public = true  health = "/h/e"
"""
GUARDED = 'server "guarded" { root = "www"  location "/none" { deny = {"all"} } }'


@pytest.mark.parametrize("how", ["tcp", "tls"])
@pytest.mark.parametrize("protocol", ["h2", "h1"])
def test_encoded_slash(h2d, protocol, how):
	"""As package registries are asked: a slash as any where nothing depends on which it is, 404 where something does."""
	files = {"@scope/name": "package", "x/@scope/name": "package", "rules/f": "f", "up/f": "f", ".git/config": "secret", "d/.git/x": "secret",
		"h/e": "file", "files/f": "file"}
	server = h2d(server=SCOPE, files=files, sections=GUARDED)
	connect = lambda **options: server.connect(how, **options) if protocol == "h2" else server.h1(how, **options)
	with connect() as c:
		for path in ("/@scope%2fname", "/@scope%2Fname", "/x/@scope%2fname", "/x/%40scope%2fname?a=b%2fc"):
			assert c.get(path).body == b"package", path
			assert c.request("HEAD", path).status == 200
		assert c.get("/x/@scope%2fname").get("x-in") == "x"
		# Another location, a route, uploads, the health, hidden names.
		for path in ("/rules%2ff", "/x%2f@scope%2fname", "/files%2ff", "/files/a%2ff", "/h%2fe", "/.git%2fconfig", "/d%2f.git%2fx", "/d/.git%2fx",
				"/none%2fx"):
			assert c.get(path).status == 404, path
		for method in ("PUT", "DELETE", "POST"):
			assert c.request(method, "/files/a%2fb", body=b"x" if method != "DELETE" else b"").status == 404, method
		for path in ("/@scope%2f..%2f..", "/@scope%2f../x", "/..%2fx", "/@scope%2f", "/%2fx", "/@scope%2f.%2fname"):
			assert c.get(path).status == 400, path
	with connect(authority="guarded") as c:
		assert c.get("/@scope/name").status == 200 and c.get("/@scope%2fname").status == 404


def test_encoded_slash_behind_a_proxy(h2d):
	"""It may have rules of its own, and have seen one segment."""
	server = h2d(conf='trusted-proxies = {"127.0.0.1"}', files={"@scope/name": "package"})
	with server.connect("tcp") as c:
		assert c.get("/@scope/name").status == 200 and c.get("/@scope%2fname").status == 404
