"""Cipher suites and groups: h2d's own, those that the configuration names, and what they carry."""
import re
import ssl
import subprocess

import pytest

import client

TLS12 = ssl.TLSVersion.TLSv1_2


def start(h2d, keys):
	server = h2d.new()
	server.put_conf(server.conf_text.replace("tls { ", "tls { %s  " % keys))
	return server.start()


def connect(server, ciphers, alpn=("h2", "http/1.1")):
	context = client.tls_context(maximum=TLS12, alpn=alpn)
	context.set_ciphers(ciphers)
	return client.tls_socket(server.ports["tls"], context=context)


def group(server, *options):
	"""The group that a handshake took, in openssl's words; None: there was none."""
	done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % server.ports["tls"], *options],
		input="", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
	found = re.search(r"(?:(?:Server|Peer) Temp Key|Negotiated TLS1.3 group): (\w+)(?:, (P-\d+|prime256v1|secp384r1))?", done.stdout)
	return found and (found[2] or found[1])


@pytest.mark.parametrize("ciphers", ["ECDHE+AESGCM", "ECDHE+CHACHA20"])
def test_suites_of_auto(site, ciphers):
	with connect(site, ciphers) as s:
		assert s.selected_alpn_protocol() == "h2"


@pytest.mark.parametrize("ciphers", ["ECDHE+AES+SHA256:ECDHE+AES+SHA1:@SECLEVEL=0", "kRSA+AESGCM", "DHE+AESGCM"])
def test_suites_that_auto_has_not(site, ciphers):
	with pytest.raises((ssl.SSLError, ConnectionResetError)):
		connect(site, ciphers)


def test_groups_of_auto(site):
	"""The hybrid group comes first where OpenSSL has it (3.5)."""
	known = subprocess.run(["openssl", "list", "-kem-algorithms"], stdout=subprocess.PIPE, text=True, check=True).stdout
	assert group(site) == ("X25519MLKEM768" if "X25519MLKEM768" in known else "X25519")
	assert group(site, "-groups", "X25519") == "X25519"
	assert group(site, "-groups", "P-256:X25519") in ("X25519", "P-256", "prime256v1")
	assert group(site, "-groups", "P-256") in ("P-256", "prime256v1")
	assert group(site, "-groups", "P-521") is None


def test_forbidden_suites_never_carry_h2(h2d):
	"""RFC 9113, 9.2.2: whoever must have them gets HTTP/1.1; a client of HTTP/2 alone gets no_application_protocol."""
	server = start(h2d, 'ciphers = "ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:AES128-GCM-SHA256"')
	with connect(server, "ECDHE+AESGCM") as s:
		assert s.selected_alpn_protocol() == "h2"
	with connect(server, "ECDHE+AES128+SHA1:@SECLEVEL=0") as s:
		assert s.cipher()[0].endswith("-AES128-SHA")
		assert s.selected_alpn_protocol() == "http/1.1"
		s.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
		assert client.read_all(s).startswith(b"HTTP/1.1 200 ")
	with pytest.raises(ssl.SSLError, match="no application protocol"):
		connect(server, "ECDHE+AES128+SHA1:@SECLEVEL=0", alpn=("h2",))


def test_suites_and_curves_by_their_words(h2d):
	server = start(h2d, 'protocols = {"TLSv1.3"}  ciphers = "TLS_AES_256_GCM_SHA384"  groups = "secp384r1"')
	with client.tls_socket(server.ports["tls"]) as s:
		assert s.cipher()[0] == "TLS_AES_256_GCM_SHA384"
	assert group(server) in ("P-384", "secp384r1")
	assert group(server, "-groups", "X25519") is None


@pytest.mark.parametrize("keys, said", [
	('ciphers = "ECDHE+AESGCM:nonsense"', 'ciphers: "nonsense": OpenSSL has no such suite'),
	('groups = "X25519:P-255"', 'groups: "P-255": OpenSSL has no such group'),
	('ciphers = auto', 'ciphers must be'),
])
def test_words_that_are_none(h2d, keys, said):
	server = h2d.new()
	text = server.conf_text.replace("tls { ", "tls {\n%s\n" % keys)
	server.put_conf(text)
	line = text.split("\n").index(keys) + 1
	done = server.run("-t", check=1)
	assert re.search(r"h2d\.conf:%d: .*%s" % (line, re.escape(said)), done.err), done.err
	assert done.err.count("\n") == 1


def test_a_list_without_a_suite_is_a_fault(h2d):
	"""Words that OpenSSL has, of which none is left."""
	server = h2d.new()
	server.put_conf(server.conf_text.replace("tls { ", 'tls { ciphers = "aNULL"  '))
	assert "TLS: " in server.run("-t", check=1).err
