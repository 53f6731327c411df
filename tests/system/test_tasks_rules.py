"""Tasks of an operator who moves to h2d: rules by the names of files, by methods, sizes and paths."""
import gzip
import os
import re

import pytest

import harness
import uploads
from tasks import PLAIN, TLS, Ask, Tasks
from users import basic, hashed

TASKS = Tasks()
INSIDE, OUTSIDE = [("x-forwarded-for", "10.1.2.3")], [("x-forwarded-for", "203.0.113.9")]
ANNA = basic("anna", "secret")
task = TASKS.add


def users(run):
	run.put("etc/h2d/users", "anna:%s\n" % hashed("secret"))


KEPT = "max-age=86400"

task("one rule for all pictures", PLAIN + """
server "_" {
	root = "/srv/www"
	cache-control = "no-cache"
	files {"*.png", "*.jpg"} { cache-control = "max-age=86400"  add-header = {"x-picture: yes"} }
	location "/camera/" { files {"*.raw", "IMG_*"} { cache-control = "no-store" } }
}
""", Ask("/a.png", cache_control=KEPT, x_picture="yes"), Ask("/b.jpg", cache_control=KEPT), Ask("/DSC1.JPG", cache_control=KEPT),
	Ask("/", cache_control="no-cache", x_picture=None), Ask("/c.png.txt", cache_control="no-cache"),
	Ask("/camera/img_1.png", cache_control="no-store"), Ask("/camera/x.png", cache_control=KEPT),
	files={name: name for name in ("a.png", "b.jpg", "DSC1.JPG", "c.png.txt", "camera/img_1.png", "camera/x.png")})

# --- methods --------------------------------------------------------------------------------------

task("a box where files are dropped", PLAIN + """
server "_" {
	root = "/srv/www"
	upload-dir = "drop"
	upload-public = true
	location "/files/" { allow-methods = {"PUT"} }
	location "/drop/"  { allow-methods = {"PUT"} }      # the folder by its own name
}
""", Ask("/files/a.txt", 201, put=b"a"), Ask("/files/a.txt", 405, allow="PUT, OPTIONS"), Ask("/drop/a.txt", 405, allow="OPTIONS"),
	Ask("/files/a.txt", 405, method="DELETE"), Ask("/files/a.txt", 405, method="HEAD"), Ask("/files/none", 405),
	Ask("/files/a.txt", 204, method="OPTIONS", allow="PUT, OPTIONS"), Ask("/files/a.txt", 204, put=b"b"), Ask("/"),
	files={"drop/.keep": ""})

task("a mirror that nobody writes to", PLAIN + """
server "_" {
	root = "/srv/www"
	upload-dir = "pub"
	upload-public = true
	allow-methods = {"GET"}
	health = "/healthz"
	location "/incoming/" { allow-methods = {} }
}
""", Ask("/pub/x", body="x"), Ask("/files/x", body="x"), Ask("/files/x", method="HEAD"), Ask("/healthz"),
	Ask("/files/y", 405, put=b"y", allow="GET, HEAD, OPTIONS"), Ask("/files", 405, method="POST"), Ask("/files/x", 405, method="DELETE"),
	Ask("/files/x", 204, method="OPTIONS", allow="GET, HEAD, OPTIONS"), Ask("/incoming/x", 405, put=b"x", allow="GET, HEAD, OPTIONS"),
	files={"pub/x": "x"})

# --- sizes ----------------------------------------------------------------------------------------

task("more room for one folder", PLAIN + """
limits { client-max-body-size = 1K }
server "_" {
	root = "/srv/www"
	upload-dir = "files"
	upload-public = true
	location "/files/videos" { client-max-body-size = 4K }
	location "/files/any"    { client-max-body-size = 0 }
	location "/files/notes"  { client-max-body-size = 10 }
}
server "small.example.com" { root = "/srv/www"  upload-dir = "files"  upload-public = true  client-max-body-size = 100 }
""", Ask("/files/a", 413, put=b"x" * 1025), Ask("/files/a", 201, put=b"x" * 1024), Ask("/files/videos", 201, put=b"x" * 4096),
	Ask("/files/videos", 413, put=b"x" * 4097), Ask("/files/any", 201, put=b"x" * 9999), Ask("/files/notes", 413, put=b"x" * 11),
	Ask("/files/b", 413, put=b"x" * 101, host="small.example.com"), Ask("/files/b", 201, put=b"x" * 100, host="small.example.com"),
	files={"files/.keep": ""})

# --- names that nobody is to see ------------------------------------------------------------------

LEFT = ("index.php.bak", "page.html~", "dump.sql", "dump.sql.gz", "OLD.SQL", "sub/x.bak", "copy.bak/index.html", "a.txt", "sub/free.sql")

