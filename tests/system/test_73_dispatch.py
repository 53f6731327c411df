"""dispatch = acceptor: who accepts, who gets a connection, and what deaths and reloads cost."""
import contextlib
import json
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest
from hyperframe import frame as hf

import harness
import procs
import server as srv

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = bytes(1 << 20)
LEAVING = 64  # at most, beside worker-connections
CREDITS = 16  # connections that may wait in an inbox
IN_HAND = 64  # at most that many are accepted before they are sent
KILLS = int(os.environ.get("H2D_DISPATCH_KILLS", "8"))


@pytest.fixture
def acceptor(h2d):
	"""Starts a server with an acceptor process."""
	def start(**options):
		return h2d(dispatch="acceptor", **options)
	return start


def status_pids(status):
	return [status["acceptor"]] + [w["pid"] for w in status["workers"]]


def clients(server):
	"""{slot: connections that are not an admin's}"""
	return {slot: w["clients"] for slot, w in server.live_workers().items()}


@contextlib.contextmanager
def fleet(server, count=50, *options):
	"""Clients that ask without pause; a dictionary that has what they counted, once it is over."""
	result = {}
	process = subprocess.Popen([sys.executable, os.path.join(HERE, "fleet.py"), str(count),
		"tcp:%d" % server.ports["tcp"], "tls:%d" % server.ports["tls"], *options],
		stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	try:
		assert process.stdout.readline().strip() == "running"
		procs.wait_for(lambda: server.status()["totals"]["requests"] > 500, said="load")
		server.baseline = None
		yield result
	finally:
		process.stdin.close()
	result.update(json.loads(process.stdout.read()))
	assert process.wait(procs.DEADLINE) == 0


# --- the processes --------------------------------------------------------------------------------

def test_the_acceptor_alone_accepts(acceptor):
	"""It holds the public listeners, and nothing else of the server."""
	server = acceptor(workers=3, image=True)
	status = server.status()
	assert status["dispatch"] == "acceptor" and status["acceptor"] in server.children()
	listening = procs.listening_inodes()
	ports = set(server.ports.values())

	def public(pid):
		return sorted(listening[i] for i in procs.sockets(pid) if listening.get(i) in ports)
	assert public(status["acceptor"]) == sorted(ports)
	for pid in server.worker_pids() + [status["keeper"]]:
		assert public(pid) == []
	kinds = procs.descriptor_kinds(status["acceptor"])
	assert kinds["socket"] == 2 + 2 * 3 + 1, "listeners, both ends of each inbox, the master"
	assert set(kinds) <= {"socket", "pipe", "/dev/null", "anon_inode:[eventpoll]",
		"anon_inode:[signalfd]", server.path("stdout")}, kinds


def test_workers_take_turns(acceptor):
	"""Whatever the listener."""
	server = acceptor(workers=4, listens=("tcp", "tls", "unix"))
	raws = []
	for how in ("tcp", "tls", "unix") * 4:
		raws += server.ask(1, how)
		assert raws[-1].status_of(1) == 200
	assert clients(server) == dict.fromkeys(range(4), 3)
	for raw in raws:
		raw.close()


def test_peers_that_are_gone(acceptor):
	"""Connections that were reset before a worker has them cost nothing."""
	server = acceptor(workers=1, listens=("tcp",))
	with procs.paused(*server.worker_pids()):
		for _ in range(40):
			with server.socket("tcp") as s:
				s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
	srv.hear(server.ask(1))


# --- credits --------------------------------------------------------------------------------------

def test_no_more_wait_than_the_credits(acceptor):
	"""Workers that stand still get 16 each; the others wait in the listener's queue."""
	server = acceptor(workers=2, listens=("tcp",))
	with procs.paused(*server.worker_pids()):
		raws = server.ask(100)
		procs.wait_for(lambda: procs.queued(server.ports["tcp"]) == 100 - 2 * CREDITS,
			said="what is left in the queue")
	srv.hear(raws)


def test_a_worker_that_stands_still_is_passed_by(acceptor):
	"""It gets 16, of which none is lost; the others are served meanwhile."""
	server = acceptor(workers=2, listens=("tcp",))
	with procs.paused(server.live_workers()[0]["pid"]):
		raws = server.ask(60)
		procs.wait_for(lambda: procs.queued(server.ports["tcp"]) == 0, said="all are accepted")
		for raw in raws:
			raw.sock.settimeout(0.0)
		heard = []

		def most():
			for raw in [r for r in raws if r not in heard]:
				try:
					if raw.sock.recv(1, socket.MSG_PEEK):
						heard.append(raw)
				except BlockingIOError:
					pass
			return len(heard) >= 60 - CREDITS  # all of them, once a neighbour reads its inbox
		procs.wait_for(most, said="44 answers")
	srv.hear(raws)


def test_past_worker_connections(acceptor):
	"""They wait, in the inbox and behind it, or come in for others that leave; nobody is lost, all are answered."""
	server = acceptor(workers=1, conf="worker-connections = 16", listens=("tcp",),
		files={"large": LARGE})

	def download():
		raw = server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000})
		raw.send(raw.headers(1, raw.head("/large")))
		return raw
	held = [download() for _ in range(16)]
	for raw in held:
		assert raw.status_of(1) == 200
	waiting = [download() for _ in range(40)]
	# One that comes in before it has asked is told to leave for the next one, and is answered all the same.
	procs.wait_for(lambda: procs.queued(server.ports["tcp"]) >= 40 - 1 - CREDITS or clients(server)[0] > 16,
		said="they wait, or others leave")
	assert clients(server)[0] <= 16 + LEAVING
	assert server.status()["totals"]["accept_failures"] == 0
	for raw in held:
		raw.close()
	for raw in waiting:
		assert raw.status_of(1) == 200
		raw.close()


