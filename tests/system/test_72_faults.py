"""A call of the system fails, wherever a process makes it: nobody dies, nothing is leaked, service is back behind it.

Each call of faults.def fails, one after the other, in a round of work of a worker, the keeper, the acceptor and the master.
Who asked meanwhile may lose the answer. H2D_FAULTS: at how many places, and then in each way that it can; H2D_MALLOCS: at
how many places malloc(3) does; H2D_FAULTS_OF: a call that alone fails.
"""
import collections
import contextlib
import email.utils
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import client
import harness
import procs
import server as srv
import test_54_sendfile as sendfile
from faults import CALLS, EVER, NAMES, Faults
from test_78_sandbox import built_with, landlock, seccomp

PLACES = int(os.environ.get("H2D_FAULTS", "1"))
MALLOCS = int(os.environ.get("H2D_MALLOCS", "10"))
OF = os.environ.get("H2D_FAULTS_OF")
DAY = 86400
SHORT = 1  # second that a round waits for an answer that a fault may have taken

IMAGES = collections.Counter(pipe=3)  # one that came since keeps a pipe open while it lives

pytestmark = pytest.mark.skipif(srv.SLOW > 1, reason="a sanitizer has the allocator")


def new(h2d, **options):
	server = h2d.new(server='autoindex = true\nsendfile = true\nupload-dir = "in"\nupload-public = true',
		sections='cache { max-file-size = "64K" }', conf='access-log = "access.log"', **options)
	os.mkdir(server.path("www", "in"))
	server.write("small.txt", b"small\n")
	server.write("text.txt", b"many words that are not so many different words\n" * 500)
	server.write("large.bin", os.urandom(300000))
	return server