task("what editors and dumps leave behind", PLAIN + """
server "_" {
	root = "/srv/www"
	autoindex = true
	index = {}
	fallback = "/index.html"
	upload-dir = "files"
	upload-public = true
	hide = {"*.bak", "*~", "*.sql"}
	location "/sub/free.sql" { hide = {} }
}
""", *(Ask("/" + name, 404) for name in LEFT[:7]), Ask("/copy.bak/", 404), Ask("/copy.bak", 404), Ask("/nothing", body="Home"),
	Ask("/", body="a.txt"), Ask("/", body=lambda page: not any(name.encode() in page for name in ("bak", "~", "sql"))),
	Ask("/a.txt"), Ask("/sub/free.sql"), Ask("/files/dump.sql", 404, put=b"x"), Ask("/files/x.txt", 201, put=b"x"),
	files={"files/.keep": "", **{name: name for name in LEFT}})


# --- the site is closed ---------------------------------------------------------------------------

task("closed, except for its maintainers", """trusted-proxies = {"127.0.0.0/8"}
client-address = "x-forwarded-for"
""" + PLAIN + """
server "_" {
	root = "/srv/www"
	health = "/healthz"
	return = 503  add-header = {"retry-after: 600"}  return-page = "/soon.html"  return-except = {"192.0.2.0/24"}
	error-page "503" { file = "/404.html" }
	location "/old/" { return = 410  return-page = "/gone.html" }
}
""", Ask("/", 503, body="Back soon", retry_after="600"), Ask("/none", 503, body="Back soon"), Ask("/healthz", 200),
	Ask("/", body="Home", send=[("x-forwarded-for", "192.0.2.7")]), Ask("/", 503, send=[("x-forwarded-for", "198.51.100.7")]),
	Ask("/none", 404, send=[("x-forwarded-for", "192.0.2.7")]), Ask("/old/x", 410, body="Gone"),
	files={"soon.html": "Back soon", "404.html": "Lost", "gone.html": "Gone"})


# --- who may --------------------------------------------------------------------------------------

task("in the office without a password", """trusted-proxies = {"127.0.0.0/8"}
client-address = "x-forwarded-for"
""" + PLAIN + """
server "_" {
	root = "/srv/www"
	location "/intern/" { satisfy = any  allow = {"10.0.0.0/8"}  auth-basic-file = "/etc/h2d/users" }
	location "/both/"   { allow = {"10.0.0.0/8"}  auth-basic-file = "/etc/h2d/users" }
	location "/users/"  { satisfy = any  auth-basic-file = "/etc/h2d/users" }
}
""", Ask("/intern/x", body="mine", send=INSIDE), Ask("/intern/x", 401, send=OUTSIDE), Ask("/intern/x", body="mine", send=OUTSIDE + ANNA),
	Ask("/intern/x", 401, send=[("x-forwarded-for", "unknown")]), Ask("/intern/x", body="mine", send=[("x-forwarded-for", "unknown")] + ANNA),
	Ask("/both/x", 401, send=INSIDE), Ask("/both/x", 403, send=OUTSIDE + ANNA), Ask("/both/x", send=INSIDE + ANNA),
	Ask("/users/x", 401, send=INSIDE), Ask("/users/x", send=INSIDE + ANNA),
	files={"intern/x": "mine", "both/x": "", "users/x": ""}, before=users)

# --- pages without their extension --------------------------------------------------------------

task("a slash too much behind a page", PLAIN + """
server "_" {
	root = "/srv/www"
	extensions = {".html"}
	location "/secret" { allow = {"10.0.0.0/8"} }
	location "/lists/" { autoindex = true }
	location "/app/"   { fallback = "/index.html" }
}
""", Ask("/docs/intro", body="Intro"), Ask("/docs/intro/", 301, location="/docs/intro"), Ask("/docs/intro/?q=1", 301, location="/docs/intro?q=1"),
	Ask("/both/", body="folder"), Ask("/both", body="page"), Ask("/none/", 404), Ask("/docs/intro.html/", 404), Ask("/secret/", 403),
	Ask("/lists/a/", body="file"), Ask("/app/x/", 301, location="/app/x"), Ask("/app/y/", body="Home"), Ask("/large/", 301, location="/large"),
	Ask("/", body="Home"), Ask("/empty/", 301, location="/empty"),
	files={"docs/intro.html": "Intro", "both.html": "page", "both/index.html": "folder", "secret.html": "", "lists/a.html": "page",
		"lists/a/file": "", "app/x.html": "x", "large.html": "x" * (3 << 20), "empty/x": "", "empty.html": ""})

# --- where clients are sent -----------------------------------------------------------------------

def to(pattern):
	return lambda location: re.fullmatch(pattern, location)


