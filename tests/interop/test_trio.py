"""Three machines behind HAProxy: what their operator does to them, and what happens to one, costs no request that a
balancer can save.

H2D_TRIO_CLIENTS (6) and H2D_TRIO_REQUESTS (150): how many clients there are, and answers that end a phase.
"""
import os
import signal
import subprocess

import pytest

import procs
import server as srv
from harness import Certificate
from trio import CLIENTS, Trio

pytestmark = [pytest.mark.xdist_group("trio"), pytest.mark.slow]
IN_FLIGHT = 4  # requests of a client of fleet.py
SCRIPTS = os.path.join(srv.TOP, "scripts")


@pytest.fixture(scope="module", params=["reuseport", "acceptor"])
def trio(request, cert, tmp_path_factory):
	folder = tmp_path_factory.mktemp("trio")
	keys = str(folder / "tickets")
	subprocess.run([os.path.join(SCRIPTS, "ticket-keys"), "make", keys], check=True)
	made = None
	try:
		made = Trio(folder, cert, request.param, keys)
		made.keys = keys
		yield made
	except BaseException:
		if made:
			made.close(True)
		raise
	made.close(False)


def nothing_failed(found):
	assert found["failures"] == 0 and found["requests"] > 0, found


def test_rolling_upgrade(trio):
	def do():
		for m in trio.machines:
			trio.out(m)
			m.say("upgrade")
			trio.back(m)
	nothing_failed(trio.play("rolling upgrade", do))


def test_rolling_restart(trio):
	def do():
		for m in trio.machines:
			trio.out(m)
			m.restart()  # in service again by that
			trio.is_seen(m, "UP")
	nothing_failed(trio.play("rolling restart", do))


def test_certificate_and_tickets(trio, tmp_path):
	"""Renewed on each machine, one after the other, while sessions are resumed on any of them."""
	def do():
		renewed = Certificate(str(tmp_path))
		for m in trio.machines:
			m.renew(renewed)
			m.say("reload")
		rotate = [os.path.join(SCRIPTS, "ticket-keys"), "rotate", "--force", trio.keys]
		counts = [m.server.log_text().count("session tickets: the keys of") for m in trio.machines]
		subprocess.run(rotate, check=True)
		for m, n in zip(trio.machines, counts):
			procs.wait_for(lambda m=m, n=n: m.server.log_text().count("session tickets: the keys of") > n, said="new keys")
	nothing_failed(trio.play("certificate renewed, ticket keys rotated", do))


def test_bad_configuration(trio):
	"""scripts/roll takes it to the first machine, where it is refused, and no further."""
	def do():
		ssh = trio.machines[0].server.path("ssh")
		with open(ssh, "w") as f:
			f.write('#!/bin/sh\ncd "$1" && exec sh -c "$2"\n')
		os.chmod(ssh, 0o755)
		h2d = "%s -f h2d.conf" % srv.H2D
		for m in trio.machines:
			m.server.lint.forget()
			m.server.baseline = None
		done = subprocess.run([os.path.join(SCRIPTS, "roll"), "--ssh", ssh, "--h2d", h2d, "--settle", "1", "--health",
			"curl -q -sfo /dev/null --unix-socket admin.sock http://localhost/healthz",
			"--upgrade", "cp h2d.conf before.conf && echo nonsense >>h2d.conf && %s -s reload" % h2d,
			"--back", "cp before.conf h2d.conf && %s -s reload" % h2d, *(m.server.dir for m in trio.machines)],
			stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
		assert done.returncode == 1 and "taken back" in done.stdout and trio.machines[1].server.dir not in done.stdout, done.stdout
	nothing_failed(trio.play("a bad configuration rolled out", do))


def test_frozen(trio):
	"""What it had begun waits for it, and nobody else does: HAProxy's checks take it out, and put it back."""
	def do():
		frozen = trio.machines[1]
		frozen.signal(signal.SIGSTOP)
		try:
			trio.is_seen(frozen, "DOWN")
			trio.more([trio.machines[0], trio.machines[2]])
		finally:
			frozen.signal(signal.SIGCONT)
	nothing_failed(trio.play("one frozen, and back", do))


def test_killed(trio):
	"""What it had in its hands is lost, and no more: four requests of each client at most, cut by TLS or answered by HAProxy."""
	def do():
		killed = trio.machines[2]
		killed.signal(signal.SIGKILL)
		killed.server.process.wait()
		trio.is_seen(killed, "DOWN")
		trio.more(trio.machines[:2])
		killed.start()
	found = trio.play("one killed (its own connections)", do, deaths=True)
	assert found["failures"] + IN_FLIGHT * found["cut"] <= IN_FLIGHT * CLIENTS, found["first_failures"]
