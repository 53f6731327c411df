"""Uploads by PUT and DELETE: whole or not at all, who may, conditions, and what each answer says."""
import os
import random
import re
import signal
import socket
import struct
import threading

import pytest

import procs
import resumable
import server as srv
from everywhere import Everywhere
from procs import DEADLINE, wait_for
from uploads import (PUBLIC, ROUNDS, connect, content, digest, folder, make, names, post, put, wait_over,
	way)  # noqa: F401 (fixtures)
from users import basic, hashed, put_users


SIZES = [0, 1, 5000, 16384, 65535, 65536, 300001, 2 << 20, (2 << 20) + 1]
CACHED = 2 << 20  # cache.max-file-size: a longer file is not hashed as it comes, and has a tag of size and time


def test_put(make, way):
	server = make()
	with connect(server, way) as c:
		for size in SIZES:
			for data, status in ((os.urandom(size), 201), (os.urandom(size), 204)):
				answer = put(c, "f%d" % size, data)
				assert (answer.status, answer.body) == (status, b"")
				assert answer.get("location") == ("/files/f%d" % size if status == 201 else None)
				assert answer.get("content-location") == "/files/f%d" % size
				assert answer.get("repr-digest") == (digest(data) if size <= CACHED else None)
				got = c.get("/files/f%d" % size)
				assert (got.status, got.body) == (200, data)
				assert answer.get("etag") == (got.get("etag") if size <= CACHED else None)
				assert c.get("/up/f%d" % size).body == data
		assert names(server) == sorted("f%d" % size for size in SIZES)
		assert os.stat(os.path.join(folder(server), "f1")).st_mode & 0o777 == 0o644
	assert server.status()["totals"]["files_stored"] == 2 * len(SIZES)


WANTS = [("want-repr-digest", "sha-256=5"), ("want-repr-digest", "md5=9, sha-512=1"), "repr-digest", "content-digest"]


@pytest.mark.parametrize("wanted", WANTS, ids=lambda w: " ".join(w) if isinstance(w, tuple) else w)
def test_digest_of_a_long_file(make, way, wanted):
	"""The content of a file that is longer than cached ones is hashed for a client that has a use for it."""
	server = make()
	data = os.urandom(CACHED + 1)
	asks = wanted if isinstance(wanted, tuple) else (wanted, digest(data))
	with connect(server, way) as c:
		answer = put(c, "a", data, [asks])
		assert answer.get("repr-digest") == digest(data)
		assert answer.get("etag") is None
		answer = put(c, "a", data, [("want-repr-digest", "sha-256=0")])
		assert answer.get("repr-digest") is None and answer.get("etag") is None


def test_names_in_paths(make):
	"""A path has its name decoded once, and location says it so that it can be asked for."""
	server = make()
	with server.connect() as c:
		for name, path in (("ü %25.txt", "%c3%bc%20%2525.txt"), ("a b", "a%20b"), ("a%b", "a%25b"),
				("q?x#y", "q%3fx%23y"), ("n" * 255, "n" * 255), ('"quo"', "%22quo%22")):
			answer = put(c, path, b"content")
			assert answer.status == 201, path
			assert c.get(answer.get("location")).body == b"content"
			assert c.get("/files/" + path).body == b"content"
			assert names(server) == [name]
			assert c.request("DELETE", answer.get("location")).status == 204
		assert names(server) == []


def test_chunks(make):
	"""Without content-length: HTTP/1 in chunks; HTTP/2 ends when it ends."""
	server = make()
	data = os.urandom(100001)
	with server.h1() as c:
		assert c.request("PUT", "/files/a", body=[data[:1], data[1:70000], data[70000:]]).status == 201
	with server.connect() as c:
		stream = c.send("PUT", "/files/b", end=False)
		for part in (data[:1], data[1:70000], data[70000:]):
			c.send_body(stream, part, end=False)
		c.conn.end_stream(stream)
		c.flush()
		assert c.response(stream).status == 201
	assert content(server, "a") == content(server, "b") == data


def test_delete(make, way):
	server = make(files={"up/a": b"a", "up/sub/x": b"x"})
	with connect(server, way) as c:
		assert c.request("DELETE", "/files/a").status == 204
		assert c.request("DELETE", "/files/a").status == 404
		assert c.get("/files/a").status == 404
		assert c.request("DELETE", "/files/sub").status == 404
		assert c.request("DELETE", "/files/.keep").status == 400
	assert names(server) == ["sub"]