def moved(run):
	run.put("etc/h2d/moved.txt", "/one https://example.com/eins 302\n/two /zwei\n")


task("http://www to https://, in one step", 'listen "0.0.0.0:80" { redirect-to-https = true }\n' + TLS + """
server "example.com" { root = "/srv/www"  location "/moved/" { redirect = "/a/" } }
server "www.example.com"    { redirect = "https://example.com/"  redirect-file = "/etc/h2d/moved.txt" }
server "strict.example.com" { redirect = "https://example.com/"  strict-transport-security = "max-age=31536000" }
server "clear.example.com"  { redirect = "http://example.com/" }
""", Ask("/a/deep.txt?x=1", 301, host="www.example.com", via="tcp", location="https://example.com/a/deep.txt?x=1"),
	Ask("/one", 302, host="www.example.com", via="tcp", location="https://example.com/eins"),
	Ask("/two", 308, host="www.example.com", via="tcp", location=to(r"https://www\.example\.com:\d+/two")),
	Ask("/two", 301, host="www.example.com", via="tls", location="/zwei"),
	Ask("/a?b", 308, via="tcp", location=to(r"https://example\.com:\d+/a\?b")),
	Ask("/moved/x", 308, via="tcp", location=to(r"https://example\.com:\d+/moved/x")),
	*(Ask("/x", 308, host=name + ".example.com", via="tcp", location=to(r"https://%s\.example\.com:\d+/x" % name))
		for name in ("strict", "clear")),
	Ask("/x", 301, host="strict.example.com", via="tls", location="https://example.com/x"), before=moved)


@pytest.fixture(scope="module")
def cert(tmp_path_factory):
	return harness.Certificate(str(tmp_path_factory.mktemp("tls")), names=["DNS:example.com", "DNS:*.example.com"])


@pytest.mark.parametrize("name", TASKS.by_name)
def test_task(h2d, cert, name):
	TASKS.play(h2d, cert, name)


def test_lists_of_names(h2d):
	"""A list is as many sections that are alike; what is wrong with one is said once."""
	server = h2d.new()
	server.write_conf(server='files {"*.a", "*.B"} { cache-control = "max-age=1" }  files "*.c" { }')
	done = server.run("-T", check=0)
	assert done.out.count('cache-control = "max-age=1"') == 2 and 'files "*.B" {' in done.out
	server.put_conf(done.out)
	assert server.run("-T", check=0).out == done.out
	for text, said in (('files {"*.a", "*.A"} { }', 'duplicate files "*.A"'),
			('files {"*.a", "*.b"} { add-header = {"x y"} }', 'add-header "x y": write "name: value"'),
			('files {"*.a", "*.b"} { charset = 1 }', "charset belongs in server, not in files"),
			('files {"*.a", 1} { }', "write a list of strings with commas"),
			('files {} { }', "section files needs a title"),
			('location {"/a", "/b"} { }', "section location takes one title, not a list")):
		server.write_conf(server="\n" + text)
		err = server.run("-t", check=1).err
		assert err.count(said) == 1, (text, err)


def test_methods_of_a_file(h2d):
	"""What the location of a file takes holds for every way to it, and what began may go on."""
	server = h2d.new(files={"drop/f": "f", "page.html": "page", "d/index.html": "index"})
	server.write_conf(server="""
upload-dir = "drop"  upload-public = true  extensions = {".html"}
location "/drop/" { allow-methods = {"PUT", "POST"} }
location "/page.html" { allow-methods = {"POST"} }
location "/d/index.html" { allow-methods = {"POST"} }""")
	server.start()
	with server.h1() as c:
		for path in ("/files/f", "/drop/f", "/page", "/page.html", "/page.html.gz", "/d/"):
			assert c.get(path).status == 405, path
		assert c.get("/files/f").get("allow") == "POST, PUT, OPTIONS"
		assert c.request("DELETE", "/files/f").status == 405
		fields = [("upload-complete", "?0"), ("upload-draft-interop-version", "8")]
		place = c.request("PUT", "/files/long", fields, b"half").get("location")
		assert c.request("HEAD", place, fields[1:]).get("upload-offset") == "4"
		fields = [("upload-complete", "?1"), ("upload-offset", "4"), ("content-type", "application/partial-upload"), *fields[1:]]
		assert c.request("PATCH", place, fields, b" and half").status == 201
	with open(server.root + "/drop/long") as f:
		assert f.read() == "half and half"
	out = server.run("--explain", "http://localhost/files/f", check=0).out
	assert re.search(r'^allow-methods +refuses GET in "/drop/" .*h2d.conf:\d+$', out, re.M) and "status              405" in out, out


