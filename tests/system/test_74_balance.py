"""balance: which worker a new connection goes to under dispatch = reuseport."""
import os
import signal

import pytest

import procs


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
	server.log.wait("balancing connections by cpu")
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


@pytest.mark.parametrize("value", ["least-connections", "source-hash"])
def test_what_dispatch_has_not(h2d, value):
	server = h2d.new(conf="balance = %s" % value)
	done = server.run("-t", check=1)
	assert "h2d.conf:3: balance must be one of auto, hash, cpu for dispatch = reuseport, not %s\n" % value in done.err
