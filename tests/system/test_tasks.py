"""Everyday tasks of an operator; see tasks.py."""
import gzip
import json
import os
import re
import subprocess

import pytest

import harness

import procs
import test_tasks_rules
import test_tasks_sites
from tasks import PLAIN, TLS, Ask, Tasks
from users import basic, hashed

TASKS = Tasks()
task = TASKS.add

# --- a site -------------------------------------------------------------------------------------

task("serve a folder", PLAIN + 'server "_" { root = "/srv/www" }',
	Ask("/", body="Home", content_type="text/html; charset=utf-8"), Ask("/a/deep.txt", body="deep"), Ask("/none", 404))

task("tls", TLS + 'server "example.com" { root = "/srv/www" }',
	Ask("/", body="Home"))

task("http to https", 'listen "0.0.0.0:80" { redirect-to-https = true }\n' + TLS + 'server "example.com" { root = "/srv/www" }',
	Ask("/a?b=c", 308, via="tcp", location=lambda to: re.fullmatch(r"https://example.com:\d+/a\?b=c", to)),
	Ask("/.well-known/acme-challenge/token", body="proof", via="tcp"), Ask("/"),
	files={".well-known/acme-challenge/token": "proof"})

task("www to the bare name", PLAIN + """
server "example.com" { root = "/srv/www" }
server "www.example.com" { redirect = "http://example.com/" }
""", Ask("/a/deep.txt?x=1", 301, host="www.example.com", location="http://example.com/a/deep.txt?x=1"), Ask("/"))

task("single-page application", PLAIN + """
server "app.example.com" {
	root = "/srv/www"
	fallback = "/index.html"
	location "/api/" { fallback = "" }
}
""", Ask("/users/42", body="Home", content_type="text/html; charset=utf-8"), Ask("/app.js", body="let a"), Ask("/api/none", 404))

task("addresses without .html", PLAIN + """
server "_" {
	root = "/srv/www"
	extensions = {".html"}
	extensions-redirect = true
}
""", Ask("/about", body="About us"), Ask("/about.html", 301, location="/about"), Ask("/index.html", 301, location="/"),
	files={"about.html": "About us"})

task("several sites by name", PLAIN + """
server "example.com" { root = "/srv/www" }
server "blog.example.com" { root = "/srv/blog"  server-name = {"*.blog.example.com"} }
server "_" { root = "/srv/nobody" }
""", Ask("/", body="Home"), Ask("/", body="Blog", host="blog.example.com"), Ask("/", body="Blog", host="old.blog.example.com"),
	Ask("/", body="Nobody", host="127.0.0.1"),
	before=lambda run: [run.put("srv/%s/index.html" % name, name.title()) for name in ("blog", "nobody")])

task("a second tree", PLAIN + """
server "_" {
	root = "/srv/www"
	location "/video/" { root = "/srv/media" }     # /srv/media/video/…
}
""", Ask("/"), Ask("/video/a.mp4", content_type="video/mp4"), Ask("/a/deep.txt"),
	before=lambda run: run.put("srv/media/video/a.mp4", "mp4"))

# --- what responses say -------------------------------------------------------------------------

task("how long browsers keep files", PLAIN + """
server "_" {
	root = "/srv/www"
	cache-control = "no-cache"
	files "*.js"    { cache-control = "max-age=31536000, immutable" }
	files "*.woff2" { cache-control = "max-age=31536000, immutable" }
}
""", Ask("/", cache_control="no-cache"), Ask("/app.js", cache_control="max-age=31536000, immutable"),
	Ask("/none.js", 404, cache_control=None))

task("strict-transport-security", PLAIN + TLS + """
server "example.com" { root = "/srv/www"  strict-transport-security = "max-age=31536000" }
""", Ask("/", strict_transport_security="max-age=31536000"), Ask("/none", 404, strict_transport_security="max-age=31536000"),
	Ask("/a/deep.txt", via="tcp", strict_transport_security=None))

task("fonts for other sites", PLAIN + """
server "_" {
	root = "/srv/www"
	files "*.woff2" { add-header = {"access-control-allow-origin: *"} }
}
""", Ask("/f.woff2", access_control_allow_origin="*", content_type="font/woff2"), Ask("/", access_control_allow_origin=None),
	files={"f.woff2": "font"})

