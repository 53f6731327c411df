"""Deaths of processes, the end, descriptors and rights."""
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest
from hyperframe import frame as hf

import procs
import server as srv
import tracer
from harness import needs_root

SLOTS = 1024  # of the scoreboard
LARGE = os.urandom(1 << 16) * 64


# --- deaths -------------------------------------------------------------------------------------

def test_killed_worker_is_back(h2d):
	"""The first three without a rest: who connects meanwhile waits for no more than its start."""
	server = h2d(workers=1)
	for n in range(3):
		pid = server.worker_pids()[0]
		os.kill(pid, signal.SIGKILL)
		with server.connect("tcp") as c:
			assert c.get("/").status == 200
		server.wait_up()
		assert server.worker_pids() != [pid]
		server.log.wait("signal 9", count=n + 1)
	assert rests(server) == []
	server.wait_image()


def test_others_do_not_notice_a_death(h2d):
	server = h2d(workers=2, listens=("tcp",))
	raws = server.asked(40)
	workers = {w["slot"]: w for w in server.wait_connections(40)["workers"]}
	assert min(w["connections"] for w in workers.values()) > 3
	os.kill(workers[0]["pid"], signal.SIGKILL)
	alive = 0
	for raw in raws:
		try:
			raw.send(raw.headers(3))
			alive += raw.status_of(3) == 200
		except OSError:
			pass
		raw.close()
	assert alive >= workers[1]["connections"] - 1
	server.wait_up()
	after = server.live_workers()
	assert after[1]["pid"] == workers[1]["pid"] and after[0]["pid"] != workers[0]["pid"]


def test_queued_connections_survive_a_death(h2d):
	server = h2d(workers=1, listens=("tcp",))
	pid = server.worker_pids()[0]
	with procs.paused(pid):
		raws = server.ask(50)
		os.kill(pid, signal.SIGKILL)
	srv.hear(raws)


def rests(server):
	"""For how many ms slots were to stay empty; deaths that are mended at once are not among them."""
	return [int(re.search(r"in (\d+) ms", line).group(1)) for line in server.log.find(r"restarting the process in \d+ ms")]


def kill_until_it_rests(server, ms):
	"""Kills the worker of slot 0 until the slot stays empty for that long at least."""
	def next_one():
		return max(rests(server), default=0) >= ms or server.live_workers().get(0, {"pid": pid})["pid"] != pid
	while max(rests(server), default=0) < ms:
		pid = procs.wait_for(lambda: server.live_workers().get(0), said="worker 0")["pid"]
		os.kill(pid, signal.SIGKILL)
		procs.wait_for(next_one, said="another worker, or a rest")


def test_an_empty_slot_lends_its_socket(h2d):
	"""A worker that rests between crashes costs new connections nothing, and its socket comes back."""
	server = h2d(workers=2, listens=("tcp",))
	for ms in (4000, 8000, 16000):
		kill_until_it_rests(server, ms)
		for raw in server.asked(40):
			raw.close()
		if 0 not in server.live_workers():
			break
	else:
		raise AssertionError("all were answered only when the slot had a worker again")
	server.wait_up()
	neighbour = server.live_workers()[1]["pid"]
	inodes = lambda pid: {i for i in procs.sockets(pid) if i in procs.listening_inodes()}
	procs.wait_for(lambda: not inodes(neighbour) & inodes(server.live_workers()[0]["pid"]),
		said="the socket is given back")
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	server.baseline = None


def test_keeper_dies(h2d):
	"""It costs nothing but the next image."""
	server = h2d()
	keeper = server.keeper()
	assert keeper in server.children()
	os.kill(keeper, signal.SIGKILL)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	procs.wait_for(lambda: server.status()["keeper"] not in (0, keeper), said="another keeper")
	server.wait_image()
	server.baseline = None


def test_master_killed(h2d):
	"""Workers and keeper leave, after what they have; the port is free again."""
	server = h2d(workers=2, files={"large": LARGE})
	with server.held() as raw:
		children = server.children()
		assert len(children) == 3 + server.acceptors
		os.kill(server.pid, signal.SIGKILL)
		server.process.wait()
		server.expect_exit(-signal.SIGKILL)
		raw.until_type(hf.GoAwayFrame)
		raw.rest()
	procs.wait_for(lambda: not any(procs.running(p) for p in children), said="the children leave")
	with pytest.raises(ConnectionRefusedError):
		server.socket("tcp")
	second = h2d.new()
	second.put_conf(second.conf_text.replace(second.pid_path, server.pid_path)
		.replace(second.admin_path, server.admin_path))
	second.admin_path = server.admin_path
	second.start()  # takes the pid file and the stale socket over


