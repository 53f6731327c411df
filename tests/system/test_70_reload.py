"""Reloads: a new generation beside the old, listeners, drains, nothing lost under load."""
import contextlib
import grp
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

import pytest
from hyperframe import frame as hf

import client
import harness
import procs
import server as srv
import tracer

LARGE = os.urandom(1 << 16) * 64
SHORT = LARGE[:100000]  # longer than the window
LARGER = 3 * LARGE + os.urandom(99)  # than socket buffers


# --- reload -------------------------------------------------------------------------------------

def test_reload(h2d):
	server = h2d(workers=2, files={"a": "old"})
	before = server.status()
	pids = set(server.worker_pids())
	os.mkdir(server.path("other"))
	with open(server.path("other", "a"), "w") as f:
		f.write("new")
	server.put_conf(server.conf_text.replace(server.root, server.path("other")))
	done = server.reload()
	number = before["generation"]
	assert re.fullmatch(r"generation %d → %d in \d+ ms\n" % (number, number + 1), done.out), done.out
	after = server.wait_up(before["generation"] + 1)
	assert not pids & {w["pid"] for w in after["workers"]}
	assert after["totals"]["requests"] >= before["totals"]["requests"], "totals survive"
	for how in ("tcp", "tls"):
		with server.connect(how) as c:
			assert c.get("/a").body == b"new"
	with open(server.pid_path) as f:
		assert int(f.read()) == server.pid, "the main pid never changes"
	assert not any(procs.running(p) for p in pids)


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize("since", ["the start", "then"])
def test_a_status_file_that_cannot_be_written(h2d, since, right):
	"""The command says so as soon as the reload is over: nobody will tell more."""
	server = h2d.new(listens=("tcp",))
	if since == "the start":
		os.mkdir(server.pid_path + ".status.new")
	server.start()
	if since == "then":
		os.mkdir(server.pid_path + ".status.new")
	text = server.conf_text
	server.put_conf(text if right else text + "nonsense = 1\n")
	server.baseline = None
	done = server.run("-s", "reload", check=1)
	assert "%s.status is not written" % server.pid_path in done.err, done.err
	server.log.wait("serving: generation 2" if right else "reload failed")
	os.rmdir(server.pid_path + ".status.new")
	server.put_conf(text)
	server.reload()


# Holds a pid file as a master does, until its input ends. A HUP begins its request 4, whose outcome it writes half a second
# later.
MASTER = """
import fcntl, os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
pid_file = open(sys.argv[1], "w")
fcntl.flock(pid_file, fcntl.LOCK_EX)
print(os.getpid(), file=pid_file, flush=True)
print("ready", flush=True)
signal.sigwait({signal.SIGHUP})
for request, result, running in (3, "failed", 4), (4, "ok", 0):
	with open(sys.argv[1] + ".status.new", "w") as f:
		f.write("request %d\\ngeneration 7\\nresult %s\\nrunning %d\\nreplaced 0\\nupgrade 0 failed\\n"
			"text this is %d\\n" % (request, result, running, request))
	os.rename(sys.argv[1] + ".status.new", sys.argv[1] + ".status")
	time.sleep(0.5)
sys.stdin.read()
"""