task("a media type of one's own", PLAIN + 'server "_" { root = "/srv/www"  types = {"foo: text/x-foo"} }',
	Ask("/x.foo", content_type="text/x-foo; charset=utf-8"), files={"x.foo": "foo"})

task("a page for what is not there", PLAIN + 'server "_" { root = "/srv/www"  error-page "404" { file = "/404.html" } }',
	Ask("/none", 404, body="Lost?", content_type="text/html; charset=utf-8"), files={"404.html": "Lost?"})

task("compression", PLAIN + 'server "_" { root = "/srv/www" }',
	Ask("/big.css", send=[("accept-encoding", "br, gzip")], content_encoding="br", vary="accept-encoding"),
	Ask("/big.css", send=[("accept-encoding", "gzip")], content_encoding="gzip"), Ask("/big.css", content_encoding=None),
	Ask("/x.png", send=[("accept-encoding", "gzip")], content_encoding=None),
	files={"big.css": "p { color: red }\n" * 500, "x.png": "\0" * 5000})

task("files that are compressed already", PLAIN + 'cache { compress = {} }\nserver "_" { root = "/srv/www" }',
	Ask("/app.js", send=[("accept-encoding", "gzip")], content_encoding="gzip"), Ask("/app.js", body="let a"),
	files={"app.js": "let a = 1", "app.js.gz": gzip.compress(b"let a = 1", mtime=0)})

task("a directory as a list", PLAIN + 'server "_" { root = "/srv/www"  location "/pub/" { autoindex = true } }',
	Ask("/pub/", body="file10.iso"), Ask("/a/", 404), files={"pub/file2.iso": "2", "pub/file10.iso": "10"})

# --- who may --------------------------------------------------------------------------------------


def users(run):
	run.put("etc/h2d/users", "anna:%s\n" % hashed("secret"))


task("a password for a folder", PLAIN + """
server "_" {
	root = "/srv/www"
	location "/intern/" { auth-basic-file = "/etc/h2d/users"  auth-basic-realm = "intern" }
}
""", Ask("/"), Ask("/intern/x", 401, www_authenticate=lambda v: 'realm="intern"' in v), Ask("/intern/x", 401, send=basic("anna", "wrong")),
	Ask("/intern/x", body="mine", send=basic("anna", "secret")), files={"intern/x": "mine"}, before=users)

task("a network alone", PLAIN + """
server "_" {
	root = "/srv/www"
	location "/office/" { allow = {"10.0.0.0/8"} }
	location "/here/"   { allow = {"127.0.0.0/8", "::1"} }
}
""", Ask("/office/x", 403), Ask("/here/x", body="yes"), files={"office/x": "no", "here/x": "yes"})

task("names that begin with a dot", PLAIN + 'server "_" { root = "/srv/www" }',
	Ask("/.env", 404), Ask("/.git/config", 404), Ask("/.well-known/security.txt", body="Contact"),
	files={".env": "PASSWORD", ".git/config": "x", ".well-known/security.txt": "Contact: x"})

# --- uploads --------------------------------------------------------------------------------------

task("uploads with a password", PLAIN + """
server "_" {
	root = "/srv/www"
	upload-dir = "files"
	location "/files/" { auth-basic-file = "/etc/h2d/users" }
}
""", Ask("/files/a.txt", 401, put=b"a"), Ask("/files/a.txt", 201, put=b"a", send=basic("anna", "secret")),
	Ask("/files/a.txt", 401), Ask("/files/a.txt", body="a", send=basic("anna", "secret")),
	files={"files/.keep": ""}, before=users)

task("so much and no more", PLAIN + """
limits { client-max-body-size = "1K" }
server "_" { root = "/srv/www"  upload-dir = "files"  upload-public = true  upload-quota = "4K" }
""", Ask("/files/large", 413, put=b"x" * 1025), Ask("/files/a", 201, put=b"x" * 1000), Ask("/files/b", 507, put=b"x" * 1000),
	files={"files/.keep": ""})