@pytest.mark.parametrize("dispatch, who", [("reuseport", "worker"), ("acceptor", "worker"), ("acceptor", "acceptor")])
def test_master_killed_before_a_process_is_up(h2d, dispatch, who):
	"""One that the master has just started in the place of another serves what waits there, and leaves."""
	server = h2d(workers=1, dispatch=dispatch, listens=("tcp",), files={"small": "small"})
	pid = server.worker_pids()[0] if who == "worker" else server.acceptor()
	with procs.paused(pid), tracer.Forks(server.pid) as forks:
		raws = server.ask(300, path="/small")
		os.kill(pid, signal.SIGKILL)
		forks.wait_held(1)
		forks.kill(server.pid)
	server.expect_exit(0)  # the tracer has taken its status
	srv.hear(raws)
	procs.wait_for(lambda: not procs.group_members(server.process.pid), said="all leave")


def listening_in(pid, port):
	"""Whether a process holds a listening socket of this port."""
	listening = procs.listening_inodes()
	return any(listening.get(inode) == port for inode in procs.sockets(pid))


# --- the end ------------------------------------------------------------------------------------

def test_quit_finishes_a_download(h2d, how):
	server = h2d(files={"large": LARGE}, workers=2)
	with server.held(how) as raw:
		server.signal(signal.SIGQUIT)
		assert raw.until_type(hf.GoAwayFrame) is not None
		procs.wait_for(lambda: server.refuses(how), said="no new connections")
		assert server.process.poll() is None
		assert raw.rest() == LARGE
	assert server.wait_exit() == 0


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_term_stops_at_once(h2d, name):
	server = h2d(conf="shutdown-timeout = 600", files={"large": LARGE}, workers=2)
	with server.held() as raw:
		server.signal(name)
		assert server.wait_exit() == 0
		assert raw.until(lambda f: False) is None


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_shutdown_delay(h2d, dispatch):
	"""Health says 503, and everything is served as ever; another QUIT begins the drain."""
	server = h2d(conf="shutdown-delay = 600", workers=2, dispatch=dispatch)
	server.baseline = None

	def health():
		with server.connect() as c:
			return c.get("/healthz").status
	with server.connect() as held:
		assert held.get("/healthz").status == 200
		server.signal(signal.SIGQUIT)
		procs.wait_for(lambda: {health() for _ in range(8)} == {503}, said="health of both workers")
		server.signal(signal.SIGHUP)  # too late
		os.kill(server.worker_pids()[0], signal.SIGKILL)
		server.wait_up()
		procs.wait_for(lambda: {health() for _ in range(8)} == {503}, said="health of the next worker")
	for _ in range(2):
		with server.connect("tls") as c:
			assert c.get("/").status == 200
			assert c.get("/").status == 200 and c.goaway is None
	server.signal(signal.SIGQUIT)
	assert server.wait_exit() == 0
	assert not server.log.find("reloading")


@pytest.mark.parametrize("name", ["HUP", "QUIT", "master killed"])
def test_leaves_without_descriptors(h2d, name):
	"""A worker that has no descriptor left to accept with leaves all the same, and does not crash."""
	def few():
		resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
	server = h2d.new(conf="shutdown-timeout = 1", listens=("unix", "tcp"), preexec=few)
	lines = server.conf_text.splitlines(keepends=True)
	lines.sort(key=lambda line: not line.startswith('listen "unix:' + server.unix_path))
	server.put_conf("".join(lines))
	server.start()
	server.baseline = None
	worker = server.worker_pids()[0]
	clients = []
	for _ in range(60):
		s = socket.socket(socket.AF_UNIX)
		s.connect(server.unix_path)
		clients.append(s)
	server.log.wait("limit of descriptors .* reached|(accept|inbox): Too many open files")
	if name == "master killed":
		server.expect_exit(-signal.SIGKILL)
		os.kill(server.pid, signal.SIGKILL)
		server.process.wait()
	else:
		server.signal(getattr(signal, "SIG" + name))
	procs.wait_for(lambda: not procs.running(worker), said="the worker leaves")
	if name == "QUIT":
		server.wait_exit()
	for s in clients:
		s.close()
	assert not server.log.find("signal (6|11)|Sanitizer"), "it crashed"


