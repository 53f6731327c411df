"""Honest clients: each response is what the tree holds, to the byte, and none is lost. A process of its own.

Usage: honest.py CLIENTS TREE OUT   TREE: JSON, see Tree. Ends when standard input does. OUT is a pickled
dict: counts, lost (what was wrong), times (of each request: seconds, what it was, and when it began).

What a server that ends a connection says it has not processed is asked again, on another connection, and is no
loss: above the last id of a GOAWAY, refused (RFC 9113, 6.8 and 8.7), or on a connection of HTTP/1 that had
answered before and ends without a byte (RFC 9112, 9.3.1). Nor is a first request that came after a second, from a
client that had no processor: a full worker has those leave who are silent for so long. All else is one.
"""
import collections
import gzip
import json
import os
import pickle
import random
import sys
import threading
import time

import attacks
import client
import h1client
import procs
from users import basic

REST = 0.1  # seconds between two requests of a client, at most
PER_CONNECTION = 200
ANSWER = 4 * procs.DEADLINE  # seconds until an answer that is not there is lost
LOSSES = 20  # a client that has lost so much gives up
GUESTS = 64  # users with the same password as anna
FAR = 0.02  # seconds of a path
SILENT = 0.9  # seconds; a full worker bears one


class Lost(Exception):
	"""A request that an honest client must not lose, or a wrong answer."""


class Again(Exception):
	"""The server has not processed it."""


class Honestly:
	"""began: when it began to connect. late: the first request was, and none came behind it."""
	began = requests = 0
	late = False

	def send(self, *args):
		try:
			return super().send(*args)
		finally:
			self.late = not self.requests and time.monotonic() - self.began > SILENT
			self.requests += 1


class Http2(Honestly, client.Client):
	far = 0

	def turn(self, deadline):
		"""What comes has a long way behind it."""
		time.sleep(self.far)
		return super().turn(deadline)

	def over(self):
		return self.goaway is not None or self.eof

	def pause(self, seconds):
		"""Reads what comes meanwhile."""
		until = time.monotonic() + seconds
		try:
			while not self.over() and self.turn(until):
				pass
		except client.Late:
			pass

	def fetch(self, wait, *request):
		stream, answer = None, None
		try:
			stream = self.send(*request)
			answer = self.responses[stream]
			self.until(lambda: answer.done or self.unprocessed(stream), wait)
		except client.Closed:
			while not self.eof:
				self.turn(time.monotonic() + wait)
		if self.goaway is not None and self.goaway[0] != 0:
			raise Lost("GOAWAY with code %d" % self.goaway[0])
		if self.unprocessed(stream) or (answer is not None and answer.reset == 7):
			raise Again
		if self.late and (answer is None or answer.status is None):
			raise Again
		if answer is not None and answer.reset and answer.status == 200:
			raise Lost("reset in the content: %s" % answer)
		if answer is None or not answer.ended:
			raise Lost("the connection ended: stream %s, goaway %s, %s" % (stream, self.goaway, answer))
		return self.responses.pop(stream)

	def unprocessed(self, stream):
		return self.goaway is not None and (stream is None or self.goaway[1] < stream)


class Http1(Honestly, h1client.H1):
	far = 0
	answered = received = 0
	closed = False

	def over(self):
		return self.closed or self.eof

	def more(self, deadline):
		before = len(self.buffer)
		found = super().more(deadline)
		self.received += len(self.buffer) - before
		return found

	def pause(self, seconds):
		try:
			if self.more(time.monotonic() + seconds):
				raise AssertionError("bytes that nobody asked for: %r" % self.buffer[:80])
		except client.Late:
			pass

	def fetch(self, wait, *request):
		before = self.received
		try:
			self.send(*request)
			answer = self.response(wait)
		except client.Closed as e:
			if self.received == before and (self.answered or self.late):
				raise Again from None
			raise Lost("the connection ended: %s" % e) from None
		self.answered += 1
		self.closed = answer.closed
		return answer