# --- from day to day ------------------------------------------------------------------------------


def deployed(run):
	for release in ("41", "42"):
		run.put("srv/releases/%s/index.html" % release, "release " + release)
	os.symlink("releases/41", run.server.path("srv/current"))


def deploy(run):
	os.symlink("releases/42", run.server.path("srv/next"))
	os.rename(run.server.path("srv/next"), run.server.path("srv/current"))
	with run.connect() as c:
		procs.wait_for(lambda: c.get("/").body == b"release 42", said="the next release")
	run.server.baseline = None  # the root's descriptor has another name now


task("a link that releases move", PLAIN + 'server "_" { root = "/srv/current" }', Ask("/", body="release 41"),
	before=deployed, after=deploy)

task("links to another disk", PLAIN + 'server "_" { root = "/srv/www"  follow-links = all }', Ask("/photos/1.jpg", body="photo"),
	before=lambda run: (run.put("mnt/disk2/1.jpg", "photo"), os.symlink(run.server.path("mnt/disk2"), os.path.join(run.root, "photos"))))

task("a load balancer asks for the health", PLAIN + 'server "_" { root = "/srv/www"  health = "/healthz" }',
	Ask("/healthz", cache_control="no-store"))


def whole(run):
	with run.connect() as c:
		run.server.wait_tagged("/disk.iso")
		first = c.get("/disk.iso", [("range", "bytes=0-999999")])
		rest = c.get("/disk.iso", [("range", "bytes=1000000-"), ("if-range", first.get("etag"))])
		assert (first.status, rest.status) == (206, 206)
		assert first.body + rest.body == bytes(3 << 20)


task("a download goes on where it was cut off", PLAIN + 'server "_" { root = "/srv/www" }', files={"disk.iso": bytes(3 << 20)}, after=whole)


def rotated(run):
	log = run.server.path("var/log/h2d/access.log")
	os.rename(log, log + ".1")
	run.server.run("-s", "reopen", check=0)
	procs.wait_for(lambda: os.path.exists(log), said="a new file")
	with run.connect() as c:
		# A worker may write a line or two before it hears of the new file.
		procs.wait_for(lambda: c.get("/").status == 200 and "GET / " in open(log).read(), said="a line in it")
	with open(log + ".1") as f:
		assert f.read().count("GET /app.js ") == 1
	run.server.logs_reopened = True


task("logs are rotated", PLAIN + 'access-log = "/var/log/h2d/access.log"\nserver "_" { root = "/srv/www" }',
	Ask("/app.js"), after=rotated)


def mistaken(run):
	with open(run.conf) as f:
		right = f.read()
	run.write(PLAIN + 'server "_" {\n\trot = "/srv/www"\n}\n')
	assert "h2d.conf:3: unknown key \"rot\" in server; the nearest known one is root" in run.test(1)
	done = run.server.run("-s", "reload", check=1)
	assert "h2d.conf:3: unknown key" in done.out + done.err
	with run.connect() as c:
		assert c.get("/").status == 200, "nothing has changed"
	with open(run.conf, "w") as f:
		f.write(right.replace("no-cache", "max-age=1"))
	assert "generation 1" in run.server.run("-s", "reload", check=0).out
	with run.connect() as c:
		assert c.get("/app.js").get("cache-control") == "max-age=1"


task("a reload with a mistake in the file", PLAIN + 'server "_" { root = "/srv/www"  cache-control = "no-cache" }',
	Ask("/", cache_control="no-cache"), after=mistaken)

task("a page while the site is being worked on", PLAIN + """
server "_" {
	root = "/srv/www"
	health = "/healthz"
	return = 503
	error-page "503" { file = "/soon.html" }
	add-header = {"retry-after: 600"}
	location "/img/" { return = off }
}
""", Ask("/", 503, body="Back soon", retry_after="600"), Ask("/app.js", 503), Ask("/none", 503), Ask("/a", 503),
	Ask("/img/logo.svg", body="svg"), Ask("/healthz"), files={"soon.html": "Back soon", "img/logo.svg": "<svg/>"})

task("what is gone for good", PLAIN + 'server "_" { root = "/srv/www"  location "/a/" { return = 410 } }',
	Ask("/a/deep.txt", 410), Ask("/"))

