"""Certificates that clients will refuse, or soon: said by -t, at the start and at a reload, and by /metrics and /status."""
import datetime
import os
import re
import subprocess
import time

import pytest

import harness

OPENSSL = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Issued:
	"""A root, an intermediate and a leaf for a.example; and files with some of them."""

	def __init__(self, folder):
		self.folder = folder
		self.key = self.path("leaf.key")
		self.run(*OPENSSL, "-subj", "/CN=root", "-days", "30", "-keyout", self.path("root.key"), "-out", self.path("root.crt"))
		for name, issuer, extension in (("middle", "root", "basicConstraints=critical,CA:TRUE"),
				("leaf", "middle", "subjectAltName=DNS:a.example,DNS:*.b.example")):
			self.run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
				"-keyout", self.path(name + ".key"), "-out", self.path(name + ".csr"))
			with open(self.path("extension"), "w") as f:
				f.write(extension + "\n")
			self.run("openssl", "x509", "-req", "-in", self.path(name + ".csr"), "-days", "30", "-CAcreateserial", "-CA",
				self.path(issuer + ".crt"), "-CAkey", self.path(issuer + ".key"), "-extfile", self.path("extension"),
				"-out", self.path(name + ".crt"))

	def path(self, name):
		return os.path.join(self.folder, name)

	def run(self, *command):
		subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

	def chain(self, *names):
		path = self.path("-".join(names) + ".pem")
		with open(path, "w") as out:
			for name in names:
				with open(self.path(name + ".crt")) as f:
					out.write(f.read())
		return path


@pytest.fixture(scope="module")
def issued(tmp_path_factory):
	return Issued(str(tmp_path_factory.mktemp("issued")))


def put(server, certificate, key, names=()):
	server.put_conf('worker-processes = 1\npid-file = "%s"\nlisten "127.0.0.1:0" { tls = true }\nlisten "127.0.0.1:0" { tls = false }\nlisten "unix:%s" { admin = true }\n'
		'tls {\ncertificate = "%s"\ncertificate-key = "%s"\n}\nserver "_" {\nroot = "%s"\naliases = {%s}\n}\n' % (
		server.pid_path, server.admin_path, certificate, key, server.root, ", ".join('"%s"' % n for n in names)))


def warnings(server):
	return re.findall(r"h2d\.conf:(\d+): warning: (.*)", server.run("-t", check=0).err)


@pytest.mark.parametrize("names, said", [
	(("leaf", "middle"), None), (("leaf", "middle", "root"), None),
	(("leaf",), "add the issuer's certificate to the file"),
	(("leaf", "root"), "put each issuer's certificate after the one that it signed"),
	(("leaf", "root", "middle"), "put each issuer's certificate after the one that it signed"),
], ids=lambda v: "-".join(v) if isinstance(v, tuple) else "")
def test_the_way_to_the_root(h2d, issued, names, said):
	server = h2d.new()
	put(server, issued.chain(*names), issued.key)
	found = warnings(server)
	# The middle one's issuer is a root that this machine does not know: nobody else's business but the clients'.
	if names == ("leaf", "middle"):
		found = [line for line in found if "add the issuer's certificate" not in line[1]]
	assert [(line, said in text) for line, text in found] == ([("7", True)] if said else []), found


def test_names(h2d, issued):
	"""A server's name that its certificate is not good for is named; a wildcard needs one name below it."""
	server = h2d.new()
	put(server, issued.chain("leaf", "middle", "root"), issued.key, ["a.example", "*.b.example", "b.example", "c.example"])
	assert [re.search(r'does not cover "(.*?)"', text).group(1) for line, text in warnings(server) if line == "12"] == [
		"b.example", "c.example"]


def expiring(folder, days):
	"""A certificate that ends so many days from now; before now where they are less than none."""
	cert = harness.Certificate(str(folder))
	end = datetime.datetime.utcnow() + datetime.timedelta(days=days, hours=1)
	subprocess.run(["openssl", "req", "-new", "-key", cert.key, "-subj", "/CN=localhost", "-out", str(folder / "csr")], check=True)
	(folder / "ca").mkdir()
	(folder / "ca" / "index.txt").write_text("")
	(folder / "ca.cnf").write_text("[ca]\ndefault_ca=x\n[x]\ndatabase=%s/ca/index.txt\nnew_certs_dir=%s/ca\nrand_serial=yes\n"
		"default_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:localhost\n" % (folder, folder))
	subprocess.run(["openssl", "ca", "-batch", "-selfsign", "-config", str(folder / "ca.cnf"), "-keyfile", cert.key, "-in",
		str(folder / "csr"), "-startdate", "20200101000000Z", "-enddate", end.strftime("%Y%m%d%H%M%SZ"), "-out", cert.cert],
		check=True, stderr=subprocess.DEVNULL)
	return cert, end


@pytest.mark.parametrize("days, said", [(-3, "expired on"), (0, "expires in 0 days"), (13, "expires in 13 days"), (14, None)])
def test_time(h2d, tmp_path, days, said):
	cert, end = expiring(tmp_path, days)
	server = h2d.new()
	put(server, cert.cert, cert.key)
	found = warnings(server)
	assert [(line, said in text and end.strftime("on %Y-%m-%d %H:%M UTC") in text) for line, text in found] == (
		[("7", True)] if said else []), found
	server.start()
	server.log.wait("serving: generation")
	assert len(server.log.find(" warn .*certificate .*expire")) == len(found)
	at = int((end - datetime.datetime(1970, 1, 1)).total_seconds())
	with server.connect("admin") as c:
		assert b'h2d_certificate_expiry_timestamp_seconds{server="_",key="ecdsa"} %d\n' % at in c.get("/metrics").body
	assert server.status()["certificate_expires"] == at
	assert at - time.time() < 15 * 86400
