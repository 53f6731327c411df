"""Clients behind a real HAProxy, in a machine of test_71_systemd: how many of their requests fail while something is done
to h2d, and whether a slow download comes to its end. For test_89_operations.py and test_89_packages.py.

HAProxy tries nothing twice that it sends by HTTP/1.1: a request that h2d does not answer is one that failed. By HTTP/2 it
asks again what a GOAWAY has left out, which was not processed. By HTTP/1.1 what it sends is lost where h2d closes the
connection at that moment (RFC 9112, 9.3.1), as a drain does with one that nobody has used for three seconds: so no client
is given a connection that another has left idle. The listeners "pair" ask another node where the first refuses, as
balancers of several nodes do. Nobody is asked to be quick: a phase is over when each client has had so many answers more.
"""
import contextlib
import json
import os
import subprocess

import harness
import procs

MIB = 1 << 20
SIZE = 64 * MIB  # of the download
ANSWERS = int(os.environ.get("H2D_OPERATION_ANSWERS", "5"))  # of each client and phase
STRICT = "H2D_OPERATION_STRICT" in os.environ  # HAProxy tries nothing twice, and lends idle connections to any client
KINDS = {"alone": 9000, "pair": 9010, "drained": 9020}  # the port of HTTP/1.1 to h2d; the next one is HTTP/2's

TOP = """
global
	stats socket /run/haproxy.sock
defaults
	mode http
	timeout connect 60s
	timeout client 120s
	timeout server 120s
	timeout check 30s
	retries 0
"""
LISTEN = """
listen %(kind)s-%(protocol)s
	bind 127.0.0.1:%(port)d
%(options)s
"""
NODE = "	server %s 127.0.0.1:%d %s"
CHECKED = "	option httpchk\n	http-check send meth GET uri /healthz ver HTTP/1.1 hdr host localhost\n"

# A thread for each client: of each way half keep their connection, half make one for each request.
CLIENTS = """
import http.client, json, sys, threading, time
slow, ports, each, answers, size = json.loads(sys.argv[1])
over = threading.Event()

class Client(threading.Thread):
	def __init__(self, port, keeps):
		super().__init__(daemon=True)
		self.port, self.keeps, self.answered, self.failed, self.connection = port, keeps, 0, [], None
		self.last = None  # when the connection had its last answer

	def ask(self):
		self.begun = time.monotonic()
		self.connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
		self.connection.request("GET", "/")
		answer = self.connection.getresponse()
		body = answer.read()
		assert answer.status == 200 and body, (answer.status, body[:60])
		self.last = time.monotonic()

	def close(self):
		self.connection.close()
		self.connection = self.last = None

	def run(self):
		while not over.is_set():
			try:
				self.ask()
			except Exception as e:
				now = time.monotonic()
				self.failed.append("%d: %r, %.2f s behind the answer before on this connection, begun %.2f s ago" % (self.port, e,
					self.begun - self.last if self.connection and self.last else -1, now - self.begun))
				self.close()
			self.answered += 1
			if self.connection and not self.keeps:
				self.close()
			time.sleep(0.003)

def more(clients):
	wanted = [c.answered + answers for c in clients]
	while any(c.answered < n for c, n in zip(clients, wanted)):
		time.sleep(0.002)
	print("answered", flush=True)

download = http.client.HTTPConnection("127.0.0.1", slow, timeout=120)
download.request("GET", "/large")
reply = download.getresponse()
got = len(reply.read(65536))
clients = [Client(port, n % 2 == 0) for port in ports for n in range(each)]
for c in clients:
	c.start()
more(clients)
for line in sys.stdin:
	if line == "download\\n":
		try:
			while data := reply.read(1 << 20):
				got += len(data)
		except Exception:
			pass
	more(clients)
over.set()
for c in clients:
	c.join()
print(json.dumps({"requests": sum(c.answered for c in clients), "failed": [f for c in clients for f in c.failed],
	"clients": len(clients), "whole": got == size}))
"""