@pytest.mark.parametrize("descriptors", [None, 64], ids=["", "few descriptors"])
@pytest.mark.parametrize("end", ["QUIT", "removed"])
def test_queue_is_taken_before_the_end(h2d, end, descriptors):
	"""All that waits in a queue that nobody else will serve is answered: many times an accept budget of it."""
	def few():
		if descriptors:
			resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
	server = h2d.new(workers=1, listens=("tcp",), preexec=few)
	server.start()
	server.baseline = None
	pid = server.worker_pids()[0]
	with procs.paused(pid):
		raws = server.ask(300)
		if end == "QUIT":
			server.signal(signal.SIGQUIT)
		else:
			server.put_conf(server.conf_text.replace("127.0.0.1:0", "127.0.0.2:0"))
			server.hup()
			server.log.wait("serving: generation 2")
		procs.wait_for(lambda: not listening_in(server.pid, server.ports["tcp"]), said="the master lets go")
	for raw in raws:
		assert raw.status_of(1) in ((200, 503) if descriptors else (200,))  # a file needs one, too
		raw.close()
	procs.wait_for(lambda: not procs.running(pid), said="the worker leaves")
	if end == "QUIT":
		server.wait_exit()
	else:
		server.quit()


# --- descriptors and rights -----------------------------------------------------------------------

def test_descriptor_lists(h2d):
	"""Each process holds what is on its list; a slot's listener is held by its worker and the master only."""
	server = h2d(image=True, conf='access-log = "access.log"', workers=3, dispatch="reuseport")
	listening = procs.listening_inodes()
	ports = set(server.ports.values())
	owners = {}
	workers = server.live_workers()
	keeper = server.keeper()
	for slot, worker in workers.items():
		mine = [i for i in procs.sockets(worker["pid"]) if listening.get(i) in ports]
		assert sorted(listening[i] for i in mine) == sorted(ports), "one of each port"
		for inode in mine:
			assert inode not in owners, "shared between workers"
			owners[inode] = slot
	assert set(owners) <= set(procs.sockets(server.pid)), "the master keeps them"
	assert not set(owners) & set(procs.sockets(keeper))
	for pid in [w["pid"] for w in workers.values()] + [keeper]:
		kinds = procs.descriptor_kinds(pid)
		for name in kinds:
			assert not name.endswith((".key", ".crt", ".conf", ".pid")), (pid, name)
		wrong = [name for name in kinds if not re.match(
			r"socket$|pipe$|anon_inode:|/memfd:|/dev/null|/proc/self/(?:statm|fd)$|%s($|/)|.*access\.log|.*stdout$" % re.escape(server.root), name)]
		assert not wrong, (pid, kinds)
		assert kinds["anon_inode:[eventpoll]"] <= 1


def test_scoreboard_is_everybodys_to_read_only(h2d):
	"""The master alone holds its descriptors; a worker can write its own slot and never another, a keeper none."""
	server = h2d(image=True, workers=2)
	workers, keeper = [w["pid"] for w in server.live_workers().values()], server.keeper()
	held = [name for name in procs.descriptors(server.pid).values() if name.startswith(procs.BOARD)]
	assert len(held) == 2
	written = set()
	for pid in workers + [keeper]:
		assert not [name for name in procs.descriptors(pid).values() if name.startswith(procs.BOARD)]
		pages = procs.board_pages(pid)
		own = [size for size, now, ever in pages if now]
		assert len(own) == (pid != keeper), (pid, pages)
		written.update(own)
		assert all(now == ever for _, now, ever in pages) and len(pages) > 0, (pid, pages)
	assert len(written) == 1 and written.pop() * SLOTS < sum(size for size, _, _ in pages), "a slot, and no more"


def test_descriptors_after_reloads(h2d):
	"""No descriptor is gathered over generations, in the master or the workers."""
	server = h2d(image=True, workers=2)
	before = server.status()["image"]
	server.reload()
	server.wait_up(2)
	server.wait_image(before)
	server.log.wait("generation 1 exited")
	server.wait_quiet()
	master = server.settled_kinds(server.pid)
	worker = server.settled_kinds(server.live_workers()[0]["pid"])
	for i in range(5):
		before = server.status()["image"]
		server.reload()
		server.wait_up(3 + i)
		server.wait_image(before)
	server.wait_quiet()
	procs.wait_for(lambda: procs.descriptor_kinds(server.pid) == master,
		said="master: %s, was %s" % (procs.descriptor_kinds(server.pid), master))
	pid = server.live_workers()[0]["pid"]
	procs.wait_for(lambda: procs.descriptor_kinds(pid) == worker,
		said="worker: %s, was %s" % (procs.descriptor_kinds(pid), worker))


def status_field(pid, name):
	with open("/proc/%d/status" % pid) as f:
		return re.search(r"^%s:\s*(.*)$" % name, f.read(), re.M).group(1)


