"""The unit under a real systemd: booted as PID 1 of its own namespaces, see systemd-boot."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import harness
import procs
import server as srv

pytestmark = pytest.mark.xdist_group("systemd")
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.path.dirname(srv.H2D))
ACCEPTOR = srv.DISPATCH == "acceptor"
CHILDREN = 3 + ACCEPTOR  # workers and keeper
STORED = "3" if ACCEPTOR else "5"  # sockets of two addresses, one for each worker, and the admin's
CONF = ("dispatch = acceptor\n" if ACCEPTOR else "") + """\
user = "h2d"
worker-processes = 2
pid-file = "/run/h2d/h2d.pid"
access-log = "/var/log/h2d/access.log"
listen "127.0.0.1:8080" { tls = false }
listen "127.0.0.1:8443" { tls = true }
listen "unix:/run/h2d/admin.sock" { admin = true }
tls { certificate = "/etc/h2d/tls/server.crt"  certificate-key = "/etc/h2d/tls/server.key" }
server "_" { root = "/srv/www" }
"""


class Machine:
	def __init__(self, folder, cert):
		self.stage = os.path.join(folder, "stage")
		self.base = os.path.join(folder, "base")
		os.makedirs(self.stage)
		os.makedirs(self.base)
		self.install(cert)
		self.log = open(os.path.join(folder, "console"), "w+")
		self.process = subprocess.Popen(["unshare", "-f", "-p", "-m", "-C", "-n", "-i",
			"-u", "--kill-child",
			os.path.join(HERE, "systemd-boot"), self.base, self.stage],
			stdin=subprocess.DEVNULL,
			stdout=self.log, stderr=subprocess.STDOUT)
		self.pid = procs.wait_for(self.init_pid, 120, said="PID 1")
		try:
			procs.wait_for(lambda: self.run("systemctl",
				"is-system-running").stdout.strip()
				in ("running", "degraded"), 120, 0.05, "systemd is up")
		except AssertionError:
			self.log.seek(0)
			raise AssertionError("systemd does not come up:\n"
				+ self.log.read()) from None

	def put(self, path, text, mode=0o644):
		path = self.stage + path
		os.makedirs(os.path.dirname(path), exist_ok=True)
		with open(path, "w") as f:
			f.write(text)
		os.chmod(path, mode)

	def install(self, cert):
		done = subprocess.run(["make", "-s", "-C", BUILD, "install", "DESTDIR="
			+ self.stage],
			stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
			env={k: v for k, v in os.environ.items()
			if not k.startswith(("MAKE", "MFLAGS"))})
		assert done.returncode == 0, done.stdout
		found = {}
		for folder, _, names in os.walk(self.stage):
			for name in names:
				found[name] = os.path.join(folder, name)[len(self.stage):]
		self.binary, self.conf, self.unit = found["h2d"], found["h2d.conf"], found[
			"h2d.service"]
		self.put(self.conf, CONF)
		self.put("/srv/www/index.html", "hello from systemd\n")
		for name in ("crt", "key"):
			self.put("/etc/h2d/tls/server." + name,
				open(cert.cert if name == "crt" else cert.key).read(),
				0o600 if name == "key" else 0o644)
		for name in ("passwd", "group"):
			with open("/etc/" + name) as f:
				text = "".join(line for line in f if not line.startswith("h2d:"))
			self.put("/etc/" + name, text
				+ ("h2d:x:987:987::/nonexistent:/usr/sbin/nologin\n"
				if name == "passwd" else "h2d:x:987:\n"))
		if srv.SANITIZED:
			# the leak checker is a tracer, which the unit forbids
			self.put("/etc/systemd/system/h2d.service.d/sanitizer.conf",
				"[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\n")

	def init_pid(self):
		path = "/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)
		assert self.process.poll() is None, open(self.log.name).read()
		with open(path) as f:
			for pid in f.read().split():
				with open("/proc/%s/comm" % pid) as comm:
					if comm.read().strip() == "systemd":
						return int(pid)

	def run(self, *command, timeout=300):
		return subprocess.run(["nsenter", "-t", str(self.pid), "-a", "--", *command],
			stdout=subprocess.PIPE,
			stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
			timeout=timeout)

	def ok(self, *command):
		done = self.run(*command)
		assert done.returncode == 0, (command, done.stdout, done.stderr, self.journal())
		return done.stdout

	def show(self, name):
		return self.ok("systemctl", "show", "-P", name, "h2d").strip()

	def wait_stored(self):
		procs.wait_for(lambda: self.show("NFileDescriptorStore") == STORED, said="the sockets are stored")

	def wait_main(self, before):
		procs.wait_for(lambda: self.show("MainPID") not in ("0", before) and self.show("ActiveState") == "active", 120, 0.05,
			"another master")

	def journal(self):
		"""With all that was written before: journald takes its time to read it."""
		self.run("journalctl", "--sync")
		return self.run("journalctl", "-u", "h2d", "--no-pager", "-o", "cat").stdout

	def write(self, path, text):
		subprocess.run(["nsenter", "-t", str(self.pid), "-a", "--", "tee", path],
			input=text, text=True,
			stdout=subprocess.DEVNULL, check=True)

	def get(self, url="http://127.0.0.1:8080/"):
		return self.ok("curl", "-q", "-sSk", "--http2" if url.startswith("https")
			else "--http2-prior-knowledge",
			"-w", "%{http_code}", url)

	def close(self):
		self.process.send_signal(signal.SIGKILL)  # --kill-child takes PID 1 and with it all the rest along
		self.process.wait()
		self.log.close()


@pytest.fixture(scope="module")
def machine(cert):
	probe = subprocess.run(["unshare", "-f", "-p", "-m", "-C", "-n", "-i", "-u", "true"],
		stderr=subprocess.PIPE)
	if probe.returncode:
		harness.skip_without("namespaces", probe.stderr.decode().strip())
	folder = tempfile.mkdtemp(prefix="h2d-systemd-")
	booted = None
	try:
		booted = Machine(folder, cert)
		yield booted
	finally:
		if booted:
			booted.close()
		shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def unit(machine):
	"""Stopped, with a good configuration; and after the test without an alert in the journal."""
	machine.run("systemctl", "stop", "h2d")
	machine.run("systemctl", "reset-failed", "h2d")
	machine.write(machine.conf, CONF)
	before = len(machine.journal())
	yield machine
	text = machine.journal()[before:]
	assert " alert " not in text and "Sanitizer" not in text, text


@pytest.fixture
def started(unit):
	unit.ok("systemctl", "start", "h2d")
	return unit


def test_start_and_stop(unit):
	unit.ok("systemctl", "start", "h2d")
	assert unit.show("ActiveState") == "active"
	assert unit.show("Type") == "notify" and unit.show("WatchdogUSec") == "1min"
	status = unit.ok("systemctl", "status", "--no-pager", "h2d")
	assert "active (running)" in status and re.search(r"Status: \"\S+", status), status
	assert unit.get() == "hello from systemd\n200"
	assert unit.get("https://127.0.0.1:8443/") == "hello from systemd\n200"
	main = unit.show("MainPID")
	assert unit.ok("cat", "/run/h2d/h2d.pid").strip() == main
	unit.ok("systemctl", "stop", "h2d")
	assert unit.show("ActiveState") == "inactive"
	assert unit.show("Result") == "success"
	assert unit.run("pgrep", "-x", "h2d").stdout == ""
	assert unit.run("test", "-e", "/run/h2d/admin.sock").returncode != 0


def test_children_are_the_user(started):
	"""A keeper, for which no start waits, is the master's copy at first."""
	procs.wait_for(lambda: sorted(started.ok("ps", "-o", "user=", "-C", "h2d").split()) == ["h2d"] * CHILDREN + ["root"],
		said="all children are the user")


