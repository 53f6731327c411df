"""Clients that ask without pause and count what goes wrong; a process of its own, for speed.

Usage: fleet.py CLIENTS how:port… [--deaths] [--gentle] [--rate=N] [--body=TEXT] [--slow=SECONDS]
Ends when standard input does; prints one JSON object. A line of it begins a phase of that name.

A client opens a connection, keeps four requests in flight, ends it itself after a hundred, and otherwise
only when the server says GOAWAY. A request above the last id of a GOAWAY, or refused, was not processed
(RFC 9113, 6.8 and 8.7): it is asked again, and counted. Everything else that is no 200 is a failure. With --deaths a connection may be
cut: it is counted, its requests are not, and its client connects again. With --gentle each client rests between its requests,
with --rate all of them ask so often in a second. With --body each answer has to be that. With --slow a download and an upload go
on beside at each port, each for so long (transfers.py). "times" has, for each phase, how many answers took how long: by the
logarithm of microseconds, in twentieths.
"""
import asyncio
import json
import math
import ssl
import struct
import sys
import time

import transfers
from h2frames import ACK, PREFACE, Frames

# HEADER_TABLE_SIZE 0 (so that a status is one byte), ENABLE_PUSH 0
SETTINGS = b"\x00\x00\x0c\x04\x00\x00\x00\x00\x00" + struct.pack("!HIHI", 1, 0, 2, 0)
WINDOW = b"\x00\x00\x04\x08\x00\x00\x00\x00\x00" + struct.pack("!I", 1 << 30)
GOAWAY = b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + bytes(8)
BLOCK = b"\x82\x84\x86\x41\x09localhost"  # GET / http, authority
PER_CONNECTION, IN_FLIGHT, TIMEOUT = 100, 4, 60.0

counts = dict(cut=0, requests=0, connections=0, goaways=0, own_ends=0, asked_again=0, refused=0)
failures = []
stopping = False
deaths = "--deaths" in sys.argv
REST = 0.02 if "--gentle" in sys.argv else 0
options = dict(word[2:].split("=", 1) for word in sys.argv if word.startswith("--") and "=" in word)
BODY = options["body"].encode() if "body" in options else None
# Between the groups of requests of one client.
EVERY = IN_FLIGHT * int(sys.argv[1]) / float(options["rate"]) if "rate" in options else 0
times = {}
phase = "begin"


class Connection(Frames):
	def __init__(self):
		super().__init__()
		self.flying = {}
		self.bodies = {}
		self.next = 1
		self.goaway = None
		self.gone = False

	def connection_made(self, transport):
		self.transport = transport
		transport.write(PREFACE + SETTINGS + WINDOW)

	def ask(self):
		done = asyncio.get_running_loop().create_future()
		self.flying[self.next] = done, time.monotonic()
		self.transport.write(struct.pack("!BHBBI", 0, len(BLOCK), 1, 5, self.next) + BLOCK)
		self.next += 2
		return done

	def frame(self, kind, flags, stream, body):
		if kind == 4 and not flags & 1:
			self.transport.write(ACK)
		elif kind == 6 and not flags & 1:
			self.transport.write(b"\x00\x00\x08\x06\x01\x00\x00\x00\x00" + body)
		elif kind == 7:
			last, code = struct.unpack_from("!II", body)
			self.goaway = last
			counts["goaways"] += 1
			if code:
				failures.append("goaway with code %d" % code)
			for number in [n for n in self.flying if n > last]:
				self.settle(number, "again")
		elif stream not in self.flying:
			pass
		elif kind == 3:
			code = struct.unpack("!I", body)[0]
			if code == 7:
				counts["refused"] += 1
			self.settle(stream, "again" if code == 7 else "reset with code %d" % code)
		elif kind == 1 and body.lstrip(b"\x20")[:1] != b"\x88":
			self.settle(stream, "not 200: %r" % body[:40])
		else:
			if kind == 0 and BODY is not None:
				self.bodies[stream] = self.bodies.get(stream, b"") + body
			if kind in (0, 1) and flags & 1:
				body = self.bodies.pop(stream, b"")
				self.settle(stream, "ok" if BODY in (None, body) else "another body: %r" % body[:40])

	def settle(self, stream, how):
		done, began = self.flying.pop(stream)
		if not done.done():
			done.set_result(how)
		if how == "ok":
			key = round(math.log(max(time.monotonic() - began, 1e-6) * 1e6) * 20)
			counted = times.setdefault(phase, {})
			counted[key] = counted.get(key, 0) + 1

	def connection_lost(self, error):
		self.gone = True
		if deaths and self.flying and self.goaway is None:
			counts["cut"] += 1
			for number in list(self.flying):
				self.settle(number, "again")
		for number in list(self.flying):
			self.settle(number, "lost (%s; goaway %s)" % (error, self.goaway))


