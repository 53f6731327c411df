"""/metrics: what it counts is what was asked, in both formats, and it never drops."""
import contextlib
import os
import re
import signal

import pytest
from hyperframe import frame as hf

import client
from procs import wait_for

OPEN = "application/openmetrics-text"
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
	"""One scrape: samples by name and labels, types and helps by name."""

	def __init__(self, text):
		self.text = text
		self.values = {}
		self.types = {}
		for line in text.splitlines():
			if line.startswith("# TYPE "):
				name, kind = line.split(" ")[2:]
				assert name not in self.types, line
				self.types[name] = kind
			elif not line.startswith("#"):
				name, labels, value = SAMPLE.fullmatch(line).groups()
				key = (name, frozenset(LABEL.findall(labels or "")))
				assert key not in self.values, line
				self.values[key] = float(value)

	def get(self, name, **labels):
		"""The sum of all samples of that name that have these labels."""
		return sum(value for (n, have), value in self.values.items()
			if n == "h2d_" + name and set(labels.items()) <= have)

	def labels(self, name):
		return [dict(have) for n, have in self.values if n == "h2d_" + name]


def scrape_by(c):
	answer = c.get("/metrics")
	assert answer.status == 200, answer
	assert answer.get("cache-control") == "no-store" and answer.get("vary") == "accept"
	return Metrics(answer.body.decode())


def scrape(server):
	with client.Client.unix(server.admin_path) as c:
		return scrape_by(c)


def scrape_when(c, condition):
	"""Until that holds: what is over is counted a moment later than the client sees it."""
	return wait_for(lambda: (lambda m: m if condition(m) else None)(scrape_by(c)), said="that is counted")


def rise(before, after, name, **labels):
	return after.get(name, **labels) - before.get(name, **labels)


def connect(server, how, protocol):
	return server.h1(how) if protocol == "h1" else server.connect(how)


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_rises_by_what_was_asked(h2d, how, protocol):
	server = h2d(image=True, files={"page": "x" * 612})
	with client.Client.unix(server.admin_path) as admin:
		before = scrape_by(admin)
		with connect(server, how, protocol) as c:
			for _ in range(3):
				assert c.get("/page").status == 200
			assert c.get("/none").status == 404
			assert c.request("POST", "/page", body=b"abc").status == 405
		after = scrape_when(admin, lambda m: rise(before, m, "request_duration_seconds_count",
			route="files") == 5)
	assert rise(before, after, "connections_accepted_total") == 1
	assert rise(before, after, "responses_total", **{"class": "5xx"}) == 0
	assert rise(before, after, "responses_total", **{"class": "4xx"}) == 2
	# A keeper that has no processor for a second does not tick, and the disk answers.
	assert rise(before, after, "cache_hits_total") + rise(before, after, "cache_misses_total") == 3
	assert rise(before, after, "request_duration_seconds_count", route="files",
		**{"class": "2xx"}) == 3
	assert rise(before, after, "request_first_byte_seconds_count", route="files",
		**{"class": "4xx"}) == 2
	assert rise(before, after, "request_duration_seconds_bucket", route="files", le="60.0",
		**{"class": "2xx"}) == 3
	assert rise(before, after, "sent_bytes_total") > 3 * 612
	assert rise(before, after, "handshake_seconds_count") == (how == "tls")


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_admin_requests_are_apart(h2d, protocol):
	"""Who scrapes is in no rate and no error rate of the public's; health, which balancers ask for, is on public listeners."""
	server = h2d(listens=("tcp",), workers=1, files={"page": "x"}, server='health = "/healthz"')
	with client.Client.unix(server.admin_path) as admin, connect(server, "tcp", protocol) as c:
		before = scrape(server)
		for _ in range(5):
			assert admin.get("/status.json").status == 200
			assert admin.get("/none").status == 404
		for path, status in (("/page", 200), ("/none", 404), ("/healthz", 200)):
			assert c.get(path).status == status
		after = scrape_when(admin, lambda m: rise(before, m, "requests_total") == 3)
	assert rise(before, after, "requests_admin_total") >= 10
	assert [rise(before, after, "responses_total", **{"class": c}) for c in ("2xx", "3xx", "4xx", "5xx")] == [2, 0, 1, 0]


def is_as_the_kernel_says(m, kind, pid):
	"""Roughly, for the kernel's figures move while they are read."""
	with open("/proc/%d/statm" % pid) as f:
		resident = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
	descriptors = m.get("process_open_fds", kind=kind) if m.labels("process_open_fds") else len(os.listdir("/proc/%d/fd" % pid))
	return resident / 2 < m.get("process_resident_memory_bytes", kind=kind) < 2 * resident and descriptors == len(os.listdir("/proc/%d/fd" % pid))


