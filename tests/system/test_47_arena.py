"""examples/arena: the entry in HttpArena answers as that arena's own checks want it."""
import gzip
import itertools
import json
import os
import pathlib
import random
import re
import socket
import struct
import time

import pytest

import client
from codings import brotli
from test_47_handlers import handlers, link, post  # noqa: F401 (fixtures)

TOP = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"css": "text/css", "js": "text/javascript", "html": "text/html", "woff2": "font/woff2", "svg": "image/svg+xml",
	"webp": "image/webp", "json": "application/json"}
# name, bytes, and whether it has a .br beside it
FILES = [("reset.css", 8192, 1), ("layout.css", 25600, 1), ("theme.css", 18432, 1), ("components.css", 204800, 1),
	("utilities.css", 61440, 1), ("analytics.js", 12288, 1), ("helpers.js", 22528, 1), ("app.js", 204800, 1),
	("vendor.js", 307200, 1), ("router.js", 35840, 1), ("header.html", 122880, 1), ("footer.html", 56320, 1),
	("regular.woff2", 18432, 0), ("bold.woff2", 22528, 0), ("logo.svg", 15344, 1), ("icon-sprite.svg", 71680, 1),
	("hero.webp", 46080, 0), ("thumb1.webp", 8192, 0), ("thumb2.webp", 6144, 0), ("manifest.json", 2883, 1)]
ITEMS = [{"id": i, "name": "Item \"%d\" é" % i, "price": 7 * i + 1, "quantity": i % 9, "tags": ["a", "b"], "rating": {"score": i}}
	for i in range(1, 51)]
CODED = [("accept-encoding", "br;q=1, gzip;q=0.8")]


@pytest.fixture
def arena(handlers, tmp_path):  # noqa: F811
	"""A server with the routes of the entry, and its data set."""
	path = tmp_path / "dataset.json"
	path.write_text(json.dumps(ITEMS))
	os.chmod(tmp_path, 0o755)
	server = handlers(sections='handler "json" { dataset = "%s" }' % path)
	server.allow_fault("text/plain without charset", "digits, and that is what the arena calls them")
	return server


def test_sums(arena, speak, how):  # noqa: F811
	with link(arena, speak, how) as c:
		for path in ("/baseline11", "/baseline2"):
			a, b, n = (random.randrange(-10**6, 10**9) for _ in range(3))
			target = "%s?a=%d&b=%d" % (path, a, b)
			answer = c.get(target)
			assert (answer.status, answer.body, answer.get("content-type")) == (200, b"%d" % (a + b), "text/plain")
			# Two bodies in a row differ: nothing of the first is in the second.
			for number in (n, n + 1):
				for length in (True, False):
					assert post(c, target, b"%d" % number, length=length).body == b"%d" % (a + b + number)
		assert c.get("/baseline2").body == b"0"
		assert c.get("/baseline2?a=x&b=%31+&c").body == b"1"


def test_pieces(arena, how):
	"""Requests of HTTP/1.1 that are cut anywhere; each piece is on its own way, as the arena's are."""
	with link(arena, "h1", how) as c:
		c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
		head = c.head("POST", "/baseline11?a=13&b=42", [("content-length", "4")]) + b"1945"
		chunked = c.head("POST", "/baseline11?a=13&b=42", [("transfer-encoding", "chunked")]) + b"2\r\n19\r\n2\r\n45\r\n0\r\n\r\n"
		for text, cuts in ((head, (5, 30, len(head) - 8, len(head) - 3, len(head) - 1)), (chunked, (len(chunked) - 16, len(chunked) - 9))):
			c.ask("POST", "/baseline11")
			for begin, end in zip((0, *cuts), (*cuts, len(text))):
				c.send_bytes(text[begin:end])
				time.sleep(0.03)
			assert c.response().body == b"2000"
		c.ask("POST", "/baseline11")
		for i in range(len(chunked)):
			c.send_bytes(chunked[i:i + 1])
		assert c.response().body == b"2000"


def test_pipelined(arena, how):
	with link(arena, "h1", how) as c:
		for _ in range(3):
			for _ in range(16):
				c.ask("GET", "/pipeline")
			c.send_bytes(c.head("GET", "/pipeline") * 16)
			for _ in range(16):
				answer = c.response()
				assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize("size", [0, 1, 500000, 2000361, 20000000])
def test_uploads_are_counted(arena, speak, size):  # noqa: F811
	"""What came is counted, not what was announced."""
	data = os.urandom(size)
	with link(arena, speak, "tls" if size == 500000 else "tcp") as c:
		for length in (True, False):
			answer = post(c, "/upload", data, length=length)
			assert (answer.status, answer.body) == (200, b"%d" % size)


def test_json(arena, speak):  # noqa: F811
	with link(arena, speak) as c:
		for count, m in ((1, 1), (5, 3), (50, 7), (0, 2), (17, None)):
			answer = c.get("/json/%d%s" % (count, "" if m is None else "?m=%d" % m))
			assert (answer.status, answer.get("content-type")) == (200, "application/json")
			assert answer.get("content-encoding") is None and answer.get("vary") == "accept-encoding"
			assert json.loads(answer.body) == {"count": count, "items": [
				dict(item, total=item["price"] * item["quantity"] * (1 if m is None else m)) for item in ITEMS[:count]]}
		plain = c.get("/json/50?m=2").body
		packed = c.get("/json/50?m=2", [("accept-encoding", "gzip")])
		assert packed.get("content-encoding") == "gzip" and gzip.decompress(packed.body) == plain
		assert len(packed.body) < len(plain) // 2
		packed = c.get("/json/50?m=2", CODED)
		assert packed.get("content-encoding") == "br" and len(packed.body) < len(plain) // 2
		for accepted in ("identity", "br;q=0", "deflate"):
			assert c.get("/json/50?m=2", [("accept-encoding", accepted)]).body == plain
		for path in ("/json/x", "/json/-1"):
			assert c.get(path).status == 404