async def life(loop, how, port, tls):
	"""One connection."""
	_, c = await asyncio.wait_for(loop.create_connection(Connection, "127.0.0.1", port,
		ssl=tls if how == "tls" else None), TIMEOUT)
	counts["connections"] += 1
	asked = 0
	due = time.monotonic()
	while not stopping and not c.gone and c.goaway is None and asked < PER_CONNECTION:
		if EVERY or REST:
			due = max(due + EVERY, time.monotonic() - 1)  # later than that is lost
			await asyncio.sleep(max(due - time.monotonic(), 0) if EVERY else REST)
			if c.gone or c.goaway is not None:
				break
		asked += IN_FLIGHT
		finished, late = await asyncio.wait([c.ask() for _ in range(IN_FLIGHT)],
			timeout=TIMEOUT)
		for done in finished:
			if done.result() == "ok":
				counts["requests"] += 1
			elif done.result() == "again":
				counts["asked_again"] += 1
			else:
				failures.append(done.result())
		if late:
			failures.append("timed out")
			break
	if c.goaway is None:
		if c.gone and not deaths:
			failures.append("ended without goaway")
		else:
			counts["own_ends"] += 1
			c.transport.write(GOAWAY)
	c.transport.close()


async def client(loop, how, port, tls):
	while not stopping and len(failures) < 100:
		try:
			await life(loop, how, port, tls)
		except ConnectionError as e:
			if deaths:
				counts["cut"] += 1
			else:
				failures.append("connecting (%s): %r" % (how, e))
		except (OSError, asyncio.TimeoutError) as e:
			failures.append("connecting (%s): %r" % (how, e))


async def follow(loop):
	"""Standard input, to its end."""
	global phase
	while True:
		line = await loop.run_in_executor(None, sys.stdin.readline)
		if not line:
			return
		phase = line.strip()


async def main():
	global stopping
	loop = asyncio.get_running_loop()
	tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
	tls.check_hostname = False
	tls.verify_mode = ssl.CERT_NONE
	tls.set_alpn_protocols(["h2"])
	words = [word for word in sys.argv[2:] if not word.startswith("--")]
	places = [(how, int(port)) for how, port in (word.split(":") for word in words)]
	started = time.monotonic()
	tasks = [asyncio.ensure_future(client(loop, *places[i % len(places)], tls))
		for i in range(int(sys.argv[1]))]
	slow = dict(downloads=0, uploads=0, asked_again=0, failed=[])
	if "slow" in options:
		tasks += [asyncio.ensure_future(transfers.transfers(loop, how, upload, port, tls if how == "tls" else None,
			float(options["slow"]), lambda: stopping, slow)) for how, port in places for upload in (False, True)]
	print("running", flush=True)
	await follow(loop)
	stopping = True
	counts["seconds"] = round(time.monotonic() - started, 2)
	await asyncio.gather(*tasks)
	print(json.dumps(dict(counts, failures=len(failures), first_failures=failures[:10], slow=slow, times=times)),
		flush=True)


asyncio.run(main())
