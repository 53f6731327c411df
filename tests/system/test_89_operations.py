"""What an operator does to h2d, and what happens to it, behind a real HAProxy and under load: a table of failed requests.
Under a real systemd, in both modes of dispatch.

H2D_OPERATION_ANSWERS: answers of each client and phase (5); by 2000 it is the long form.
"""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import balanced
import harness
import procs
import test_71_systemd as systemd
import test_72_memory as memory
from balanced import MIB, SIZE, nothing_failed, play, wait_for

pytestmark = [pytest.mark.xdist_group("systemd"), pytest.mark.slow]
CONF = """\
user = "h2d"
worker-processes = 2
dispatch = %s
shutdown-delay = %d
shutdown-timeout = 600
pid-file = "/run/h2d/h2d.pid"
listen "127.0.0.1:8080" { }
listen "unix:/run/h2d/admin.sock" { admin = true }
server "_" { root = "/srv/www"  health = "/healthz" }
"""
MOST = 2  # requests of a client that one death may cost: HAProxy may reuse a connection before it hears that it is over
OTHER = """\
user = "h2d"
pid-file = "/run/other.pid"
listen "127.0.0.1:8081" { }
server "_" { root = "/srv/www"  health = "/healthz" }
"""


class Machine(systemd.Machine):
	"""Two nodes, h2d of the unit and another one, and HAProxy in front of both."""
	balancer = other = None

	def begin(self):
		self.ok("truncate", "-s", str(SIZE), "/srv/www/large")
		self.write("/etc/other.conf", OTHER)
		self.other = subprocess.Popen(balanced.enter(self, self.binary, "-f", "/etc/other.conf"), stderr=subprocess.DEVNULL)
		self.balancer = balanced.Balancer(self)
		wait_for(lambda: self.health(8081) == "200", "the other node is up")
		return self

	def serve(self, dispatch, delay=0):
		self.run("systemctl", "stop", "h2d")
		self.run("systemctl", "reset-failed", "h2d")
		self.write(self.conf, CONF % (dispatch, delay))
		self.ok("systemctl", "start", "h2d")

	def is_seen(self, kind, state):
		"""By the balancer."""
		wait_for(lambda: self.balancer.sees(kind, "a", state), "the node is " + state)

	def health(self, port=8080):
		return self.run("curl", "-q", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:%d/healthz" % port).stdout

	def others(self):
		"""The processes of the unit, but for the master."""
		return self.ok("pgrep", "-P", self.show("MainPID")).split()

	def outside(self, pid):
		"""What a process in here is called out there."""
		ours = os.readlink("/proc/%d/ns/pid" % self.pid)
		for name in filter(str.isdigit, os.listdir("/proc")):
			try:
				if os.readlink("/proc/%s/ns/pid" % name) == ours:
					with open("/proc/%s/status" % name) as f:
						if re.search(r"^NSpid:.*\s(\d+)$", f.read(), re.M).group(1) == pid:
							return name
			except OSError:  # it has ended, or begins
				continue
		raise AssertionError("process %s is gone" % pid)

	def close(self):
		for process in (self.balancer, self.other):
			if isinstance(process, subprocess.Popen):
				process.kill()
				process.wait()
			elif process:
				process.close()
		super().close()


@pytest.fixture(scope="module")
def machine(cert):
	harness.need_namespaces("-f", "-p", "-m", "-C", "-n", "-i", "-u")
	folder = tempfile.mkdtemp(prefix="h2d-systemd-")
	booted = Machine(folder, cert)
	try:
		yield booted.begin()
	finally:
		booted.close()
		shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["reuseport", "acceptor"])
def dispatch(request):
	return request.param


def another_master(machine, main):
	wait_for(lambda: machine.show("MainPID") not in ("0", main) and machine.show("ActiveState") == "active", "another master")


def test_restart(machine, dispatch):
	machine.serve(dispatch)
	nothing_failed(play(machine, dispatch, "systemctl restart", "alone", lambda _: machine.ok("systemctl", "restart", "h2d")))