def places(call, made):
	"""Of so many calls those that fail, one in each round."""
	n = MALLOCS if call == "malloc" else PLACES
	return [(2 * i + 1) * made // (2 * n) for i in range(n)] if made > n else range(made)


def ask(server, how, connect, path, timeout, method="GET", **more):
	with connect(how, timeout=timeout) as c:
		return c.request(method, path, **more).status in (200, 201, 204, 206, 304)


def round_of_requests(server, timeout=procs.DEADLINE):
	"""A bit of everything, each on a connection of its own; how many did not end well."""
	lost = 0
	for connect in (server.h1, server.connect):
		for how, path, more in (("tcp", "/small.txt", {}), ("tcp", "/large.bin", {}), ("tls", "/text.txt", {}), ("tcp", "/in/", {}),
				("tcp", "/text.txt", dict(headers=[("accept-encoding", "br")])), ("tls", "/", dict(method="HEAD")),
				("tcp", "/files/a", dict(method="PUT", body=b"x" * 70000)), ("tcp", "/files/a", dict(method="DELETE"))):
			try:
				lost += not ask(server, how, connect, path, timeout, **more)
			except (OSError, client.Closed, client.Late, AssertionError):
				lost += 1
	return lost


# What the kernel does not do: a socket that is readable says so by an edge, and is read until it has nothing; a message to a
# process that lives is not refused. A process that missed its orders would wait for ever.
NEVER = {("read", "EAGAIN"), ("recvmsg", "EAGAIN"), ("sendmsg", "EPIPE")}


def plan(made, but, only):
	"""(call, how, place) of each fault. In a short run each call fails in one way, another with each further call."""
	for call, n in sorted((call, n) for call, n in made.items() if (not only or call in only) and OF in (None, call)):
		ways = [how for how in CALLS[call] if (call, how) not in but]
		for how in ways if PLACES > 1 else ways[NAMES.index(call) % len(ways):][:1] if ways else ():
			for place in places(call, n):
				yield call, how, place


def fail_everywhere(server, faults, pids, work, check, but=NEVER, only=(), **whose):
	"""work() is a round, in which one call fails, and check() follows; how many of each call did."""
	with faults(pids(), **whose):
		work()
		made = faults.made()
	failed = {}
	for call, how, place in plan(made, but, only):
		with faults(pids(), call, how, place, **whose):
			work()
		failed[call] = failed.get(call, 0) + faults.failed
		try:
			check()
			assert not server.log.find(" alert ")
		except (AssertionError, OSError) as e:
			raise AssertionError("%s, %s, call %d of %d: %s" % (call, how, place, made[call], e)) from None
	if PLACES > 1 or MALLOCS > 10:
		print("failed:", failed, "of:", {call: made[call] for call in failed})
	return failed


def among(failed, *calls):
	"""Whether these were."""
	return failed.keys() >= {call for call in calls if OF in (None, call)}


def started(h2d, **options):
	"""With what it is failed by; later commands are not."""
	server = new(h2d, **options)
	faults = Faults(server)
	server.start(image=True)
	server.env.clear()
	for _ in range(2):
		assert round_of_requests(server) == 0
	return server, faults


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_in_a_worker(h2d, dispatch):
	server, faults = started(h2d, dispatch=dispatch)
	worker = server.worker_pids()[0]

	def check():
		assert procs.running(worker)
		assert ask(server, "tcp", server.h1, "/small.txt", procs.DEADLINE)
	failed = fail_everywhere(server, faults, lambda: [worker], lambda: round_of_requests(server, SHORT), check)
	assert round_of_requests(server) == 0
	assert server.worker_pids() == [worker]
	assert among(failed, "recv", "send", "sendmsg", "openat2", "malloc")


def test_in_the_acceptor(h2d):
	server, faults = started(h2d, dispatch="acceptor", workers=2)
	acceptor, workers = server.acceptor(), server.worker_pids()
	descriptors = server.settled_kinds(acceptor)

	def check():
		assert procs.running(acceptor)
		for how in ("tcp", "tls") * 2:
			assert ask(server, how, server.h1, "/small.txt", procs.DEADLINE)
	failed = fail_everywhere(server, faults, lambda: [acceptor], lambda: round_of_requests(server, SHORT), check)
	assert server.worker_pids() == workers and server.acceptor() == acceptor
	procs.wait_for(lambda: server.settled_kinds(acceptor) == descriptors, said="the acceptor's descriptors as before")
	assert among(failed, "accept4", "sendmmsg")


def test_an_inbox_that_cannot_be_read(h2d):
	"""What waits in it is read a moment later, though no event tells of it again: a connection, and the end of a generation."""
	server, faults = started(h2d, dispatch="acceptor")
	with faults(server.worker_pids(), "recvmmsg", "ENOMEM"):
		assert ask(server, "tcp", server.h1, "/small.txt", procs.DEADLINE)
	assert faults.failed == 1
	server.log.wait("inbox: Cannot allocate memory; retrying in")
	old = server.children()
	server.baseline = None
	with faults(server.worker_pids(), "recvmmsg", "ENOMEM"):
		server.reload()
		procs.wait_for(lambda: not set(old) & set(server.children()), said="the generation before leaves")


class Edits:
	"""Files that come, change and go."""

	def __init__(self, server):
		self.server, self.number = server, 0

	def one(self):
		self.number += 1
		n, server = self.number, self.server
		text = b"number %d of the texts that change\n" % n * 100
		server.write("changes.txt", text)
		server.write("new/%d/a.txt" % n, text)
		if n > 2:
			shutil.rmtree(os.path.join(server.root, "new", str(n - 2)))
		self.texts = {"/changes.txt": text, "/new/%d/a.txt" % n: text, "/new/%d/a.txt" % (n - 2): None}

	def served(self):
		"""Whether they are, as they lie."""
		with self.server.connect() as c:
			return all((answer.body if answer.status == 200 else None) == text
				for path, text in self.texts.items() for answer in [c.get(path)])


def test_in_the_keeper(h2d):
	"""Its faults delay images, and nothing else: what is served is what lies on the disk."""
	server, faults = started(h2d)
	keeper, edits = server.keeper(), Edits(server)
	descriptors = server.settled_kinds(keeper)

	def edit():
		image = server.status()["image"]
		edits.one()
		with contextlib.suppress(AssertionError):
			procs.wait_for(lambda: server.status()["image"] > image, SHORT)

	def check():
		assert procs.running(keeper)
		procs.wait_for(edits.served, said="what was edited")
	failed = fail_everywhere(server, faults, lambda: [keeper], edit, check)
	server.wait_settled()
	server.wait_cached("/changes.txt", "/new/%d/a.txt" % edits.number)
	assert server.keeper() == keeper
	procs.wait_for(lambda: not server.settled_kinds(keeper) - descriptors - IMAGES, said="the keeper's descriptors as before")
	assert among(failed, "malloc", "memfd_create", "mmap", "openat2", "read")


def test_a_death_that_was_not_heard(h2d):
	"""SIGCHLD comes, and the master is not told who died: it asks again."""
	server, faults = started(h2d)
	worker = server.worker_pids()[0]
	server.baseline = None
	with faults([server.pid], "waitpid", "EINTR", times=EVER):
		os.kill(worker, signal.SIGKILL)
		procs.wait_for(lambda: not procs.running(worker) and faults.made().get("waitpid"), said="the master's question")
	procs.wait_for(lambda: ask(server, "tcp", server.h1, "/small.txt", procs.DEADLINE), said="another worker")
	assert server.worker_pids() != [worker]


class Reloads:
	"""A reload that may fail; the next one does not."""

	def __init__(self, server):
		self.server = server
		self.again()
		self.descriptors = self.now()

	def now(self):
		return self.server.settled_kinds(self.server.pid)

	def try_one(self, how="reload"):
		self.server.baseline = None
		self.server.lint.forget()
		self.code = self.server.run("-s", how).returncode

	def again(self):
		"""With nothing left of the one before."""
		self.server.reload()
		self.server.wait_up()

	def check(self):
		assert self.server.lives()
		for connect, how, path in ((self.server.h1, "tcp", "/large.bin"), (self.server.connect, "tls", "/small.txt"),
				(self.server.h1, "tls", "/in/")):
			assert ask(self.server, how, connect, path, procs.DEADLINE), path
		if self.code != 0:
			self.again()
		procs.wait_for(lambda: not self.now() - self.descriptors - IMAGES,
			said="the master's descriptors as before: %s" % (self.now() - self.descriptors))


def test_in_the_master_that_reloads(h2d):
	server, faults = started(h2d, workers=2)
	reloads = Reloads(server)
	failed = fail_everywhere(server, faults, lambda: [server.pid], reloads.try_one, reloads.check)
	assert among(failed, "fork", "socketpair", "malloc", "sendmsg")


# libseccomp 2.5 does not survive it: it crashes, or turns (tests/unit/check_seccomp.c).
NOT_AT_START = NEVER | {("malloc", "ENOMEM")}


def test_in_processes_that_start(h2d):
	"""The children of a reload: each fault is the end of that reload, or of nothing."""
	server, faults = started(h2d, dispatch="acceptor", workers=2)
	reloads = Reloads(server)
	failed = fail_everywhere(server, faults, lambda: [server.pid, *server.children()], reloads.try_one, reloads.check,
		NOT_AT_START, others=True)
	assert among(failed, "epoll_ctl", "mmap", "pthread_create")


@pytest.mark.parametrize("how", ["EMFILE", "EIO"])
def test_a_file_that_cannot_be_opened_at_the_start(h2d, how):
	"""Whichever it is: who serves behind it reads the files that it is to serve. A tree that the sandbox has not allowed stays shut."""
	server, faults = started(h2d, workers=1)
	reloads = Reloads(server)
	place = failed = 0
	while True:
		with faults([server.pid, *server.children()], "open", how, place, others=True):
			reloads.try_one()
		if not faults.failed:
			break
		failed, place = failed + 1, place + 1
		for path in ("/large.bin", "/in/"):  # neither is in an image
			procs.wait_for(lambda: ask(server, "tcp", server.h1, path, procs.DEADLINE), said="%s behind call %d" % (path, place))
		reloads.again()
	assert failed > 3


@pytest.mark.parametrize("call, what", [pytest.param("seccomp", "seccomp", marks=seccomp), pytest.param("landlock", "Landlock", marks=landlock)])
def test_a_child_that_would_not_be_confined(h2d, call, what):
	"""It does not serve: a reload fails, and a process that comes anew is tried until it is confined. The log says why."""
	server, faults = started(h2d, dispatch="acceptor", workers=2)
	reloads = Reloads(server)
	said = what + ": Cannot allocate memory: cannot apply the sandbox; exiting"
	old = [server.pid, *server.children()]
	with faults(old, call, "ENOMEM", times=EVER, others=True):
		reloads.try_one()
		assert reloads.code == 1
	server.log.wait(said)
	procs.wait_for(lambda: set(old) == {server.pid, *server.children()}, said="those of before alone")
	for ended in (server.worker_pids()[0], server.acceptor()):
		seen, others = len(server.log.find(said)), [server.pid, *server.children()]
		with faults(others, call, "ENOMEM", times=2, others=True):
			os.kill(ended, signal.SIGKILL)
			server.log.wait(said, count=seen + 2)
			procs.wait_for(lambda: len(server.children()) == len(others) - 1, said="another one")
		server.wait_up()
	assert round_of_requests(server) == 0
	for pid in server.children():
		with open("/proc/%d/status" % pid) as f:
			assert not built_with("seccomp") or re.search(r"^Seccomp:\s2$", f.read(), re.M), pid


# An upgrade that gets stuck takes as long as its deadlines.
OF_UPGRADES = () if PLACES > 1 else {"epoll_create1", "fork", "malloc", "memfd_create", "open", "socketpair"}


def fail_upgrades(h2d, but, others, only, **whose):
	"""In the old master, or all others."""
	server, faults = started(h2d, workers=2)
	reloads = Reloads(server)

	def upgrade():
		reloads.try_one("upgrade")
		procs.wait_for(lambda: server.find_heir() or server.lives(), said="a master")

	def pids():
		return [server.pid, *server.children()] if others else [server.pid]
	return fail_everywhere(server, faults, pids, upgrade, reloads.check, but, only, others=others, **whose)


@pytest.mark.parametrize("others", [False, True], ids=["old", "new"])
def test_in_masters_of_an_upgrade(h2d, others):
	"""The old one, or the new one with its children: who does not get as far leaves the sockets to the other."""
	failed = fail_upgrades(h2d, NOT_AT_START if others else NEVER, others, OF_UPGRADES)
	assert among(failed, "socketpair", "memfd_create" if others else "fork")


# Whoever has written the pid file is held up behind it.
SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
	ssize_t done = next(fd, p, n, at);
	usleep(100000);
	return done;
}
"""


def test_the_pid_file_of_an_upgrade_that_is_taken_back(h2d, tmp_path):
	"""The new master is told to go on, and the old one fails to hear more: the file names the old one, which goes on."""
	(tmp_path / "slow.c").write_text(SLOW)
	subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
	server = new(h2d, workers=2)
	faults = Faults(server)
	server.env["LD_PRELOAD"] += " %s" % (tmp_path / "slow.so")
	server.start(image=True)
	server.env.clear()
	server.baseline = None
	server.lint.forget()
	for place in range(2, 5):  # before "go", behind it, and behind "taken": which is which is up to what comes at once
		with faults([server.pid], "recv", "ENOMEM", place):
			assert server.run("-s", "upgrade").returncode == 1
		assert faults.failed == 1
		with open(server.pid_path) as f:
			assert int(f.read()) == server.pid, place
		assert round_of_requests(server) == 0
	server.upgrade()


def test_memory_of_a_check(h2d):
	"""h2d -t reads a configuration as a master does: whichever of its calls fails, it ends by itself."""
	server = new(h2d)
	faults = Faults(server)
	for place in range(min(MALLOCS * 5, 5000)):
		with faults((), "malloc", "ENOMEM", place, others=True):
			code = server.run("-t").returncode
		assert code in (0, 1), place


def test_memory_of_a_new_master(h2d):
	"""Its children's are not its own."""
	assert fail_upgrades(h2d, NEVER, True, {"malloc"}, masters=True).keys() == {"malloc"}


