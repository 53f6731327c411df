"""Nothing is lost while processes change: reloads, more and fewer workers, deaths.

By H2D_STORM=100 the storms have 100 HUPs, one every 100 ms, and 300 connections wait at each change of the worker
count; without it a fifth of that. What was counted is said at the end of the run.
"""
import hashlib
import json
import os
import signal
import time

import pytest

import client
import harness
import procs
import server as srv
from procs import Helper

HUPS = int(os.environ.get("H2D_STORM", "20"))
SCALE = 1 if HUPS >= 100 else 4  # fewer clients too
LARGE = os.urandom(1 << 16) * 128


def storm(server, out, **roles):
	return Helper("storm.py", json.dumps(dict(ports=server.ports, roles=roles, size=len(LARGE),
		digest=hashlib.sha256(LARGE).hexdigest())), out=out)


def test_busy_keep_alive_connections(h2d, tmp_path):
	"""A client of HTTP/1.1 that never repeats a request loses none: it is told, and comes again."""
	server = h2d(workers=2, files={"small": "small"})
	n = 800 // SCALE
	with storm(server, tmp_path / "out", busy=n) as clients:
		for generation in (2, 3):
			before = server.status()["totals"]["requests"]
			procs.wait_for(lambda: server.status()["totals"]["requests"] > before + 2 * n, said="load")
			server.hup()
			server.wait_up(generation)
		found = clients.stop()
	print(found["counts"])
	assert found["lost"] == []
	assert found["counts"]["closed"] >= n / 2, found
