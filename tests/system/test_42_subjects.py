"""allow-subject: who is let in by the subject of a certificate, and where else that is told: handlers, logs, /status/connections."""
import json
import os
import re

import pytest

import client
import procs
from client_ca import ClientCa
from server import H2D
from test_42_client_certificates import connect
from users import basic, hashed, put_users

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")


class People:
	def __init__(self, folder):
		self.ca = ClientCa(folder, "house")
		self.alice = self.ca.issue("alice", "/O=Example/OU=Staff/CN=alice")
		self.bob = self.ca.issue("bob", "/O=Example/CN=bob")
		self.comma = self.ca.issue("comma", "/CN=x,O=Example")
		self.juergen = self.ca.issue("juergen", "/CN=Jürgen")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
	return People(tmp_path_factory.mktemp("people"))


def make(h2d, people, server, verify="optional", **options):
	"""A server whose default block asks for certificates, with what stands in server."""
	made = h2d.new(files={name + "/x": b"x" for name in ("staff", "two", "any", "odd", "either", "all", "files")}, **options)
	text = made.conf_text.replace('server "_" {', 'server "_" { tls { client-ca = "%s"  client-verify = %s }  %s' % (people.ca.cert, verify, server))
	made.put_conf(text)
	made.conf_text = text
	return made


def ask(server, who, path, h1=False, headers=()):
	with connect(server, "localhost", who, h1=h1) as c:
		return c.get(path, headers)


LOCATIONS = r"""
	location "/staff/" { allow-subject = {"OU=Staff"} }
	location "/two/"   { allow-subject = {"CN=alice,O=Example", "CN=bob,O=Other"} }
	location "/any/"   { allow-subject = {"any"} }
	location "/odd/"   { allow-subject = {"CN=Jürgen", "CN=x\\,O=Example"} }
	location "/either/" { satisfy = any  allow = {"192.0.2.1"}  allow-subject = {"CN=alice"} }
"""

# Of nobody, alice, bob, comma, juergen.
ALLOWED = {"/staff/x": (403, 200, 403, 403, 403), "/two/x": (403, 200, 403, 403, 403), "/any/x": (403, 200, 200, 200, 200),
	"/odd/x": (403, 403, 403, 200, 200), "/either/x": (403, 200, 403, 403, 403), "/": (200,) * 5, "/staff/none": (403, 404, 403, 403, 403)}


@pytest.mark.parametrize("h1", [False, True])
def test_who_is_allowed(h2d, people, h1):
	server = make(h2d, people, LOCATIONS).start()
	for path, statuses in ALLOWED.items():
		for who, status in zip((None, people.alice, people.bob, people.comma, people.juergen), statuses):
			assert ask(server, who, path, h1=h1).status == status, (path, who and who.cert)
	with server.connect("tcp") as c:
		assert [c.get(path).status for path in ("/staff/x", "/any/x", "/")] == [403, 403, 200], "in cleartext nobody is known"
	server.log.wait(r"connection 127\.0\.0\.1: /staff/x: client certificate subject is not allowed")
	assert b"client certificate subject is not allowed" in ask(server, None, "/any/x").body


def test_satisfy(h2d, people):
	"""any: a certificate or a password; all: both."""
	server = make(h2d, people, "")
	users = put_users(server, ann=hashed("secret"))
	server.put_conf(server.conf_text.replace('server "_" {', 'server "_" {'
		' location "/either/" { satisfy = any  allow-subject = {"CN=alice"}  auth-basic-file = "%s" }'
		' location "/all/" { allow-subject = {"CN=alice"}  auth-basic-file = "%s" } ' % (users, users)))
	server.start()
	ann = basic("ann", "secret")
	for path, who, headers, status in (
			("/either/x", people.alice, (), 200), ("/either/x", None, ann, 200), ("/either/x", people.bob, (), 401),
			("/all/x", people.alice, ann, 200), ("/all/x", people.alice, (), 401), ("/all/x", people.bob, ann, 403), ("/all/x", None, ann, 403)):
		assert ask(server, who, path, headers=headers).status == status, (path, status)


def test_logs(h2d, people):
	"""The user of a combined line is the subject where no password gave one; json has both."""
	server = make(h2d, people, "", verify="require")
	text = 'access-log = "%s"  access-log-format = %s\n'
	for form, path in (("combined", "access.log"), ("json", "access.json")):
		path = server.path(path)
		server.put_conf(text % (path, form) + server.conf_text)
		if form == "combined":
			server.start()
		else:
			server.reload()
		assert ask(server, people.alice, "/").status == 200
		lines = lambda: [line for line in open(path) if "unix" not in line]
		line = procs.wait_for(lines, said="the line is there")[0]
		if form == "combined":
			assert line.startswith("127.0.0.1 - CN=alice,OU=Staff,O=Example ["), line
		else:
			assert (json.loads(line)["user"], json.loads(line)["client_subject"]) == ("", "CN=alice,OU=Staff,O=Example")


def test_handlers_and_status(h2d, people):
	server = make(h2d, people, "", binary=HANDLERS).start()
	assert b"client =CN=J\\C3\\BCrgen\n" in ask(server, people.juergen, "/t/asked").body
	assert b"client =" not in ask(server, None, "/t/asked").body
	context = client.tls_context()
	context.load_cert_chain(people.bob.cert, people.bob.key)
	with client.Client.tls(server.ports["tls"], context=context) as c:
		assert c.get("/").status == 200
		with client.Client.unix(server.admin_path) as admin:
			look = lambda: [conn["subject"] for worker in json.loads(admin.get("/status/connections.json").body)["workers"]
				for conn in worker["connections"]]
			assert procs.wait_for(lambda: "CN=bob,O=Example" in look(), said="the worker has shown it")


@pytest.mark.parametrize("rule", ["alice", "CN = alice", "CN=alice, O=Example", "/CN=alice", "CN=alice,"])
def test_faults(h2d, people, rule):
	server = make(h2d, people, 'location "/a" { allow-subject = {"CN=fine", "%s"} }' % rule)
	assert re.search(r'h2d\.conf:\d+: allow-subject "%s": write "any", or as in' % re.escape(rule), server.run("-t", check=1).err)


def test_nobody_is_asked(h2d, people):
	server = make(h2d, people, 'location "/a" { allow-subject = {"CN=fine"} }', verify="off")
	assert "allow-subject refuses all clients" in server.run("-t", check=0).err


def test_explain(h2d, people):
	said = make(h2d, people, LOCATIONS).run("--explain", "https://localhost/staff/x", check=0).out
	assert re.search(r'allow-subject +refuses the client in "/staff/": it has no certificate', said) and "403" in said, said