def test_a_pid_file_that_cannot_be_written(h2d):
	"""A new master that cannot name itself in it tries again until it can, and serves meanwhile."""
	server, faults = started(h2d)
	old = server.pid
	server.baseline = None
	server.lint.forget()
	with faults([old, *server.children()], "pwrite", "EIO", times=EVER, others=True):
		server.signal(signal.SIGUSR2)
		server.log.wait(r"pid file .*: Input/output error; retrying every second")
		server.log.wait(r"upgraded: pid %d" % old)
		assert ask(server, "tcp", server.h1, "/small.txt", procs.DEADLINE)
	server.log.wait(r"pid file .* now contains process \d+")
	procs.wait_for(server.find_heir, said="the new master in the pid file")
	server.reload()
	server.wait_up()


def test_the_wall_clock_steps(h2d):
	"""By a day, either way: dates follow, nothing is lost, edits are found, a reload and an upgrade stand."""
	server, faults = started(h2d, workers=2)
	workers, edits = server.worker_pids(), Edits(server)

	def ahead():
		with server.h1() as c:
			return email.utils.parsedate_to_datetime(c.get("/small.txt").get("date")).timestamp() - time.time()
	for shift in (DAY, -DAY, 0):
		faults.clock(shift)
		procs.wait_for(lambda: abs(ahead() - shift) < DAY / 24, said="the date that it is")
		edits.one()
		procs.wait_for(edits.served, said="what was edited")
		assert round_of_requests(server) == 0
	assert server.worker_pids() == workers
	for shift, change in ((DAY, server.reload), (-DAY, server.upgrade)):
		faults.clock(shift)
		change()
		server.wait_up()
		edits.one()
		procs.wait_for(edits.served, said="what was edited")
		assert round_of_requests(server) == 0


