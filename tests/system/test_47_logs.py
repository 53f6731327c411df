"""What handlers write into the server's logs (tests/handlers/t_log.c)."""
import re

import pytest

from procs import wait_for
from test_47_handlers import PATIENT, handlers, link  # noqa: F401 (fixtures)

LEVELS = ["error", "warn", "notice", "info", "debug"]


@pytest.mark.parametrize("least", ["notice", "info", "debug"])
def test_lines_have_the_levels_of_the_server(handlers, speak, least):
	server = handlers(conf="log-level = %s" % least)
	with link(server, speak) as c:
		for level in LEVELS:
			assert c.get("/t/log/%s?this-is-%s" % (level, level)).status == 200
	written = LEVELS[:LEVELS.index(least) + 1]
	for level in written:
		server.log.wait(r" %s \[\d+\] worker \d+: handler t_log, route /t/log/\{level\}: says this-is-%s: "
			r"GET /t/log/%s\?this-is-%s$" % (level, level, level, level))
	server.log.wait("said it")
	assert set(re.findall(r"says this-is-(\w+):", "\n".join(server.log.lines))) == set(written)


def test_a_line_of_no_request(handlers):
	handlers().log.wait(r" notice \[\d+\] worker 0: handler t_log: is at home, with 42$")


def test_lines_that_clients_cause_are_bounded(handlers, speak):
	"""Of one format one is written, the others are counted; another format is not kept from being written."""
	server = handlers()
	with link(server, speak) as c:
		assert c.request("GET", "/t/log/warn?much", [("times", "5000")]).status == 200
	server.log.wait(r"says much.* … and \d+ more like it in the last second$")
	server.log.wait(r"said it: GET /t/log/warn\?much$")
	assert len(re.findall("says much:", "\n".join(server.log.lines))) < 100


@pytest.mark.parametrize("name, said", [("ann", "ann"), ("", "-"), ("a%20b", "a%20b")])
def test_the_user_in_the_access_log(handlers, speak, name, said):
	server = handlers(conf='access-log = "access.log"')
	with link(server, speak) as c:
		assert c.get("/t/user?" + name).body.decode() == name
		def users():
			with open(server.path("access.log")) as log:
				return [line.split()[2] for line in log if line.endswith("\n") and "/t/user" in line]
		assert wait_for(users, PATIENT) == [said]
