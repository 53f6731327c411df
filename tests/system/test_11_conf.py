"""The configuration's nested sections: what -t says of them, -T read back, reload, many servers."""
import os
import re
import shutil

import pytest

import harness


SERVERS = """\
server "_" {
	root = "@ROOT@"
	charset = "latin1"
	add-header = {"x-one: \\"1\\""}
	allow = {"127.0.0.0/8", "unix"}
	error-page "404" { file = "/404.html" }
	error-page "503" { file = "/e/503.html" }
	location "/assets/" {
		cache-control = "public, max-age=31536000, immutable"
		add-header = {"x-two: 2"}
	}
	location "/private" { deny = {"all"}  allow = {}  auth-basic-realm = "staff"  charset = "" }
	location "/old" { redirect = "/new/"  redirect-status = 308  auth-basic-file = "@ROOT@/users" }
}
server "www.example.com" {
	aliases = {"example.com", "*.Example.org"}
	root = "@ROOT@"
	autoindex = true
	tls { certificate = "@CERT@"  certificate-key = "@KEY@" }
	location "/" { index = {"a.html", "b.html"} }
}
server "go.example.com" { redirect = "https://example.com/" }
"""


def text(server, servers=SERVERS):
	for name, value in (("@ROOT@", server.root), ("@CERT@", server.cert.cert), ("@KEY@", server.cert.key)):
		servers = servers.replace(name, value)
	return server.conf_text[:server.conf_text.index("server ")] + servers


@pytest.fixture(scope="module")
def cert(tmp_path_factory):
	"""It is good for the names of the servers here."""
	return harness.Certificate(str(tmp_path_factory.mktemp("tls")), names=["DNS:" + name for name in (
		"example.com", "*.example.com", "example.org", "*.example.org", "second")])


PAGES = {"404.html": "gone\n", "e/503.html": "later\n", "users": "u:$6$s$x\n"}


@pytest.fixture
def server(h2d):
	server = h2d.new(files=PAGES)
	server.put_conf(text(server))
	return server


def test_good(server):
	assert "configuration ok" in server.run("-t", check=0).err


def test_every_fault_is_reported(h2d):
	"""Of the grammar, of values, of what HTTP makes of them, of files: in one go."""
	server = h2d.new(files=PAGES)
	whole = text(server, SERVERS.replace("charset = \"latin1\"", "charset = 5")
		.replace("x-one:", "date:").replace("127.0.0.0/8", "127.0.0.0/33")
		.replace("\"/private\"", "\"private\"").replace("@KEY@", "/no/such/key")
		.replace("= 308", "= 303"))
	first = whole[:whole.index("server ")].count("\n")
	server.put_conf(whole)
	done = server.run("-t", check=1)
	places = sorted(int(n) - first for n in re.findall(r"h2d\.conf:(\d+): ", done.err))
	assert places == [3, 4, 5, 12, 13, 19], done.err


UNREADABLE = """\
user = "nobody"
listen "127.0.0.1:0" { tls = true }
tls { certificate = "@CERT@"  certificate-key = "@DIR@/key" }
server "_" {
	root = "@DIR@/locked"
	error-page "404" { file = "/404.html" }
}
server "second" {
	root = "@ROOT@"
	error-page "404" { file = "/missing.html" }
	location "/x" { auth-basic-file = "@DIR@/users" }
}
"""
SAID = (
	r':3: .*certificate-key ".*/key" is readable by all users',
	r':5: .*root ".*/locked": Permission denied',
	r':6: .*error-page ".*/locked/404.html": Permission denied',
	r':10: .*error-page ".*/missing.html": No such file',
	r':11: .*auth-basic-file ".*/users": Permission denied',
)


@harness.needs_root("only root becomes another user")
def test_what_the_user_cannot_read(h2d):
	"""It is tried as that user, and said by -t, at the start and at each reload; it is no fault."""
	server = h2d.new(admin=False, listens=())
	os.mkdir(server.path("locked"), 0o700)
	for name, mode in (("users", 0o600), ("key", 0o644)):
		shutil.copyfile(server.cert.key, server.path(name))
		os.chmod(server.path(name), mode)
	text = UNREADABLE.replace("@DIR@", server.dir).replace("@ROOT@", server.root)
	server.put_conf(text.replace("@CERT@", server.cert.cert))
	done = server.run("-t", check=0)
	assert "configuration ok" in done.err and done.err.count("warning: ") == len(SAID)
	server.spawn()
	server.log.wait("serving: generation 1")
	server.hup()
	server.log.wait("serving: generation 2")
	for said in SAID:
		assert re.search(said, done.err), (said, done.err)
		assert len(server.log.find(" warn .*" + said)) == 2, said


def test_nothing_to_warn_of(server):
	assert "warning" not in server.run("-t", check=0).err
