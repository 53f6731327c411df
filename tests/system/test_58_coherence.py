"""The torture: writers change files in every way while readers ask for them. Each answer is one version, whole.

What cannot be so is held to what can: a file that is written in place has no version while the write goes
on, so that an answer may then show parts of two, or an end too early; but never later, and never what
nobody wrote. See torture.py for the files, torture_writer.py and torture_reader.py for the processes.
"""
import bisect
import collections
import contextlib
import os
import time

import pytest

import harness
import procs
import server as srv
import torture
from everywhere import Everywhere

SECONDS = float(os.environ.get("H2D_TORTURE_SECONDS", "8"))
WRITERS, WORKERS, HUP_EVERY, MAX_SIZE = 4, 2, 4.0, 8 << 20


# Of one generation: segments, and four indexes of 200 files.
CAP = 2 * MAX_SIZE + (1 << 20)


class Memory(procs.Beside):
	"""The most that the server's processes took, looked at again and again."""

	def __init__(self, server):
		super().__init__()
		self.server = server
		self.memfds = {}                           # bytes, each once; by whether generations overlapped
		self.private = collections.Counter()       # bytes of one process, by what it is
		self.keeper = 0
		self.image = self.images = 0               # the last number, and how many were published

	def look_once(self):
		memfds = {}
		pids = procs.group_members(self.server.pid)
		for pid in pids:
			memfds.update(procs.memfds(pid))
			what = "keeper" if pid == self.keeper else "another process"
			self.private[what] = max(self.private[what], procs.private_memory(pid))
		# The master, the workers, the keeper and perhaps an acceptor are one generation.
		return len(pids) > WORKERS + 2 + (srv.DISPATCH == "acceptor"), sum(memfds.values())

	def look(self):
		overlap, size = self.look_once()
		# Looking is not done in an instant: what went and what came meanwhile are both in it.
		for _ in range(20):
			if not overlap and size > CAP:
				time.sleep(0.05)
				overlap, size = min((overlap, size), self.look_once())
		self.memfds[overlap] = max(self.memfds.get(overlap, 0), size)

	def run(self):
		while not self.over.wait(0.2):
			status = self.server.status()
			self.keeper = status["keeper"]
			# Another keeper begins far above the last one's numbers.
			step, self.image = status["image"] - self.image, status["image"]
			self.images += step if 0 < step < 500 else 0
			self.look()


class History:
	"""What the writers did, by file."""

	def __init__(self, logs):
		self.of = collections.defaultdict(list)
		for log in logs:
			for file, version, begun, done in log:
				self.of[file].append((begun, done, version))
		self.done = {file: [done for _, done, _ in events] for file, events in self.of.items()}
		self.edits = sum(len(events) for events in self.of.values())

	def last(self, file):
		return self.of[file][-1][2] if file in self.of else 0

	def writing(self, file, since, until):
		"""Whether the file was in a change at some time between these."""
		events = self.of[file]
		at = bisect.bisect_left(self.done[file], since) if events else 0
		return at < len(events) and events[at][0] <= until

	def gone(self, file, since, until):
		"""Whether it was not there at some time between these."""
		events = self.of[file]
		return any(version is None and begun <= until and (i + 1 == len(events)
			or events[i + 1][1] >= since) for i, (begun, _, version) in enumerate(events))

	def staleness(self, file, version, asked):
		"""Seconds since which the file was another one when it was asked for; 0: it was not."""
		for _, done, other in self.of[file]:
			if other is not None and other > version:
				return max(0, asked - done)
		return 0


def judge(history, answer):
	"""What is wrong with an odd answer; None: it may be so."""
	file, what, asked, headed, whole, status, _ = answer
	kind = torture.KIND[file]
	large = kind.isupper()
	if what == "404":
		return None if kind in "dD" and history.gone(file, asked, whole) else "was there"
	if what == "short":
		# Only what was written under its answer, while it was read from disk. One that was deleted is
		# finished as it was; but one that was made anew may be opened while it grows.
		until = headed if kind in "dD" else whole
		return None if kind in "pPtTdD" and history.writing(file, asked, until) else "ended early"
	if what == "mix":
		# It was opened while a write went on: later ones are seen.
		allowed = kind in "pPT" and history.writing(file, asked, headed if large else whole)
		return None if allowed else "a mix"
	if what == "prefix":
		# Between O_TRUNC and write, that is what the file is; so it may be in an image, until it changes.
		late = 0 if large else 2 * srv.SLOW
		return None if kind in "tTdD" and history.writing(file, asked - late, whole) else "not whole"
	return what


