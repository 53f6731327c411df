"""Nothing is lost while processes change: reloads, more and fewer workers, deaths.

By H2D_STORM=100 the storms have 100 HUPs, one every 100 ms, and 300 connections wait at each change of the worker
count; without it a fifth of that. What was counted is said at the end of the run.
"""
import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import random
import signal
import threading
import time

import pytest

import client
import harness
import procs
import server as srv
from procs import Helper
from storm import upload_body

HUPS = int(os.environ.get("H2D_STORM", "20"))
SCALE = 1 if HUPS >= 100 else 4  # fewer clients too
LARGE = os.urandom(1 << 16) * 128


def storm(server, out, **roles):
	return Helper("storm.py", json.dumps(dict(ports=server.ports, roles=roles, size=len(LARGE),
		digest=hashlib.sha256(LARGE).hexdigest())), out=out)


def test_busy_keep_alive_connections(h2d, tmp_path):
	"""A client of HTTP/1.1 that never repeats a request loses none: it is told, and comes again."""
	server = h2d(workers=2, files={"small": "small"})
	n = 800 // SCALE
	with storm(server, tmp_path / "out", busy=n) as clients:
		for generation in (2, 3):
			before = server.status()["totals"]["requests"]
			procs.wait_for(lambda: server.status()["totals"]["requests"] > before + 2 * n, said="load")
			server.hup()
			server.wait_up(generation)
		found = clients.stop()
	print(found["counts"])
	assert found["lost"] == []
	assert found["counts"]["closed"] >= n / 2, found


def serve(h2d, workers):
	server = h2d.new(workers=workers, conf="shutdown-timeout = 300",
		sections='limits { client-max-body-size = "1M" }',
		server='upload-dir = "files"  upload-public = true', files={"small": "small", "large": LARGE})
	os.mkdir(os.path.join(server.root, "files"))
	return server.start()


