"""Limits of uploads: the client gets a status, not a reset, and nothing stays behind."""
import contextlib
import fcntl
import os
import resource
import subprocess
import time

import pytest
from hyperframe import frame as hf

import client
import harness
from procs import descriptors, wait_for
from uploads import PUBLIC, connect, content, digest, folder, make, names, post, put, wait_over, way  # noqa: F401 (fixtures)
from users import basic, hashed, put_users


def begin(c, way, path="/files/a", headers=(), data=b""):
	"""A PUT without an end: what it is continued and answered by."""
	if way.startswith("h2"):
		stream = c.send("PUT", path, headers, end=False)
		c.send_body(stream, data, end=False)
		return lambda: c.response(stream)
	c.ask("PUT", path)
	c.send_bytes(c.head("PUT", path, headers) + data)
	return c.response


# --- size -----------------------------------------------------------------------------------------------


def test_too_large_by_length(make, way):
	"""Before the body is read."""
	server = make(sections='limits { client-max-body-size = "100K" }')
	with connect(server, way) as c:
		assert begin(c, way, headers=[("content-length", "102401")])().status == 413
	with connect(server, way) as c:
		assert put(c, "a", bytes(102401)).status == 413
		wait_over(server)
	with connect(server, way) as c:
		assert put(c, "a", bytes(102400)).status == 201
	assert names(server) == ["a"]


def test_too_large_by_count(make, way):
	"""At the byte that crosses it."""
	server = make(sections='limits { client-max-body-size = "100K" }')
	chunked = [] if way.startswith("h2") else [("transfer-encoding", "chunked")]

	def pieces(size):
		return bytes(size) if way.startswith("h2") else b"%x\r\n%s\r\n" % (size, bytes(size))
	with connect(server, way) as c:
		answer = begin(c, way, headers=chunked, data=pieces(102400) + (
			b"" if way.startswith("h2") else pieces(1)))
		if way.startswith("h2"):
			c.send_body(1, b"x", end=False)
		assert answer().status == 413
	wait_over(server)
	assert names(server) == []


def guarded(make, where, size):
	"""A server that asks for a password there, and takes bodies of that size."""
	server = make(server='upload-dir = "up"')
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(server='upload-dir = "up" location "%s" { auth-basic-file = "%s" }' % (where, users),
		sections='limits { client-max-body-size = "%s" }' % size)
	server.reload()
	return server


def test_as_large_as_may_be_behind_a_password(make, way):
	"""What comes while the password is checked is part of content-length, not beside it."""
	server = guarded(make, "/files", "100K")
	for _ in range(3):
		with connect(server, way) as c:
			length = [("content-length", "102400")] if way.startswith("h2") else []
			answer = put(c, "a", bytes(102400), basic("anna", "sesame") + length)
			assert answer.status in (201, 204), answer
		server.reload()  # the next worker has to check it again
	with connect(server, way) as c:
		assert put(c, "a", bytes(102401), basic("anna", "sesame")).status == 413


def test_too_large_before_it_is_known_who_may(make, way):
	"""The file's own location asks for a password, and while that is checked the body is refused."""
	server = guarded(make, "/up", "10K")
	chunked = [] if way.startswith("h2") else [("transfer-encoding", "chunked")]
	data = bytes(20000) if way.startswith("h2") else b"4e20\r\n%s\r\n" % bytes(20000)
	with connect(server, way) as c, connect(server, way) as d:
		answer = begin(c, way, headers=basic("anna", "sesame") + chunked, data=data)
		assert answer().status == 413
		# This one's check stands in line behind the other's.
		assert d.get("/up/none", basic("anna", "sesame")).status == 404
	wait_over(server)
	assert names(server) == []


def test_large_body_is_answered(make, way):
	"""A client that sends all of its body before it reads still finds the answer."""
	server = make(sections='limits { client-max-body-size = "1M" }')
	with connect(server, way) as c:
		if way.startswith("h2"):
			assert put(c, "a", bytes(8 << 20)).status == 413
		else:
			c.ask("PUT", "/files/a")
			c.send_bytes(c.head("PUT", "/files/a", [("content-length", str(8 << 20))]) + bytes(8 << 20))
			assert c.response().status == 413
	wait_over(server)
	assert names(server) == []


