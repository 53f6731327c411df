"""Rates and shares of clients: who asks more often than requests-per-second is answered 429, who has too many connections is
closed, over all workers, across reloads, and nobody else is. H2D_RATE_CLIENTS: how many clients ask beside greedy ones (300)."""
import itertools
import os
import signal
import socket
import time

import pytest

import client
import h1client
import procs

CLIENTS = int(os.environ.get("H2D_RATE_CLIENTS", "300"))
BURST = 20
LIMITS = "limits { requests-per-second = 1  requests-burst = %d  %s }"
PROXY = 'trusted-proxies = {"127.0.0.1"}\nlisten "127.0.0.1:0" { proxy-protocol = true }\n'


def start(h2d, more="", **options):
	options.setdefault("listens", ("tcp",))
	options.setdefault("workers", 2)
	sections = options.pop("sections", "")
	return h2d(sections=sections + LIMITS % (BURST, more), **options)


def connection(server, version="h1", source="127.0.0.1", how="tcp"):
	make = client.Client if version == "h2" else h1client.H1
	if how == "tls":
		return make.tls(server.ports["tls"], source=source, seen=server.lint.see)
	return make.tcp(server.ports["tcp"], source=source, seen=server.lint.see)


def until_refused(ask):
	"""Asks until the answer is 429: that answer, or its status."""
	for _ in range(1000):
		answer = ask()
		if getattr(answer, "status", answer) == 429:
			return answer
	raise AssertionError("nothing was refused")


class Spree:
	"""A client that asks until it is refused, each time by a connection of its own, or by one."""

	def __init__(self, server, **options):
		self.server, self.options = server, options
		self.begun = time.monotonic()
		self.served = 0

	def ask(self):
		with connection(self.server, **self.options) as c:
			return c.get("/")

	def go_on(self):
		for _ in range(1000):
			answer = self.ask()
			if answer.status == 429:
				return answer
			assert answer.status == 200
			self.served += 1
		raise AssertionError("nothing was refused")

	def check(self):
		"""It was served no more than it has since it began."""
		assert BURST <= self.served <= BURST + 1 + time.monotonic() - self.begun


def counted(server):
	return server.status()["totals"]["limit_requests"]


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
@pytest.mark.parametrize("version, how", [("h1", "tcp"), ("h2", "tcp"), ("h2", "tls")])
def test_over_all_workers(h2d, dispatch, version, how):
	server = start(h2d, listens=("tcp", "tls"), dispatch=dispatch)
	spree = Spree(server, version=version, how=how)
	answer = spree.go_on()
	spree.check()
	assert answer.get("retry-after") == "1"
	with connection(server, version, "127.0.0.2", how) as c:
		assert c.get("/").status == 200
		assert c.get("/healthz").status == 200
	server.log.wait(r"connection 127\.0\.0\.1: client exceeds requests-per-second")
	assert counted(server) >= 1
	with server.connect("admin") as c:
		assert b'h2d_limits_total{worker="0",limit="requests-per-second"}' in c.get("/metrics").body
		assert [c.get("/healthz").status for _ in range(2 * BURST)] == [200] * 2 * BURST


def test_by_one_connection_with_many_streams(h2d):
	"""A page with more files than the burst."""
	server = start(h2d)
	begun = time.monotonic()
	with server.connect() as c:
		streams = [c.send("GET", "/") for _ in range(3 * BURST)]
		answers = [c.response(s) for s in streams]
	statuses = [a.status for a in answers]
	assert set(statuses) == {200, 429}
	assert BURST <= statuses.count(200) <= BURST + 1 + time.monotonic() - begun


def test_a_body_that_is_refused(h2d):
	server = start(h2d, server='upload-dir = "up"  upload-public = true', files={"up/x": "x"})
	Spree(server).go_on()
	for version in "h1", "h2":
		with connection(server, version) as c:
			answer = c.request("PUT", "/files/a", body=b"x" * 100000)
			assert answer.status in (201, 204, 429)
			if answer.status == 429:
				assert answer.get("retry-after")


