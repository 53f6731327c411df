"""Clients of a server whose processes change meanwhile: none asks a second time what it was not told to. A process of
its own.

Usage: storm.py WISHES OUT   WISHES: JSON: ports, and how many clients of each role. A line on standard input lets
those that hold a transfer finish it, its end ends the others. OUT is a pickled dict: counts, and what was lost.

Half of each role speaks HTTP/1.1, half HTTP/2, half of either over TLS. A client of HTTP/1.1 keeps its connection
until an answer says "connection: close"; an end without one under its next request is a loss, as it is for all
clients that do not repeat requests by themselves. Over HTTP/2 what a GOAWAY leaves out, or REFUSED_STREAM, was not
processed (RFC 9113, 6.8 and 8.7): that is asked again, and counted.
"""
import asyncio
import collections
import hashlib
import json
import pickle
import socket
import ssl
import struct
import sys

from hpack import Decoder, Encoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
PATIENCE = 120
REST = 0.2      # seconds between two pieces of a transfer that is held
PIECE = 256     # bytes of it
UPLOAD = 50000  # less than a window of HTTP/2

counts = collections.Counter()
lost = []


class Lost(Exception):
	pass


class Again(Exception):
	"""Not processed, and the server says so."""


def upload_body(name):
	return (hashlib.sha256(name.encode()).digest() * (UPLOAD // 32 + 1))[:UPLOAD]


def context(alpn):
	tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
	tls.check_hostname = False
	tls.verify_mode = ssl.CERT_NONE
	tls.set_alpn_protocols([alpn])
	return tls


class Connection:
	def __init__(self, port, tls):
		self.port, self.tls = port, tls

	async def open(self, small=False):
		s = socket.socket()
		s.setblocking(False)
		if small:
			s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
		await asyncio.get_running_loop().sock_connect(s, ("127.0.0.1", self.port))
		self.reader, self.writer = await asyncio.open_connection(sock=s, limit=16384,
			ssl=context(self.alpn) if self.tls else None,
			server_hostname="localhost" if self.tls else None)
		counts["connections"] += 1
		self.asked = 0
		await self.begin()
		return self

	def close(self):
		self.writer.close()


class Http1(Connection):
	alpn = "http/1.1"

	async def begin(self):
		self.over = False

	async def ask(self, method, path, length=None):
		self.asked += 1
		self.writer.write(("%s %s HTTP/1.1\r\nhost: localhost\r\n%s\r\n" % (method, path,
			"" if length is None else "content-length: %d\r\n" % length)).encode())

	async def send(self, data, end):
		self.writer.write(data)
		await self.writer.drain()

	async def head(self):
		try:
			head = await self.reader.readuntil(b"\r\n\r\n")
		except asyncio.IncompleteReadError as e:
			raise Lost("the end instead of answer %d: %r" % (self.asked, e.partial[:80])) from None
		self.over = b"\r\nconnection: close\r\n" in head
		self.left = int(head.partition(b"\r\ncontent-length: ")[2].split(b"\r\n")[0])
		return int(head[9:12])

	async def body(self, most):
		"""The next bytes of the body; none at its end."""
		data = await self.reader.read(min(most, self.left)) if self.left else b""
		if self.left and not data:
			raise Lost("%d bytes are missing" % self.left)
		self.left -= len(data)
		return data

	async def free(self):
		pass


class Http2(Connection):
	alpn = "h2"

	async def begin(self):
		self.encoder, self.decoder = Encoder(), Decoder()
		self.encoder.header_table_size = 0
		self.over, self.last, self.window = False, None, 65535
		self.frame(SETTINGS, 0, 0, struct.pack("!HI", 4, 65535), PREFACE)

	def frame(self, kind, flags, stream, body=b"", before=b""):
		self.writer.write(before + struct.pack("!BHBBI", len(body) >> 16, len(body) & 0xffff, kind, flags,
			stream) + body)

	async def ask(self, method, path, length=None):
		self.stream = 2 * self.asked + 1
		self.asked += 1
		fields = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "localhost")]
		if length is not None:
			fields.append(("content-length", str(length)))
		self.status, self.got, self.end = None, bytearray(), False
		self.frame(HEADERS, 4 if length is not None else 5, self.stream, self.encoder.encode(fields))

	async def send(self, data, end):
		for at in range(0, len(data), 16384):
			self.frame(DATA, end and at + 16384 >= len(data), self.stream, data[at:at + 16384])
		await self.writer.drain()

	async def turn(self):
		try:
			head = await self.reader.readexactly(9)
			kind, flags, stream = struct.unpack("!BBI", head[3:])
			body = await self.reader.readexactly(int.from_bytes(head[:3], "big"))
		except asyncio.IncompleteReadError:
			if self.last is not None and self.stream > self.last:
				raise Again from None
			raise Lost("the end before that of stream %d, GOAWAY %s" % (self.stream, self.last)) from None
		if kind == SETTINGS and not flags & 1:
			self.frame(SETTINGS, 1, 0)
		elif kind == PING and not flags & 1:
			self.frame(PING, 1, 0, body)
		elif kind == GOAWAY:
			self.last, code = struct.unpack("!II", body[:8])
			self.over = True
			if code:
				raise Lost("GOAWAY with code %d" % code)
			if self.stream > self.last:
				raise Again
		elif stream == self.stream and kind == RST:
			if body == b"\0\0\0\7":
				raise Again
			raise Lost("RST_STREAM %r" % body)
		elif stream == self.stream and kind == HEADERS:
			self.status = int(dict(self.decoder.decode(body))[":status"])
			self.end |= bool(flags & 1)
		elif stream == self.stream and kind == DATA:
			self.got += body
			self.window -= len(body)
			self.end |= bool(flags & 1)
		elif kind == HEADERS:
			self.decoder.decode(body)

	def give(self, n):
		self.window += n
		for stream in (0, self.stream):
			self.frame(WINDOW, 0, stream, struct.pack("!I", n))

	async def head(self):
		while self.status is None:
			await self.turn()
		return self.status

	async def body(self, most):
		if self.window < 16384 and not self.end:
			self.give(most)
		while not self.got and not self.end:
			await self.turn()
		data = bytes(self.got[:most])
		del self.got[:most]
		return data

	async def free(self):
		self.give(1 << 28)


