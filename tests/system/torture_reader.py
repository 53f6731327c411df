"""Reads the torture's files without pause, and judges each answer as far as it can alone.

Usage: torture_reader.py SEED CONNECTIONS how:port… OUT   how: h1, h2, h1s or h2s (over TLS). Ends when
standard input does. OUT is a pickled dict: answers (file, version, asked, seen its head, whole), odd
answers, tags, and faults.
"""
import asyncio
import collections
import hashlib
import pickle
import random
import ssl
import struct
import sys
import time
import zlib

from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

import torture
from h2frames import ACK, PREFACE, Frames

# HEADER_TABLE_SIZE 0: blocks are read without remembering others. No push; streams of 1 MiB.
SETTINGS = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + struct.pack("!HIHIHI", 1, 0, 2, 0, 4, 1 << 20)
WINDOW = b"\x00\x00\x04\x08\x00\x00\x00\x00\x00" + struct.pack("!I", (1 << 31) - 70000)
H2_IN_FLIGHT, H1_IN_FLIGHT, PER_CONNECTION, TIMEOUT = 8, 3, 2000, 20

rng = random.Random(int(sys.argv[1]))
SMALL = [f for f, kind in enumerate(torture.KIND) if kind.islower()]
LARGE = [f for f, kind in enumerate(torture.KIND) if kind.isupper()]
stopping = False
answers, odd, faults = [], [], []
counts = collections.Counter()

tags = {}      # (file, coding, etag): version, or a digest of what is no whole version
etags = {}     # (small file, coding, version): its etag
last_etag = {}


def opaque(etag):
	"""It without the mark of a weak one."""
	return etag and etag.removeprefix("W/")


class Question:
	"""What was asked, and what came so far."""

	def __init__(self):
		self.file = rng.choice(LARGE if rng.random() < 0.02 else SMALL)
		self.fields = []
		self.etag = last_etag.get(self.file)
		self.range = self.gzip = self.if_none_match = False
		self.coding = None
		luck = rng.random()
		if luck < 0.2 and self.etag:
			self.if_none_match = True
			self.fields.append(("if-none-match", self.etag))
		elif luck < 0.4:
			self.range = True
			first = rng.randrange(0, 8000)
			self.fields.append(("range", "bytes=%d-%d" % (first, first + rng.randrange(64, 9000))))
			if luck < 0.3 and self.etag:
				self.fields.append(("if-range", self.etag))
		elif luck < 0.6 and torture.NAMES[self.file].endswith(".txt"):
			self.gzip = True
			self.fields.append(("accept-encoding", "gzip"))
		self.asked = time.monotonic()
		self.headed = 0
		self.status = 0
		self.head = {}
		self.parts = []
		self.size = 0

	def begin(self, status, head):
		self.headed = time.monotonic()
		self.status = status
		self.head = head

	def add(self, data):
		self.parts.append(data)
		self.size += len(data)

	def fault(self, text):
		if len(faults) < 50:
			faults.append("%s %s: %s (%d %s, %d bytes)" % (torture.NAMES[self.file], self.fields,
				text, self.status, self.head, self.size))

	def oddity(self, what, detail=None):
		counts[what.split()[0]] += 1
		odd.append((self.file, what, self.asked, self.headed, time.monotonic(), self.status, detail))

	def tag(self, version, etag):
		"""The same strong etag is the same bytes; and of small files, the other way round."""
		if etag is None or etag.startswith("W/"):
			counts["without etag"] += 1
			return
		known = tags.setdefault((self.file, self.coding, etag), version)
		if known != version:
			self.fault("%s names both %s and %s" % (etag, known, version))
		if self.file in SMALL and isinstance(version, int):
			known = etags.setdefault((self.file, self.coding, version), etag)
			if known != etag:
				self.fault("version %d has etags %s and %s" % (version, known, etag))

	def known(self, version):
		answers.append((self.file, version, self.asked, self.headed, time.monotonic()))

	def cut(self, why):
		"""The answer ended before its end."""
		if self.status not in (200, 206):
			self.fault("ended early: " + why)
		self.oddity("short", why)

	def whole(self):
		counts[self.status] += 1
		body = b"".join(self.parts)
		etag = self.head.get("etag")
		length = self.head.get("content-length")
		if length is not None and self.status != 304 and int(length) != len(body):
			self.fault("content-length is not the length")
		if self.status == 200:
			self.all_of_it(body, etag)
		elif self.status == 206 and self.range:
			self.part_of_it(body, etag)
		elif self.status == 304 and self.if_none_match:
			if opaque(etag) != opaque(self.etag):
				self.fault("304 with another etag")
			version = tags.get((self.file, None, etag))
			if isinstance(version, int):
				self.known(version)
		elif self.status == 416 and self.range:
			if not self.head.get("content-range", "").startswith("bytes */"):
				self.fault("416 without the size")
		elif self.status == 404:
			self.oddity("404")
		else:
			self.fault("unexpected")

	def all_of_it(self, body, etag):
		self.coding = self.head.get("content-encoding")
		if self.coding == "gzip" and self.gzip:
			counts["gzip"] += 1
			body = zlib.decompress(body, 31)
		elif self.coding:
			self.fault("a coding that was not asked for")
		if self.if_none_match and etag and opaque(etag) == opaque(self.etag):
			self.fault("200 though the etag matches")
		version = torture.version_of(self.file, body)
		if version is None:
			looks = torture.looks(self.file, body)
			self.tag(hashlib.sha1(body).digest(), etag)
			self.oddity(looks, "%d bytes, etag %s" % (len(body), etag))
			return
		self.tag(version, etag)
		if self.coding is None and etag:
			last_etag[self.file] = etag
		self.known(version)

	def part_of_it(self, body, etag):
		try:
			span, total = self.head["content-range"][len("bytes "):].split("/")
			first, last = (int(n) for n in span.split("-"))
			total = int(total)
		except (KeyError, ValueError):
			return self.fault("no content-range")
		if last - first + 1 != len(body) or last >= total:
			self.fault("content-range is not what came")
		if ("if-range", self.etag) in self.fields and etag != self.etag:
			self.fault("a part of another one than if-range says")
		if len(body) < 2 * torture.RECORD:
			return None
		version = torture.version_of(self.file, body, first, total)
		if version is None:
			looks = torture.looks(self.file, body[-first % torture.RECORD:])
			return self.oddity(looks, "%d bytes from %d of %d, etag %s" % (len(body), first,
				total, etag))
		self.tag(version, etag)
		self.known(version)
		return None