def configuration():
	text = TOP
	for kind, port in KINDS.items():
		for protocol, more in (("h1", ""), ("h2", "proto h2")):
			nodes = [NODE % ("a", 8080, more)]
			if kind != "alone":  # a check that is late for a moment has failed: the other node is none of them
				nodes = [NODE % ("a", 8080, "check inter 500ms fall 1 rise 1 " + more), NODE % ("b", 8081, more)]
			options = "" if kind == "alone" else CHECKED
			if protocol == "h1":
				options += "	http-reuse %s\n" % ("always" if STRICT else "never")
			if kind == "pair" or (protocol == "h2" and not STRICT):
				options += "	retries 3\n"
			if kind == "pair":
				options += "	option redispatch 1\n"
			text += LISTEN % {"kind": kind, "protocol": protocol, "port": port + (protocol == "h2"), "options": options + "\n".join(nodes)}
	return text


def enter(machine, *command):
	return ["nsenter", "-t", str(machine.pid), "-a", "--", *command]


STATES = """
import socket
with socket.socket(socket.AF_UNIX) as s:
	s.connect("/run/haproxy.sock")
	s.sendall(b"show stat\\n")
	for line in s.makefile():
		part = line.split(",")
		if len(part) > 17:
			print(part[0], part[1], part[17].split()[0])
"""


class Balancer:
	"""HAProxy in the machine, beside h2d."""
	def __init__(self, machine):
		self.machine = machine
		machine.write("/etc/haproxy-test.cfg", configuration())
		self.process = subprocess.Popen(enter(machine, "haproxy", "-db", "-f", "/etc/haproxy-test.cfg"),
			stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		wait_for(lambda: "drained-h2 a " in self.said(), "HAProxy is up")

	def said(self):
		"""The states of all its listeners and nodes: nothing before it is up."""
		return self.machine.run("/usr/bin/python3", "-c", STATES).stdout

	def sees(self, kind, node, state):
		"""Whether by its checks that is the state of the node, for both protocols."""
		said = self.said()
		return all("%s-%s %s %s\n" % (kind, protocol, node, state) in said for protocol in ("h1", "h2"))

	def close(self):
		self.process.kill()
		self.process.wait()


class Clients(contextlib.AbstractContextManager):
	"""Those of one kind of listener, until they have been asked what they saw; and a slow download from the node "a"."""
	def __init__(self, machine, kind):
		ports = [KINDS[kind], KINDS[kind] + 1]
		self.process = subprocess.Popen(enter(machine, "/usr/bin/python3", "-c", CLIENTS,
			json.dumps([KINDS["alone"], ports, 4, ANSWERS, SIZE])), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		self.answered()

	def answered(self):
		assert self.process.stdout.readline() == "answered\n"

	def more(self, line="more"):
		"""Each has so many answers more; by "download" that ends meanwhile."""
		self.process.stdin.write(line + "\n")
		self.process.stdin.flush()
		self.answered()

	def found(self):
		out = self.process.communicate(timeout=300)[0]
		assert self.process.returncode == 0
		return json.loads(out)

	def __exit__(self, *_):
		self.process.kill()
		self.process.communicate()


def play(machine, dispatch, what, kind, do):
	"""A row of the table: clients of a kind of listener while do(clients) lasts, and a while longer."""
	with Clients(machine, kind) as clients:
		do(clients)
		clients.more()
		clients.more("download")
		found = clients.found()
	harness.REPORT.append("%-10s %-52s %6d requests %4d failed   the download: %s" % (dispatch, what, found["requests"],
		len(found["failed"]), "whole" if found["whole"] else "cut"))
	return found


def nothing_failed(found):
	assert found["failed"] == [] and found["whole"] and found["requests"] > 10 * found["clients"], found


def wait_for(what, said):
	return procs.wait_for(what, 120, 0.05, said)