@pytest.mark.parametrize("before", ["none", "an old one"])
def test_an_outcome_of_an_earlier_reload(tmp_path, before):
	"""The status file is away, or has not been written for a while, and comes with the outcome before."""
	pid_path = str(tmp_path / "pid")
	if before != "none":
		with open(pid_path + ".status", "w") as f:
			f.write("request 1\ngeneration 5\nresult ok\nrunning 0\nreplaced 0\nupgrade 0 failed\n")
	with subprocess.Popen([sys.executable, "-c", MASTER, pid_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
			text=True) as master:
		assert master.stdout.readline() == "ready\n"
		done = subprocess.run([srv.H2D, "-r", ".", "--pid-file", pid_path, "-s", "reload"], timeout=srv.DEADLINE,
			stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
		assert (done.returncode, done.stdout) == (0, "this is 4\n"), (done.stdout, done.stderr)
		master.stdin.close()


def test_reload_and_wait(h2d):
	"""--wait tells, beyond the outcome, what became of the connections of the generation before."""
	server = h2d(workers=2, listens=("tcp",), files={"large": LARGE})
	server.baseline = None
	idle = server.raw("tcp")
	idle.send(idle.headers(1))
	assert idle.status_of(1) == 200
	with server.held() as raw:
		waiting = subprocess.Popen(server.command("-f", server.conf_path, "-s", "reload", "--wait"),
			stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
		assert re.fullmatch(r"generation 1 → 2 in \d+ ms\n", waiting.stdout.readline())
		assert idle.goaway() is not None
		idle.close()
		assert waiting.poll() is None
		raw.rest()
		raw.goaway()
	out, err = waiting.communicate(timeout=procs.DEADLINE)
	assert (waiting.returncode, out, err) == (0, "2 drained, 0 cut, 0 refused\n", "")
	server.log.wait("generation 1 exited: 2 drained, 0 cut, 0 refused")


def test_reload_and_wait_for_what_is_cut(h2d):
	server = h2d(conf="reload-timeout = 1", listens=("tcp",), files={"large": LARGE})
	with server.held() as raw:
		server.baseline = None
		assert "\n0 drained, 1 cut, 0 refused\n" in server.run("-s", "reload", "--wait", check=0).out
	assert "--wait needs -s reload" in server.run("-s", "stop", "--wait", check=2).err


class Held:
	"""A download that is under way, and goes no further before finish()."""

	def __init__(self, server, protocol, how="tcp"):
		self.body = bytearray()
		if protocol == "h2":
			self.raw = server.held(how)
		else:
			context = client.tls_context(alpn=("http/1.1",))
			self.raw = server.socket(how) if how == "tcp" else client.tls_socket(server.ports["tls"], context=context)
			self.raw.sendall(b"GET /larger HTTP/1.1\r\nhost: localhost\r\n\r\n")
			self.body += self.raw.recv(1000)

	def finish(self):
		"""Whether it comes whole."""
		with self.raw:
			if isinstance(self.raw, socket.socket):
				with contextlib.suppress(ConnectionResetError, ssl.SSLError):
					while not self.body.endswith(LARGER[-99:]) and (more := self.raw.recv(1 << 20)):
						self.body += more
				return self.body.partition(b"\r\n\r\n")[2] == LARGER
			if not self.raw.try_send(hf.WindowUpdateFrame(0, 1 << 30).serialize() + hf.WindowUpdateFrame(1, 1 << 30).serialize()):
				return False
			self.raw.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags)
			return b"".join(f.data for f in self.raw.frames if isinstance(f, hf.DataFrame)) == SHORT


FILES = {"large": SHORT, "larger": LARGER}
HELD = [("h1", "tcp"), ("h2", "tcp"), ("h1", "tls"), ("h2", "tls")]


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_downloads_outlive_reload_and_upgrade(h2d, dispatch):
	"""Neither cuts one, however short shutdown-timeout is; idle connections end at once, and other processes with them."""
	server = h2d(conf="shutdown-timeout = 1", dispatch=dispatch, workers=2, files=FILES)
	idle = server.asked(4)
	held = [Held(server, *how) for how in HELD]
	server.reload()
	for raw in idle:
		assert raw.goaway() is not None
		raw.close()
	held += [Held(server, *how) for how in HELD]
	time.sleep(2.5)  # a second more than that, after which the master sends SIGTERM
	server.upgrade()
	time.sleep(2.5)
	assert not server.log.find("connections cut|terminating")
	for download in held:
		assert download.finish()
	server.log.wait("generation [12] exited: .* 0 cut", count=2)


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_reload_timeout(h2d, dispatch):
	server = h2d(conf="reload-timeout = 1  shutdown-timeout = 600", dispatch=dispatch, files=FILES)
	held = [Held(server, *how) for how in HELD]
	server.reload()
	server.log.wait("reload-timeout: 4 connections cut")
	assert not any(download.finish() for download in held)
	server.log.wait("generation 1 exited: 0 drained, 4 cut")
	assert not server.log.find("terminating")


@pytest.mark.parametrize("end", ["QUIT", "KILL"])
def test_a_stop_bounds_all_generations(h2d, end):
	"""Those of programs before, too; a QUIT waits for them."""
	server = h2d(conf="shutdown-timeout = 1  reload-timeout = 0", listens=("tcp",), files=FILES)
	held = []
	for step in (server.reload, server.upgrade, server.reload, server.upgrade, lambda: None):
		held.append(Held(server, "h2"))
		step()
	group = server.process.pid
	server.baseline = None
	server.signal(getattr(signal, "SIG" + end))
	if end == "QUIT":
		server.wait_exit()
		assert not procs.group_members(group)
	procs.wait_for(lambda: not procs.group_members(group), said="all leave")
	server.log.wait("shutdown-timeout: 1 connections cut", count=5)
	assert not any(download.finish() for download in held)


BAD_TEXTS = {
	"syntax": (lambda s: s.conf_text.replace("worker-processes", "worker-precesses"), r"h2d\.conf:1: "),
	"root": (lambda s: s.conf_text.replace(s.root, s.root + "-not"), r"h2d\.conf:\d+: .*www-not"),
	"key": (lambda s: s.conf_text.replace(s.cert.key, s.cert.key + "-not"), r"h2d\.conf:\d+: .*key-not"),
	"log": (lambda s: 'error-log = "%s/no/such/folder/x"\n' % s.dir + s.conf_text, r"h2d\.conf:1: .*no/such/folder"),
	**({"user": (lambda s: 'user = "no-such-user"\n' + s.conf_text, "no-such-user")} if os.geteuid() == 0 else {}),
}


def spoil(server, what):
	"""What faults say of it."""
	if what in BAD_TEXTS:
		server.put_conf(BAD_TEXTS[what][0](server))
		return BAD_TEXTS[what][1]
	if what == "no file":
		os.unlink(server.conf_path)
		return r"h2d\.conf.*No such file"
	other = socket.socket()
	other.bind(("127.0.0.1", 0))
	other.listen(1)
	server.keep_open = other
	address = "127.0.0.1:%d" % other.getsockname()[1]
	server.put_conf('listen "%s" { tls = false }\nlisten "127.0.0.1:0" {}\n' % address
		+ server.conf_text)
	return re.escape(address) + ".*in use"


@pytest.mark.parametrize("what", [*BAD_TEXTS, "no file", "port taken"])
def test_bad_reload_keeps_the_old(h2d, what):
	server = h2d(image=True, workers=2)
	before = server.status()
	pids = sorted(server.worker_pids())
	fds = server.settled_kinds(server.pid)
	with server.connect("tls") as c:
		assert c.get("/").status == 200
		pattern = spoil(server, what)
		done = server.run("--pid-file", server.pid_path, "-s", "reload", check=1)
		assert re.search(pattern, done.err), done.err
		server.log.wait(pattern)
		seen = len(server.log.lines)
		server.signal(signal.SIGHUP)
		server.log.wait(pattern, since=seen)
		server.log.wait("keeps serving", since=seen)
		assert c.get("/").status == 200, "even the old connections live on"
	after = server.status()
	assert after["generation"] == before["generation"]
	assert sorted(server.worker_pids()) == pids
	procs.wait_for(lambda: procs.descriptor_kinds(server.pid) == fds,
		said="the master keeps no descriptor of it")
	server.put_conf(server.conf_text)
	server.reload()
	with server.connect("tcp") as c:
		assert c.get("/").status == 200


def test_reloads_at_once(h2d):
	"""Every `-s reload` learns of an outcome."""
	server = h2d()
	server.baseline = None
	running = [subprocess.Popen(server.command("-f", server.conf_path, "-s", "reload"),
		stderr=subprocess.PIPE)
		for _ in range(5)]
	for process in running:
		err = process.communicate(timeout=200)[1]
		assert process.returncode == 0, err
	server.wait_up()


def test_reload_changes_listeners(h2d):
	server = h2d(workers=2, listens=("tcp",))
	seen = len(server.log.lines)
	server.put_conf(server.conf_text.replace('"127.0.0.1:0"', '"127.0.0.2:0"'))
	server.reload()
	line = server.log.wait(r"listening on 127\.0\.0\.2:\d+", since=seen)[0]
	port = int(re.search(r"127\.0\.0\.2:(\d+)", line).group(1))
	with socket.create_connection(("127.0.0.2", port), procs.DEADLINE) as s:
		assert client.Client(s).get("/").status == 200
	procs.wait_for(server.refuses, said="the old port is closed")


@pytest.mark.parametrize("count", [1, 4])
def test_reload_changes_the_worker_count(h2d, count):
	server = h2d(workers=2)
	server.put_conf(server.conf_text.replace("worker-processes = 2",
		"worker-processes = %d" % count))
	server.workers = count
	server.reload()
	server.wait_up(2)
	for how in ("tcp", "tls"):
		for _ in range(20):
			with server.connect(how) as c:
				assert c.get("/").status == 200


STOPPED = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
/* While the file is there no new process comes up: that is the first thing that its loop asks for. */
int epoll_create1(int flags)
{
	if (access("stop", F_OK) == 0)
		raise(SIGSTOP);
	return (int)syscall(SYS_epoll_create1, flags);
}
"""


def ask_forty(server):
	"""Each of 40 new connections is answered."""
	for raw in server.asked(40):
		raw.close()


def test_failed_reload_to_more_workers(h2d):
	"""Sockets of workers that never come up get no connection, neither before they fail nor after."""
	server = h2d.new(dispatch="reuseport", workers=2, listens=("tcp",))
	server.preload(STOPPED)
	server.start()
	before = set(server.children())
	open(server.path("stop"), "w").close()
	server.put_conf(server.conf_text.replace("worker-processes = 2", "worker-processes = 8"))
	server.signal(signal.SIGHUP)
	new = procs.wait_for(lambda: (lambda p: p if len(p) == 9 and all(map(procs.stopped, p)) else None)(
		set(server.children()) - before), said="nine processes that stand still")
	ask_forty(server)
	os.kill(max(new), signal.SIGKILL)
	server.log.wait("reload failed; generation 1 keeps serving")
	ask_forty(server)
	server.log.wait("ignored SIGTERM while starting; killing it", count=7)
	os.kill(min(new), signal.SIGCONT)  # the keeper, which has no sockets
	procs.wait_for(lambda: set(server.children()) == before, said="nobody of the failed generation is left")
	ask_forty(server)
	os.unlink(server.path("stop"))
	server.workers = 8
	server.reload()
	server.wait_up(3)
	ask_forty(server)


def test_command_line_survives_hup(h2d):
	server = h2d.new(workers=1, args=("-n", "2"))
	server.workers = 2
	server.start()
	generation = server.status()["generation"]
	server.hup()
	assert len(server.wait_up(generation + 1)["workers"]) == 2


@pytest.mark.parametrize("gone", ["cert", "key"])
def test_a_certificate_that_is_gone(h2d, tmp_path, gone):
	"""The generation before goes on with it, and the log has the line that names it."""
	other = harness.Certificate(str(tmp_path), "other.example")
	server = h2d.new(workers=2)
	server.put_conf(server.conf_text.replace(server.cert.cert, other.cert).replace(server.cert.key, other.key))
	server.start()
	path = getattr(other, gone)
	line = server.conf_text.split("\n").index(next(l for l in server.conf_text.split("\n") if l.startswith("tls {"))) + 1
	os.rename(path, path + ".away")
	seen = len(server.log.lines)
	server.signal(signal.SIGHUP)
	server.log.wait(r"%s:%d: .*%s.*No such file" % (re.escape(server.conf_path), line, re.escape(path)), since=seen)
	server.log.wait("reload failed; generation 1 keeps serving", since=seen)
	with server.socket("tls") as s:
		assert b"other.example" in s.getpeercert(binary_form=True)
	os.rename(path + ".away", path)
	server.reload()
	assert server.status()["generation"] > 1
	with server.socket("tls") as s:
		assert b"other.example" in s.getpeercert(binary_form=True)


def test_old_connections_drain(h2d, how):
	"""RFC 9113, 6.8: GOAWAY 2^31-1, then GOAWAY with the last id; what runs is finished; then the end."""
	server = h2d(files={"large": LARGE})
	with server.held(how) as raw:
		server.hup()
		first = raw.until_type(hf.GoAwayFrame)
		assert (first.last_stream_id, first.error_code) == (client.MAGIC_LAST_ID, 0)
		raw.send(raw.headers(3, raw.head("/healthz")))
		while True:
			frame = raw.until(lambda f: isinstance(f, hf.GoAwayFrame) or (
				f.stream_id == 3 and isinstance(f,
				(hf.HeadersFrame, hf.RstStreamFrame))))
			if isinstance(frame, hf.GoAwayFrame):
				assert frame.error_code == 0 and frame.last_stream_id in (1, 3)
				break
			if isinstance(frame, hf.HeadersFrame):
				assert frame.fields[
					":status"] == "503", "not healthy while draining"
		assert raw.rest() == LARGE
		raw.goaway()
	server.wait_up(2)


def test_ignored_requests_do_not_end_a_drain(h2d, how):
	"""A request that crosses the last GOAWAY is not served, and does no harm to what is."""
	server = h2d(sections="timeouts { header = 1 }", files={"large": LARGE})
	with server.held(how) as raw:
		server.hup()
		assert raw.until_type(hf.GoAwayFrame).last_stream_id == client.MAGIC_LAST_ID
		assert raw.until_type(hf.GoAwayFrame).last_stream_id == 1
		raw.send(raw.headers(3))
		time.sleep(2)  # longer than the header timeout
		raw.rest()
	server.wait_up(2)


def test_reload_with_queued_connections(h2d):
	"""What waits in the queue of a worker that does not accept is not reset by a reload."""
	server = h2d(workers=1, listens=("tcp",), dispatch="reuseport")  # an inbox is its worker's
	pid = server.worker_pids()[0]
	with procs.paused(pid):
		raws = server.ask(20)
		server.hup()
		srv.hear(raws)
	server.wait_up(2)


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_reload_that_fails_halfway_has_taken_nothing(h2d, tmp_path, dispatch):
	"""Workers that are up accept when their generation serves: one that never does has cut nobody."""
	server = h2d(workers=4, dispatch=dispatch, listens=("tcp", "tls", "unix"), files={"small": "small"})
	server.baseline = None

	def unborn():
		return [w for w in server.status()["workers"] if w["generation"] == 2 and w["state"] == "up"]
	with procs.Helper("storm.py", json.dumps(dict(ports=server.ports, roles=dict(again_and_again=16, busy=16))),
			out=tmp_path / "out") as clients:
		with tracer.Forks(server.pid, free=1) as forks:  # which tries what the user may read
			server.signal(signal.SIGHUP)
			*others, last = forks.wait_held(5)[:5]  # the keeper comes first
			for pid in others:
				forks.release(pid)
			forks.wait(lambda: len(unborn()) == 3, said="all but one are up")
			raws = [server.raw(how) for how in ("tcp", "unix") for _ in range(40)]
			for raw in raws:
				raw.send(raw.headers(1, raw.head("/small")))
			for raw in raws:
				assert raw.status_of(1) == 200
			assert [w["connections_total"] for w in unborn()] == [0, 0, 0]
			forks.kill(last)
			forks.wait(lambda: server.log.find("reload failed; generation 1 keeps serving"), said="the reload fails")
		server.log.wait("generation 2 exited: 0 drained, 0 cut, 0 refused")
		for raw in raws:
			raw.send(raw.headers(3, raw.head("/small")))
			assert raw.status_of(3) == 200
			raw.close()
		found = clients.stop()
	assert found["lost"] == [] and found["counts"]["closed"] == 0, found


@harness.needs_root("gives files to others")
def test_the_group_of_a_unix_socket(h2d):
	"""Its file has mode and group from the start, and those of each reload; a group that is not there is a fault."""
	server = h2d.new(listens=("tcp",))
	listen = 'listen "unix:%s" { socket-mode = "%s"%s }\n'
	path = server.path("site.sock")

	def put(mode, group):
		server.write_conf(sections=listen % (path, mode, group))

	def looks():
		st = os.lstat(path)
		return "%o" % (st.st_mode & 0o777), grp.getgrgid(st.st_gid).gr_name
	put("0660", '  socket-group = "www-data"')
	server.start()
	assert looks() == ("660", "www-data")
	put("0666", '  socket-group = "nogroup"')
	server.run("-s", "reload", check=0)
	assert looks() == ("666", "nogroup")
	put("0666", '  socket-group = "nobody-has-it"')
	assert 'group "nobody-has-it" does not exist' in server.run("-t", check=1).err
	server.write_conf(sections='listen "127.0.0.1:0" { socket-group = "www-data" }')
	assert "socket-group needs a unix: listener" in server.run("-t", check=1).err