def test_the_judges():
	"""They see what they are for."""
	body, other = torture.content(5, 9), torture.content(5, 10)
	assert torture.version_of(5, body) == 9
	assert torture.version_of(5, body[100:300], 100, len(body)) == 9
	assert torture.version_of(5, body[100:300], 99, len(body)) is None
	assert torture.version_of(6, body) is None
	assert torture.version_of(5, body[:-1]) is None
	assert torture.version_of(5, body + body[:1]) is None
	assert torture.version_of(5, body[:64] + other[64:len(body)]) is None
	assert torture.looks(5, body[:-1]) == "prefix"
	assert torture.looks(5, body[:64] + other[64:]) == "mix"
	assert torture.looks(5, body[:64] + bytes(64)) == "padded"
	assert torture.looks(6, body) == "another file's bytes"
	history = History([[(5, 1, 10.0, 10.1), (5, None, 11.0, 11.1), (5, 2, 11.0, 11.5)]])
	assert history.staleness(5, 0, 10.05) == 0
	assert abs(history.staleness(5, 0, 10.4) - 0.3) < 1e-6
	assert history.staleness(5, 2, 99) == 0
	assert history.gone(5, 11.2, 11.3) and not history.gone(5, 10.5, 10.9)
	assert not history.gone(5, 11.6, 12)
	assert history.writing(5, 10.0, 10.05) and not history.writing(5, 10.2, 10.9)


@pytest.mark.slow
def test_torture(h2d, tmp_path):
	server = h2d.new(workers=WORKERS, listens=("tcp", "tls"), conf="shutdown-timeout = 10  reload-timeout = 10",
		sections='cache { max-size = "%d"  max-file-size = "%d"  compress = {"gzip"} }' % (
			MAX_SIZE, torture.MAX_FILE))
	with contextlib.ExitStack() as stack:
		writers = [stack.enter_context(procs.Helper("torture_writer.py", server.root, i, WRITERS,
			out=tmp_path / ("writer%d" % i))) for i in range(WRITERS)]
		server.start(image=True)
		readers = [stack.enter_context(procs.Helper("torture_reader.py", i, 12, "%s:%d" % (how,
			server.ports["tcp"]), "%ss:%d" % (how, server.ports["tls"]),
			out=tmp_path / ("reader%d" % i))) for i, how in enumerate(("h1", "h2"))]
		memory = stack.enter_context(Memory(server))
		for writer in writers:
			writer.go()
		generation = 1
		until = time.monotonic() + SECONDS
		while time.monotonic() + HUP_EVERY < until:
			time.sleep(HUP_EVERY)
			server.hup()
			generation += 1
			server.wait_up(generation)
		time.sleep(max(0, until - time.monotonic()))
		history = History([writer.stop() for writer in writers])
		# Whatever is asked from now on is held to the last version.
		time.sleep(1.5)
		seen = [reader.stop() for reader in readers]
		check_rest(server, history)
	check(history, seen, memory, "%d images, %d generations" % (memory.images, generation))
	assert memory.images > SECONDS / 4
	assert not server.log.find(r"alert|died|kill(ed|ing)|signal (?!HUP|QUIT)"), "a process died"


def check_rest(server, history):
	"""Every worker knows every file, by each protocol."""
	with Everywhere(server) as every:
		for file in range(len(torture.NAMES)):
			version = history.last(file)
			want = 404 if version is None else torture.content(file, version)
			wrong = every.wrong("/" + torture.NAMES[file], want)
			assert not wrong, "%s, version %s: %s" % (torture.NAMES[file], version, wrong)


def check(history, seen, memory, made):
	faults = [fault for reader in seen for fault in reader["faults"]]
	odd = collections.Counter()
	for reader in seen:
		for answer in reader["odd"]:
			wrong = judge(history, answer)
			odd[answer[1]] += 1
			if wrong:
				faults.append("%s: %s: %s" % (torture.NAMES[answer[0]], wrong, answer[1:]))
	# What one reader calls by an etag, the other does too.
	tags = {}
	for reader in seen:
		for key, version in reader["tags"].items():
			if tags.setdefault(key, version) != version:
				faults.append("%s: %s and %s" % (key, version, tags[key]))
	stale = sorted(history.staleness(file, version, asked) for reader in seen
		for file, version, asked, _, _ in reader["answers"])
	counts = sum((reader["counts"] for reader in seen), collections.Counter())
	reads = sum(n for what, n in counts.items() if isinstance(what, int))
	harness.REPORT += [
		"coherence: %.0f s, %d changes, %d reads (%d/s), %s" % (SECONDS, history.edits, reads,
			reads / SECONDS, made),
		"coherence: answers %s" % dict(counts),
		"coherence: in a write %s" % dict(odd),
		"coherence: older than the file: %d of %d, 99.9 %% %.0f ms, max %.0f ms" % (
			sum(1 for s in stale if s > 0), len(stale),
			1000 * stale[len(stale) * 999 // 1000], 1000 * stale[-1]),
		"coherence: memory files %.1f MiB, %.1f with two generations (max-size %d), private: %s" % (
			memory.memfds.get(False, 0) / (1 << 20), memory.memfds.get(True, 0) / (1 << 20),
			MAX_SIZE >> 20, ", ".join("%s %.1f MiB" % (what, n / (1 << 20))
				for what, n in memory.private.items())),
	]
	assert not faults, "%d faults:\n%s" % (len(faults), "\n".join(faults[:20]))
	assert counts[200] > 20 * SECONDS / srv.SLOW and counts[206] and counts[304]
	assert stale[-1] < 2.0 * srv.SLOW
	assert 0 < memory.memfds[False] < CAP
	# A reload has both generations' for a while.
	assert memory.memfds.get(True, 0) < 2 * CAP
	if srv.SLOW == 1:
		assert max(memory.private.values()) < 64 << 20
