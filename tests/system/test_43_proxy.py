"""Whose connection and whose request it is: PROXY headers, and the fields that proxies add.

Only what trusted proxies say counts. Whatever others send changes nothing, in rules, limits, logs and redirects.
"""
import re
import socket
import ssl
import struct

import pytest

import client
import h1client
import users
from procs import wait_for

US, THEM = "203.0.113.7", "198.51.100.1"
US6 = "2001:db8::7"
RULES = 'location "/guarded" { allow = {"203.0.113.0/24", "2001:db8::/32"} }'
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def v1(source):
	family, other = ("TCP6", "::1") if ":" in source else ("TCP4", "192.0.2.80")
	return ("PROXY %s %s %s 4711 80\r\n" % (family, source, other)).encode()


def v2(source=None, command=0x21, records=b""):
	"""Without a source it has no addresses."""
	if source is None:
		family, block = 0, b""
	elif ":" in source:
		family, block = 0x21, socket.inet_pton(socket.AF_INET6, source) + bytes(16) + b"\1\2\0\x50"
	else:
		family, block = 0x11, socket.inet_aton(source) + bytes(4) + b"\1\2\0\x50"
	return SIGNATURE + struct.pack(">BBH", command, family, len(block + records)) + block + records


class Proxied:
	"""A server with listeners for PROXY headers: tcp, tls and unix, beside those without."""

	def __init__(self, h2d, tmp_path, trusted='"127.0.0.1", "unix"', conf="", **options):
		self.path = str(tmp_path / "proxied.sock")
		sections = """trusted-proxies = {%s}
listen "127.0.0.1:0" { proxy-protocol = true }
listen "127.0.0.1:0" { proxy-protocol = true  tls = true }
listen "unix:%s" { proxy-protocol = true  socket-mode = "0666" }
""" % (trusted, self.path)
		if '"unix"' not in trusted:
			sections = sections.replace('listen "unix:', '#')
		files = {"guarded/page": "guarded", "page": "page"}
		self.server = h2d(conf='access-log = "access.log"\n' + conf, sections=sections, server=RULES,
			files=files, **options)
		lines = self.server.log.wait(r"listening on 127", count=4)
		assert [" (proxy-protocol)" in line for line in lines] == [False, False, True, True]
		ports = [int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1)) for line in lines]
		self.ports = {"tcp": ports[2], "tls": ports[3]}

	def socket(self, how="tcp"):
		if how == "unix":
			s = socket.socket(socket.AF_UNIX)
			s.connect(self.path)
		else:
			s = socket.create_connection(("127.0.0.1", self.ports[how]))
			s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
		s.settimeout(client.DEADLINE)
		return s

	def speak(self, header, how="tcp", version="h1", pieces=None, **options):
		"""A client behind a proxy that sends this header, in pieces of so many bytes."""
		s = self.socket(how)
		for i in range(0, len(header), pieces or len(header)):
			s.sendall(header[i:i + (pieces or len(header))])
		if how == "tls":
			alpn = ("h2",) if version == "h2" else ("http/1.1",)
			s = client.tls_context(alpn=alpn).wrap_socket(s, server_hostname="localhost")
			if version == "h2":
				options["scheme"] = "https"
		return (client.Client if version == "h2" else h1client.H1)(s, seen=self.server.lint.see, **options)

	def status(self, header, how="tcp", version="h1", path="/guarded/page", **options):
		with self.speak(header, how, version, **options) as c:
			return c.get(path).status

	def refused(self):
		return self.server.status()["totals"]["proxy_refused"]


def logged(server, count):
	"""The addresses in the access log, once it has so many lines but for the admin's."""
	def lines():
		with open(server.path("access.log")) as f:
			found = [line.split()[0] for line in f if "/status.json" not in line]
		return found if len(found) >= count else None
	return wait_for(lines, said="%d lines of the access log" % count)


def closed(s):
	"""What the server sent before it ended the connection."""
	with s:
		return client.read_all(s)


# --- PROXY headers ------------------------------------------------------------------------------

