"""Slow downloads and uploads over HTTP/2, for fleet.py: each has a connection of its own, and ends whole or has failed.

A download opens its window by a step at a time, so that most of its content is still the server's; an upload sends a step at
a time. Both check each byte: a download here, an upload by who looks at the files.
"""
import asyncio
import os
import struct

import hpack

from h2frames import ACK, PREFACE, Frames

STEP, STEPS = 1 << 16, 16
SIZE = STEP * STEPS
LONG = "long.bin"  # what is downloaded, in the root
FOLDER = "files"   # where uploads go
PATIENCE = 90


def content(name):
	"""Of the file of that name, whoever makes it."""
	line = b"%s %%07d\n" % name.encode()
	size = len(line % 0)
	return b"".join(line % i for i in range(SIZE // size + 1))[:SIZE]


def headers(stream, method, path, fields=(), end=True):
	block = hpack.Encoder().encode([(":method", method), (":path", path), (":scheme", "http"),
		(":authority", "localhost"), *fields], huffman=False)
	return struct.pack("!BHBBI", 0, len(block), 1, 4 | end, stream) + block


class Transfer(Frames):
	def __init__(self, name, upload):
		super().__init__()
		self.name, self.upload = name, upload
		self.room = {0: 65535, 1: 65535}  # what may be sent, by stream
		self.initial = 65535
		self.sent = 0
		self.got = bytearray()
		self.status, self.decoder, self.block = None, hpack.Decoder(), b""
		self.over = asyncio.get_running_loop().create_future()
		self.more = asyncio.Event()

	def connection_made(self, transport):
		self.transport = transport
		settings = struct.pack("!HIHI", 2, 0, 4, STEP)
		transport.write(PREFACE + struct.pack("!BHBBI", 0, len(settings), 4, 0, 0) + settings)
		if self.upload:
			transport.write(headers(1, "PUT", "/%s/%s" % (FOLDER, self.name), [("content-length", str(SIZE))], False))
		else:
			transport.write(headers(1, "GET", "/" + LONG))

	def settle(self, how):
		if not self.over.done():
			self.over.set_result(how)
		self.more.set()

	def frame(self, kind, flags, stream, body):
		if kind == 4 and not flags & 1:
			for at in range(0, len(body), 6):
				name, value = struct.unpack_from("!HI", body, at)
				if name == 4:
					self.room[1] += value - self.initial
					self.initial = value
			self.transport.write(ACK)
			self.more.set()
		elif kind == 6 and not flags & 1:
			self.transport.write(b"\x00\x00\x08\x06\x01\x00\x00\x00\x00" + body)
		elif kind == 8:
			self.room[stream] += struct.unpack("!I", body)[0]
			self.more.set()
		elif kind == 7 and struct.unpack_from("!I", body)[0] < 1:
			self.settle("again")
		elif stream != 1:
			return
		elif kind == 3:
			code = struct.unpack("!I", body)[0]
			self.settle("again" if code == 7 else "reset with code %d" % code)
		elif kind in (1, 9):
			self.block += body
			if flags & 4:
				fields = dict(self.decoder.decode(self.block))
				self.status, self.block = fields.get(":status", self.status), b""
		elif kind == 0:
			self.got += body
		if stream == 1 and kind in (0, 1) and flags & 1:
			self.settle(self.judge())

	def judge(self):
		if self.upload:
			return "ok" if self.status in ("201", "204") and self.sent == SIZE else "upload: %s at %d" % (self.status, self.sent)
		whole = self.status == "200" and bytes(self.got) == content(LONG)
		return "ok" if whole else "download: %s, %d bytes" % (self.status, len(self.got))

	def connection_lost(self, error):
		self.settle("cut (%s)" % error)

	def open_window(self):
		for stream in (0, 1):
			self.transport.write(b"\x00\x00\x04\x08\x00" + struct.pack("!II", stream, STEP))

	async def send(self, piece):
		while piece and not self.over.done():
			n = min(len(piece), 16384, self.room[0], self.room[1])
			if n <= 0:
				self.more.clear()
				await self.more.wait()
				continue
			self.sent += n
			self.room[0] -= n
			self.room[1] -= n
			self.transport.write(struct.pack("!BHBBI", 0, n, 0, self.sent == SIZE, 1) + piece[:n])
			piece = piece[n:]

	async def run(self, seconds):
		data = content(self.name) if self.upload else b""
		for i in range(STEPS):
			if self.over.done():
				break
			if self.upload:
				await self.send(data[i * STEP:(i + 1) * STEP])
			else:
				self.open_window()
			await asyncio.sleep(seconds / STEPS)
		return await self.over


async def transfer(loop, name, upload, port, tls, seconds):
	"""What became of it: "ok", "again" if it was not processed, or what was wrong."""
	c = None
	try:
		_, c = await asyncio.wait_for(loop.create_connection(lambda: Transfer(name, upload), "127.0.0.1", port, ssl=tls), PATIENCE)
		return await asyncio.wait_for(c.run(seconds), PATIENCE)
	except (OSError, asyncio.TimeoutError) as e:
		return "%s: %r" % ("upload" if upload else "download", e)
	finally:
		if c:
			c.transport.close()


async def transfers(loop, how, upload, port, tls, seconds, over, counts):
	"""One after the other until over(). counts: "downloads", "uploads", "asked_again" and "failed", a list."""
	n = 0
	while not over() and len(counts["failed"]) < 100:
		n += 1
		name = "%s-%d-%d" % (how, os.getpid(), n)
		result = "again"
		while result == "again":
			result = await transfer(loop, name, upload, port, tls, seconds)
			counts["asked_again"] += result == "again"
		if result == "ok":
			counts["uploads" if upload else "downloads"] += 1
		else:
			counts["failed"].append("%s: %s" % (how, result))
