"""Certificates by the name that a client asks for: selection, defaults, reload, faults."""
import os
import re
import shutil
import socket
import ssl

import pytest

import client
import harness
from procs import wait_for

BLOCKS = {"_": None, "a.example": "a.example", "plain.a.example": None, "*.a.example": "a.example",
	"*.wild.example": "wild.example"}
NAMES = ("default.example", "a.example", "wild.example", "block.example")


@pytest.fixture(scope="module")
def certs(tmp_path_factory):
	folder = str(tmp_path_factory.mktemp("sni"))
	return {name: harness.Certificate(folder, name) for name in NAMES}


def tls(cert):
	return 'tls { certificate = "%s"  certificate-key = "%s" }' % (cert.cert, cert.key)


def put(server, certs, default=True, blocks=None, rejects=False):
	"""The tls sections: of the top level, of server "_", of a.example, of *.wild.example; and none."""
	text = ['worker-processes = 2', 'pid-file = "%s"' % server.pid_path,
		'listen "127.0.0.1:0" { tls = true }',
		'listen "unix:%s" { admin = true  socket-mode = "0600" }' % server.admin_path]
	if default:
		text.append(tls(certs["default.example"]).replace("{", "{ reject-handshake = %s " % str(rejects).lower()))
	for name, cert in (blocks or BLOCKS).items():
		text.append('server "%s" { root = "%s"  %s }'
			% (name, server.root, tls(certs[cert]) if cert else ""))
	server.put_conf("\n".join(text) + "\n")


def der(cert):
	with open(cert.cert) as f:
		return ssl.PEM_cert_to_DER_cert(f.read())


def shown(server, certs, name, version=None):
	"""Which certificate a client that asks for name (None: for none) is shown."""
	context = client.tls_context(minimum=version, maximum=version)
	with socket.create_connection(("127.0.0.1", server.ports["tls"]), client.DEADLINE) as plain:
		with context.wrap_socket(plain, server_hostname=name) as s:
			got = s.getpeercert(binary_form=True)
	return next(n for n in certs if der(certs[n]) == got)


@pytest.fixture
def server(h2d, certs):
	server = h2d.new(listens=("tls",), workers=2)
	put(server, certs)
	return server.start()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_name_decides(server, certs, version):
	for name, cert in (("a.example", "a.example"), ("A.EXAMPLE", "a.example"),
			("x.a.example", "a.example"), ("x.y.a.example", "a.example"),
			# A name of its own in front of a wildcard, without a certificate: the default's.
			("plain.a.example", "default.example"),
			("x.wild.example", "wild.example"), ("wild.example", "default.example"),
			("unknown.example", "default.example"), (None, "default.example"),
			# An address is no name: clients do not send one.
			("127.0.0.1", "default.example")):
		assert shown(server, certs, name, version) == cert, name


def test_the_default_block_has_the_default(h2d, certs):
	"""Section tls, else the default block's, else the first there is; for a server of no other use."""
	server = h2d.new(listens=("tls",), workers=2)
	put(server, certs, default=False, blocks={"a.example": "a.example", "_": "block.example"})
	server.start()
	assert shown(server, certs, None) == "block.example"
	assert shown(server, certs, "other.example") == "block.example"
	assert shown(server, certs, "a.example") == "a.example"
	put(server, certs, default=False, blocks={"_": None, "b": None, "a.example": "a.example"})
	server.reload()
	assert shown(server, certs, None) == "a.example"
	assert shown(server, certs, "b") == "a.example"


def test_a_default_block_with_its_own(h2d, certs):
	"""Its certificate is for its names; who asks for no known name gets that of section tls."""
	server = h2d.new(listens=("tls",), workers=2)
	put(server, certs, blocks={"block.example": "block.example", "a.example": "a.example"})
	server.start()
	assert shown(server, certs, "block.example") == "block.example"
	assert shown(server, certs, None) == "default.example"


@pytest.mark.parametrize("host, status, why", [("a.example", 200, ""), ("any.other", 200, ""),
	("x.wild.example", 421, "certificate         of the connection does not cover this host name")])
def test_explain_another_name(server, host, status, why):
	"""The certificate is the URL's name's, and the request is for the name in its host field."""
	said = server.run("--explain", "https://a.example/", "-H", "host: " + host, check=0).out
	assert re.search(r"^status +%d\b" % status, said, re.MULTILINE) and why in said


def test_reload_changes_certificates(server, certs):
	put(server, certs, blocks={"_": "block.example", "a.example": "wild.example", "new.example": "a.example"})
	server.reload()
	for name, cert in (("a.example", "wild.example"), ("new.example", "a.example"),
			("x.wild.example", "default.example"), (None, "default.example")):
		assert shown(server, certs, name) == cert, name


