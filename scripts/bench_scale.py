"""scripts/bench --scale: both modes of h2d beside nghttpd, each with 1, 2, 4 and 8 workers, over TLS (h2) and h2c.

Workers have half of the processors, and the clients the other half: where these are fewer than workers, the table says what more
workers cost, and not what they bring. Reported for each load and number of workers: CPU, requests per second, p99 and memory (PSS).
"""
import os

import bench_servers
from bench_measure import Load

SHAPES = [(tls, connections, streams) for connections, streams in ((100, 10), (1000, 100)) for tls in (False, True)]


def said(workers):
	return "%d worker%s" % (workers, "s"[:workers > 1])


def loads(counts):
	return [Load("%s 612 B -c%d -m%d, %s" % ("TLS" if tls else "h2c", connections, streams, said(n)), tls, connections, streams,
		"/small.html", 612) for tls, connections, streams in SHAPES for n in counts]


class Many:
	"""A server of so many workers: it answers the loads that are for as many."""

	def can(self, load):
		return super().can(load) and load.name.endswith(", " + said(self.workers))


def kinds(builds, nghttpd, counts):
	"""(class, program) of each server; builds: (name, program) of h2d."""
	for n in counts:
		for name, program in builds:
			for mode in ("reuseport", "acceptor"):
				more = {"name": "%s-%s-%d" % (name, mode, n), "mode": mode, "workers": n}
				yield type("H2d", (Many, bench_servers.H2d), more), os.path.abspath(program)
		yield type("Nghttpd", (Many, bench_servers.Nghttpd), {"name": "nghttpd-%d" % n, "workers": n}), nghttpd


def base_of(load, names):
	return next((name for name in names if name.startswith("nghttpd-")), names[0])
