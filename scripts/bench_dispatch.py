"""scripts/bench --dispatch: h2d against itself, by how connections reach its workers.

For each number of workers and each mode with each of its balances, interleaved in rounds: requests per second,
CPU per request and p99 of 100 connections with ten streams; CPU per connection, of connections with one request
each; and the skew of long-lived connections that are opened at once: the most that one worker has by the fewest.
"""
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import bench_measure
from bench_report import STYLE
from bench_servers import Server, write

MODES = [
	("reuseport", "hash"), ("reuseport", "cpu"),
	("acceptor", "least-connections"), ("acceptor", "source-hash"),
]
LONG_LIVED = (8, 64, 1000)
LOAD = bench_measure.Load("h2c 612 B -c100 -m10", False, 100, 10, "/small.html", 612)


def server_class(workers, dispatch, balance):
	class H2d(Server):
		name = "%s-%s-%d" % (dispatch, balance, workers)

		def commands(self):
			self.ports = {False: self.ports[False]}
			self.admin = os.path.join(self.folder, "admin.sock")
			conf = write(os.path.join(self.folder, "h2d.conf"), """
worker-processes = %d
worker-cpu-affinity = auto
dispatch = %s
balance = %s
log-level = "warn"
listen "127.0.0.1:%d" { tls = false }
listen "unix:%s" { admin = true }
server "_" { root = "%s" }
""" % (workers, dispatch, balance, self.ports[False], self.admin, self.env.root))
			return [[self.program, "-f", conf]]

		def clients(self):
			"""Long-lived connections of each worker."""
			with socket.socket(socket.AF_UNIX) as s:
				s.connect(self.admin)
				s.sendall(b"GET /status.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
				answer = b"".join(iter(lambda: s.recv(65536), b""))
			body = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", answer.partition(b"\r\n\r\n")[2])
			status = json.loads(body[body.index(b"{"):body.rindex(b"}") + 1])
			return [w["clients"] for w in status["workers"]]
	return H2d


def wait(what, seconds=10):
	end = time.monotonic() + seconds
	while not what() and time.monotonic() < end:
		time.sleep(0.01)


def skew(server, count):
	"""The most by the fewest; None when one worker has none."""
	held = [socket.socket() for _ in range(count)]
	for s in held:
		s.setblocking(False)
		s.connect_ex(("127.0.0.1", server.ports[False]))
	wait(lambda: sum(server.clients()) == count)
	clients = server.clients()
	for s in held:
		s.close()
	wait(lambda: not any(server.clients()))
	return max(clients) / min(clients) if min(clients) > 0 else None


def connections(env, server, seconds):
	"""CPU microseconds per connection with one request, of the server."""
	count = 500
	argv = ["h2load", "-t%d" % len(env.client_cpus), "-c%d" % count, "-m1", "-n%d" % count, server.url(LOAD)]
	before, n, end = server.cpu(), 0, time.monotonic() + seconds
	while n == 0 or time.monotonic() < end:
		subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=env.on_client_cpu)
		n += count
	time.sleep(0.05)
	return (server.cpu() - before) / n * 1e6


def measure(env, server, seconds):
	few, many = bench_measure.counts(env, server, LOAD, seconds)
	found = bench_measure.measure(env, server, LOAD, few, many)
	found["cpu_conn_us"] = connections(env, server, seconds)
	for count in LONG_LIVED:
		found["skew_%d" % count] = skew(server, count)
	return found


KEYS = ("req_s", "cpu_us", "p99_us", "cpu_conn_us") + tuple("skew_%d" % n for n in LONG_LIVED)


def summary(rounds):
	"""Medians; of a skew the worst, which None (a worker without any) is."""
	found = {}
	for key in KEYS:
		values = [r[key] for r in rounds]
		if key.startswith("skew"):
			found[key] = None if None in values else max(values)
		else:
			values = [v for v in values if v is not None]
			found[key] = statistics.median(values) if values else None
	return found