def test_faults_are_at_their_lines(h2d, certs, tmp_path):
	server = h2d.new(listens=("tls",))
	text = str(tmp_path / "text")
	with open(text, "w") as f:
		f.write("no PEM\n")
	a, b = certs["a.example"], certs["block.example"]
	server.put_conf('listen "127.0.0.1:0" { tls = true }\n'
		'server "_" {\n\troot = "%s"\n\ttls {\n\t\tcertificate = "%s"\n\t\tcertificate-key = "%s"\n\t}\n}\n'
		'server "b" { root = "%s"\n\ttls {\n\t\tcertificate = "%s"\n\t\tcertificate-key = "%s" } }\n'
		% (server.root, text, a.key, server.root, a.cert, b.key))
	for args in (["-t"], []):
		done = server.run(*args, check=1)
		assert re.findall(r"h2d\.conf:(\d+): (certificate\S*) ", done.err) == [
			("5", "certificate"), ("12", "certificate-key")], done.err


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_unknown_names_are_refused(h2d, certs, version):
	"""With reject-handshake: no certificate is shown, and the alert says why; names that there are get theirs, the default's, too."""
	server = h2d.new(listens=("tls",), workers=2)
	put(server, certs, rejects=True)
	server.start()
	for name in ("unknown.example", "wild.example", "127.0.0.1", None):
		with pytest.raises(ssl.SSLError, match="(?i)unrecognized.name"):
			shown(server, certs, name, version)
	for name, cert in (("a.example", "a.example"), ("plain.a.example", "default.example"), ("x.wild.example", "wild.example")):
		assert shown(server, certs, name, version) == cert
	assert "reject-handshake" in server.run("--explain", "https://unknown.example/", check=1).err
	put(server, certs)
	server.run("-s", "reload", check=0)
	assert shown(server, certs, None, version) == "default.example"


def test_refusing_everybody_is_warned_of(h2d, certs):
	server = h2d.new(listens=("tls",))
	put(server, certs, blocks={"_": None}, rejects=True)
	assert "reject-handshake refuses all clients: no server has a name" in server.run("-t", check=0).err


def test_a_certificate_and_a_log_for_each_host(h2d, certs):
	"""Three lines are all hosts; one that comes while it runs needs no reload by hand."""
	server = h2d.new(listens=("tls",), workers=1)
	hosts = server.path("hosts")

	def put_host(name, cert=True):
		os.makedirs(os.path.join(hosts, name, "public"))
		with open(os.path.join(hosts, name, "public", "index.html"), "w") as f:
			f.write(name)
		if cert:
			put_certificate(name)

	def put_certificate(name):
		os.makedirs(server.path("tls", name), exist_ok=True)
		for file, source in (("key", certs[name].key), ("crt", certs[name].cert)):
			shutil.copy(source, server.path("tls", name, file))

	def ask(name, host=None):
		with socket.create_connection(("127.0.0.1", server.ports["tls"]), client.DEADLINE) as plain:
			with client.tls_context(alpn=("http/1.1",)).wrap_socket(plain, server_hostname=name) as s:
				s.sendall(b"GET / HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n" % (host or name).encode())
				answer = b"".join(iter(lambda: s.recv(4096), b""))
		return answer.split(b" ", 2)[1].decode() + answer.rpartition(b"\r\n")[2].decode()[:20]
	put_host("a.example")
	put_host("wild.example", cert=False)
	os.makedirs(server.path("logs"))
	server.put_conf("""worker-processes = 1
pid-file = "%s"
listen "127.0.0.1:0" { tls = true }
listen "unix:%s" { admin = true  socket-mode = "0600" }
cache { rescan-interval = 1 }
access-log = "%s"
%s
server "_" {
	root = "hosts/${host}/public"
	access-log = "%s"
	tls { certificate = "tls/${host}/crt"  certificate-key = "tls/${host}/key" }
}
""" % (server.pid_path, server.admin_path, server.path("logs", "others"), tls(certs["default.example"]), server.path("logs", "${host}.log")))
	server.start()
	assert [shown(server, certs, name) for name in NAMES] == ["default.example", "a.example", "default.example", "default.example"]
	assert [ask(name) for name in ("a.example", "wild.example")] == ["200a.example", "200wild.example"]
	put_certificate("block.example")
	put_host("block.example", cert=False)
	wait_for(lambda: shown(server, certs, "block.example") == "block.example")
	put_certificate("wild.example")  # of this, too, it would hear by itself: a minute later
	server.reload()
	assert shown(server, certs, "wild.example") == "wild.example"
	assert ask("block.example") == "200block.example"
	for name in ("../a.example", "a.example/..", "${host}", "nobody.example"):
		assert ask("nobody.example", name)[:3] in ("400", "404")
	assert shown(server, certs, "nobody.example") == "default.example"
	wait_for(lambda: sorted(os.listdir(server.path("logs"))) == ["a.example.log", "block.example.log", "others", "wild.example.log"]
		and all(os.path.getsize(server.path("logs", name)) for name in os.listdir(server.path("logs"))))
	server.run("-t", check=0)
	shutil.rmtree(os.path.join(hosts, "a.example"))
	server.reload()
	wait_for(lambda: ask("a.example")[:3] == "404")
	server.baseline = None  # another root is open now


def test_a_host_without_a_folder(h2d):
	server = h2d.new(listens=("tcp",))
	for line, key in (('access-log = "/tmp/${host}.log"', "access-log"), ('tls { certificate = "${host}"  certificate-key = "k" }', "certificate")):
		server.write_conf(server="\n" + line)
		said = server.run("-t", check=1).err
		assert key + ": ${host} needs a root that contains ${host}" in said, said
	server.write_conf(conf='access-log = "${host}"')
	assert "access-log: ${host} is for root, access-log, certificate and" in server.run("-t", check=1).err
