"""Everything at once: attacks and edits of the tree, signals and deaths, while honest clients lose nothing.

See attacks.py for the attacks, honest.py for the clients. H2D_STRESS_SECONDS: how long; from two minutes on,
memory is held to what it was, too. H2D_STRESS_P99: milliseconds within which 99 of a hundred answers must be
there, on a machine that does nothing else.
"""
import collections
import contextlib
import json
import os
import resource
import signal
import time

import pytest

import attacks
import harness
import procs
import scene
import server as srv

SECONDS = float(os.environ.get("H2D_STRESS_SECONDS", "15"))
P99 = float(os.environ.get("H2D_STRESS_P99", "0"))
LONG = 120
WORKERS, ATTACKERS, HONEST = 2, 3, 8
CONF = 'worker-connections = 128\nshutdown-timeout = 20\naccess-log = "access.log"'
SECTIONS = """cache { max-size = "16M"  max-file-size = "256K" }
timeouts { handshake = 10  header = 10  body = 5  send = 8  keepalive = 20 }"""


class Events:
	"""What befalls the processes, and what they take."""

	def __init__(self, server):
		self.server = server
		self.generation = 1
		self.counts = collections.Counter()
		self.memory = []  # (when, {what: bytes})
		self.longest_status = 0

	def hup(self):
		self.server.hup()
		self.generation += 1
		self.wait_generation()

	def wait_generation(self):
		"""Not until those before it have left, too."""
		procs.wait_for(lambda: self.server.status()["generation"] == self.generation
			and len(self.server.live_workers()) == WORKERS, said="generation %d" % self.generation)

	def kill_keeper(self):
		keeper = self.server.keeper()
		if keeper:
			os.kill(keeper, signal.SIGKILL)

	def reopen(self):
		os.rename(self.server.path("access.log"), self.server.path("access.log.1"))
		self.server.reopen_logs()
		procs.wait_for(lambda: os.path.exists(self.server.path("access.log")), said="the new log")

	def pause_reader(self):
		"""Nobody reads the log for a while."""
		reading = self.server.log.reading
		(reading.clear if reading.is_set() else reading.set)()

	def look(self):
		asked = time.monotonic()
		status = self.server.status()
		now = time.monotonic()
		self.longest_status = max(self.longest_status, now - asked)
		memory = {"worker %d" % pid: procs.private_memory(pid) for pid in (w["pid"] for w in status["workers"])}
		memory["keeper"] = procs.private_memory(status["keeper"])
		memory["master"] = procs.private_memory(self.server.pid)
		shared = {}
		for pid in procs.group_members(self.server.pid):
			shared.update(procs.memfds(pid))
		memory["images"] = sum(shared.values())
		self.memory.append((now, memory))

	def run(self, seconds, rows):
		"""rows: (every so many seconds, what)."""
		began = time.monotonic()
		due = [began + every for every, _ in rows]
		while time.monotonic() < began + seconds:
			for i, (every, what) in enumerate(rows):
				if time.monotonic() >= due[i]:
					what()
					self.counts[what.__name__] += 1
					due[i] = time.monotonic() + every
			time.sleep(0.05)

	def most(self, since, until):
		"""The most of each in that time."""
		found = collections.Counter()
		for when, memory in self.memory:
			if since <= when < until:
				found |= collections.Counter({what.split()[0]: 0 for what in memory})
				for what, n in memory.items():
					found[what.split()[0]] = max(found[what.split()[0]], n)
		return found


def percentile(times, share):
	return 1000 * times[min(len(times) - 1, int(len(times) * share))][0]


def report(events, found, honest):
	times = sorted(honest["times"])
	mib = lambda n: n / (1 << 20)
	harness.REPORT += [
		"stress: %.0f s, %d honest requests on %d connections, %d of them asked again; %s" % (SECONDS, len(times),
			honest["counts"]["connections"], honest["counts"]["asked again"], dict(events.counts)),
		"stress: honest answers: median %.1f ms, 99 %% %.1f ms, 99.9 %% %.1f ms; slowest %s" % (
			percentile(times, 0.5), percentile(times, 0.99), percentile(times, 0.999),
			["%.0f ms %s" % (1000 * t, said) for t, said, _ in times[:-6:-1]]),
		"stress: attacks: %s" % ", ".join("%s %d" % (name, n) for one in found
			for name, n in one["steps"].items()),
		"stress: the most of memory: %s; status.json took %.2f s at most" % (", ".join("%s %.1f MiB" % (what,
			mib(n)) for what, n in events.most(0, float("inf")).items()), events.longest_status),
	]


@pytest.mark.slow
def test_stress(h2d, tmp_path):
	def few():
		resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
	server = h2d.new(workers=WORKERS, listens=("tcp", "tls"), preexec=few)
	scene.lay_out(server, CONF, SECTIONS)
	server.start(image=True)
	baseline, master = server.baseline, server.settled_kinds(server.pid)
	events = Events(server)
	target = json.dumps(dict(ports=server.ports, root=server.root))
	names = list(attacks.catalogue)
	with contextlib.ExitStack() as stack:
		def start(name, *args):
			return stack.enter_context(procs.Helper(name, *args, out=tmp_path / (name + str(len(running)))))
		running = []
		honest = start("honest.py", HONEST, json.dumps(dict(ports=server.ports, root=server.root,
			password=scene.PASSWORD)))
		for i in range(ATTACKERS):
			running.append(start("attacks.py", target, *names[i::ATTACKERS]))
		calm = [(1, events.look), (3, events.reopen), (2.5, events.pause_reader)]
		events.run(SECONDS / 2, calm + [(4, events.hup), (7, events.kill_keeper)])
		# Then nobody is replaced, so that it is seen what a process gathers.
		events.wait_generation()
		pids = sorted(server.worker_pids())
		half = time.monotonic()
		events.run(SECONDS / 2, calm)
		found = [process.stop() for process in running]
		honest = honest.stop()
	server.log.reading.set()
	report(events, found, honest)
	check(events, found, honest, half)
	assert sorted(server.worker_pids()) == pids, "a worker died"
	assert not server.log.find(r"worker \d+ .*killed|signal (?!9\b)\d"), "a process died"
	server.baseline = baseline
	server.wait_quiet()
	procs.wait_for(lambda: not server.settled_kinds(server.pid) - master - collections.Counter(pipe=2),
		said="the master's descriptors as before")


def check(events, found, honest, half):
	assert not honest["lost"], "%d lost:\n%s" % (len(honest["lost"]),
		"\n".join(honest["lost"][:20] + events.server.log.find(" error .*")[-20:]))
	assert all(honest["counts"][name] for name in ("small", "condition", "listing", "secret_file", "turning"))
	assert honest["counts"]["turned"] <= 1 + honest["counts"]["turning"] // 100, honest["counts"]
	faults = [fault for one in found for fault in one["faults"]]
	assert not faults, "\n".join(faults)
	idle = [name for one in found for name, n in one["steps"].items() if n < 2]
	assert not idle, "attacks that did nothing: %s" % idle
	if P99:
		assert percentile(sorted(honest["times"]), 0.99) < P99
	if SECONDS < LONG or srv.SLOW > 1:
		return
	# The first part of the calm half is the warm-up; then a tenth and some pages more are a leak.
	end = events.memory[-1][0] + 1
	warm, middle = half + (end - half) * 0.2, half + (end - half) * 0.6
	before, after = events.most(warm, middle), events.most(middle, end)
	assert all(after[what] < before[what] * 1.1 + (4 << 20) for what in before), (before, after)
