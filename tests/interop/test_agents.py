"""HAProxy's agent-check, by a real HAProxy: weights follow the load, and -s drain takes a machine out without an error."""
import collections
import os
import signal
import time

import pytest

import harness
import procs
from agents import Agents
from server import Server

pytestmark = pytest.mark.xdist_group("agents")
CONF = """add-header = {"x-served-by: %s"}
listen "127.0.0.1:0" { haproxy-agent = true }
"""


@pytest.fixture(params=["reuseport", "acceptor"])
def fleet(request, cert, tmp_path):
	"""Three machines, and the balancer in front of them."""
	servers, balancer, failed = {}, None, True
	try:
		for name in ("a", "b", "c"):
			server = Server(cert, workers=2, listens=("tcp",), conf=CONF % name, files={"page": "page"}, dispatch=request.param)
			servers[name] = server
			server.spawn()
			lines = server.log.wait(r" listening on ", count=3)
			server.agent = next(int(line.partition("127.0.0.1:")[2].split()[0]) for line in lines if "(haproxy-agent)" in line)
			server.ports["tcp"] = next(int(line.partition("127.0.0.1:")[2].split()[0]) for line in lines
				if "127.0.0.1:" in line and "(" not in line)
			server.wait_up()
			server.take_baseline()
		balancer = Agents(tmp_path, {name: (s.ports["tcp"], s.agent) for name, s in servers.items()})
		balancer.wait(lambda seen: all(state == "UP" for state, _, _ in seen.values()), "all are up")
		balancer.machines = servers
		yield balancer
		failed = False
	finally:
		if balancer:
			balancer.close()
		for server in servers.values():
			server.finish(failed=failed)


class Stutter(procs.Beside):
	"""Lets the workers of a server run for a part of the time only, as the quota of a control group does."""

	def __init__(self, server):
		super().__init__()
		self.pids = server.worker_pids()

	def signal(self, number):
		for pid in self.pids:
			os.kill(pid, number)

	def run(self):
		while not self.over.is_set():
			self.signal(signal.SIGSTOP)
			self.over.wait(0.15)
			self.signal(signal.SIGCONT)
			self.over.wait(0.01)
		self.signal(signal.SIGCONT)


def test_the_slow_one_gets_less(fleet):
	"""Its weight falls below the others', they are asked instead, and it gets its share again when it is quick again."""
	def weights(seen):
		return {name: weight for name, (_, weight, _) in seen.items()}

	def is_less(seen):
		found = weights(seen)
		return 0 < found["c"] * 2 <= min(found["a"], found["b"])

	fleet.wait(lambda seen: min(weights(seen).values()) > 10, "they have begun")
	with Stutter(fleet.machines["c"]):
		began = time.monotonic()
		seen = fleet.wait(is_less, "the slow one has less")
		harness.REPORT.append("agent-check: the slow machine has less after %.1f s: %s" % (time.monotonic() - began, weights(seen)))
		answers = fleet.ask(60)
	assert {status for status, _ in answers} == {200}
	counts = collections.Counter(name for _, name in answers)
	assert counts["c"] < min(counts["a"], counts["b"]), counts
	fleet.wait(lambda seen: weights(seen)["c"] * 2 > max(weights(seen).values()), "it is as the others again")


def test_drain(fleet):
	"""Nothing fails, nothing new comes, and undrain undoes it; what HAProxy's own operator has set stays."""
	drained = fleet.machines["b"]
	drained.run("-s", "drain", check=0)
	fleet.wait(lambda seen: seen["b"][1] == 0, "it is out")
	before = fleet.seen()["b"][2]
	answers = fleet.ask(30)
	assert {status for status, _ in answers} == {200} and {name for _, name in answers} == {"a", "c"}
	assert fleet.seen()["b"][2] == before
	fleet.command("set server site/a state maint")
	fleet.wait(lambda seen: seen["a"][0] == "MAINT", "HAProxy's operator has taken another one out")
	drained.run("-s", "undrain", check=0)
	fleet.wait(lambda seen: seen["b"][0] == "UP" and seen["b"][1] > 0, "it is back")
	answers = fleet.ask(30)
	assert {status for status, _ in answers} == {200} and {name for _, name in answers} == {"b", "c"}
	assert fleet.seen()["a"][0] == "MAINT"
