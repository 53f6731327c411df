"""listen … { haproxy-agent = true }: a line for HAProxy's agent-check, past the acceptor and when no client has room."""
import contextlib
import re
import socket

import pytest

from server import SLOW

LISTEN = 'listen "unix:%s" { haproxy-agent = true  socket-mode = "0600" }'


def ask(path, said=b""):
	"""All that the listener says until it ends the connection."""
	with socket.socket(socket.AF_UNIX) as s:
		s.settimeout(30 * SLOW)
		s.connect(path)
		with contextlib.suppress(BrokenPipeError):  # it has answered and ended by then
			s.sendall(said)
		return s.makefile("rb").read()


@pytest.fixture(params=["reuseport", "acceptor"])
def agent(request, h2d):
	server = h2d.new(workers=2, dispatch=request.param, listens=("tcp",), files={"page": "page"})
	server.agent = server.path("agent.sock")
	server.put_conf(server.conf_text + LISTEN % server.agent)
	return server.start()


def test_a_share(agent):
	for said in (b"", b"hello\n", b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
		assert re.fullmatch(rb"up ([1-9]|[1-9]\d|100)%\n", ask(agent.agent, said)), said


def test_no_share(agent):
	agent.run("-s", "drain", check=0)
	assert ask(agent.agent) == b"up 0% # drained\n"
	agent.reload()
	agent.wait_up(2)
	assert ask(agent.agent) == b"up 0% # drained\n"
	agent.run("-s", "undrain", check=0)
	assert re.fullmatch(rb"up [1-9]\d*%\n", ask(agent.agent))


def test_without_room(h2d):
	"""No client has room any more, the balancer is answered, and hears of it."""
	server = h2d.new(workers=1, listens=("tcp",), conf="worker-connections = 16", files={"page": "page"})
	path = server.path("agent.sock")
	server.put_conf(server.conf_text + LISTEN % path)
	server.start()
	held = [server.connect("tcp") for _ in range(14)]
	try:
		for c in held:
			assert c.get("/page").status == 200
		share = int(re.fullmatch(rb"up (\d+)%\n", ask(path)).group(1))
		assert 1 <= share <= 25, share
	finally:
		for c in held:
			c.close()


def test_nothing_else(h2d):
	server = h2d.new()
	for other in ("admin", "tls", "redirect-to-https", "proxy-protocol"):
		server.put_conf(server.conf_text + 'trusted-proxies = {"unix"}\nlisten "127.0.0.1:0" { haproxy-agent = true\n%s = true }\n' % other)
		done = server.run("-t", check=1)
		assert "haproxy-agent = true needs %s = false" % other in done.err
		server.write_conf()
