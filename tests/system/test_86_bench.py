"""What scripts/bench makes of what it measures; the measuring itself is no test."""
import ctypes
import gzip
import http.server
import importlib.machinery
import json
import os
import pathlib
import subprocess
import sys
import threading
import types

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts"))

import bench_arena  # noqa: E402
import bench_measure as measure  # noqa: E402
import bench_report as report  # noqa: E402
from server import H2D  # noqa: E402
from test_47_handlers import HANDLERS  # noqa: E402


def rounds(*costs):
	return [{"cpu_us": c, "req_s": 1e6 / c if c else None, "p50_us": 1, "p99_us": 2, "pss_kib": 3, "failed": 1, "cipher": None}
		for c in costs]


def test_no_significant_difference():
	"""Where the spreads overlap, each without its two ends; one that is alone is not."""
	base = rounds(10, 11, 12, 13, 30)
	same, less = measure.summary(rounds(9, 9.5, 11.5, 12, 50), base), measure.summary(rounds(8, 9, 9.5, 10, 10), base)
	assert same["spread_us"] == [9.5, 12] and same["alike"] and report.ratio(same).endswith(" =")
	assert less["spread_us"] == [9, 10] and not less["alike"] and report.ratio(less) == "0.79"
	assert measure.summary(base, base)["alike"] is False
	assert measure.spread([3, None, 1]) == [1, 3] and measure.spread([None]) is None


def test_a_ratio_is_of_rounds_that_were_side_by_side():
	"""A machine that is slow for two rounds of five is slow for both."""
	s = measure.summary(rounds(2, 2, 2, 20, 20), rounds(4, 4, 4, 40, 40))
	assert s["ratio"] == 0.5 and s["failed"] == 5


def test_further_ratios():
	"""By --base; a load without that server has none."""
	base, other, mine = rounds(4, 4, 4), rounds(8, 8, 8), rounds(2, 2, 2)
	results = {"a": {"h2d": measure.summary(mine, base, [("h2o", other)]), "h2o": measure.summary(other, base, [("h2o", other)])},
		"b": {"h2d": measure.summary(mine, base)}}
	lines = [line.split() for line in report.table(results).splitlines()]
	assert lines[0][4:7] == ["ratio", "to", "h2o"]
	assert [line[-7:-5] for line in lines[1:]] == [["0.50", "0.25"], ["2.00", "1.00"], ["0.50", "-"]]


def test_the_tables():
	found = json.loads((TOP / "tests" / "interop" / "bench.json").read_text())
	text, page = report.table(found["results"]), report.page(found)
	for load, servers in found["results"].items():
		assert load in text and load in page
		for name in servers:
			assert name in text and "<td>%s<" % name in page
	assert "<test &amp; more>" not in page and "&lt;test &amp; more&gt;" in page
	assert report.plot(found["results"]).count("<rect") == 6


def decode_br(data):
	out = ctypes.create_string_buffer(1 << 20)
	n = ctypes.c_size_t(len(out))
	assert ctypes.CDLL("libbrotlidec.so.1").BrotliDecoderDecompress(ctypes.c_size_t(len(data)), data, ctypes.byref(n), out) == 1
	return out.raw[:n.value]


def test_the_files_of_the_arena(tmp_path):
	"""As many bytes as its own, and what lies beside them decodes to them."""
	root = pathlib.Path(bench_arena.folder("", str(tmp_path)))
	for name, size in bench_arena.FILES:
		data = (root / "static" / name).read_bytes()
		assert len(data) == size
		for coding, decode in (("br", decode_br), ("gz", gzip.decompress)):
			beside = root / "static" / (name + "." + coding)
			assert beside.exists() != name.endswith((".woff2", ".webp"))
			if beside.exists():
				assert decode(beside.read_bytes()) == data and os.path.getsize(beside) < size / 2
	assert len(json.loads((root / "dataset.json").read_text())) == bench_arena.ITEMS


