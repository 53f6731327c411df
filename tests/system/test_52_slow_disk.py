"""A disk that does not answer holds nobody else up: one worker, file calls held back by FUSE."""
import contextlib
import mmap
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

import harness
import procs
import slowfs
import uploads

HERE = os.path.dirname(os.path.abspath(__file__))


class Slow:
	def __init__(self, mountpoint, script="slowfs.py"):
		if not os.path.exists("/dev/fuse"):
			harness.skip_without("fuse", "no /dev/fuse")
		self.mountpoint = mountpoint
		os.makedirs(mountpoint)
		self.process = subprocess.Popen([sys.executable, os.path.join(HERE, script),
			mountpoint],
			stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
			text=True)
		self.held = []
		self.changed = threading.Condition()
		self.ready = self.process.stdout.readline().strip() == "ready"
		if self.ready:
			threading.Thread(target=self.listen, daemon=True).start()

	def listen(self):
		for line in self.process.stdout:
			with self.changed:
				self.held.append(line.split()[1])
				self.changed.notify_all()

	def wait_held(self, *names):
		"""Until one of these is held."""
		with self.changed:
			assert self.changed.wait_for(lambda: set(names) & set(self.held), 60), self.held

	def say(self, word):
		self.process.stdin.write(word + "\n")
		self.process.stdin.flush()

	def close(self):
		if self.process.poll() is None and self.ready:
			self.process.stdin.close()
			subprocess.run(["umount", "-l", self.mountpoint], stderr=subprocess.DEVNULL)
			subprocess.run(["fusermount3", "-u", "-z", self.mountpoint],
				stderr=subprocess.DEVNULL)
		try:
			self.process.wait(60)
		except subprocess.TimeoutExpired:
			self.process.kill()


@contextlib.contextmanager
def started(server, *mounts):
	"""The server starts with these file systems below its roots, and ends before they do."""
	try:
		for mount in mounts:
			if not mount.ready:
				harness.skip_without("fuse", mount.process.communicate()[1].strip().split("\n")[-1])
		server.start()
		yield server
		server.finish()
		server.process = None
	finally:
		for mount in mounts:
			mount.close()


@pytest.fixture
def slow(h2d):
	"""A server with a held-back file system at /slow below its root."""
	server = h2d.new(files={"quick": "quick", "large": b"l" * (5 << 20)})
	server.slow = Slow(os.path.join(server.root, "slow"))
	with started(server, server.slow):
		yield server
		server.slow.say("release")


@pytest.mark.parametrize("kind", ["read", "open", "look"])
def test_others_are_served(slow, how, kind):
	name = kind + "-1"
	with slow.connect(how) as waiting, slow.connect(how) as other:
		stream = waiting.send(path="/slow/" + name)
		slow.slow.wait_held(name)
		paths = [("/quick", 5), ("/large", 5 << 20), ("/healthz", None)]
		if kind != "look":  # the kernel looks names of a folder up one by one
			paths.append(("/slow/fast-1", 200000))
		for path, size in paths:
			answer = other.get(path)
			assert answer.status == 200 and size in (None, answer.size), path
		# the same connection, too
		assert waiting.get("/quick").body == b"quick"
		assert not waiting.responses[stream].done
		slow.slow.say("release")
		answer = waiting.response(stream)
		assert answer.status == 200 and answer.body == slowfs.content(name)


def test_abandoned_while_held(slow):
	"""The client goes while its file is being read: nothing is freed under the reader."""
	for i in range(3):
		c = slow.connect("tcp")
		c.send(path="/slow/read-%d" % i)
		if i == 0:
			slow.slow.wait_held("read-0")
		c.close()
	with slow.connect("tcp") as c:
		stream = c.send(path="/slow/read-9")
		c.reset(stream)
		assert c.get("/quick").body == b"quick"
		slow.slow.say("release")
		assert c.get("/slow/read-9").body == slowfs.content("read-9")


def test_gone_while_held(slow, how):
	"""The socket of a client that went away does not wait for its file."""
	raw = slow.raw(how)
	raw.send(raw.headers(1, raw.head("/slow/read-0")))
	slow.slow.wait_held("read-0")
	assert raw.ping()  # and with that nothing is unread, which the kernel would answer with a reset
	raw.close()
	procs.wait_for(lambda: slow.status()["totals"]["connections"] == 1, said="closed")
	slow.slow.say("release")


