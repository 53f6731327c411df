"""Behind a real HAProxy and a real nginx: whose requests they are, in the access log and in rules.

What a client writes itself (fields, PROXY lines) changes nothing on its way through the balancer.
"""
import subprocess

import pytest

from balancer import BAD, BALANCER, GOOD, GOOD6, H2D, RULES, Network
from harness import need_namespaces
from procs import wait_for
from server import Server
from tree import program

# Where a client goes, and how: HAProxy by TCP with PROXY headers of both versions, HAProxy by HTTP/2 in
# cleartext, nginx by HTTP/1.1. No h2 behind what speaks HTTP to the client itself.
WAYS = {
	"haproxy v2, TLS passed through, h2": ("https://{}/", "--http2"),
	"haproxy v2, TLS passed through, h1": ("https://{}/", "--http1.1"),
	"haproxy v1, h1": ("http://{}/", "--http1.1"),
	"haproxy v1, h2": ("http://{}/", "--http2-prior-knowledge"),
	"haproxy v2 with checks": ("http://{}:82/", "--http1.1"),
	"haproxy x-forwarded-for, h2c": ("http://{}:8080/", "--http1.1"),
	"nginx x-forwarded-for": ("http://{}:9080/", "--http1.1"),
}
V6 = [name for name in WAYS if "check" not in name and "h2c" not in name]
# What a client pretends, with another's address in it.
FORGED = [("x-forwarded-for", "%s"), ("x-forwarded-for", "1.1.1.1, %s"), ("x-forwarded-for", "%s, " + BALANCER),
	("x-forwarded-for", '"%s'), ("forwarded", "for=%s"), ("x-real-ip", "%s"), ("x-forwarded-for", "%s, unknown")]


def name_of(way):
	return way.translate(str.maketrans(" ,", "-_"))


pytestmark = pytest.mark.xdist_group("balancers")


class Balanced:
	def __init__(self, server, network):
		self.server = server
		self.network = network

	def ask_all(self, way, source, path, fields):
		"""The statuses of requests with a field each."""
		url, version = WAYS[way]
		host = "[2001:db8:1::1]" if ":" in source else "203.0.113.1"
		requests = [(version, "-H", field) for field in fields]
		if version != "--http2-prior-knowledge":
			return self.network.curl(source, url.format(host) + path, *requests)
		# curl 7.88 cannot ask twice on such a connection.
		return [self.network.curl(source, url.format(host) + path, r)[0] for r in requests]

	def ask(self, way, source, path):
		return self.ask_all(way, source, path, ["accept: */*"])[0]

	def logged(self, path):
		"""The addresses and statuses of those who asked for it."""
		with open(self.server.path("access.log")) as f:
			words = [line.split() for line in f]
		return [(w[0], int(w[8])) for w in words if w[6] == path]

	def wait_logged(self, wanted):
		"""Until the log has as many lines for each path, and then just those; workers write in no order."""
		wait_for(lambda: all(len(self.logged(path)) >= len(lines) for path, lines in wanted.items()))
		assert {path: sorted(self.logged(path)) for path in wanted} == {
			path: sorted(lines) for path, lines in wanted.items()}


@pytest.fixture(scope="module")
def balanced(cert, tmp_path_factory):
	need_namespaces("-n")
	network = Network()
	server = None
	try:
		tls = 'tls { certificate = "%s"  certificate-key = "%s" }\n' % (cert.cert, cert.key)
		# Those that H2D has; so many are waited for.
		server = Server(cert, workers=2, listens=("own",) * H2D.count("\nlisten "), conf=H2D + tls, server=RULES,
			preexec=network.server.enter, files={"guarded/page": "guarded", "page": "page"})
		server.start()
		network.balance(tmp_path_factory.mktemp("balancers"), cert)
		made = Balanced(server, network)
		for way in WAYS:
			wait_for(lambda way=way: made.ask(way, GOOD, "page") == 200, pause=0.2, said=way)
		yield made
	except BaseException:
		network.close()
		if server:
			server.finish(failed=True)
		raise
	network.close()
	server.finish()


