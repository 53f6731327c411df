"""ptrace(2) for tests that need a process at one point of its life, whatever the machine does meanwhile.

A tracer is a thread of the test's process, which is an ancestor of the servers: Yama lets it. While a master is
traced nobody else may wait for it, for its stops would be taken for its end.
"""
import contextlib
import ctypes
import os
import signal

import procs

CONT, DETACH, SEIZE, INTERRUPT, GETEVENTMSG = 7, 17, 0x4206, 0x4207, 0x4201
TRACEFORK, EVENT_FORK, EVENT_STOP = 2, 1, 128
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, pid, address=0, data=0):
	if _libc.ptrace(request, pid, address, data) < 0:
		number = ctypes.get_errno()
		raise OSError(number, "ptrace(%#x, %d): %s" % (request, pid, os.strerror(number)))


class Forks:
	"""Stops each child that a process forks before its first instruction, but for the first `free` of them; the
	process itself goes on."""

	def __init__(self, pid, free=0):
		self.pid = pid
		self.free = free
		self.held = []  # in the order of their birth
		_ptrace(SEIZE, pid, 0, TRACEFORK)

	def _turn(self):
		while True:
			pid, status = os.waitpid(self.pid, os.WNOHANG | WALL)
			if pid == 0:
				return
			assert os.WIFSTOPPED(status), "process %d ends while it is traced: %#x" % (pid, status)
			self._go_on(status)

	def _go_on(self, status):
		event = status >> 16
		if event == EVENT_FORK:
			child = ctypes.c_ulong()
			_ptrace(GETEVENTMSG, self.pid, 0, ctypes.addressof(child))
			self.held.append(child.value)
			if self.free:
				self.free -= 1
				self.release(child.value)
		_ptrace(CONT, self.pid, 0, 0 if event else os.WSTOPSIG(status))

	def wait(self, what, said=""):
		"""Until what() holds; the process takes its turns meanwhile."""
		return procs.wait_for(lambda: self._turn() or what(), said=said)

	def wait_held(self, n):
		self.wait(lambda: len(self.held) >= n, said="%d processes are forked" % n)
		return self.held

	def release(self, pid):
		os.waitpid(pid, WALL)
		_ptrace(DETACH, pid)
		self.held.remove(pid)

	def kill(self, pid):
		os.kill(pid, signal.SIGKILL)
		while os.WIFSTOPPED(os.waitpid(pid, WALL)[1]):
			pass
		if pid in self.held:
			self.held.remove(pid)

	def close(self):
		for pid in self.held[:]:
			self.release(pid)
		with contextlib.suppress(ChildProcessError, OSError):  # it has ended
			_ptrace(INTERRUPT, self.pid)
			while os.waitpid(self.pid, WALL)[1] >> 16 != EVENT_STOP:
				_ptrace(CONT, self.pid)
			_ptrace(DETACH, self.pid)

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()