def table(results):
	head = ("workers", "dispatch", "balance", "req/s", "CPU us/req", "p99 us", "CPU us/conn") + tuple(
		"skew %d" % n for n in LONG_LIVED)
	forms = ("%.0f", "%.2f", "%.0f", "%.1f") + ("%.2f",) * len(LONG_LIVED)
	rows = [head]
	for (workers, dispatch, balance), s in results.items():
		rows.append((str(workers), dispatch, balance) + tuple(
			("all/0" if key.startswith("skew") else "-") if s[key] is None else form % s[key]
			for key, form in zip(KEYS, forms)))
	width = [max(len(row[i]) for row in rows) for i in range(len(head))]
	return "\n".join("  ".join(cell.ljust(w) if i < 3 else cell.rjust(w)
		for i, (cell, w) in enumerate(zip(row, width))) for row in rows)


def plot(results):
	"""One group of bars per number of workers: CPU per connection, and the skew of 64 beside it."""
	out, y, wide = [], 64, 330
	top = max([s["cpu_conn_us"] or 0 for s in results.values()] + [1e-9])
	for workers in sorted({key[0] for key in results}):
		out.append('<text class="load" x="20" y="%d">%d worker%s</text>' % (y, workers, "s"[:workers > 1]))
		for (n, dispatch, balance), s in results.items():
			if n != workers:
				continue
			y += 22
			value = s["cpu_conn_us"] or 0
			out.append('<text x="36" y="%d">%s, %s</text>' % (y, dispatch, balance))
			out.append('<rect class="%s" x="230" y="%d" width="%.1f" height="15" rx="3"/>'
				% ("h2d" if dispatch == "acceptor" else "", y - 12, max(1, value / top * wide)))
			out.append('<text class="quiet" x="%.1f" y="%d">%.0f, skew of 64: %s</text>' % (
				238 + value / top * wide, y, value,
				"one has none" if s["skew_64"] is None else "%.2f" % s["skew_64"]))
		y += 38
	return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 %d">\n<style>%s</style>\n'
		'<text class="title" x="20" y="30">Server CPU per connection with one request, µs</text>\n'
		'%s\n</svg>\n') % (y, STYLE, "\n".join(out))


def start(env, program, workers, dispatch, balance):
	server = server_class(workers, dispatch, balance)(env, program)
	if server.start():
		return server
	server.stop()
	return None


def run(env, o):
	rounds = {}
	for i in range(o.rounds):
		for workers in [int(n) for n in o.workers.split(",")]:
			for dispatch, balance in MODES:
				key = (workers, dispatch, balance)
				env.work = os.path.join(env.top, "%d-%s-%s-%d" % (i, dispatch, balance, workers))
				os.mkdir(env.work)
				server = start(env, o.h2d, *key)
				if server is None:
					if i == 0:
						print("%s, %s: this build has it not" % (dispatch, balance), file=sys.stderr)
					continue
				try:
					rounds.setdefault(key, []).append(measure(env, server, o.seconds))
				finally:
					server.stop()
		print("round %d of %d" % (i + 1, o.rounds), file=sys.stderr)
	return {key: summary(found) for key, found in rounds.items()}


def main(o):
	with tempfile.TemporaryDirectory(prefix="h2d-bench.") as work:
		env = bench_measure.Env(work, [LOAD])
		env.top = work
		env.share_cpus()
		results = run(env, o)
	os.makedirs(o.out, exist_ok=True)
	with open(os.path.join(o.out, "dispatch.json"), "w") as f:
		json.dump({"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "kernel": os.uname().release,
			"cpus": len(env.server_cpus | env.client_cpus), "rounds": o.rounds, "seconds": o.seconds,
			"results": [dict(zip(("workers", "dispatch", "balance"), key), **s) for key, s in results.items()]},
			f, indent=1)
	write(os.path.join(o.out, "dispatch.svg"), plot(results))
	print(table(results))
	print("%d CPUs, of them %d the clients'; %s" % (len(env.server_cpus | env.client_cpus), len(env.client_cpus), os.path.join(o.out, "dispatch.{json,svg}")))
