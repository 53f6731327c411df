"""The profiles of HttpArena (examples/arena) for scripts/bench --arena: their loads, and the servers that can answer them.

The arena's own folder is taken where it is given; else files of the same names and sizes are made. Each server has one
worker on one processor, where the arena's have 64: costs per request carry over, rates do not.
"""
import ctypes
import gzip
import json
import os
import random
import shutil
import subprocess
import sys

import bench_servers
from bench_measure import TOP, Load
from bench_servers import Server, first_line, write

# name, bytes; what is text has codings beside it.
FILES = [("reset.css", 8192), ("layout.css", 25600), ("theme.css", 18432), ("components.css", 204800), ("utilities.css", 61440),
	("analytics.js", 12288), ("helpers.js", 22528), ("app.js", 204800), ("vendor.js", 307200), ("router.js", 35840),
	("header.html", 122880), ("footer.html", 56320), ("regular.woff2", 18432), ("bold.woff2", 22528), ("logo.svg", 15344),
	("icon-sprite.svg", 71680), ("hero.webp", 46080), ("thumb1.webp", 8192), ("thumb2.webp", 6144), ("manifest.json", 2883)]
ITEMS = 50
STATIC = tuple("/static/" + name for name, _ in FILES)
JSON = tuple("/json/%d?m=%d" % (n, n % 7 + 1) for n in range(1, ITEMS + 1))
CODED = "accept-encoding: br;q=1, gzip;q=0.8"
UPLOADS = (500000, 2000000, 10000000, 20000000)

# --- loads: the arena's, with as many connections as one worker of it has, or the fewest that it tries -----------


def in_turn(requests):
	"""A script of wrk that sends these requests, Lua expressions, one after the other."""
	return "local r, i = {}, 0\ninit = function(args)\n%s\nend\nrequest = function() i = i %% #r + 1; return r[i] end\n" % "\n".join(
		"r[%d] = %s" % (i + 1, text) for i, text in enumerate(requests))


def lua(text):
	return '"%s"' % text.replace("\r", "\\r").replace("\n", "\\n")


SUM = "/baseline11?a=13&b=42"
CHUNKED = "POST %s HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n20\r\n0\r\n\r\n" % SUM
GET = 'wrk.format("GET", "%s")'
BASELINE = in_turn([GET % SUM, 'wrk.format("POST", "%s", nil, "20")' % SUM, lua(CHUNKED)])
# A connection ends behind ten requests, on the average: wrk takes the next of these for whichever connection is free.
LIMITED = in_turn([GET % SUM, 'wrk.format("POST", "%s", nil, "20")' % SUM, lua(CHUNKED)] * 3 +
	['wrk.format("GET", "%s", {["connection"] = "close"})' % SUM])
PIPELINED = in_turn(['string.rep(wrk.format("GET", "/pipeline"), 16)'])
UPLOAD = in_turn(['wrk.format("POST", "/upload", nil, string.rep("x", %d))' % n for n in UPLOADS])
GET_CODED = 'wrk.format("GET", "%s", {["accept-encoding"] = "br;q=1, gzip;q=0.8"})'
FILES_IN_TURN = in_turn([GET_CODED % path for path in STATIC])
JSON_IN_TURN, JSON_CODED_IN_TURN = (in_turn([get % path for path in JSON]) for get in (GET, GET_CODED))
CODING = ("-H", CODED)

PROFILES = [
	Load("static-h2 -c256 -m32", True, 256, 32, STATIC[0], 15000, CODING, "", STATIC),
	Load("static-h2 -c1024 -m32", True, 1024, 32, STATIC[0], 15000, CODING, "", STATIC),
	Load("baseline-h2c -c256 -m100", False, 256, 100, "/baseline2?a=1&b=1", 1),
	Load("baseline-h2 -c256 -m100", True, 256, 100, "/baseline2?a=1&b=1", 1),
	Load("json-h2c -c256 -m100", False, 256, 100, JSON[0], 5000, (), "", JSON),
	Load("baseline -c512", False, 512, 0, SUM, 1, (), BASELINE),
	Load("pipelined -c512", False, 512, 0, "/pipeline", 2, (), PIPELINED),
	Load("static -c1024", False, 1024, 0, STATIC[0], 15000, (), FILES_IN_TURN, STATIC),
	Load("json -c512", False, 512, 0, JSON[0], 5000, (), JSON_IN_TURN, JSON),
	Load("json-comp -c512", False, 512, 0, JSON[0], 5000, (), JSON_CODED_IN_TURN, JSON),
	Load("json-tls -c512", True, 512, 0, JSON[0], 5000, (), JSON_IN_TURN, JSON),
	Load("limited-conn -c512", False, 512, 0, SUM, 1, (), LIMITED),
	Load("upload -c32", False, 32, 0, "/upload", 8000000, (), UPLOAD),
]


def asked(load):
	"""(path, further arguments of curl) for each request of the load, so that answers can be compared."""
	coded = ["-H", CODED] if load.paths == STATIC or load.script == JSON_CODED_IN_TURN else []
	if load.path == "/upload":
		return [(load.path, ["-X", "POST", "-H", "expect:", "--data-binary", "x" * n]) for n in (1, 5000, 100000)]
	found = [(path, coded) for path in load.paths or (load.path,)]
	if load.script in (BASELINE, LIMITED):
		found += [(SUM, ["-d", "20"]), (SUM, ["-d", "21", "-H", "transfer-encoding: chunked"])]
	return found