def sends_files(h2d, dispatch):
	server = h2d.new(files={name: os.urandom(sendfile.BIG) for name in ("big", "other")}, server="sendfile = true",
		sections=sendfile.DISK, dispatch=dispatch)
	if not sendfile.told(server.conf_path):
		harness.skip_without("nowait", "by this file system no file is sent")
	faults = Faults(server)
	server.start()
	server.env.clear()
	return server, faults


@sendfile.both
@pytest.mark.parametrize("error", ["EAGAIN", "EOPNOTSUPP"])
def test_sendfile_where_nothing_is_in_memory(h2d, dispatch, error):
	"""Where nothing is in memory, or a file system does not tell, all of it is read by threads; the log says the latter once."""
	server, faults = sends_files(h2d, dispatch)
	worker = server.worker_pids()
	with faults(worker, "preadv2", error, times=EVER), server.h1("tcp") as c:
		for _ in range(2):
			assert c.get("/big").body == sendfile.read(server, "big")
		assert c.get("/other").body == sendfile.read(server, "other")
	assert faults.failed > 0 and sendfile.pieces(server) == 0
	said = server.log.find("sendfile: the file system of /big does not report cached data")
	assert len(said) == (error == "EOPNOTSUPP"), said
	with server.h1("tcp") as c:
		assert c.get("/big").body == sendfile.read(server, "big")
	sendfile.expect_pieces(server, 1)


