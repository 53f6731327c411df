"""Certificates, keys and staples that change are taken up by a reload that nobody asks for: by whatever way they are written."""
import os
import re
import shutil
import signal
import ssl
import threading

import pytest

import client
import harness
import ocsp
import procs
from test_40_tickets import Sessions
from test_42_stapling import status
from test_70_reload import LARGER, Held

WISHED = "certificates, lists, keys or hosts have changed; reloading"


def text(*paths):
	found = []
	for path in paths:
		with open(path) as f:
			found.append(f.read())
	return found


class Made:
	"""Certificates of one name and their keys, as texts: each is another, and expires later than those before."""

	def __init__(self, folder, name="a.example", names=()):
		self.folder, self.name, self.names, self.n = str(folder), name, names, 0

	def __call__(self, kind="ecdsa"):
		self.n += 1
		folder = os.path.join(self.folder, str(self.n))
		os.mkdir(folder)
		cert = harness.Certificate(folder, self.name, self.names, kind, days=30 + self.n)
		return text(cert.cert, cert.key)


@pytest.fixture
def made(tmp_path):
	(tmp_path / "made").mkdir()
	return Made(tmp_path / "made")


def write(path, content):
	with open(path, "w") as f:
		f.write(content)


def rename(path, content):
	write(path + ".new", content)
	os.rename(path + ".new", path)


class Plain:
	"""Two files in a folder, each replaced by rename(2)."""

	def __init__(self, folder, pair):
		self.cert, self.key = (os.path.join(folder, name) for name in ("server.crt", "server.key"))
		self.renew(pair)

	def renew(self, pair):
		rename(self.cert, pair[0])
		rename(self.key, pair[1])


class InPlace(Plain):
	"""Two files that are written where they lie."""

	def renew(self, pair):
		write(self.cert, pair[0])
		write(self.key, pair[1])


class Certbot:
	"""live/NAME/*.pem are links to archive/NAME/*N.pem, each taken away before it is made anew."""

	def __init__(self, folder, pair):
		self.folder, self.n = folder, 0
		for name in ("live/a.example", "archive/a.example"):
			os.makedirs(os.path.join(folder, name))
		self.cert, self.key = (os.path.join(folder, "live/a.example", name + ".pem") for name in ("fullchain", "privkey"))
		self.renew(pair)

	def renew(self, pair):
		self.n += 1
		for name, content in (("fullchain", pair[0]), ("privkey", pair[1])):
			target = "archive/a.example/%s%d.pem" % (name, self.n)
			write(os.path.join(self.folder, target), content)
		for name in ("privkey", "fullchain"):
			link = os.path.join(self.folder, "live/a.example", name + ".pem")
			if os.path.islink(link):
				os.unlink(link)
			os.symlink("../../archive/a.example/%s%d.pem" % (name, self.n), link)


class Kubernetes:
	"""tls.crt and tls.key lead through ..data, a link that is swapped to another folder by rename(2)."""

	def __init__(self, folder, pair):
		self.folder, self.n = folder, 0
		self.cert, self.key = (os.path.join(folder, name) for name in ("tls.crt", "tls.key"))
		self.renew(pair)
		for path in (self.cert, self.key):
			os.symlink(os.path.join("..data", os.path.basename(path)), path)

	def renew(self, pair):
		self.n += 1
		name, before = "..%d" % self.n, os.path.join(self.folder, "..%d" % (self.n - 1))
		os.mkdir(os.path.join(self.folder, name))
		for path, content in zip((self.cert, self.key), pair):
			write(os.path.join(self.folder, name, os.path.basename(path)), content)
		os.symlink(name, os.path.join(self.folder, "..data_tmp"))
		os.rename(os.path.join(self.folder, "..data_tmp"), os.path.join(self.folder, "..data"))
		if os.path.exists(before):
			shutil.rmtree(before)


def put(server, files, workers=2, dispatch="reuseport", more=""):
	server.put_conf('worker-processes = %d\ndispatch = %s\npid-file = "%s"\nlisten "127.0.0.1:0" { tls = true }\nlisten "unix:%s" { admin = true }\n'
		'tls {\ncertificate = "%s"\ncertificate-key = "%s"\n%s}\nserver "a.example" { root = "%s" }\n' % (
		workers, dispatch, server.pid_path, server.admin_path, files.cert, files.key, more, server.root))


