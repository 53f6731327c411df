"""Upgrades: another program takes over from the one that runs, and no client notices; or it fails, and nothing is
changed. H2D_UPGRADES: how many in a row under load (5)."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import client
import harness
import procs
import server as srv
import tracer
from procs import Helper

HERE = os.path.dirname(os.path.abspath(__file__))
UPGRADES = int(os.environ.get("H2D_UPGRADES", "5"))
LARGE = bytes(range(256)) * 16384  # 4 MiB


def lock_holder(path):
	"""The inode's lock is held by whoever: flock belongs to the open file."""
	import fcntl
	with open(path) as f:
		try:
			fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
		except BlockingIOError:
			return True
	return False


def listening_kinds(pid):
	"""The sockets on which a process listens, by port; how many of each."""
	ports = procs.listening_inodes()
	return sorted(ports[inode] for inode in procs.sockets(pid) if inode in ports)


def newest_request(server):
	"""The number of the one that was finished last, as the status file says."""
	with open(server.pid_path + ".status") as f:
		return int(re.match(r"request (\d+)\n", f.read()).group(1))


def is_running(server):
	"""Whether a request is worked on, as the status file says."""
	with open(server.pid_path + ".status") as f:
		return re.search(r"^running [1-9]", f.read(), re.M) is not None


@pytest.fixture
def own(h2d, tmp_path):
	"""A server whose binary the test may replace."""
	binary = str(tmp_path / "h2d")
	shutil.copy(srv.H2D, binary)

	def start(**options):
		return h2d(binary=binary, **options)
	start.binary = binary

	def replace(text):
		with open(binary + ".new", "w") as f:
			f.write(text)
		os.chmod(binary + ".new", 0o755)
		os.rename(binary + ".new", binary)
	start.replace = replace
	return start


def test_upgrade(h2d):
	server = h2d(workers=2, listens=("tcp", "tls", "unix"), image=True)
	old, before = server.pid, server.status()
	kinds, ports = procs.descriptor_kinds(old), listening_kinds(old)
	done = server.upgrade()
	assert re.match(r"upgraded: pid %d \u2192 %d in \d+ ms\nserving: generation %d, 2 workers\n"
		% (old, server.heir, before["generation"] + 1), done.out), done.out
	assert lock_holder(server.pid_path)
	assert server.process.wait(procs.DEADLINE) == 0, "the old master leaves without a complaint"
	after = server.wait_up(before["generation"] + 1)
	assert not {w["pid"] for w in before["workers"]} & {w["pid"] for w in after["workers"]}
	for how in ("tcp", "tls", "unix"):
		with server.connect(how) as c:
			assert c.get("/").status == 200
	assert listening_kinds(server.pid) == ports, "the same sockets, none forgotten"
	server.wait_image()
	procs.wait_for(lambda: procs.descriptor_kinds(server.pid) == kinds,
		said="the descriptors of the new master are those of the old")


def test_commands_reach_the_new_master(h2d):
	server = h2d()
	server.upgrade()
	assert re.search(r"generation (2 \u2192 )?3\b", server.reload().out)
	server.run("-s", "reopen", check=0)
	old = server.pid
	server.upgrade()
	assert server.pid != old
	server.run("-s", "quit", check=0)
	assert not server.lives()
	procs.wait_for(lambda: not procs.group_members(server.process.pid), said="those of the programs before leave, too")
	assert not os.path.exists(server.pid_path) and not os.path.exists(server.pid_path + ".status")
	assert not os.path.exists(server.admin_path), "who made the socket's file is gone; who owns it unlinks it"


def test_by_signal_and_twice_at_once(h2d):
	"""USR2s that come while an upgrade runs are one more upgrade."""
	server = h2d()
	first = server.pid
	server.baseline = None
	for _ in range(5):
		server.signal(signal.SIGUSR2)
	server.log.wait("upgraded: pid %d" % first)
	server.upgrade()
	# A command that was not heard before its master left asks the next one, too.
	assert 3 <= server.wait_up()["generation"] <= 5
	with server.connect() as c:
		assert c.get("/").status == 200
	server.run("-s", "quit", check=0)
	procs.wait_for(lambda: not procs.group_members(server.process.pid), said="all leave")


