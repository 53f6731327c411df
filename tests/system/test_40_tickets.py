"""Session tickets: by whose keys, across workers, reloads and upgrades; check_tls_tickets has the rotations."""
import os
import re
import ssl

import pytest

import client
import procs

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def new_keys(server):
	"""How many keys were made because the one before was old enough, by any master."""
	return server.log_text().count("session tickets: using a new key")


def conf(server, keys):
	server.put_conf(server.conf_text.replace("tls { ", "tls { %s  " % keys))


class Sessions:
	"""A client that comes back again and again, each time with its newest ticket."""

	def __init__(self, server, version):
		self.server = server
		self.context = client.tls_context(alpn=("http/1.1",), minimum=version, maximum=version)
		self.newest, self.resumed = None, 0

	def come(self, session=None):
		"""Whether that session, or the newest, was resumed."""
		with client.tls_socket(self.server.ports["tls"], context=self.context, session=session or self.newest) as s:
			s.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
			assert client.read_all(s).startswith(b"HTTP/1.1 200 ")
			self.newest, resumed = s.session, s.session_reused
		return resumed

	def go_on(self, times):
		for _ in range(times):
			assert self.come(), "%d were resumed" % self.resumed
			self.resumed += 1


def resumptions(server):
	with client.Client.unix(server.admin_path) as c:
		text = c.get("/metrics").body.decode()
	return sum(int(n) for n in re.findall(r"^h2d_tls_resumptions_total\{.*\} (\d+)$", text, re.MULTILINE))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_thousand(h2d, version):
	"""Over all workers, ten reloads and two upgrades: each is a resumption."""
	server = h2d(workers=3)
	sessions = Sessions(server, version)
	assert not sessions.come()
	sessions.go_on(100)
	procs.wait_for(lambda: resumptions(server) == 100, said="they are counted")
	for _ in range(10):
		server.reload()
		sessions.go_on(60)
	for _ in range(2):
		server.upgrade()
		sessions.go_on(100)
	sessions.go_on(100)
	assert sessions.resumed >= 1000


@pytest.mark.parametrize("version", VERSIONS)
def test_no_tickets(h2d, version):
	server = h2d.new()
	conf(server, "session-tickets = false")
	server.start()
	sessions = Sessions(server, version)
	for _ in range(3):
		assert not sessions.come()
		assert sessions.newest is None or not sessions.newest.has_ticket


class KeyFile:
	"""Of session tickets, for all who name it."""

	def __init__(self, folder):
		self.path, self.keys = os.path.join(folder, "tickets"), [os.urandom(80)]
		self.put(b"".join(self.keys))

	def put(self, data):
		with open(self.path + ".new", "wb") as f:
			f.write(data)
		os.chmod(self.path + ".new", 0o600)
		os.rename(self.path + ".new", self.path)

	def renew(self, server, keep):
		"""A new key encrypts, and so many of those before it are still good; returns when the server has them."""
		taken = server.log_text().count("session tickets: using keys of")
		self.keys = [os.urandom(80), *self.keys[:keep]]
		self.put(b"".join(self.keys))
		server.reload()
		server.log.wait("session tickets: using keys of", count=taken + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_key_file(h2d, tmp_path, version):
	"""Several machines with the same file; a file that changes; one that is half written."""
	file = KeyFile(str(tmp_path))
	servers = [h2d.new(workers=2) for _ in range(2)]
	for server in servers:
		conf(server, 'session-ticket-key-file = "%s"' % file.path)
		server.start()
	first, second = (Sessions(server, version) for server in servers)
	second.context = first.context  # Python's sessions belong to one
	first.come()
	oldest = first.newest
	assert second.come(oldest)
	file.renew(servers[0], keep=1)
	assert first.come(oldest) and first.come(first.newest)
	servers[0].reload()
	servers[0].upgrade()
	assert first.come(oldest)
	file.put(b"x" * 100)
	servers[0].log.wait("its size is not a multiple of 80 bytes")
	servers[0].log.wait("reload failed; ")
	assert first.come(oldest)
	assert "not a multiple of 80 bytes" in servers[0].run("-t", check=1).err
	file.renew(servers[0], keep=0)
	assert not first.come(oldest)
	assert new_keys(servers[0]) == 0


def test_a_key_file_that_changes(h2d, tmp_path):
	"""It is taken up by itself."""
	file = KeyFile(str(tmp_path))
	server = h2d.new(workers=2)
	conf(server, 'session-ticket-key-file = "%s"' % file.path)
	server.start()
	sessions = Sessions(server, ssl.TLSVersion.TLSv1_3)
	sessions.come()
	server.baseline = None
	server.lint.forget()
	file.put(os.urandom(80))
	server.log.wait("certificates, lists, keys or hosts have changed; reloading")
	server.log.wait("session tickets: using keys of %s" % file.path)
	server.wait_up(2)
	assert not sessions.come()
