"""Three machines behind a real HAProxy, all on loopback, with strict clients of HTTP/2: how many of their requests fail
while something is done to a machine. For test_trio.py.

The clients come by two ways: HTTP/2 end to end over TLS, which HAProxy passes through with a PROXY header in front, and
HTTP/2 in cleartext to HAProxy and from there, with x-forwarded-for.
"""
import json
import os
import re
import socket
import subprocess
import sys

import harness
import procs
import server as srv
from tree import program

CLIENTS = int(os.environ.get("H2D_TRIO_CLIENTS", "6"))
MORE = int(os.environ.get("H2D_TRIO_REQUESTS", "150"))  # answers of all machines that end a phase
CONF = """worker-processes = 2
trusted-proxies = {"127.0.0.1"}
client-address = x-forwarded-for
shutdown-timeout = 60
listen "127.0.0.1:0" { }
listen "127.0.0.1:0" { tls = true  proxy-protocol = true }
tls { session-ticket-key-file = "%s" }
"""
HAPROXY = """
global
	stats socket %(folder)s/stats.sock level admin
defaults
	timeout connect 30s
	timeout client 60s
	timeout server 60s
	timeout check 3s
	retries 3
	option redispatch 1
	option httpchk
	http-check send meth GET uri /healthz ver HTTP/1.1 hdr host localhost
	default-server check inter 200ms fall 2 rise 1
listen passed
	mode tcp
	bind fd@%(tls)d
%(passed)s
listen spoken
	mode http
	bind fd@%(tcp)d proto h2
	option forwardfor
	retry-on all-retryable-errors
	http-request disable-l7-retry if !METH_GET
%(spoken)s
"""


class Machine:
	"""One h2d, on ports that stay its own when it is started again."""

	def __init__(self, name, cert, keys, dispatch):
		self.name, self.cert = name, cert
		self.server = srv.Server(cert, workers=2, listens=("own", "own"), conf=(CONF % keys).replace("worker-processes = 2\n", ""),
			files={"index.html": "<p>page"}, dispatch=dispatch)
		own = self.server.path("cert.pem"), self.server.path("key.pem")
		self.certificate = own
		self.renew(cert)
		self.server.conf_text = self.server.conf_text.replace("tls { session", 'tls { certificate = "%s"  certificate-key = "%s"  session' % own)
		self.server.put_conf(self.server.conf_text)
		self.start()
		lines = self.server.log.wait(r" listening on ", count=3)
		self.plain, self.tls = (next(int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1)) for line in lines
			if "127.0.0.1" in line and ("(tls)" in line) is tls) for tls in (False, True))
		self.server.conf_text = self.server.conf_text.replace('"127.0.0.1:0" { }', '"127.0.0.1:%d" { }' % self.plain).replace(
			'"127.0.0.1:0" { tls', '"127.0.0.1:%d" { tls' % self.tls)
		self.server.put_conf(self.server.conf_text)
		self.restart()

	def renew(self, cert):
		"""Another certificate, in the place of the one before; not yet taken."""
		for to, path in zip(self.certificate, (cert.cert, cert.key)):
			with open(path, "rb") as f, open(to + ".new", "wb") as new:
				new.write(f.read())
			os.rename(to + ".new", to)

	def start(self):
		self.server.heir = None
		self.server.spawn()
		self.server.wait_listening()
		self.server.wait_up()

	def restart(self):
		assert self.server.quit(120) == 0
		self.start()

	def signal(self, number):
		"""To each of its processes."""
		for pid in procs.group_members(self.server.process.pid):
			try:
				os.kill(pid, number)
			except ProcessLookupError:
				pass

	def say(self, name):
		self.server.lint.forget()
		self.server.baseline = None
		done = self.server.run("-s", name, check=0)
		if name == "upgrade":
			self.server.find_heir()
		return done

	def answered(self):
		return self.server.status()["totals"]["requests"]