def test_reload_waits_for_an_upgrade(h2d):
	server = h2d(files={"other/a": "new"})
	server.baseline = None
	running = [subprocess.Popen(server.command("-f", server.conf_path, "-s", name), stdout=subprocess.PIPE,
		stderr=subprocess.PIPE, text=True) for name in ("upgrade", "reload", "upgrade", "reload")]
	for process in running:
		out, err = process.communicate(timeout=200)
		assert process.returncode == 0, (out, err, server.log_text())
	# Another upgrade may follow the one that two asked for.
	server.run("-s", "quit", check=0)
	procs.wait_for(lambda: not procs.group_members(server.process.pid), said="all leave")


@pytest.mark.parametrize("upgraded", [True, False], ids=["upgraded", "failed"])
def test_reload_before_an_upgrade(own, upgraded):
	"""The command sees the outcome of the upgrade alone, which took less than a look; the old master still drains."""
	server = own(listens=("tcp",), files={"large": LARGE}, conf="shutdown-timeout = 600")
	server.baseline = None
	with server.held() as raw:
		if not upgraded:
			own.replace("#!/bin/sh\nexit 1\n")
		server.signal(signal.SIGSTOP)
		procs.wait_for(lambda: procs.stopped(server.pid), said="the master stands still")
		command = subprocess.Popen([srv.H2D, "-f", server.conf_path, "-s", "reload"], stdout=subprocess.PIPE, text=True)
		procs.wait_for(lambda: procs.waits_for(server.pid, signal.SIGHUP), said="the reload is asked for")
		command.send_signal(signal.SIGSTOP)
		procs.wait_for(lambda: procs.stopped(command.pid), said="the command stands still")
		server.signal(signal.SIGUSR2)
		server.signal(signal.SIGCONT)
		server.log.wait("upgraded: pid" if upgraded else "upgrade failed")
		procs.wait_for(lambda: newest_request(server) == 2, said="the outcome of the upgrade")
		command.send_signal(signal.SIGCONT)
		assert "generation" in command.communicate(timeout=srv.DEADLINE)[0] and command.returncode == 0
		assert server.find_heir() == upgraded


def test_upgrade_before_other_requests(own, tmp_path):
	"""The command sees its upgrade behind a reload, while the next upgrade is tried."""
	server = own(listens=("tcp",))
	server.baseline = None
	first, gate = server.pid, str(tmp_path / "gate")
	os.mkfifo(gate)
	server.signal(signal.SIGSTOP)
	procs.wait_for(lambda: procs.stopped(first), said="the master stands still")
	command = subprocess.Popen([srv.H2D, "-f", server.conf_path, "-s", "upgrade"], stdout=subprocess.PIPE, text=True)
	procs.wait_for(lambda: procs.waits_for(first, signal.SIGUSR2), said="the upgrade is asked for")
	command.send_signal(signal.SIGSTOP)
	procs.wait_for(lambda: procs.stopped(command.pid), said="the command stands still")
	server.signal(signal.SIGCONT)
	server.log.wait("upgraded: pid %d" % first)
	assert server.find_heir()
	server.reload()
	own.replace("#!/bin/sh\nread line <%s\nexit 1\n" % gate)
	server.signal(signal.SIGUSR2)
	procs.wait_for(lambda: is_running(server), said="the next upgrade is tried")
	command.send_signal(signal.SIGCONT)
	assert "a later reload" in command.communicate(timeout=srv.DEADLINE)[0] and command.returncode == 0
	with open(gate, "w") as f:
		f.write("go\n")
	server.log.wait("upgrade failed")