# --- deaths ---------------------------------------------------------------------------------------

def test_what_waits_survives_a_worker(acceptor):
	"""The next one in the slot reads on."""
	server = acceptor(workers=1, listens=("tcp",))
	pid = server.worker_pids()[0]
	with procs.paused(pid):
		raws = server.ask(50)
		procs.wait_for(lambda: procs.queued(server.ports["tcp"]) == 50 - CREDITS, said="16 wait")
		os.kill(pid, signal.SIGKILL)
	srv.hear(raws)


def test_a_neighbour_reads_the_inbox_of_an_empty_slot(acceptor):
	"""What waits there is not left until a slot that rests between crashes has a worker again."""
	server = acceptor(workers=2, listens=("tcp",))
	for _ in range(8):  # with longer and longer rests, of 16 s at last
		pid = procs.wait_for(lambda: server.live_workers().get(0), said="worker 0")["pid"]
		since = len(server.log.find("signal 9"))
		with procs.paused(pid):
			raws = server.ask(4)
			procs.wait_for(lambda: procs.queued(server.ports["tcp"]) == 0, said="accepted")
			os.kill(pid, signal.SIGKILL)
		procs.wait_for(lambda: len(server.log.find("signal 9")) > since, said="the death")
		srv.hear(raws)
		if 0 not in server.live_workers():
			break
	else:
		raise AssertionError("all were answered only when the slot had a worker again")
	server.wait_up()
	server.baseline = None


def test_acceptor_killed(acceptor):
	"""Nobody who is connected notices, and who connects finds another within 100 ms."""
	server = acceptor(workers=2, listens=("tcp",))
	raws = server.ask(10)
	for raw in raws:
		assert raw.status_of(1) == 200
	took = []
	for _ in range(6):
		pid = server.acceptor()
		with procs.paused(pid):
			begin = time.monotonic()
			os.kill(pid, signal.SIGKILL)
		srv.hear(server.ask(5))
		took.append(time.monotonic() - begin)
		procs.wait_for(lambda: server.status()["acceptor"] not in (0, pid), said="another")
	for raw in raws:
		raw.send(raw.headers(3))
		assert raw.status_of(3) == 200
		raw.close()
	assert sorted(took)[2] < 5 * srv.SLOW, took
	server.baseline = None


def test_kills_under_load(acceptor):
	"""Random workers and the acceptor: what a worker had is lost, and what the acceptor had in hand."""
	server = acceptor(workers=4)
	dice = random.Random(7)
	had = 0
	with fleet(server, 24, "--deaths") as result:
		for i in range(KILLS):
			status = server.wait_up()
			pid = dice.choice(status["workers"])["pid"] if i % 4 < 3 else server.acceptor()
			with procs.paused(pid):
				status = server.status()
				had += sum(w["clients"] for w in status["workers"] if w["pid"] == pid)
				had += IN_HAND if i % 4 == 3 else 0
				os.kill(pid, signal.SIGKILL)
			procs.wait_for(lambda: pid not in status_pids(server.status()), said="the master saw it")
			requests = server.status()["totals"]["requests"]
			procs.wait_for(lambda: server.status()["totals"]["requests"] > requests + 200,
				said="it goes on")
	assert result["failures"] == 0, result
	assert 0 < result["cut"] <= had, (had, result)
	harness.REPORT.append("kill -9 under load: %d kills, %d connections cut of %d that the dead had, "
		"%d requests, 0 failures" % (KILLS, result["cut"], had, result["requests"]))


# --- balance --------------------------------------------------------------------------------------

# While the acceptor stands still nobody takes its place, however long that is.
AT_ONCE = "balance = least-connections  worker-watchdog = 0"


@contextlib.contextmanager
def at_once(server, count):
	"""That many connections, all on their way before the first is accepted."""
	made = []
	try:
		with procs.paused(server.acceptor()):
			made += [server.socket("tcp") for _ in range(count)]
		procs.wait_for(lambda: sum(clients(server).values()) == count, said="all are taken")
		yield sorted(clients(server).values())
	finally:
		for s in made:
			s.close()
		procs.wait_for(lambda: not any(clients(server).values()), said="all are gone")


