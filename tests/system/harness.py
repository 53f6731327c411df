"""Fixtures and rules of all black-box tests; the conftest.py of each folder registers this as a plugin."""
import collections
import os
import re
import signal
import socket
import statistics
import subprocess
import zlib

import pytest

import procs
import server as server_module

HERE = os.path.dirname(os.path.abspath(__file__))
os.umask(0o022)  # other users may read what a test writes, unless it says so
STRICT = os.environ.get("REQUIRE_SYSTEM_TESTS") == "1"


def _allowed_skips():
	with open(os.path.join(HERE, "allowed-skips")) as f:
		lines = (line.partition("#")[0].strip() for line in f)
		return {line for line in lines if line and (line != "root" or os.geteuid() != 0)}


ALLOWED_SKIPS = _allowed_skips()


def skip_without(capability, why):
	"""Skips for want of a kernel capability that allowed-skips names."""
	assert capability in ALLOWED_SKIPS, capability
	pytest.skip("kernel capability %s: %s" % (capability, why))


def needs_root(why):
	"""A mark for a test that only root can run."""
	return pytest.mark.skipif(os.geteuid() != 0, reason="kernel capability root: " + why)


def _is_for_want_of_ptrace(error):
	"""Whether it is a look into a process of another user, of a root who has no CAP_SYS_PTRACE."""
	if os.geteuid() != 0 or not isinstance(error, PermissionError) or not re.search(r"/proc/\d|ptrace\(", str(error)):
		return False
	with open("/proc/self/status") as f:
		return int(re.search(r"^CapEff:\s+(\w+)", f.read(), re.M).group(1), 16) >> 19 & 1 == 0


def need_ipv6():
	"""Skips where there is no ::1."""
	try:
		with socket.socket(socket.AF_INET6) as s:
			s.bind(("::1", 0))
	except OSError as e:
		skip_without("ipv6", str(e))


def need_namespaces(*which):
	"""Skips where unshare(1) may not make namespaces: which of them, as its options say."""
	probe = subprocess.run(["unshare", *which, "true"], stderr=subprocess.PIPE, text=True)
	if probe.returncode:
		skip_without("namespaces", probe.stderr.strip())


def _kill_one(pid, number, kill=os.kill):
	"""0 would be this process group: a status says so while nobody has a process's place."""
	assert pid > 1, "a signal for process %d" % pid
	kill(pid, number)
	if number in (signal.SIGKILL, signal.SIGABRT):
		procs.killed.add(pid)


os.kill = _kill_one


# Lines that a test leaves for the end of the run: what it measured; and seconds by what took them.
REPORT = []
TIMES = collections.defaultdict(list)


def _times():
	every = sorted(t for times in TIMES.values() for t in times)
	for said, times in sorted(TIMES.items()) + [("all", every)]:
		if times:
			yield "freshness: %-36s n %4d  median %6.1f ms  max %6.1f ms" % (
				said, len(times), 1000 * statistics.median(times), 1000 * max(times))


def pytest_terminal_summary(terminalreporter):
	for line in [*REPORT, *_times()]:
		terminalreporter.write_line(line)
	# Of the reason of a failure pytest says as much as fits a line of this width.
	terminalreporter.config.get_terminal_writer().fullwidth = 240


def pytest_sessionfinish(session):
	if hasattr(session.config, "workeroutput"):
		session.config.workeroutput["h2d"] = (REPORT, dict(TIMES))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
	"""What a process of pytest-xdist measured comes to the one that writes the summary."""
	report, times = getattr(node, "workeroutput", {}).get("h2d", ([], {}))
	REPORT.extend(report)
	for said, seconds in times.items():
		TIMES[said] += seconds


def pytest_configure(config):
	config.addinivalue_line("markers", "slow: takes many seconds, and begins first")
	config.addinivalue_line("markers", "xdist_group(name): in one process, as they share what is costly")


def _every_other(items):
	"""Those left out of a run of every other variant of each test: of one test the even, of another the odd ones."""
	variants = collections.defaultdict(list)
	for item in items:
		variants[item.nodeid.partition("[")[0]].append(item)
	return {item for name, all_of_it in variants.items() if len(all_of_it) > 1
		for item in all_of_it[zlib.crc32(name.encode()) % 2::2]}


def pytest_collection_modifyitems(config, items):
	items.sort(key=lambda item: item.get_closest_marker("slow") is None)
	if os.environ.get("H2D_VARIANTS") == "half":
		left_out = _every_other(items)
		config.hook.pytest_deselected(items=[item for item in items if item in left_out])
		items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
	report = (yield).get_result()
	if report.failed and _is_for_want_of_ptrace(call.excinfo.value):
		report.outcome = "skipped"
		report.longrepr = (*item.location[:2], "kernel capability ptrace: %s" % call.excinfo.value)
	setattr(item, "report_" + report.when, report)
	if STRICT and report.skipped and not hasattr(report, "wasxfail"):
		reason = str(report.longrepr[2]).removeprefix("Skipped: ")
		if not any(reason.startswith("kernel capability %s:" % name)
				for name in ALLOWED_SKIPS):
			report.outcome = "failed"
			report.longrepr = "REQUIRE_SYSTEM_TESTS=1 and this was skipped: " + reason


class Certificate:
	"""For a name, and more; names: "DNS:…" of each further one. kind: of its key, "ecdsa" or "rsa"."""
	def __init__(self, folder, name="localhost", names=(), kind="ecdsa", days=30):
		self.cert, self.key = (os.path.join(folder, name + ("" if kind == "ecdsa" else "." + kind) + end) for end in (".crt", ".key"))
		key = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ecdsa" else ["rsa:2048"]
		subprocess.run(["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", str(days), "-subj", "/CN=" + name,
			"-addext", ",".join(["subjectAltName=DNS:%s" % name, "IP:127.0.0.1", *names]),
			"-keyout", self.key, "-out", self.cert], check=True,
			stderr=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def cert(tmp_path_factory):
	return Certificate(str(tmp_path_factory.mktemp("tls")))


@pytest.fixture
def h2d(request, cert):
	"""Makes servers: h2d(conf=…) is started, h2d.new(conf=…) is not; image: it has one. All are checked at the end."""
	made = []
	procs.killed.clear()

	def new(**options):
		server = server_module.Server(cert, **options)
		made.append(server)
		return server

	def start(image=False, **options):
		return new(**options).start(image=image)

	start.new = new
	yield start
	failed = getattr(request.node, "report_call", None)
	failed = failed is not None and failed.failed
	errors = []
	for server in reversed(made):
		try:
			server.finish(failed)
		except AssertionError as e:
			errors.append(str(e))
	assert not errors, "\n".join(errors)


@pytest.fixture
def site(h2d):
	"""A plain server: one worker, tcp and tls, one page."""
	return h2d()


@pytest.fixture(params=["tcp", "tls"])
def how(request):
	"""The transport of a test."""
	return request.param


@pytest.fixture(scope="session")
def work_folder():
	"""Where tools are built once and kept between runs."""
	top = os.path.dirname(os.path.dirname(HERE))
	path = os.environ.get("H2D_TEST_FOLDER") or os.path.join(top, "build", "test-tools")
	os.makedirs(path, exist_ok=True)
	return path