def test_upgrades_under_load(h2d):
	"""None of 50 clients sees a failed, refused or reset request."""
	server = h2d(workers=2)
	fleet = subprocess.Popen([sys.executable, os.path.join(HERE, "fleet.py"), "50",
		"tcp:%d" % server.ports["tcp"], "tls:%d" % server.ports["tls"]],
		stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	took = []
	try:
		assert fleet.stdout.readline().strip() == "running"
		procs.wait_for(lambda: server.status()["totals"]["requests"] > 500, said="load")
		for _ in range(UPGRADES):
			started = time.monotonic()
			server.upgrade()
			took.append(time.monotonic() - started)
			procs.wait_for(lambda: server.status()["totals"]["requests"] > 100, said="load")
	finally:
		fleet.stdin.close()
	result = json.loads(fleet.stdout.read())
	assert fleet.wait(procs.DEADLINE) == 0
	assert result["failures"] == 0, result
	assert result["goaways"] > 20 and result["requests"] > 500, result
	server.wait_up(UPGRADES + 1)
	harness.REPORT.append("upgrades: %d under 50 clients, %d requests, %d failures; `-s upgrade` median %.0f ms, "
		"slowest %.0f ms" % (UPGRADES, result["requests"], result["failures"],
		1000 * sorted(took)[len(took) // 2], 1000 * max(took)))


def test_queued_connections_are_served(h2d):
	"""What waits in the queue of a worker that stands still is taken by the new one."""
	server = h2d(listens=("tcp", "unix"), dispatch="reuseport")  # an inbox is its worker's
	with procs.paused(server.worker_pids()[0]):
		raws = server.ask(10, "tcp") + server.ask(10, "unix")
		server.upgrade()
		srv.hear(raws)


def test_balance_after_an_upgrade(h2d):
	"""The new acceptor counts the connections of the new workers."""
	server = h2d(workers=4, dispatch="acceptor", conf="balance = least-connections")
	server.upgrade()
	assert server.status()["balance"] == "least-connections"
	procs.wait_for(lambda: not any(w["clients"] for w in server.live_workers().values()), said="all are gone")
	raws = server.ask(8)
	procs.wait_for(lambda: [w["clients"] for w in server.live_workers().values()] == [2] * 4, said="two for each worker")
	srv.hear(raws)


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_sessions_resume(h2d, version):
	"""A ticket of before is good after upgrades and reloads."""
	import ssl
	server = h2d(workers=2)
	version = getattr(ssl.TLSVersion, version)
	context = client.tls_context(minimum=version, maximum=version)
	with client.Client.tls(server.ports["tls"], context=context) as c:
		assert c.get("/").status == 200
		session = c.sock.session
	server.upgrade()
	server.reload()
	server.upgrade()
	for _ in range(4):
		with client.Client.tls(server.ports["tls"], context=context, session=session) as c:
			assert c.sock.session_reused and c.get("/").status == 200


def test_upload_is_seen_across_an_upgrade(h2d):
	"""A worker of the old program stores a file when the new one serves: both answer with the new bytes at once."""
	server = h2d(server='upload-dir = "files"  upload-public = true', files={"files/a": "old"}, image=True)
	with server.connect() as c:
		stream = c.send("PUT", "/files/a", end=False)
		c.send_body(stream, b"n", end=False)
		c.ping()
		server.upgrade()
		server.wait_image()
		c.send_body(stream, b"ew")
		assert c.response(stream).status == 204
		with server.connect() as other:
			assert other.get("/files/a").body == b"new"


# --- failures ---------------------------------------------------------------------------------------------------------


def nothing_changed(server, before):
	assert server.process.poll() is None and lock_holder(server.pid_path)
	with open(server.pid_path) as f:
		assert int(f.read()) == server.pid
	after = server.status()
	for key in ("generation",):
		assert after[key] == before[key]
	assert {w["pid"] for w in after["workers"]} == {w["pid"] for w in before["workers"]}
	for how in [*server.ports, "unix"]:
		with server.connect(how) as c:
			assert c.get("/").status == 200
	procs.wait_for(lambda: sorted(procs.group_members(server.pid))
		== sorted([server.pid, *server.children()]), said="the other program is gone")


FAILING = {
	"no program": ("not a program\n", r"cannot run .*/h2d: Exec format error"),
	"leaves": ("#!/bin/sh\nexit 1\n", r"the new program exited without a message"),
	"is killed": ("#!/bin/sh\nkill -9 $$\n", r"the new program exited without a message"),
	"is another": ("#!/bin/true\n", r"the new program exited without a message"),
	"leaves a child": ("#!/bin/sh\nsleep 600 &\necho $! > %s/child\nexit 1\n", r"the new program exited without a message"),
}


@pytest.mark.parametrize("what", FAILING)
def test_a_program_that_fails(own, what):
	# With the image the master has a pipe more.
	server = own(workers=2, listens=("tcp", "tls", "unix"), image=True)
	text, pattern = FAILING[what]
	text = text.replace("%s", server.dir)
	before = server.status()
	kinds = server.settled_kinds(server.pid)
	shutil.copy(own.binary, own.binary + ".good")
	own.replace(text)
	good = server.binary
	server.binary = srv.H2D  # of the command
	with server.connect("tls") as c:
		assert c.get("/").status == 200
		done = server.upgrade(check=1)
		assert "upgrade failed" in done.err and re.search(pattern, done.err), done.err
		server.log.wait(pattern)
		assert c.get("/").status == 200, "even connections live on"
	if os.path.exists(server.path("child")):
		with open(server.path("child")) as f:
			os.kill(int(f.read()), signal.SIGKILL)
	nothing_changed(server, before)
	procs.wait_for(lambda: procs.descriptor_kinds(server.pid) == kinds, said="no descriptor is left")
	os.rename(good + ".good", good)
	server.upgrade()


def test_a_program_that_is_gone(own):
	server = own(listens=("tcp", "unix"))
	before = server.status()
	os.unlink(own.binary)
	server.binary = srv.H2D
	done = server.upgrade(check=1)
	assert re.search("cannot run .*/h2d: No such file", done.err), done.err
	nothing_changed(server, before)
	assert "generation" in server.reload().out


def test_a_fault_in_the_configuration(h2d):
	server = h2d(workers=2, listens=("tcp", "tls", "unix"), image=True)
	before = server.status()
	for text in (server.conf_text + "nonsense = 1\n", server.conf_text.replace(server.root, "/nowhere")):
		server.put_conf(text)
		done = server.run("--pid-file", server.pid_path, "-s", "upgrade", check=1)
		assert re.search(r"h2d\.conf:\d+: ", done.err), done.err
		server.log.wait("upgrade failed; process %d keeps serving" % server.pid)
		nothing_changed(server, before)
	server.put_conf(server.conf_text)
	server.upgrade()


def test_an_address_that_is_taken(h2d):
	"""Workers of the new program are not started, and its own sockets go with it."""
	server = h2d(listens=("tcp", "unix"))
	before = server.status()
	with socket.socket() as other:
		other.bind(("127.0.0.1", 0))
		other.listen(1)
		server.put_conf('listen "127.0.0.1:%d" { tls = false }\nlisten "unix:%s" {}\n' % (
			other.getsockname()[1], server.path("new.sock")) + server.conf_text)
		done = server.upgrade(check=1)
	assert "in use" in done.err, done.err
	nothing_changed(server, before)
	procs.wait_for(lambda: not os.path.exists(server.path("new.sock")), said="the socket is gone")


def test_listeners_change(h2d):
	"""The new configuration has another address instead of two."""
	server = h2d(workers=2, listens=("tcp", "unix"))
	seen = len(server.log.lines)
	server.put_conf(server.conf_text.replace("127.0.0.1:0", "127.0.0.2:0").replace(
		'listen "unix:%s"' % server.unix_path, 'listen "unix:%s"' % server.path("new.sock")))
	server.upgrade()
	port = int(re.search(r"127\.0\.0\.2:(\d+)", server.log.wait(r"listening on 127\.0\.0\.2:\d+",
		since=seen)[0]).group(1))
	with socket.create_connection(("127.0.0.2", port), procs.DEADLINE) as s:
		assert client.Client(s).get("/").status == 200
	procs.wait_for(server.refuses, said="the old port is closed")
	procs.wait_for(lambda: not os.path.exists(server.unix_path), said="the old socket's file is unlinked")
	assert procs.listens(server.path("new.sock"))


def test_stop_before_the_new_program_has_said_who_it_is(own):
	"""Both signals wait for the master, which starts it and gives it up in one go: nobody is left behind."""
	server = own(listens=("tcp",))
	own.replace("#!/bin/sh\nexec sleep 600\n")
	server.signal(signal.SIGSTOP)
	procs.wait_for(lambda: procs.stopped(server.pid), said="the master stands still")
	for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGCONT):
		server.signal(number)
	server.log.wait("upgrade: h2d is stopping")
	assert server.wait_exit() == 0
	procs.wait_for(lambda: not procs.group_members(server.pid), said="nobody is left")


def test_the_old_master_dies_first(own, tmp_path):
	"""Before it has handed over: the new one leaves, as all children of a dead master do."""
	server = own(listens=("tcp",))
	held = str(tmp_path / "go")
	own.replace("#!/bin/sh\nwhile [ ! -e %s ]; do sleep 0.02; done\nexec %s \"$@\"\n" % (held, srv.H2D))
	server.signal(signal.SIGUSR2)
	server.log.wait("upgrading")
	server.expect_exit(-9)
	server.signal(signal.SIGKILL)
	with open(held, "w"):
		pass
	server.wait_exit()
	procs.wait_for(lambda: not procs.group_members(server.pid), said="nobody is left")


@pytest.mark.parametrize("since", ["the start", "then"])
def test_a_status_file_that_cannot_be_written(h2d, since):
	"""The command says so, and upgrades once."""
	server = h2d.new()
	if since == "the start":
		os.mkdir(server.pid_path + ".status.new")
	server.start()
	if since == "then":
		os.mkdir(server.pid_path + ".status.new")
	done = server.upgrade(check=1)
	assert "another process has replaced %d" % server.pid in done.err and "is not written" in done.err, done.err
	assert server.find_heir()
	server.wait_up(2)
	assert server.status()["generation"] == 2 and len(server.log.wait("upgraded: pid")) == 1
	os.rmdir(server.pid_path + ".status.new")
	server.upgrade()


def asking(server, out):
	return Helper("storm.py", json.dumps(dict(ports=server.ports, size=0, digest="",
		roles=dict(again_and_again=8, busy=8))), out=out)


def goes_on(server, pid, generation):
	with open(server.pid_path) as f:
		assert int(f.read()) == pid
	assert lock_holder(server.pid_path)
	# A worker of the other one may take what waits before it leaves.
	procs.wait_for(lambda: server.status()["generation"] == generation, said="generation %d" % generation)


# Whoever is traced at its end: the leak checker is a tracer, too.
NO_LEAK_CHECK = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} if srv.SANITIZED else {}
PROCESSES = {"reuseport": 4, "acceptor": 5}  # who tries what the user may read, a keeper, two workers, an acceptor


@pytest.mark.parametrize("dispatch", PROCESSES)
def test_the_new_master_dies_at_each_step(h2d, tmp_path, dispatch):
	"""From "ready" to "taken": the old one goes on each time, and no client notices."""
	server = h2d(workers=2, dispatch=dispatch, listens=("tcp", "tls", "unix"), files={"small": "small"}, env=NO_LEAK_CHECK)
	server.baseline = None
	said = b""
	with asking(server, tmp_path / "out") as clients:
		while not said.startswith(b"taken"):
			n = len(server.log.find("upgrade failed"))
			with tracer.Steps(server.pid, PROCESSES[dispatch]) as steps:
				server.signal(signal.SIGUSR2)
				steps.wait_ready()
				for _ in range(n):
					said = steps.step()
					if said.startswith(b"taken"):  # it takes a turn of its loop more or less
						break
				steps.kill(steps.new)
				steps.wait(lambda: len(server.log.find("upgrade failed; process %d keeps serving" % server.pid)) > n,
					"the old one goes on")
			goes_on(server, server.pid, 1)
		server.upgrade()
		found = clients.stop()
	assert found["lost"] == [] and n > 5, found
	assert procs.listens(server.unix_path)
	harness.REPORT.append("upgrade, %s: the new master killed at %d steps, 0 of %d requests lost" % (
		dispatch, n, found["counts"]["requests"]))


def kill_old(server, dispatch, n, go):
	"""Kills the old master n system calls after the new one is about to say that it is ready, or, where go, after it has
	said "go" itself. Returns what it said by then. How many calls lie between the two differs by a turn of its loop."""
	with tracer.Steps(server.pid, PROCESSES[dispatch]) as steps:
		server.signal(signal.SIGUSR2)
		steps.wait_ready()
		said = [steps.take_old()]
		while go and said[-1] != b"go":
			said.append(steps.step())
		until = len(said) + n
		while len(said) <= until:
			said.append(steps.step())
		steps.kill(server.pid)
	return b" ".join(said[:-1])


@pytest.mark.parametrize("dispatch", PROCESSES)
def test_the_old_master_dies_before_go(h2d, tmp_path, dispatch):
	"""Nobody goes on then, and nobody stays behind."""
	n, said = 0, b""
	while b"go" not in said:
		server = h2d(workers=2, dispatch=dispatch, listens=("tcp", "tls", "unix"), files={"small": "small"}, env=NO_LEAK_CHECK)
		server.baseline = None
		with asking(server, tmp_path / "out"):
			said = kill_old(server, dispatch, n, go=False)
		if b"go" not in said:
			procs.wait_for(lambda: not procs.group_members(server.process.pid), said="all leave")
			n += 1
		else:
			procs.wait_for(server.find_heir, said="the new one goes on")
			server.wait_up(2)
	assert n > 0


@pytest.mark.parametrize("dispatch", PROCESSES)
def test_the_old_master_dies_at_each_step(h2d, tmp_path, dispatch):
	"""From "go" on the new one goes on, and no client notices."""
	n, said = 0, b""
	server = h2d(workers=2, dispatch=dispatch, listens=("tcp", "tls", "unix"), files={"small": "small"}, env=NO_LEAK_CHECK)
	server.baseline = None
	with asking(server, tmp_path / "out") as clients:
		while b"bye" not in said:
			said = kill_old(server, dispatch, n, go=True)
			procs.wait_for(server.find_heir, said="the new one goes on")
			server.wait_up(n + 2)
			goes_on(server, server.pid, n + 2)
			n += 1
		found = clients.stop()
	assert found["lost"] == [] and n > 5, found
	harness.REPORT.append("upgrade, %s: the old master killed at %d steps, 0 of %d requests lost" % (
		dispatch, n, found["counts"]["requests"]))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR2], ids=["HUP", "USR2"])
