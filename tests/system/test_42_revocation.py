"""Authorities of clients and their lists (client-ca, client-crl) that change are loaded by an automatic reload."""
import os
import signal
import ssl

import pytest

import procs
from client_ca import ClientCa
from test_42_client_certificates import ask, block, connect, context_of, session_of, vouched
from test_42_renewal import reloads, rename, text, workers, write


@pytest.fixture
def ca(tmp_path):
	return ClientCa(tmp_path, "house")


def start(h2d, tls, dispatch="reuseport"):
	server = h2d.new(listens=("tls",), workers=2, dispatch=dispatch)
	server.put_conf(server.conf_text + block(server, "must.example", tls))
	return server.start()


def statuses(server, who, n=8, **how):
	"""What so many clients get, one after the other."""
	return {ask(server, "must.example", who, **how).status for _ in range(n)}


def taken(server, who, status):
	reloads(server)
	procs.wait_for(lambda: statuses(server, who) == {status}, said="all workers answer with %d" % status)


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_revoked_client(h2d, ca, dispatch):
	"""Refused in new handshakes, by a ticket of before, too. So by each process that comes."""
	alice, bob = ca.issue("alice"), ca.issue("bob")
	server = start(h2d, vouched(ca), dispatch)
	sessions = {}
	for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
		context = context_of(alice, ("http/1.1",), version)
		sessions[context] = session_of(server, "must.example", context)

	def resumed():
		found = set()
		for context, session in sessions.items():
			with connect(server, "must.example", h1=True, context=context, session=session) as c:
				found.add((c.sock.session_reused, c.get("/").status))
		return found
	assert resumed() == {(True, 200)}
	ca.revoke(alice)
	taken(server, alice, 400)
	assert resumed() == {(False, 400)}
	server.log.wait(r"refused: certificate revoked \(CN=alice\)")
	assert statuses(server, bob) == {200}
	pids = workers(server)
	os.kill(pids[0], signal.SIGKILL)
	procs.wait_for(lambda: len(set(workers(server)) - {0, *pids}) == 1, said="another process is there")
	assert statuses(server, alice, 16) == {400}
	server.reload()
	assert statuses(server, alice) == {400} and statuses(server, bob) == {200}
	server.upgrade()
	assert statuses(server, alice) == {400} and statuses(server, bob) == {200}
	ca.revoke(bob)
	taken(server, bob, 400)


def test_another_authority(h2d, ca, tmp_path):
	"""One more in the file lets its clients in, and one less keeps them out."""
	other = ClientCa(tmp_path, "elsewhere")
	alice, stranger = ca.issue("alice"), other.issue("stranger")
	one, = text(ca.cert)
	both = one + text(other.cert)[0]
	server = start(h2d, vouched(ca, crl=False))
	assert statuses(server, stranger, 2) == {400}
	write(ca.cert, both)
	taken(server, stranger, 200)
	assert statuses(server, alice) == {200}
	rename(ca.cert, one)
	server.reload()
	taken(server, stranger, 400)
	assert statuses(server, alice) == {200}


def test_what_cannot_be_used(h2d, ca):
	"""Half a list, none and no file: nothing changes, the log says so at its line, and what is whole is taken up."""
	alice = ca.issue("alice")
	server = start(h2d, vouched(ca))
	line = server.conf_text.count("\n") + 1
	good, = text(ca.crl)
	for content, why in ((good[:len(good) // 2], ".*"), ("", "the file has no PEM revocation list"), (None, "No such file or directory")):
		if content is None:
			os.unlink(ca.crl)
		else:
			write(ca.crl, content)
		server.log.wait(r"h2d\.conf:%d: client-crl.*%s.*: %s" % (line, ca.crl, why))
		assert statuses(server, alice, 4) == {200}
	authority, = text(ca.cert)
	write(ca.cert, "nothing")
	server.log.wait(r"h2d\.conf:%d: client-ca %s: the file has no PEM certificate" % (line, ca.cert))
	write(ca.cert, authority)
	ca.revoke(alice)
	taken(server, alice, 400)
	assert server.wait_up()["generation"] == 2
