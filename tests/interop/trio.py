"""Three machines behind a real HAProxy, each in a network namespace of its own, with strict clients of HTTP/2: how many of
their requests fail while something is done to a machine. For test_trio.py.

    clients 127.0.0.1  |  HAProxy, and dnsmasq for one row  10.0.N.1 -- 10.0.N.5 h2d, N = 1, 2, 3

The clients come by two ways: HTTP/2 end to end over TLS, which HAProxy passes through with a PROXY header in front, and
HTTP/2 in cleartext to HAProxy and from there, with x-forwarded-for. HAProxy has its two listening sockets from the clients'
namespace. A third way is the second with servers out of DNS.
"""
import json
import math
import os
import signal
import socket
import subprocess
import sys

import harness
import procs
import server as srv
import transfers
from balancer import Namespace
from tree import program

CLIENTS = int(os.environ.get("H2D_TRIO_CLIENTS", "6"))
PROCESSES = int(os.environ.get("H2D_TRIO_PROCESSES", "1"))  # that the clients are shared out to
RATE = int(os.environ.get("H2D_TRIO_RATE", "0"))  # requests a second, of all clients; 0: as they come
SECONDS = int(os.environ.get("H2D_TRIO_SECONDS", "0"))  # at that rate, before and behind each event
# Answers that go before an event, and behind it.
MORE = int(os.environ.get("H2D_TRIO_REQUESTS", str(RATE * SECONDS or 150)))
SLOW = float(os.environ.get("H2D_TRIO_SLOW", "0.4"))  # seconds of a slow download or upload
LONG = "H2D_TRIO_SECONDS" in os.environ
TRANSFERS = 4 * PROCESSES  # under way at a time: one each way, of each kind
PAGE = "<p>page"
CONF = """instance-name = "%(name)s"
trusted-proxies = {"%(balancer)s"}
client-address = x-forwarded-for
shutdown-timeout = 60
listen "%(address)s:8080" { }
listen "%(address)s:8443" { tls = true  proxy-protocol = true }
listen "%(address)s:9777" { haproxy-agent = true }
tls { session-ticket-key-file = "%(keys)s"  certificate = "%(cert)s"  certificate-key = "%(key)s" }
"""
HAPROXY = """
global
	stats socket %(folder)s/stats.sock level admin
defaults
	timeout connect 30s
	timeout client 90s
	timeout server 90s
	timeout check 2s
	retries 3
	option redispatch 1
	option httpchk
	http-check send meth GET uri /healthz ver HTTP/1.1 hdr host localhost
	default-server check inter 200ms fall 2 rise 1 weight 100 agent-check agent-inter 200ms agent-port 9777
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
resolvers dns
	nameserver local 127.0.0.1:53
	timeout resolve 200ms
	timeout retry 200ms
	hold valid 200ms
	hold obsolete 0s
listen named
	mode http
	bind fd@%(named)d proto h2
	option forwardfor
	retry-on all-retryable-errors
	http-request disable-l7-retry if !METH_GET
	server-template m 3 machines.test:8080 proto h2 check-proto h1 resolvers dns resolve-prefer ipv4 init-addr none
"""
WAYS = ("passed", "spoken")


