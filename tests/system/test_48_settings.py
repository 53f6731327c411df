"""Settings by the names of files, redirects that keep the path or drop it, and what is for TLS alone."""
import re

import pytest


@pytest.mark.parametrize("source", ["image", "disk"])
def test_rules_of_files(h2d, connect, source):
	server = h2d.new(files={"index.html": "index", "a.woff2": "font", "l/a.woff2": "font", "l/app-1.js": "js",
		"l/x.js": "js", "about.html": "about"})
	server.write_conf(server="""
extensions = {".html"}
fallback = "/index.html"
cache-control = "max-age=60"
files "*.woff2" { add-header = {"access-control-allow-origin: *"} }
files "*.html" { cache-control = "no-cache" }
location "/l/" {
	cache-control = "max-age=9"
	files "app-*.js" { cache-control = "immutable"  add-header = {"x-app: 1"} }
}""", sections='cache { max-file-size = "%s" }' % ("1M" if source == "image" else "1"))
	server.start(image=True).wait_tagged("/a.woff2")
	fields = ("cache-control", "access-control-allow-origin", "x-app")
	with connect(server) as c:
		for path, want in (("/a.woff2", ("max-age=60", "*", None)), ("/l/a.woff2", ("max-age=9", "*", None)),
				("/l/app-1.js", ("immutable", None, "1")), ("/l/x.js", ("max-age=9", None, None)),
				# By the name of the file that is sent, not that of the path.
				("/", ("no-cache", None, None)), ("/about", ("no-cache", None, None)),
				("/none", ("no-cache", None, None))):
			answer = c.get(path)
			assert answer.status == 200
			assert tuple(answer.get(f) for f in fields) == want, path
		answer = c.get("/a.woff2", [("range", "bytes=0-1")])
		assert (answer.status, answer.get("access-control-allow-origin")) == (206, "*")
		tag = answer.get("etag")
		answer = c.get("/a.woff2", [("if-none-match", tag)])
		assert (answer.status, answer.get("access-control-allow-origin")) == (304, "*")
	done = server.run("-T", check=0)
	server.put_conf(done.out)
	assert server.run("-T", check=0).out == done.out


def faults(h2d, text, *wanted, sections="", code=1):
	server = h2d.new()
	server.write_conf(server="\n" + text, sections=sections)
	done = server.run("-t", check=code)
	first = server.conf_text.split(text)[0].count("\n") + 1
	for line, said in wanted:
		where = "%s:%d: %s" % (server.conf_path, first + line, said)
		assert where in done.err, (where, done.err)
	return done


def test_redirects_that_drop_the_path(h2d, connect):
	"""It is said by -t, unless it is said in the file that it is meant, or there is but one page."""
	done = faults(h2d, '''location "/old" { redirect = "/blog" }
location "/elsewhere/" { redirect = "https://example.com" }
location "/kept" { redirect = "/blog"  redirect-keep-path = true }
location "/meant" { redirect = "/blog"  redirect-keep-path = false }
location "/page.html" { redirect = "/blog" }
location "/to/" { redirect = "/new.html" }
location "/asks" { redirect = "/find?all" }
location "/slash" { redirect = "/blog/" }''',
		(0, 'warning: redirect "/blog" drops the rest of paths below /old'),
		(1, 'warning: redirect "https://example.com" drops'), code=0)
	assert len(re.findall("drops the rest", done.err)) == 2, done.err
	server = h2d.new()
	server.write_conf(server='''
location "/kept" { redirect = "/blog"  redirect-keep-path = true }
location "/meant" { redirect = "/blog/"  redirect-keep-path = false }''')
	server.start()
	with connect(server) as c:
		for path, to in (("/kept/a?b", "/blog/a?b"), ("/kept", "/blog"), ("/meant/a", "/blog/")):
			assert c.get(path).get("location") == to, path


def test_https_port(h2d, connect):
	"""Of a container whose port 443 is another one inside of it."""
	server = h2d.new(listens=("tcp",))
	server.put_conf(server.conf_text.replace("{ tls = false }",
		"{ redirect-to-https = true  https-port = 443 }"))
	server.start()
	with connect(server, authority="example.com:8080") as c:
		answer = c.get("/a?b")
		assert (answer.status, answer.get("location")) == (308, "https://example.com/a?b")
	server.put_conf(server.conf_text.replace("tls = false", "https-port = 443"))
	done = server.run("-t", check=1)
	assert "https-port needs redirect-to-https = true" in done.err


def test_transport_security(h2d, connect):
	"""Over TLS in every response, whatever its status; never in cleartext (RFC 6797, 7.2)."""
	server = h2d.new(files={"f": "f"})
	server.write_conf(server='strict-transport-security = "max-age=9; includeSubDomains"')
	server.start(image=True)
	paths = (("/", 200), ("/f", 200), ("/none", 404), ("/healthz", 200), ("/%zz", 400))
	with connect(server, "tls") as c:
		for path, status in paths:
			answer = c.get(path)
			assert answer.status == status
			assert answer.get("strict-transport-security") == "max-age=9; includeSubDomains", path
		assert c.request("BREW", "/").get("strict-transport-security")
	server.lint.forget()  # by the other scheme they are other resources
	with connect(server) as c:
		for path, status in paths:
			assert c.get(path).get("strict-transport-security") is None, path
	plain = faults(h2d, 'strict-transport-security = "max-age=9"', code=0)
	assert "strict-transport-security does nothing" not in plain.err
	server = h2d.new(listens=("tcp",))
	server.write_conf(server='strict-transport-security = "max-age=9"')
	assert "strict-transport-security does nothing without a listener with tls = true" in server.run("-t", check=0).err


def test_return(h2d, connect):
	"""Before redirects and who may, for compiled routes, too; off in an inner location; a server of it alone needs no root."""
	server = h2d.new(files={"503.html": "back soon", "open/x": "x", "files/a": "a"}, listens=("tcp",))
	server.write_conf(server="""return = 503
upload-dir = "files"  upload-public = true
error-page "503" { file = "/503.html" }
location "/r/" { redirect = "/elsewhere/" }
location "/w/" { deny = {"all"} }
location "/gone" { return = 410 }
location "/open/" { return = off }
""", sections='server "old.example" { return = 451 }')
	server.run("-t", check=0)
	server.start(image=True)
	with connect(server) as c:
		for path, status in (("/", 503), ("/index.html", 503), ("/none", 503), ("/r/x", 503), ("/w/x", 503), ("/files/a", 503),
				("/gone", 410), ("/gone/x", 410), ("/open/x", 200), ("/open/none", 404), ("/healthz", 200)):
			answer = c.get(path)
			assert answer.status == status, path
			assert (answer.body == b"back soon") == (status == 503), path
			assert status != 410 or b"<h1>410 Gone</h1>" in answer.body
			if hasattr(answer, "reason"):
				assert answer.reason == {503: "Service Unavailable", 410: "Gone", 404: "Not Found", 200: "OK"}[status]
		assert c.request("PUT", "/files/b", body=b"b").status == 503
	with connect(server, authority="old.example") as c:
		answer = c.get("/")
		assert answer.status == 451 and b"<h1>451 Unavailable For Legal Reasons</h1>" in answer.body
	faults(h2d, "return = 301", (0, "return must be one of off, 403"))
