"""TLS handshakes that never end: what they may take of a worker, who is let in beside them, and behind which proxy."""
import socket

import pytest

import client
import procs


# The timeout is longer than any test.
LIMITS = "limits { handshakes = %d }  timeouts { handshake = 600 }"


def start(h2d, handshakes, **options):
	return h2d(workers=1, sections=LIMITS % handshakes, **options)


def silent(server, n, source="127.0.0.1", head=b""):
	"""Connections that say nothing, or the beginning of a ClientHello."""
	made = [socket.create_connection(("127.0.0.1", server.ports["tls"]), client.DEADLINE, (source, 0)) for _ in range(n)]
	for s in made:
		s.sendall(head)
	return made


def open_ones(sockets):
	"""Those that the server has not closed yet."""
	def is_open(s):
		s.setblocking(False)
		try:
			return s.recv(1) != b""
		except BlockingIOError:
			return True
		except ConnectionResetError:
			return False
	return [s for s in sockets if is_open(s)]


def is_served(server, source):
	try:
		with client.Client.tls(server.ports["tls"], source=source) as c:
			return c.get("/").status == 200
	except OSError:
		return False


def counted(server):
	return server.status()["totals"]["limit_handshakes"]


@pytest.mark.parametrize("head", [b"", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_of_one_client(h2d, head):
	"""Half of all may be slow; that client, too, is served beside them."""
	server = start(h2d, 40)
	held = silent(server, 30, head=head)
	procs.wait_for(lambda: is_served(server, "127.0.0.2") and counted(server) == 10, said="those beyond the share are closed")
	procs.wait_for(lambda: len(open_ones(held)) == 20, said="and no others")
	assert is_served(server, "127.0.0.1")
	server.log.wait(r"connection 127\.0\.0\.1: too many slow TLS handshakes")
	with client.Client.unix(server.admin_path) as c:
		assert 'h2d_limits_total{worker="0",limit="handshakes"}' in c.get("/metrics").body.decode()
	for s in held:
		s.close()


def proxied(server, header):
	plain = client.tcp_socket(server.ports["tls"])
	plain.sendall(header)
	return client.Client(client.tls_context().wrap_socket(plain, server_hostname="localhost"), scheme="https")


def test_behind_a_proxy(h2d):
	"""By the client that the PROXY header names: the proxy's other clients come in."""
	server = h2d.new(workers=1, listens=("tls",), sections='trusted-proxies = {"127.0.0.0/8"}  ' + LIMITS % 40)
	server.put_conf(server.conf_text.replace("tls = true", "tls = true  proxy-protocol = true"))
	server.start()
	header = b"PROXY TCP4 192.0.2.%d 192.0.2.9 1000 443\r\n"
	held = silent(server, 30, head=header % 1)
	def looked():
		with proxied(server, header % 2) as c:
			return c.get("/").status == 200 and counted(server) == 10
	procs.wait_for(looked, said="those beyond the share are closed, beside another client that is served")
	server.log.wait(r"connection 192\.0\.2\.1: too many slow TLS handshakes")
	for s in held:
		s.close()