class Machine:
	"""One h2d in a namespace of its own, which is reached through the balancer's."""

	def __init__(self, number, balancer, cert, keys, dispatch):
		self.name, self.link = "web-%d" % number, "to-%d" % number
		self.address, gateway = "10.0.%d.5" % number, "10.0.%d.1" % number
		self.balancer = balancer
		self.namespace = Namespace()
		self.server = None
		balancer.run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "back", "netns", str(self.namespace.process.pid))
		balancer.give(self.link, gateway + "/24")
		self.namespace.give("back", self.address + "/24")
		self.server = srv.Server(cert, workers=2, listens=("own",) * 3, files={"index.html": PAGE, transfers.LONG: transfers.content(transfers.LONG),
			transfers.FOLDER + "/.keep": b""}, server='upload-dir = "%s"  upload-public = true' % transfers.FOLDER, dispatch=dispatch,
			preexec=self.namespace.enter)
		self.certificate = self.server.path("cert.pem"), self.server.path("key.pem")
		self.renew(cert)
		self.server.conf_text += CONF % {"name": self.name, "balancer": gateway, "address": self.address, "keys": keys,
			"cert": self.certificate[0], "key": self.certificate[1]}
		self.server.put_conf(self.server.conf_text)
		self.start()

	def cut(self):
		"""Nothing passes its cable any more, neither way: a bucket that no packet fits into drops every one."""
		for where, device in ((self.balancer, self.link), (self.namespace, "back")):
			where.run("tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", "8bit", "burst", "10", "limit", "1")

	def heal(self):
		for where, device in ((self.balancer, self.link), (self.namespace, "back")):
			where.run("tc", "qdisc", "del", "dev", device, "root")

	def uploads(self):
		"""{name: whether it is whole} of what clients have uploaded here."""
		folder = os.path.join(self.server.root, transfers.FOLDER)
		found = {}
		for name in os.listdir(folder):
			if not name.startswith("."):
				with open(os.path.join(folder, name), "rb") as f:
					found[name] = f.read() == transfers.content(name)
				os.unlink(os.path.join(folder, name))
		return found

	def finish(self, failed):
		if self.server:
			self.server.finish(failed=failed)
		self.namespace.close()

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
		self.folder, self.dispatch, self.machines, self.haproxy, self.dns = str(folder), dispatch, [], None, None
		self.namespace = Namespace()
		try:
			for number in (1, 2, 3):
				self.machines.append(Machine(number, self.namespace, cert, keys, dispatch))
			self.balance()
		except BaseException:
			self.close(True)
			raise

	def balance(self):
		lines = {way: "\n".join("	server %s %s:%d %s" % (m.name, m.address, port, more) for m in self.machines)
			for way, port, more in (("passed", 8443, "send-proxy-v2 port 8080"), ("spoken", 8080, "proto h2 check-proto h1"))}
		fronts = {how: socket.create_server(("127.0.0.1", 0)) for how in ("tls", "tcp", "named")}
		path = os.path.join(self.folder, "haproxy.cfg")
		with open(path, "w") as f:
			f.write(HAPROXY % {"folder": self.folder, **lines, **{how: s.fileno() for how, s in fronts.items()}})
		self.haproxy = subprocess.Popen(self.namespace.command(program("haproxy"), "-db", "-f", path), stdin=subprocess.DEVNULL,
			stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[s.fileno() for s in fronts.values()])
		self.ports = {how: s.getsockname()[1] for how, s in fronts.items()}
		for s in fronts.values():
			s.close()
		procs.wait_for(lambda: self.seen_all("UP"), 60, 0.05, "HAProxy sees all three")

	def name(self, machines):
		"""The DNS has these."""
		hosts = os.path.join(self.folder, "hosts")
		with open(hosts, "w") as f:
			f.writelines("%s machines.test\n" % m.address for m in machines)
		if self.dns:
			self.dns.send_signal(signal.SIGHUP)
			return
		self.dns = subprocess.Popen(self.namespace.command(program("dnsmasq", "dnsmasq-base"), "--keep-in-foreground", "--conf-file=/dev/null",
			"--no-resolv", "--no-hosts", "--local=/test/", "--addn-hosts=" + hosts, "--listen-address=127.0.0.1", "--bind-interfaces", "--local-ttl=0",
			"--user=root", "--pid-file="), stdin=subprocess.DEVNULL)

	def is_named(self, machines):
		"""Until HAProxy serves from these, by what the DNS said."""
		wanted = {m.address for m in machines}
		procs.wait_for(lambda: {row["addr"].split(":")[0] for row in self.table() if row["pxname"] == "named" and row["addr"]
			and row["status"].startswith("UP")} == wanted, 60, 0.05, "HAProxy has %s from the DNS" % wanted)

	def table(self):
		try:
			with socket.socket(socket.AF_UNIX) as s:
				s.connect(os.path.join(self.folder, "stats.sock"))
				s.sendall(b"show stat\n")
				rows = [line.split(",") for line in s.makefile().read().splitlines()]
		except OSError:
			assert self.haproxy.poll() is None, self.haproxy.stderr.read()
			return []
		names = [name.lstrip("# ") for name in rows[0]] if rows else []
		return [dict(zip(names, row)) for row in rows[1:] if len(row) > 1]

	def seen(self, name):
		return {row["pxname"]: row["status"].split()[0] for row in self.table() if row["svname"] == name}

	def weights(self):
		"""What HAProxy makes of each machine's agent, the lesser of both ways."""
		rows = [row for row in self.table() if row["pxname"] in WAYS]
		return {m.name: min((int(row["weight"]) for row in rows if row["svname"] == m.name), default=0) for m in self.machines}

	def seen_all(self, state):
		return all(list(self.seen(m.name).values()) == [state] * 2 for m in self.machines)

	def is_seen(self, machine, state):
		"""Until HAProxy does, by both ways."""
		procs.wait_for(lambda: list(self.seen(machine.name).values()) == [state] * 2, 60, 0.05, "%s is %s" % (machine.name, state))

	def more(self, machines=None):
		"""Until all together have answered MORE requests, or these some while one of them is out and holds clients up."""
		wanted = MORE // 3 if machines is None else min(MORE // 3, 500)
		machines = machines or self.machines
		before = [m.answered() for m in machines]
		procs.wait_for(lambda: all(m.answered() >= n + wanted for m, n in zip(machines, before)), 120, 0.05, "requests go on")

	def out(self, machine):
		machine.say("drain")
		self.is_seen(machine, "DOWN")

	def back(self, machine):
		machine.say("undrain")
		self.is_seen(machine, "UP")

	def play(self, what, do, deaths=False, ways=("tls", "tcp")):
		"""A row of the table: what clients saw while do(phase) lasted, and a while before and behind it. phase(name) begins a
		phase, for how long answers took."""
		args = [sys.executable, os.path.join(os.path.dirname(srv.__file__), "fleet.py"), str(CLIENTS // PROCESSES),
			*("%s:%d" % ("tls" if how == "tls" else "tcp", self.ports[how]) for how in ways), "--body=" + PAGE, "--slow=%g" % SLOW,
			"--rate=%g" % (RATE / PROCESSES) if RATE else "--gentle", *["--deaths"] * deaths]
		clients = [subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]

		def phase(name):
			for c in clients:
				c.stdin.write(name + "\n")
				c.stdin.flush()
		try:
			for c in clients:
				assert c.stdout.readline() == "running\n"
			self.more()
			do(phase)
			phase("behind")
			procs.wait_for(lambda: self.seen_all("UP"), 60, 0.05, "all are back")
			self.more()
			for c in clients:
				c.stdin.close()
			found = added_up([json.loads(c.stdout.read()) for c in clients])
		finally:
			for c in clients:
				c.kill()
				c.wait()
				c.stdin.close()
				c.stdout.close()
		found["whole"] = [whole for m in self.machines for whole in m.uploads().values()]
		slow = found["slow"]
		harness.REPORT.append("%-10s %-50s %6d requests %4d failed %4d asked again, %5.0f/s; %d downloads %d uploads %d failed" % (
			self.dispatch, "three machines: " + what, found["requests"], found["failures"], found["asked_again"] + found["cut"],
			found["requests"] / found["seconds"], slow["downloads"], slow["uploads"], len(slow["failed"])))
		return found

	def close(self, failed):
		for process in (self.haproxy, self.dns):
			if process:
				process.kill()
				process.communicate()
		for m in self.machines:
			m.finish(failed)
		self.namespace.close()


def added_up(found):
	"""What several processes found, as if it was one."""
	whole = found[0]
	for one in found[1:]:
		for name in ("cut", "requests", "asked_again", "failures"):
			whole[name] += one[name]
		whole["first_failures"] += one["first_failures"]
		for name, value in one["slow"].items():
			whole["slow"][name] += value
		for phase, counted in one["times"].items():
			into = whole["times"].setdefault(phase, {})
			for key, n in counted.items():
				into[key] = into.get(key, 0) + n
	return whole


def quantile(counted, share):
	"""Milliseconds, out of the times of a phase."""
	left = share * sum(counted.values())
	for key in sorted(counted, key=int):
		left -= counted[key]
		if left <= 0:
			return math.exp(int(key) / 20) / 1000
	return 0.0