def shown(server):
	with client.tls_socket(server.ports["tls"], context=client.tls_context(alpn=("http/1.1",))) as s:
		return s.getpeercert(binary_form=True)


def are_shown(server, pair, n=8):
	"""Whether so many clients, one after the other, are shown that one."""
	return all(shown(server) == ssl.PEM_cert_to_DER_cert(pair[0]) for _ in range(n))


def reloads(server):
	"""It will, by itself."""
	server.baseline = None
	server.lint.forget()


def taken(server, pair, said="the new one is shown by all workers"):
	reloads(server)
	procs.wait_for(lambda: are_shown(server, pair), said=said)


def metric(server, name):
	with server.connect("admin") as c:
		return int(re.search(r"^%s(?:\{.*?\})? (\d+)$" % name, c.get("/metrics").body.decode(), re.MULTILINE).group(1))


def workers(server):
	return sorted(w["pid"] for w in server.status()["workers"])


@pytest.mark.parametrize("way", [Plain, InPlace, Certbot, Kubernetes])
def test_however_it_is_written(h2d, made, tmp_path, way):
	(tmp_path / "tls").mkdir()
	files = way(str(tmp_path / "tls"), made())
	server = h2d.new(listens=("tls",), workers=2)
	put(server, files)
	server.start()
	pair = made()
	files.renew(pair)
	taken(server, pair)
	assert server.wait_up()["generation"] == 2
	assert len(server.log.find(WISHED)) == 1 and not server.log.find("reload failed")


class Asking:
	"""Clients that ask again and again, over TLS: each shall be answered."""

	def __init__(self, server, n=2):
		self.server, self.shown, self.failed = server, [], []
		self.over = threading.Event()
		self.threads = [threading.Thread(target=self.ask) for _ in range(n)]

	def ask(self):
		while not self.over.is_set():
			try:
				with client.tls_socket(self.server.ports["tls"], context=client.tls_context(alpn=("http/1.1",))) as s:
					self.shown.append(s.getpeercert(binary_form=True))
					s.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
					assert client.read_all(s).startswith(b"HTTP/1.1 200 ")
			except (OSError, AssertionError) as e:
				self.failed.append(e)

	def __enter__(self):
		for t in self.threads:
			t.start()
		return self

	def __exit__(self, *_):
		self.over.set()
		for t in self.threads:
			t.join()


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_nothing_is_cut(h2d, made, tmp_path, dispatch):
	"""A download, tickets and requests go on; metrics have the new one; a new process, a reload and an upgrade, too."""
	(tmp_path / "tls").mkdir()
	first, second = made(), made()
	files = Plain(str(tmp_path / "tls"), first)
	server = h2d.new(listens=("tls",), workers=2, files={"larger": LARGER})
	put(server, files, dispatch=dispatch)
	server.start()
	expires = metric(server, "h2d_certificate_expiry_timestamp_seconds")
	sessions = Sessions(server, ssl.TLSVersion.TLSv1_3)
	sessions.come()
	held = Held(server, "h1", "tls")
	with Asking(server) as asking:
		files.renew(second)
		taken(server, second)
	assert not asking.failed and len(asking.shown) > 4
	assert set(asking.shown) <= {ssl.PEM_cert_to_DER_cert(pair[0]) for pair in (first, second)}
	assert sessions.come()
	assert metric(server, "h2d_certificate_expiry_timestamp_seconds") > expires
	before = workers(server)
	os.kill(max(before), signal.SIGKILL)  # of the newest
	procs.wait_for(lambda: len(set(workers(server)) - {0, *before}) == 1, said="another process is there")
	assert are_shown(server, second, 16)
	server.reload()
	assert are_shown(server, second)
	server.upgrade()
	third = made()
	files.renew(third)
	taken(server, third)
	assert sessions.come()
	assert held.finish()
	server.baseline = None