@pytest.fixture
def descriptors():
	"""Of this process: for a thousand connections, beside all that pytest has open."""
	soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
	resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
	yield
	resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_least_connections(acceptor, descriptors):
	"""Eight at once on four workers: two each, every time; of a thousand, forty at a time, each has its quarter."""
	server = acceptor(workers=4, listens=("tcp",), conf=AT_ONCE)
	for _ in range(10):
		with at_once(server, 8) as counts:
			assert counts == [2, 2, 2, 2]
	with contextlib.ExitStack() as held:
		for n in range(40, 1001, 40):
			for _ in range(40):
				held.enter_context(server.socket("tcp"))
			procs.wait_for(lambda: sum(clients(server).values()) == n, said="%d are taken" % n)
		counts = sorted(clients(server).values())
		assert counts[-1] <= 1.1 * counts[0], counts
	harness.REPORT.append("least-connections, 1000 on 4 workers: %r" % counts)


def test_least_connections_of_a_thousand_at_once(acceptor, descriptors):
	"""None of them is accepted before the last has come: workers that fall behind are waited for."""
	server = acceptor(workers=4, listens=("tcp",), conf=AT_ONCE)
	tries = []

	def is_even():  # a worker that had no processor for 100 ms is not waited for
		with at_once(server, 1000) as counts:
			tries.append(counts)
		return counts[-1] <= 1.1 * counts[0]
	assert procs.mostly(is_even), tries
	harness.REPORT.append("least-connections, 1000 at once on 4 workers: %r" % tries)


def test_source_hash(acceptor):
	"""An address stays with its worker; a worker that comes takes its share and moves nothing else."""
	def workers_of(server):
		found = {}
		for n in range(1, 25):
			before = clients(server)
			s = socket.create_connection(("127.0.0.1", server.ports["tcp"]), srv.DEADLINE,
				source_address=("127.0.1.%d" % n, 0))
			after = procs.wait_for(lambda: clients(server) != before and clients(server))
			found[n] = next(slot for slot in after if after[slot] != before[slot])
			s.close()
			procs.wait_for(lambda: clients(server) == before)
		return found
	server = acceptor(workers=3, listens=("tcp",), conf="balance = source-hash")
	first = workers_of(server)
	assert set(first.values()) == {0, 1, 2}
	assert workers_of(server) == first
	server.put_conf(server.conf_text.replace("worker-processes = 3", "worker-processes = 4"))
	server.workers = 4
	server.reload()
	server.wait_up(2)
	second = workers_of(server)
	moved = {n for n in first if second[n] != first[n]}
	assert 0 < len(moved) < 20 and {second[n] for n in moved} == {3}


def test_a_balance_of_the_other_dispatch(h2d):
	server = h2d.new(conf="dispatch = acceptor\nbalance = cpu", dispatch="")
	done = server.run("-t", check=1)
	assert "for dispatch = acceptor, not cpu" in done.err, done.err


# --- reloads --------------------------------------------------------------------------------------

def in_mode(server, mode):
	return "dispatch = %s\n" % mode + server.conf_text


def test_switching(h2d):
	"""By HUP under load, there and back again: no failed request."""
	server = h2d.new(dispatch="", workers=2)
	server.put_conf(in_mode(server, "reuseport"))
	server.start()
	with fleet(server, 30) as result:
		for i in range(6):
			mode = ("acceptor", "reuseport")[i % 2]
			server.put_conf(in_mode(server, mode))
			server.reload()
			status = server.wait_up(i + 2)
			assert status["dispatch"] == mode
			requests = status["totals"]["requests"]
			procs.wait_for(lambda: server.status()["totals"]["requests"] > requests + 200,
				said="it goes on")
	assert result["failures"] == 0, result


def test_a_reload_takes_what_waits_along(acceptor):
	"""What waits in the inbox of a worker that stands still, and behind it, is answered by the next generation; that
	worker may die then."""
	server = acceptor(workers=2, listens=("tcp",))
	old = server.worker_pids()
	with procs.paused(*old):
		raws = server.ask(60)
		procs.wait_for(lambda: procs.queued(server.ports["tcp"]) == 60 - 2 * CREDITS, said="16 wait in each")
		server.reload()
		srv.hear(raws)
		os.kill(old[0], signal.SIGKILL)
	server.log.wait("generation 1 exited: .* 0 refused")
	server.wait_up(2)


def test_reloads_leave_many_inboxes(acceptor):
	"""Those of several generations whose workers stand still are read all at once, and by the next worker if the one
	that reads them dies."""
	server = acceptor(workers=2, listens=("tcp",))
	with contextlib.ExitStack() as still:
		for generation in (2, 3, 4):
			still.enter_context(procs.paused(*(w["pid"] for w in server.live_workers().values())))
			raws = server.ask(20)
			procs.wait_for(lambda: procs.queued(server.ports["tcp"]) == 0, said="they wait in the inboxes")
			server.reload()
			srv.hear(raws)
			killed = set(server.worker_pids())
			for pid in killed:
				os.kill(pid, signal.SIGKILL)
			procs.wait_for(lambda: len(set(server.worker_pids()) - killed) == 2, said="the next workers of the same slots")
	server.wait_up(4)
	server.baseline = None