def test_no_dataset(handlers):  # noqa: F811
	with handlers(listens=("tcp",)).connect() as c:
		assert c.get("/json/1").status == 404


def test_a_dataset_that_is_none(handlers, tmp_path):  # noqa: F811
	"""The start fails, and says why."""
	os.chmod(tmp_path, 0o755)
	(tmp_path / "dataset.json").write_text("[1, 2]")
	server = handlers.new(listens=("tcp",), sections='handler "json" { dataset = "%s" }' % (tmp_path / "dataset.json"))
	server.spawn()
	server.log.wait(r"handler json: .*dataset\.json: no array of objects")
	server.expect_exit(1)
	assert server.wait_exit() == 1


def test_static(handlers):  # noqa: F811
	"""Types and sizes of all 20 files, and what lies beside them for who takes br; what is not there is 404."""
	texts = {"static/" + name: os.urandom(size // 4).hex()[:size].encode() + b"x" * (size - size // 4 * 2)
		for name, size, _ in FILES}
	beside = {"static/%s.br" % name: brotli(texts["static/" + name]) for name, _, br in FILES if br}
	server = handlers(files={**texts, **beside}, image=True)
	server.wait_coded(["static/" + name for name, _, br in FILES if br])
	# One server for all: its image takes a processor for seconds.
	for protocol, transport in itertools.product(("h2", "h1"), ("tcp", "tls")):
		with link(server, protocol, transport) as c:
			for name, size, br in FILES:
				answer = c.get("/static/" + name)
				assert (answer.status, answer.size, answer.get("content-encoding")) == (200, size, None)
				assert answer.body == texts["static/" + name]
				assert answer.get("content-type").partition(";")[0] == TYPES[name.rpartition(".")[2]]
				answer = c.get("/static/" + name, CODED)
				assert (answer.status, answer.get("content-encoding")) == (200, "br" if br else None)
				assert answer.body == (beside["static/%s.br" % name] if br else texts["static/" + name])
			assert c.get("/static/nothing.css").status == 404


# What is no request, or one that asks for too much: it may be refused in any way.
NOISE = [b"\r\n" * 40, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100, b"GET /\x00 HTTP/1.1\r\nhost: a\r\n\r\n",
	b"GET / HTTP/1.1\rhost: a\r\r", b"GET / HTTP/1.1\r\nhost: a\r\n folded: b\r\n\r\n", b"GET / HTTP/1.1\nhost: a\n\n",
	b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 100000 + b"\r\n\r\n", b"GET /" + b"z" * 100000 + b" HTTP/1.1\r\n\r\n",
	b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: b\r\n" % i for i in range(5000)) + b"\r\n",
	b"POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", b"POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
	b"POST /upload HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"POST /upload HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
	b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", b"G\xc3\x89T / HTTP/1.1\r\nhost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100]


def test_noise(arena, how):
	pids = arena.worker_pids()
	for noise in NOISE:
		with arena.socket(how) as s:
			try:
				s.sendall(noise)
				s.shutdown(socket.SHUT_WR) if how == "tcp" else None
				s.recv(1000)
			except OSError:
				pass
			s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
	with link(arena, "h1", how) as c:
		assert c.get("/baseline11?a=1&b=2").body == b"3"
	assert arena.worker_pids() == pids


def test_the_configuration(handlers, cert, tmp_path):  # noqa: F811
	"""h2d.conf of the entry, with this machine's paths and ports: no HTTP/1.1 on the port of h2c."""
	text = (TOP / "examples" / "arena" / "h2d.conf").read_text()
	folder = tmp_path / "data"
	folder.mkdir()
	(folder / "dataset.json").write_text(json.dumps(ITEMS))
	for path in (tmp_path, folder):
		os.chmod(path, 0o755)
	for said, here in (("/certs/server.crt", cert.cert), ("/certs/server.key", cert.key), ('"/data', '"%s' % folder)):
		assert said in text
		text = text.replace(said, here)
	server = handlers.new(listens=())
	# The log says the ports, below its level of the entry.
	text, n = re.subn(r'"0\.0\.0\.0:80(\d\d)" \{', r'"127.0.0.\1:0" {', re.sub(r'8443" {', '8043" {', text).replace('"warn"', '"notice"'))
	assert n == 4
	text = text.replace("worker-processes = auto", "worker-processes = 1")
	server.put_conf(text + 'pid-file = "%s"\nlisten "unix:%s" { admin = true  socket-mode = "0600" }\n' % (server.pid_path, server.admin_path))
	server.spawn()
	server.log.wait(" listening on ", count=5)
	server.wait_up()
	server.take_baseline()
	at = dict(re.findall(r"listening on (127\.0\.0\.\d+):(\d+)", server.log_text()))
	assert len(at) == 4, server.log_text()

	def ask(address, text):
		with socket.create_connection((address, int(at[address])), client.DEADLINE) as s:
			s.sendall(text)
			return s.recv(12)

	assert ask("127.0.0.80", b"GET /pipeline HTTP/1.1\r\nhost: a\r\n\r\n") == b"HTTP/1.1 200"
	assert not ask("127.0.0.82", b"GET /pipeline HTTP/1.1\r\nhost: a\r\n\r\n").startswith(b"HTTP/")
	assert ask("127.0.0.82", client.PREFACE + b"\0\0\0\4\0\0\0\0\0")[3:5] == b"\4\0"  # SETTINGS