def test_what_processes_use(h2d):
	"""Memory and descriptors of each worker, the master and the keeper are as the kernel says, inside of the sandbox, too; more connections are more of them."""
	server = h2d(listens=("tcp",), workers=2)
	with client.Client.unix(server.admin_path) as admin:
		first = scrape_when(admin, lambda m: len(m.labels("process_resident_memory_bytes")) == 4)
		with contextlib.ExitStack() as many:
			for _ in range(40):
				many.enter_context(server.h1())
			kernel = {str(w["slot"]): w["pid"] for w in server.status()["workers"]}
			counts = first.labels("process_open_fds")
			if counts:  # since Linux 6.2
				scrape_when(admin, lambda m: m.get("process_open_fds") >= first.get("process_open_fds") + 40)
				scrape_when(admin, lambda m: all(m.get("process_open_fds", worker=slot) == len(os.listdir("/proc/%d/fd" % pid))
					for slot, pid in kernel.items()))
		for slot, pid in kernel.items():
			with open("/proc/%d/statm" % pid) as f:
				resident = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
			told = scrape(server).get("process_resident_memory_bytes", worker=slot)
			assert resident / 2 < told < 2 * resident, (told, resident)
		for kind, pid in (("master", server.pid), ("keeper", server.keeper())):
			scrape_when(admin, lambda m: is_as_the_kernel_says(m, kind, pid))


@pytest.mark.parametrize("how", ["h1", "h2"])
def test_servers_have_their_own(h2d, how):
	"""By title, over reloads and deaths, the admin's aside; and none where it is not asked for."""
	server = h2d.new(listens=("tcp",), files={"page": "12345"})
	server.write_conf(conf="metrics-per-server = true")
	conf = server.conf_text + 'server "a.org" { root = "%s" }\nserver "b.org" { return = 503 }\n' % server.root
	server.put_conf(conf)
	server.start()

	def ask(path, host):
		with (server.h1(authority=host) if how == "h1" else server.connect(authority=host)) as c:
			return c.get(path).status

	def counts(m, name, klass):
		return m.get("server_responses_total", server=name, **{"class": klass})

	with client.Client.unix(server.admin_path) as admin:
		assert [ask("/page", "a.org"), ask("/none", "a.org"), ask("/page", "b.org"), ask("/page", "c.org")] == [200, 404, 503, 200]
		m = scrape_when(admin, lambda m: counts(m, "_", "2xx") == 1 and counts(m, "b.org", "5xx") == 1)
		assert counts(m, "a.org", "2xx") == counts(m, "a.org", "4xx") == 1 and m.get("server_sent_bytes_total", server="a.org") >= 5
		assert m.get("server_responses_total") == 4
	server.put_conf(conf.replace('server "b.org" { return = 503 }', 'server "0.org" { return = 503 }'))
	server.run("-s", "reload", check=0)
	assert ask("/page", "a.org") == 200
	server.kill_workers()
	assert ask("/page", "0.org") == 503
	with client.Client.unix(server.admin_path) as admin:
		m = scrape_when(admin, lambda m: counts(m, "0.org", "5xx") == 1)
	assert counts(m, "a.org", "2xx") == 2 and counts(m, "b.org", "5xx") == 1
	assert not scrape(h2d(listens=("tcp",))).labels("server_responses_total")


def test_totals_survive_deaths_and_reloads(h2d):
	server = h2d(listens=("tcp",), workers=2, files={"page": "x"})

	def ask():
		with server.connect() as c:
			assert c.get("/page").status == 200

	def files(m):
		return m.get("request_duration_seconds_count", route="files", **{"class": "2xx"})

	for _ in range(10):
		ask()
	with client.Client.unix(server.admin_path) as c:
		first = scrape_when(c, lambda m: files(m) == 10)
	generation = first.get("generation")
	server.kill_workers()
	with client.Client.unix(server.admin_path) as c:
		second = scrape_when(c, lambda m: files(m) == 10)
	server.reload()
	wait_for(lambda: len(server.status()["workers"]) == 2)
	ask()
	with client.Client.unix(server.admin_path) as c:
		third = scrape_when(c, lambda m: files(m) == 11 and m.get("workers", state="up") == 2)
	assert third.get("generation") == generation + 1
	for m, then in ((first, second), (second, third)):
		for (name, labels), value in m.values.items():
			if m.types.get(name) == "counter" and "worker" in dict(labels):
				assert then.values[name, labels] >= value, (name, labels)
	assert {label["worker"] for label in third.labels("requests_total")} == {"0", "1"}


def test_formats(site):
	with client.Client.unix(site.admin_path) as c:
		text = c.get("/metrics")
		assert text.get("content-type") == "text/plain; version=0.0.4; charset=utf-8"
		for accept in ("text/plain", "*/*", "text/plain;q=0.9, %s;q=0.8" % OPEN, "image/png"):
			assert c.get("/metrics", [("accept", accept)]).get("content-type") == text.get(
				"content-type"), accept
		answer = c.get("/metrics", [("accept",
			"%s;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1" % OPEN)])
		assert answer.get("content-type") == OPEN + "; version=1.0.0; charset=utf-8"
		head = c.request("HEAD", "/metrics")
		assert head.status == 200 and head.body == b""
		assert c.request("POST", "/metrics").status == 405
	lines = answer.body.decode().splitlines()
	assert lines[-1] == "# EOF" and lines.count("# EOF") == 1
	assert "# TYPE h2d_requests counter" in lines and "# TYPE h2d_build info" in lines
	assert "# UNIT h2d_sent_bytes bytes" in lines
	assert "# TYPE h2d_requests_total counter" in text.body.decode().splitlines()
	# Each family is in one piece, and its head is in front of it.
	family = None
	for line in lines[:-1]:
		word = line.split(" ")
		if word[0] == "#" and word[1] == "TYPE":
			family = word[2]
		elif word[0] == "#":
			assert word[2] == family, line
		else:
			assert line.startswith(family), line


