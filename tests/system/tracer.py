"""ptrace(2) for tests that need a process at one point of its life, whatever the machine does meanwhile.

A tracer is a thread of the test's process, which is an ancestor of the servers: Yama lets it. While a master is
traced nobody else may wait for it, for its stops would be taken for its end.
"""
import contextlib
import ctypes
import os
import signal

import procs

CONT, DETACH, SYSCALL, SEIZE, INTERRUPT, GETEVENTMSG, SYSCALL_INFO = 7, 17, 24, 0x4206, 0x4207, 0x4201, 0x420e
SYSGOOD, TRACEFORK, EVENT_FORK, EVENT_STOP = 1, 2, 1, 128
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, pid, address=0, data=0):
	if _libc.ptrace(request, pid, address, data) < 0:
		number = ctypes.get_errno()
		raise OSError(number, "ptrace(%#x, %d): %s" % (request, pid, os.strerror(number)))


class Forks(contextlib.AbstractContextManager):
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

	def __exit__(self, *_):
		self.close()


class _Info(ctypes.Structure):
	"""struct ptrace_syscall_info, of an entry."""
	_fields_ = [("op", ctypes.c_uint8), ("pad", ctypes.c_uint8 * 3), ("arch", ctypes.c_uint32),
		("ip", ctypes.c_uint64), ("sp", ctypes.c_uint64), ("nr", ctypes.c_uint64), ("args", ctypes.c_uint64 * 6)]


SENDTO = {"x86_64": 44, "aarch64": 206}.get(os.uname().machine)


class Steps(contextlib.AbstractContextManager):
	"""Follows a master that upgrades, and the new one that it forks. When that one has forked its own processes, so
	many of them, it is taken from one system call to the next; or the old one is, and the new one goes on."""

	def __init__(self, old, processes):
		self.old, self.new, self.left = old, None, processes
		self.asked = {}  # how each of the two goes on from its stops
		_ptrace(SEIZE, old, 0, TRACEFORK | SYSGOOD)
		self.asked[old] = CONT
		self.starter = None
		self.entered = None  # the process that stands at the entry of a call, and what it is about to send

	def _said(self, pid):
		"""What a process at the entry of a call is about to send: b"" where that is another call. None: an exit."""
		info = _Info()
		_ptrace(SYSCALL_INFO, pid, ctypes.sizeof(info), ctypes.addressof(info))
		if info.op != 1:
			return None
		if info.nr != SENDTO:
			return b""
		with open("/proc/%d/mem" % pid, "rb", 0) as memory:
			return os.pread(memory.fileno(), min(info.args[2], 16), info.args[1])

	def _born(self, parent):
		child = ctypes.c_ulong()
		_ptrace(GETEVENTMSG, parent, 0, ctypes.addressof(child))
		pid = child.value
		os.waitpid(pid, WALL)
		if parent == self.old and self.starter is None:
			self.starter = pid
			self.asked[pid] = CONT
		elif parent == self.starter:
			self.new = pid
			self.asked[pid] = CONT
		else:
			_ptrace(DETACH, pid)
			self.left -= 1
			self.asked[parent] = CONT if self.left else SYSCALL
			return
		_ptrace(self.asked[pid], pid)

	def _stopped(self, pid, status):
		event, number = status >> 16, os.WSTOPSIG(status)
		if number == signal.SIGTRAP | 0x80:
			said = self._said(pid)
			if said is not None and self.asked[pid] == SYSCALL:
				self.entered = pid, said
				return
			number = 0
		elif event == EVENT_FORK:
			self._born(pid)
		_ptrace(self.asked[pid], pid, 0, 0 if event else number)

	def _turn(self):
		for pid in list(self.asked):
			while self.entered is None or self.entered[0] != pid:
				with contextlib.suppress(ChildProcessError):
					found, status = os.waitpid(pid, os.WNOHANG | WALL)
					if found and os.WIFSTOPPED(status):
						self._stopped(pid, status)
						continue
					if found:
						del self.asked[pid]
				break

	def wait(self, what, said):
		return procs.wait_for(lambda: self._turn() or what(), pause=0.0002, said=said)

	def wait_entry(self):
		"""What the process whose steps are taken is about to send."""
		self.wait(lambda: self.entered, "the next system call")
		return self.entered[1]

	def step(self):
		pid, _ = self.entered
		self.entered = None
		_ptrace(self.asked[pid], pid)
		return self.wait_entry()

	def wait_ready(self):
		said = self.wait_entry()
		while not said.startswith(b"ready"):
			said = self.step()

	def take_old(self):
		"""From now on the old one takes steps; the new one goes on."""
		pid, _ = self.entered
		self.entered = None
		self.asked[self.old], self.asked[pid] = SYSCALL, CONT
		_ptrace(INTERRUPT, self.old)
		_ptrace(CONT, pid)
		return self.wait_entry()

	def kill(self, pid):
		self.entered = None
		os.kill(pid, signal.SIGKILL)
		with contextlib.suppress(ChildProcessError):
			while os.WIFSTOPPED(os.waitpid(pid, WALL)[1]):
				pass
		self.asked.pop(pid, None)

	def release(self, pid):
		"""It goes on, and nobody follows it any more. Not while it forks: nobody would release its child."""
		with contextlib.suppress(ChildProcessError, OSError):
			if not (self.entered and self.entered[0] == pid):
				_ptrace(INTERRUPT, pid)
				while not os.WIFSTOPPED(os.waitpid(pid, WALL)[1]):
					pass
			_ptrace(DETACH, pid)
		del self.asked[pid]

	def close(self):
		for pid in list(self.asked):
			self.release(pid)

	def __exit__(self, *_):
		self.close()