# --- many at a time -------------------------------------------------------------------------------------


def send_some(c, stream, data):
	"""What the windows let go of that at once: how much."""
	room = min(c.conn.local_flow_control_window(stream), c.conn.max_outbound_frame_size, len(data))
	if room > 0 and not c.responses[stream].done:
		c.conn.send_data(stream, data[:room])
		return room
	return 0


def send_in_turn(c, left):
	"""left: what is to be sent by stream; a piece of each in turn, as a browser does."""
	while left:
		sent = 0
		for stream, data in list(left.items()):
			n = send_some(c, stream, data)
			sent += n
			left[stream] = data[n:]
			if n == len(data) or c.responses[stream].done:
				if not c.responses[stream].done:
					c.conn.end_stream(stream)
				del left[stream]
		c.flush()
		if left and sent == 0:
			assert c.turn(time.monotonic() + c.timeout)


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_more_at_a_time_than_have_a_place(make, how):
	"""What is sent of those that wait does not keep the others from their ends."""
	server = make()
	data = os.urandom(300001)
	with server.connect(how) as c:
		c.until(lambda: c.settings_acked > 0)
		streams = [c.send("PUT", "/files/%d" % i, end=False) for i in range(50)]
		send_in_turn(c, {stream: data for stream in streams})
		assert [c.response(stream).status for stream in streams] == [201] * 50
	assert content(server, "49") == data


def test_bodies_that_wait_have_their_share(make):
	"""Past receive-window of them in a connection, one that shuts its window has to go."""
	server = make(listens=("tcp",), sections='limits { receive-window = "2M" }')
	data = bytes(65535)
	with server.connect() as c:
		c.until(lambda: c.settings_acked > 0)
		first = [c.send("PUT", "/files/a", end=False) for _ in range(16)]
		waiting = [c.send("PUT", "/files/b", end=False) for _ in range(80)]
		for stream in waiting:
			c.send_body(stream, data, end=False)
		send_in_turn(c, {stream: b"x" for stream in first})
		assert {c.response(stream).status for stream in first} <= {201, 204}
		send_in_turn(c, {stream: b"x" for stream in waiting})
		statuses = [c.response(stream).status for stream in waiting]
		assert set(statuses) <= {201, 204, 503} and statuses.count(503) > 80 - (2 << 20) // 65535 - 3
	assert names(server) == ["a", "b"]


# --- place ----------------------------------------------------------------------------------------------


def test_quota(make, way):
	server = make(server=PUBLIC + 'upload-quota = "100K"')
	with connect(server, way) as c:
		assert put(c, "a", bytes(60000)).status == 201
	with connect(server, way) as c:
		assert put(c, "b", bytes(60000)).status == 507, "by its length"
	with connect(server, way) as c:
		chunks = [bytes(30000), bytes(30000)]
		if way.startswith("h2"):
			answer = begin(c, way, "/files/b", data=chunks[0])
			c.send_body(1, chunks[1])
			assert answer().status == 507, "by its size"
		else:
			assert put(c, "b", chunks).status == 507
	with connect(server, way) as c:
		assert put(c, "a", bytes(100000)).status == 204, "what it replaces does not count"
	with connect(server, way) as c:
		assert post(c, [("a", bytes(90000))]).status == 201, "of a form neither"
	with connect(server, way) as c:
		assert post(c, [("a", bytes(90000)), ("c", bytes(20000))]).status == 507
	with connect(server, way) as c:
		assert put(c, "a", bytes(100000)).status == 204
	with connect(server, way) as c:
		assert post(c, [("b", bytes(1000)), ("c", bytes(1000))]).status == 507, "each is a block"
	with connect(server, way) as c:
		assert put(c, "a", bytes((100 << 10) - 2 * 4096)).status == 204
	with connect(server, way) as c:
		assert post(c, [("b", bytes(1000)), ("c", bytes(4096))]).status == 201
	with connect(server, way) as c:
		assert put(c, "d", b"").status == 507
	with connect(server, way) as c:
		assert c.request("DELETE", "/files/b").status == 204
		assert put(c, "b", b"x" * 4096).status == 201
	wait_over(server)
	assert names(server) == ["a", "b", "c"]


