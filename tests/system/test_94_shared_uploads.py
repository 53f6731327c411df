"""Uploads that machines share over NFS: what docs/guide/shared-storage.md promises of them, each promise with caches that never expire."""
import fcntl
import os
import re
import signal
import time

import pytest

import harness
import nfs
import procs
import resumable
from uploads import connect, put

DIR = 'upload-dir = "shared/up"  upload-public = true\n'


@pytest.fixture
def machines(h2d, work_folder, tmp_path):
	"""Makes n machines and starts them: [server, …], each with .export, which they share."""
	exports, running = [], []

	def make(n=3, server=DIR, switches=(), start=True, **options):
		made = [h2d.new(server=server, **options) for _ in range(n)]
		export = nfs.Export(nfs.build(work_folder), str(tmp_path / "export"), [os.path.join(m.root, "shared") for m in made])
		exports.append(export)
		running.extend(made)
		os.mkdir(os.path.join(export.folder, "up"))
		os.chmod(os.path.join(export.folder, "up"), 0o777)
		for switch in switches:
			export.order(switch + " on")
		for m in made:
			m.export = export
			if start:
				m.start()
		return made

	tmp_path.chmod(0o755)
	yield make
	try:
		for m in running:
			m.finish()
			m.process = None
	finally:
		for export in exports:
			export.close()


def up(machine):
	"""The folder as the server of the file system has it."""
	return os.path.join(machine.export.folder, "up")


def names(machine):
	return sorted(name for name in os.listdir(up(machine)) if name not in (".h2d-quota", ".h2d-lock") and not name.startswith(".nfs"))


def size_of_parts(machine):
	"""Of what can be resumed, as the machine itself sees it."""
	own = os.path.join(machine.root, "shared", "up")
	return sum(os.path.getsize(os.path.join(own, name)) for name in os.listdir(own) if name.endswith(".part"))


def get(machine, name, headers=()):
	with machine.connect("tcp") as c:
		return c.get("/files/" + name, headers)


def listed(machine):
	with machine.connect("tcp") as c:
		return set(re.findall(r'<td><a href="\./([^"]+)"', c.get("/shared/up/").body.decode()))


def store(machine, name, data, headers=()):
	with machine.connect("tcp") as c:
		return put(c, name, data, headers)


def remove(machine, name):
	with machine.connect("tcp") as c:
		return c.request("DELETE", "/files/" + name)


BOTH = pytest.mark.parametrize("switches", [[], ["second"]], ids=["nfs", "fuse"])


def all_see(machines, name, status, body=None):
	"""The next request at each sees it; how long that took is said at the end of the run."""
	for m in machines:
		begun = time.monotonic()
		answer = get(m, name)
		harness.TIMES["an upload, at another machine"].append(time.monotonic() - begun)
		assert answer.status == status and body in (None, answer.body)


@BOTH
def test_seen_by_all_at_once(machines, switches):
	"""A name that was not there, another content, and none any more: each is seen by the next request, at whichever machine."""
	one, two, three = made = machines(server=DIR + "autoindex = true\n", switches=switches)
	all_see(made, "a", 404)
	assert store(one, "a", b"one").status == 201
	all_see(made, "a", 200, b"one")
	assert store(two, "a", b"two").status == 204
	all_see(made, "a", 200, b"two")
	assert [listed(m) for m in made] == [{"a"}] * 3
	assert len({get(m, "a").get("etag") for m in made}) == 1
	assert remove(three, "a").status == 204
	all_see(made, "a", 404)
	assert [listed(m) for m in made] == [set()] * 3
	assert store(two, "a", b"three").status == 201
	all_see(made, "a", 200, b"three")