def test_the_client_counts(balanced):
	wanted = {}
	for way in WAYS:
		path = "guarded/page?" + name_of(way)
		wanted["/" + path] = [(GOOD, 200), (BAD, 403), (GOOD, 200)] + [(GOOD6, 200)] * (way in V6)
		for source, status in wanted["/" + path]:
			assert balanced.ask(way, source, path) == status, (way, source)
	balanced.wait_logged(wanted)


def test_a_forger_changes_nothing(balanced):
	wanted = {}
	for way in WAYS:
		path = "guarded/page?forged-" + name_of(way)
		wanted["/" + path] = [(BAD, 403), (GOOD, 200)] * len(FORGED)
		for source, pretended, status in ((BAD, GOOD, 403), (GOOD, BAD, 200)):
			fields = ["%s: %s" % (name, value % pretended) for name, value in FORGED]
			assert balanced.ask_all(way, source, path, fields) == [status] * len(fields), way
	balanced.wait_logged(wanted)


def test_a_forged_header_line(balanced):
	"""What looks like a PROXY header and comes through the balancer is the beginning of a bad request."""
	line = "PROXY TCP4 %s 10.0.0.5 1 80\\r\\n" % GOOD
	request = "GET /guarded/page HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n"
	script = ("import socket; s = socket.create_connection(('203.0.113.1', 80), 60, ('%s', 0)); "
		"s.sendall(b'%s%s'); print(s.makefile('rb').read())" % (BAD, line, request))
	done = subprocess.run(balanced.network.clients.command(program("python3"), "-c", script), stdout=subprocess.PIPE,
		text=True, timeout=90)
	assert done.stdout and " 200 " not in done.stdout and "guarded" not in done.stdout


def test_checks_are_the_balancers_own(balanced):
	"""HAProxy looks after the server by PROXY headers of LOCAL."""
	wait_for(lambda: balanced.logged("/healthz"))
	assert set(balanced.logged("/healthz")) == {(BALANCER, 200)}


def test_checks_of_a_redirect(balanced):
	"""README's listener: it is up until it is drained, though all it has for people is a redirect."""
	def asked():
		return balanced.network.curl(GOOD, "http://203.0.113.1:83/page", ("--http1.1",))[0]
	wait_for(lambda: asked() == 308)
	balanced.server.run("-s", "drain", check=0)
	wait_for(lambda: asked() == 503, said="HAProxy has taken it out")
	balanced.server.run("-s", "undrain", check=0)
	wait_for(lambda: asked() == 308)
	wait_for(lambda: balanced.ask("haproxy v2 with checks", GOOD, "page") == 200)


def test_https_up_to_the_balancer(balanced):
	"""Who came by https is not sent there again, and who did not cannot say that he did."""
	curl = balanced.network.curl
	assert curl(GOOD, "https://203.0.113.1:9443/page", ("--http2",)) == [200]
	assert curl(GOOD, "https://203.0.113.1:8443/page", ()) == [200]
	assert curl(GOOD, "http://203.0.113.1:9081/page", (), ("-H", "x-forwarded-proto: https"),
		("-H", "forwarded: proto=https")) == [308] * 3


def test_around_the_balancer(balanced):
	"""Who reaches the server without it is nobody to be believed."""
	server = balanced.network.server
	for url, options in (("http://10.0.0.5:8080/guarded/page", ("-H", "x-forwarded-for: " + GOOD)),
			("http://10.0.0.5:80/guarded/page", ("--haproxy-protocol",)), ("http://10.0.0.5:80/guarded/page", ())):
		done = subprocess.run(server.command(program("curl"), "-q", "-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", *options,
			url), stdout=subprocess.PIPE, text=True, timeout=90)
		assert done.stdout == ("403" if ":8080" in url else "000"), url