class Trio:
	def __init__(self, folder, cert, dispatch, keys):
		self.folder, self.dispatch, self.machines, self.balancer = str(folder), dispatch, [], None
		try:
			for name in ("a", "b", "c"):
				self.machines.append(Machine(name, cert, keys, dispatch))
			self.balance()
		except BaseException:
			self.close(True)
			raise

	def balance(self):
		lines = {way: "\n".join("	server %s 127.0.0.1:%d %s" % (m.name, port(m), more(m)) for m in self.machines)
			for way, port, more in (
				("passed", lambda m: m.tls, lambda m: "send-proxy-v2 addr 127.0.0.1 port %d" % m.plain),
				("spoken", lambda m: m.plain, lambda m: "proto h2 check-proto h1"))}
		fronts = {how: socket.create_server(("127.0.0.1", 0)) for how in ("tls", "tcp")}
		path = os.path.join(self.folder, "haproxy.cfg")
		with open(path, "w") as f:
			f.write(HAPROXY % {"folder": self.folder, **lines, **{how: s.fileno() for how, s in fronts.items()}})
		self.balancer = subprocess.Popen([program("haproxy"), "-db", "-f", path], stdin=subprocess.DEVNULL,
			stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[s.fileno() for s in fronts.values()])
		self.ports = {how: s.getsockname()[1] for how, s in fronts.items()}
		for s in fronts.values():
			s.close()
		procs.wait_for(lambda: self.seen_all("UP"), 60, 0.05, "HAProxy sees all three")

	def table(self):
		try:
			with socket.socket(socket.AF_UNIX) as s:
				s.connect(os.path.join(self.folder, "stats.sock"))
				s.sendall(b"show stat\n")
				rows = [line.split(",") for line in s.makefile().read().splitlines()]
		except OSError:
			assert self.balancer.poll() is None, self.balancer.stderr.read()
			return []
		names = [name.lstrip("# ") for name in rows[0]] if rows else []
		return [dict(zip(names, row)) for row in rows[1:]]

	def seen(self, name):
		return {row["pxname"]: row["status"].split()[0] for row in self.table() if row.get("svname") == name}

	def seen_all(self, state):
		return all(list(self.seen(m.name).values()) == [state] * 2 for m in self.machines)

	def is_seen(self, machine, state):
		"""Until HAProxy does, by both ways."""
		procs.wait_for(lambda: list(self.seen(machine.name).values()) == [state] * 2, 60, 0.05, "%s is %s" % (machine.name, state))

	def more(self, machines=None):
		"""Until these have answered so many requests more."""
		machines = machines or self.machines
		before = [m.answered() for m in machines]
		procs.wait_for(lambda: all(m.answered() >= n + MORE // 3 for m, n in zip(machines, before)), 120, 0.05, "requests go on")

	def out(self, machine):
		machine.say("drain")
		self.is_seen(machine, "DOWN")

	def back(self, machine):
		machine.say("undrain")
		self.is_seen(machine, "UP")

	def play(self, what, do, deaths=False):
		"""A row of the table: what clients saw while do() lasted, and a while before and behind it."""
		args = [sys.executable, os.path.join(os.path.dirname(srv.__file__), "fleet.py"), str(CLIENTS),
			*("%s:%d" % item for item in self.ports.items()), "--gentle", *["--deaths"] * deaths]
		with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
			try:
				assert clients.stdout.readline() == "running\n"
				self.more()
				do()
				procs.wait_for(lambda: self.seen_all("UP"), 60, 0.05, "all are back")
				self.more()
				found = json.loads(clients.communicate("")[0])
			finally:
				clients.kill()
		harness.REPORT.append("%-10s %-44s %6d requests %4d failed %4d asked again" % (self.dispatch, "three machines: " + what,
			found["requests"], found["failures"], found["asked_again"] + found["cut"]))
		return found

	def close(self, failed):
		if self.balancer:
			self.balancer.kill()
			self.balancer.communicate()
		for m in self.machines:
			m.server.finish(failed=failed)
