"""OCSP responses, stapled to certificates out of files: to whom, which of them, and which never."""
import re
import subprocess

import pytest

import client
import ocsp


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
	return ocsp.Authority(tmp_path_factory.mktemp("ocsp"), "authority")


def put(server, certs, staples):
	"""certs: chain and key of each; the n-th has the n-th of staples."""
	lists = [", ".join('"%s"' % p for p in paths) for paths in ([c for c, _ in certs], [k for _, k in certs], staples)]
	server.put_conf('worker-processes = 2\npid-file = "%s"\nlisten "127.0.0.1:0" { tls = true }\nlisten "unix:%s" { admin = true }\n'
		"tls {\ncertificate = {%s}\ncertificate-key = {%s}\nstapling-file = {%s}\n}\nserver \"a.example\" { root = \"%s\" }\n" % (
		server.pid_path, server.admin_path, *lists, server.root))


def status(server, *args):
	"""What a client that asks for it is stapled: what is said, or None."""
	done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % server.ports["tls"], "-servername", "a.example",
		"-alpn", "http/1.1", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=client.DEADLINE)
	out = done.stdout.decode("latin1")
	assert "BEGIN CERTIFICATE" in out, out
	said = re.search(r"Cert Status: (\w+)", out)
	return said and said.group(1)


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_stapled(h2d, authority, tmp_path, version):
	"""Each certificate has its own; who does not ask gets none."""
	certs = [authority.leaf("a.example", kind) for kind in ("ecdsa", "rsa")]
	staples = [authority.response(certs[0][0], str(tmp_path / "ecdsa.der")), ""]
	server = h2d.new(listens=("tls",), workers=2)
	put(server, certs, staples)
	server.start()
	assert status(server, version, "-status") == "good"
	assert status(server, version) is None
	assert status(server, version, "-status", "-sigalgs", "RSA-PSS+SHA256:RSA+SHA256") is None
	authority.response(certs[1][0], str(tmp_path / "rsa.der"))
	put(server, certs, ["", str(tmp_path / "rsa.der")])
	server.reload()
	assert status(server, version, "-status") is None
	assert status(server, version, "-status", "-sigalgs", "RSA-PSS+SHA256:RSA+SHA256") == "good"


def test_unfit(h2d, authority, tmp_path):
	"""What clients would refuse is not sent, and that is said once; the server serves all the same."""
	a, other, gone = (authority.leaf(name) for name in ("a.example", "b.example", "c.example"))
	authority.withdraw(gone[0])
	stranger = ocsp.Authority(tmp_path, "stranger")
	server = h2d.new(listens=("tls",), workers=2)
	put(server, [a], [authority.response(a[0], str(tmp_path / "good"))])
	server.start()
	assert status(server, "-status") == "good"
	for cert, staple, said in (
			(a, authority.response(a[0], str(tmp_path / "old"), at="-3d"), "it has expired"),
			(a, authority.response(a[0], str(tmp_path / "new"), at="+3d"), "it is not valid yet"),
			(a, authority.response(other[0], str(tmp_path / "other")), "it is for another certificate"),
			(a, stranger.response(stranger.leaf("a.example")[0], str(tmp_path / "stranger.der")), "it is for another certificate"),
			(gone, authority.response(gone[0], str(tmp_path / "revoked")), "it reports the certificate as revoked")):
		put(server, [cert], [staple])
		warning = r"h2d\.conf:8: (?:warning: )?stapling-file %s is not sent: %s" % (re.escape(staple), said)
		assert len(re.findall(warning, server.run("-t", check=0).err)) == 1
		server.reload()
		assert [status(server, "-status") for _ in range(3)] == [None] * 3
		assert len(re.findall(warning, server.log_text())) == 1


def test_faults(h2d, authority, tmp_path):
	"""A file without a response is a mistake, at its line."""
	a = authority.leaf("a.example")
	(tmp_path / "text").write_text("no DER\n")
	server = h2d.new(listens=("tls",))
	for staples, said in (([str(tmp_path / "text")], "the file has no OCSP response"), ([a[0]], "the file has no OCSP response"),
			([str(tmp_path / "none")], "No such file"), (["", str(tmp_path / "text")], "stapling-file: 2 instead of 1 files")):
		put(server, [a], staples)
		assert re.findall(r"h2d\.conf:(\d+): .*" + said, server.run("-t", check=1).err) == ["8"]