@pytest.mark.parametrize("how", ["h1", "h2"])
def test_sizes_behind_a_password(h2d, how):
	"""What comes while the password is checked counts by the size of the location, not of limits; with a length and without."""
	server = h2d.new(files={"files/.keep": ""})
	with open(server.path("users"), "w") as f:
		f.write("anna:%s\n" % hashed("secret"))
	server.write_conf(sections="limits { client-max-body-size = 10 }", server="""
upload-dir = "files"
location "/files/" { client-max-body-size = 100K  auth-basic-file = "%s" }""" % server.path("users"))
	server.start()
	for n, status in ((100 << 10, 201), ((100 << 10) + 1, 413)):
		with server.h1() if how == "h1" else server.connect() as c:
			assert c.request("PUT", "/files/%d" % n, basic("anna", "secret"), b"x" * n).status == status
	out = server.run("--explain", "http://anna:secret@localhost/files/x", "--method", "PUT", "--header", "content-length: 200000", check=0).out
	assert re.search(r"^client-max-body-size .*h2d.conf:\d+$", out, re.M) and "status              413" in out, out
	with server.h1() as c:
		fields = [("upload-complete", "?0"), ("upload-draft-interop-version", "8"), *basic("anna", "secret")]
		assert c.request("PUT", "/files/part", fields, b"x").get("upload-limit").startswith("max-size=102400")


@pytest.mark.parametrize("source", ["image", "disk"])
def test_hidden_names_by_other_ways(h2d, source):
	"""Neither index nor extensions, nor a form, nor an upload's own path lead to a name that is hidden; a coding beside a file does."""
	server = h2d.new(files={"d/index.bak": "old", "d/index.html": "new", "e/index.bak": "old", "dump.sql": "rows", "about.html": "page",
		"up/x.sql": "rows", "js/app.js": "let a" * 400, "js/app.js.gz": gzip.compress(b"let a" * 400, mtime=0)})
	server.write_conf(server="""
index = {"index.bak", "index.html"}
extensions = {".sql", ".html"}
upload-dir = "up"  upload-public = true
hide = {"*.BAK", "*.sql"}
location "/js/" { hide = {"*.gz"} }""", sections='cache { max-file-size = "%s" }' % ("1M" if source == "image" else "1"))
	server.start(image=True)
	with server.h1() as c:
		for path, status, body in (("/d/", 200, b"new"), ("/e/", 404, None), ("/dump", 404, None), ("/about", 200, b"page"),
				("/files/x.sql", 404, None), ("/up/x.sql", 404, None), ("/up/x.sql.zst.gz", 404, None), ("/js/app.js.gz", 404, None)):
			answer = c.get(path)
			assert answer.status == status and (body is None or answer.body == body), path
		assert c.get("/js/app.js", [("accept-encoding", "gzip")]).get("content-encoding") == "gzip"
		assert uploads.post(c, [("a.txt", b"a"), ("b.SQL", b"b")]).status == 404
	assert sorted(os.listdir(server.root + "/up")) == ["x.sql"]
	out = server.run("--explain", "http://localhost/up/x.sql", check=0).out
	assert re.search(r'^hide +hides a name in "/up/x.sql" .*h2d.conf:\d+$', out, re.M), out
	for text, said in (('hide = {"a/b"}', 'hide: "a/b" must be a file name'), ('hide = {""}', 'hide: "" must be a file name')):
		server.write_conf(server="\n" + text)
		assert said in server.run("-t", check=1).err


def test_faults_of_return(h2d):
	server = h2d.new()
	for text, said in (('return = 503  return-page = "soon.html"', 'return-page "soon.html" is not a file path below root'),
			('return = 503  return-except = {"me"}', 'return-except "me": not an IPv4')):
		server.write_conf(server="\n" + text)
		assert said in server.run("-t", check=1).err, text
	server.write_conf(server='return = 503  return-except = {"192.0.2.1"}')
	out = server.run("--explain", "http://localhost/", check=0).out
	assert re.search(r"^return +answers with 503 .*h2d.conf:", out, re.M), out
	assert "does not affect 192.0.2.1, which is in return-except" in server.run("--explain", "http://localhost/", "--address", "192.0.2.1", check=0).out


def test_satisfy_is_explained(h2d):
	server = h2d.new(files={"x": "x"})
	with open(server.path("users"), "w") as f:
		f.write("anna:*\n")
	server.write_conf(server='satisfy = any  allow = {"10.0.0.0/8"}  auth-basic-file = "%s"' % server.path("users"))
	for address, said, status in (("10.1.1.1", "admits the client without a password", 200), ("192.0.2.1", "requires only a password", 401)):
		out = server.run("--explain", "http://localhost/x", "--address", address, check=0).out
		assert re.search(r"^satisfy +%s .*h2d.conf:\d+$" % said, out, re.M) and "status              %d" % status in out, out
