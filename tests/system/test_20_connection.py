"""Before and around HTTP/2: prefaces, other protocols, sudden ends, what each listener answers."""
import re
import socket
import ssl

import pytest
from hyperframe import frame as hf

import client
import procs
from harness import need_ipv6


def still_serves(server, how="tcp"):
	with server.connect(how) as c:
		assert c.get("/").status == 200


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_port_without_http1(h2d, dispatch):
	"""HTTP/2 in whatever pieces; what is anything else is cut off before a request is made of it. A reload changes that."""
	server = h2d(listens=("tcp",), dispatch=dispatch, sections='listen "127.0.0.2:0" { http1 = false }')
	line = server.log.wait(r" listening on 127\.0\.0\.2:\d+ \(HTTP/2 only\)")[0]
	at = "127.0.0.2", int(re.search(r"127\.0\.0\.2:(\d+)", line)[1])
	with socket.create_connection(at, client.DEADLINE) as s:
		raw = client.Raw(s, preface=False)
		for i in range(len(client.PREFACE)):
			raw.send_bytes(client.PREFACE[i:i + 1])
		raw.send_bytes(hf.SettingsFrame(0).serialize() + raw.headers(1, raw.head()).serialize())
		assert raw.status_of(1) == 200
	asked = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
	for text in (asked, b"PRI" + asked[3:], b"G"):
		with socket.create_connection(at, client.DEADLINE) as s:
			s.sendall(text)
			assert b"HTTP/1" not in client.read_all(s)
	server.put_conf(server.conf_text.replace("http1 = false", "http1 = true"))
	server.reload()
	with socket.create_connection(at, client.DEADLINE) as s:
		s.sendall(asked)
		assert s.recv(12) == b"HTTP/1.1 200"


def test_tls_to_the_cleartext_port(site):
	with socket.create_connection(("127.0.0.1", site.ports["tcp"]), client.DEADLINE) as s:
		with pytest.raises((ssl.SSLError, OSError)):
			client.tls_context().wrap_socket(s, server_hostname="x")
	still_serves(site)


def test_cleartext_to_the_tls_port(site):
	with socket.create_connection(("127.0.0.1", site.ports["tls"]), client.DEADLINE) as s:
		s.sendall(client.PREFACE)
		client.read_all(s)
	still_serves(site, "tls")


REQUESTS = [b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n",
	b"GET / HTTP/1.1\r\n\r\n", b"PUT /files/a HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n" + b"x" * 100000,
	b"CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n", b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n"]


@pytest.mark.parametrize("request_text", REQUESTS, ids=["get", "1.0", "options", "no host", "put", "connect", "head"])
def test_cleartext_request_to_the_tls_port(site, request_text):
	"""It is answered in cleartext, to the last byte, and told where to go; byte by byte, too."""
	before = site.status()["totals"]
	for step in (len(request_text), 1) if len(request_text) < 1000 else (len(request_text),):
		with socket.create_connection(("127.0.0.1", site.ports["tls"]), client.DEADLINE) as s:
			s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
			for at in range(0, len(request_text), step):
				s.sendall(request_text[at:at + step])
			answer = client.read_all(s)
		head, _, body = answer.partition(b"\r\n\r\n")
		assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"\r\nconnection: close" in head, answer
		assert (b"https://" in body) == (not request_text.startswith(b"HEAD"))
		assert b"strict-transport-security" not in head
	site.log.wait("connection 127.0.0.1: this port uses TLS: use https://")
	assert site.status()["totals"]["handshake_failures"] > before["handshake_failures"]
	still_serves(site, "tls")


def test_connections_that_end_at_once(site, how):
	for i in range(60):
		s = socket.create_connection(("127.0.0.1", site.ports[how]), client.DEADLINE)
		if i % 3 == 1:
			s.sendall(client.PREFACE[:i % 24])
		if i % 3 == 2:
			s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
				b"\x01\x00\x00\x00\x00\x00\x00\x00")
		s.close()
	still_serves(site, how)


def test_reset_in_the_middle_of_responses(h2d, how):
	server = h2d(files={"large": b"x" * 4000000})
	for _ in range(10):
		c = server.connect(how)
		for _ in range(5):
			c.headers_of(c.send(path="/large"))
		plain = c.sock
		plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
			b"\x01\x00\x00\x00\x00\x00\x00\x00")
		plain.close()
	still_serves(server, how)


def test_unix_listener(h2d):
	server = h2d(listens=("unix",))
	with server.connect("unix") as c:
		assert c.get("/").status == 200
		assert c.get("/status.json").status == 404


def test_ipv6(h2d):
	need_ipv6()
	server = h2d.new(listens=("tcp",))
	server.put_conf(server.conf_text.replace("127.0.0.1:0", "[::1]:0"))
	server.start()
	with socket.create_connection(("::1", server.ports["tcp"]), client.DEADLINE) as s:
		assert client.Client(s).get("/").status == 200


@pytest.mark.parametrize("listen", ['listen "0.0.0.0:%d" {}\nlisten "[::]:%d" {}', 'listen ":%d" {} # %d'], ids=["two lines", "one"])
def test_both_wildcards_on_one_port(h2d, listen):
	"""[::] is IPv6 only, so both lines serve both, and so does the one without a host."""
	need_ipv6()
	server = h2d.new(listens=("tcp",))
	port = procs.free_port()
	server.put_conf(server.conf_text.replace('listen "127.0.0.1:0" { tls = false }', listen % (port, port)))
	server.spawn()
	server.log.wait(" listening on ", count=3)
	server.wait_up()
	for host in ("127.0.0.1", "::1"):
		with socket.create_connection((host, port), client.DEADLINE) as s:
			assert client.Client(s).get("/").status == 200


def test_admin_listener_answers_nothing_else(site):
	with site.connect("admin") as c:
		assert c.get("/").status == 404
		assert c.get("/index.html").status == 404
		assert c.get("/files/x").status == 404
		health = c.get("/healthz")
		assert health.status == 200
		status = c.get("/status.json")
		assert status.status == 200 and status.get("content-type").startswith(
			"application/json")
		assert c.request("POST", "/status.json").status == 405


def test_health_is_public_and_status_is_not(site, how):
	with site.connect(how) as c:
		assert c.get("/healthz").status == 200
		assert c.get("/status.json").status == 404