@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_the_address_of_the_header_counts(h2d, tmp_path, dispatch):
	proxied = Proxied(h2d, tmp_path, dispatch=dispatch, workers=2)
	asked = []
	for how in ("tcp", "tls", "unix"):
		for version in ("h1", "h2"):
			for header in (v1, v2):
				for source in (US, THEM, US6):
					status = proxied.status(header(source), how, version)
					assert status == (403 if source == THEM else 200), (how, version, source)
					asked.append(source)
	assert sorted(logged(proxied.server, len(asked))) == sorted(asked)
	assert proxied.refused() == 0


def test_it_stays_for_the_whole_connection(h2d, tmp_path):
	proxied = Proxied(h2d, tmp_path)
	for version in ("h1", "h2"):
		with proxied.speak(v2(US), version=version) as c:
			assert [c.get("/guarded/page").status for _ in range(3)] == [200] * 3
	assert logged(proxied.server, 6) == [US] * 6
	# A header that comes later is a request, and a bad one.
	with proxied.speak(v1(THEM)) as c:
		assert c.get("/page").status == 200
		c.send_bytes(v1(US))
		assert c.response().status == 400


def test_handlers_and_the_error_log_have_it(h2d, tmp_path):
	proxied = Proxied(h2d, tmp_path)
	assert proxied.status(v1(THEM)) == 403
	proxied.server.log.wait(r"connection %s: /guarded/page: client address is not allowed" % re.escape(THEM))


def test_the_proxy_speaks_for_itself(h2d, tmp_path):
	"""LOCAL is the proxy's own; of UNKNOWN, and of paths and datagrams, nothing is known but the proxy."""
	proxied = Proxied(h2d, tmp_path, conf="client-address = x-forwarded-for")
	own = [v2(command=0x20), v2(US, command=0x20)]
	untold = [b"PROXY UNKNOWN\r\n", b"PROXY UNKNOWN 203.0.113.7 whatever\r\n", v2(),
		SIGNATURE + b"\x21\x31\0\xd8" + bytes(216), SIGNATURE + b"\x21\x12\0\x0c" + bytes(12)]
	for header in own + untold:
		assert proxied.status(header) == 403
	assert logged(proxied.server, 7) == ["127.0.0.1"] * 7
	# It is believed what the proxy says of others, not what somebody says whom it does not name.
	for header, status in [(own[0], 200), (untold[0], 403), (untold[2], 403)]:
		with proxied.speak(header) as c:
			assert c.get("/guarded/page", [("x-forwarded-for", US)]).status == status