def test_across_reloads(h2d):
	server = start(h2d)
	spree = Spree(server)
	spree.go_on()
	server.reload()
	spree.go_on()
	spree.check()
	with open(server.conf_path) as f:
		text = f.read()
	server.put_conf(text.replace("requests-per-second = 1 ", "requests-per-second = 1000000 "))
	server.reload()
	# It was over the old rate, and waits no longer than by the new one.
	assert [spree.ask().status for _ in range(BURST)].count(429) <= 1


def test_a_worker_that_dies_forgets_nothing(h2d):
	server = start(h2d, workers=1)
	spree = Spree(server)
	spree.go_on()
	server.allow_alert("killed by signal 9")
	server.baseline = None
	os.kill(server.worker_pids()[0], signal.SIGKILL)
	server.wait_up()
	spree.go_on()
	spree.check()


def test_its_page_and_its_locations(h2d):
	server = start(h2d, files={"calm.html": "calm down", "login/index.html": "login"}, server="""
error-page "429" { file = "/calm.html" }
location "/login" { requests-per-second = 1  requests-burst = 2 }
location "/free" { requests-per-second = 0 }
""")
	with server.h1() as c:
		assert c.get("/login/").status == 200
		answer = until_refused(lambda: c.get("/login/"))
		assert answer.body == b"calm down" and answer.get("retry-after") == "1"
		assert [c.get("/").status for _ in range(BURST)] == [200] * BURST
		assert [c.get("/free/").status for _ in range(2 * BURST)] == [404] * 2 * BURST


def test_explained(h2d):
	server = start(h2d, server='location "/login" { requests-per-second = 3 }')
	out = server.run("--explain", "http://localhost/", check=0).out
	assert "requests-per-second limits each client to 1, burst %d, over all workers" % BURST in out
	out = server.run("--explain", "http://localhost/login", check=0).out
	assert "requests-per-second limits each client to 3, burst %d" % BURST in out


# --- connections --------------------------------------------------------------------------------

def held(server, n, source="127.0.0.1"):
	"""So many connections that were made, of which each has asked, as far as they were let in."""
	made = [client.tcp_socket(server.ports["tcp"], source=source) for _ in range(n)]
	return [s for s in made if is_served(s)]


def is_served(s):
	try:
		s.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
		return s.recv(65536).startswith(b"HTTP/1.1 200")
	except OSError:
		return False


def close(sockets):
	for s in sockets:
		s.close()


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_number_of_connections(h2d, dispatch):
	"""Over both workers; those that are closed make room; admin and others are not touched."""
	server = h2d(sections="limits { connections-per-client = 8 }", workers=2, dispatch=dispatch, listens=("tcp",))
	mine = held(server, 20)
	assert len(mine) == 8
	others = held(server, 5, "127.0.0.2")
	assert len(others) == 5
	status = server.status()
	assert status["totals"]["limit_client_connections"] == 12
	server.log.wait(r"connection 127\.0\.0\.1: client exceeds connections-per-client")
	close(mine[:3])
	procs.wait_for(lambda: server.status()["totals"]["connections"] == 8 - 3 + 5 + 1, said="they are gone")
	mine = mine[3:] + held(server, 10)
	assert len(mine) == 8
	close(mine + others)


def test_connections_of_a_worker_that_dies(h2d):
	"""A worker that was killed has none any more."""
	server = h2d(sections="limits { connections-per-client = 4 }", workers=1, listens=("tcp",))
	made = held(server, 3)
	server.allow_alert("killed by signal 9")
	server.baseline = None
	os.kill(server.worker_pids()[0], signal.SIGKILL)
	server.wait_up()
	close(made)

	def again():
		made = held(server, 4)
		close(made)
		return len(made) == 4
	procs.wait_for(again, said="those of the worker that died are not counted for ever")


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_new_connections(h2d, dispatch):
	server = h2d(sections="limits { new-connections-per-second = 5 }", workers=2, dispatch=dispatch, listens=("tcp",))
	begun = time.monotonic()
	mine = held(server, 30)
	assert 5 <= len(mine) <= 5 + 1 + 5 * (time.monotonic() - begun)
	others = held(server, 5, "127.0.0.2")
	assert len(others) == 5
	assert server.status()["totals"]["limit_new_connections"] == 30 - len(mine)
	server.log.wait(r"connection 127\.0\.0\.1: client exceeds new-connections-per-second")
	close(mine + others)


