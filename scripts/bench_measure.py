"""How scripts/bench measures: h2load and wrk on processors of their own, and the server's CPU meanwhile.

Costs are slopes between two runs, a short one and a longer one, so that the setup of connections is not in them.
"""
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import time

from bench_servers import write

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# streams 0: HTTP/1.1 by wrk; size: bytes of the body, about; h2load: further arguments; script: of wrk, in Lua; paths: asked
# for in turn, else path alone. handshake: "full" or "resumed", of a connection for each request (bench_client.py).
Load = collections.namedtuple("Load", "name tls connections streams path size h2load script paths handshake",
	defaults=((), "", (), ""))


class Env:
	"""A folder for one run, with the document root and a certificate; and the processors."""

	def __init__(self, work, loads=(), root=None):
		self.work = work
		os.chmod(work, 0o755)
		self.root = root or os.path.join(work, "root")
		if not root:
			os.mkdir(self.root)
		for load in loads:
			write(self.root + load.path, ("h2d serves this.\n" * (load.size // 17 + 1))[:load.size])
		subprocess.run([os.path.join(TOP, "scripts", "dev-cert"), work], check=True)
		self.cert, self.key = os.path.join(work, "cert.pem"), os.path.join(work, "key.pem")
		cpus = sorted(os.sched_getaffinity(0))
		self.server_cpus, self.client_cpus = {cpus[0]}, {cpus[-1]}

	def share_cpus(self):
		"""Halves the processors between servers and clients: for servers with many workers."""
		cpus = sorted(os.sched_getaffinity(0))
		servers = (len(cpus) + 1) // 2
		self.server_cpus, self.client_cpus = set(cpus[:servers]), set(cpus[servers:] or cpus)

	def on_server_cpu(self):
		os.sched_setaffinity(0, self.server_cpus)

	def on_client_cpu(self):
		os.sched_setaffinity(0, self.client_cpus)


# --- one run -----------------------------------------------------------------------------------------


def in_seconds(text):
	"""Of a time as h2load and wrk write it."""
	number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
	return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[unit]


def h2load(env, server, load, count, log=None):
	"""Wall seconds, requests that succeeded, the cipher (None in cleartext)."""
	argv = ["h2load", "-t%d" % min(len(env.client_cpus), load.connections), "-c%d" % load.connections, "-m%d" % load.streams, "-n%d" % count, *load.h2load]
	argv += ["--log-file=" + log] if log else []
	if load.paths:
		uris = os.path.join(env.work, "uris")
		write(uris, "".join(server.url(load, path) + "\n" for path in load.paths))
		argv.append("--input-file=" + uris)
	else:
		argv.append(server.url(load))
	out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=env.on_client_cpu).stdout
	finished = re.search(r"finished in ([\d.]+\w+)", out)
	done = re.search(r"(\d+) succeeded", out)
	cipher = re.search(r"^Cipher: (.*)$", out, re.M)
	wall = in_seconds(finished.group(1)) if finished else 0
	return wall, int(done.group(1)) if done else 0, cipher.group(1) if cipher else None


def handshakes(env, server, load, count, log=None):
	"""The same of count connections, each with one request. One that was to be resumed and was not has not succeeded."""
	argv = [sys.executable, os.path.join(TOP, "scripts", "bench_client.py"), str(server.ports[True]), load.path, str(count), load.handshake]
	out = subprocess.run(argv, stdout=subprocess.PIPE, text=True, preexec_fn=env.on_client_cpu).stdout
	done = re.fullmatch(r"(\d+) answered, (\d+) resumed in ([\d.]+) s\n", out)
	if not done:
		return 0, 0, None
	return float(done.group(3)), int(done.group(2 if load.handshake == "resumed" else 1)), None


def ask(env, server, load, *arguments):
	return (handshakes if load.handshake else h2load)(env, server, load, *arguments)


def wrk(env, server, load, length):
	"""length seconds of HTTP/1.1: wall seconds, requests that succeeded, failures, microseconds p50 and p99."""
	argv = ["wrk", "-t1", "-c%d" % load.connections, "-d%ds" % length, "--latency"]
	if load.script:
		argv += ["-s", write(os.path.join(env.work, "load.lua"), load.script)]
	out = subprocess.run(argv + [server.url(load)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
		preexec_fn=env.on_client_cpu).stdout
	done = re.search(r"(\d+) requests in ([\d.]+\w+)", out)
	if not done:
		return 0, 0, 0, None, None
	bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
	errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", out)
	failed = (int(bad.group(1)) if bad else 0) + (sum(map(int, errors.groups())) if errors else 0)
	p50, p99 = (in_seconds(re.search(r"%s\s+([\d.]+\w+)" % p, out).group(1)) * 1e6 for p in ("50%", "99%"))
	return in_seconds(done.group(2)), int(done.group(1)) - failed, failed, p50, p99


def with_cpu(server, client, *arguments):
	"""The server's CPU seconds while client runs, and what client gives."""
	before = server.cpu()
	result = client(*arguments)
	# The connections were closed a moment ago; their end belongs to the run.
	time.sleep(0.05)
	return (server.cpu() - before, *result)


def counts(env, server, load, seconds):
	"""
	Two request counts that take about a quarter of seconds, and seconds more than that; for wrk, which
	takes whole seconds, one and at least one more. What runs meanwhile warms the server up.
	"""
	if load.streams == 0:
		wrk(env, server, load, 1)
		return 1, 1 + max(1, round(seconds))
	least = count = load.connections * (load.streams if load.size < 4096 else 1)
	wall, done, _ = ask(env, server, load, count)
	rate = 0
	# What the setup of connections takes is no part of the rate. Nothing succeeds: a server that resumes no session.
	while rate == 0 and done > 0 and count < 1 << 24:
		count *= 4
		more_wall, more_done, _ = ask(env, server, load, count)
		if more_wall - wall > seconds / 8:
			rate = (more_done - done) / (more_wall - wall)
		wall, done = more_wall, more_done
	few = max(least, int(rate * seconds / 4))
	return few, few + max(least, int(rate * seconds))


def percentiles(path):
	with open(path) as f:
		times = sorted(int(line.split("\t")[2]) for line in f)
	if not times:
		return None, None
	return times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]


def measure(env, server, load, few, many):
	if load.streams == 0:
		cpu_few, wall_few, done_few, failed_few, _, _ = with_cpu(server, wrk, env, server, load, few)
		cpu_many, wall_many, done_many, failed, p50, p99 = with_cpu(server, wrk, env, server, load, many)
		cipher, failed = None, failed + failed_few
	else:
		cpu_few, wall_few, done_few, _ = with_cpu(server, ask, env, server, load, few)
		cpu_many, wall_many, done_many, cipher = with_cpu(server, ask, env, server, load, many)
		failed, p50, p99 = few + many - done_few - done_many, None, None
		if not load.handshake:
			log = os.path.join(env.work, "h2load.log")
			h2load(env, server, load, few, log)
			p50, p99 = percentiles(log)
			os.unlink(log)
	n = done_many - done_few
	return {
		"cpu_us": (cpu_many - cpu_few) / n * 1e6 if n > 0 and cpu_many > cpu_few else None,
		"req_s": n / (wall_many - wall_few) if n > 0 and wall_many > wall_few else None,
		"p50_us": p50, "p99_us": p99, "pss_kib": server.pss(), "cipher": cipher,
		"failed": failed,
	}


# --- what many runs say ------------------------------------------------------------------------------


def median(values):
	values = [v for v in values if v is not None]
	return statistics.median(values) if values else None


def spread(values):
	"""From the least to the most; of five and more, without one at either end."""
	values = sorted(v for v in values if v is not None)
	if len(values) >= 5:
		values = values[1:-1]
	return [values[0], values[-1]] if values else None


def overlap(one, other):
	return one is not None and other is not None and one[0] <= other[1] and other[0] <= one[1]


def ratio_to(rounds, base):
	"""The median of the ratios of rounds that were side by side, and whether the spreads overlap."""
	ratio = median([r["cpu_us"] / b["cpu_us"] for r, b in zip(rounds, base) if r["cpu_us"] and b["cpu_us"]])
	return ratio, rounds is not base and overlap(*(spread([r["cpu_us"] for r in those]) for those in (rounds, base)))


def summary(rounds, base, others=()):
	"""Medians of one server at one load, beside base's rounds, and those of others: (name, rounds) of each."""
	keys = ("cpu_us", "req_s", "p50_us", "p99_us", "pss_kib")
	s = {key: median([r[key] for r in rounds]) for key in keys}
	s["failed"] = sum(r["failed"] for r in rounds)
	s["cipher"] = rounds[-1]["cipher"]
	s["spread_us"] = spread([r["cpu_us"] for r in rounds])
	s["ratio"], s["alike"] = ratio_to(rounds, base) if base else (None, None)
	s["to"] = {name: ratio_to(rounds, theirs) for name, theirs in others}
	s["rounds"] = rounds
	return s


class Progress:
	"""How far a run of so many steps is: a bar on a terminal, else a line for each load."""

	def __init__(self, steps):
		self.steps, self.done, self.begun, self.last = max(1, steps), 0, time.monotonic(), None

	def step(self, load, said):
		self.done += 1
		took = time.monotonic() - self.begun
		left = took / self.done * (self.steps - self.done)
		if sys.stderr.isatty():
			full = 30 * self.done // self.steps
			sys.stderr.write("\r\033[K[%s%s] %3d %%  %d:%02d left  %s: %s" % ("#" * full, "." * (30 - full),
				100 * self.done // self.steps, left // 60, left % 60, load, said))
			if self.done == self.steps:
				sys.stderr.write("\n")
		elif load != self.last:
			print("%3d %%  %s" % (100 * (self.done - 1) // self.steps, load), file=sys.stderr)
		self.last = load


def run_loads(env, loads, servers, rounds, seconds, base_of, more_bases=()):
	"""
	The summaries by load and server. Rounds are interleaved: each measures every server before the next begins, and begins
	with another one; the first is a warm-up and discarded. base_of(load, names): the server that the ratios are to; more_bases:
	further ones, by name.
	"""
	able = {load: [s for s in servers if s.can(load)] for load in loads}
	able = {load: those for load, those in able.items() if those}
	progress = Progress(sum(len(those) * (rounds + 2) for those in able.values()))
	results = {}
	for load, those in able.items():
		sizes, found = {}, {s.name: [] for s in those}
		for s in those:
			sizes[s.name] = counts(env, s, load, seconds)
			progress.step(load.name, "how fast is %s?" % s.name)
		for i in range(rounds + 1):
			turn = i % len(those)
			for s in those[turn:] + those[:turn]:
				one = measure(env, s, load, *sizes[s.name])
				if i > 0:
					found[s.name].append(one)
				progress.step(load.name, "round %d of %d, %s" % (i, rounds, s.name) if i else "warm-up, %s" % s.name)
		base = found.get(base_of(load, list(found)))
		others = [(name, found[name]) for name in more_bases if name in found]
		results[load.name] = {name: summary(r, base, others) for name, r in found.items()}
	return results


def about(o, servers):
	"""What a result has to say of itself."""
	with open("/proc/sys/net/ipv4/tcp_congestion_control") as f:
		congestion = f.read().strip()
	return {
		"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
		"kernel": os.uname().release, "congestion_control": congestion,
		"rounds": o.rounds, "seconds": o.seconds,
		"versions": {s.name: s.version() for s in servers},
	}


def read(path):
	with open(path) as f:
		return json.load(f)
