"""Uploads and a power cut: what was answered with 201 or 204 is on the disk, and nothing is there in part.

H2D_UPLOAD_ROUNDS: how many cuts there are.
"""
import contextlib
import os
import random
import signal
import threading
import time

import pytest

import harness
from client import Closed
from disks import Disk
import procs
from procs import wait_for
from uploads import PUBLIC, ROUNDS, folder, names, post, put


@pytest.fixture
def made(h2d, tmp_path):
	server = h2d.new(server=PUBLIC, workers=2, listens=("tcp",), files={"up/.keep": b""})
	server.disk = Disk(tmp_path / "disk", folder(server), 64 << 20)
	yield server
	server.disk.close()


def body(seed):
	"""Says itself which it is, and whether it is whole."""
	return b"%08d" % seed * (seed % 20000) + b"end"


def seed_of(path):
	"""Which body a file is; None without a file."""
	with contextlib.suppress(FileNotFoundError):
		with open(path, "rb") as f:
			data = f.read()
		seed = int(data[:8])
		assert data == body(seed), "%s is there in part: %d bytes of %d" % (path, len(data), len(body(seed)))
		return seed


class Load(threading.Thread):
	"""Changes names that no one else changes, one after the other; knows what was answered and what was not."""

	def __init__(self, server, number, known):
		super().__init__(daemon=True)
		self.server, self.number, self.stop, self.answered = server, number, False, 0
		self.chance = random.Random(number)
		self.may = {"l%d-%d" % (number, n): {known.get("l%d-%d" % (number, n))} for n in range(6)}

	def change(self, c):
		picked = self.chance.sample(sorted(self.may), self.chance.choice((1, 1, 3)))
		seed = self.chance.randrange(1, 10 ** 8)
		new = None if self.chance.random() < 0.2 else seed
		for name in picked:
			self.may[name].add(new)
		if new is None:
			done = [c.request("DELETE", "/files/" + name).status == 204 for name in picked]  # 404 promises nothing
		elif len(picked) > 1:
			done = [post(c, [(name, body(seed)) for name in picked]).status == 201] * len(picked)
		else:
			done = [put(c, name, body(seed)).status in (201, 204) for name in picked]
		for name, all_well in zip(picked, done):
			if all_well:
				self.may[name] = {new}
				self.answered += 1

	def run(self):
		with contextlib.suppress(Closed, OSError):
			with (self.server.connect() if self.number % 2 else self.server.h1()) as c:
				while not self.stop:
					self.change(c)


def cut_under_load(server, known, chance):
	"""What each name may be after it."""
	loads = [Load(server, n, known) for n in range(4)]
	for load in loads:
		load.start()
	wait_for(lambda: all(load.answered > 3 for load in loads), said="uploads go on")
	time.sleep(chance.random() / 5)
	server.disk.cut()
	for load in loads:
		load.stop = True
	os.killpg(server.pid, signal.SIGKILL)
	server.process.wait(procs.DEADLINE * procs.PATIENCE)
	for load in loads:
		load.join(60)
		assert not load.is_alive()
	return {name: may for load in loads for name, may in load.may.items()}, sum(load.answered for load in loads)


@pytest.mark.slow
def test_power_cut(made):
	"""At random moments under load."""
	chance, known, answered, rounds = random.Random(67), {}, 0, ROUNDS or 5
	for _ in range(rounds):
		made.start()
		made.baseline = None
		wait_for(lambda: not [n for n in names(made) if n.startswith(".")], said="left-overs are swept")
		may, count = cut_under_load(made, known, chance)
		made.disk.come_back()
		known = {name: seed_of(os.path.join(folder(made), name)) for name in may}
		wrong = {name: (known[name], may[name]) for name in may if known[name] not in may[name]}
		assert not wrong, "answered, and not on the disk"
		answered += count
	made.start()
	made.baseline = None
	wait_for(lambda: sorted(names(made)) == sorted(name for name in known if known[name]), said="left-overs are swept")
	assert made.quit() == 0
	harness.REPORT.append("uploads: %d power cuts, %d changes answered, none lost" % (rounds, answered))
