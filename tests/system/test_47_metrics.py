"""Metrics of handlers' own: rows of tests/handlers/metrics.def, counted by tests/handlers/t_metrics.c."""
import contextlib
import re

import pytest

import client
from procs import wait_for
from test_47_handlers import PATIENT, handlers, link  # noqa: F401 (fixtures)
from test_49_metrics import OPEN

EMPTY = {"count": 0, "sum": 0, "buckets": {"0.001": 0, "0.25": 0, "1": 0, "10": 0, "more": 0}}


def shown(server, form="text/plain"):
	"""The lines of /metrics that are not the server's, nor of an example."""
	with client.Client.unix(server.admin_path, timeout=PATIENT) as c:
		text = c.request("GET", "/metrics", [("accept", form)]).body.decode()
	return [line for line in text.splitlines() if not re.match("(# [A-Z]+ )?(h2d|login)_", line)]


def told(server):
	"""By /status.json, but for those of examples."""
	return {name: value for name, value in server.status()["handlers"].items() if not name.startswith("login_")}


def hits(server):
	return server.status()["handlers"]["t_hits_total"]


def ask(c, *queries):
	"""By one connection; the process that it has come to."""
	answers = [c.get("/t/metrics/" + query) for query in queries]
	assert {answer.status for answer in answers} == {200}
	return int(answers[0].body)


def ask_once(server, speak, *queries):
	with link(server, speak) as c:
		ask(c, *queries)


def ask_each_worker(server, speak, query):
	"""How often that was: connections stay open, so that others come to other workers."""
	asked = []
	with contextlib.ExitStack() as stack:
		while set(asked) != set(server.worker_pids()):
			asked.append(ask(stack.enter_context(link(server, speak)), query))
	return len(asked)


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_both_forms(handlers, speak, dispatch):
	server = handlers(workers=2, dispatch=dispatch)
	assert told(server) == {"t_hits_total": 0, "t_bytes_total": 0, "t_other_total": 0, "t_query_seconds": EMPTY}
	ask_once(server, speak, "t_hits_total?2", "t_hits_total?3", "t_bytes_total?4294967296",
		*("t_query_seconds?" + value for value in ("0.001", "0.2", "0.25", "7", "30", "-1", "nan")))
	samples = [
		't_query_seconds_bucket{le="0.001"} 3', 't_query_seconds_bucket{le="0.25"} 5', 't_query_seconds_bucket{le="1.0"} 5',
		't_query_seconds_bucket{le="10.0"} 6', 't_query_seconds_bucket{le="+Inf"} 7',
		"t_query_seconds_sum 37.451", "t_query_seconds_count 7"]
	counters = [("t_hits", r"hits, %squoted%s \\ so", 5), ("t_bytes", "bytes", 4294967296),
		("t_other", "of a handler that is not there", 0)]
	help = "# HELP t_query_seconds time of a query"
	assert shown(server) == [line for name, what, n in counters for line in (
		"# TYPE %s_total counter" % name, "# HELP %s_total %s" % (name, what.replace("%s", '"')), "%s_total %d" % (name, n))] + [
		"# TYPE t_query_seconds histogram", help] + samples
	assert shown(server, OPEN) == [line for name, what, n in counters for line in (
		"# TYPE %s counter" % name, *(["# UNIT t_bytes bytes"] if name == "t_bytes" else []),
		"# HELP %s %s" % (name, what.replace("%s", r'\"')), "%s_total %d" % (name, n))] + [
		"# TYPE t_query_seconds histogram", "# UNIT t_query_seconds seconds", help] + samples + ["# EOF"]
	assert server.status()["handlers"]["t_query_seconds"] == {"count": 7, "sum": 37.451,
		"buckets": {"0.001": 3, "0.25": 2, "1": 0, "10": 1, "more": 1}}


def test_summed_over_workers_deaths_and_reloads(handlers, speak):
	server = handlers(workers=2)
	n = ask_each_worker(server, speak, "t_hits_total?1")
	assert hits(server) == n
	server.reload()
	ask_once(server, speak, "t_hits_total?100")
	assert hits(server) == n + 100
	server.kill_workers()
	ask_once(server, speak, "t_hits_total?1000")
	wait_for(lambda: hits(server) == n + 1100, PATIENT, said="those that were killed are counted once")


@pytest.mark.parametrize("query, said", [
	("t_none_total?1", r'metrics.def has no counter "t_none_total" for t_metrics \(h2d_count\)'),
	("t_other_total?1", r'metrics.def has no counter "t_other_total" for t_metrics \(h2d_count\)'),
	("none_seconds?1", r'metrics.def has no histogram "none_seconds" for t_metrics \(h2d_observe\)'),
])
def test_a_mistake_is_told(handlers, speak, query, said):
	server = handlers()
	server.allow_alert("handler t_|signal 6")
	with link(server, speak) as c:
		with pytest.raises(Exception):
			c.get("/t/metrics/" + query)
	server.log.wait("handler t_metrics: " + said, deadline=PATIENT)
	server.wait_up()
