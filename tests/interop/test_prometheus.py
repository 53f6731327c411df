"""A real Prometheus scrapes /metrics, and promtool has nothing to say against it."""
import json
import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest

import client
from procs import wait_for
from server import H2D, LogReader
from tree import program

MONITORING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "monitoring")
CONFIG = """
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs:
- job_name: h2d
  static_configs: [ { targets: [ "127.0.0.1:%d" ] } ]
"""


class Prometheus:
	def __init__(self, folder, target):
		config = folder / "prometheus.yml"
		config.write_text(CONFIG % target)
		self.process = subprocess.Popen([program("prometheus"), "--config.file", str(config),
			"--storage.tsdb.path", str(folder / "tsdb"), "--web.listen-address", "127.0.0.1:0"],
			stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
			cwd=str(folder))
		self.log = LogReader(self.process.stderr)
		self.log.start()

	def wait(self):
		line = self.log.wait("Listening on", deadline=120)[-1]
		self.url = "http://%s/api/v1/" % re.search(r"address=(\S+)", line).group(1)
		self.log.wait("ready to receive", deadline=120)

	def ask(self, what, **parameters):
		url = self.url + what + "?" + urllib.parse.urlencode(parameters)
		opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
		with opener.open(url, timeout=120) as answer:
			return json.load(answer)["data"]

	def value(self, query):
		"""Of a query with one result; None: there is none."""
		found = self.ask("query", query=query)["result"]
		return float(found[0]["value"][1]) if found else None

	def end(self):
		self.process.kill()
		self.process.wait()
		assert self.log.wait_end()


@pytest.fixture
def server(h2d):
	server = h2d(listens=("tcp",), workers=2, files={"page": "x" * 100},
		sections='metrics-per-server = true\nlisten "127.0.0.1:0" { admin = true }')
	lines = server.log.wait(r"listening on 127\.0\.0\.1:\d+", count=2)
	ports = [int(line.rpartition(":")[2].split()[0]) for line in lines]
	server.ports["admin"] = next(p for p in ports if p != server.ports["tcp"])
	return server


@pytest.fixture
def prometheus(server, tmp_path):
	prometheus = Prometheus(tmp_path, server.ports["admin"])
	try:
		prometheus.wait()
		yield prometheus
	finally:
		prometheus.end()


def test_scraped(server, prometheus):
	with server.connect() as c:
		for _ in range(7):
			assert c.get("/page").status == 200
		assert c.get("/none").status == 404
	wanted = {
		'h2d_request_duration_seconds_count{route="files",class="4xx"}': 1,
		'h2d_request_duration_seconds_count{route="files",class="2xx"}': 7,
		'sum(h2d_responses_total{class="4xx"})': 1,
		'count(h2d_requests_total{worker=~"0|1"})': 2,
		"histogram_quantile(0.9, sum by (le) (h2d_request_duration_seconds_bucket)) >= bool 0": 1,
		"h2d_build_info": 1,
		"count(sum by (instance) (h2d_workers) * on (instance) group_left (instance_name) h2d_machine_info)": 1,
		"up": 1,
	}
	# After a scrape that took too long, on a busy machine, everything is gone until the next one.
	wait_for(lambda: {query: prometheus.value(query) for query in wanted} == wanted, 120, pause=0.1,
		said="Prometheus has the requests")

	def healthy():
		target = prometheus.ask("targets")["activeTargets"][0]
		return target["health"] == "up" and target["lastError"] == ""
	wait_for(healthy, 120, pause=0.1, said="a scrape without an error")
	# Units are of OpenMetrics alone: that is what it asked for and got.
	metadata = {m["metric"]: m for m in prometheus.ask("targets/metadata",
		match_target='{job="h2d"}')}
	assert metadata["h2d_request_duration_seconds"]["unit"] == "seconds", metadata
	assert metadata["h2d_request_duration_seconds"]["type"] == "histogram"
	assert all(m["help"] and m["type"] != "unknown" for name, m in metadata.items()
		if name.startswith("h2d_")), metadata


def test_promtool(server):
	url = "http://127.0.0.1:%d/metrics" % server.ports["admin"]
	opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
	with opener.open(url, timeout=30) as answer:
		check_metrics(answer.read())


def test_promtool_and_metrics_of_handlers(h2d):
	server = h2d(binary=os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers"))
	with server.connect() as c:
		assert c.get("/t/metrics/t_query_seconds?0.2").status == c.get("/t/metrics/t_hits_total?2").status == 200
	with client.Client.unix(server.admin_path) as c:
		text = c.get("/metrics").body
	assert b"\nt_hits_total 2\n" in text and b"\nt_query_seconds_sum 0.2\n" in text
	check_metrics(text)


def check_metrics(text):
	done = subprocess.run([program("promtool"), "check", "metrics"], input=text,
		stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
	assert done.returncode == 0 and done.stdout == b"", done.stdout


def test_alerts(tmp_path):
	"""Those that are shipped: each fires on what it is for, and none on a good day."""
	for path in (os.path.join(MONITORING, "h2d.rules.yml"),
			os.path.join(os.path.dirname(os.path.abspath(__file__)), "h2d.rules.test.yml")):
		shutil.copy(path, tmp_path)
	for command in (("check", "rules", "h2d.rules.yml"), ("test", "rules", "h2d.rules.test.yml")):
		done = subprocess.run([program("promtool"), *command], cwd=tmp_path, stdout=subprocess.PIPE,
			stderr=subprocess.STDOUT, text=True, timeout=60)
		assert done.returncode == 0, done.stdout


def queries():
	"""Of the panels of the dashboard that is shipped, as Grafana asks them; and of the alerts."""
	with open(os.path.join(MONITORING, "h2d-dashboard.json")) as f:
		panels = json.load(f)["panels"]
	found = [target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
		for panel in panels for target in panel["targets"]]
	with open(os.path.join(MONITORING, "h2d.rules.yml")) as f:
		found += re.findall(r"expr: (?:\|\n)?(.*?)\n    [a-z]+:", f.read(), re.S)
	return found


def test_the_dashboard_asks_for_what_is_there(server, prometheus):
	"""Prometheus understands each query, and h2d has each metric in it, with its labels."""
	assert len(queries()) > 20
	for query in queries():
		prometheus.ask("query", query=query)
	with server.connect("admin") as c:
		text = c.get("/metrics").body.decode()
	told = set(re.findall(r"^# TYPE (\w+)", text, re.M))
	asked = {re.sub("_(bucket|count|sum)$", "", name) for name in re.findall(r"\bh2d_\w+", " ".join(queries()))}
	assert asked <= told, asked - told
