"""balance: which worker a new connection goes to under dispatch = reuseport."""
import ctypes
import os
import random
import selectors
import signal
import socket
import struct
import subprocess

import pytest

import harness
import procs
import server as srv


def counts(server):
	"""{slot: connections of the port "tcp" that its worker has accepted and not closed}"""
	ours = procs.established_peers(server.ports["tcp"]).keys()
	return {slot: len(ours & procs.sockets(worker["pid"]).keys())
		for slot, worker in server.live_workers().items()}


def spread(server, n):
	"""Opens n connections more, waits until all are accepted; (the sockets, {slot: how many})."""
	procs.wait_for(lambda: not any(counts(server).values()), said="the last ones are closed")
	socks = [server.socket() for _ in range(n)]

	def accepted():
		now = counts(server)
		return now if sum(now.values()) == n else None
	return socks, procs.wait_for(accepted, said="%d connections are accepted" % n)


def close(socks):
	for s in socks:
		s.close()


def on_each_cpu(server, workers):
	"""From each CPU in turn: all connections come to the worker that is its own."""
	cpus = sorted(os.sched_getaffinity(0))
	try:
		for i, cpu in enumerate(cpus):
			os.sched_setaffinity(0, {cpu})
			socks, got = spread(server, 12)
			close(socks)
			own = [s for s in range(workers) if s % len(cpus) == i % workers]
			assert sum(got[slot] for slot in own) == 12, (cpu, own, got)
	finally:
		os.sched_setaffinity(0, cpus)


CPU = "worker-cpu-affinity = auto  balance = cpu"


def test_cpu(h2d):
	server = h2d(workers=4, listens=("tcp",), conf=CPU)
	assert server.status()["balance"] == "cpu"
	server.log.wait("connections are balanced by cpu")
	on_each_cpu(server, 4)


def test_cpu_through_changes(h2d):
	server = h2d(workers=2, listens=("tcp",), conf=CPU)
	on_each_cpu(server, 2)
	server.reload()
	on_each_cpu(server, 2)
	os.kill(server.worker_pids()[1], signal.SIGKILL)
	server.log.wait("worker 1 .*signal 9")
	server.wait_up()
	on_each_cpu(server, 2)
	for server.workers in (5, 1, 3):
		server.write_conf(CPU)
		server.reload()
		on_each_cpu(server, server.workers)


def test_another_balance_by_reload(h2d):
	server = h2d(workers=2, listens=("tcp",))
	assert server.status()["balance"] == "hash"
	server.write_conf(CPU)
	server.reload()
	assert server.status()["balance"] == "cpu"
	on_each_cpu(server, 2)
	server.write_conf()
	server.reload()
	assert server.status()["balance"] == "hash"
	socks, got = spread(server, 40)
	close(socks)
	assert min(got.values()) > 0, got


@pytest.mark.parametrize("value", ["round-robin", "source-hash"])
def test_what_dispatch_has_not(h2d, value):
	server = h2d.new(conf="balance = %s" % value)
	done = server.run("-t", check=1)
	assert "h2d.conf:3: balance = %s is not for dispatch = reuseport" % value in done.err

# --- least-connections ---------------------------------------------------------------------------

LEAST = "balance = least-connections"
CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_BPF = 12, 21, 39
PR_CAPBSET_DROP = 24


def least(h2d, conf=LEAST, **options):
	server = h2d(listens=("tcp",), conf=conf, **options)
	if server.status()["balance"] != "least-connections":
		harness.skip_without("ebpf", "least-connections cannot be had here")
	return server


def at_once(port, n):
	"""n connections whose SYNs leave before any of them is waited for."""
	socks = []
	for _ in range(n):
		s = socket.socket()
		s.setblocking(False)
		socks.append(s)
	with selectors.DefaultSelector() as waiting:
		for s in socks:
			s.connect_ex(("127.0.0.1", port))
			waiting.register(s, selectors.EVENT_WRITE)
		while left := len(waiting.get_map()):
			ready = waiting.select(procs.DEADLINE)
			assert ready, "%d connections are not established" % left
			for key, _ in ready:
				assert key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
				waiting.unregister(key.fileobj)
	return socks


def loads(server):
	"""{slot: load}, as its worker has it."""
	return {slot: w["load"] for slot, w in server.live_workers().items()}


