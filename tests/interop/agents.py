"""A real HAProxy on loopback in front of several servers, by agent-check: what it thinks of each, and clients of it.

Its other check is a connection alone, so that what it thinks comes from the agent."""
import os
import socket
import subprocess

import procs
from tree import program

CONF = """
global
	stats socket %(folder)s/stats.sock level admin
defaults
	mode http
	timeout connect 30s
	timeout client 60s
	timeout server 60s
	timeout check 30s
listen site
	bind unix@%(folder)s/site.sock
	balance roundrobin
	http-reuse never
	default-server check inter 200ms fall 1 rise 1 agent-check agent-inter 200ms weight 100
%(servers)s
"""
SERVER = "	server %s 127.0.0.1:%d agent-addr 127.0.0.1 agent-port %d"


class Agents:
	"""servers: {name: (port, port of the agent)}."""

	def __init__(self, folder, servers):
		self.folder, self.servers = str(folder), servers
		lines = "\n".join(SERVER % (name, *ports) for name, ports in servers.items())
		path = os.path.join(self.folder, "haproxy.cfg")
		with open(path, "w") as f:
			f.write(CONF % {"folder": self.folder, "servers": lines})
		self.process = subprocess.Popen([program("haproxy"), "-db", "-f", path], stdin=subprocess.DEVNULL,
			stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

	def command(self, line):
		"""What HAProxy answers to it."""
		with socket.socket(socket.AF_UNIX) as s:
			s.connect(os.path.join(self.folder, "stats.sock"))
			s.sendall(line.encode() + b"\n")
			return s.makefile().read()

	def seen(self):
		"""{name: (state, weight, requests it has had)}; nothing before it is up."""
		found = {}
		try:
			rows = [line.split(",") for line in self.command("show stat").splitlines()]
		except OSError:
			return found
		names = [name.lstrip("# ") for name in rows[0]] if rows else []
		for row in rows[1:]:
			one = dict(zip(names, row))
			if one.get("svname") in self.servers:
				found[one["svname"]] = (one["status"].split()[0], int(one["weight"]), int(one["stot"]))
		return found

	def wait(self, what, said):
		"""Until what(seen) holds; what was seen then."""
		def holds():
			seen = self.seen()
			return seen if len(seen) == len(self.servers) and what(seen) else None
		return procs.wait_for(holds, 60, 0.05, said=said)

	def ask(self, times, path="/page"):
		"""Requests with a connection each: the statuses, and which server each came from."""
		found = []
		for _ in range(times):
			with socket.socket(socket.AF_UNIX) as s:
				s.settimeout(60)
				s.connect(os.path.join(self.folder, "site.sock"))
				s.sendall(b"GET %s HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n" % path.encode())
				head = s.makefile("rb").read().partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")
			fields = dict(line.split(": ", 1) for line in head[1:])
			found.append((int(head[0].split()[1]), fields.get("x-served-by")))
		return found

	def close(self):
		self.process.kill()
		self.process.wait()