@pytest.mark.parametrize("kinds", [["list"], ["read"], ["list", "read"]], ids=["listings", "files", "both"])
def test_a_root_hangs_alone(h2d, kinds):
	"""Of two sites on FUSE one does not answer: listings and files of the other come all the same."""
	server = h2d.new(files={"quick": "quick"})
	other = server.path("other")
	os.mkdir(other, 0o755)
	with open(os.path.join(other, "file"), "w") as f:
		f.write("f")
	server.write_conf(server="autoindex = true",
		sections='server "other" { root = "%s"  autoindex = true }' % other)
	mounts = [Slow(os.path.join(server.root, "slow")), Slow(os.path.join(other, "fuse"))]
	with started(server, *mounts):
		with server.connect("tcp") as c, server.connect("tcp", authority="other", timeout=60) as fine:
			for kind in kinds:
				for i in range(20):
					c.send(path="/slow/%s-%d%s" % (kind, i, "/" * (kind == "list")))
				mounts[0].wait_held(*("%s-%d" % (kind, i) for i in range(20)))  # whichever is first
			for i in range(3):
				listing = fine.get("/")
				assert listing.status == 200 and b"./file" in listing.body
				assert fine.get("/fuse/").status == 200
				assert fine.get("/fuse/fast-%d" % i).body == slowfs.content("fast-%d" % i)
				assert fine.get("/file").body == b"f"
			mounts[0].say("release")
		server.wait_quiet()


@pytest.mark.parametrize("how", ["tcp", "tls"])
@pytest.mark.parametrize("end", ["close", "reset", "pipelined"])
def test_gone_over_http1(slow, how, end):
	"""The same over HTTP/1.1, though a close there could be half of one; pipelined: with a request unread."""
	c = slow.h1(how)
	c.send(path="/slow/read-0")
	slow.slow.wait_held("read-0")
	if end == "pipelined":
		c.send(path="/quick")
		c.send(path="/quick")
	if end != "close":
		c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
	c.close()
	procs.wait_for(lambda: slow.status()["totals"]["connections"] == 1, said="closed")
	slow.slow.say("release")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_half_a_close_over_http1(slow, version):
	"""Who only says no more is answered, however long it takes; HTTP/1.1 is asked meanwhile whether it is there."""
	with slow.h1("tcp", timeout=30) as c:
		c.send(path="/slow/read-0", version=version)
		c.sock.shutdown(socket.SHUT_WR)
		slow.slow.wait_held("read-0")
		if version == "1.1":
			deadline = time.monotonic() + 30
			while b"\r\n\r\n" not in c.buffer:
				assert c.more(deadline)
		else:
			time.sleep(2.5)  # nothing may come, for more than the server waits before it asks
		slow.slow.say("release")
		answer = c.response()
		assert answer.body == slowfs.content("read-0")
		assert set(answer.interim) == ({102} if version == "1.1" else set())


@pytest.mark.parametrize("kind", ["read", "open", "look"])
def test_hangs_alone(slow, kind):
	"""A file system that does not answer takes no thread from other files."""
	with slow.connect("tcp") as c, slow.connect("tcp") as other:
		for i in range(20):
			c.send(path="/slow/%s-%d" % (kind, i))
			if i == 0:
				slow.slow.wait_held(kind + "-0")
		for i in range(3):  # nobody has looked at them: a thread hashes them, or takes them in
			whole = slow.write(".fresh", b"x" * (5 << 20))  # else the keeper may meet half of it
			os.rename(whole, slow.path("www", "fresh-%d" % i))
			assert other.get("/fresh-%d" % i).size == 5 << 20
		slow.slow.say("release")


def test_held_for_several(slow):
	"""More held reads than threads wait; what the image holds is served all the same."""
	with slow.connect("tcp") as c, slow.connect("tcp") as other:
		names = ["read-%d" % i for i in range(20)]
		streams = [c.send(path="/slow/" + name) for name in names]
		slow.slow.wait_held(*names)  # whichever was found first
		for _ in range(50):
			assert other.get("/quick").body == b"quick"
		slow.slow.say("release")
		for name, stream in zip(names, streams):
			assert c.response(stream).body == slowfs.content(name)


def test_reload_while_held(slow):
	"""A new generation comes up although an old worker waits for a disk."""
	with slow.connect("tcp") as c:
		stream = c.send(path="/slow/read-1")
		slow.slow.wait_held("read-1")
		slow.reload()
		with slow.connect("tcp") as other:
			assert other.get("/quick").body == b"quick"
		slow.slow.say("release")
		assert c.response(stream).body == slowfs.content("read-1")