class Storm:
	def __init__(self, ports, size, digest):
		self.ports, self.size, self.digest = ports, size, digest
		self.released, self.over = asyncio.Event(), asyncio.Event()

	def connection(self, number, speaks=None):
		how = ("tcp", "tls")[number // 2 % 2]
		return (speaks or (Http1, Http2)[number % 2])(self.ports[how], how == "tls")

	async def small(self, c):
		await c.ask("GET", "/small")
		if await c.head() != 200:
			raise Lost("not 200")
		got = b""
		while True:
			data = await c.body(65536)
			if not data:
				break
			got += data
		if got != b"small":
			raise Lost("a wrong answer: %r" % got)
		counts["requests"] += 1

	async def again_and_again(self, number):
		"""A connection for each request."""
		while not self.over.is_set():
			c = await self.connection(number).open()
			try:
				await self.small(c)
			except Again:
				counts["asked again"] += 1
			finally:
				c.close()

	async def busy(self, number):
		"""One request after the other, without pause."""
		while not self.over.is_set():
			c = await self.connection(number, Http1).open()
			while not self.over.is_set() and not c.over:
				await self.small(c)
			counts["closed"] += c.over
			c.close()

	async def download(self, number):
		c = await self.connection(number).open(small=True)
		await c.ask("GET", "/large")
		if await c.head() != 200:
			raise Lost("not 200")
		seen, got = hashlib.sha256(), 0
		counts["held"] += 1
		while got < self.size:
			free = self.released.is_set()
			if free and not c.over:
				await c.free()
			data = await c.body(65536 if free else PIECE)
			if not data:
				raise Lost("it ends after %d bytes" % got)
			got += len(data)
			seen.update(data)
			if not free:
				await asyncio.sleep(REST)
		if seen.hexdigest() != self.digest:
			raise Lost("other bytes")
		counts["downloads"] += 1
		c.close()

	async def upload(self, number):
		c = await self.connection(number).open()
		name = "storm%d" % number
		left = upload_body(name)
		await c.ask("PUT", "/files/" + name, len(left))
		counts["held"] += 1
		while left:
			n = len(left) if self.released.is_set() else min(PIECE, len(left) - 1)
			await c.send(left[:n], n == len(left))
			left = left[n:]
			await asyncio.sleep(0 if self.released.is_set() else REST)
		status = await c.head()
		if status not in (201, 204):
			raise Lost("status %d" % status)
		counts["uploads"] += 1
		c.close()

	async def one(self, role, number):
		try:
			await getattr(self, role)(number)
		except Exception as e:
			lost.append("%s %d: %s: %s" % (role, number, type(e).__name__, e))

	async def run(self, roles):
		loop = asyncio.get_running_loop()
		tasks = [asyncio.ensure_future(self.one(role, number))
			for role, n in roles.items() for number in range(n)]
		wanted = roles.get("download", 0) + roles.get("upload", 0)
		while counts["held"] < wanted and not lost:
			await asyncio.sleep(0.01)
		print("running", flush=True)
		await loop.run_in_executor(None, sys.stdin.readline)
		self.released.set()
		await loop.run_in_executor(None, sys.stdin.read)
		self.over.set()
		_, late = await asyncio.wait(tasks, timeout=PATIENCE) if tasks else ((), ())
		lost.extend("no end within %d s" % PATIENCE for _ in late)


async def main(ports, roles, size=0, digest=""):
	await Storm(ports, size, digest).run(roles)


if __name__ == "__main__":
	asyncio.run(main(**json.loads(sys.argv[1])))
	with open(sys.argv[2], "wb") as out:
		pickle.dump(dict(counts=counts, lost=lost), out)