# --- bytes --------------------------------------------------------------------------------------

SIZE = 120000


def slowed(server):
	return server.status()["totals"]["limit_bytes"]


@pytest.mark.parametrize("key", ["client-bytes-per-second", "connection-bytes-per-second"])
@pytest.mark.parametrize("version, how", [("h1", "tcp"), ("h2", "tls")])
def test_bytes(h2d, key, version, how):
	"""No faster than that, and to the last byte; what has another address, or another connection, is not touched by it."""
	server = h2d(sections="limits { %s = 50K }" % key, files={"large": "x" * SIZE, "small": "y" * 1000}, listens=("tcp", "tls"))
	begun = time.monotonic()
	with connection(server, version, how=how) as c:
		answer = c.get("/large")
		took = time.monotonic() - begun
		assert answer.status == 200 and answer.body == b"x" * SIZE
	# What may go at once is a fifth of a second's bytes.
	assert took > (SIZE - 15000) / 51200
	assert slowed(server) == 1
	server.log.wait(r"connection 127\.0\.0\.1: response slowed down \(client-bytes-per-second")
	with connection(server, version, "127.0.0.2", how) as c:
		assert c.get("/small").body == b"y" * 1000
	assert slowed(server) == 1


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_bytes_of_a_client_over_workers(h2d, dispatch):
	"""Four connections together are no faster than one."""
	server = h2d(sections="limits { client-bytes-per-second = 100K }", files={"large": "x" * SIZE}, workers=2, dispatch=dispatch,
		listens=("tcp",))
	begun = time.monotonic()
	connections = [server.h1() for _ in range(4)]
	for c in connections:
		c.send(path="/large")
	answers = [c.response() for c in connections]
	took = time.monotonic() - begun
	assert all(a.body == b"x" * SIZE for a in answers)
	assert took > (4 * SIZE - 30000) / 102400
	for c in connections:
		c.close()


def test_bytes_by_location(h2d):
	"""A location has its own, or none; a client that leaves while it waits leaves nothing behind."""
	server = h2d(sections="limits { client-bytes-per-second = 50K }", files={"free/large": "x" * SIZE, "large": "x" * SIZE},
		server='location "/free/" { client-bytes-per-second = 0 }', listens=("tcp",))
	with server.h1() as c:
		assert len(c.get("/free/large").body) == SIZE
	assert slowed(server) == 0
	for version in "h1", "h2":
		with connection(server, version) as c:
			c.send("GET", "/large")
			procs.wait_for(lambda: slowed(server) > 0, said="it waits")
	out = server.run("--explain", "http://localhost/large", check=0).out
	assert "client-bytes-per-second limits each client to 51200 bytes per second, over all workers" in " ".join(out.split())


# --- uploads ------------------------------------------------------------------------------------

@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_number_of_uploads(h2d, dispatch):
	server = h2d(sections="limits { uploads-per-client = 3 }", server='upload-dir = "up"  upload-public = true',
		files={"up/x": "x"}, workers=2, dispatch=dispatch, listens=("tcp",))

	def begin(i, source="127.0.0.1"):
		c = connection(server, source=source)
		asked = "PUT", "/files/f%d" % i, [("content-length", "10")]
		c.ask(*asked)
		c.send_bytes(c.head(*asked))
		return c

	def live():
		return server.status()["totals"]["uploads_live"]
	mine = [begin(i) for i in range(3)]
	procs.wait_for(lambda: live() == 3, said="three uploads begin")
	with connection(server, "h2") as c:
		answer = c.request("PUT", "/files/more", body=b"0123456789")
		assert answer.status == 429 and answer.get("retry-after") == "1"
	with connection(server, "h1", "127.0.0.2") as c:
		assert c.request("PUT", "/files/other", body=b"0123456789").status == 201
	assert server.status()["totals"]["limit_uploads"] == 1
	server.log.wait(r"connection 127\.0\.0\.1: client exceeds uploads-per-client")
	for c in mine:
		c.send_bytes(b"0123456789")
		assert c.response().status == 201
		c.close()
	procs.wait_for(lambda: live() == 0, said="they are over")
	with connection(server, "h2") as c:
		assert c.request("PUT", "/files/more", body=b"0123456789").status == 201