def test_reload(started):
	main = started.show("MainPID")
	started.ok("mkdir", "-p", "/srv/other")
	started.write("/srv/other/index.html", "other\n")
	started.write(started.conf, CONF.replace("/srv/www", "/srv/other"))
	started.ok("systemctl", "reload", "h2d")
	assert started.get() == "other\n200"
	assert started.show("MainPID") == main
	assert started.show("ActiveState") == "active"


def test_reload_of_a_broken_configuration(started):
	main = started.show("MainPID")
	started.write(started.conf, CONF + "nonsense = 1\n")
	done = started.run("systemctl", "reload", "h2d")
	assert done.returncode != 0
	assert re.search(r"h2d\.conf:%d: " % (CONF.count("\n") + 1),
		started.journal()), started.journal()
	assert started.show("ActiveState") == "active" and started.show("MainPID") == main
	assert started.get() == "hello from systemd\n200"
	started.write(started.conf, CONF)
	started.ok("systemctl", "reload", "h2d")


def test_start_with_a_broken_configuration(unit):
	unit.write(unit.conf, CONF.replace("/srv/www", "/srv/nothing"))
	done = unit.run("systemctl", "start", "h2d")
	assert done.returncode != 0
	assert re.search(r"h2d\.conf:\d+: .*/srv/nothing", unit.journal()), unit.journal()
	assert unit.show("ActiveState") == "failed" and unit.show("NRestarts") == "0"
	assert unit.run("pgrep", "-x", "h2d").stdout == ""