def test_what_is_in_the_way(make):
	server = make(files={"up/sub/x": b"x", "secret": b"secret"})
	os.symlink("../secret", os.path.join(folder(server), "link"))
	os.mkfifo(os.path.join(folder(server), "fifo"))
	with server.connect() as c:
		assert put(c, "sub", b"new").status == 409
		assert put(c, "fifo", b"new").status == 409
		assert c.request("DELETE", "/files/fifo").status == 404
		assert put(c, "link", b"new").status == 204, "the link is replaced"
		assert c.get("/secret").body == b"secret", "not what it led to"
		assert not os.path.islink(os.path.join(folder(server), "link"))
	assert names(server) == ["fifo", "link", "sub"]


def test_conditions(make, way):
	server = make()
	with connect(server, way) as c:
		assert put(c, "a", b"0", [("if-match", "*")]).status == 412
		etag = put(c, "a", b"1", [("if-none-match", "*")]).get("etag")
		assert put(c, "a", b"2", [("if-none-match", "*")]).status == 412
		assert put(c, "a", b"2", [("if-match", '"other"')]).status == 412
		assert put(c, "a", b"2", [("if-none-match", etag)]).status == 412
		assert c.get("/files/a").body == b"1"
		assert put(c, "a", b"2", [("if-match", '"x", ' + etag)]).status == 204
		assert c.get("/files/a").body == b"2"
		assert c.request("DELETE", "/files/a", [("if-match", etag)]).status == 412
		etag = c.get("/files/a").get("etag")
		assert c.request("DELETE", "/files/a", [("if-match", etag)]).status == 204
		large = os.urandom(3 << 20)
		put(c, "a", large)
		server.wait_tagged("/files/a")
		etag = c.request("HEAD", "/files/a").get("etag")
		assert put(c, "a", b"1", [("if-match", '"other"')]).status == 412
		assert put(c, "a", b"1", [("if-match", etag)]).status == 204
	assert names(server) == ["a"]


def test_conditions_of_coded_content(make):
	"""Who was sent it in a coding knows it by that entity tag."""
	server = make(files={"up/a.txt": b"text " * 1000}, image=True).wait_coded(["up/a.txt"])
	with server.connect() as c:
		plain = c.get("/files/a.txt").get("etag")
		coded = [c.get("/files/a.txt", [("accept-encoding", coding)]).get("etag")
			for coding in ("br", "zstd", "gzip")]
		assert len({plain, *coded}) == 4
		for tag in (plain, *coded):
			assert put(c, "a.txt", b"x", [("if-none-match", tag)]).status == 412
		answer = put(c, "a.txt", b"new " * 1000, [("if-match", coded[2])])
		assert answer.status == 204
		for tag in (plain, *coded):
			assert put(c, "a.txt", b"x", [("if-match", tag)]).status == 412, "of the version before"


def test_no_lost_update(make):
	"""Of those who have read the same version, one may replace it; on two workers, at the same time."""
	server = make(workers=2, listens=("tcp",))
	rounds, clients = ROUNDS or 20, 4
	with server.connect() as c:
		etag = put(c, "a", b"0").get("etag")
	barrier = threading.Barrier(clients)
	won = [[] for _ in range(rounds)]
	tags = [etag]

	def life(number):
		with server.connect() as c:
			for turn in range(rounds):
				barrier.wait(60)
				seen = tags[turn]
				answer = put(c, "a", b"%d of %d" % (turn, number), [("if-match", seen)])
				assert answer.status in (204, 412), answer
				if answer.status == 204:
					won[turn].append(number)
					tags.append(answer.get("etag"))
				barrier.wait(60)
	procs.together(clients, life)
	assert [len(w) for w in won] == [1] * rounds, won
	assert content(server, "a") == b"%d of %d" % (rounds - 1, won[-1][0])