# --- behind proxies -----------------------------------------------------------------------------

def proxied(server, header):
	"""A connection that begins with a PROXY header of version 1."""
	s = socket.create_connection(("127.0.0.1", server.ports["proxied"]), client.DEADLINE)
	s.sendall(header.encode())
	return s


def header_of(source):
	if ":" in source:
		return "PROXY TCP6 %s ::1 4711 80\r\n" % source
	return "PROXY TCP4 %s 192.0.2.80 4711 80\r\n" % source


def start_proxied(h2d, limits, **options):
	server = h2d(sections=PROXY + limits, workers=2, listens=("tcp",), **options)
	line = server.log.wait(r"listening on .*\(proxy-protocol\)", count=1)[0]
	server.ports["proxied"] = int(line.split("127.0.0.1:")[1].split()[0])
	return server


def ask_as(server, source, version="h1"):
	make = client.Client if version == "h2" else h1client.H1
	with make(proxied(server, header_of(source)), seen=server.lint.see) as c:
		return c.get("/").status


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_by_a_proxy_header(h2d, version):
	server = start_proxied(h2d, LIMITS % (2, ""))
	for greedy in "203.0.113.1", "2001:db8:0:1::1":
		assert [ask_as(server, greedy, version) for _ in range(2)] == [200, 200]
		until_refused(lambda: ask_as(server, greedy, version))
	# The same network is the same client.
	names = itertools.count(1)
	until_refused(lambda: ask_as(server, "2001:db8:0:1::%x" % next(names), version))
	assert ask_as(server, "2001:db8:0:2::1", version) == 200
	assert ask_as(server, "203.0.113.2", version) == 200


def test_connections_by_a_proxy_header(h2d):
	"""The proxy may have any number, each client of its own few; and a connection in which no header comes is nobody's."""
	server = start_proxied(h2d, "limits { connections-per-client = 3 }")

	def ask(source):
		s = proxied(server, header_of(source))
		return s, is_served(s)
	made = [ask("203.0.113.1") for _ in range(8)]
	assert [served for _, served in made].count(True) == 3
	others = [ask("203.0.113.%d" % i) for i in range(2, 8)]
	assert all(served for _, served in others)
	close([s for s, _ in made + others])


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_by_forwarded_addresses(h2d, version):
	"""Each client of a proxy counts for itself, and whoever is no proxy may say what he likes."""
	server = h2d(sections=LIMITS % (2, ""), workers=2, listens=("tcp",),
		conf='trusted-proxies = {"127.0.0.1"}\nclient-address = x-forwarded-for')

	def statuses(source, names):
		with connection(server, version, source) as c:
			return [c.get("/", [("x-forwarded-for", name)]).status for name in names]
	others = ["203.0.113.%d" % i for i in range(10)]
	assert 429 in statuses("127.0.0.1", ["198.51.100.1"] * 10)
	assert statuses("127.0.0.1", others) == [200] * 10
	assert 429 in statuses("127.0.0.2", others)


def test_honest_ones_beside_greedy_ones(h2d):
	"""Ten take what they can get; all others, each of which asks a few times, are answered."""
	server = start_proxied(h2d, "limits { requests-per-second = 1  requests-burst = 5 }")
	greedy = ["198.51.100.%d" % i for i in range(10)]
	honest = ["10.%d.%d.%d" % (i >> 16, i >> 8 & 255, i & 255) for i in range(CLIENTS)]
	begun, taken, refused, failed = time.monotonic(), 0, 0, 0
	for i, who in enumerate(honest):
		with h1client.H1(proxied(server, header_of(greedy[i % 10]))) as c:
			statuses = [c.get("/").status for _ in range(10)]
			taken += statuses.count(200)
			refused += statuses.count(429)
		with h1client.H1(proxied(server, header_of(who))) as c:
			failed += [c.get("/").status for _ in range(3)].count(429)
	assert taken + refused == 10 * len(honest)
	assert taken <= 10 * (5 + 1 + time.monotonic() - begun)
	assert failed == 0