def test_the_old_master_stands_still(h2d, number):
	"""Between "go" and its last word, for longer than that is waited for: what it was asked for is done by the new one."""
	server = h2d(listens=("tcp",), workers=2, dispatch="reuseport", env=NO_LEAK_CHECK)
	server.baseline = None
	old = server.pid
	with tracer.Steps(old, PROCESSES["reuseport"]) as steps:
		server.signal(signal.SIGUSR2)
		steps.wait_ready()
		said = steps.take_old()
		while said != b"go":
			said = steps.step()
		steps.step()
		server.signal(number)
		steps.wait(lambda: server.log.find("process %d sent no final message" % old), "the new one goes on alone")
		steps.release(steps.new)
	assert server.find_heir()
	procs.wait_for(lambda: server.status()["generation"] == 3, said="it was asked, too")
	server.find_heir()


def test_process_1_refuses(h2d):
	probe = subprocess.run(["unshare", "-f", "-p", "--mount-proc", "true"], stderr=subprocess.PIPE)
	if probe.returncode:
		harness.skip_without("namespaces", probe.stderr.decode().strip())
	server = h2d.new()
	text = server.command

	def inside(*args):
		return (["unshare", "-f", "-p", "--mount-proc", "--kill-child"] if args[-2:-1] != ("-s",)
			else ["nsenter", "-t", str(server.children()[0]), "-p", "-m"]) + text(*args)
	server.command = inside
	server.start()
	done = server.run("-s", "upgrade", check=1)
	assert "process 1" in done.err, done.err
	assert server.status()["generation"] == 1
	os.kill(server.children()[0], signal.SIGQUIT)
	server.wait_exit()