def test_upgrade_and_reload(machine, dispatch):
	machine.serve(dispatch)
	nothing_failed(play(machine, dispatch, "h2d -s upgrade", "alone", lambda _: machine.ok(machine.binary, "-s", "upgrade")))
	nothing_failed(play(machine, dispatch, "systemctl reload", "alone", lambda _: machine.ok("systemctl", "reload", "h2d")))


def test_stop(machine, dispatch):
	"""The balancer goes to the other node for what is refused here; the stop waits for the download."""
	def stop(clients):
		machine.ok("systemctl", "stop", "--no-block", "h2d")
		wait_for(lambda: machine.health() == "000", "it refuses")
		machine.is_seen("pair", "DOWN")
		assert machine.show("ActiveState") == "deactivating"
	machine.serve(dispatch)
	machine.is_seen("pair", "UP")
	nothing_failed(play(machine, dispatch, "systemctl stop, another node", "pair", stop))
	wait_for(lambda: machine.show("ActiveState") == "inactive", "it has stopped")


def test_drain(machine, dispatch):
	"""Health says 503, and all is served until the balancer has seen it, who tries nothing twice."""
	def drain(clients):
		machine.ok("systemctl", "stop", "--no-block", "h2d")
		wait_for(lambda: machine.health() == "503", "health says so")
		machine.is_seen("drained", "DOWN")
		clients.more()
		assert machine.show("ActiveState") == "deactivating"
		machine.ok("systemctl", "kill", "-s", "QUIT", "--kill-whom=main", "h2d")  # the delay is over
		wait_for(lambda: machine.health() == "000", "it refuses")
	machine.serve(dispatch, 600)
	machine.is_seen("drained", "UP")
	nothing_failed(play(machine, dispatch, "a drain by shutdown-delay, another node", "drained", drain))
	wait_for(lambda: machine.show("ActiveState") == "inactive", "it has stopped")


def test_killed_master(machine, dispatch):
	def kill(_):
		main = machine.show("MainPID")
		machine.ok("kill", "-9", main)
		another_master(machine, main)
	machine.serve(dispatch)
	nothing_failed(play(machine, dispatch, "kill -9 of the master", "alone", kill))


def test_killed_worker(machine, dispatch):
	"""Who had asked it has no answer; nobody else fails."""
	def kill(_):
		worker = str(systemd.status_of(machine)["workers"][0]["pid"])
		machine.ok("kill", "-9", worker)
		wait_for(lambda: len(now := machine.others()) == 3 + (dispatch == "acceptor") and worker not in now, "another worker")
	machine.serve(dispatch)
	found = play(machine, dispatch, "kill -9 of a worker (its own)", "alone", kill)
	assert len(found["failed"]) <= MOST * found["clients"] and found["requests"] > 10 * found["clients"], found


def test_out_of_memory(machine, dispatch):
	"""The kernel ends the largest, the keeper or a worker: who had asked that one has no answer, and nobody else fails."""
	machine.serve(dispatch)
	path, limit = memory.folder_of_groups()

	def allow(text):
		with open(os.path.join(path, limit), "w") as f:
			f.write(text)

	def fill(_):
		with subprocess.Popen(balanced.enter(machine, "sh", "-c",
				"mkdir /srv/www/many; for i in $(seq 80); do head -c %d /dev/urandom > /srv/www/many/$i; done" % MIB)):
			procs.wait_for(lambda: memory.kills(path) > 0, 120, 0.001, "the kernel ends somebody")
			allow("1G")
		machine.ok("rm", "-r", "/srv/www/many")
		wait_for(lambda: len(machine.others()) == 3 + (dispatch == "acceptor"), "all are back")
	try:
		allow("64M")
		main = machine.show("MainPID")
		for pid in [main, *machine.others()]:
			with open(os.path.join(path, "cgroup.procs"), "w") as f:
				f.write(machine.outside(pid))
		found = play(machine, dispatch, "out of memory (requests of the killed)", "alone", fill)
		assert len(found["failed"]) <= MOST * found["clients"] * memory.kills(path), found
		assert machine.show("MainPID") == main and machine.show("NRestarts") == "0"
	finally:
		machine.run("systemctl", "stop", "h2d")
		wait_for(lambda: memory.removed(path), "everybody has left")