def test_protocols_and_resumptions(h2d):
	server = h2d(listens=("tls",))
	before = scrape(server)
	with server.h1("tls") as c:
		assert c.get("/").status == 200
	context = client.tls_context()
	with server.connect("tls", context=context) as c:
		assert c.get("/").status == 200
		session = c.sock.session
	with server.connect("tls", context=context, session=session) as c:
		assert c.get("/").status == 200
		assert c.sock.session_reused
	with client.Client.unix(server.admin_path) as c:
		after = scrape_when(c, lambda m: rise(before, m, "streams_total") >= 3)
	assert rise(before, after, "connections_spoken_total", protocol="h1") == 1
	assert rise(before, after, "connections_spoken_total", protocol="h2") == 3  # this look's, too
	assert rise(before, after, "tls_resumptions_total") == 1
	assert rise(before, after, "handshake_seconds_count") == 3
	assert rise(before, after, "streams_total") == 3


def test_limits(h2d):
	server = h2d.new(listens=("tcp",), server='upload-dir = "files"  upload-public = true  upload-quota = "4K"',
		sections='limits { client-header-size = "2K"  client-max-body-size = "10K" }  timeouts { header = 1 }')
	os.mkdir(os.path.join(server.root, "files"))
	os.chmod(os.path.join(server.root, "files"), 0o777)
	server.start()
	limits = {"client-header-size": 2, "client-max-body-size": 1, "upload-quota": 1, "timeouts.header": 1,
		"max-concurrent-streams": 0, "worker-connections": 0}
	with server.connect() as c:
		for _ in range(2):
			assert c.get("/", [("x", "y" * 3000)]).status == 431
		assert c.request("PUT", "/files/a", body=b"x" * 11000).status == 413
		assert c.request("PUT", "/files/a", body=b"x" * 5000).status == 507
	with server.h1() as c:
		c.send_bytes(b"GET / HTTP/1.1\r\n")
		assert c.response().status == 408
	with client.Client.unix(server.admin_path) as c:
		m = scrape_when(c, lambda m: sum(m.get("limits_total", limit=name) for name in limits) >= sum(limits.values()))
	assert {name: m.get("limits_total", limit=name) for name in limits} == limits


def test_streams_over_the_limit(h2d):
	server = h2d(listens=("tcp",), sections="limits { max-concurrent-streams = 1 }", files={"page": "x" * 1000})
	settings = {hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}
	for acknowledged in (False, True):
		with server.raw("tcp", settings=settings) as raw, client.Client.unix(server.admin_path) as admin:
			before = scrape_by(admin)
			if acknowledged:
				assert raw.until(lambda f: isinstance(f, hf.SettingsFrame) and "ACK" in f.flags)
				assert raw.ping()
			raw.send(raw.headers(1, raw.head("/page")), raw.headers(3, raw.head("/page")))
			scrape_when(admin, lambda m: rise(before, m, "limits_total",
				limit="max-concurrent-streams") == 1)


def test_what_the_master_counts(h2d):
	server = h2d(listens=("tcp",))
	os.kill(server.worker_pids()[0], signal.SIGKILL)
	server.log.wait("signal 9")
	server.wait_up()
	server.reload()
	good = server.conf_text
	server.put_conf("nonsense\n" + good)
	server.run("-s", "reload", check=1)
	server.put_conf(good)
	with client.Client.unix(server.admin_path) as c:
		m = scrape_when(c, lambda m: m.get("reloads_total", result="failed") == 1)
	assert m.get("process_deaths_total", kind="worker") == 1
	assert m.get("process_deaths_total", kind="keeper") == 0
	assert m.get("reloads_total", result="done") == 1
	assert m.types["h2d_reloads_total"] == "counter"


def test_cache(h2d):
	server = h2d(listens=("tcp",), image=True)
	with client.Client.unix(server.admin_path) as c:
		m = scrape_when(c, lambda m: m.get("keeper_ticks") == 1 and m.get("cache_entries") == 1)
	assert m.get("keeper_up") == 1 and m.get("image") >= 1
	assert m.get("worker_image", worker="0") == m.get("image")
	assert m.get("image_timestamp_seconds") >= m.get("start_time_seconds") > 1e9
	none = h2d(listens=("tcp",), sections="cache { max-size = 0 }")
	m = scrape(none)
	assert m.get("keeper_ticks") == m.get("image") == m.get("image_timestamp_seconds") == 0