@pytest.mark.parametrize("was, now, made, said", [
	("/var/log/h2d/access.log", "/srv/access.log", "true", r"log /srv/access\.log: Read-only file system \(.*ReadWritePaths="),
	("/etc/h2d/tls/server.key", "/srv/its.key", "install -o h2d -m 600 /etc/h2d/tls/server.key /srv/its.key",
		r'certificate-key "/srv/its\.key": Permission denied \(.*CAP_DAC_READ_SEARCH'),
	('root = "/srv/www"', 'root = "/tmp/www"', "mkdir -p /tmp/www", r'root "/tmp/www": No such file or directory \(.*PrivateTmp='),
], ids=["log", "key", "root"])
def test_what_the_unit_keeps_away(unit, was, now, made, said):
	"""It is said with the cure, and not tried again."""
	assert was in CONF
	unit.ok("sh", "-c", made)
	unit.write(unit.conf, CONF.replace(was, now))
	assert unit.run("systemctl", "start", "h2d").returncode != 0
	assert re.search(said, unit.journal()), unit.journal()
	assert unit.show("ActiveState") == "failed" and unit.show("NRestarts") == "0"


def test_uploads_that_the_unit_forbids(unit):
	"""-t says so before the start, which goes on."""
	unit.ok("install", "-d", "-o", "h2d", "/srv/www/up")
	unit.write(unit.conf, CONF.replace('"/srv/www"', '"/srv/www"  upload-dir = "up"  upload-public = true'))
	before = len(unit.journal())
	unit.ok("systemctl", "start", "h2d")
	said = r'h2d\.conf:\d+: (warning: )?upload-dir "/srv/www/up": Read-only file system: .*ReadWritePaths='
	assert [bool(word) for word in re.findall(said, unit.journal()[before:])] == [True, False], unit.journal()
	unit.ok("rm", "-r", "/srv/www/up")


