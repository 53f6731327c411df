"""Roots whose path names another directory, or none, from one moment to the next."""
import os
import time

import pytest

from procs import descriptor_kinds, wait_for

SECOND = 1.0  # the promise
LATE = 30.0  # on a machine with much else to do


def content(name):
	"""Too large for the second way's image."""
	return name * 2000


def directories(server, pid):
	"""Descriptors of what the root was at some time."""
	return [name for name in descriptor_kinds(pid).elements()
		if name.startswith(server.dir + "/") and not name.endswith("/stdout")]


@pytest.fixture(params=["max-size = 0", 'max-file-size = "1K"', ""])
def make(h2d, request):
	"""A server whose workers read the disk; its root is the link "current"."""
	made = []

	def make(names):
		server = h2d.new(workers=2, sections="cache { %s }" % request.param)
		root = server.path("current")
		for name in names:
			os.mkdir(server.path(name))
			with open(server.path(name, "f.txt"), "w") as f:
				f.write(content(name))
		os.symlink(names[0], root)
		server.put_conf(server.conf_text.replace('root = "%s"' % server.root, 'root = "%s"' % root))
		server.start()
		server.baseline = None  # other directories from now on
		made.append(server)
		return server
	yield make
	for server in made:
		for worker in server.live_workers().values():
			wait_for(lambda: len(directories(server, worker["pid"])) <= 1,
				said="one root is held, no former one")


def swap(server, name):
	os.symlink(name, server.path("next"))
	os.rename(server.path("next"), server.path("current"))


def fresh(server, name):
	"""Soon, and from then on, each worker answers with that content; 404 for None."""
	deadline = time.monotonic() + LATE
	clients = [server.connect("tcp") for _ in range(8)]

	def all_right():
		answers = [c.get("/f.txt") for c in clients]
		if name is None:
			return all(a.status == 404 for a in answers)
		return all(a.body == content(name).encode() for a in answers)
	while not all_right():
		assert time.monotonic() < deadline, "stale for seconds"
	assert all_right()
	for c in clients:
		c.close()


def test_first_request_after_a_while(make):
	"""Nobody asked for longer than a second: the first one to ask gets what is there."""
	server = make(["one", "two"])
	with server.connect("tcp") as c:
		assert c.get("/f.txt").body == content("one").encode()
		swap(server, "two")
		time.sleep(SECOND)  # the promise itself
		assert c.get("/f.txt").body == content("two").encode()


def test_deleted_before_a_worker_starts(make):
	"""A worker that comes up without a root serves as soon as there is one."""
	server = make(["one"])
	old = server.worker_pids()
	os.unlink(server.path("current"))
	for pid in old:
		os.kill(pid, 9)
	server.baseline = None
	wait_for(lambda: len(set(server.worker_pids()) - set(old)) == 2, said="new workers")
	fresh(server, None)
	swap(server, "one")
	fresh(server, "one")