def test_last_one_wins_whole(make):
	"""Two uploads of one name at a time: one whole file."""
	server = make()
	one, two = os.urandom(200001), os.urandom(100001)
	with server.connect() as a, server.connect() as b:
		first, second = a.send("PUT", "/files/x", end=False), b.send("PUT", "/files/x", end=False)
		a.send_body(first, one[:50000], end=False)
		b.send_body(second, two[:50000], end=False)
		assert names(server) == []
		a.send_body(first, one[50000:])
		b.send_body(second, two[50000:])
		assert sorted([a.response(first).status, b.response(second).status]) == [201, 204]
	assert content(server, "x") in (one, two)
	assert names(server) == ["x"]


# --- where there are uploads, and whose -----------------------------------------------------------------


def test_without_upload_dir(h2d):
	"""The routes do not exist: the folder is one as any."""
	server = h2d(files={"files/report.txt": b"report"})
	for c in (server.connect(), server.h1()):
		with c:
			assert c.get("/files/report.txt").body == b"report"
			assert c.get("/files/report.txt").get("content-security-policy") is None
			assert c.get("/files/none").status == 404
			for method, path in (("PUT", "/files/a"), ("DELETE", "/files/report.txt"),
					("POST", "/files")):
				answer = c.request(method, path)
				assert (answer.status, answer.get("allow")) == (405, "GET, HEAD, OPTIONS")
			assert c.request("OPTIONS", "/files/a").get("allow") == "GET, HEAD, OPTIONS"
	assert os.listdir(os.path.join(server.root, "files")) == ["report.txt"]


@pytest.mark.parametrize("leads_to", ["real", "../real"])
def test_a_folder_behind_a_link(make, leads_to):
	"""No upload goes there, and who configures it so is told before the first is refused."""
	server = make(server='upload-dir = "link"  upload-public = true', files={"real/.keep": b""})
	said = r"h2d\.conf:\d+: %supload-dir \"[^\"]*/link\": a symbolic link is not followed: the workers cannot store"
	with server.connect() as c:
		assert put(c, "a", b"a").status == 500
	os.symlink(leads_to, os.path.join(server.root, "link"))
	os.makedirs(os.path.join(server.root, leads_to), exist_ok=True)
	server.reload()
	server.log.wait("warn .*" + said % "")
	done = server.run("-t", check=0)
	assert re.search(said % "warning: ", done.err), done.err
	with server.connect() as c:
		assert put(c, "a", b"a").status == 500
	assert os.listdir(os.path.join(server.root, leads_to)) in ([], [".keep"])


def test_who_may(make):
	"""Writes take users, an allow list, or the word that everybody may; reading takes nothing."""
	server = make(server='upload-dir = "up"', files={"up/a": b"a"})
	server.log.wait(r"warn .*h2d\.conf:\d+: upload-dir refuses all uploads")
	done = server.run("-t", check=0)
	assert re.search(r"h2d\.conf:\d+: warning: upload-dir refuses all uploads", done.err), done.err
	users = put_users(server, anna=hashed("sesame"))
	with server.connect() as c:
		assert c.get("/files/a").status == 200
		assert put(c, "b", b"b").status == 403
		assert c.request("DELETE", "/files/a").status == 403
	for scope, status in (('location "/files" { auth-basic-file = "%s" }' % users, 401),
			('location "/up" { auth-basic-file = "%s" }' % users, 401),
			('location "/files" { deny = {"192.0.2.1"} }', 403),
			('location "/files" { allow = {"192.0.2.1"} }', 403),
			('location "/files" { allow = {"127.0.0.0/8"} }', 201),
			('location "/up" { allow = {"127.0.0.0/8"} }', 201),
			('location "/up/" { auth-basic-file = "%s" }' % users, 401),
			('location "/up/b" { deny = {"all"} } upload-public = true', 403),
			('location "/up" { auth-basic-file = "%s" } location "/up/b" { auth-basic-file = "" }' % users,
				403)):
		server.write_conf(server='upload-dir = "up" ' + scope)
		since = len(server.log.lines)
		server.reload()
		server.log.wait("serving: generation", since)  # behind all that is said of the configuration
		assert ("deny = {\"192" in scope) == bool(server.log.find("refuses all uploads", since)), scope
		with server.connect() as c:
			assert put(c, "b", b"b").status == status, scope
			if status == 403:
				assert post(c, [("b", b"b")], headers=basic("anna", "sesame")).status == 403, scope
			if status == 401:
				assert put(c, "b", b"b", basic("anna", "wrong")).status == 401
				assert put(c, "b", b"b", basic("anna", "sesame")).status == 201
			if status != 403:
				assert c.request("DELETE", "/files/b", basic("anna", "sesame")).status == 204
	assert names(server) == ["a"]