task("numbers for a monitor", PLAIN + 'listen "127.0.0.1:9100" { admin = true }\nserver "_" { root = "/srv/www" }',
	Ask("/status.json", 404), after=lambda run: json.loads(run.server.connect("admin").get("/status.json").body)["totals"])

# --- behind a balancer ------------------------------------------------------------------------------

OFFICE = """server "_" { root = "/srv/www"  location "/office/" { allow = {"10.0.0.0/8"} } }"""

task("behind a balancer", 'trusted-proxies = {"127.0.0.0/8"}\nclient-address = "x-forwarded-for"\n' + PLAIN + OFFICE,
	Ask("/office/x", body="in", send=[("x-forwarded-for", "10.1.2.3")]), Ask("/office/x", 403),
	Ask("/office/x", 403, send=[("x-forwarded-for", "10.1.2.3, 203.0.113.9")]), files={"office/x": "in"})


def through_proxy(run):
	for client, status in ((b"10.1.2.3", b"200"), (b"203.0.113.9", b"403")):
		with run.server.socket("tcp") as s:
			s.sendall(b"PROXY TCP4 " + client + b" 127.0.0.1 40000 80\r\n"
				b"GET /office/x HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n")
			assert s.recv(100).split()[1] == status, client


task("behind a balancer of TCP", """
trusted-proxies = {"127.0.0.0/8"}
listen "0.0.0.0:80" { proxy-protocol = true }
""" + OFFICE, files={"office/x": "in"}, after=through_proxy)

# --- what goes on -----------------------------------------------------------------------------------


def logged(run):
	with run.connect() as c:
		c.get("/healthz")
		c.get("/none?x")
	path = run.server.path("var/log/h2d/access.log")

	def lines():
		"""Without those of the status, which the test asks for."""
		return os.path.exists(path) and [line for line in procs.whole_lines(path) if "/status.json" not in line]
	assert [json.loads(line)["status"] for line in procs.wait_for(lines, said="a line")] == [404]


task("a log for machines", """
access-log = "/var/log/h2d/access.log"
access-log-format = json
access-log-skip = {"/healthz"}
""" + PLAIN + 'server "_" { root = "/srv/www"  health = "/healthz" }', after=logged)

task("prometheus", PLAIN + 'listen "127.0.0.1:9100" { admin = true }\nserver "_" { root = "/srv/www" }', Ask("/metrics", 404),
	Ask("/metrics", body="# TYPE h2d_", via="admin"))

task("a look at it", PLAIN + 'listen "127.0.0.1:9100" { admin = true }\nserver "_" { root = "/srv/www" }', Ask("/status", 404),
	Ask("/status", body="<html", via="admin", content_type="text/html; charset=utf-8"))


def explained(run):
	done = subprocess.run(run.server.command("-f", run.conf, "--explain", "http://example.com/office/x", "--address", "192.0.2.1"),
		stdout=subprocess.PIPE, text=True, timeout=60)
	line, = [line for line in done.stdout.splitlines() if line.startswith("allow")]
	assert line.endswith(run.conf + ":2"), done.stdout
	assert "403 Forbidden" in done.stdout


task("why it is 403", PLAIN + OFFICE, Ask("/office/x", 403), files={"office/x": "in"}, after=explained)


@pytest.fixture(scope="module")
def cert(tmp_path_factory):
	return harness.Certificate(str(tmp_path_factory.mktemp("tls")), names=["DNS:example.com"])


def test_each_task_is_another():
	"""Those of the other files, too."""
	tables = [TASKS, test_tasks_rules.TASKS, test_tasks_sites.TASKS]
	tasks = [(name, task[0]) for table in tables for name, task in table.by_name.items()]
	assert len({name for name, conf in tasks}) == len(tasks)
	harness.REPORT.append("tasks of an operator: %d, with %d requests" % (len(tasks),
		sum(len(task[1]) for table in tables for task in table.by_name.values())))


@pytest.mark.parametrize("name", TASKS.by_name)
def test_task(h2d, cert, name):
	TASKS.play(h2d, cert, name)