def test_a_header_in_pieces(h2d, tmp_path):
	proxied = Proxied(h2d, tmp_path)
	long = v2(US, records=b"\xea\x01\x00" + bytes(256))
	for how in ("tcp", "unix", "tls"):
		for header in (v1(US), v2(US), long):
			assert proxied.status(header, how, pieces=1) == 200
	for header in (v1(US), v2(US6), long):
		with proxied.socket() as s:
			s.sendall(header + b"GET /guarded/page HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
			assert closed(s).startswith(b"HTTP/1.1 200 ")
	largest = v2(US, records=b"\x04\x0f\xf1" + bytes(4081))
	assert proxied.status(largest, pieces=1000) == 200


def test_tls_right_behind_the_header(h2d, tmp_path):
	"""Both in one segment: nothing of the client's hello is taken with the header."""
	proxied = Proxied(h2d, tmp_path)
	come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
	tls = client.tls_context(alpn=("http/1.1",)).wrap_bio(come, go, server_hostname="localhost")
	answer = b""
	with proxied.socket("tls") as s, pytest.raises(ssl.SSLWantReadError):
		tls.do_handshake()
	with proxied.socket("tls") as s:
		s.sendall(v2(US) + go.read())
		steps = [tls.do_handshake,
			lambda: tls.write(b"GET /guarded/page HTTP/1.1\r\nhost: a\r\n\r\n")]
		while b"guarded" not in answer:
			try:
				if steps:
					steps[0]()
					steps.pop(0)
				else:
					answer += tls.read()
			except ssl.SSLWantReadError:
				come.write(s.recv(65536))
			if go.pending:
				s.sendall(go.read())
	assert answer.startswith(b"HTTP/1.1 200 ")


NO_HEADERS = [b"GET /guarded/page HTTP/1.1\r\nhost: a\r\n\r\n", client.PREFACE, b"\x16\x03\x01\x02\x00",
	b"PROXY TCP4 203.0.113.7\r\n", v2(US, records=b"\x03\0\x04abcd"), SIGNATURE + b"\x21\x11\xff\xff"]


def test_without_a_header_it_is_closed(h2d, tmp_path):
	proxied = Proxied(h2d, tmp_path)
	for n, header in enumerate(NO_HEADERS):
		s = proxied.socket("tcp" if n % 2 else "tls")
		s.sendall(header)
		assert closed(s) == b"", header
	wait_for(lambda: proxied.refused() == len(NO_HEADERS))
	proxied.server.log.wait(r" warn .*connection 127\.0\.0\.1: PROXY header missing or malformed")
	# Cut off in the middle; and one that only looks whether somebody listens, which is no fault.
	for header in (v1(US)[:-1], v2(US)[:-1], b"P"):
		s = proxied.socket()
		s.sendall(header)
		s.shutdown(socket.SHUT_WR)
		assert closed(s) == b""
	s = proxied.socket()
	s.shutdown(socket.SHUT_WR)
	assert closed(s) == b""
	wait_for(lambda: proxied.refused() == len(NO_HEADERS) + 3)
	assert proxied.status(v1(US)) == 200
	assert logged(proxied.server, 1) == [US]


def test_a_slow_header(h2d, tmp_path):
	proxied = Proxied(h2d, tmp_path, conf="timeouts { handshake = 1 }")
	waiting = []
	for how, header in (("tcp", b""), ("tcp", v1(US)[:20]), ("tls", v2(US)[:20]), ("tls", v2(US))):
		waiting.append(proxied.socket(how))
		waiting[-1].sendall(header)
	assert [closed(s) for s in waiting] == [b""] * 4
	wait_for(lambda: proxied.server.status()["totals"]["timeouts"] == 4)
	proxied.server.log.wait(r"connection 127\.0\.0\.1: handshake timed out")


def test_nobody_else_may_send_a_header(h2d, tmp_path):
	proxied = Proxied(h2d, tmp_path, trusted='"192.0.2.1", "::/0"')
	for how in ("tcp", "tls"):
		for header in (v1(US), v2(US), v2(command=0x20), b"GET / HTTP/1.1\r\n\r\n"):
			s = proxied.socket(how)
			try:
				s.sendall(header)
			except (BrokenPipeError, ConnectionResetError):
				pass
			assert closed(s) == b""
	wait_for(lambda: proxied.refused() == 8)
	proxied.server.log.wait(r" info .*connection 127\.0\.0\.1: not in trusted-proxies")


def test_a_header_where_none_belongs(site):
	"""On a listener without proxy-protocol it is no request, and says nothing."""
	for header in (v1(US), v2(US)):
		s = site.socket()
		s.sendall(header + b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
		assert b" 200 " not in closed(s)


# --- fields of requests -------------------------------------------------------------------------

FIELDS = {"x-forwarded-for": lambda *a: [("x-forwarded-for", ", ".join(a))],
	"forwarded": lambda *a: [("forwarded", ", ".join('for="%s"' % (
		"[%s]" % one if ":" in one else one) for one in a))]}


def ask(server, version, fields, path="/guarded/page", how="tcp"):
	with (server.connect(how) if version == "h2" else server.h1(how)) as c:
		return c.get(path, fields)


def test_the_address_of_a_named_field(h2d):
	"""The one address that a trusted proxy says; a list, or what is none, is nobody's."""
	server = h2d(conf='trusted-proxies = {"127.0.0.1"}\nclient-address = "CF-Connecting-IP"\naccess-log = "access.log"', server=RULES,
		files={"guarded/page": "x"})
	cases = [([US], 200, US), ([US6], 200, US6), ([THEM], 403, THEM), ([], 403, "127.0.0.1")]
	cases += [(values, 403, "unknown") for values in ([THEM + ", " + US], [US, US], ["unknown"], [""], ["a b"])]
	for version in ("h1", "h2"):
		for values, status, _ in cases:
			fields = [("cf-connecting-ip", value) for value in values]
			assert ask(server, version, fields + FIELDS["x-forwarded-for"](US)).status == status, values
	assert logged(server, 2 * len(cases)) == 2 * [address for _, _, address in cases]
	server.put_conf('server "_" { root = "%s" }\ntrusted-proxies = {"10.0.0.1"}\nclient-address = "x real ip"\n' % server.root)
	assert 'h2d.conf:3: client-address "x real ip" is not a header name' in server.run("-t", check=1).err


@pytest.mark.parametrize("conf", ['trusted-proxies = {"192.0.2.1", "unix"}\nclient-address = x-forwarded-for',
	'trusted-proxies = {"192.0.2.1", "unix"}\nclient-address = "x-real-ip"',
	'trusted-proxies = {"192.0.2.1", "unix"}\nclient-address = forwarded', 'trusted-proxies = {"127.0.0.1"}', ""])
def test_who_is_not_trusted_changes_nothing(h2d, conf, how):
	server = h2d(conf=conf + '\naccess-log = "access.log"', server=RULES, files={"guarded/page": "x", "page": "x"})
	fields = FIELDS["x-forwarded-for"](US) + FIELDS["forwarded"](US) + [("x-forwarded-proto", "https"),
		("x-forwarded-host", "evil.example"), ("x-real-ip", US), ("x-client-ip", US), ("true-client-ip", US)]
	for version in ("h1", "h2"):
		assert ask(server, version, fields, how=how).status == 403
		assert ask(server, version, fields, "/page", how).status == 200
	assert logged(server, 4) == ["127.0.0.1"] * 4


def test_requests_of_many_clients_on_one_connection(h2d):
	server = h2d(conf='trusted-proxies = {"127.0.0.1"}\nclient-address = x-forwarded-for\n'
		'access-log = "access.log"', server=RULES, files={"guarded/page": "x"})
	sources = [US, THEM, US6, THEM, "203.0.113.8"]
	with server.connect() as c:
		streams = [c.send("GET", "/guarded/page", [("x-forwarded-for", source)]) for source in sources]
		assert [c.response(s).status for s in streams] == [200, 403, 200, 403, 200]
	with server.h1() as c:
		assert [c.get("/guarded/page", [("x-forwarded-for", source)]).status for source in sources] == [
			200, 403, 200, 403, 200]
	assert sorted(logged(server, 10)) == sorted(2 * sources)


def test_a_proxy_behind_a_proxy(h2d, tmp_path):
	"""The PROXY header names one that adds the field, or a client that only would like to."""
	proxied = Proxied(h2d, tmp_path, trusted='"127.0.0.1", "10.0.0.1", "unix"',
		conf="client-address = x-forwarded-for")
	fields = [("x-forwarded-for", US)]
	with proxied.speak(v2("10.0.0.1")) as c:
		assert c.get("/guarded/page", fields).status == 200
		assert c.get("/guarded/page").status == 403
	with proxied.speak(v2(THEM)) as c:
		assert c.get("/guarded/page", fields).status == 403
	assert logged(proxied.server, 3) == [US, "10.0.0.1", THEM]


def test_a_unix_socket_is_trusted_by_name(h2d):
	for trusted, status in (('"unix"', 200), ('"0.0.0.0/0", "::/0"', 403)):
		server = h2d(conf="trusted-proxies = {%s}\nclient-address = x-forwarded-for" % trusted, server=RULES,
			listens=("tcp", "unix"), files={"guarded/page": "x"})
		for version in ("h1", "h2"):
			assert ask(server, version, [("x-forwarded-for", US)], how="unix").status == status


# --- what follows from it -----------------------------------------------------------------------

def test_https_up_to_the_proxy(h2d, tmp_path):
	"""A request that came to a trusted proxy by https is not sent there again."""
	path = tmp_path / "s"
	server = h2d(conf='trusted-proxies = {"127.0.0.1", "unix"}\nclient-address = x-forwarded-for',
		sections='listen "127.0.0.1:0" { redirect-to-https = true  https-port = 443 }\n'
		'listen "unix:%s" { redirect-to-https = true  https-port = 443  proxy-protocol = true  socket-mode = "0666" }\n'
		% path, server='strict-transport-security = "max-age=60"', files={"page": "x"})
	line = server.log.wait(r"listening on 127", count=3)[2]
	port = int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1))
	for make in (client.Client.tcp, h1client.H1.tcp):
		with make(port, authority="a.example") as c:
			for value, status in (("https", 200), ("http", 308), ("https, http", 308), ("http, https", 200),
					(None, 308)):
				fields = [("x-forwarded-proto", value)] if value else []
				answer = c.get("/page?q", fields + [("x-forwarded-host", "evil.example")])
				assert answer.status == status, value
				if status == 308:
					assert answer.get("location") == "https://a.example/page?q"
				assert answer.get("strict-transport-security") == ("max-age=60" if status == 200 else None)
	# Of a client that a PROXY header names the field is its own word; the record of TLS is the proxy's.
	for records, status in ((b"", 308), (b"\x20\0\x05\1\0\0\0\0", 200), (b"\x20\0\x05\0\0\0\0\0", 308)):
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(client.DEADLINE)
		s.connect(str(path))
		s.sendall(v2(US, records=records))
		with h1client.H1(s) as c:
			assert c.get("/page", [("x-forwarded-proto", "https")]).status == status


