"""Asks every worker, by every protocol, until all of them give the right answer; remembers how long that took."""
import http.client
import contextlib
import random
import time

import harness
import procs
import server as srv

LATE = 10  # times the promise


def peer_inode(sock):
	"""Of the other end of a TCP connection of this machine."""
	mine, theirs = sock.getsockname()[1], sock.getpeername()[1]
	with open("/proc/net/tcp") as f:
		for line in list(f)[1:]:
			part = line.split()
			if int(part[1][9:], 16) == theirs and int(part[2][9:], 16) == mine:
				return int(part[9])
	return 0


class H1:
	"""The part of client.Client that is used here, by HTTP/1.1."""

	def __init__(self, port, authority="localhost"):
		self.conn = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
		self.conn.connect()
		self.sock = self.conn.sock
		self.authority = authority

	def get(self, path="/", headers=()):
		self.conn.request("GET", path, headers=dict(headers, Host=self.authority))
		answer = self.conn.getresponse()
		answer.body = answer.read()
		answer.get = answer.headers.get
		return answer

	def close(self):
		self.conn.close()


class Everywhere(contextlib.AbstractContextManager):
	"""A connection to each worker by each protocol."""

	def __init__(self, server, authority="localhost", protocols=("h2", "h1")):
		self.server = server
		self.clients = {}
		self.image = 0
		workers = server.live_workers()
		owners = {(slot, protocol) for slot in workers for protocol in protocols}
		while set(self.clients) != owners:
			# By chance: workers take turns, too, and each protocol would come to the same one for ever.
			protocol = random.choice(protocols)
			if all((slot, protocol) in self.clients for slot in workers):
				continue
			# Not for lint_history: here the same bytes come back as another version.
			c = server.connect("tcp", authority=authority, seen=None) if (
				protocol == "h2") else H1(server.ports["tcp"], authority)
			# Whoever answered has it.
			c.get("/")
			inode = peer_inode(c.sock)
			slot = next((s for s, w in workers.items() if inode in procs.sockets(w["pid"])), None)
			if slot is None or (slot, protocol) in self.clients:
				c.close()
			else:
				self.clients[slot, protocol] = c

	def __exit__(self, *_):
		for c in self.clients.values():
			c.close()

	def changed(self):
		"""Call it right before a change: the image that is made because of it has a higher number."""
		self.image = self.server.status()["image"]
		return self

	@staticmethod
	def right(answer, want):
		if callable(want):
			return want(answer)
		if isinstance(want, int):
			return answer.status == want
		return answer.status == 200 and answer.body == want

	def wrong(self, path, want, headers=()):
		"""Who does not give the right answer now, and what he says."""
		found = {}
		for who, c in self.clients.items():
			answer = c.get(path, headers=headers)
			if not self.right(answer, want):
				found[who] = (answer.status, answer.body[:80])
		return found

	def agree(self, path, want, headers=(), within=1.0, said=None):
		"""
		Within so many seconds from now, at the right rate for sanitizers, everyone gives the wanted
		answer: a status, a body, or what a function says True to. It has failed when it is LATE times
		that: a machine may have much else to do; harness.TIMES shows how long it took.
		"""
		start = time.monotonic()
		left = dict(self.clients)
		while left:
			for who in list(left):
				answer = left[who].get(path, headers=headers)
				took = time.monotonic() - start
				if self.right(answer, want):
					harness.TIMES[said or "other"].append(took)
					del left[who]
				elif took > within * srv.SLOW * LATE:
					raise AssertionError("%s: after %.3f s worker %d says by %s: %d %r" % (
						(path, took) + who + (answer.status, answer.body[:80])))
		wrong = self.wrong(path, want, headers)
		assert not wrong, "%s: right once, then wrong: %s" % (path, wrong)

	def settle(self, path, want, headers=()):
		"""Until the image that follows a change is everywhere; it must be right too."""
		self.server.wait_image(self.image)
		wrong = self.wrong(path, want, headers)
		assert not wrong, "%s: the new image is wrong: %s" % (path, wrong)

	def cached(self, path, want, headers=()):
		"""Until everyone answers from the image, and rightly."""
		def hits():
			return sum(w["cache_hits"] for w in self.server.live_workers().values())

		def all_hit():
			before = hits()
			wrong = self.wrong(path, want, headers)
			assert not wrong, "%s: %s" % (path, wrong)
			return hits() - before == len(self.clients)
		procs.wait_for(all_hit, said="%s is cached" % path)