@pytest.mark.parametrize("nested", [False, True], ids=["root", "below"])
def test_rules_hold_for_every_spelling(h2d, nested):
	"""On a file system that does not tell /secret from /Secret, the other spelling is not there."""
	server = h2d.new(files={"quick": "quick"})
	top = "/fold" if nested else ""
	mount = Slow(os.path.join(server.root, "fold"), "foldfs.py")
	root = server.root if nested else mount.mountpoint
	deny = 'deny = {"all"}'
	server.write_conf(sections=(
		'server "free" { root = "%s" }'
		'server "guarded" { root = "%s"  autoindex = true'
		' location "%s/secret" { %s } location "%s/secret.html" { %s } }'
		% (root, root, top, deny, top, deny)))
	with started(server, mount):
		with server.connect("tcp", authority="guarded") as c:
			for path, status in (("/open/page.html", 200), ("/till~de.txt", 200), ("/open/", 200),
					("/secret/page.html", 403), ("/secret.html", 403), ("/secret/", 403)):
				assert c.get(top + path).status == status, path
			for path in ("/Secret/page.html", "/secret~1/page.html", "/SECRET.HTML", "/secret.htmL",
					"/Secret/", "/SECRET~1/", "/Secret", "/htpass~1", "/.htpasswd"):
				answer = c.get(top + path)
				assert answer.status == 404 and b"page.html" not in answer.body, path
		with server.connect("tcp", authority="free") as c:
			assert c.get(top + "/Secret.html").body == b"secret"
			assert c.get(top + "/till~de.txt").status == 200
			assert c.get(top + "/HTPASS~1").status == 404


def test_uploads_hold_for_every_spelling(h2d):
	"""Nobody replaces or removes by another spelling what the rules keep from them."""
	server = h2d.new()
	mount = Slow(os.path.join(server.root, "fold"), "foldfs.py")
	server.write_conf(server='upload-dir = "fold"  upload-public = true'
		'  location "/files/secret.html" { deny = {"all"} }  location "/fold/till~de.txt" { deny = {"all"} }')
	with started(server, mount):
		with server.connect("tcp") as c:
			for name in ("secret.html", "till~de.txt"):
				assert c.request("DELETE", "/files/" + name).status == 403
				assert c.request("PUT", "/files/" + name, body=b"new").status == 403
			for name in ("Secret.html", "SECRET~1", "TILL~DE.TXT", "htpass~1"):
				assert c.request("PUT", "/files/" + name, body=b"new").status == 409, name
				assert c.request("DELETE", "/files/" + name).status == 404, name
			assert c.get("/fold/secret.html").body == b"secret"
			# Neither is a file of a form lost to another of the same form.
			assert uploads.post(c, [("one", b"1"), ("Two", b"2"), ("TWO", b"3")]).status == 409
			assert not {"one", "Two", "TWO"} & set(os.listdir(mount.mountpoint))
			assert uploads.post(c, [("one", b"1"), ("Two", b"2")]).status == 201
			assert uploads.post(c, [("one", b"3"), ("Two", b"4")]).status == 201
			assert (c.get("/files/one").body, c.get("/files/Two").body) == (b"3", b"4")


def test_a_write_that_does_not_end(slow):
	"""write(2) holds the inode's lock while it waits for its own source: keeper and workers go on without."""
	source = os.open(os.path.join(slow.slow.mountpoint, "read-1"), os.O_RDONLY)
	page = mmap.mmap(source, 4096, prot=mmap.PROT_READ)
	path = slow.path("www", "stuck")
	slow.write("stuck", b"x" * 8192)
	stuck = os.open(path, os.O_WRONLY)
	writer = threading.Thread(target=os.write, args=(stuck, page), daemon=True)
	writer.start()
	slow.slow.wait_held("read-1")
	clients = [slow.connect("tcp") for _ in range(6)]
	for c in clients:
		c.send(path="/stuck")
	number = slow.status()["image"]
	slow.write("later", b"later")
	slow.wait_image(number)
	with slow.connect("tcp") as c:
		assert c.get("/later").body == b"later"
		assert c.get("/quick").body == b"quick"
		assert len(c.get("/large").body) == 5 << 20
	slow.slow.say("release")
	writer.join(60)
	assert not writer.is_alive()
	for c in clients:
		c.close()
	page.close()
	os.close(stuck)
	os.close(source)
