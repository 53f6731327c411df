"""What tests ask of the system: waiting with a deadline, processes, descriptors, sockets."""
import collections
import contextlib
import os
import pickle
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

DEADLINE = 30.0  # a hang fails; nothing is measured by it
# Sanitizers and wrappers take longer for everything.
PATIENCE = 1
BOARD = "/memfd:h2d-board"  # the scoreboard, among a process's descriptors and maps
NO_IMAGES = (BOARD, "/memfd:h2d-tickets", "/memfd:h2d-tally")  # memory files of the master's own
killed = set()  # whom the test has killed: a slot shows such a worker as up until its master has heard


def wait_for(what, deadline=DEADLINE, pause=0.01, said=""):
	"""Polls what() until it is true (and returns that), or fails after deadline seconds."""
	end = time.monotonic() + deadline * PATIENCE
	while True:
		value = what()
		if value:
			return value
		if time.monotonic() > end:
			raise AssertionError("not within %g s: %s" % (deadline, said or what))
		time.sleep(pause)


def mostly(is_good):
	"""Whether three of five tries are good. A try that the machine held up may fail; of a fault most fail."""
	good = bad = 0
	while max(good, bad) < 3:
		if is_good():
			good += 1
		else:
			bad += 1
	return good == 3


def whole_lines(path):
	"""The lines of a log. A reader may see a part of a write that is under way; a line that stays torn fails."""
	def whole():
		with open(path, "rb") as f:
			data = f.read()
		return [data.decode()] if data == b"" or data.endswith(b"\n") else None
	return wait_for(whole, said="the last line of %s is whole" % path)[0].splitlines()


def together(n, call):
	"""Runs call(0) to call(n - 1) at once, each in a thread, to the end."""
	threads = [threading.Thread(target=call, args=(i,)) for i in range(n)]
	for t in threads:
		t.start()
	for t in threads:
		t.join()


class Beside(threading.Thread):
	"""A thread whose run() goes on until over is set, which the end of a with block does."""

	def __init__(self):
		super().__init__(daemon=True)
		self.over = threading.Event()

	def __enter__(self):
		self.start()
		return self

	def __exit__(self, *_):
		self.over.set()
		self.join()


class Helper(contextlib.AbstractContextManager):
	"""A script beside this one that goes on until its standard input ends, and leaves what it found in a file."""

	def __init__(self, name, *args, out):
		self.out = out
		self.process = subprocess.Popen([sys.executable,
			os.path.join(os.path.dirname(os.path.abspath(__file__)), name)]
			+ [str(a) for a in args] + [str(out)],
			stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		assert self.process.stdout.readline()

	def go(self):
		self.process.stdin.write("go\n")
		self.process.stdin.flush()

	def stop(self):
		self.process.stdin.close()
		assert self.process.wait(300) == 0
		with open(self.out, "rb") as f:
			return pickle.load(f)

	def __exit__(self, *_):
		if self.process.poll() is None:
			self.process.kill()
		self.process.wait()


def _stat(pid):
	"""Fields of /proc/PID/stat behind the name; a process that is gone is dead."""
	try:
		with open("/proc/%d/stat" % pid) as f:
			return f.read().rpartition(")")[2].split()
	except (FileNotFoundError, ProcessLookupError):
		return ["X"]


def running(pid):
	"""Whether pid lives (a zombie does not)."""
	return _stat(pid)[0] not in "ZX"


def stopped(pid):
	"""Whether a signal has stopped pid."""
	return _stat(pid)[0] == "T"


@contextlib.contextmanager
def paused(*pids):
	"""Stops processes, some of which may end meanwhile, and lets them go on."""
	for pid in filter(running, pids):
		with contextlib.suppress(ProcessLookupError):
			os.kill(pid, signal.SIGSTOP)
	for pid in pids:
		wait_for(lambda pid=pid: not running(pid) or stopped(pid), said="process %d is stopped" % pid)
	try:
		yield
	finally:
		for pid in filter(running, pids):
			with contextlib.suppress(ProcessLookupError):
				os.kill(pid, signal.SIGCONT)


def waits_for(pid, number):
	"""Whether a signal was sent to pid that it has not taken."""
	with open("/proc/%d/status" % pid) as f:
		return int(re.search(r"^ShdPnd:\s*(\w+)$", f.read(), re.M).group(1), 16) >> number - 1 & 1


def group_members(pgid):
	"""Living processes of the group."""
	stats = {int(name): _stat(int(name)) for name in os.listdir("/proc") if name.isdigit()}
	return [pid for pid, stat in stats.items() if stat[0] not in "ZX" and int(stat[2]) == pgid]


def descriptors(pid):
	"""{fd: what it is}, without inode numbers and its own process ID."""
	found = {}
	folder = "/proc/%d/fd" % pid
	try:
		for fd in os.listdir(folder):
			try:
				name = os.readlink(os.path.join(folder, fd))
			except FileNotFoundError:
				continue
			found[int(fd)] = re.sub(r":\[\d+\]$", "", name).replace("/proc/%d/" % pid, "/proc/self/")
	except (FileNotFoundError, ProcessLookupError):
		pass
	return found


def descriptor_kinds(pid):
	"""How many there are of each kind; but not of images, which come and go with the keeper."""
	return collections.Counter(name for name in descriptors(pid).values()
		if not name.startswith("/memfd:"))


def sockets(pid):
	"""{inode: fd}; none where the process has ended."""
	found = {}
	with contextlib.suppress(FileNotFoundError, ProcessLookupError):
		for fd in os.listdir("/proc/%d/fd" % pid):
			with contextlib.suppress(FileNotFoundError):
				match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink("/proc/%d/fd/%s" % (pid, fd)))
				if match:
					found[int(match.group(1))] = int(fd)
	return found


