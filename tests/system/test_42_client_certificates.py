"""Clients' certificates: who is let in, who is refused and why, and that nobody takes an identity along to another server block."""
import re
import socket
import ssl

import pytest

import client
import procs
from client_ca import ClientCa, self_signed
from h1client import H1

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
EXPIRED = ("20200101000000Z", "20200102000000Z")


class People:
	"""Clients of one authority, and others."""

	def __init__(self, folder):
		self.ca = ClientCa(folder, "house")
		self.other = ClientCa(folder, "elsewhere")
		self.alice = self.ca.issue("alice")
		self.expired = self.ca.issue("expired", dates=EXPIRED)
		self.server = self.ca.issue("server", purpose="server")
		self.revoked = self.ca.issue("revoked")
		self.ca.revoke(self.revoked)
		self.stranger = self.other.issue("stranger")
		self.alone = self_signed(folder, "alone")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
	return People(tmp_path_factory.mktemp("people"))


def block(server, name, tls="", more=""):
	return 'server "%s" { root = "%s"  %s  %s }\n' % (name, server.root, tls and "tls { %s }" % tls, more)


def vouched(ca, verify="require", crl=True):
	return 'client-ca = "%s"  client-verify = %s  %s' % (ca.cert, verify, 'client-crl = "%s"' % ca.crl if crl else "")


@pytest.fixture
def server(h2d, people):
	"""Four blocks: one asks nobody, one everybody, one lets all in, one has another authority."""
	server = h2d.new(listens=("tls",), workers=2)
	head = server.conf_text[:server.conf_text.index('server "_"')]
	server.put_conf(head + block(server, "_") + block(server, "must.example", vouched(people.ca))
		+ block(server, "may.example", vouched(people.ca, "optional"))
		+ block(server, "other.example", vouched(people.other)))
	return server.start()


def context_of(who, alpn, version=None):
	context = client.tls_context(alpn=alpn, minimum=version, maximum=version)
	if who is not None:
		context.load_cert_chain(who.cert, who.key)
	return context


def connect(server, name, who=None, h1=False, version=None, context=None, session=None):
	"""To the block of that name (None: none is asked for), over HTTP/2 or HTTP/1."""
	context = context or context_of(who, ("http/1.1",) if h1 else ("h2",), version)
	plain = socket.create_connection(("127.0.0.1", server.ports["tls"]), client.DEADLINE)
	tls = context.wrap_socket(plain, server_hostname=name, session=session)
	return H1(tls, authority=name or "localhost") if h1 else client.Client(tls, authority=name or "localhost", scheme="https")


def ask(server, name, who=None, authority=None, **options):
	with connect(server, name, who, **options) as c:
		if authority:
			c.authority = authority
		return c.get("/")