ROLES = dict(again_and_again=48 // SCALE, busy=16 // SCALE, download=24 // SCALE, upload=24 // SCALE)


def check_storm(server, found):
	print(found["counts"])
	assert found["lost"] == []
	for number in range(ROLES["upload"]):
		with open(os.path.join(server.root, "files", "storm%d" % number), "rb") as f:
			assert f.read() == upload_body("storm%d" % number)
	assert found["counts"]["downloads"] == ROLES["download"] and found["counts"]["uploads"] == ROLES["upload"]
	server.wait_quiet()
	procs.wait_for(lambda: len(server.log.find(" exited: ")) == server.status()["generation"] - 1,
		said="all generations but one are gone")
	assert not server.log.find(r"[1-9]\d* (cut|refused)|connections cut|reload failed|terminating the oldest")


@pytest.mark.slow
def test_storm_of_reloads(h2d, tmp_path):
	"""HUPs, one every 100 ms, under clients that reconnect for each request, ask without pause, or hold transfers that
	last longer: nothing fails, is reset or refused."""
	server = serve(h2d, 2)
	with storm(server, tmp_path / "out", **ROLES) as clients:
		server.baseline = None
		for i in range(HUPS):
			server.signal(signal.SIGHUP)
			time.sleep(0.1)
		for generation in (2, 3, 4):  # on a slow machine many HUPs are one reload
			procs.wait_for(lambda: server.status()["generation"] >= generation, said="generation %d" % generation)
			if generation < 4:
				server.hup()
		clients.go()
		found = clients.stop()
	server.wait_up()
	print("generation %d" % server.status()["generation"])
	check_storm(server, found)


def change(server, count):
	"""Another number of workers, while those that there are stand still, with connections in their queues."""
	with procs.paused(*server.worker_pids()):
		waiting = server.ask(300 // SCALE)
		server.put_conf(server.conf_text.replace("worker-processes = 4", "worker-processes = %d" % count))
		server.workers = count
		before = len(server.log.find("serving: generation"))
		server.signal(signal.SIGHUP)
		server.log.wait("serving: generation", count=before + 1)
		srv.hear(waiting)


@contextlib.contextmanager
def hups(server, n):
	"""n HUPs, one every 100 ms while fewer than 7 generations drain: the master cuts the oldest of more than 8, and here
	stopped workers keep many. The event is set after the last one."""
	over = threading.Event()

	def send():
		for _ in range(n):
			while len(server.log.find("serving: generation")) - len(server.log.find(" exited: ")) > 7:
				time.sleep(0.1)
			server.signal(signal.SIGHUP)
			time.sleep(0.1)
		over.set()
	thread = threading.Thread(target=send)
	thread.start()
	yield over
	thread.join()


@pytest.mark.slow
def test_storm_while_the_worker_count_changes(h2d, tmp_path):
	"""4 → 1 → 8 → 2 workers, with connections queued at each change, under the same clients; by H2D_STORM=100 again and
	again while HUPs come every 100 ms."""
	server = serve(h2d, 4)
	with storm(server, tmp_path / "out", **ROLES) as clients:
		server.baseline = None
		with hups(server, HUPS if SCALE == 1 else 0) as over:
			counts = itertools.cycle((1, 8, 2, 4))
			for n in itertools.count(1):
				change(server, next(counts))
				if n >= 3 and over.is_set():
					break
		clients.go()
		found = clients.stop()
	server.hup()
	server.wait_up()
	print("%d changes, generation %d" % (n, server.status()["generation"]))
	check_storm(server, found)


def no_bpf():
	"""As for a master that may not load eBPF: CAP_NET_ADMIN, CAP_SYS_ADMIN and CAP_BPF cannot be had any more."""
	libc = ctypes.CDLL(None, use_errno=True)
	for capability in (12, 21, 39):
		assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.mark.parametrize("migrates", [True, False], ids=["migrated", "emptied"])
def test_fewer_workers_have_fewer_sockets(h2d, tmp_path, migrates):
	"""The sockets of slots that are gone are closed, in every process, and nothing is lost by it."""
	root = os.geteuid() == 0
	if migrates and not root:
		harness.skip_without("root", "loads eBPF")
	server = h2d.new(workers=4, files={"small": "small"}, dispatch="reuseport",
		preexec=no_bpf if root and not migrates else None)
	if not migrates:  # the sanitizer's look for leaks needs a right that goes with it
		server.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
	server.start()
	assert len(server.listening(server.pid)) == 4
	with storm(server, tmp_path / "out", again_and_again=32) as clients:
		for count in (1, 6, 2):
			server.put_conf(server.conf_text.replace("worker-processes = 4", "worker-processes = %d" % count))
			server.workers = count
			server.reload()
			procs.wait_for(lambda: len(server.listening(server.pid)) == count, said="%d sockets" % count)
			server.wait_up()
			procs.wait_for(lambda: all(len(server.listening(pid)) == 1 for pid in server.worker_pids()),
				said="each worker has its own")
		found = clients.stop()
	print(found["counts"])
	assert found["lost"] == []
	with server.connect("tls") as c:
		assert c.get("/small").status == 200


def count_alive(raws):
	alive = 0
	for raw in raws:
		try:
			raw.send(raw.headers(3))
			alive += raw.status_of(3) == 200
		except (OSError, client.Closed):
			pass
		raw.close()
	return alive


def test_killed_processes(h2d):
	"""A worker that is killed takes its own connections with it and nothing else; new ones are answered at once, by the
	worker that follows or by a neighbour. The keeper takes nothing with it."""
	server = h2d(workers=4, listens=("tcp",))
	server.baseline = None
	took, lost = [], 0
	for i in range(20 // SCALE):
		procs.wait_for(lambda: len(server.live_workers()) >= 2, said="two workers")
		raws = server.asked(24)
		workers = server.live_workers()
		victim = random.choice(list(workers.values()))
		if i % 5 == 4:
			victim = dict(pid=server.keeper(), connections=0)
		start = time.monotonic()
		os.kill(victim["pid"], signal.SIGKILL)
		new = server.asked(16)
		took.append(time.monotonic() - start)
		alive = count_alive(raws)
		assert alive >= len(raws) - victim["connections"], (alive, workers)
		lost += len(raws) - alive
		assert count_alive(new) == len(new)
		server.keeper()
	took.sort()
	print("%d kills: %d connections with them; 16 new ones answered after %.0f ms at most, %.0f in the middle" % (
		len(took), lost, 1000 * took[-1], 1000 * took[len(took) // 2]))
	assert took[len(took) // 2] < 5 * srv.SLOW, took
	server.wait_up()


LATE = 3  # seconds: keepalive below, and H1_DRAIN_MS of src/proto/h1.h


def stopped_in_time(server, connect, drains):
	"""Stops a worker while its connections rest, for less than LATE seconds so far. It and they; they are more than it
	hears in a turn."""
	for _ in range(10):
		begun = time.monotonic()
		clients = [connect() for _ in range(50)]
		for c in clients:
			assert c.get("/small").status == 200
		pid = server.worker_pids()[0]
		if drains:
			server.reload()
		os.kill(pid, signal.SIGSTOP)
		procs.wait_for(lambda: procs.stopped(pid), said="it stands still")
		if time.monotonic() < begun + LATE:
			return pid, clients
		os.kill(pid, signal.SIGCONT)
		for c in clients:
			c.close()
	raise AssertionError("no time to stop it in")


@pytest.mark.parametrize("version, drains", [("1.1", False), ("1.1", True), ("2", False)],
	ids=["h1", "h1-drains", "h2"])
def test_worker_that_stood_still_hears_before_it_times_out(h2d, version, drains):
	"""What clients sent in time is answered by a worker that could not look in time."""
	server = h2d(listens=("tcp",), conf="shutdown-timeout = 300",
		sections="timeouts { keepalive = %d }" % LATE, files={"small": "small"})
	server.baseline = None
	pid, clients = stopped_in_time(server, server.h1 if version == "1.1" else server.connect, drains)
	try:
		asked = [c.send("GET", "/small") for c in clients]
		time.sleep(LATE + 0.2)
	finally:
		os.kill(pid, signal.SIGCONT)
	for c, stream in zip(clients, asked):
		assert (c.response() if version == "1.1" else c.response(stream)).status == 200
		c.close()
