"""What people get wrong in their first configuration: each mistake gets a message at its place that says what to write."""
import os
import re

import pytest

import harness

SERVED = 'server "_" { root = "www" }\n'

# The file, the line that the message is for (0: the file as a whole), and words of it.
MISTAKES = {
	"a star for all addresses": ('listen "*:80" { }\n' + SERVED, 1, "*:80"),
	"a word of Caddy that is one of h2d elsewhere": ('server "_" {\nroot = "www"\nheader = "X-A b"\n}\n', 3,
		"use add-header in server; the name is also a key of timeouts"),
	"a word of lighttpd": ('server.username = "www"\n' + SERVED, 1, "use user in the top level"),
	"a section as a key": ('server "_" {\nroot = "www"\nerror_page = 404\n}\n', 3, "did you mean error-page?"),
	"deny-user-agent": ('server "_" {\nroot = "www"\ndeny-user-agent = {"*bot*"}\n}\n', 3, "write addresses in allow and deny"),
	"referer": ('server "_" {\nroot = "www"\nreferer = {"https://a.org/"}\n}\n', 3, "cross-origin-resource-policy in add-header"),
	"route, as in Caddy": ('server "_" {\nroot = "www"\nroute = "/a"\n}\n', 3, "routes are compiled in"),
	"env": ('env = "PATH"\n' + SERVED, 1, "does not pass its environment on"),
	"an address without quotes": ("listen 0.0.0.0:80 { }\n" + SERVED, 1, 'title in quotes: listen "0.0.0.0:80" { ... }'),
	"a server block of nginx alone": ("server {\n  listen 80;\n  server_name a.org;\n}\n", 2, "configuration of nginx"),
	"a server inside a server": ('server "_" {\nroot = "www"\nserver {\nlisten 80;\n}\n}\n', 3, 'needs a title: server "name"'),
	"a title without quotes": ('server _ { root = "www" }\n', 1, 'title in quotes: server "_" { ... }'),
	"a path without quotes": ('server "_" {\nroot = "www"\nlocation /a { }\n}\n', 3, 'title in quotes: location "/a" { ... }'),
	"two addresses in one title": ('listen "127.0.0.1:80 [::1]:80" { }\n' + SERVED, 1, "write a section for each address"),
	"https:// in a name": ('server "_" {\nroot = "www"\naliases = {"https://a.org"}\n}\n', 3, "remove https://"),
	"an international name": ('server "b\u00fccher.de" { root = "www" }\n', 1, "xn--"),
	"a home": ('server "_" {\nroot = "~/www"\n}\n', 2, '"~" is not expanded'),
	"a space in a size": ("cache { max-size = 256 M }\n" + SERVED, 1, "remove the space: 256M"),
	"a time with a space": ("shutdown-timeout = 10 s\n" + SERVED, 1, "remove the space: 10s"),
	"a redirect by return": ('server "_" {\nroot = "www"\nreturn = 301\n}\n', 3, 'write redirect = "https://...'),
	"a redirect by return, with its target": ('server "_" {\nroot = "www"\nreturn = "302 https://a.org/"\n}\n', 3, "redirect-status"),
	"return 200": ('server "_" {\nroot = "www"\nreturn = 200\n}\n', 3, "remove it to send files"),
	"return 444": ('server "_" {\nroot = "www"\nreturn = 444\n}\n', 3, "answers every request"),
	"a status for a target": ('server "_" {\nredirect = 301\n}\n', 2, "write the status in redirect-status"),
	"a status in a redirect": ('server "_" {\nredirect = "https://a.org/ 301"\n}\n', 2, "set the status in redirect-status"),
	"an exact location": ('server "_" {\nroot = "www"\nlocation = /a {\n}\n}\n', 3, 'location "prefix" { ... }'),
	"files by regular expression": ('server "_" {\nroot = "www"\nfiles ~* \\.png$ {\n}\n}\n', 3, 'files "pattern" { ... }'),
	"error-page as a key": ('server "_" {\nroot = "www"\nerror-page = {"404"}\n}\n', 3, 'error-page "status" { ... }'),
	"ssl behind an address": ('listen "127.0.0.1:443 ssl" { }\n' + SERVED, 1, "put options in braces: { tls = true }"),
	"two names in a title": ('server "a.org b.org" { root = "www" }\n', 1, 'aliases = {"a.org", "b.org"}'),
	"a list of names as title": ('server {"a.org", "b.org"} { root = "www" }\n', 1, "write the other names in aliases"),
	"a list of addresses as title": ('listen {"127.0.0.1:80", "[::1]:80"} { }\n' + SERVED, 1, "write a section for each"),
	"a variable of the shell": ('server "_" {\nroot = "$HOME/www"\n}\n', 2, "${NAME}"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(h2d, name):
	text, line, words = MISTAKES[name]
	server = h2d.new(admin=False)
	with open(server.path("h2d.conf"), "wb") as f:
		f.write(text if isinstance(text, bytes) else text.encode())
	done = server.run("-t", check=1)
	first = done.err.splitlines(keepends=True)[0]
	assert re.search(r"h2d\.conf%s: " % (":%d" % line if line else ""), first), done.err
	assert words in first, done.err
	assert "configuration ok" not in done.err


@pytest.mark.parametrize("text", ["\ufeffshutdown-timeout = 10m\n", "cache { max-size = 256MB }\n", "timeouts { keepalive = 1h }\n", 'listen ":80" { }\n'])
def test_no_mistake(h2d, text):
	server = h2d.new(admin=False)
	with open(server.path("h2d.conf"), "wb") as f:
		f.write((text + SERVED).encode() + b'user = "root"\n')
	assert "configuration ok" in server.run("-t", check=0).err


# What is no fault, but surely not meant. Each is in a server that is there, but for the first of a pair.
WARNED = {
	"an encoded path": ('location "/a%20b" { }', "paths are decoded"),
	"braces in a pattern": ('files "*.{png,jpg}" { }', "write several names as a list: {"),
	"a regular expression": ('files "\\\\.png$" { }', 'only "*" is special'),
	"a colon in cache-control": ('location "/a" { cache-control = "max-age: 3600" }', 'write directives with "="'),
	"redirects in a circle": ('location "/a.html" { redirect = "/b.html" }  location "/b.html" { redirect = "/a.html" }', "loops back to location"),
	"a fallback beside a redirect": ('location "/a" { redirect = "/b/"  fallback = "/c.html" }', "fallback does nothing"),
	"a realm without a file": ('location "/a" { auth-basic-realm = "x" }', "auth-basic-realm does nothing without auth-basic-file"),
	"several names with commas": ('files "*.png, *.jpg" { }', "write several names as a list: {"),
	"several names with spaces": ('files "*.png *.jpg" { }', "write several names as a list: {"),
	"nginx's sign of an expression": ('files "~ png" { }', 'only "*" is special'),
	"an extension without a star": ('files ".png" { }', 'write "*.png" for an extension'),
	"an extension that is hidden": ('hide = {".bak"}', 'write "*.bak" for an extension'),
	"a space in cache-control": ('cache-control = "public, max-age 3600"', "write a number of seconds"),
	"an hour in cache-control": ('cache-control = "max-age=1h"', "write a number of seconds"),
	"a number as cache-control": ('cache-control = "3600"', 'write directives with "="'),
	"semicolons in cache-control": ('cache-control = "public; max-age=3600"', "separate directives with commas"),
	"a redirect beside a return": ('redirect = "https://a.org/"  return = 404', "redirect does nothing: return answers"),
	"a fallback beside a return": ('location "/a" { fallback = "/c.html"  return = 410 }', "fallback does nothing: return answers"),
	"a page without a return": ('return-page = "/soon.html"', "return-page does nothing without return"),
	"exceptions without a return": ('location "/a" { return-except = {"192.0.2.1"} }', "return-except does nothing without return"),
	"a status without a redirect": ('redirect-status = 302', "redirect-status does nothing without redirect"),
	"everybody is a proxy": (('client-address = "x-forwarded-for"\ntrusted-proxies = {"::/0"}\n', ""), "trusts all clients"),
	"every IPv4 address is a proxy": (('client-address = "x-forwarded-for"\ntrusted-proxies = {"0.0.0.0/0"}\n', ""), "trusts all clients"),
	"cleartext on port 443": (('listen "127.0.0.1:443" { }\n', ""), "tls = true"),
	"a burst without a rate": (("limits { requests-burst = 10 }\n", ""), "requests-burst does nothing without requests-per-second"),
	"a burst of a location alone": ('location "/a" { requests-burst = 10 }', "requests-burst does nothing without requests-per-second"),
	"a burst where the rate is off": (("limits { requests-per-second = 5 }\n", 'requests-per-second = 0  requests-burst = 10'),
		"requests-burst does nothing without requests-per-second"),
	"exempt of nothing": (('limits { exempt = {"10.0.0.0/8"} }\n', ""), "exempt does nothing"),
	"everybody is exempt": (('limits { requests-per-second = 5  exempt = {"::/0"} }\n', ""), "exempts all clients"),
	"a dry run of nothing": (("limits { dry-run = true }\n", ""), "dry-run does nothing"),
	"nginx's access_log": (('access-log = "a.log combined"\n', ""), "set the format in access-log-format"),
}


@pytest.mark.parametrize("name", WARNED)
def test_warning(h2d, name):
	text, words = WARNED[name]
	top, inside = text if isinstance(text, tuple) else ("", text)
	server = h2d.new(admin=False)
	server.put_conf('%sserver "_" { root = "www"\n%s }\n' % (top, inside))
	said = [line for line in server.run("-t", check=0).err.splitlines() if words in line]
	assert said and all(re.search(r"h2d\.conf:\d: warning: ", line) for line in said), server.run("-t").err


@pytest.mark.parametrize("inside", [
	'location "/a" { redirect = "/b/" }  location "/b" { redirect = "https://a.org/" }',
	'auth-basic-realm = "x"  location "/a" { auth-basic-file = "users" }',
	'files "*.tar.gz" { cache-control = "public, max-age=3600" }',
	'cache-control = "public, max-age=31536000, stale-while-revalidate=60, immutable, no-cache=\\"x-a\\""  files "robots.txt" { }',
	'return-except = {"192.0.2.1"}  location "/a" { return = 503  redirect = "/b/" }  location "/b" { redirect-status = 302 }',
	'requests-burst = 10  location "/a" { requests-per-second = 5 }  location "/b" { requests-burst = 0 }',
	'requests-per-second = 5  location "/a" { requests-burst = 10 }',
])
def test_no_warning(h2d, inside):
	server = h2d.new(admin=False)
	with open(server.path("users"), "w") as f:
		f.write("# ours\n\nanna:$2y$05$abcdefghijklmnopqrstuu\r\nold:*\n")
	server.put_conf('listen "127.0.0.1:0" { }\nserver "_" { root = "www"\n%s }\n' % inside)
	assert "warning" not in server.run("-t", check=0).err


def test_each_mistake_is_another():
	assert len({text for text, line, words in MISTAKES.values()}) == len(MISTAKES)
	assert len({str(text) for text, words in WARNED.values()}) == len(WARNED)
	harness.REPORT.append("mistakes of a first configuration: %d with their cure, %d warned of" % (len(MISTAKES), len(WARNED)))


@harness.needs_root("who is not root keeps the user")
def test_a_user_with_its_group(h2d):
	"""As chown has it."""
	server = h2d.new(admin=False)
	server.put_conf('user = "root:root"\n' + SERVED)
	assert re.search(r'h2d\.conf:1: user "root:root" .*: write the user alone, which implies its group', server.run("-t", check=1).err)


USERS = """\
\ufeffjoe:secret
# bert:clear
anna:$apr1$x$y
good:$6$salt$hash
bob
cat:
"""


def test_pages_that_workers_cannot_read(h2d):
	"""-t says at their lines what is answered instead; a link that leads out of the root is named as one."""
	server = h2d.new(listens=("tcp",))
	os.symlink("/etc/passwd", os.path.join(server.root, "out"))
	server.write_conf(server='error-page "404" { file = "/none.html" }\nerror-page "403" { file = "/out" }\nfallback = "/none"')
	found = re.findall(r"h2d\.conf:(\d+): warning: (\S+) \"?%s(\S+?)\"?: (.*)" % re.escape(server.root), server.run("-t", check=0).err)
	own, error = "h2d sends its own page until it is readable", "missing files are answered with an error until it is readable"
	assert [row[1:] for row in found] == [
		("error-page", "/none.html", "No such file or directory: " + own),
		("error-page", "/out", "a symbolic link leads out of root: " + own),
		("fallback", "/none", "No such file or directory: " + error)]
	assert [int(row[0]) - int(found[0][0]) for row in found] == [0, 1, 2]


def test_passwords_that_are_never_right(h2d):
	"""Each line is named by -t and at the start, and what makes a new one; but no password."""
	server = h2d.new(files={"f": ""}, server='auth-basic-file = "users"  location "/x" { auth-basic-file = "users" }')
	with open(server.path("users"), "w") as f:
		f.write(USERS)
	done = server.run("-t", check=0)
	said = re.findall(r"users:(\d+): warning: \"(\w+)\" is refused: (.*) \(.*: openssl passwd -6\)", done.err)
	assert said == [("1", "joe", "a plain-text password is refused"),
		("3", "anna", "libcrypt has no hashes like $apr1$ or {SHA}"),
		("5", "bob", 'the user has no ":" after it'), ("6", "cat", "the user has no password")], done.err
	out = server.run("--explain", "http://anna:secret@localhost/f", check=0).out
	assert re.search(r"^note +libcrypt has no hashes like .* \(openssl passwd -6\) +.*/users:3$", out, re.M) and out.count("openssl") == 1, out
	server.start()
	assert len(server.log.wait(r"warn .*users:\d: ", count=4)) == 4
	assert "secret" not in server.log_text() + done.err


# What is no fault, since -t may run elsewhere than h2d, but will be one here.
def test_names_of_applications(h2d):
	"""A name that is not found is no fault: a name server may be down. The other one has a label that none is asked for."""
	server = h2d.new(server='proxy = {"localhost:80", "127.0.0.1:80"}\nlocation "/a" {\nproxy = "%s.test:80" }' % ("a" * 64))
	done = server.run("-t", check=0)
	said = [line for line in done.err.splitlines() if "warning: proxy" in line]
	assert len(said) == 1 and re.search(r'h2d\.conf:\d+: warning: proxy "a{64}\.test:80": no address: .', said[0]), done.err


def test_cache_larger_than_memory(h2d):
	server = h2d.new(admin=False)
	server.put_conf("cache {\nmax-size = 1023G }\n" + SERVED)
	done = server.run("-t", check=0)
	assert re.search(r"h2d\.conf:2: warning: max-size: the cache is limited to .* of the memory here", done.err), done.err