@pytest.mark.parametrize("arguments, there", [
	(["--servers=h2d,h2d-acceptor,nghttpd,nginx,haproxy", "--acceptor", "--loads=^(?!.*100 ?M)", "--h2d=h2d=" + H2D], "h2d, h2d-acceptor, nghttpd, nginx, haproxy"),
	(["--arena", "--servers=h2d,nginx", "--h2d=h2d=" + HANDLERS], "h2d, nginx")], ids=["bench", "arena"])
def test_all_servers_answer_the_same(arguments, there):
	"""Their configurations are good ones, and what is measured is the same work."""
	done = subprocess.run([sys.executable, TOP / "scripts" / "bench", "--check", *arguments], stdout=subprocess.PIPE,
		stderr=subprocess.PIPE, text=True)
	assert done.returncode == 0 and done.stdout == "the same: %s\n" % there, done


class Says(http.server.BaseHTTPRequestHandler):
	def do_GET(self):
		self.send_response(200)
		self.end_headers()
		self.wfile.write(self.server.said)

	def log_message(self, *_):
		pass


class Peer:
	"""A server with one answer."""

	def __init__(self, name, said):
		self.name, self.server = name, http.server.HTTPServer(("127.0.0.1", 0), Says)
		self.server.said = said
		threading.Thread(target=self.server.serve_forever, daemon=True).start()

	def can(self, load):
		return True

	def url(self, load, path):
		return "http://127.0.0.1:%d%s" % (self.server.server_port, path)


def test_another_answer_is_found():
	"""Nothing is measured then, and it is said who answers what."""
	bench = types.ModuleType("bench")
	importlib.machinery.SourceFileLoader("bench", str(TOP / "scripts" / "bench")).exec_module(bench)
	load, peers = measure.Load("small", False, 1, 0, "/x", 1), [Peer("one", b"x"), Peer("two", b"x"), Peer("three", b"yz")]
	try:
		bench.check_answers([load], peers[:2])
		with pytest.raises(SystemExit) as end:
			bench.check_answers([load], peers)
		assert str(end.value) == "small: three answers /x with 200, 2 bytes; one: 200, 1 bytes"
	finally:
		for peer in peers:
			peer.server.shutdown()
			peer.server.server_close()


@pytest.mark.parametrize("argument", ["--h2d=/nowhere/h2d", "--arena"])
def test_a_build_that_is_not_there(argument, tmp_path):
	"""It says which one, and how it is made."""
	done = subprocess.run([sys.executable, TOP / "scripts" / "bench", argument, "--h2d=/nowhere/h2d"], stderr=subprocess.PIPE, text=True)
	assert done.returncode == 1 and "/nowhere/h2d is not built; scripts/build" in done.stderr


def test_idle_memory(tmp_path):
	"""scripts/bench-memory: a wave of few connections, over h2c and TLS."""
	done = subprocess.run([sys.executable, TOP / "scripts" / "bench-memory", "--h2d", H2D, "--waves=1", "--connections=20", "--idle=0",
		"--away=0", "--servers=h2d", "--out", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	assert done.returncode == 0, done.stderr
	assert set(json.loads((tmp_path / "memory.json").read_text())["found"]) == {"h2c h2d", "TLS h2d"}


@pytest.mark.parametrize("how, resumed", [("full", 0), ("resumed", 5)])
def test_handshakes(h2d, how, resumed):
	"""The load of scripts/bench's handshakes: each request on a connection of its own."""
	server = h2d(listens=("tls",), files={"index.html": "x"})
	done = subprocess.run([sys.executable, TOP / "scripts" / "bench_client.py", str(server.ports["tls"]), "/", "5", how], stdout=subprocess.PIPE,
		text=True)
	assert done.stdout.startswith("5 answered, %d resumed in " % resumed)


def test_uploads(tmp_path):
	"""scripts/bench-uploads: one small upload each way."""
	done = subprocess.run([sys.executable, TOP / "scripts" / "bench-uploads", "--h2d", H2D, "--rounds=1", "--size=1", "--count=1",
		"--out", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	assert done.returncode == 0, done.stderr
	assert "not every upload" not in done.stderr and (tmp_path / "uploads.json").exists(), done.stderr