def test_half_a_pair(h2d, made, tmp_path):
	"""A certificate without its key is not taken; the log says so at its line; it is tried again when files change, without a pause."""
	(tmp_path / "tls").mkdir()
	first, second = made(), made()
	files = Plain(str(tmp_path / "tls"), first)
	server = h2d.new(listens=("tls",), workers=2)
	put(server, files)
	server.start()
	rename(files.cert, second[0])
	server.log.wait(r"h2d\.conf:8: certificate-key %s does not match certificate %s" % (files.key, files.cert))
	server.log.wait("reload failed; generation 1 keeps serving")
	assert are_shown(server, first)
	write(str(tmp_path / "tls" / "of-nobody"), "")
	os.unlink(files.key)
	server.log.wait(r"h2d\.conf:8: certificate-key.*%s.*No such file or directory" % files.key)
	assert are_shown(server, first)
	rename(files.key, second[1])
	taken(server, second)
	assert server.wait_up()["generation"] == 2
	# A pair that is written again as it was is no news.
	rename(files.cert, second[0])
	rename(files.key, second[1])
	server.reload()
	assert len(server.log.find(WISHED)) == 3


@pytest.mark.slow
def test_once_a_minute(h2d, made, tmp_path):
	"""A change within a minute of the last one is taken up behind it; one that a reload by hand has read is none any more."""
	(tmp_path / "tls").mkdir()
	files = Plain(str(tmp_path / "tls"), made())
	server = h2d.new(listens=("tls",), workers=2)
	put(server, files)
	server.start()
	second, third, fourth = made(), made(), made()
	files.renew(second)
	taken(server, second)
	files.renew(third)
	server.log.wait(r"have changed again; reloading in \d+ s")
	assert are_shown(server, second)
	server.log.wait(WISHED, count=2, deadline=90)
	taken(server, third)
	files.renew(fourth)
	server.reload()
	assert are_shown(server, fourth)
	assert len(server.log.find(WISHED)) == 2


def test_a_folder_above(h2d, made, tmp_path):
	"""It is replaced as a whole, far above the files."""
	for n in ("a", "b"):
		(tmp_path / n / "deep" / "tls").mkdir(parents=True)
	new = made()
	files = Plain(str(tmp_path / "a" / "deep" / "tls"), made())
	Plain(str(tmp_path / "b" / "deep" / "tls"), new)
	server = h2d.new(listens=("tls",), workers=2)
	put(server, files)
	server.start()
	os.rename(str(tmp_path / "a"), str(tmp_path / "c"))
	os.rename(str(tmp_path / "b"), str(tmp_path / "a"))
	taken(server, new)


def start_stapled(h2d, tmp_path, **how):
	authority = ocsp.Authority(tmp_path, "authority")
	chain, key = authority.leaf("a.example")
	staple = authority.response(chain, str(tmp_path / "staple"), **how)

	class files:
		cert, key = chain, authority.path("a.example.ecdsa.key")
	server = h2d.new(listens=("tls",), workers=2)
	put(server, files, more='stapling-file = "%s"\n' % staple)
	return server.start(), staple, lambda **at: authority.response(chain, staple, **at)


def are_sent(server, what):
	reloads(server)
	procs.wait_for(lambda: [status(server, "-status") for _ in range(4)] == [what] * 4, said="by all workers: %s" % what)


def test_staples(h2d, tmp_path):
	"""A staple that is renewed is sent; what is none changes nothing."""
	server, staple, renew = start_stapled(h2d, tmp_path, at="-3d")
	assert status(server, "-status") is None
	renew()
	are_sent(server, "good")
	write(staple, "nothing")
	server.run("-s", "reload", check=1)
	server.log.wait(r"h2d\.conf:9: stapling-file %s: the file has no OCSP response" % staple)
	are_sent(server, "good")


def test_a_staple_that_expires(h2d, tmp_path):
	"""It is not sent any more, and that is said once."""
	server, staple, _ = start_stapled(h2d, tmp_path, at="-86394s")  # of a day
	are_sent(server, "good")
	server.log.wait(r"h2d\.conf:9: stapling-file %s is not sent: it has expired" % staple)
	are_sent(server, None)
	assert len(server.log.find("it has expired")) == 1
