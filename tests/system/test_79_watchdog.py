"""Processes that stand still, and what is left of those that crash."""
import os
import re
import signal

import pytest

import procs
from server import H2D, SANITIZED, hear

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")


def ask_and_leave(server, path):
	"""A request that is never answered."""
	c = server.connect("tcp")
	c.send(path=path)
	return c


def test_a_stopped_worker_is_replaced(h2d):
	"""SIGKILL, for SIGABRT does not reach it; its queue is served by a neighbour meanwhile."""
	server = h2d(workers=2, listens=("tcp",), conf="worker-watchdog = 2")
	server.baseline = None
	pid = server.live_workers()[0]["pid"]
	os.kill(pid, signal.SIGSTOP)
	hear(server.ask(40))
	server.log.wait(r"worker 0 \(process %d\) hung for 2 s; killing it" % pid)
	server.log.wait("worker 0 hangs; worker 1 accepts from its sockets")
	server.log.wait(r"process %d, generation 1\) killed by signal 9" % pid)
	server.wait_up()


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_worker_that_stands_still_is_steered_away_from(h2d, dispatch):
	"""Long before it is given up; and it serves again as if nothing had been."""
	server = h2d(workers=2, listens=("tcp",), dispatch=dispatch, conf="worker-watchdog = 3600")
	pid = server.live_workers()[0]["pid"]
	with procs.paused(pid):
		hear(server.ask(40))
	server.log.wait(r"worker 0 \(process %d\) runs again" % pid)
	hear(server.ask(40))
	assert server.live_workers()[0]["pid"] == pid and not server.log.find("killing it")


def hold_all_of_one(server, n):
	"""Downloads that stand still: n connections of one worker; and its slot."""
	held, slot = [], None
	while len(held) < n:
		raw = server.held()
		clients = {slot: w["clients"] for slot, w in server.live_workers().items()}
		if slot is None:
			slot = max(clients, key=clients.get)
		if clients[slot] > len(held):
			held.append(raw)
		else:
			raw.close()
	return held, slot


@pytest.mark.parametrize("dispatch, balance", [("reuseport", "hash"), ("acceptor", "source-hash")])
def test_a_full_worker_lends_its_sockets(h2d, dispatch, balance):
	"""Who connects does not wait for it while a neighbour has room; when it has room again it accepts alone."""
	server = h2d(workers=2, listens=("tcp",), dispatch=dispatch, files={"large": bytes(1 << 20)},
		conf="worker-connections = 24\nlog-level = info\nbalance = " + balance)
	held, slot = hold_all_of_one(server, 24)
	server.log.wait("worker %d is full; worker %d accepts from its sockets" % (slot, 1 - slot))
	for _ in range(10):
		hear(server.ask(2))
	for raw in held:
		raw.close()
	server.log.wait("worker %d has room again" % slot)
	hear(server.ask(40))


def test_a_worker_that_spins_says_what_it_did(h2d):
	server = h2d(binary=HANDLERS, workers=1, listens=("tcp",), conf="worker-watchdog = 2")
	server.allow_alert("signal 6")
	pid = server.worker_pids()[0]
	c = ask_and_leave(server, "/t/sandbox/spin")
	server.log.wait("crashed: signal 6, in handler t_sandbox, in the request GET /t/sandbox/spin")
	server.log.wait(r"process %d, .*killed by signal 6 .*; build [0-9a-f]{16,}$" % pid)
	server.wait_up()
	with server.connect("tcp") as other:
		assert other.get("/").status == 200


def test_a_stopped_keeper_is_replaced(h2d):
	server = h2d(conf="worker-watchdog = 2")
	server.baseline = None
	keeper = server.keeper()
	os.kill(keeper, signal.SIGSTOP)
	server.log.wait("keeper .*hung for 2 s")
	procs.wait_for(lambda: server.status()["keeper"] not in (0, keeper), said="another keeper")
	server.wait_image()