def wait_loads(server, total):
	return procs.wait_for(lambda: sum(loads(server).values()) == total,
		said="a load of %d in all" % total)


def spread_at_once(server, n):
	"""{slot: how many} of n connections opened at once, which are closed again."""
	wait_loads(server, 0)
	socks = at_once(server.ports["tcp"], n)
	procs.wait_for(lambda: sum(counts(server).values()) == n, said="%d accepted" % n)
	got = counts(server)
	wait_loads(server, n)
	close(socks)
	return got


def test_eight_on_four_are_two_each(h2d):
	server = least(h2d, workers=4)
	for _ in range(20):
		assert set(spread_at_once(server, 8).values()) == {2}
	wait_loads(server, 0)


def ratio(got):
	return max(got.values()) / max(1, min(got.values()))


def test_a_thousand(h2d):
	server = least(h2d, workers=4)
	got = {"least-connections": ratio(spread_at_once(server, 1000))}
	server.write_conf("balance = hash")
	server.reload()
	socks, now = spread(server, 1000)
	close(socks)
	got["hash"] = ratio(now)
	socks, now = spread(server, 8)
	close(socks)
	harness.REPORT.append("1000 connections on 4 workers, most to fewest: %s; 8 by hash: %s" % (
		", ".join("%s %.3f" % item for item in got.items()), sorted(now.values())))
	assert got["least-connections"] <= 1.1


def test_those_who_leave_make_room(h2d):
	server = least(h2d, workers=4)
	socks = at_once(server.ports["tcp"], 40)
	procs.wait_for(lambda: sum(counts(server).values()) == 40)
	wait_loads(server, 40)  # else those that are shown late are taken for those that leave
	ours = {s.getsockname()[1]: s for s in socks}
	victim = procs.sockets(server.live_workers()[2]["pid"])
	for inode, peer in procs.established_peers(server.ports["tcp"]).items():
		if inode in victim:
			ours.pop(peer).close()
	wait_loads(server, 30)
	more = at_once(server.ports["tcp"], 10)
	procs.wait_for(lambda: set(counts(server).values()) == {10}, said="the empty one is filled")
	close(list(ours.values()) + more)
	wait_loads(server, 0)


def even(server):
	"""Two each, whatever has changed."""
	got = spread_at_once(server, 2 * server.workers)
	assert set(got.values()) == {2} and len(got) == server.workers, got


def wait_open(server):
	"""Until the kernel sends each worker something. A new one shows that it is up a moment before the master has heard it and
	opens its slot."""
	def opened():
		wait_loads(server, 0)
		held = []
		for n in range(server.workers):
			held.append(server.socket())
			wait_loads(server, n + 1)
		got = counts(server)
		close(held)
		return set(got.values()) == {1} and len(got) == server.workers
	procs.wait_for(opened, said="a connection for each worker")


def test_least_through_changes(h2d):
	server = least(h2d, workers=3)
	even(server)
	held = at_once(server.ports["tcp"], 7)
	server.reload()
	close(held)
	even(server)
	os.kill(server.worker_pids()[1], signal.SIGKILL)
	server.log.wait("worker 1 .*signal 9")
	server.wait_up()
	wait_open(server)
	even(server)
	for server.workers in (5, 2, 4):
		server.write_conf(LEAST)
		server.reload()
		even(server)
	server.write_conf()
	server.reload()
	assert server.status()["balance"] == "hash"
	server.write_conf(LEAST)
	server.reload()
	even(server)


def connect_to(server, slot):
	"""A connection of that worker, which has the least load: the kernel sends it some once the master has heard that it is
	up, a moment after its state says so."""
	def connected():
		before = counts(server)
		s = server.socket()
		procs.wait_for(lambda: sum(counts(server).values()) == sum(before.values()) + 1, said="it is accepted")
		if counts(server).get(slot, 0) > before.get(slot, 0):
			return s
		s.close()
		procs.wait_for(lambda: counts(server) == before, said="it is closed")
	return procs.wait_for(connected, said="a connection to worker %d" % slot)