@pytest.mark.parametrize("h1", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_who_is_let_in(server, people, version, h1):
	how = {"h1": h1, "version": version}
	assert ask(server, "must.example", people.alice, **how).status == 200
	assert ask(server, "may.example", people.alice, **how).status == 200
	assert ask(server, "may.example", **how).status == 200
	assert ask(server, "localhost", **how).status == 200
	answer = ask(server, "must.example", **how)
	assert answer.status == 400
	assert b"this server requires a client certificate" in answer.body
	assert ask(server, "other.example", people.stranger, **how).status == 200
	server.log.wait("connection 127.0.0.1: this server requires a client certificate")
	assert procs.wait_for(lambda: server.status()["totals"]["client_certificates_missing"] == 1, said="it is counted")


REFUSED = {"expired": "certificate has expired", "revoked": "certificate revoked", "stranger": "unable to get local issuer certificate",
	"alone": "self-signed certificate", "server": "unsuitable certificate purpose"}


@pytest.mark.parametrize("who", REFUSED)
@pytest.mark.parametrize("version", VERSIONS)
def test_who_is_refused(server, people, version, who):
	"""By HTTP, whether a certificate is required or not; the log says the reason, the client, and whose it was."""
	for i, name in enumerate(("must.example", "may.example")):
		answer = ask(server, name, getattr(people, who), version=version, h1=i == 1)
		assert answer.status == 400
		assert b"the client certificate is refused" in answer.body
	server.log.wait(r"connection 127\.0\.0\.1: client certificate refused: %s \(CN=%s\)" % (re.escape(REFUSED[who]), who))
	assert server.status()["totals"]["client_certificates_refused"] == 2
	assert ask(server, "localhost", getattr(people, who), version=version).status == 200, "nobody asks there"


@pytest.mark.parametrize("h1", [False, True])
def test_no_identity_for_another_block(server, people, h1):
	"""A name of another block on a connection that was verified, or not, for this one: 421, of the default block, too."""
	for name, who, authority, status in (
			("must.example", people.alice, "may.example", 200),  # the same authority
			("may.example", None, "must.example", 400),
			("must.example", people.alice, "other.example", 421),
			("must.example", people.alice, "unknown.example", 421),
			("must.example", people.alice, "localhost", 421),
			("may.example", None, "localhost", 421),
			("localhost", None, "must.example", 421),
			("localhost", people.alice, "must.example", 421),
			(None, None, "must.example", 421),
			("other.example", people.stranger, "must.example", 421)):
		assert ask(server, name, who, authority, h1=h1).status == status, (name, authority)


def session_of(server, name, context):
	with connect(server, name, h1=True, context=context) as c:
		c.send("GET", "/", headers=[("connection", "close")])
		assert c.response().status == 200
		assert c.rest() == b""
		assert c.sock.session is not None
		return c.sock.session


@pytest.mark.parametrize("version", VERSIONS)
def test_tickets(server, people, version):
	"""Whom a ticket names is known to the block that it is for, on any worker, and to no other; not after the next list."""
	context = context_of(people.alice, ("http/1.1",), version)
	session = session_of(server, "must.example", context)

	def come(name):
		with connect(server, name, h1=True, context=context, session=session) as c:
			return c.sock.session_reused, c.get("/").status

	for _ in range(6):
		assert come("must.example") == (True, 200)
	assert come("may.example") == (False, 200)
	assert come("other.example") == (False, 400)
	assert come("localhost") == (False, 200)
	people.ca.revoke(people.alice)
	try:
		server.reload()
		assert come("must.example") == (False, 400)
		server.log.wait(r"refused: certificate revoked \(CN=alice\)")
	finally:
		people.alice = people.ca.issue("alice")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_ticket_of_nobody(server, people, version):
	"""Who has shown nothing shows nothing by a ticket; and one of a block that asks nobody is good for no other."""
	context = context_of(None, ("http/1.1",), version)
	session = session_of(server, "localhost", context)
	context.load_cert_chain(people.alice.cert, people.alice.key)
	with connect(server, "must.example", h1=True, context=context, session=session) as c:
		assert not c.sock.session_reused and c.get("/").status == 200


def test_an_authority_below(h2d, people, tmp_path):
	"""It is trusted as it stands, and others of the one above it are not; whoever trusts that one wants the whole way."""
	below = people.ca.authority(tmp_path.name)
	carol = below.issue("carol")
	server = h2d.new(listens=("tls",))
	server.put_conf(server.conf_text + block(server, "below.example", vouched(below, crl=False)) + block(server, "above.example",
		vouched(people.ca, crl=False)))
	server.start()
	assert ask(server, "below.example", carol).status == 200
	assert ask(server, "below.example", people.alice).status == 400
	assert ask(server, "above.example", carol).status == 400
	with open(carol.cert, "a") as f, open(below.cert) as chain:
		f.write(chain.read())
	assert ask(server, "above.example", carol).status == 200


def test_an_old_list(h2d, people, tmp_path):
	"""Everybody is refused, and -t says so."""
	ca = ClientCa(tmp_path, "late")
	bob = ca.issue("bob")
	ca.revoke(until="20200102000000Z")
	server = h2d.new(listens=("tls",))
	server.put_conf(server.conf_text.replace('server "_" {', 'server "_" { tls { %s }' % vouched(ca)))
	server.start()
	assert re.search(r"h2d\.conf:\d+: warning: client-crl .*: the list of /CN=late is outdated: its clients are refused", server.run("-t", check=0).err)
	assert ask(server, None, bob).status == 400
	server.log.wait(r"refused: CRL has expired \(CN=bob\)")


FAULTS = (
	("client-verify = require", "client-verify needs client-ca"),
	('client-crl = "{crl}"', "client-crl needs client-ca"),
	('client-ca = "{none}"  client-verify = optional', "client-ca .*No such file"),
	('client-ca = "{text}"  client-verify = optional', "client-ca .*the file has no PEM certificate"),
	('client-ca = "{ca}"  client-verify = optional  client-crl = "{ca}"', "client-crl .*the file has no PEM revocation list"),
	('client-ca = "{ca}"  client-verify = optional  client-crl = "{none}"', "client-crl .*No such file"),
	('client-ca = "{half}"  client-verify = optional', "client-ca .*: "),
	('client-ca = "{ca}"  client-verify = always', "client-verify"),
)


@pytest.mark.parametrize("tls,says", FAULTS)
def test_faults(h2d, people, tmp_path, tls, says):
	with open(people.ca.cert) as f:
		text = f.read()
	for name, content in (("text", "no PEM\n"), ("half", text + text[:len(text) // 2])):
		(tmp_path / name).write_text(content)
	server = h2d.new(listens=("tls",))
	files = {name: tmp_path / name for name in ("none", "text", "half")}
	server.put_conf(server.conf_text + block(server, "x.example", tls.format(ca=people.ca.cert, crl=people.ca.crl, **files)))
	assert re.search(r"h2d\.conf:\d+: .*%s" % says, server.run("-t", check=1).err), server.run("-t", check=1).err


def test_warnings(h2d, people):
	"""An authority that is asked for nothing, one without a list, and a listener where nobody is asked."""
	server = h2d.new()
	server.put_conf(server.conf_text + block(server, "off.example", vouched(people.ca, "off"))
		+ block(server, "must.example", vouched(people.ca))
		+ block(server, "list.example", 'client-ca = "%s"  client-crl = "%s"  client-verify = optional' % (people.ca.cert, people.other.crl)))
	said = server.run("-t", check=0).err
	assert "client-ca does nothing without client-verify = require or optional" in said
	assert 'client-verify = require does nothing on the cleartext listener' in said
	assert "the list of /CN=house is missing" in said


def test_dump(server):
	"""-T is read back as it was meant."""
	text = server.run("-T", check=0).out
	server.put_conf(text)
	assert server.run("-T", check=0).out == text and text.count("client-verify = require") == 2


def test_explain(server):
	said = server.run("--explain", "https://must.example/", check=0).out
	assert re.search(r"^client-verify +refuses the client: this server requires a client certificate.*h2d\.conf:\d+$", said, re.M) and "400" in said, said