class Tree:
	"""
	What stays as it is, as the server has it below root; questions, and what is wrong with their answers.
	asks: those of QUESTIONS that are asked. source: the clients' address. ports: as of attacks.Target. speaks: protocols.
	any_case: the server is another than h2d.
	"""

	def __init__(self, root, ports, password, asks=(), source=None, wait=ANSWER, losses=LOSSES,
			speaks=("h1", "h2"), any_case=False):
		Http1.any_case = any_case
		self.root, self.ports, self.speaks = root, ports, speaks
		self.asks = {name: QUESTIONS[name] for name in asks or MIX}
		self.source, self.wait, self.losses = source, wait, losses
		self.still = {name: self.read("still/" + name)
			for name in ("small.txt", "cached.txt", "disk.bin", "large.bin")}
		self.secret = self.read("in/secret.txt")
		self.password = basic("anna", password)
		self.guests = password
		self.names = {name: os.path.getsize(os.path.join(root, "list", name))
			for name in os.listdir(os.path.join(root, "list"))}
		self.etags = {}

	def read(self, name):
		with open(os.path.join(self.root, name), "rb") as f:
			return f.read()

	def small(self):
		return self.file("small.txt")

	def cached(self):
		return self.file("cached.txt")

	def disk(self):
		return self.file("disk.bin")

	def large(self):
		return self.file("large.bin")

	def file(self, name):
		return "/still/" + name, [], lambda answer: self.whole(name, answer)

	def whole(self, name, answer):
		if answer.get("etag"):
			self.etags[name] = answer.get("etag")
		return answer.status == 200 and answer.body == self.still[name]

	def coded(self):
		return "/still/cached.txt", [("accept-encoding", "gzip")], lambda answer: answer.status == 200 and (
			gzip.decompress(answer.body) if answer.get("content-encoding") == "gzip" else answer.body) \
			== self.still["cached.txt"]

	def condition(self):
		name = random.choice(("small.txt", "cached.txt", "disk.bin"))
		etag = self.etags.get(name, '"none"')
		return "/still/" + name, [("if-none-match", etag)], lambda answer: (
			answer.body == b"" if answer.status == 304 else answer.get("etag") != etag
			and self.whole(name, answer))

	def part(self):
		name = random.choice(("cached.txt", "disk.bin", "large.bin"))
		first = random.randrange(len(self.still[name]) - 1000)
		last = first + random.randrange(900)
		return "/still/" + name, [("range", "bytes=%d-%d" % (first, last))], lambda answer: (
			answer.status == 206 and answer.body == self.still[name][first:last + 1])

	def listing(self):
		return "/list/", [("accept", "application/json")], lambda answer: answer.status == 200 and {
			entry["name"]: entry["size"] for entry in json.loads(answer.body)} == self.names

	def secret_file(self):
		return "/in/secret.txt", self.password, lambda answer: (
			answer.status == 200 and answer.body == self.secret)

	def right_password(self):
		"""Of one of many users, so that few answers are remembered from the last time."""
		user = basic("guest%d" % random.randrange(GUESTS), self.guests)
		return "/in/secret.txt", user, lambda answer: answer.status == 200 and answer.body == self.secret

	def turning(self):
		"""Another version every second, but always one of them."""
		return "/turn/r%d.txt" % random.randrange(4), [], lambda answer: (answer.status == 200
			and answer.body[8:20].isdigit()
			and answer.body == attacks.whole(int(answer.body[8:20]), len(answer.body)))

	def missing(self):
		return "/still/no-%d" % random.randrange(10**9), [], lambda answer: answer.status == 404

	def upload(self):
		"""Each client replaces a file of its own."""
		path = "/files/of-%d" % threading.get_ident()
		return path, self.password, lambda answer: answer.status in (201, 204), random.randbytes(50000)


	def far_upload(self):
		"""Over HTTP/2 as if by a long path, which takes wide windows."""
		path, headers, right, _ = self.upload()
		return path, headers, right, random.randbytes(1000000)


