"""Who may have how many files open: whatever one client holds, others have their answers.

The server has about a hundred places, which hostile clients take by far more responses that they hardly read.
"""
import os
import re
import resource

import pytest
from hyperframe import frame as hf

import client
import h1client
import procs
from attacks import ADDRESS, WINDOW, address, streams

FILES = {"large": os.urandom(5000000), "disk": os.urandom(300000), "up/.keep": b"", "list/entry": b""}
SERVER = 'upload-dir = "up"  upload-public = true  autoindex = true'


def few(h2d, server="", **options):
	options.setdefault("sections", 'cache { max-size = 0 }')
	return h2d(listens=("tcp", "tls"), files=FILES, server=SERVER + "  " + server,
		preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600)), **options)


class Attackers(list):
	"""Connections, closed at the end."""

	def __enter__(self):
		return self

	def __exit__(self, *_):
		for c in self:
			c.close()


def data_frames(raw, *of):
	return [f for f in raw.frames if isinstance(f, hf.DataFrame) and (not of or f.stream_id in of)]


def closed_windows(server, source, how="tcp"):
	"""Sixteen responses on each connection, that take a byte."""
	for n in range(20):
		s = getattr(client, how + "_socket")(server.ports[how], source=source(n))
		raw = client.Raw(s, settings={WINDOW: 1})
		streams(raw, ["/large"] * 16)
		yield raw
		while len(data_frames(raw)) < 16:
			assert raw.read()


def closed_windows_tls(server, source):
	return closed_windows(server, source, "tls")


def slow_readers(server, source):
	"""HTTP/1: nobody reads from the socket."""
	for n in range(150):
		c = h1client.H1.tcp(server.ports["tcp"], source=source(n))
		c.send("GET", "/large")
		yield c
		procs.wait_for(lambda: c.more(procs.time.monotonic() + procs.DEADLINE))


def slow_uploads(server, source):
	for n in range(100):
		c = h1client.H1.tcp(server.ports["tcp"], source=source(n))
		c.send_bytes(b"PUT /files/of-%d HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nx" % n)
		yield c


def asks_everything(c):
	"""An honest client: each kind of answer that a file has."""
	answer = c.get("/disk")
	assert (answer.status, answer.body) == (200, FILES["disk"])
	assert c.get("/disk", [("if-none-match", answer.get("etag"))]).status == 304
	part = c.get("/large", [("range", "bytes=4000000-4000099")])
	assert (part.status, part.body) == (206, FILES["large"][4000000:4000100])
	assert c.get("/none").status == 404
	assert c.request("HEAD", "/large").get("content-length") == str(len(FILES["large"]))
	assert b"entry" in c.get("/list/").body
	assert c.request("PUT", "/files/mine", body=b"mine").status in (201, 204)
	assert c.get("/large").body == FILES["large"]


@pytest.mark.parametrize("attack", [closed_windows, closed_windows_tls, slow_readers, slow_uploads])
@pytest.mark.parametrize("source", [lambda n: ADDRESS, address], ids=["one", "many"])
def test_files_that_others_hold(h2d, attack, source):
	server = few(h2d)
	with Attackers() as attackers:
		attackers.extend(attack(server, source))
		for c in (server.connect(), server.h1("tls"), client.Client.tcp(server.ports["tcp"], source=source(0))):
			with c:
				asks_everything(c)
		totals = server.status()["totals"]
		assert totals["limit_files"] > 0 and totals["files_open"] <= 120, totals
	server.log.wait(r"client 127\.0\.\d+\.\d+: (holds \d+ of \d+ open files; others need some"
		r"|cutting off an upload \(\d+ bytes in \d+ s\): others wait)")
	assert len(server.log.find("others need some|others wait")) < 60


def test_held_files_go_on(h2d):
	"""What gave its place to others is opened again, unless its name leads to another file by then."""
	server = few(h2d)
	server.write("replaced", FILES["large"])
	with server.raw(settings={WINDOW: 1000}) as raw, Attackers() as attackers:
		streams(raw, ["/replaced"] * 8 + ["/large"] * 8)
		while len(data_frames(raw)) < 16:
			assert raw.read()
		attackers.extend(slow_readers(server, address))
		server.write("new", FILES["disk"])
		os.rename(server.path("www", "new"), server.path("www", "replaced"))
		raw.send(*(hf.WindowUpdateFrame(n, window_increment=2**26) for n in (0, *range(1, 32, 2))))
		raw.until(lambda f: isinstance(f, hf.RstStreamFrame) and f.stream_id == 1)
		for _ in range(8):
			raw.until(lambda f: "END_STREAM" in f.flags and f.stream_id > 16)
		for n in range(17, 32, 2):
			assert b"".join(f.data for f in data_frames(raw, n)) == FILES["large"]
	server.log.wait("replaced: changed during the response")


def test_clients_of_a_proxy(h2d):
	"""A client is whom the trusted proxy names, though all come by one connection."""
	server = few(h2d, conf='trusted-proxies = {"127.0.0.1"}\nclient-address = x-forwarded-for')
	with Attackers() as attackers:
		for n in range(20):
			raw = server.raw(settings={WINDOW: 1})
			attackers.append(raw)
			raw.send(*(raw.headers(1 + 2 * i, raw.head("/large", extra=[("x-forwarded-for", "192.0.2.66")]))
				for i in range(16)))
			assert raw.ping()
		with server.connect() as c:
			asks_everything(c)
	line = server.log.wait("; others need some")[0]
	assert re.search(r"client 192\.0\.2\.66: ", line), line