def test_rights(h2d):
	"""Started as root the children are the user, whole; else `user` is ignored."""
	server = h2d(image=True, conf='user = "nobody"', workers=2)
	pids = server.children()
	assert len(pids) == 3 + server.acceptors
	for pid in pids:
		assert status_field(pid, "NoNewPrivs") == "1"
		if os.geteuid() == 0:
			assert status_field(pid, "Uid").split() == ["65534"] * 4
			assert set(status_field(pid, "Gid").split()) == {"65534"}
			assert "0" not in status_field(pid, "Groups").split()
			assert int(status_field(pid, "CapEff"), 16) == 0
		else:
			assert status_field(pid, "Uid").split() == [str(os.geteuid())] * 4
	with server.connect("tls") as c:
		assert c.get("/").status == 200


def test_notify(h2d):
	"""READY=1 after the last worker is up; STATUS and STOPPING follow."""
	server = h2d.new(workers=2)
	with server.notify_socket() as s:
		server.spawn()
		message = s.recv(4096).decode()
		assert "READY=1" in message.split("\n"), message
		server.wait_listening()
		status = server.status()
		assert [w["state"] for w in status["workers"]] == ["up", "up"]
		server.signal(signal.SIGHUP)
		seen = ""
		while "READY=1" not in seen.split("\n"):
			seen += s.recv(4096).decode() + "\n"
		server.wait_up(2)
		server.signal(signal.SIGQUIT)
		while "STOPPING=1" not in seen.split("\n"):
			seen += s.recv(4096).decode() + "\n"
		assert server.wait_exit() == 0


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
def test_yield(h2d, stored):
	"""The master leaves before a download ends, and takes nothing out of the store; without one that is a graceful end."""
	server = h2d.new(workers=2, files={"large": LARGE})
	with server.notify_socket(**({"FDSTORE": "512"} if stored else {})) as s:
		server.start()
		children = server.children()
		with server.held() as raw:
			server.signal(signal.SIGPWR)
			raw.until_type(hf.GoAwayFrame)
			if stored:
				assert server.wait_exit() == 0
			assert (server.process.poll() is None) != stored
			raw.rest()
		assert server.wait_exit() == 0
		procs.wait_for(lambda: not any(procs.running(p) for p in children), said="the children leave")
		while "STOPPING=1" not in s.recv(4096).decode():
			pass
		s.settimeout(0)
		with pytest.raises(BlockingIOError):
			while True:
				assert "FDSTOREREMOVE" not in s.recv(4096).decode()


def test_cpu_is_quiet_when_idle(h2d):
	"""Nobody spins: with idle connections open, half a second costs no CPU."""
	server = h2d(workers=2)
	raws = [server.raw(how) for how in ("tcp", "tls") * 5]
	for raw in raws:
		raw.send(raw.headers(1))
		assert raw.status_of(1) == 200
	server.wait_settled()
	pids = [server.pid] + server.children()
	before = sum(procs.cpu_seconds(p) for p in pids)
	time.sleep(0.5)
	assert sum(procs.cpu_seconds(p) for p in pids) - before <= 0.1 * srv.SLOW
	for raw in raws:
		raw.close()


def secrets(key):
	"""The private scalar of an EC key as memory may hold it: both byte orders, and lines of its PEM file."""
	text = subprocess.run(["openssl", "pkey", "-in", key, "-text", "-noout"], check=True,
		stdout=subprocess.PIPE, text=True).stdout
	scalar = bytes.fromhex(re.sub(r"[\s:]", "", re.search(r"priv:\s*([0-9a-f:\s]+)", text).group(1)))
	scalar = scalar[-32:]
	with open(key) as f:
		pem = [line.strip().encode() for line in f if "-----" not in line]
	return {scalar[4:28], scalar[::-1][4:28], pem[0][30:60], pem[1][:30]}


@needs_root("reads the memory of another user's process")
def test_keeper_has_no_private_key(h2d):
	"""Neither of its own generation nor, after reloads, of an older one that still drains."""
	server = h2d(image=True, conf='user = "nobody"', files={"large": LARGE})
	wanted = secrets(server.cert.key)
	assert procs.memory_has(server.worker_pids()[0], wanted), "the search finds a key where one is"
	assert not procs.memory_has(server.keeper(), wanted)
	with server.held() as raw:
		before = server.status()
		server.reload()
		assert server.keeper() != before["keeper"]
		# One that has just begun is still a copy of the master.
		procs.wait_for(lambda: server.status()["image"] > before["image"], said="its first image")
		assert not procs.memory_has(server.keeper(), wanted)
	assert not procs.memory_has(server.pid, {w for w in wanted if w.isascii()}), \
		"the text of the key file is left in the master's memory"