class H2(Frames):
	STATIC = [None] + [(n.decode(), v.decode()) for n, v in HeaderTable.STATIC_TABLE]
	strings = {}

	def __init__(self):
		super().__init__()
		self.flying = {}
		self.next = 1
		self.goaway = None
		self.ended = asyncio.get_running_loop().create_future()

	def connection_made(self, transport):
		self.transport = transport
		transport.write(PREFACE + SETTINGS + WINDOW)
		for _ in range(H2_IN_FLIGHT):
			self.ask()

	@staticmethod
	def literal(text):
		return bytes([len(text)]) + text.encode()

	def ask(self, question=None):
		if stopping or self.goaway is not None or self.next > 2 * PER_CONNECTION:
			if not self.flying:
				self.transport.close()
			return
		q = question or Question()
		block = b"\x82\x86\x41\x09localhost\x04" + self.literal("/" + torture.NAMES[q.file])
		for name, value in q.fields:
			block += b"\x00" + self.literal(name) + self.literal(value)
		self.flying[self.next] = q
		self.transport.write(struct.pack("!BHBBI", 0, len(block), 1, 5, self.next) + block)
		self.next += 2

	def frame(self, kind, flags, stream, body):
		q = self.flying.get(stream)
		if kind == 0 and q:
			q.add(body)
			if len(body):
				self.transport.write(struct.pack("!BHBBII", 0, 4, 8, 0, stream, len(body))
					+ struct.pack("!BHBBII", 0, 4, 8, 0, 0, len(body)))
		elif kind == 1 and q:
			head = self.decode(body)
			q.begin(int(head[":status"]), head)
		elif kind == 3:
			code = struct.unpack("!I", body)[0]
			if q and code == 7:
				counts["refused"] += 1
				del self.flying[stream]
			elif q:
				del self.flying[stream]
				q.cut("reset with code %d" % code)
				self.ask()
			return
		elif kind == 4 and not flags & 1:
			self.transport.write(ACK)
		elif kind == 6 and not flags & 1:
			self.transport.write(b"\x00\x00\x08\x06\x01\x00\x00\x00\x00" + body)
		elif kind == 7:
			self.goaway, code = struct.unpack_from("!II", body)
			if code:
				faults.append("goaway with code %d: %r" % (code, body[8:]))
			for number in [n for n in self.flying if n > self.goaway]:
				counts["asked again"] += 1
				del self.flying[number]
			if not self.flying:
				self.transport.close()
		if kind in (0, 1) and flags & 1 and q:
			del self.flying[stream]
			q.whole()
			self.ask()

	def integer(self, block, at, bits):
		value = block[at] & (1 << bits) - 1
		at += 1
		if value == (1 << bits) - 1:
			shift = 0
			while True:
				value += (block[at] & 127) << shift
				shift += 7
				at += 1
				if not block[at - 1] & 128:
					break
		return value, at

	def string(self, block, at):
		huffman = block[at] & 128
		n, at = self.integer(block, at, 7)
		raw = block[at:at + n]
		known = self.strings.get((huffman, raw))
		if known is None:
			known = (decode_huffman(raw) if huffman else raw).decode()
			if len(self.strings) < 20000:
				self.strings[huffman, raw] = known
		return known, at + n

	def decode(self, block):
		"""RFC 7541, 6, with a table of no size."""
		head, at = {}, 0
		while at < len(block):
			first = block[at]
			if first & 128:
				index, at = self.integer(block, at, 7)
				name, value = self.STATIC[index]
			elif first & 0xe0 == 0x20:
				_, at = self.integer(block, at, 5)
				continue
			else:
				index, at = self.integer(block, at, 6 if first & 64 else 4)
				if index:
					name = self.STATIC[index][0]
				else:
					name, at = self.string(block, at)
				value, at = self.string(block, at)
			head[name] = value
		return head

	def connection_lost(self, error):
		for number, q in self.flying.items():
			# RFC 9113, 6.8: with id 2^31-1 or ours among those that are worked on.
			q.cut("connection lost (%s), stream %d, goaway %s" % (error, number, self.goaway))
		if self.goaway is None and not stopping and self.next <= 2 * PER_CONNECTION:
			faults.append("h2 connection ended without goaway: %s" % error)
		self.ended.set_result(None)