@pytest.fixture
def small_disk(make):
	"""A server whose folder is a file system of 16 MiB."""
	server = make()
	path = folder(server)
	done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "none", path],
		stderr=subprocess.PIPE)
	if done.returncode != 0:
		harness.skip_without("mount", done.stderr.decode().strip())
	server.reload()  # a folder that takes the place of upload-dir is allowed from then on
	yield server
	subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tcp"])
def test_full_disk(small_disk, way):
	server = small_disk
	with connect(server, way) as c:
		assert put(c, "a", bytes(10 << 20)).status == 201
	with connect(server, way) as c:
		assert put(c, "b", bytes(10 << 20)).status == 507, "by its length"
	with connect(server, way) as c:
		if way.startswith("h2"):
			answer = begin(c, way, "/files/b", data=bytes(10 << 20))
			assert answer().status == 507, "by its size"
		else:
			assert put(c, "b", [bytes(1 << 20)] * 10).status == 507
	with connect(server, way) as c:
		assert post(c, [("c", bytes(5 << 20)), ("d", bytes(5 << 20))]).status == 507
	wait_over(server)
	assert names(server) == ["a"]
	free = os.statvfs(folder(server))
	assert free.f_bavail * free.f_frsize >= 5 << 20, "the place is free again"
	with connect(server, way) as c:
		assert put(c, "b", bytes(5 << 20)).status == 201


def test_no_descriptors(make):
	server = make(listens=("tcp",))
	pid = server.worker_pids()[0]
	limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
	with server.connect() as c, server.h1() as d:
		assert put(c, "a", b"a").status == 201 and put(d, "b", b"b").status == 201
		wait_over(server)
		server.settled_kinds(pid)  # the admin's connection is closed
		open_ones = descriptors(pid)
		free = next(fd for fd in range(1000) if fd not in open_ones)
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, limit[1]))
		try:
			assert [put(each, "c", b"c").status for each in (c, d)] == [503, 503]
			assert names(server) == ["a", "b"]
		finally:
			resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
		assert put(c, "c", b"c").status == 201
	wait_over(server)
	assert names(server) == ["a", "b", "c"]


def in_system_call(pid, number):
	"""Whether one of its threads is."""
	for task in os.listdir("/proc/%d/task" % pid):
		with open("/proc/%d/task/%s/syscall" % (pid, task)) as f:
			if f.read().split()[0] == str(number):
				return True
	return False


def test_reset_while_the_folder_is_locked(make):
	"""Nothing is placed, and nothing removed, for a client that has gone while its turn was waited for."""
	server = make(listens=("tcp",), files={"up/b": b"b"})
	clock_nanosleep = 230 if os.uname().machine == "x86_64" else 115
	fd = os.open(os.path.join(folder(server), ".h2d-lock"), os.O_RDWR | os.O_CREAT, 0o600)
	try:
		for method, path in (("PUT", "/files/a"), ("DELETE", "/files/b")):
			fcntl.flock(fd, fcntl.LOCK_EX)
			with server.connect() as c:
				stream = c.send(method, path, body=b"a" if method == "PUT" else None)
				wait_for(lambda: in_system_call(server.worker_pids()[0], clock_nanosleep), said="it waits for its turn")
				c.reset(stream)
				c.ping()
			fcntl.flock(fd, fcntl.LOCK_UN)
			wait_over(server)
			assert names(server) == ["b"]
	finally:
		os.close(fd)


def test_folder_is_locked_by_another(make):
	"""Nobody waits for ever, and nothing is written in spite of it."""
	server = make(listens=("tcp",), files={"up/b": b"b"})
	fd = os.open(os.path.join(folder(server), ".h2d-lock"), os.O_RDWR | os.O_CREAT, 0o600)
	try:
		fcntl.flock(fd, fcntl.LOCK_EX)
		with server.connect() as c:
			first, second = c.send("PUT", "/files/a", body=b"a"), c.send("DELETE", "/files/b")
			assert c.response(first, 120).status == c.response(second, 120).status == 503
			assert names(server) == ["b"]
			fcntl.flock(fd, fcntl.LOCK_UN)
			assert put(c, "a", b"a").status == 201
	finally:
		os.close(fd)