@BOTH
def test_conditions(machines, switches):
	"""What a condition or upload-overwrite is held against is what all machines have done."""
	one, two, three = machines(switches=switches)
	tag = store(one, "a", b"one").get("etag")
	assert [get(m, "a").get("etag") for m in (one, two, three)] == [tag] * 3
	again = store(two, "a", b"two", [("if-match", tag)])
	assert again.status == 204
	assert store(one, "a", b"lost", [("if-match", tag)]).status == 412
	assert store(three, "a", b"lost", [("if-match", tag)]).status == 412
	assert get(three, "none").status == 404
	assert store(one, "none", b"first", [("if-none-match", "*")]).status == 201
	assert store(three, "none", b"second", [("if-none-match", "*")]).status == 412
	assert remove(two, "a").status == 204
	assert store(one, "a", b"new", [("if-match", again.get("etag"))]).status == 412
	assert store(one, "a", b"new", [("if-none-match", "*")]).status == 201
	assert get(three, "a").body == b"new"
	assert remove(two, "a").status == 204
	assert store(three, "a", b"newer", [("if-none-match", "*")]).status == 201


@BOTH
def test_no_update_is_lost(machines, switches):
	"""Clients of three machines count a number up, each by if-match."""
	clients, rounds = 6, 5
	made = machines(switches=switches)
	store(made[0], "n", b"0")
	problems = []

	def count(m):
		with m.connect("tcp") as c:
			for _ in range(rounds):
				while True:
					was = c.get("/files/n")
					if was.get("etag") is None:
						continue  # it was replaced while its content was hashed
					done = put(c, "n", b"%d" % (int(was.body) + 1), [("if-match", was.get("etag"))])
					if done.status == 204:
						break
					if done.status != 412:
						problems.append((done.status, done.body))
						return

	procs.together(clients, lambda i: count(made[i % 3]))
	assert not problems
	assert get(made[1], "n").body == b"%d" % (clients * rounds)


def begin_put(machine, name, length, *headers):
	c = machine.connect("tcp")
	stream = c.send("PUT", "/files/" + name, [("content-length", str(length)), *headers], end=False)
	return c, stream


def test_quota(machines):
	"""One sum for all: what one machine receives, another has not got."""
	made = machines(n=2, server=DIR + "upload-quota = 1M\n")
	part = b"x" * (300 << 10)
	open_ones = []
	for m in made:
		c, stream = begin_put(m, "of%d" % made.index(m), 400 << 10)
		c.send_body(stream, part, end=False)
		open_ones.append((c, stream))
		procs.wait_for(lambda: sum(nfs.held(up(m))) >= (made.index(m) + 1) * len(part), said="it is held")
	assert store(made[1], "third", b"x" * (500 << 10)).status == 507
	for c, stream in open_ones:
		c.send_body(stream, b"x" * (100 << 10))
		assert c.response(stream).status == 201
		c.close()
	assert store(made[0], "third", b"x" * (500 << 10)).status == 507
	assert store(made[1], "fits", b"x" * (200 << 10)).status == 201
	assert names(made[0]) == ["fits", "of0", "of1"]


@pytest.mark.parametrize("way, switch", [("h2-tcp", "lazy"), ("h1-tcp", "lazy"), ("h2-tcp", "second")])
def test_resumed_elsewhere(machines, way, switch):
	"""A client whose machine stands still goes on at another one, from what it sent; and then nothing of the first counts."""
	one, two, three = machines(switches=[switch])
	data = os.urandom(900 << 10)
	opened, location = resumable.begin(one, way, "long", len(data))
	opened.send(data[:300 << 10])
	procs.wait_for(lambda: size_of_parts(one) == 300 << 10, said="it has come")
	offset = resumable.offset_of(resumable.ask(two, way, location))
	assert 0 < offset <= 300 << 10
	with connect(two, way) as c:
		assert resumable.append(c, location, offset, data[offset:600 << 10], complete=resumable.PIECE).status == 204
	assert resumable.offset_of(resumable.ask(three, way, location)) == 600 << 10
	with connect(three, way) as c:
		assert resumable.append(c, location, 600 << 10, data[600 << 10:700 << 10], complete=resumable.PIECE).status == 204
	assert resumable.offset_of(resumable.ask(two, way, location)) == 700 << 10
	opened.send(data[300 << 10:400 << 10])  # the first comes to itself
	with connect(three, way) as c:
		answer = resumable.append(c, location, 700 << 10, data[700 << 10:])
	assert answer.status == 201
	answer = resumable.ask(two, way, location)
	assert (answer.get("upload-complete"), resumable.offset_of(answer)) == ("?1", len(data))
	opened.cut()
	assert [get(m, "long").body == data for m in (one, two, three)] == [True] * 3


