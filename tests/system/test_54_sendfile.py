"""sendfile = true: the same bytes, ends and bounds as without it, from files that the socket takes itself."""
import os
import socket
import time

import pytest

import h1client
import procs
import server as srv
from harness import needs_root
from test_54_ranges import parts

SIZES = [0, 1, 8191, 40959, 40960, 65536, 300000, 1 << 20, (1 << 20) + 8193, (3 << 20) + 5]
BIG = 20 << 20
DISK = "cache { max-size = 0 }"

both = pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])


def told(path):
	"""Whether its file system says what of a file is in memory: overlayfs, for one, does not."""
	fd = os.open(path, os.O_RDONLY)
	try:
		os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT)
	except BlockingIOError:
		pass
	except OSError:
		return False
	finally:
		os.close(fd)
	return True


def pieces(server):
	return server.status()["totals"]["sendfile_pieces"]


def make(h2d, files=None, server="sendfile = true", **options):
	options.setdefault("sections", DISK)
	return h2d(files=files or {"big": os.urandom(BIG)}, server=server, **options)


def read(server, name):
	with open(os.path.join(server.root, name), "rb") as f:
		return f.read()


def expect_pieces(server, least):
	"""So many at least, where that is told."""
	assert pieces(server) >= (least if told(server.conf_path) else 0)


def begin(server, path="/big", n=65536, source=None, headers=()):
	"""A download of which the client has read so much, into a small buffer."""
	s = socket.socket()
	s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
	s.settimeout(procs.DEADLINE)
	if source:
		s.bind((source, 0))
	s.connect(("127.0.0.1", server.ports["tcp"]))
	c = h1client.H1(s)
	c.send("GET", path, headers)
	while len(c.buffer) < n:
		assert c.more(time.monotonic() + procs.DEADLINE)
	return c


def finish(c):
	"""What is left of it: the body, and whether it is whole."""
	while b"\r\n\r\n" not in c.buffer:
		assert c.more(time.monotonic() + procs.DEADLINE)
	head, _, body = c.buffer.partition(b"\r\n\r\n")
	size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
	got = [body]
	n = len(body)
	c.buffer = b""
	while n < size and c.more(time.monotonic() + procs.DEADLINE):
		got.append(c.buffer)
		n += len(c.buffer)
		c.buffer = b""
	return b"".join(got), n == size