def accepted(path):
	"""Inode numbers of the connections that were accepted at the Unix socket path, and are not closed yet."""
	found = set()
	with open("/proc/net/unix") as f:
		for line in f:
			part = line.split(None, 7)
			if len(part) == 8 and part[7].rstrip("\n") == path and part[3] == "00000000":
				found.add(int(part[6]))
	return found


def _tcp(state):
	"""(inode, port, the peer's port, bytes or connections queued) of TCP sockets of this network namespace."""
	for path in ("/proc/net/tcp", "/proc/net/tcp6"):
		with open(path) as f:
			for part in (line.split() for line in list(f)[1:]):
				if part[3] == state:
					yield (int(part[9]), *(int(part[i].rpartition(":")[2], 16) for i in (1, 2, 4)))


def listening_inodes():
	"""{inode: port} of the listening TCP sockets."""
	return {inode: port for inode, port, _, _ in _tcp("0A")}


def established_peers(port):
	"""{inode: the peer's port} of the established TCP connections that have this local port."""
	return {inode: peer for inode, local, peer, _ in _tcp("01") if local == port}


def queued(port):
	"""Connections that wait to be accepted at a TCP port."""
	return sum(n for _, local, _, n in _tcp("0A") if local == port)


def memfds(pid):
	"""{inode: bytes} of the memory files that it holds open or has mapped, but for the scoreboard and the keys of tickets."""
	found = collections.Counter()
	try:
		with open("/proc/%d/maps" % pid) as f:
			for line in f:
				part = line.split(None, 5)
				if len(part) == 6 and part[5].startswith("/memfd:") and not part[5].startswith(NO_IMAGES):
					first, last = part[0].split("-")
					found[int(part[4])] += int(last, 16) - int(first, 16)
		for fd in os.listdir("/proc/%d/fd" % pid):
			path = "/proc/%d/fd/%s" % (pid, fd)
			try:
				name = os.readlink(path)
				if name.startswith("/memfd:") and not name.startswith(NO_IMAGES):
					st = os.stat(path)
					found[st.st_ino] = st.st_blocks * 512
			except FileNotFoundError:
				pass
	except (FileNotFoundError, ProcessLookupError):
		pass
	return found


def board_pages(pid):
	"""[(bytes, whether it may be written, whether it may ever be)] of what it has mapped of the scoreboard."""
	found, inside = [], False
	with open("/proc/%d/smaps" % pid) as f:
		for line in f:
			part = line.split()
			if re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", part[0]):
				inside = len(part) > 5 and part[5].startswith(BOARD)
				first, last = (int(n, 16) for n in part[0].split("-"))
				size, now = last - first, "w" in part[1]
			elif inside and part[0] == "VmFlags:":
				found.append((size, now, "mw" in part))
	return found


def _memory(pid, what):
	try:
		with open("/proc/%d/smaps_rollup" % pid) as f:
			return sum(int(line.split()[1]) for line in f if line.startswith(what)) << 10
	except (FileNotFoundError, ProcessLookupError):
		return 0


def anonymous_memory(pid):
	"""Bytes that no file has, whoever shares them: how many do changes with every write of one of them."""
	return _memory(pid, "Anonymous:")


def private_memory(pid):
	"""Bytes that no other process has; 0 if it is no more."""
	return _memory(pid, "Pss_Anon:")


def proportional_memory(pid):
	"""PSS: those, files it has mapped, and its share of what others have mapped too."""
	return _memory(pid, "Pss:")


def cpu_seconds(pid):
	part = _stat(pid)
	return (int(part[11]) + int(part[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
	"""Below those that the kernel picks: it gives none of them to a test beside this one meanwhile."""
	with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
		first = int(f.read().split()[0])
	while True:
		port = random.randrange(first // 2, first)
		with socket.socket() as s, contextlib.suppress(OSError):
			s.bind(("", port))
			return port


def listens(path):
	"""Whether somebody listens at this Unix socket: its file is there a moment earlier."""
	with socket.socket(socket.AF_UNIX) as s:
		try:
			s.connect(path)
		except (FileNotFoundError, ConnectionRefusedError):
			return False
	return True


def memory_has(pid, patterns):
	"""Those of the byte strings that stand somewhere in the writable memory of pid (needs root)."""
	found = set()
	with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
		for line in maps:
			span, rights = line.split()[:2]
			first, last = (int(n, 16) for n in span.split("-"))
			if not rights.startswith("rw") or last - first > 1 << 30:
				continue
			mem.seek(first)
			try:
				data = mem.read(last - first)
			except OSError:
				continue
			found |= {p for p in patterns if p in data}
	return found