def test_condition_at_the_end_of_a_body(machines):
	"""What another machine does while a body comes counts, and a lock of the folder is one of all machines."""
	one, two, three = made = machines(server=DIR + "upload-depth = 1\n")
	for name in ("a", "in/a"):
		for new in (True, False):
			if new:
				condition = ("if-none-match", "*")
			else:
				condition = ("if-match", get(two, name).get("etag"))
			c, stream = begin_put(two, name, 4, condition)
			with c:
				c.send_body(stream, b"lo", end=False)
				procs.wait_for(lambda: any(n.startswith(".h2d-") and n.endswith("-0") for n in names(two)), said="it has begun")
				assert store(three, name, b"new" if new else b"newer", [condition]).status == (201 if new else 204)
				c.send_body(stream, b"st")
				assert c.response(stream).status == 412
			assert [get(m, name).body for m in made] == [b"new" if new else b"newer"] * 3
	with open(os.path.join(three.root, "shared/up/.h2d-lock"), "r+b") as f:
		fcntl.flock(f, fcntl.LOCK_EX)
		with one.connect("tcp") as c:
			assert put(c, "a", b"x").status == 503
	assert store(one, "a", b"x").status == 204


def wait_held(machine, n):
	"""Until two bytes of n uploads are written, and so the hidden names locked."""
	procs.wait_for(lambda: [os.path.getsize(os.path.join(up(machine), name)) for name in names(machine)] == [2] * n, said="they have begun")


def test_only_the_dead_are_swept(machines):
	"""A machine that starts removes what a killed one has left, and nothing of one that is at it."""
	one, two, three = machines(start=False)
	one.start()
	two.start()
	streams = []
	for m in (one, two):
		c, stream = begin_put(m, "from%d" % len(streams), 4)
		c.send_body(stream, b"ab", end=False)
		streams.append((c, stream))
		wait_held(m, len(streams))
	os.killpg(two.process.pid, signal.SIGKILL)
	two.expect_exit(-signal.SIGKILL)
	two.wait_exit()
	three.start()
	three.log.wait("removed 1 left-over upload files")
	assert len(names(one)) == 1
	c, stream = streams[0]
	c.send_body(stream, b"cd")
	assert c.response(stream).status == 201
	assert [get(m, "from0").body for m in (one, three)] == [b"abcd"] * 2
	assert names(one) == ["from0"]


def test_locks_that_are_lost(machines):
	"""Behind a lost lease another machine takes an upload for dead: it fails then, and nothing half is there; none is told what is not so."""
	one, _, three = machines(start=False)
	one.start()
	c, stream = begin_put(one, "a", 4)
	c.send_body(stream, b"ab", end=False)
	wait_held(one, 1)
	one.export.order("lose")
	three.start()
	three.log.wait("removed 1 left-over upload files")
	one.allow_fault("upload to", "its hidden name is gone")
	c.send_body(stream, b"cd")
	assert c.response(stream).status == 500
	c.close()
	assert names(one) == []
	assert [get(m, "a").status for m in (one, three)] == [404, 404]
	assert store(one, "a", b"abcd").status == 201
	assert get(three, "a").body == b"abcd"


def test_no_locks_at_all(machines):
	"""Without locks nothing is written, and the log says why."""
	one, = machines(n=1, switches=["no_locks"])
	one.allow_fault("No locks available", "the file system has none")
	assert store(one, "a", b"x").status == 500
	one.log.wait("upload to .*: No locks available")
	assert [name for name in names(one) if not name.startswith(".h2d-")] == []


