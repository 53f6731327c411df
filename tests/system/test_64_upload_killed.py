"""Uploads and processes that die: whole files alone, no left-overs, and no stale answer without a keeper.

H2D_UPLOAD_ROUNDS: how many times h2d and its workers are killed, and how many uploads there are while keepers are.
"""
import contextlib
import fcntl
import os
import random
import signal
import threading
import time

import pytest

import harness
import server as srv
from client import Closed
from everywhere import Everywhere
from procs import group_members, wait_for
from uploads import PUBLIC, ROUNDS, folder, names, post, put, wait_over

# So many deaths, and a reload: to a new generation its first ones cost no rest between them.
KILLS = 6


@pytest.fixture
def make(h2d):
	def new(**options):
		options["files"] = {"up/.keep": b"", **options.get("files", {})}
		made = h2d.new(server=PUBLIC, **options)
		os.unlink(os.path.join(folder(made), ".keep"))
		return made
	return new


def body(seed, size=300000):
	"""Says itself which it is, and whether it is whole."""
	return (b"%08d" % seed) * (size // 8) + b"end"


def is_whole(data):
	return data == body(int(data[:8]))


def check_whole(server):
	for name in names(server):
		with open(os.path.join(folder(server), name), "rb") as f:
			assert is_whole(f.read()), name


def no_left_overs(server):
	wait_for(lambda: not [n for n in names(server) if n.startswith(".")], said="left-overs are swept")


class Load(threading.Thread):
	"""Uploads without end to a few names, by a connection that is made again whenever it breaks."""

	def __init__(self, server, number):
		super().__init__(daemon=True)
		self.server, self.number = server, number
		self.done, self.stop = 0, False

	def run(self):
		turn = 0
		while not self.stop:
			try:
				with (self.server.connect() if self.number % 2 else self.server.h1()) as c:
					while not self.stop and not getattr(c, "goaway", None):
						turn += 1
						data = body(self.number * 1000000 + turn)
						if turn % 5 == 0:
							answer = post(c, [("f%d" % i, data) for i in range(3)])
						else:
							answer = put(c, "f%d" % (turn % 4), data)
						assert answer.status in (201, 204, 503) or answer.reset is not None, answer
						self.done += 1
			except (Closed, OSError):
				time.sleep(0.01)


@contextlib.contextmanager
def loaded(server):
	"""While uploads go on; how many are done."""
	load = [Load(server, n) for n in range(3)]
	for each in load:
		each.start()
	try:
		yield lambda: sum(each.done for each in load)
	finally:
		for each in load:
			each.stop = True
		for each in load:
			each.join(60)
		assert not any(each.is_alive() for each in load)


@pytest.mark.slow
def test_worker_is_killed(make):
	"""At random moments under load."""
	server = make(workers=2, listens=("tcp",)).start()
	server.baseline = None
	chance = random.Random(64)
	rounds = ROUNDS or 20
	with loaded(server) as done:
		for i in range(rounds):
			before = done()
			wait_for(lambda: done() > before, said="uploads go on")
			time.sleep(chance.random() / 10)
			os.kill(chance.choice(server.worker_pids()), signal.SIGKILL)
			if i % KILLS == KILLS - 1:
				server.reload()
			wait_for(lambda: len(server.worker_pids()) == 2, said="two workers")
		harness.REPORT.append("uploads: %d workers killed, %d uploads answered" % (rounds, done()))
	wait_over(server)
	check_whole(server)
	no_left_overs(server)


@pytest.mark.slow
def test_all_is_killed(make):
	"""h2d itself, and what it started: the next one finds whole files and sweeps the rest."""
	chance = random.Random(65)
	server = make(workers=2, listens=("tcp",))
	rounds, answered, left = ROUNDS or 5, 0, 0
	for _ in range(rounds):
		server.start()
		server.baseline = None
		no_left_overs(server)
		check_whole(server)
		with loaded(server) as done:
			wait_for(lambda: done() > 3, said="uploads go on")
			time.sleep(chance.random() / 10)
			os.killpg(server.pid, signal.SIGKILL)
			server.process.wait(60)
			wait_for(lambda: not group_members(server.pid), said="nothing of it is left")
			answered += done()
		left += len([name for name in names(server) if name.startswith(".")])
	server.start()
	server.baseline = None
	no_left_overs(server)
	check_whole(server)
	harness.REPORT.append("uploads: h2d killed %d times, %d uploads answered, %d left-overs swept" % (
		rounds, answered, left))


def test_sweep(make):
	"""What is swept is dead, and h2d's own."""
	server = make()
	dead = [".h2d-0123456789abcdef-0", ".h2d-0123456789abcdef-1", ".h2d-00000000000000ff-7"]
	other = [".h2d-x", ".h2d-0123456789abcdef", ".h2d-0123456789ABCDEF-0", ".h2d-0123456789abcdef-0.txt", ".x", "x"]
	alive = [".h2d-aaaaaaaaaaaaaaaa-0", ".h2d-aaaaaaaaaaaaaaaa-1"]
	for name in dead + other + alive:
		with open(os.path.join(folder(server), name), "wb") as f:
			f.write(b"left")
	with open(os.path.join(folder(server), alive[0]), "rb") as f:
		fcntl.flock(f, fcntl.LOCK_EX)
		server.start()
		server.log.wait("removed 3 left-over upload files")
		assert names(server) == sorted(other + alive)


@pytest.mark.parametrize("what", [signal.SIGSTOP, signal.SIGKILL])
def test_without_a_keeper(make, what):
	"""It is waited for as long as its image is used; then the answer comes, and no worker is stale."""
	server = make(workers=2, listens=("tcp",)).start(image=True)
	server.baseline = None
	with Everywhere(server) as every, server.connect() as c:
		assert put(c, "a", b"old").status == 201
		every.cached("/files/a", b"old")
		pid = server.keeper()
		os.kill(pid, what)
		try:
			for i in range(4):
				begun = time.monotonic()
				assert put(c, "a", b"new %d" % i).status == 204
				took = time.monotonic() - begun
				wrong = every.wrong("/files/a", b"new %d" % i)
				assert not wrong, (i, wrong)
				assert took < 15 * srv.SLOW, took
		finally:
			if what == signal.SIGSTOP:
				os.kill(pid, signal.SIGCONT)
		every.cached("/files/a", b"new 3")


class Killer(threading.Thread):
	"""Kills the keeper at random moments, and the one that comes after it, so many times."""

	def __init__(self, server, times, chance):
		super().__init__(daemon=True)
		self.server, self.times, self.chance = server, times, chance
		self.killed, self.stop = 0, False

	def run(self):
		while self.killed < self.times and not self.stop:
			pid = self.server.keeper()
			with contextlib.suppress(ProcessLookupError):  # it may be that of one who has left since
				if pid:
					os.kill(pid, signal.SIGKILL)
					self.killed += 1
			time.sleep(self.chance.random() / 5)


@pytest.mark.slow
def test_keepers_are_killed_meanwhile(make):
	"""An upload by one worker is what the other answers with, whatever becomes of keepers in between."""
	rounds, killed, turn = ROUNDS or 50, 0, 50
	server = make(workers=2, listens=("tcp",), files={"up/f%d" % i: b"old" for i in range(turn)}).start(image=True)
	server.baseline = None
	chance = random.Random(66)
	for first in range(0, rounds, turn):
		if first:
			server.reload()
			server.wait_image()
		killer = Killer(server, KILLS, chance)
		with Everywhere(server) as every:
			killer.start()
			for i in range(turn):
				data = b"%d" % (first + i)
				answer = put(every.clients[i % 2, "h2"], "f%d" % i, data)
				assert answer.status == 204
				wrong = every.wrong("/files/f%d" % i, lambda got: got.body == data
					and got.get("etag") == answer.get("etag"))
				assert not wrong, (first, i, wrong)
			wait_for(lambda: killer.killed, said="a keeper is killed")
			killer.stop = True
			killer.join(60)
			killed += killer.killed
	harness.REPORT.append("uploads: %d rounds, none of them stale, %d keepers killed" % (rounds, killed))
