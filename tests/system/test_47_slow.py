"""A handler that holds the loop up is named (tests/handlers/t_held.c). A machine that stands still makes any handler
slow, and the log says so: what must be, or must not, is seen in most tries."""
import time

import pytest

from procs import mostly, paused
from test_47_handlers import handlers, link, post  # noqa: F401 (fixtures)

METHODS = {"body": "POST", "end": "POST"}


def held(server):
	return server.status()["totals"]["handler_slow"]


def named(server, request, since):
	"""Whether the log names it. It says a line of a kind once in a second, and counts the others."""
	def found():
		return server.log.find(r" warn .*handler t_held blocked the loop for \d{3,} ms%s( … and \d+ more .*)?$" % request, since)
	with server.log.changed:
		return bool(server.log.changed.wait_for(found, 2))


def ask(client, where):
	if where in METHODS:
		return post(client, "/t/held/" + where, b"x")
	return client.get("/t/held/" + where)


@pytest.mark.parametrize("where", ["start", "body", "end", "fill", "timer", "wake", "done", "watch"])
def test_who_holds_the_loop_up_is_named(handlers, speak, where):
	"""In whatever call; a watch belongs to no request."""
	def is_named():
		before, since = held(server), len(server.log.lines)
		assert ask(c, where).status == 200
		return held(server) > before and named(server, request, since)
	server = handlers()
	request = "" if where == "watch" else ": %s /t/held/%s" % (METHODS.get(where, "GET"), where)
	with link(server, speak) as c:
		assert mostly(is_named)
	server.take_baseline()  # with the eventfd that the first waker made


def test_one_of_many_in_a_turn(handlers):
	"""The slow one, whatever came before it and behind it."""
	def it_alone():
		before, since = held(server), len(server.log.lines)
		with c.corked():
			streams = [c.send(path="/t/held/" + ("start" if i == 25 else "fast")) for i in range(51)]
		for stream in streams:
			assert c.response(stream).status == 200
		return held(server) == before + 1 and named(server, ": GET /t/held/start", since)
	server = handlers()
	with link(server, "h2") as c:
		assert mostly(it_alone)


def test_what_is_no_call_is_blamed_on_nobody(handlers, speak):
	"""The worker stands still between two requests."""
	def nobody():
		before = held(server)
		with paused(pid):
			time.sleep(0.3)
		assert ask(c, "fast").status == 200
		return held(server) == before
	server = handlers()
	pid = server.worker_pids()[0]
	with link(server, speak) as c:
		assert ask(c, "fast").status == 200
		assert mostly(nobody)