def test_a_stopped_acceptor_is_replaced(h2d):
	"""Its listeners are the master's: who connects meanwhile is served by the workers, and then by the next one."""
	server = h2d(workers=2, dispatch="acceptor", listens=("tcp",), conf="worker-watchdog = 2")
	server.baseline = None
	before = server.raw("tcp")
	before.send(before.headers(1))
	assert before.status_of(1) == 200
	acceptor = server.acceptor()
	os.kill(acceptor, signal.SIGSTOP)
	hear(server.ask(40))
	server.log.wait(r"acceptor \(process %d\) hung for 2 s; killing it" % acceptor)
	procs.wait_for(lambda: server.status()["acceptor"] not in (0, acceptor), said="another acceptor")
	before.send(before.headers(3))
	assert before.status_of(3) == 200
	before.close()


@pytest.mark.parametrize("listens", [("tcp",), ("tls", "unix")])
def test_an_acceptor_that_stands_still_is_steered_away_from(h2d, listens):
	"""All workers accept from its sockets meanwhile, until it turns again."""
	server = h2d(workers=3, dispatch="acceptor", listens=listens, conf="worker-watchdog = 3600")
	acceptor = server.acceptor()
	with procs.paused(acceptor):
		for how in listens:
			hear(server.ask(40, how))
		if listens == ("tcp",):
			procs.wait_for(lambda: all(server.listening(pid) for pid in server.worker_pids()), said="all have its sockets")
	server.log.wait(r"acceptor \(process %d\) runs again" % acceptor)
	for how in listens:
		hear(server.ask(40, how))
	assert server.acceptor() == acceptor and not server.log.find("killing it")
	if listens == ("tcp",):
		procs.wait_for(lambda: not any(server.listening(pid) for pid in server.worker_pids()), said="they do not any more")


def test_an_acceptor_that_is_gone_is_missed_by_nobody(h2d):
	"""The next one stands still before it is up: the workers accept."""
	server = h2d(workers=2, dispatch="acceptor", listens=("tcp",), conf="worker-watchdog = 3600")
	acceptor = server.acceptor()
	os.kill(acceptor, signal.SIGSTOP)
	server.log.wait("acceptor hangs; the workers accept from its sockets")
	os.kill(acceptor, signal.SIGKILL)
	procs.wait_for(lambda: server.status()["acceptor"] not in (0, acceptor), said="another acceptor")
	hear(server.ask(40))
	server.baseline = None


def test_the_service_manager_hears_that_the_master_turns(h2d):
	server = h2d.new()
	with server.notify_socket(WATCHDOG_USEC="10000000") as s:
		server.start()
		heard = 0
		while heard < 2:
			heard += s.recv(4096) == b"WATCHDOG=1\n"


# --- crashes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("what, words", [
	("fault?0x1230", r"signal 11 at address 0x1230, in handler t_sandbox, in the request GET /t/sandbox/fault\?0x1230"),
	("overflow?x", r"signal 11 at address 0x[0-9a-f]+, in handler t_sandbox, in the request GET /t/sandbox/overflow\?x"),
], ids=["fault", "overflow"])
def test_a_crash_is_told(h2d, what, words):
	"""Which signal, where, in which request, of which build; and the slot is back at once."""
	server = h2d(binary=HANDLERS, workers=1, listens=("tcp",))
	server.allow_alert("signal 11")
	pid = server.worker_pids()[0]
	ask_and_leave(server, "/t/sandbox/" + what)
	server.log.wait(r"alert .*worker 0 \(process %d\) crashed: %s$" % (pid, words))
	said = server.log.wait(r"process %d, .*killed by signal 11 \(Segmentation fault\)" % pid)[0]
	version = server.run("-V", check=0).out
	assert said.endswith("; build " + re.search(r"^build ([0-9a-f]{16,})$", version, re.M).group(1))
	server.wait_up()
	assert not server.log.find("restarting the process in")


if SANITIZED:  # which tells of a crash in its own words
	del test_a_crash_is_told
