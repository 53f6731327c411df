"""Calls that fail in the processes of a server under test: faults.c says how, faults.def which there are."""
import contextlib
import errno
import mmap
import os
import re
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PIDS, ORDER = 16, 4096  # as in faults.c
HEAD = "%di9i" % PIDS
EVER = 1 << 30


def _calls():
	"""{name: how it can fail}, in the order of the enumeration."""
	with open(os.path.join(HERE, "faults.def")) as f:
		text = f.read()
	found = {}
	for kind, row in re.findall(r"^(CALL|MOVES|PASSES)\((.*?)\)\n(?=\n|CALL|MOVES|PASSES|/|#)", text, re.M | re.S):
		part = [p.strip() for p in row.split(",")]
		name = part[{"CALL": 2, "MOVES": 1, "PASSES": 0}[kind]]
		found[name] = (["short"] if kind == "MOVES" else []) + part[-1].split()
	return found


CALLS = _calls()
NAMES = list(CALLS)


class Faults:
	"""What fails in a server that is started behind it."""

	def __init__(self, server):
		path, library = server.path("faults"), server.path("faults.so")
		subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", library, os.path.join(HERE, "faults.c")],
			check=True)
		with open(path, "w+b") as f:
			f.truncate(ORDER)
			self.map = mmap.mmap(f.fileno(), ORDER)
		self.none()
		server.env.update(LD_PRELOAD=library, FAULTS=path)

	def order(self, pids, call=None, how="", skip=0, times=1, others=False, masters=False):
		"""
		From now on, in these processes, or in all others; how: as in CALLS. Without a call they are counted only.
		masters: children of a master are spared.
		"""
		assert len(pids) <= PIDS
		at = struct.calcsize("%di" % (PIDS + 2))
		self.map[at:at + 4] = struct.pack("i", -1)  # first: no process is to see the half of an order
		self.map[:ORDER] = bytes(ORDER)
		head = [*pids, *[0] * (PIDS - len(pids)), others, masters, -1, 0 if how == "short" else getattr(errno, how or "EIO"), skip,
			times, 0, 0, 0]
		size = struct.calcsize(HEAD)
		self.map[:size] = struct.pack(HEAD, *head)
		if call:
			self.map[at:at + 4] = struct.pack("i", NAMES.index(call))

	def clock(self, seconds):
		"""By how much the wall clock is off, for the server alone; until the next order."""
		self.order(())
		at = struct.calcsize(HEAD) - 4
		self.map[at:at + 4] = struct.pack("i", seconds)

	def none(self):
		"""Nothing fails; how many calls did."""
		failed = struct.unpack_from(HEAD, self.map)[-3]
		self.order(())
		return failed

	@contextlib.contextmanager
	def __call__(self, *args, **options):
		self.order(*args, **options)
		try:
			yield
		finally:
			self.failed = self.none()

	def made(self):
		"""{name: calls that the processes of the order have made}, without those that were not."""
		numbers = struct.unpack_from("%di" % len(NAMES), self.map, struct.calcsize(HEAD))
		return {name: n for name, n in zip(NAMES, numbers) if n}