def test_password_and_body(make, way):
	"""The body waits, without credit, until the password is checked."""
	server = make(server='upload-dir = "up"')
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(server='upload-dir = "up" location "/files" { auth-basic-file = "%s" }' % users)
	server.reload()
	data = os.urandom(200001)
	with connect(server, way) as c:
		assert put(c, "a", data, basic("anna", "wrong")).status == 401
	with connect(server, way) as c:
		assert put(c, "a", data, basic("anna", "sesame")).status == 201
	assert content(server, "a") == data


# --- what does not come to its end ----------------------------------------------------------------------


def test_client_leaves(make, way):
	server = make(files={"up/old": b"old"})
	for sent in (0, 1, 60000):
		with connect(server, way) as c:
			if way.startswith("h2"):
				stream = c.send("PUT", "/files/old", end=False)
				c.send_body(stream, b"x" * sent, end=False)
				c.ping()
				c.reset(stream)
				c.ping()
			else:
				c.ask("PUT", "/files/old")
				c.send_bytes(c.head("PUT", "/files/old", [("content-length", "100000")])
					+ b"x" * sent)
				wait_for(lambda: server.gauges()["uploads_live"] == 1, said="it has begun")
	wait_over(server)
	assert names(server) == ["old"] and content(server, "old") == b"old"


def test_client_says_no_more(make, way):
	"""Behind the end of its half of the connection the rest cannot come, however long a body is waited for."""
	server = make(sections="timeouts { body = 3600 }")
	with connect(server, way, seen=None) as c:
		headers = [("content-length", "100000")]
		if way.startswith("h2"):
			stream = c.send("PUT", "/files/a", headers, end=False)
			c.send_body(stream, b"x" * 50000, end=False)
		else:
			c.send_bytes(c.head("PUT", "/files/a", headers) + b"x" * 50000)
		wait_for(lambda: server.gauges()["uploads_live"] == 1, said="it has begun")
		c.sock.shutdown(socket.SHUT_WR)
		if way == "h2-tcp":
			c.sock.settimeout(DEADLINE)
			said = b"".join(iter(lambda: c.sock.recv(65536), b""))
			assert struct.pack(">BHBBLL", 0, 4, 3, 0, stream, 8) in said, "CANCEL, to a client that reads on"
		wait_over(server)
	assert names(server) == []


def test_cut_short(make):
	"""A body that ends before content-length is malformed (RFC 9113, 8.1.1; RFC 9112, 6.3)."""
	server = make()
	with server.connect() as c:
		stream = c.send("PUT", "/files/a", [("content-length", "10")], end=False)
		c.conn.send_data(stream, b"12345", end_stream=True)
		c.flush()
		answer = c.response(stream)
		assert answer.reset == 1 or answer.status == 400, answer
	with server.h1() as c:
		c.ask("PUT", "/files/a")
		c.send_bytes(c.head("PUT", "/files/a", [("transfer-encoding", "chunked")])
			+ b"5\r\n12345\r\nx\r\n")
		assert c.response().status == 400
	wait_over(server)
	assert names(server) == []


def test_drain(make):
	"""An upload that is under way is finished by a worker that leaves."""
	server = make()
	with server.connect() as c:
		stream = c.send("PUT", "/files/a", end=False)
		c.send_body(stream, b"1", end=False)
		c.ping()
		server.reload()
		c.send_body(stream, b"2")
		assert c.response(stream).status == 201
	assert content(server, "a") == b"12"


# --- every worker, at once ------------------------------------------------------------------------------


def pause(pid, seconds):
	os.kill(pid, signal.SIGSTOP)
	timer = threading.Timer(seconds, os.kill, (pid, signal.SIGCONT))
	timer.start()
	return timer