class H1(asyncio.Protocol):
	def __init__(self):
		self.buffer = bytearray()
		self.flying = collections.deque()
		self.asked = 0
		self.left = None  # bytes of the body that are to come
		self.close = False
		self.ended = asyncio.get_running_loop().create_future()

	def connection_made(self, transport):
		self.transport = transport
		for _ in range(H1_IN_FLIGHT):
			self.ask()

	def ask(self):
		if stopping or self.close or self.asked >= PER_CONNECTION:
			if not self.flying:
				self.transport.close()
			return
		q = Question()
		self.asked += 1
		self.flying.append(q)
		self.transport.write(("GET /%s HTTP/1.1\r\nhost: localhost\r\n%s\r\n" % (
			torture.NAMES[q.file],
			"".join("%s: %s\r\n" % field for field in q.fields))).encode())

	def data_received(self, data):
		self.buffer += data
		while self.flying:
			if self.left is None and not self.read_head():
				return
			q = self.flying[0]
			part = bytes(self.buffer[:self.left])
			del self.buffer[:self.left]
			if part:
				q.add(part)
			self.left -= len(part)
			if self.left:
				return
			self.left = None
			self.flying.popleft()
			q.whole()
			self.ask()

	def read_head(self):
		end = self.buffer.find(b"\r\n\r\n")
		if end < 0:
			return False
		lines = self.buffer[:end].decode().split("\r\n")
		del self.buffer[:end + 4]
		head = {}
		for line in lines[1:]:
			name, _, value = line.partition(": ")
			head[name.lower()] = value
		q = self.flying[0]
		q.begin(int(lines[0].split(" ")[1]), head)
		if head.get("connection") == "close":
			self.close = True
		self.left = 0 if q.status == 304 else int(head["content-length"])
		return True

	def connection_lost(self, error):
		if self.left is not None:
			self.flying.popleft().cut("connection lost (%s), %d bytes to come" % (error, self.left))
		# A keep-alive connection may end at any time between two answers (RFC 9112, 9.3.1).
		counts["asked again"] += len(self.flying)
		self.ended.set_result(None)


async def client(how, port, tls):
	kind = H1 if how.startswith("h1") else H2
	while not stopping:
		try:
			_, c = await asyncio.wait_for(asyncio.get_running_loop().create_connection(kind,
				"127.0.0.1", port, ssl=tls if how.endswith("s") else None), TIMEOUT)
		except (OSError, asyncio.TimeoutError) as e:
			faults.append("connecting (%s): %r" % (how, e))
			return
		counts["connections"] += 1
		await c.ended


async def main():
	global stopping
	loop = asyncio.get_running_loop()
	tasks = []
	for i in range(int(sys.argv[2])):
		how, port = sys.argv[3 + i % (len(sys.argv) - 4)].split(":")
		tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
		tls.check_hostname = False
		tls.verify_mode = ssl.CERT_NONE
		tls.set_alpn_protocols(["h2" if how.startswith("h2") else "http/1.1"])
		tasks.append(asyncio.ensure_future(client(how, int(port), tls)))
	print("running", flush=True)
	await loop.run_in_executor(None, sys.stdin.read)
	stopping = True
	done, late = await asyncio.wait(tasks, timeout=TIMEOUT)
	for task in done:
		task.result()
	if late:
		faults.append("%d connections do not end" % len(late))
		for task in late:
			task.cancel()
	with open(sys.argv[-1], "wb") as f:
		pickle.dump(dict(answers=answers, odd=odd, tags=tags, etags=etags, faults=faults,
			counts=counts), f)


asyncio.run(main())
