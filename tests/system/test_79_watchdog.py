"""Processes that stand still, and what is left of those that crash."""
import os
import re
import signal
import socket
import time

import pytest

import procs
from server import H2D, SANITIZED

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
	raws = [server.raw("tcp") for _ in range(40)]
	for raw in raws:
		raw.send(raw.headers(1))
	for raw in raws:
		assert raw.status_of(1) == 200
		raw.close()
	server.log.wait(r"worker 0 \(process %d\) has stood still for 2 s: it is ended" % pid)
	server.log.wait("worker 0 stands still: worker 1 accepts from its sockets")
	server.log.wait(r"process %d, generation 1\) killed by signal 9" % pid)
	server.wait_up()


def test_a_worker_that_spins_says_what_it_did(h2d):
	server = h2d(binary=HANDLERS, workers=1, listens=("tcp",), conf="worker-watchdog = 2")
	server.allow_alert("signal 6")
	pid = server.worker_pids()[0]
	c = ask_and_leave(server, "/t/sandbox/spin")
	server.log.wait("last words: signal 6, in the request GET /t/sandbox/spin")
	server.log.wait(r"process %d, .*killed by signal 6 .*; build [0-9a-f]{16,}$" % pid)
	server.wait_up()
	with server.connect("tcp") as other:
		assert other.get("/").status == 200


def test_a_stopped_keeper_is_replaced(h2d):
	server = h2d(conf="worker-watchdog = 2")
	server.baseline = None
	keeper = server.status()["keeper"]
	os.kill(keeper, signal.SIGSTOP)
	server.log.wait("keeper .*has stood still for 2 s")
	procs.wait_for(lambda: server.status()["keeper"] not in (0, keeper), said="another keeper")
	server.wait_image()


def test_it_can_be_switched_off(h2d):
	"""And who ticks is left alone."""
	server = h2d(workers=2, conf="worker-watchdog = 0")
	pid = server.live_workers()[0]["pid"]
	os.kill(pid, signal.SIGSTOP)
	time.sleep(1.5)  # more than a look
	assert procs.running(pid) and not server.log.find("stood still")
	os.kill(pid, signal.SIGCONT)
	server.wait_up()


def test_the_service_manager_hears_that_the_master_turns(h2d):
	server = h2d.new()
	path = server.path("notify.sock")
	with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
		s.bind(path)
		s.settimeout(procs.DEADLINE)
		server.environment = lambda: dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="10000000")
		server.start()
		heard = 0
		while heard < 2:
			heard += s.recv(4096) == b"WATCHDOG=1\n"


# --- crashes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("what, words", [
	("fault?0x1230", r"signal 11 at address 0x1230, in the request GET /t/sandbox/fault\?0x1230"),
	("overflow?x", r"signal 11 at address 0x[0-9a-f]+, in the request GET /t/sandbox/overflow\?x"),
], ids=["fault", "overflow"])
def test_a_crash_is_told(h2d, what, words):
	"""Which signal, where, in which request, of which build; and the slot is back at once."""
	server = h2d(binary=HANDLERS, workers=1, listens=("tcp",))
	server.allow_alert("signal 11")
	pid = server.worker_pids()[0]
	ask_and_leave(server, "/t/sandbox/" + what)
	server.log.wait(r"alert .*worker 0 \(process %d\), last words: %s$" % (pid, words))
	said = server.log.wait(r"process %d, .*killed by signal 11 \(Segmentation fault\)" % pid)[0]
	version = server.run("-V", check=0).out
	assert said.endswith("; build " + re.search(r"^build ([0-9a-f]{16,})$", version, re.M).group(1))
	server.wait_up()
	assert not server.log.find("started again in")


if SANITIZED:  # which tells of a crash in its own words
	del test_a_crash_is_told
