"""packaging/container-start, the first process of the image: as PID 1 of its own namespaces, as a user without rights."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

import harness
import procs
import server as srv

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
START = os.path.join(TOP, "packaging", "container-start")
NAMESPACES = ("-f", "-p", "-m", "-n", "-i", "-u")
# What the image has: a place to write to, and nobody's rights.
ENTER = """
mount -t tmpfs tmpfs /run && mkdir /run/h2d && chown 65534 /run/h2d && ip link set lo up
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set -all "$@"
"""
# As Kubernetes' restricted profile and OpenShift have it: readOnlyRootFilesystem, a user that is in no table, group 0.
HARDENED = """
mount -t tmpfs -o mode=1777 tmpfs "$SHM" && mount -t tmpfs -o mode=0555 tmpfs /run && ip link set lo up
mount --make-rprivate / && mount -o remount,bind,ro / && { ! mountpoint -q /tmp || mount -o remount,bind,ro /tmp; } && (! touch /x) 2>&-
exec setpriv --reuid 1000690000 --regid 0 --clear-groups --no-new-privs --bounding-set -all "$@"
"""


class Container:
	"""image: a folder that everybody can read, with bin/ and www/."""
	def __init__(self, image, env, enter=ENTER):
		self.log = open(os.path.join(image, "log"), "w+")
		self.start = os.path.join(image, "bin", "container-start")
		self.process = subprocess.Popen(["unshare", *NAMESPACES, "--mount-proc", "--kill-child", "sh", "-c", enter, "sh", self.start],
			env={"PATH": os.path.dirname(self.start) + ":/usr/sbin:/usr/bin:/sbin:/bin",
				"ROOT": os.path.join(image, "www"), "H2D_CONF": "/run/none", **env},
			stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)

	def first(self):
		"""The container's PID 1, as this machine numbers it; 0: not yet."""
		with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as f:
			return int((f.read().split() or ["0"])[0])

	def init(self):
		"""The same, once it is h2d; 0 before."""
		assert self.process.poll() is None, self.text()
		pid = self.first()
		with open("/proc/%d/comm" % pid if pid else os.devnull) as comm:
			return pid if comm.read().strip() == "h2d" else 0

	def run(self, *command):
		return subprocess.run(["nsenter", "-t", str(self.init()), "-m", "-p", "-n", "--", *command],
			stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=4 * procs.DEADLINE)

	def healthy(self):
		return self.init() and self.run(self.start, "health").returncode == 0

	def text(self):
		self.log.seek(0)
		return self.log.read()

	def close(self):
		if self.process.poll() is None:
			# Process 1 takes the whole container along. --kill-child is lost to it when it changes its user.
			with contextlib.suppress(OSError):
				os.kill(self.first() or self.process.pid, signal.SIGKILL)
			self.process.kill()
			self.process.wait()
		self.log.close()


@pytest.fixture
def image():
	harness.need_namespaces(*NAMESPACES)
	folder = tempfile.mkdtemp(prefix="h2d-image-")
	os.chmod(folder, 0o755)
	for name in ("bin", "www"):
		os.mkdir(os.path.join(folder, name), 0o755)
	for path in (START, srv.H2D):
		shutil.copy(path, os.path.join(folder, "bin"))
	with open(os.path.join(folder, "www", "index.html"), "w") as f:
		f.write("hello from a container\n")
	with open(os.path.join(folder, "www", "large"), "wb") as f:
		f.truncate(40 << 20)
	yield folder
	shutil.rmtree(folder)


@pytest.fixture
def container(image):
	there = []

	def start(enter=ENTER, **env):
		there.append(Container(image, env, enter))
		procs.wait_for(there[-1].healthy, 120, said="health")
		return there[-1]
	yield start
	for c in there:
		c.close()


def begin_download(c, rate):
	large = os.path.join(os.path.dirname(c.start), "downloaded")
	download = subprocess.Popen(["nsenter", "-t", str(c.init()), "-n", "--", "curl", "-sS", "--no-buffer", "--limit-rate", rate,
		"-w", "%{size_download}", "-o", large, "http://127.0.0.1:8081/large"], stdout=subprocess.PIPE,
		stderr=subprocess.DEVNULL, text=True)
	procs.wait_for(lambda: os.path.exists(large) and os.path.getsize(large), said="download")
	return download


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM], ids=["QUIT", "TERM"])
def test_serves_and_finishes(container, number):
	"""By the image's STOPSIGNAL, and by the one that is sent where nobody heeds that."""
	c = container(PORT="8081", THREADS="2")
	assert c.run("curl", "-sS", "http://127.0.0.1:8081/", "http://127.0.0.1:8081/healthz").stdout.startswith(
		"hello from a container\n")
	download = begin_download(c, "20M")
	os.kill(c.init(), number)
	assert download.communicate(timeout=4 * procs.DEADLINE)[0] == str(40 << 20)
	assert c.process.wait(4 * procs.DEADLINE) == 0, c.text()
	assert "alert" not in c.text() and "AddressSanitizer" not in c.text(), c.text()
	# Not what asks every ten seconds, on a listener of its own.
	asked = re.findall(r'"GET (\S+) [^"]*" (\d+)', c.text())
	assert sorted(asked) == [("/", "200"), ("/healthz", "404"), ("/large", "200")], c.text()