def test_limits_are_per_client(h2d):
	"""One client's guesses fill its own part of the line for password checks, not that of all behind the proxy."""
	server = h2d.new(conf='trusted-proxies = {"127.0.0.1"}\nclient-address = x-forwarded-for',
		server='location "/in" { auth-basic-file = "users" }', files={"in/page": "x"})
	users.put_users(server, anna=users.hashed("secret"))
	server.start()
	with server.connect() as c:
		guesses = [c.send("GET", "/in/page", [("x-forwarded-for", THEM)] + users.basic("anna", "wrong%d" % i))
			for i in range(30)]
		assert c.get("/in/page", [("x-forwarded-for", US)] + users.basic("anna", "secret")).status == 200
		# The first is wrong, and one waits for its delay: the others are told to come back.
		wait_for(lambda: c.ping() or sum(c.responses[s].status in (429, 503) for s in guesses) >= 15)
		for s in guesses:
			if not c.responses[s].done:
				c.reset(s)


def test_mistakes(h2d):
	server = h2d.new()
	server.put_conf('server "_" { root = "%s" }\ntrusted-proxies = {"10.0.0.1/8",\n "example.com", "all"}\n'
		'listen "127.0.0.1:1" { proxy-protocol = true }\n' % server.root)
	said = server.run("-t", check=1).err
	for line in ('trusted-proxies "10.0.0.1/8": the address has bits set after its prefix',
			'trusted-proxies "example.com": not an IPv4 or IPv6 address or "unix"',
			'trusted-proxies "all": not'):
		assert "h2d.conf:2: " + line in said, said
	server.put_conf('server "_" { root = "%s" }\ntrusted-proxies = {"10.0.0.0/8"}\n' % server.root)
	said = server.run("-t", check=0)
	assert "h2d.conf:2: warning: trusted-proxies does nothing" in said.err
	server.put_conf('server "_" { root = "%s" }\ntrusted-proxies = {"10.0.0.0/8"}\nrequest-id = true\n' % server.root)
	assert "trusted-proxies does nothing" not in server.run("-t", check=0).err
	# Where a proxy ends TLS this is no warning.
	server.put_conf('server "_" { root = "%s"  strict-transport-security = "max-age=1" }\n'
		'client-address = "forwarded"\ntrusted-proxies = {"10.0.0.0/8"}\n' % server.root)
	assert "warning" not in server.run("-t", check=0).err


def test_a_reload_changes_whom_to_trust(h2d):
	server = h2d(conf='client-address = x-forwarded-for\ntrusted-proxies = {"192.0.2.1"}', server=RULES,
		files={"guarded/page": "x"})
	assert ask(server, "h2", [("x-forwarded-for", US)]).status == 403
	server.put_conf(server.conf_text.replace("192.0.2.1", "127.0.0.1"))
	server.reload()
	wait_for(lambda: ask(server, "h2", [("x-forwarded-for", US)]).status == 200)