# What hands over is of another version in this: it passes one thing more, and keys that nobody knows.
OF_ANOTHER_AGE = """#!/usr/bin/python3
import fcntl, os, sys
names = os.environ["LISTEN_FDNAMES"].split(":")
with open("%(said)s", "w") as f:
	f.write(" ".join(names))
n = len(names)
song = os.memfd_create("h2d-song", 0)
if song != 3 + n:
	os.dup2(song, 3 + n)
	os.close(song)
tickets = os.memfd_create("h2d-tickets-of-old")
os.write(tickets, b"x" * 100)
os.dup2(tickets, 3 + names.index("h2d/tickets"))
os.environ["LISTEN_FDS"] = str(n + 1)
os.environ["LISTEN_FDNAMES"] += ":h2d/song"
os.execv("%(program)s", sys.argv)
"""


def test_programs_of_other_ages(own):
	"""A descriptor that only a newer program knows is closed; keys of tickets in another form are made anew."""
	server = own(listens=("tcp", "tls"), image=True)
	said = server.path("said")
	shutil.copy(own.binary, own.binary + ".real")
	own.replace(OF_ANOTHER_AGE % {"said": said, "program": own.binary + ".real"})
	server.binary = srv.H2D
	server.upgrade()
	with open(said) as f:
		names = {name for name in f.read().split(" ") if name}
	assert {name for name in names if not re.search(r"_\d+/any$|^h2d/unix/\d+/\d+$", name)} == {
		"h2d/upgrade", "h2d/tickets", "h2d/pid-file", "h2d/reign", "h2d/doubts", "h2d/keeper"}
	assert not [name for name in procs.descriptors(server.heir).values() if "song" in name or "of-old" in name]
	server.log.wait(r"\(h2d/song\) not used: ")
	server.log.wait("session tickets: old keys are unusable")
	for how in server.ports:
		with server.connect(how) as c:
			assert c.get("/").status == 200
	os.rename(own.binary + ".real", own.binary)
	server.upgrade()