def test_a_new_worker_has_no_load_of_the_one_before(h2d):
	"""From the moment it is up: what comes then fills it, though the kernel remembers what the dead one had."""
	server = least(h2d, workers=2)
	held = at_once(server.ports["tcp"], 40)
	wait_loads(server, 40)
	os.kill(server.worker_pids()[1], signal.SIGKILL)
	server.log.wait("worker 1 .*signal 9")
	server.wait_up()
	held.append(connect_to(server, 1))
	held += at_once(server.ports["tcp"], 19)
	accepted = procs.wait_for(lambda: sum(counts(server).values()) == 40 and counts(server), said="20 and 20 more")
	close(held)
	assert accepted == {0: 20, 1: 20}


def test_a_slot_without_a_worker_gets_nothing(h2d):
	"""It has the lowest load of all, and would be sent whatever comes."""
	server = least(h2d, workers=3)
	for _ in range(20):
		if server.log.find("started again in 4000 ms"):
			break
		pid = procs.wait_for(lambda: server.live_workers().get(0), said="worker 0")["pid"]
		since = len(server.log.find("signal 9"))
		os.kill(pid, signal.SIGKILL)
		procs.wait_for(lambda: len(server.log.find("signal 9")) > since, said="the death")
	socks = at_once(server.ports["tcp"], 40)
	accepted = procs.wait_for(lambda: sum(counts(server).values()) == 40 and counts(server))
	if 0 not in accepted:  # it was not back meanwhile
		assert accepted == {1: 20, 2: 20}
	close(socks)
	server.wait_up()
	wait_open(server)
	even(server)
	server.baseline = None


SYN, ACK = 0x5002, 0x5010


def segment(port, source, flags):
	"""A TCP segment to a local port, of an address that knows of no connection and would answer with a reset."""
	def checksum(data):
		total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
		total = (total >> 16) + (total & 0xffff)
		return ~(total + (total >> 16)) & 0xffff
	addresses = socket.inet_aton(source) + socket.inet_aton("127.0.0.1")

	def tcp(check):
		return struct.pack("!HHIIHHHH", random.randint(1024, 65535), port, 7, 0, flags, 1024, check, 0)
	state = random.getstate()
	first = tcp(0)
	random.setstate(state)
	whole = tcp(checksum(addresses + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(first)) + first))
	return struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, socket.IPPROTO_TCP, 0) + addresses + whole


def flood(raw, port, net, n, flags):
	"""… and a connection behind it: what one CPU sends, it delivers in order, however late."""
	cpus = os.sched_getaffinity(0)
	os.sched_setaffinity(0, {min(cpus)})
	try:
		for i in range(n):
			raw.sendto(segment(port, "127.%d.%d.%d" % (net, i // 250, 1 + i % 250), flags), ("127.0.0.1", 0))
		return at_once(port, 1)
	finally:
		os.sched_setaffinity(0, cpus)


def test_a_flood_of_syns_is_no_load(h2d):
	"""It counts while it lasts; a second later it does not, and connections are balanced as ever."""
	server = least(h2d, workers=4)
	port = server.ports["tcp"]
	try:
		raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
	except PermissionError:
		harness.skip_without("ebpf", "no raw sockets")
	held = at_once(port, 6)
	wait_loads(server, 6)
	with raw:
		held += flood(raw, port, 9, 3000, SYN)
		wait_loads(server, 7)
		held += flood(raw, port, 8, 1000, ACK)
	assert max(sum(loads(server).values()) for _ in range(20)) <= 8, "what belongs to no connection was counted"
	wait_loads(server, 8)
	held += at_once(port, 4)
	procs.wait_for(lambda: set(counts(server).values()) == {3}, said="3 each")
	close(held)


def drop_bpf():
	libc = ctypes.CDLL(None, use_errno=True)
	for cap in (CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_BPF):
		libc.prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)


def test_without_the_right_it_is_hash(h2d):
	server = h2d(workers=2, listens=("tcp",), conf=LEAST, preexec=drop_bpf)
	warnings = " warn .*least-connections cannot be had .*Operation not permitted.*by hash"
	assert server.status()["balance"] == "hash"
	assert len(server.log.wait(warnings)) == 1
	socks, got = spread(server, 40)
	close(socks)
	assert min(got.values()) > 0
	server.reload()
	assert server.status()["balance"] == "hash"
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	done = subprocess.run([srv.H2D, "-V"], stdout=subprocess.PIPE, preexec_fn=drop_bpf, check=True)
	assert b"balance: hash cpu least-connections (not here: Operation not permitted)" in done.stdout