# --- time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [0, 30, 70000])
def test_slow_body(make, way, sent):
	server = make(sections="timeouts { body = 1 }")
	with connect(server, way) as c:
		assert begin(c, way, headers=[("content-length", "100000")], data=bytes(sent))().status == 408
	wait_over(server)
	assert names(server) == []


# --- what is said of the content ------------------------------------------------------------------------


def test_digests(make, way):
	server = make()
	data = os.urandom(100001)
	for name in ("content-digest", "repr-digest"):
		for algorithm in ("sha-256", "sha-512"):
			with connect(server, way) as c:
				assert put(c, "a", data, [(name, digest(data + b"x", algorithm))]).status == 400
				assert names(server) == []
				assert put(c, "a", data, [(name, digest(data, algorithm))]).status == 201
				assert c.request("DELETE", "/files/a").status == 204
	with connect(server, way) as c:
		assert put(c, "a", data, [("content-digest", digest(data) + ", " + digest(b"", "sha-512"))]).status == 400
		assert put(c, "a", data, [("content-digest", digest(data) + ", md5=:AAAA:")]).status == 201
		assert put(c, "a", data, [("repr-digest", "sha-256=oops")]).status == 400
	assert names(server) == ["a"] and content(server, "a") == data


def test_refusals_are_explained(make, way):
	server = make(server=PUBLIC + "upload-quota = 10K")
	with connect(server, way) as c:
		for data, headers, status, reason in (
				(b"x", [("content-range", "bytes 0-0/5")], 400, "upload has content-range"),
				(b"x", [("content-encoding", "gzip")], 415, "upload has content-encoding"),
				(b"x", [("content-digest", digest(b"y"))], 400, "digest does not match content"),
				(b"x" * 20000, [], 507, "no room left in upload-quota or on the disk")):
			assert put(c, "a", data, headers).status == status
			server.log.wait(r"info .*connection 127\.0\.0\.1: %s$" % reason)
		assert put(c, "a", b"x", [("content-encoding", "identity")]).status == 201
	wait_over(server)
	assert names(server) == ["a"]


# --- expect: 100-continue -------------------------------------------------------------------------------

EXPECT = [("expect", "100-continue"), ("content-length", "5")]


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_continue_h1(make, how):
	server = make(server=PUBLIC + "upload-overwrite = false",
		sections='limits { client-max-body-size = "100K" }')
	with server.h1(how) as c:
		c.ask("PUT", "/files/a")
		c.send_bytes(c.head("PUT", "/files/a", EXPECT))
		deadline = time.monotonic() + c.timeout
		assert c.take_line(deadline) == "HTTP/1.1 100 Continue" and c.take_line(deadline) == ""
		c.send_bytes(b"12345")
		assert c.response().status == 201
	for headers, status in ((EXPECT, 409), ([*EXPECT, ("if-match", '"x"')], 412),
			([EXPECT[0], ("content-length", "102401")], 413)):
		with server.h1(how) as c:
			c.ask("PUT", "/files/a", headers)
			c.send_bytes(c.head("PUT", "/files/a", headers))
			answer = c.response()
			assert (answer.status, answer.interim) == (status, [])


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_continue_h2(make, how):
	server = make(server=PUBLIC + "upload-overwrite = false")

	class Patient(client.Client):
		interim = ()

		def event(self, event):
			if type(event).__name__ == "InformationalResponseReceived":
				self.interim = [*self.interim, event.headers]
			super().event(event)
	for status, wanted in ((201, 1), (409, 0)):
		options = {"seen": server.lint.see}
		with getattr(Patient, how)(server.ports[how], **options) as c:
			stream = c.send("PUT", "/files/a", EXPECT, end=False)
			if wanted:
				c.until(lambda: c.interim)
				c.send_body(stream, b"12345")
			assert c.response(stream).status == status
			assert len(c.interim) == wanted


# --- windows --------------------------------------------------------------------------------------------


