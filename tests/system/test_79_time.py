"""A machine that has just booted or been up for long, with or without a clock of its own: 2^31 and 2^32 milliseconds are
24.9 and 49.7 days, and 2^31 seconds since 1970 end in 2038."""
import os
import subprocess
import time

import pytest

from harness import skip_without
from procs import wait_for
from server import SANITIZED

AT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "at")
DAY = 86400
WHEN = ["3", "%d" % (24.9 * DAY), "%d" % (49.8 * DAY)]
if not SANITIZED:  # which libfaketime does not go with
	WHEN += ["3@1970-01-01", "3@2040-02-29"]


@pytest.fixture(params=WHEN)
def when(request):
	probe = subprocess.run([AT, request.param, "true"], stderr=subprocess.PIPE, text=True)
	if "libfaketime" in probe.stderr:
		pytest.skip(probe.stderr.strip())
	if probe.returncode:
		skip_without("namespaces", probe.stderr.strip())
	return request.param


def test_start_reload_and_upgrade(h2d, when):
	"""Served from the cache by each generation, at that time, with a file that changed since."""
	server = h2d.new(listens=("tcp",), workers=2)
	server.command = lambda *args: [AT, when, server.binary, *args]
	server.start()
	assert os.readlink("/proc/%d/ns/time" % server.pid) != os.readlink("/proc/self/ns/time")
	year = (when.partition("@")[2] or time.strftime("%Y-%m-%d", time.gmtime()))[:4]
	for n, change in enumerate((None, server.reload, server.upgrade)):
		if change is not None:
			change()
			server.wait_up()
		text = b"generation %d" % n
		server.write("a.txt", text)
		with server.connect() as c:
			wait_for(lambda: c.get("/a.txt").body == text, said="the edited file")
			assert c.get("/").get("date").split()[3] == year
		server.wait_cached("/index.html", "/a.txt")
	assert all(line.startswith(year + "-") for line in server.log.lines), server.log_text()