def test_every_size(h2d):
	files = {"f%d" % size: os.urandom(size) for size in SIZES}
	server = make(h2d, files, listens=("tcp", "tls", "unix"))
	with server.h1("tcp") as c:
		for size in SIZES:
			path, body = "/f%d" % size, files["f%d" % size]
			for _ in range(2):
				assert c.get(path).body == body, size
			assert c.request("HEAD", path).get("content-length") == str(size)
			for first, last in ((0, size // 2), (size // 3, size - 1), (1, size - 2)):
				if 0 <= first <= last < size:
					part = c.get(path, [("range", "bytes=%d-%d" % (first, last))])
					assert (part.status, part.body) == (206, body[first:last + 1]), (size, first, last)
		size = SIZES[-1]
		answer = c.get("/f%d" % size, [("range", "bytes=0-999999,2000000-")])
		assert [p[2] for p in parts(answer)] == [files["f%d" % size][:1000000], files["f%d" % size][2000000:]]
	with server.h1("tcp") as c:
		c.send("GET", "/f%d" % size, version="1.0")
		assert c.response().body == files["f%d" % size]
	expect_pieces(server, 20)
	before = pieces(server)
	for connect, how in ((server.h1, "tls"), (server.connect, "tls"), (server.connect, "tcp")):
		with connect(how) as c:
			assert c.get("/f%d" % size).body == files["f%d" % size]
	assert pieces(server) == before  # TLS and HTTP/2 have no use for files
	with server.h1("unix") as c:
		assert c.get("/f%d" % size).body == files["f%d" % size]
	expect_pieces(server, before + 3)


def test_where_it_is_said(h2d):
	data = os.urandom(1 << 20)
	server = make(h2d, {"off/f": data, "on/f": data, "f": data}, server="""sendfile = false
location "/on/" { sendfile = true }""", conf="sendfile = true")
	with server.h1("tcp") as c:
		assert c.get("/f").body == c.get("/off/f").body == data
		assert pieces(server) == 0
		assert c.get("/on/f").body == data
	expect_pieces(server, 1)


def test_cached_files_are_the_images(h2d):
	server = h2d(image=True, files={"f": os.urandom(1 << 20)}, server="sendfile = true").wait_checked()
	with server.h1("tcp") as c:
		assert c.get("/f").body == read(server, "f")
	assert pieces(server) == 0


@both
def test_many_at_once(h2d, dispatch):
	server = make(h2d, {"f%d" % i: os.urandom((2 << 20) + i * 77777) for i in range(8)}, workers=2, dispatch=dispatch)
	wrong = []

	def download(n):
		try:
			c = begin(server, "/f%d" % (n % 8), n=1000)
			if n % 3 == 0:
				time.sleep(0.5)
			if finish(c) != (read(server, "f%d" % (n % 8)), True):
				wrong.append(n)
			c.close()
		except Exception as e:
			wrong.append((n, e))

	procs.together(32, download)
	assert not wrong
	expect_pieces(server, 32)


@both
@pytest.mark.parametrize("change", ["shrinks", "ends", "is edited", "is replaced", "grows"])
def test_changes_while_it_is_sent(h2d, change, dispatch):
	"""What was announced comes whole, or the response ends early, at once, and the log says why."""
	server = make(h2d, {"big": os.urandom(BIG), "other": os.urandom(BIG)}, dispatch=dispatch)
	path, body = os.path.join(server.root, "big"), read(server, "big")
	other = begin(server, "/other")
	os.utime(path, (784111777, 784111777))
	c = begin(server)
	if change == "shrinks":
		os.truncate(path, BIG // 2)
	elif change == "ends":
		os.truncate(path, 0)
	elif change == "is edited":
		with open(path, "r+b") as f:
			f.seek(BIG - 100)
			f.write(b"edited")
	elif change == "grows":
		with open(path, "ab") as f:
			f.write(b"more")
	else:
		server.write("new", b"another")
		os.rename(os.path.join(server.root, "new"), path)
	begun = time.monotonic()
	got, whole = finish(c)
	c.close()
	assert body.startswith(got)
	assert whole == (change in ("is replaced", "grows")), len(got)
	if not whole:
		assert time.monotonic() - begun < 30  # by no timeout
		server.log.wait("big: changed during the response")
	assert finish(other) == (read(server, "other"), True)
	other.close()
	with server.h1("tcp") as c:
		assert c.get("/").status == 200


def test_a_peer_that_reads_nothing_is_timed_out(h2d):
	server = make(h2d, sections=DISK + "\ntimeouts { send = 2 }")
	with begin(server, n=1):
		server.log.wait("client reads too slowly")
		server.wait_connections(0)


def test_by_a_limit(h2d):
	server = make(h2d, {"f": os.urandom(3000000)}, server="sendfile = true  connection-bytes-per-second = 1000000")
	begun = time.monotonic()
	with server.h1("tcp") as c:
		assert c.get("/f").body == read(server, "f")
	assert time.monotonic() - begun > 2


def test_the_log_has_what_went_out(h2d):
	server = make(h2d, conf='access-log = "all.log"\naccess-log-format = json')
	with server.h1("tcp") as c:
		assert c.get("/big").body == read(server, "big")
	begin(server).close()
	lines = procs.wait_for(lambda: [line for line in open(server.path("all.log")) if "/big" in line][1:] and
		list(open(server.path("all.log"))))
	sent = [int(line.partition('"bytes":')[2].split(",")[0].strip("} \n")) for line in lines if "/big" in line]
	assert sent[0] == BIG and 0 < sent[1] < BIG / 2, lines


def test_reload_and_quit(h2d):
	"""Downloads go on in workers that leave."""
	server = make(h2d, conf="shutdown-timeout = 60")
	one = begin(server)
	server.reload()
	two = begin(server)
	server.signal(srv.signal.SIGQUIT)
	for c in (one, two):
		assert finish(c) == (read(server, "big"), True)
		c.close()
	server.wait_exit()


def test_behind_a_proxy(h2d):
	server = make(h2d, listens=(), conf='trusted-proxies = {"127.0.0.1"}',
		sections=DISK + '\nlisten "127.0.0.1:0" { proxy-protocol = true }')  # behind the admin listener, which is waited for
	port = int(server.log.wait(r"listening on 127\.0\.0\.1:\d+")[0].rpartition("127.0.0.1:")[2].split()[0])
	s = socket.create_connection(("127.0.0.1", port))
	s.sendall(b"PROXY TCP4 192.0.2.7 192.0.2.9 1000 80\r\n")
	with h1client.H1(s) as c:
		assert c.get("/big").body == read(server, "big")


def forget(path):
	"""Has the kernel drop what it has of a file in memory."""
	fd = os.open(path, os.O_RDONLY)
	os.fsync(fd)
	os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
	os.close(fd)


@both
def test_what_is_not_in_memory_is_read(h2d, dispatch):
	server = make(h2d, dispatch=dispatch)
	body = read(server, "big")
	for _ in range(2):
		forget(os.path.join(server.root, "big"))
		with server.h1("tcp") as c:
			assert c.get("/big").body == body
			assert c.get("/big").body == body
	expect_pieces(server, 10)


@needs_root("there is another user for root alone")
@both
@pytest.mark.parametrize("owned", [True, False])
def test_in_the_sandbox_of_another_user(h2d, owned, dispatch):
	"""Who may read a file, and neither owns it nor may write to it, has it sent from memory as well."""
	import pwd
	server = h2d.new(files={"f": os.urandom(3 << 20)}, server="sendfile = true", sections=DISK, conf='user = "nobody"', dispatch=dispatch)
	if owned:
		os.chown(os.path.join(server.root, "f"), pwd.getpwnam("nobody").pw_uid, -1)
	server.start()
	with server.h1("tcp") as c:
		for _ in range(2):
			assert c.get("/f").body == read(server, "f")
		forget(os.path.join(server.root, "f"))
		assert c.get("/f").body == read(server, "f")
	expect_pieces(server, 4)


def test_told_where_it_does_nothing(h2d):
	server = h2d.new(listens=("tls",), server="sendfile = true")
	assert "warning: sendfile does nothing" in server.run("-t", check=0).err
	server = h2d.new(listens=("tls", "tcp"), server="sendfile = true")
	assert "sendfile" not in server.run("-t", check=0).err