def test_window_opens_for_uploads(make):
	"""Once the folder is ready: a small window would stand still most of the time. Others keep the small one."""
	server = make(server=PUBLIC + "upload-overwrite = false", files={"up/there": b""})
	with server.connect() as c:
		stream = c.send("PUT", "/files/there", end=False)
		assert c.response(stream).status == 409
		assert c.conn.outbound_flow_control_window == 65535
		stream = c.send("PUT", "/files/a", end=False)
		c.until(lambda: c.conn.local_flow_control_window(stream) == 1 << 20)
		c.send_body(stream, bytes(3 << 20))
		assert c.response(stream).status == 201
	assert content(server, "a") == bytes(3 << 20)


def begun(raws, said):
	"""On each of these connections an upload begins, of which a byte comes."""
	for raw in raws:
		raw.send(raw.headers(1, raw.head("/files/a", "PUT", [("content-length", str(said))]), end_stream=False),
			hf.DataFrame(1, b"x"))


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_windows_beside_a_crowd(make, how):
	"""One client with uploads on so many connections that nothing would be left: it is told from another, and named."""
	server = make(listens=(how,))
	source = "127.0.0.66"
	open_one = client.tls_socket if how == "tls" else client.tcp_socket
	limited = lambda: server.status()["totals"]["limit_windows"]
	with contextlib.ExitStack() as stack:
		for _ in range(5):  # all of a burst within the second for which a window counts as used
			begun([stack.enter_context(client.Raw(open_one(server.ports[how], source=source))) for _ in range(142)], 1 << 24)
			if limited():
				break
		server.log.wait(r"info .*connection 127\.0\.0\.66: upload windows reduced: limits\.receive-window is used up$")
		assert server.status()["totals"]["receive_windows"] <= 64 << 20
		with server.connect(how) as c:
			stream = c.send("PUT", "/files/b", end=False)
			c.until(lambda: c.conn.local_flow_control_window(stream) == 1 << 20)
			c.send_body(stream, bytes(3 << 20))
			assert c.response(stream).status == 201
	assert content(server, "b") == bytes(3 << 20)


@pytest.mark.parametrize("said", [True, False], ids=["with-length", "without"])
def test_windows_of_those_who_have_uploaded(make, said):
	"""They stay connected, and nobody's window is narrow for that."""
	server = make(listens=("tcp",))
	length = [("content-length", "100000")] if said else []
	with contextlib.ExitStack() as stack:
		for n in range(142):
			c = stack.enter_context(server.connect(source="127.0.0.66"))
			assert put(c, "a", bytes(100000), length).status in (201, 204)
		if said:
			assert server.status()["totals"]["receive_windows"] == 0
		c = stack.enter_context(server.connect())
		stream = c.send("PUT", "/files/b", end=False)
		c.until(lambda: c.conn.local_flow_control_window(stream) == 1 << 20)
		c.send_body(stream, b"b")
		assert c.response(stream).status == 201


# --- a refused body that goes on ------------------------------------------------------------------------


def test_no_ping_before_a_body_that_may_be_short(make):
	"""How long the path is, the server asks where a body is known to be long: not every client expects to be asked."""
	server = make()
	with server.raw() as raw:
		raw.send(raw.headers(1, raw.head("/files/a", "PUT"), end_stream=False))
		raw.send(hf.PingFrame(0, b"12345678"))
		assert "ACK" in raw.until_type(hf.PingFrame).flags
		raw.send(raw.headers(3, raw.head("/files/b", "PUT", [("content-length", "100000")]), end_stream=False))
		assert raw.until_type(hf.PingFrame).opaque_data == b"h2dwidth"


def test_slow_sender_is_answered(make):
	"""HTTP/1 has no way to stop it: who goes on sending for seconds finds the answer even so."""
	server = make(listens=("tcp",), sections='limits { client-max-body-size = "1M" }')
	piece, pieces = bytes(100000), 40
	with server.h1() as c:
		c.ask("PUT", "/files/a")
		c.send_bytes(c.head("PUT", "/files/a", [("content-length", str(pieces * len(piece)))]))
		for _ in range(pieces):
			c.send_bytes(piece)
			time.sleep(0.1)  # its pace, not ours
		assert c.response().status == 413
	assert names(server) == []