def base_of(load, names):
	"""Ratios are to the first build of h2d."""
	return names[0]


# --- files -------------------------------------------------------------------------------------------


def compress_br(data):
	library = ctypes.CDLL("libbrotlienc.so.1")
	out = ctypes.create_string_buffer(len(data) + (len(data) >> 2) + 10000)
	n = ctypes.c_size_t(len(out))
	assert library.BrotliEncoderCompress(9, 22, 0, ctypes.c_size_t(len(data)), data, ctypes.byref(n), out) == 1
	return out.raw[:n.value]


def words(random_of, size):
	"""Text that compresses to about a fifth, as that of sites does."""
	every = ["%s%d" % (w, i) for i in range(40) for w in ("color", "margin", "function", "return", "var x", "div", "padding", "px;\n", "{ ", "} ")]
	text = ""
	while len(text) < size:
		text += random_of.choice(every) + " "
	return text[:size].encode()


def make_files(static):
	os.mkdir(static)
	for name, size in FILES:
		mine = random.Random(name)
		plain = name.endswith((".woff2", ".webp"))
		data = bytes(mine.randrange(256) for _ in range(size)) if plain else words(mine, size)
		for extension, content in (("", data), *(() if plain else ((".br", compress_br(data)), (".gz", gzip.compress(data, mtime=0))))):
			with open(os.path.join(static, name + extension), "wb") as f:
				f.write(content)


def make_dataset():
	mine = random.Random("items")
	return [{"id": i, "name": mine.choice(("Alpha", "Pro", "Core", "Nano")) + " Widget", "category": "tools", "price": mine.randrange(1, 500),
		"quantity": mine.randrange(1, 100), "active": True, "tags": ["fast", "popular"],
		"rating": {"score": mine.randrange(51), "count": mine.randrange(500)}} for i in range(1, ITEMS + 1)]


def folder(given, work):
	"""A root with static/ and dataset.json: a copy of the arena's, or one that is made."""
	root = os.path.join(work, "root")
	os.mkdir(root)
	if given:
		shutil.copytree(os.path.join(given, "static"), os.path.join(root, "static"))
		shutil.copy(os.path.join(given, "dataset.json"), root)
		for top, dirs, files in os.walk(root):
			for name in dirs + files:
				os.chmod(os.path.join(top, name), 0o755 if name in dirs else 0o644)
	else:
		make_files(os.path.join(root, "static"))
		write(os.path.join(root, "dataset.json"), json.dumps(make_dataset()))
	return root


# --- servers -----------------------------------------------------------------------------------------


class Some:
	"""A server that answers some of the profiles: those whose names begin so."""
	answers = ()

	def can(self, load):
		return super().can(load) and load.name.startswith(self.answers)


class ArenaH2d(Some, bench_servers.H2d):
	answers = ("",)

	def more(self):
		return 'handler "json" { dataset = "%s/dataset.json" }' % self.env.root


class ArenaNginx(Some, bench_servers.Nginx):
	"""With brotli_static, where the module is installed: without it the files go by gzip_static."""
	answers = ("static", "pipelined")
	MODULE = "/usr/lib/nginx/modules/ngx_http_brotli_static_module.so"

	def commands(self):
		(argv,) = super().commands()
		path = argv[argv.index("-c") + 1]
		with open(path) as f:
			text = f.read()
		coded = "gzip_static on;\n"
		if os.path.exists(self.MODULE):
			text, coded = "load_module %s;\n" % self.MODULE + text, coded + "\tbrotli_static on;\n"
		text = text.replace("types { text/html html; }", "include /etc/nginx/mime.types;\n\t" + coded)
		text = text.replace("root %s;\n" % self.env.root, "root %s;\n\t\tlocation = /pipeline { default_type text/plain; return 200 ok; }\n"
			% self.env.root)
		write(path, text)
		return [argv]


class ArenaH2o(Some, bench_servers.H2o):
	answers = ("static",)

	def commands(self):
		(argv,) = super().commands()
		with open(argv[-1]) as f:
			text = f.read()
		write(argv[-1], text.replace("hosts:\n", "file.send-compressed: ON\nhosts:\n", 1))
		return [argv]


class ArenaCaddy(Some, bench_servers.Caddy):
	answers = ("static",)
	site = "file_server {\n\t\tprecompressed br gzip\n\t}"


class Libh2o(Some, Server):
	"""scripts/bench_libh2o.c, where Debian's libh2o-evloop-dev is installed."""
	name = "libh2o"
	answers = ("baseline", "json -c", "json-h2c", "json-tls", "limited-conn", "pipelined", "upload")

	@staticmethod
	def build(work):
		program = os.path.join(work, "bench_libh2o")
		done = subprocess.run(["cc", "-O2", "-o", program, os.path.join(TOP, "scripts", "bench_libh2o.c"), "-lh2o-evloop", "-lssl",
			"-lcrypto", "-lz", "-ljansson"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
		if done.returncode:
			print(done.stdout[:500], file=sys.stderr)
		return program

	def commands(self):
		return [[self.program, str(self.ports[False]), str(self.ports[True]), self.env.cert, self.env.key,
			os.path.join(self.env.root, "dataset.json")]]

	def version(self):
		return "libh2o-evloop " + first_line(["dpkg-query", "-W", "-f", "${Version}", "libh2o-evloop-dev"])


PEERS = [ArenaNginx, ArenaH2o, Libh2o, ArenaCaddy]