def test_argv_environment_and_folder(own, tmp_path):
	"""As at the first start, whatever comes between; what was for one process alone is not passed on."""
	server = own(env={"MARK": "1", "LISTEN_PID": "1", "LISTEN_FDS": "3", "WATCHDOG_PID": "77"})

	def look():
		with open("/proc/%d/environ" % server.pid, "rb") as f:
			env = dict(v.split(b"=", 1) for v in f.read().split(b"\0") if v)
		with open("/proc/%d/cmdline" % server.pid, "rb") as f:
			return f.read(), os.readlink("/proc/%d/cwd" % server.pid), env
	argv, cwd, env = look()
	for _ in range(2):
		server.upgrade()
		now = look()
		assert now[:2] == (argv, cwd)
		added = {k: v for k, v in now[2].items() if env.get(k) != v}
		assert added.pop(b"WATCHDOG_PID") == b"%d" % server.pid
		assert added.pop(b"LISTEN_PID") == b"%d" % server.pid
		assert set(added) == {b"H2D_UPGRADE", b"LISTEN_FDS", b"LISTEN_FDNAMES"} and not set(env) - set(now[2])


@pytest.mark.parametrize("value", ["", "1", "1 2 0 3", "x"])
def test_a_variable_from_nowhere(h2d, value):
	server = h2d.new(env={"H2D_UPGRADE": value})
	server.expect_exit(1)
	server.spawn()
	assert server.wait_exit() == 1
	server.log.wait("H2D_UPGRADE is not from a running h2d")
