"""Certificates with ECDSA and RSA keys for the same names: each client is shown one that it takes."""
import re
import ssl
import subprocess

import pytest

import client
import harness


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
	"""By name and kind of key."""
	folder = str(tmp_path_factory.mktemp("pairs"))
	return {(name, kind): harness.Certificate(folder, name, kind=kind) for name in ("default.example", "a.example") for kind in ("ecdsa", "rsa")}


def tls(pairs, name, kinds=("ecdsa", "rsa")):
	certs = [pairs[name, kind] for kind in kinds]
	return "tls { certificate = {%s}  certificate-key = {%s} }" % tuple(
		", ".join('"%s"' % getattr(c, what) for c in certs) for what in ("cert", "key"))


def conf(server, pairs, kinds=("ecdsa", "rsa"), top=None, of_a=""):
	return ('worker-processes = 2\npid-file = "%s"\nlisten "127.0.0.1:0" { tls = true }\nlisten "unix:%s" { admin = true }\n%s\n'
		'server "default.example" { root = "%s" }\nserver "a.example" { root = "%s"  %s }\n' % (server.pid_path, server.admin_path,
		tls(pairs, "default.example", kinds) if top is None else top, server.root, server.root, of_a + tls(pairs, "a.example", kinds)))


def put(server, pairs, kinds=("ecdsa", "rsa")):
	server.put_conf(conf(server, pairs, kinds))


def der(pem):
	return ssl.PEM_cert_to_DER_cert(pem)


def shown(server, pairs, name, *args):
	"""Name and kind of what a client is shown that asks for name (None: for none); None: it gets no further than the hello."""
	names = ["-servername", name] if name else ["-noservername"]
	done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % server.ports["tls"], "-alpn", "http/1.1", *names, *args],
		stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=client.DEADLINE)
	pem = re.search("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", done.stdout.decode("latin1"), re.S)
	if pem is None:
		return None
	got = der(pem.group(0))
	return next(key for key, cert in pairs.items() if der(open(cert.cert).read()) == got)


RSA_ONLY, ECDSA_ONLY = "RSA-PSS+SHA256:RSA+SHA256", "ECDSA+SHA256"


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize("order", [("ecdsa", "rsa"), ("rsa", "ecdsa")], ids="-".join)
def test_what_the_client_takes(h2d, pairs, version, order):
	"""ECDSA wherever the client takes it, in whatever order the files stand."""
	server = h2d.new(listens=("tls",), workers=2)
	put(server, pairs, order)
	server.start()
	for name, cert in ((None, "default.example"), ("a.example", "a.example"), ("unknown.example", "default.example")):
		assert shown(server, pairs, name, version) == (cert, "ecdsa")
		assert shown(server, pairs, name, version, "-sigalgs", ECDSA_ONLY) == (cert, "ecdsa")
		assert shown(server, pairs, name, version, "-sigalgs", RSA_ONLY) == (cert, "rsa")


def test_one_kind_alone(h2d, pairs):
	"""The client that takes no other kind is refused, and a reload that adds it changes that."""
	server = h2d.new(listens=("tls",), workers=2)
	put(server, pairs, ("ecdsa",))
	server.start()
	for version in ("-tls1_2", "-tls1_3"):
		assert shown(server, pairs, "a.example", version, "-sigalgs", RSA_ONLY) is None
	put(server, pairs)
	server.reload()
	for version in ("-tls1_2", "-tls1_3"):
		assert shown(server, pairs, "a.example", version, "-sigalgs", RSA_ONLY) == ("a.example", "rsa")


def test_each_expiry(h2d, pairs):
	server = h2d.new(listens=("tls",), workers=2)
	put(server, pairs)
	server.start()
	with server.connect("admin") as c:
		rows = re.findall(rb'^h2d_certificate_expiry_timestamp_seconds\{server="(.*?)",key="(.*?)"\} \d{10}$', c.get("/metrics").body, re.M)
	assert rows == [(name, kind) for name in (b"default.example", b"a.example") for kind in (b"ecdsa", b"rsa")]


def test_faults(h2d, pairs):
	"""Each pair is looked at: whose key it is, that no two are of one kind, how many there are."""
	server = h2d.new(listens=("tls",))
	a, rsa, other = pairs["a.example", "ecdsa"], pairs["a.example", "rsa"], pairs["default.example", "ecdsa"]
	for certificates, keys, line, said in (
			([a.cert, rsa.cert], [rsa.key, a.key], 3, r"certificate-key \S+a\.example\.rsa\.key does not match certificate \S+a\.example\.crt"),
			([rsa.cert, a.cert], [rsa.key, other.key], 3, r"certificate-key \S+default\.example\.key does not match"),
			([a.cert, other.cert], [a.key, other.key], 2, r"certificate \S+default\.example\.crt has the same type of key as \S+a\.example\.crt"),
			([a.cert, rsa.cert], [a.key], 3, "certificate-key: 1 instead of 2 files"),
			([a.cert, rsa.cert], [a.key, rsa.key + ".none"], 3, r'certificate-key "\S+none": No such file'),
			([a.cert, ""], [a.key, rsa.key], 2, "certificate: file names must not be empty")):
		section = "tls {\ncertificate = {%s}\ncertificate-key = {%s}\n}" % tuple(", ".join('"%s"' % p for p in list_) for list_ in (certificates, keys))
		server.put_conf(section + "\n" + conf(server, pairs, top=""))
		faults = re.findall(r"h2d\.conf:(\d+): (.*)", server.run("-t", check=1).err)
		assert [int(at) for at, text in faults] == [line] and re.match(said, faults[0][1]), faults
	put(server, pairs)
	assert "does not cover" not in server.run("-t", check=0).err


def test_a_name_of_one_alone(h2d, pairs, tmp_path):
	"""Clients that are shown the other one refuse it: -t says which."""
	wide = harness.Certificate(str(tmp_path), "a.example", ["DNS:b.example"], kind="rsa")
	some = dict(pairs)
	some["a.example", "rsa"] = wide
	server = h2d.new(listens=("tls",))
	server.put_conf(conf(server, some, of_a='aliases = {"b.example"} '))
	said = re.findall(r"certificate \S+/(\S+) does not cover \"b\.example\"", server.run("-t", check=0).err)
	assert said == ["a.example.crt"]
