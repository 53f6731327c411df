"""Three machines behind HAProxy: what their operator does to them, and what happens to one, costs no request that a
balancer can save.

By H2D_TRIO_SECONDS and the variables beside it (trio.py, docs/internals/testing.md) the run is long, and has its last rows: a machine
with hardly any processor time, and one that goes and comes by DNS.
"""
import os
import signal
import subprocess
import time

import pytest

import harness
import procs
import server as srv
from harness import Certificate, need_namespaces
from slowness import Quota
from trio import CLIENTS, LONG, TRANSFERS, Trio, quantile

pytestmark = [pytest.mark.xdist_group("trio"), pytest.mark.slow]
IN_FLIGHT = 4  # requests of a client of fleet.py
PERCENT = int(os.environ.get("H2D_TRIO_PERCENT", "1"))  # of one processor, that the slow machine has
SCRIPTS = os.path.join(srv.TOP, "scripts")
MODES = ["reuseport", "acceptor"]


def short(mode):
	"""The long form plays this row in both modes of dispatch, the short one in this."""
	return pytest.mark.parametrize("trio", MODES if LONG else [mode], indirect=True, scope="module")


@pytest.fixture(scope="module", params=MODES)
def trio(request, cert, tmp_path_factory):
	need_namespaces("-n")
	folder = tmp_path_factory.mktemp("trio")
	keys = str(folder / "tickets")
	subprocess.run([os.path.join(SCRIPTS, "ticket-keys"), "make", keys], check=True)
	made = None
	try:
		made = Trio(folder, cert, request.param, keys)
		made.keys, made.quotas = keys, []
		yield made
	except BaseException:
		if made:
			made.close(True)
		raise
	made.close(False)
	for quota in made.quotas:
		quota.close()


def nothing_failed(found):
	assert found["failures"] == 0 and found["requests"] > 0, found
	slow = found["slow"]
	assert not slow["failed"] and min(slow["downloads"], slow["uploads"]) > 0, slow
	assert all(found["whole"]) and len(found["whole"]) == slow["uploads"], found["whole"]


def test_rolling_upgrade(trio):
	def do(_):
		for m in trio.machines:
			trio.out(m)
			m.say("upgrade")
			trio.back(m)
	nothing_failed(trio.play("rolling upgrade", do))


def test_rolling_restart(trio):
	def do(_):
		for m in trio.machines:
			trio.out(m)
			m.restart()  # in service again by that
			trio.is_seen(m, "UP")
	nothing_failed(trio.play("rolling restart", do))


def test_certificate(trio, tmp_path):
	"""Renewed on each machine, one after the other."""
	def do(_):
		renewed = Certificate(str(tmp_path))
		for m in trio.machines:
			m.renew(renewed)
			m.say("reload")
	nothing_failed(trio.play("certificate renewed", do))


def test_tickets(trio):
	"""Rotated, while sessions are resumed on any machine."""
	def do(_):
		rotate = [os.path.join(SCRIPTS, "ticket-keys"), "rotate", "--force", trio.keys]
		counts = [m.server.log_text().count("session tickets: using keys of") for m in trio.machines]
		subprocess.run(rotate, check=True)
		for m, n in zip(trio.machines, counts):
			m.say("reload")
			m.server.log.wait("session tickets: using keys of", count=n + 1)
	nothing_failed(trio.play("ticket keys rotated", do))


@short("reuseport")
def test_bad_configuration(trio):
	"""scripts/roll takes it to the first machine, where it is refused, and no further."""
	def do(_):
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


@short("reuseport")
def test_frozen(trio):
	"""What it had begun waits for it, and nobody else does: HAProxy's checks take it out, and put it back."""
	def do(_):
		frozen = trio.machines[1]
		frozen.signal(signal.SIGSTOP)
		try:
			trio.is_seen(frozen, "DOWN")
			trio.more([trio.machines[0], trio.machines[2]])
		finally:
			frozen.signal(signal.SIGCONT)
	nothing_failed(trio.play("one frozen, and back", do))


@short("acceptor")
def test_cut(trio):
	"""The network of one: packets that were lost are sent again once it is healed, and what was begun goes on."""
	def do(_):
		cut = trio.machines[0]
		cut.cut()
		try:
			trio.is_seen(cut, "DOWN")
			trio.more(trio.machines[1:])
		finally:
			cut.heal()
	nothing_failed(trio.play("the network of one cut, and healed", do))


def test_slow(trio):
	"""Its agent says so, and it has less to do: how long answers take before, until then and from then on."""
	quota = Quota()

	def do(phase):
		slow = trio.machines[2]
		quota.limit(procs.group_members(slow.server.process.pid), PERCENT)
		began = time.monotonic()
		phase("slow")
		try:
			procs.wait_for(lambda: trio.weights()[slow.name] * 2 <= min(trio.weights()[m.name] for m in trio.machines[:2]), 60, 0.02,
				"HAProxy gives it less")
			do.took = time.monotonic() - began
			trio.more(trio.machines[:2])
			phase("moved")
			trio.more(trio.machines[:2])
			do.weights = trio.weights()
		finally:
			quota.lift()
	found = trio.play("one slow (%d %% of a processor), and back" % PERCENT, do)
	harness.REPORT.append("%-10s %s: less weight after %.1f s (%s); p50, p95, p99 in ms: %s" % (trio.dispatch, "three machines", do.took,
		" ".join("%s %d" % item for item in do.weights.items()), ", ".join("%s %s" % (name, " ".join("%.1f" % quantile(
			found["times"][name], share) for share in (0.5, 0.95, 0.99))) for name in ("begin", "slow", "moved", "behind"))))
	nothing_failed(found)
	trio.quotas.append(quota)


def test_dns(trio):
	"""HAProxy has its servers from the DNS, where one goes, and comes again: what it had begun goes on."""
	trio.name(trio.machines)
	trio.is_named(trio.machines)

	def do(_):
		trio.name(trio.machines[:2])
		trio.is_named(trio.machines[:2])
		trio.more(trio.machines[:2])
		trio.name(trio.machines)
		trio.is_named(trio.machines)
	nothing_failed(trio.play("one gone from the DNS, and back", do, ways=("named",)))


def test_killed(trio):
	"""What it had in its hands is lost, and no more: four requests of each client at most, cut by TLS or answered by HAProxy."""
	def do(_):
		killed = trio.machines[2]
		killed.signal(signal.SIGKILL)
		killed.server.process.wait()
		trio.is_seen(killed, "DOWN")
		trio.more(trio.machines[:2])
		killed.start()
	found = trio.play("one killed (its own connections)", do, deaths=True)
	assert found["failures"] + IN_FLIGHT * found["cut"] <= IN_FLIGHT * CLIENTS, found["first_failures"]
	assert len(found["slow"]["failed"]) <= TRANSFERS, found["slow"]["failed"]


if not LONG:
	del test_slow, test_dns  # not skipped, for that would be a failure