def test_read_your_writes(make):
	"""When the answer is there, all workers answer with the new bytes; the image had others until then.

	In each fifth round the keeper is late.
	"""
	rounds = ROUNDS or 100
	server = make(workers=2, listens=("tcp",), image=True, files={"up/f%d" % i: b"old" for i in range(rounds)})
	keeper = server.keeper()
	with Everywhere(server) as every, server.connect() as c:
		every.cached("/files/f%d" % (rounds - 1), b"old")
		for i in range(rounds):
			path, data = "/files/f%d" % i, b"%d" % i
			late = pause(keeper, 0.02) if i % 5 == 0 else None
			answer = put(c, "f%d" % i, data)
			assert answer.status == 204
			wrong = every.wrong(path, lambda got: got.body == data and got.get("etag") == answer.get("etag"))
			assert not wrong, (i, wrong)
			if late:
				late.join()
		every.cached(path, data)
		assert c.request("DELETE", path).status == 204
		assert not every.wrong(path, 404)


REFUSALS = [
	(409, "name exists and must not be replaced", lambda c, part: put(c, "sub", b"new")),
	(412, "precondition failed", lambda c, part: put(c, "new", b"1", [("if-match", "*")])),
	(404, "file does not exist", lambda c, part: c.request("DELETE", "/files/missing")),
	(400, "digest does not match content",
		lambda c, part: put(c, "new", b"1", [("content-digest", digest(b"2"))])),
	(409, "two files of a form", lambda c, part: post(c, [("a", b"1"), ("a", b"2")])),
	(404, "no such upload", lambda c, part: resumable.head(c, "/files/a/.upload/" + 32 * "0")),
	(409, "upload-offset does not match the upload", lambda c, part: resumable.append(c, part, 1, b"x")),
	(400, "upload length is not as announced",
		lambda c, part: resumable.append(c, part, 4, b"x", ("upload-length", "100"))),
	(415, "content-type of a PATCH is not", lambda c, part: c.request("PATCH", part, [resumable.VERSION], b"x")),
	(400, "upload is complete already", lambda c, part: [resumable.append(c, part, 4, b"efgh"),
		resumable.append(c, part, 8, b"x")][-1]),
]


def test_each_refusal_says_why_once(make):
	server = make(PUBLIC + "  resume-expires = 100", files={"up/sub/f": b""})
	with server.connect() as c:
		part = resumable.create(c, "part", b"abcd", ("upload-length", "8"), complete=resumable.PIECE).get("location")
		for status, text, ask in REFUSALS:
			assert ask(c, part).status == status, text
			server.log.wait(text)
	for _, text, _ in REFUSALS:
		assert len(server.log.find(text)) == 1, (text, server.log_text())


def test_the_lack_of_writers_is_said(make):
	server = make('upload-dir = "up"  ')
	with server.connect() as c:
		assert put(c, "a", b"1").status == 403
	server.log.wait("configuration allows no uploads there")


def test_text_is_compressed_cheaply(make):
	"""Anybody may send any amount: a second of the keeper's processor time for each MiB would be much to give."""
	server = make()
	random.seed(36)
	words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))).encode() for _ in range(4000)]
	number = 5
	keeper = server.keeper()
	before = procs.cpu_seconds(keeper)
	with server.connect() as c:
		for i in range(number):
			assert put(c, "%d.txt" % i, b" ".join(random.choices(words, k=200000))[:1 << 20]).status == 201
	server.wait_coded(["up/%d.txt" % i for i in range(number)])
	assert procs.cpu_seconds(keeper) - before < 0.4 * number * srv.SLOW


def test_the_folder_by_its_own_name(make):
	"""It takes no uploads there, and says where it does."""
	server = make()
	for client in (server.connect, server.h1):
		with client() as c:
			for method, path in (("PUT", "/up/x"), ("POST", "/up/"), ("POST", "/up"), ("DELETE", "/up/x")):
				answer = c.request(method, path, body=b"x")
				assert (answer.status, answer.get("allow")) == (405, "GET, HEAD, OPTIONS"), (method, path)
				assert b"uploads go to /files (POST) and /files/NAME (PUT" in answer.body
			assert b"/files" not in c.request("PUT", "/upper", body=b"x").body
	server.log.wait("PUT /up/x: uploads go to /files/")
	said = server.run("--explain", "http://localhost/up/x", "--method", "PUT").out
	assert "uploads go to /files/" in said, said
	assert names(server) == []