QUESTIONS = dict(small=20, cached=10, coded=6, disk=5, large=0.3, condition=15, part=8, listing=6, secret_file=8, right_password=2,
	turning=10, missing=5, upload=5, far_upload=5)
MIX = [name for name in QUESTIONS if "upload" not in name]


class Honest(threading.Thread):
	"""One client; how: "h1" or "h2", and over what."""

	def __init__(self, number, tree, stop):
		super().__init__()
		kinds = [(kind, how) for name, kind, how in (("h2", Http2, "tcp"), ("h1", Http1, "tls"), ("h2", Http2, "tls"),
			("h1", Http1, "tcp")) if name in tree.speaks]
		self.kind, self.how = kinds[number % len(kinds)]
		self.tree, self.stop = tree, stop
		self.counts = collections.Counter()
		self.lost, self.times = [], []
		self.connection = None

	def connect(self):
		began = time.monotonic()
		try:
			port = "h1" if self.kind is Http1 and self.how == "tcp" and "h1" in self.tree.ports else self.how
			self.connection = getattr(self.kind, self.how)(self.tree.ports[port],
				timeout=min(self.tree.wait, procs.DEADLINE), source=self.tree.source)
		except (OSError, client.Closed) as e:
			if time.monotonic() - began > SILENT:
				raise Again from None
			raise Lost("connecting: %r" % e) from None
		self.connection.began = began
		self.left = PER_CONNECTION
		self.counts["connections"] += 1

	def disconnect(self):
		if self.connection is not None:
			self.connection.close()
		self.connection = None

	def answer(self, *request):
		"""The answer, on this connection or another."""
		while True:
			try:
				if self.connection is None:
					self.connect()
				return self.connection.fetch(self.tree.wait, *request)
			except Again:
				self.counts["asked again"] += 1
				self.disconnect()
			except OSError as e:
				if not self.connection.late:
					raise Lost(repr(e)) from None
				self.counts["asked again"] += 1
				self.disconnect()

	def one(self, name):
		"""A file that turns may have done so while its place was lent: then its response ends, and is "turned"."""
		path, headers, right, *body = getattr(self.tree, name)()
		if self.connection is not None:
			self.connection.far = FAR if name == "far_upload" else 0
		try:
			answer = self.answer("PUT" if body else "GET", path, headers, *body)
		except Lost as e:
			if name != "turning" or "in the content" not in str(e):
				raise
			self.counts["turned"] += 1
			self.disconnect()
			return
		if not right(answer):
			raise Lost("a wrong answer: %d, %s, %d bytes, … %r" % (answer.status, answer.headers,
				len(answer.body), answer.body[-200:]))

	def pause(self):
		self.connection.pause(random.uniform(0, REST))
		if self.connection.over() or self.left <= 0:
			self.disconnect()

	def run(self):
		while not self.stop.is_set() and len(self.lost) < self.tree.losses:
			name = random.choices(list(self.tree.asks), self.tree.asks.values())[0]
			said = "%s %s %s" % (self.kind.__name__, self.how, name)
			began = time.monotonic()
			try:
				self.one(name)
				self.times.append((time.monotonic() - began, said, began))
				self.counts[name] += 1
				self.left -= 1
				self.pause()
			except Exception as e:  # ours too must be seen
				self.lost.append("%s after %.2f s: %s: %s" % (said, time.monotonic() - began,
					type(e).__name__, str(e)[:500]))
				self.disconnect()
				self.stop.wait(REST)
		self.disconnect()


def main(clients, tree):
	stop = threading.Event()
	tree = Tree(**json.loads(tree))
	every = [Honest(number, tree, stop) for number in range(int(clients))]
	for c in every:
		c.start()
	print("running", flush=True)
	sys.stdin.read()
	stop.set()
	for c in every:
		c.join()
	return dict(counts=sum((c.counts for c in every), collections.Counter()),
		lost=[lost for c in every for lost in c.lost], times=[t for c in every for t in c.times])


if __name__ == "__main__":
	found = main(*sys.argv[1:-1])
	with open(sys.argv[-1], "wb") as out:
		pickle.dump(found, out)