def test_an_address_that_is_taken_is_tried_again(unit):
	"""Longer than h2d itself waits for it: the unit starts it again."""
	with subprocess.Popen(["nsenter", "-t", str(unit.pid), "-a", "--", "/usr/bin/python3", "-c",
			"import socket; s = socket.create_server(('127.0.0.1', 8080)); print(flush=True); input(); print()"],
			stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
		other.stdout.readline()
		unit.ok("systemctl", "start", "--no-block", "h2d")
		procs.wait_for(lambda: unit.show("NRestarts") != "0", 120, 0.05, "a restart")
		assert "in use" in unit.journal(), unit.journal()
		other.communicate(b"\n")
	procs.wait_for(lambda: unit.show("ActiveState") == "active", 120, 0.05, "serving")
	assert unit.get() == "hello from systemd\n200"


def inside(machine, program, *arguments):
	"""A Python program in the machine."""
	return subprocess.Popen(["nsenter", "-t", str(machine.pid), "-a", "--", "/usr/bin/python3", "-c", program,
		*arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def status_of(machine):
	"""What an operator sees."""
	return json.loads(machine.ok("curl", "-q", "-sS", "--unix-socket", "/run/h2d/admin.sock",
		"http://localhost/status.json"))


def test_killed_worker(started):
	main = started.show("MainPID")
	worker = started.ok("pgrep", "-P", main).split()[0]
	started.ok("kill", "-9", worker)
	procs.wait_for(lambda: worker not in (now := started.ok("pgrep", "-P", main).split())
		and len(now) == CHILDREN,
		said="another worker")
	assert started.get() == "hello from systemd\n200"
	assert started.show("MainPID") == main and started.show("NRestarts") == "0"


SLOW = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) as s:
	s.sendall(b"GET /large HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n")
	n = len(s.recv(100))
	print(flush=True)
	input()
	while data := s.recv(1 << 20):
		n += len(data)
	print(n)
"""


def test_killed_master_leaves_downloads(started):
	"""Its workers finish what they have under KillMode=process, and the next master serves beside them."""
	size = 64 << 20
	started.ok("truncate", "-s", str(size), "/srv/www/large")
	main = started.show("MainPID")
	orphans = started.ok("pgrep", "-P", main).split()
	with inside(started, SLOW, "8080") as download:
		download.stdout.readline()
		started.ok("systemctl", "kill", "-s", "KILL", "--kill-whom=main", "h2d")
		started.wait_main(main)
		assert started.get() == "hello from systemd\n200"
		assert int(download.communicate("\n", timeout=120)[0]) > size
	started.ok("rm", "/srv/www/large")
	procs.wait_for(lambda: not set(orphans) & set(started.run("pgrep", "-x", "h2d").stdout.split()),
		120, said="the orphans leave")


def test_a_stop_takes_as_long_as_a_download(unit):
	"""And no master is killed for it, however short TimeoutStopSec is."""
	size = 64 << 20
	unit.ok("truncate", "-s", str(size), "/srv/www/large")
	drop_in(unit, "[Service]\nTimeoutStopSec=2\n")
	try:
		unit.ok("systemctl", "start", "h2d")
		main = unit.show("MainPID")
		with inside(unit, SLOW, "8080") as client:
			client.stdout.readline()
			unit.ok("systemctl", "stop", "--no-block", "h2d")
			procs.wait_for(lambda: unit.show("ActiveState") == "deactivating", said="it stops")
			time.sleep(3)
			assert unit.show("MainPID") == main, unit.journal()
			assert int(client.communicate("\n", timeout=120)[0]) > size
		procs.wait_for(lambda: unit.show("ActiveState") == "inactive", said="it has stopped")
		assert unit.show("Result") == "success"
	finally:
		drop_in(unit)
		unit.ok("rm", "/srv/www/large")


def test_a_master_that_dies_again_and_again_is_restarted(started):
	for _ in range(8):
		main = started.show("MainPID")
		started.ok("systemctl", "kill", "-s", "KILL", "--kill-whom=main", "h2d")
		started.wait_main(main)
	assert started.get() == "hello from systemd\n200"


def drop_in(machine, text=None):
	"""Beside the unit; without a text none is."""
	path = "/etc/systemd/system/h2d.service.d/test.conf"
	if text is None:
		machine.ok("rm", "-f", path)
	else:
		machine.ok("mkdir", "-p", os.path.dirname(path))
		machine.write(path, text)
	machine.ok("systemctl", "daemon-reload")


KNOCK = """
import select, socket, sys
n = 0
print(flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
	with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) as s:
		s.sendall(b"GET / HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n")
		assert s.recv(100).startswith(b"HTTP/1.1 200"), "not served"
	n += 1
print(n)
"""


def test_a_restart_refuses_nobody(started):
	"""And does not wait for a download, which the workers of before finish beside the next master."""
	size = 64 << 20
	started.ok("truncate", "-s", str(size), "/srv/www/large")
	main = started.show("MainPID")
	started.wait_stored()
	with inside(started, SLOW, "8080") as slow, inside(started, KNOCK, "8080") as client:
		slow.stdout.readline()
		client.stdout.readline()
		for _ in range(3):
			started.ok("systemctl", "restart", "h2d")
			assert started.show("MainPID") not in ("0", main) and started.show("ActiveState") == "active"
			assert len(status_of(started)["workers"]) == 2 and started.show("NFileDescriptorStore") == STORED
			main = started.show("MainPID")
		assert int(client.communicate("\n", timeout=120)[0]) > 0 and client.returncode == 0, started.journal()
		assert int(slow.communicate("\n", timeout=120)[0]) > size
	assert started.show("NRestarts") == "0" and "(kept)" in started.journal()
	started.ok("rm", "/srv/www/large")
	procs.wait_for(lambda: len(started.ok("pgrep", "-x", "h2d").split()) == CHILDREN + 1, said="the others leave")


def test_a_restart_to_another_address(started):
	"""What was stored and is not wanted any more is not in its way."""
	started.wait_stored()
	started.write(started.conf, CONF.replace("127.0.0.1:8080", "0.0.0.0:8080"))
	started.ok("systemctl", "restart", "h2d")
	assert started.get() == "hello from systemd\n200"
	assert started.show("NFileDescriptorStore") == STORED
	assert "127.0.0.1:8080" not in started.ok("ss", "-Htln")


@pytest.fixture
def impatient(unit):
	"""The master is given up after five seconds instead of the minute of the unit."""
	drop_in(unit, "[Service]\nWatchdogSec=5\n")
	unit.ok("systemctl", "start", "h2d")
	yield unit
	unit.run("systemctl", "stop", "h2d")
	drop_in(unit)


def test_a_master_that_stands_still_is_replaced(impatient):
	"""Its workers serve meanwhile, and what comes after them waits for the next one: none of a client's connections
	fails."""
	main = impatient.show("MainPID")
	impatient.wait_stored()
	with inside(impatient, KNOCK, "8080") as client:
		client.stdout.readline()
		impatient.ok("kill", "-STOP", main)
		impatient.wait_main(main)
		client.communicate("\n", timeout=120)
		assert client.returncode == 0, impatient.journal()
	assert impatient.show("NRestarts") != "0"
	status = impatient.ok("systemctl", "status", "--no-pager", "h2d")
	assert "active (running)" in status and "Main PID: %s (h2d)" % impatient.show("MainPID") in status, status


def test_the_watchdog_follows_an_upgrade(impatient):
	"""It hears the new master, and gives nobody up."""
	upgrade(impatient)
	main = impatient.show("MainPID")
	for _ in range(2):
		before = impatient.show("WatchdogTimestampMonotonic")
		procs.wait_for(lambda: impatient.show("WatchdogTimestampMonotonic") != before, said="a sign of life")
	assert impatient.show("MainPID") == main and impatient.show("NRestarts") == "0"


def test_out_of_memory_stops_one_process(unit):
	assert unit.show("OOMPolicy") == "continue"


def test_log_that_belongs_to_the_user(unit):
	"""As logrotate's `create 0600 h2d h2d` leaves it; root has no CAP_DAC_OVERRIDE here."""
	log = "/var/log/h2d/access.log"
	unit.ok("sh", "-c", "mkdir -p /var/log/h2d; rm -f %s; install -o h2d -g h2d -m 600 /dev/null %s"
		% (log, log))
	unit.ok("systemctl", "start", "h2d")
	assert unit.get("http://127.0.0.1:8080/one").endswith("404")
	unit.ok("sh", "-c", "mv %s %s.1; install -o h2d -g h2d -m 600 /dev/null %s" % (log, log, log))
	unit.ok("systemctl", "kill", "-s", "USR1", "--kill-whom=main", "h2d")
	procs.wait_for(lambda: unit.get("http://127.0.0.1:8080/two").endswith("404")
		and "/two" in unit.ok("cat", log), said="a line in the new log")
	procs.wait_for(lambda: "/one" in unit.ok("cat", log + ".1"), said="the line of the other worker in the old log")
	unit.ok("rm", log)


def test_writable_root_is_cached(unit):
	"""The unit's own advice for uploads must not take files out of the cache."""
	advice = re.search(r"ReadWritePaths=(\S+)", open(os.path.join(BUILD, "systemd",
		"h2d.service")).read()).group(1)
	assert CONF.count('root = "%s"' % advice) == 1
	unit.ok("mkdir", "-p", "/srv/www/files", "/etc/systemd/system/h2d.service.d")
	names = ["/srv/www/files/%d.txt" % i for i in range(20)]
	for name in names:
		unit.write(name, name)
	drop_in = "/etc/systemd/system/h2d.service.d/uploads.conf"
	unit.write(drop_in, "[Service]\nReadWritePaths=%s\n" % advice)
	unit.ok("systemctl", "daemon-reload")
	unit.ok("systemctl", "start", "h2d")

	def cached():
		status = status_of(unit)
		return status["cache"]["pending"] == 0 and status["cache"]["entries"] >= len(names) + 1
	procs.wait_for(cached, said="all files are in the image")
	unit.ok("rm", "-r", drop_in, "/srv/www/files")
	unit.ok("systemctl", "daemon-reload")


def test_security(machine):
	"""At most 2.6 as shipped."""
	text = machine.run("systemd-analyze", "security", "--no-pager", "h2d.service").stdout
	level = float(re.search(r"Overall exposure level for h2d\.service: ([\d.]+)",
		text).group(1))
	assert level <= 2.6, text


def test_unit_is_valid(machine):
	done = machine.run("systemd-analyze", "verify", "--man=no", machine.unit)
	assert "h2d.service" not in done.stderr, done.stderr


def upgrade(machine):
	return machine.ok(machine.binary, "-s", "upgrade")


def test_upgrade(started):
	"""systemd follows: Main PID is the new master, who is stopped gracefully."""
	old = started.show("MainPID")
	done = upgrade(started)
	main = started.show("MainPID")
	assert main != old and re.match(r"upgraded: pid %s \u2192 %s in " % (old, main), done), done
	assert started.ok("cat", "/run/h2d/h2d.pid").strip() == main
	status = started.ok("systemctl", "status", "--no-pager", "h2d")
	assert "active (running)" in status and "Main PID: %s (h2d)" % main in status, status
	procs.wait_for(lambda: "serving: generation 2" in started.ok("systemctl", "status", "--no-pager", "h2d"),
		said="the new master's status")
	assert started.ok("ps", "-o", "ppid=", "-p", main).strip() == "1", "systemd's own child"
	procs.wait_for(lambda: old not in started.run("pgrep", "-x", "h2d").stdout.split(), said="the old one leaves")
	assert started.show("ActiveState") == "active" and started.show("NRestarts") == "0"
	assert started.get() == "hello from systemd\n200"
	started.ok("systemctl", "reload", "h2d")
	assert started.show("MainPID") == main
	assert "reception only permitted" not in started.journal()


def test_stop_after_an_upgrade_is_graceful(started):
	size = 8 << 20
	started.ok("sh", "-c", "head -c %d /dev/zero > /srv/www/large" % size)
	upgrade(started)
	command = "curl -q -sS --http2-prior-knowledge --limit-rate 4M http://127.0.0.1:8080/large"
	with subprocess.Popen(["nsenter", "-t", str(started.pid), "-a", "--", "sh", "-c",
			command + " | wc -c"], stdout=subprocess.PIPE, text=True) as download:
		procs.wait_for(lambda: started.run("sh", "-c",
			"ss -Htn state established sport = :8080").stdout.strip(), said="the download")
		started.ok("systemctl", "stop", "h2d")
		assert int(download.communicate(timeout=120)[0]) == size
	assert started.show("ActiveState") == "inactive" and started.show("Result") == "success"
	assert started.run("pgrep", "-x", "h2d").stdout == ""
	assert started.run("sh", "-c", "ls /run/h2d").stdout == ""


CLIENTS = """
import socket, sys
address = sys.argv[1]
path = b"/healthz" if address.startswith("/") else b"/"
def connect():
	s = socket.socket(socket.AF_UNIX if address.startswith("/") else socket.AF_INET)
	s.settimeout(60)
	s.connect(address if address.startswith("/") else ("127.0.0.1", int(address)))
	s.sendall(b"GET " + path + b" HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n")
	return s
every = [connect() for _ in range(20)]
print("connected", flush=True)
input()
for s in every:
	assert s.recv(100).startswith(b"HTTP/1.1 200"), "refused"
print("served", flush=True)
"""


def clients(machine, address):
	return inside(machine, CLIENTS, address)


@pytest.mark.parametrize("address", ["8080", "/run/h2d/admin.sock"])
def test_sockets_outlive_the_master(started, address):
	"""FDSTORE: connections that are queued when all of h2d is killed are served by the next one."""
	main = started.show("MainPID")
	started.wait_stored()
	children = started.ok("pgrep", "-P", main).split()
	started.ok("kill", "-STOP", main, *children)
	with clients(started, address) as waiting:
		assert waiting.stdout.readline() == "connected\n"
		started.ok("kill", "-9", main, *children)
		waiting.stdin.write("\n")
		waiting.stdin.flush()
		assert waiting.stdout.readline() == "served\n", started.journal()
	assert started.show("MainPID") not in ("0", main)
	assert "(kept)" in started.journal()
	assert started.show("NFileDescriptorStore") == STORED


def test_store_follows_the_configuration(started):
	"""What a reload gives up is refused, not queued where nobody serves it; so is all after a stop."""
	started.wait_stored()
	upgrade(started)
	started.write(started.conf, CONF.replace("127.0.0.1:8080", "127.0.0.1:8081"))
	started.ok("systemctl", "reload", "h2d")
	procs.wait_for(lambda: started.run("curl", "-q", "-sS", "http://127.0.0.1:8080/").returncode == 7,
		said="the old port is refused")
	assert started.show("NFileDescriptorStore") == STORED
	started.ok("systemctl", "stop", "h2d")
	assert started.show("NFileDescriptorStore") == "0"


@pytest.fixture
def activated(unit):
	"""h2d.socket has the ports of the configuration."""
	folder = "/etc/systemd/system"
	example = next(os.path.join(where, "h2d.socket") for where, _, names in os.walk(unit.stage)
		if "h2d.socket" in names)
	with open(example) as f:
		text = f.read()

	def start(more="ListenStream=127.0.0.1:8443\nListenStream=/run/admin.sock\n", reuse=True):
		now = re.sub(r"^ListenStream=.*\n", "", text, flags=re.M).replace("[Socket]\n",
			"[Socket]\nListenStream=127.0.0.1:8080\n" + more)
		unit.write(folder + "/h2d.socket", now if reuse else now.replace("ReusePort=yes", ""))
		unit.write(unit.conf, CONF.replace("unix:/run/h2d/admin.sock", "unix:/run/admin.sock"))
		unit.ok("systemctl", "daemon-reload")
		unit.ok("systemctl", "start", "h2d.socket")
		return unit
	yield start
	unit.run("systemctl", "stop", "h2d.socket", "h2d")
	unit.ok("rm", "-f", folder + "/h2d.socket")
	unit.ok("systemctl", "daemon-reload")


@pytest.mark.parametrize("reuse", [True, False], ids=["ReusePort", "shared"])
def test_socket_activation(activated, reuse):
	"""The first connection starts h2d; a stop and an upgrade leave what waits to the next one."""
	machine = activated(reuse=reuse)
	assert machine.show("ActiveState") == "inactive"
	assert machine.get() == "hello from systemd\n200"
	assert machine.get("https://127.0.0.1:8443/") == "hello from systemd\n200"
	assert "listening on 127.0.0.1:8080 (passed)" in machine.journal()
	main = machine.show("MainPID")
	listening = machine.ok("sh", "-c", "ss -Htln sport = :8080").strip().split("\n")
	assert len(listening) == (2 if reuse and not ACCEPTOR else 1), "one per worker, or one for both"
	upgrade(machine)
	assert machine.show("MainPID") != main
	for _ in range(10):
		assert machine.get() == "hello from systemd\n200"
	machine.ok("systemctl", "reload", "h2d")
	machine.ok("systemctl", "stop", "h2d")
	assert machine.run("test", "-S", "/run/admin.sock").returncode == 0, "the socket unit's file stays"
	with clients(machine, "8080") as waiting:
		assert waiting.stdout.readline() == "connected\n"
		waiting.stdin.write("\n")
		waiting.stdin.flush()
		assert waiting.stdout.readline() == "served\n"
	assert machine.get() == "hello from systemd\n200"


def test_a_passed_socket_that_nobody_serves(activated):
	machine = activated(more="ListenStream=127.0.0.1:8082\n")
	machine.ok("systemctl", "start", "h2d")
	assert re.search(r"inherited socket 127\.0\.0\.1:8082 not used: no listen", machine.journal())
	assert machine.get() == "hello from systemd\n200"
	machine.write(machine.conf, CONF.replace("127.0.0.1:8443\" { tls = true", "127.0.0.1:8082\" { tls = false"))
	machine.ok("systemctl", "reload", "h2d")
	assert machine.get("http://127.0.0.1:8082/") == "hello from systemd\n200"