@pytest.mark.parametrize("shm, tmpdir", [("/dev/shm", "/tmp"), ("/mnt", "/mnt")], ids=["dev-shm", "TMPDIR"])
def test_read_only_and_any_user(container, shm, tmpdir):
	c = container(HARDENED, SHM=shm, TMPDIR=tmpdir)
	assert c.run("curl", "-sS", "http://127.0.0.1:8080/").stdout == "hello from a container\n"
	with open("/proc/%d/cmdline" % c.init()) as f:
		assert f.read().split("\0")[1:3] == ["-f", shm + "/h2d.conf"]
	os.kill(c.init(), signal.SIGHUP)
	procs.wait_for(lambda: "generation 1 \u2192 2" in c.text(), said="reload")
	os.kill(c.init(), signal.SIGTERM)
	assert c.process.wait(4 * procs.DEADLINE) == 0 and " error " not in c.text(), c.text()


def test_nowhere_to_write(image):
	c = Container(image, {"SHM": "/dev/shm"}, HARDENED.replace("1777", "0555"))
	try:
		assert c.process.wait(4 * procs.DEADLINE) == 1, c.text()
		assert "nowhere to write" in c.text() and "emptyDir" in c.text(), c.text()
	finally:
		c.close()


@pytest.mark.parametrize("numbers", [[signal.SIGTERM, signal.SIGTERM], [signal.SIGINT]], ids=["TERM twice", "INT"])
def test_stops_at_once(container, numbers):
	"""The download would take minutes. Its client may long be busy with what the kernel has for it."""
	c = container(PORT="8081")
	download = begin_download(c, "100K")
	for sent, number in enumerate(numbers, 1):
		os.kill(c.init(), number)
		procs.wait_for(lambda sent=sent: len(re.findall("signal [A-Z]+ from", c.text())) == sent, said="it is seen")
	try:
		assert c.process.wait(4 * procs.DEADLINE) == 0, c.text()
	finally:
		download.kill()
		download.communicate()


def test_shutdown_delay(container):
	"""Whoever asks for the health sees that it is about to leave, and new connections are served until then."""
	c = container(PORT="8081", SHUTDOWN_DELAY="600")
	os.kill(c.init(), signal.SIGQUIT)
	procs.wait_for(lambda: not c.healthy(), said="health says so")
	assert c.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:9180/healthz").stdout == "503"
	assert c.run("curl", "-sS", "http://127.0.0.1:8081/").stdout == "hello from a container\n"
	os.kill(c.init(), signal.SIGQUIT)
	assert c.process.wait(4 * procs.DEADLINE) == 0, c.text()


def lines(name):
	with open(os.path.join(TOP, name)) as f:
		return [line.rstrip("\n") for line in f if line.strip() and not line.startswith("#")]


def as_docker_says(pattern):
	"""A line of .gitignore in the words of .dockerignore, where no pattern means every folder by itself."""
	sign, name = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
	name = name.rstrip("/")
	return sign + (name[1:] if name.startswith("/") else name if "/" in name else "**/" + name)


def test_what_was_built_here_stays_here():
	"""The image is built from the source alone: a build/ in the context would stop it, another system's objects spoil it."""
	assert lines(".dockerignore") == [".git", *map(as_docker_says, lines(".gitignore"))]


def test_tls(container, image, cert):
	for name, path in (("crt", cert.cert), ("key", cert.key)):
		shutil.copy(path, os.path.join(image, name))
		os.chmod(os.path.join(image, name), 0o644)
	c = container(TLS_CERT=os.path.join(image, "crt"), TLS_KEY=os.path.join(image, "key"))
	assert c.run("curl", "-sSk", "https://127.0.0.1:8080/").stdout == "hello from a container\n"


def test_mounted_configuration(container, image):
	conf = os.path.join(image, "h2d.conf")
	with open(conf, "w") as f:
		f.write('pid-file = "/run/h2d/h2d.pid"\nlisten "127.0.0.1:8081" {}\nlisten "127.0.0.1:9180" { admin = true }\nserver "_" { root = "www" }\n')
	c = container(H2D_CONF=conf)
	assert c.run("curl", "-sS", "http://127.0.0.1:8081/").stdout == "hello from a container\n"
	download = begin_download(c, "100K")
	done = c.run(os.path.join(image, "bin", "h2d"), "-f", conf, "-s", "stop")
	assert done.returncode in (0, -signal.SIGKILL), done.stderr  # it may end with its namespace
	try:
		assert c.process.wait(4 * procs.DEADLINE) == 0, "stop is now: the download would take minutes"
	finally:
		download.kill()
		download.communicate()


@pytest.mark.parametrize("env, words", [
	({"PORT": "http"}, "PORT must be a number"),
	({"TLS_CERT": "/a"}, "TLS_CERT and TLS_KEY go together"),
	({"THREADS": "many"}, "worker-processes must be"),
	({"ROOT": '/a "b" \\c'}, 'root "/a "b" \\c"'),
], ids=lambda v: next(iter(v)) if isinstance(v, dict) else "")
def test_wrong(image, env, words):
	c = Container(image, env)
	try:
		assert c.process.wait(4 * procs.DEADLINE) == 1, c.text()
		assert words in c.text(), c.text()
	finally:
		c.close()