def test_an_answer_that_was_lost(machines):
	"""link(2) was done, and says that the name was there: that was its own doing."""
	one, two = machines(n=2, server=DIR + "upload-overwrite = false\n", switches=["repeated"])
	assert store(one, "a", b"one").status == 201
	assert store(two, "a", b"two").status == 409
	assert get(two, "a").body == b"one"
	assert names(one) == ["a"]


def test_replaced_while_it_is_sent(machines):
	"""What is open stays as it was, to its end; NFSv3 ends it early, and never goes on with another file."""
	one, two = machines(n=2, listens=("tcp",))
	old, new = b"o" * (6 << 20), b"n" * (6 << 20)
	for stateless in (False, True):
		one.export.order("stateless " + ("on" if stateless else "off"))
		store(one, "a", old)
		with two.connect("tcp", credit=False) as c:
			stream = c.send(path="/files/a")
			c.until(lambda: c.responses[stream].size >= 65535)
			assert store(one, "a", new).status == 204
			c.window(len(old))
			c.window(len(old), stream)
			answer = c.response(stream)
			assert bytes(answer.body).strip(b"o") == b""
			assert (answer.reset is not None) == stateless
			assert stateless or answer.size == len(old)
		assert get(two, "a").body == new


def test_replaced_where_it_is_sent(machines):
	"""The machine that has it open gives it another name first, and others could have it still: they see the new one."""
	one, two = machines(n=2, listens=("tcp",))
	store(one, "a", b"o" * (6 << 20))
	assert get(two, "a").body[:1] == b"o"
	with one.connect("tcp", credit=False) as c:
		stream = c.send(path="/files/a")
		c.until(lambda: c.responses[stream].size >= 65535)
		assert store(one, "a", b"new").status == 204
		assert any(name.startswith(".nfs") for name in os.listdir(up(one)))
		assert get(two, "a").body == b"new"
		assert remove(one, "a").status == 204
		assert get(two, "a").status == 404
		c.window(6 << 20)
		c.window(6 << 20, stream)
		assert c.response(stream).size == 6 << 20


def test_a_root_that_is_shared(machines):
	"""The cache holds nothing of it, for nobody says what other machines change: each request sees it."""
	made = machines(n=2, start=False)
	os.mkdir(os.path.join(made[0].export.folder, "in"))
	for m in made:
		m.put_conf(m.conf_text.replace('root = "%s"' % m.root, 'root = "%s/shared"' % m.root).replace('"shared/up"', '"up"'))
		with open(os.path.join(m.export.folder, "page.html"), "w") as f:
			f.write("one")
		m.start()
	one, two = made
	with one.connect("tcp") as c, two.connect("tcp") as d:
		assert [x.get("/page.html").body for x in (c, d)] == [b"one"] * 2
		for text in (b"two", b"three"):
			with open(os.path.join(one.root, "shared", "new"), "wb") as f:
				f.write(text)
			os.rename(f.name, os.path.join(one.root, "shared", "page.html"))
			assert [x.get("/page.html").body for x in (c, d)] == [text] * 2
		for text in (b"3", b"more than before"):  # in place: what is told of it is of what is sent
			with open(os.path.join(one.root, "shared", "page.html"), "wb") as f:
				f.write(text)
			assert [x.get("/page.html").body for x in (c, d)] == [text] * 2
		assert [x.get("/in/new").status for x in (c, d)] == [404] * 2
		with open(os.path.join(one.root, "shared", "in", "new"), "wb") as f:
			f.write(b"new")
		assert [x.get("/in/new").body for x in (c, d)] == [b"new"] * 2
		os.unlink(os.path.join(one.root, "shared", "page.html"))
		assert [x.get("/page.html").status for x in (c, d)] == [404] * 2