@sendfile.both
@pytest.mark.parametrize("error", ["EIO", "ENOMEM"])
def test_sendfile_from_a_disk_that_fails(h2d, dispatch, error):
	"""What sendfile(2) has an error for is read; if that fails, too, the response ends and the log says why. Nobody else notices."""
	server, faults = sends_files(h2d, dispatch)
	body, pid = sendfile.read(server, "big"), server.worker_pids()
	c = sendfile.begin(server)
	other = sendfile.begin(server, "/other")
	with faults(pid, "sendfile", error, times=EVER), server.h1("tcp") as d:
		assert d.get("/big").body == body
	assert faults.failed > 0
	with sendfile.begin(server) as d, faults(pid, "sendfile", error, times=EVER):
		while len(d.buffer) < sendfile.BIG // 2:  # it is read by now
			assert d.more(time.monotonic() + procs.DEADLINE)
		faults.order(pid, "preadv2", "EIO", times=EVER)
		got, whole = sendfile.finish(d)
	assert not whole and body.startswith(got)
	server.log.wait("big: reading: Input/output error")
	for one, name in ((c, "big"), (other, "other")):
		assert sendfile.finish(one) == (sendfile.read(server, name), True), name
		one.close()
	with server.h1("tcp") as d:
		assert d.get("/big").body == body
	assert server.worker_pids() == pid
