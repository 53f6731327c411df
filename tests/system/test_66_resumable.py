"""Uploads that can be resumed: cut anywhere, asked for, gone on with, by whatever worker and after whatever death.

H2D_RESUME_SIZE: MiB of the upload that test_large cuts, then at twenty random bytes.
"""
import contextlib
import hashlib
import json
import os
import random
import signal
import time

import pytest

import harness
import procs
import resumable
import server as srv
from client import Closed
from procs import wait_for
from resumable import PIECE, VERSION, WHOLE, append, ask, begin, create, head, offset_of
from uploads import PUBLIC, WAYS, connect, content, digest, folder, make, names, put, wait_over, way  # noqa: F401 (fixtures)
from users import basic, hashed

SIZE = int(os.environ.get("H2D_RESUME_SIZE", "0")) or 4
CUTS = 20 if SIZE > 4 else 1
MIB = 1 << 20
OTHER = "/files/a/.upload/" + "0" * 32


# For what takes a second each.
TWO_WAYS = ["h2-tls", "h1-tcp"]


@pytest.fixture
def new(make):
	"""The same, whose processes do not stay."""
	def started(**options):
		server = make(conf="shutdown-timeout = 1  reload-timeout = 1\n", **options)
		server.baseline = None
		return server
	return started


def tickets(server):
	return [name for name in names(server) if len(name) == 5 + 32]


def parts(server):
	return [name for name in names(server) if name.endswith(".part")]


def problem(answer):
	assert answer.get("content-type") == "application/problem+json"
	return json.loads(answer.body)["type"].partition("#")[2]


# --- one request -------------------------------------------------------------------------------------------


def test_whole(make, way):
	"""Who asks for it is told where the upload is; then it goes as any upload."""
	server = make()
	data = os.urandom(300001)
	with connect(server, way) as c:
		for status in (201, 204):
			answer = create(c, "a%20b", data)
			(told, fields), = [pair for pair in answer.informed if pair[0] == 104]
			assert set(fields) == {"location", "upload-draft-interop-version", "upload-limit"}
			assert fields["upload-limit"] == "max-size=1073741824, max-age=86400"
			assert fields["location"].startswith("/files/a%20b/.upload/")
			assert answer.status == status
			assert answer.get("upload-complete") == "?1"
			assert answer.get("repr-digest") == digest(data)
			assert answer.get("content-location") == "/files/a%20b"
			assert answer.get("location") == ("/files/a%20b" if status == 201 else None)
			done = head(c, fields["location"])
			assert (done.status, done.get("upload-complete"), offset_of(done)) == (204, "?1", len(data))
			assert c.get("/files/a%20b").body == data
	assert content(server, "a b") == data
	assert parts(server) == []


def test_created_by_post(make, way):
	"""As the draft's examples do it; to the path of a file, and only so: a form of another site cannot say it."""
	server = make()
	data = os.urandom(200001)
	with connect(server, way) as c:
		for headers in ([], [VERSION], [("content-type", "multipart/form-data; boundary=b")], [VERSION, ("upload-complete", "1")]):
			answer = c.request("POST", "/files/a", headers, b"12345")
			assert answer.status == 400 and b"upload-complete or upload-offset missing or malformed" in answer.body, headers
		assert names(server) == []
		answer = c.request("POST", "/files/a", [VERSION, WHOLE, *resumable.said(c, data)], data)
		assert answer.status == 201 and [pair[0] for pair in answer.informed] == [104]
		assert c.get("/files/a").body == data
		answer = c.request("POST", "/files/b", [VERSION, PIECE], data[:70000])
		assert answer.status == 201 and answer.get("location").startswith("/files/b/.upload/")
	opened = resumable.Open(server, way, "POST", "/files/c", [WHOLE], len(data))
	location = opened.told()["location"]
	opened.send(data[:1000])
	opened.cut()
	for place in (answer.get("location"), location):
		assert resumable.finish(server, way, place, data).status == 201
	assert content(server, "b") == content(server, "c") == data


def test_who_does_not_ask(make, way):
	"""Nothing stays of an upload that is not said to be resumable, and nobody gets 104 who may not know it."""
	server = make()
	with connect(server, way) as c:
		for headers in ([], [VERSION], [WHOLE], [WHOLE, (VERSION[0], "7")], [VERSION, ("upload-complete", "1")]):
			answer = c.request("PUT", "/files/a", headers, b"12345")
			assert answer.status in (201, 204)
			assert [pair for pair in answer.informed if pair[0] == 104] == []
			assert answer.get("upload-complete") is None
		assert names(server) == ["a"]
		answer = c.request("PUT", "/files/b", [PIECE], b"12345")
		assert (answer.status, answer.informed) == (201, []), "it asks for one, and cannot be told early"
		assert append(c, answer.get("location"), 5, b"6").status == 201
	assert content(server, "b") == b"123456"
	opened = resumable.Open(server, way, "PUT", "/files/c", [], 100)
	opened.send(b"x" * 50)
	opened.cut()
	wait_over(server)
	assert parts(server) == []


def test_http10(make):
	server = make()
	with server.h1() as c:
		answer = c.request("PUT", "/files/a", [VERSION, WHOLE], b"12345", version="1.0")
		assert (answer.status, answer.informed) == (201, [])


def test_continue(make, way):
	"""100 is said behind 104, too."""
	server = make()
	opened, _ = begin(server, way, "a", 5, ("expect", "100-continue"))
	with contextlib.closing(opened.c):
		if opened.is_h2:
			opened.c.until(lambda: len(opened.answer.informed) == 2)
			assert opened.answer.informed[1][0] == 100
		else:
			assert opened.c.take_head(time.monotonic() + opened.c.timeout)[0] == 100
		opened.send(b"12345")
		assert opened.finish().status == 201


def test_options(make, way):
	server = make()
	with connect(server, way) as c:
		answer = c.request("OPTIONS", "/files/a")
		assert answer.status == 204
		assert answer.get("accept-patch") == "application/partial-upload"
		assert answer.get("upload-limit") == "max-size=1073741824, max-age=86400"
		assert answer.get("allow") == "GET, HEAD, POST, PUT, DELETE, OPTIONS"


def test_switched_off(make):
	server = make(server=PUBLIC + "resume-expires = 0\n")
	with server.connect() as c:
		assert c.request("POST", "/files/a", [VERSION, WHOLE], b"12345").status == 400
		answer = create(c, "a", b"12345")
		assert (answer.status, answer.informed, answer.get("upload-complete")) == (201, [], None)
		assert c.request("OPTIONS", "/files/a").get("accept-patch") is None
		assert head(c, OTHER).status == 404
		assert append(c, OTHER, 0, b"1").status == 404
	assert names(server) == ["a"]


# --- in parts ----------------------------------------------------------------------------------------------


def test_parts(make, way):
	"""The first request may say that it is not all, or nothing at all; the last one may be empty."""
	server = make()
	data = os.urandom(200000)
	with connect(server, way) as c:
		answer = create(c, "a", data[:70000], ("upload-length", "200000"), complete=PIECE)
		location = answer.get("location")
		assert location == answer.informed[0][1]["location"]
		assert (answer.status, answer.get("upload-complete"), offset_of(answer)) == (201, "?0", 70000)
		assert answer.get("upload-limit")
		state = head(c, location)
		assert (state.status, state.get("upload-complete"), offset_of(state)) == (204, "?0", 70000)
		assert state.get("upload-length") == "200000"
		assert state.get("cache-control") == "no-store"
		answer = append(c, location, 70000, data[70000:150000], complete=PIECE)
		assert (answer.status, answer.get("upload-complete"), offset_of(answer)) == (204, "?0", 150000)
		assert answer.get("location") is None
		answer = append(c, location, 150000, data[150000:], complete=PIECE)
		assert c.get("/files/a").status == 404, "it was not said to be complete"
		answer = append(c, location, 200000, b"")
		assert (answer.status, answer.get("upload-complete")) == (201, "?1")
		assert answer.get("location") == answer.get("content-location") == "/files/a"
		assert answer.get("repr-digest") == digest(data)
		got = c.get("/files/a")
		assert (got.body, got.get("etag")) == (data, answer.get("etag"))
		empty = create(c, "b", b"", complete=PIECE).get("location")
		assert append(c, empty, 0, b"").status == 201
		assert c.get("/files/b").body == b""
	assert parts(server) == []


def test_unseen(make):
	"""Neither as a file of its own nor in a list is there anything of an upload."""
	server = make(server=PUBLIC + "autoindex = true\n", image=True)
	with server.connect() as c:
		location = create(c, "a", b"12345", complete=PIECE).get("location")
		assert len(tickets(server)) == len(parts(server)) == 1
		for name in names(server):
			assert c.get("/up/" + name).status in (403, 404)
			assert c.get("/files/" + name).status in (400, 403, 404)
		assert b"h2d-" not in c.get("/up/").body
		for method in ("GET", "POST", "PUT"):
			answer = c.request(method, location, body=b"" if method != "GET" else None)
			assert (answer.status, answer.get("allow")) == (405, "HEAD, DELETE, OPTIONS, PATCH")
		wait_for(lambda: server.status()["cache"]["pending"] == 0, said="nothing is to be read")
		assert server.status()["cache"]["entries"] == 1


def test_cancelled(make, way):
	server = make()
	with connect(server, way) as c:
		location = create(c, "a", b"12345", complete=PIECE).get("location")
		assert c.request("DELETE", location).status == 204
		assert names(server) == []
		assert head(c, location).status == append(c, location, 5, b"6").status == 404
		assert c.request("DELETE", location).status == 404
		done = create(c, "a", b"12345").informed[0][1]["location"]
		assert c.request("DELETE", done).status == 204
		assert head(c, done).status == 404
	assert names(server) == ["a"], "the file stays"


def test_refused(make, way):
	server = make()
	with connect(server, way) as c:
		location = create(c, "a", b"12345", ("upload-length", "10"), complete=PIECE).get("location")
		answer = append(c, location, 4, b"67890")
		assert (answer.status, problem(answer), offset_of(answer)) == (409, "mismatching-upload-offset", 5)
		assert json.loads(answer.body)["expected-offset"] == 5
		assert json.loads(answer.body)["provided-offset"] == 4
		for headers, status in (
				([("content-type", "text/plain"), WHOLE, ("upload-offset", "5")], 415),
				([WHOLE, ("upload-offset", "5")], 415),
				([resumable.PARTIAL, WHOLE], 400),
				([resumable.PARTIAL, ("upload-offset", "5")], 400),
				([resumable.PARTIAL, WHOLE, ("upload-offset", "-5")], 400),
				([resumable.PARTIAL, WHOLE, ("upload-offset", "5.0")], 400),
				([resumable.PARTIAL, ("upload-complete", "true"), ("upload-offset", "5")], 400),
				([resumable.PARTIAL, WHOLE, ("upload-offset", "5"), ("upload-offset", "5")], 400)):
			answer = c.request("PATCH", location, headers, b"67890")
			assert answer.status == status, headers
			if status == 415:
				assert answer.get("accept-patch") == "application/partial-upload"
			else:
				server.log.wait(r"info .*connection 127\.0\.0\.1: upload-complete or upload-offset missing")
		for data, complete in ((b"6789", WHOLE), (b"678901", PIECE)):
			answer = append(c, location, 5, data, complete=complete)
			assert (answer.status, problem(answer)) == (400, "inconsistent-upload-length")
		answer = append(c, location, 5, b"67890", ("upload-length", "11"))
		assert (answer.status, problem(answer)) == (400, "inconsistent-upload-length")
		for other in (OTHER, location[:-1], location + "0", location.replace("/a/", "/b/"), location[:-32] + "x" * 32):
			assert head(c, other).status == append(c, other, 5, b"6").status == 404, other
		assert append(c, location, 5, b"67890").status == 201
		answer = append(c, location, 10, b"1")
		assert (answer.status, problem(answer)) == (400, "completed-upload")
	assert content(server, "a") == b"1234567890"


def test_too_long(make):
	"""A body without content-length that goes past the length ends the upload for good (4.4.2 of the draft)."""
	server = make()
	with server.h1() as c:
		location = create(c, "a", b"12345", ("upload-length", "10"), complete=PIECE).get("location")
		answer = append(c, location, 5, [b"67890", b"1"], complete=PIECE)
		assert (answer.status, problem(answer)) == (400, "inconsistent-upload-length")
	wait_over(server)
	assert ask(server, "h1-tcp", location).status == 404
	assert names(server) == []


# What URLSession of iOS 26.2 is reported to send beside the fields of the draft.
URLSESSION = [VERSION, ("accept", "*/*"), ("accept-language", "en-GB,en;q=0.9"), ("accept-encoding", "gzip, deflate, br"),
	("priority", "u=3, i"), ("user-agent", "Photos/1 CFNetwork/3860.300.31 Darwin/25.2.0")]


def test_urlsession(make, way):
	"""An upload task of iOS 26.2: the whole by POST, an end of the network, and the rest when it is resumed."""
	server = make()
	data = os.urandom(500001)
	length = ("upload-length", str(len(data)))
	opened = resumable.Open(server, way, "POST", "/files/IMG_0042.MOV",
		[*URLSESSION[1:], WHOLE, length, ("content-type", "video/quicktime")], len(data))
	location = opened.told()["location"]
	opened.send(data[:200000])
	opened.cut()
	wait_over(server)
	with connect(server, way) as c:
		state = head(c, location, *URLSESSION)
		at = offset_of(state)
		assert (state.status, state.get("upload-complete"), state.get("upload-length")) == (204, "?0", length[1])
		assert at <= 200000
		answer = c.request("PATCH", location, [*URLSESSION, WHOLE, length, resumable.PARTIAL, ("upload-offset", str(at)),
			*resumable.said(c, data[at:])], data[at:])
		assert (answer.status, answer.get("upload-complete"), answer.get("location")) == (201, "?1", "/files/IMG_0042.MOV")
		assert [status for status, _ in answer.informed if status != 104] == []
	assert content(server, "IMG_0042.MOV") == data


# --- what holds for the whole ------------------------------------------------------------------------------


def test_conditions(make, way):
	"""Those of the first request are asked when the file gets its name."""
	server = make()
	with connect(server, way) as c:
		etag = put(c, "a", b"old").get("etag")
		assert create(c, "a", b"1", ("if-none-match", "*")).status == 412
		first = create(c, "a", b"12345", ("if-match", etag), complete=PIECE).get("location")
		second = create(c, "a", b"abcde", ("if-match", etag), complete=PIECE).get("location")
		assert append(c, first, 5, b"67890").status == 204
		answer = append(c, second, 5, b"fghij")
		assert (answer.status, answer.get("upload-complete")) == (412, "?1")
		assert head(c, second).status == 404
	wait_over(server)
	assert content(server, "a") == b"1234567890"
	assert parts(server) == []


def test_conditions_on_the_upload(make, way):
	"""Of a later request they are for the upload itself (RFC 9110, 13.1), which has no entity tag: none is passed over."""
	server = make()
	with connect(server, way) as c:
		etag = put(c, "a", b"old").get("etag")
		location = create(c, "a", b"12345", complete=PIECE).get("location")
		for condition in (("if-match", etag), ("if-match", '"other"'), ("if-none-match", "*"), ("if-none-match", "x")):
			answer = append(c, location, 5, b"67890", condition)
			assert (answer.status, answer.get("upload-complete")) == (412, None), condition
			assert c.request("DELETE", location, [condition]).status == 412, condition
			assert append(c, OTHER, 5, b"6", condition).status == 404
			assert offset_of(head(c, location)) == 5
		assert content(server, "a") == b"old"
		assert append(c, location, 5, b"67", ("if-match", "*"), complete=PIECE).status == 204
		assert append(c, location, 7, b"890", ("if-none-match", etag)).status == 204
		assert append(c, location, 10, b"1", ("if-match", etag)).status == 400
		assert c.request("DELETE", location, [("if-match", "*")]).status == 204
	assert content(server, "a") == b"1234567890"


def test_digests(make, way):
	server = make()
	data = os.urandom(50000)
	with connect(server, way) as c:
		for algorithm in ("sha-256", "sha-512"):
			location = create(c, "a", data[:20000], ("repr-digest", digest(data, algorithm)),
				("content-digest", digest(data[:20000], algorithm)), complete=PIECE).get("location")
			wrong = append(c, location, 20000, data[20000:], ("content-digest", digest(data, algorithm)))
			assert wrong.status == 400
			assert offset_of(head(c, location)) == 20000, "content of a wrong digest is not appended"
			answer = append(c, location, 20000, data[20000:], ("content-digest", digest(data[20000:], algorithm)))
			assert answer.status in (201, 204)
			location = create(c, "b", data[:20000], ("repr-digest", digest(data, algorithm)),
				complete=PIECE).get("location")
			answer = append(c, location, 20000, b"other")
			assert (answer.status, answer.get("upload-complete")) == (400, "?1")
			assert head(c, location).status == 404
		assert create(c, "b", data, ("repr-digest", digest(b"other"))).status == 400
		assert create(c, "b", data, ("content-digest", digest(b"other"))).status == 400
	wait_over(server)
	assert [name for name in names(server) if not name.startswith(".")] == ["a"]
	assert parts(server) == []


def test_too_large(make, way):
	server = make(sections='limits { client-max-body-size = "100" }')
	with connect(server, way) as c:
		assert create(c, "a", b"x", ("upload-length", "101"), complete=PIECE).get("upload-limit").startswith("max-size=100,")
		location = create(c, "a", b"x" * 60, complete=PIECE).get("location")
		answer = append(c, location, 60, b"x" * 41)
		assert (answer.status, answer.get("upload-limit")) == (413, "max-size=100, max-age=86400")
		assert append(c, location, 60, b"x" * 40).status == 201
	assert content(server, "a") == b"x" * 100
	assert parts(server) == []


def test_quota(make, way):
	"""What came counts, of uploads that are not complete too; what is to be replaced does not."""
	server = make(server=PUBLIC + 'upload-quota = "100K"\n')
	with connect(server, way) as c:
		location = create(c, "a", b"x" * 50000, complete=PIECE).get("location")
		assert put(c, "b", b"x" * 60000).status == 507
		assert create(c, "b", b"x" * 100, ("upload-length", "60000"), complete=PIECE).status == 507
		assert append(c, location, 50000, b"x" * 40000).status == 201
		again = create(c, "a", b"y" * 50000, complete=PIECE).get("location")
		assert append(c, again, 50000, b"y" * 40000).status == 204
	assert content(server, "a") == b"y" * 90000


def test_quota_of_several_at_once(make, way):
	"""There are never more bytes than may be: who would bring more is refused, and only what a client was told stays."""
	server = make(server=PUBLIC + 'upload-quota = "1M"\n')

	def there():
		return sum(os.stat(os.path.join(folder(server), name)).st_size for name in parts(server))
	with connect(server, way) as c:
		location = create(c, "a", b"x" * 100, complete=PIECE).get("location")
	first = resumable.Open(server, way, "PATCH", location, [resumable.PARTIAL, PIECE, ("upload-offset", "100")], 900000)
	second, gone = begin(server, way, "b", 900000, complete=PIECE)
	first.send(b"x" * 500000)
	wait_for(lambda: there() == 500100)
	second.send(b"x" * 899999)
	assert second.early().status == 507
	assert ask(server, way, gone).status == 404
	wait_for(lambda: there() == 500100)
	third, other = begin(server, way, "c", 400000, complete=PIECE)
	third.send(b"x" * 399999)
	wait_for(lambda: there() == 900099)
	first.send(b"x" * 399999)
	assert first.early().status == 507
	wait_for(lambda: there() == 100 + 399999)
	assert offset_of(ask(server, way, location)) == 100
	third.send(b"x")
	assert third.finish().status == 201
	assert offset_of(ask(server, way, other)) == 400000
	for opened in first, second, third:
		opened.c.close()


def test_quota_of_empty_uploads(make):
	"""Each costs something, though nothing came of it."""
	server = make(server=PUBLIC + 'upload-quota = "40K"\n')
	with connect(server, "h2-tcp") as c:
		statuses = [create(c, "a", b"", complete=PIECE).status for _ in range(8)]
	assert statuses == 5 * [201] + 3 * [507]
	assert len(tickets(server)) == len(parts(server)) == 5


def test_full_disk(make, way):
	"""What was written before stays, for a client that comes back when there is room."""
	server = make(server=PUBLIC + 'upload-quota = "100K"\n')
	with connect(server, way) as c:
		put(c, "big", b"x" * 60000)
		location = create(c, "a", b"x" * 20000, complete=PIECE).get("location")
		assert append(c, location, 20000, b"x" * 30000).status == 507
		assert c.request("DELETE", "/files/big").status == 204
		assert append(c, location, 20000, b"x" * 30000).status == 201


# --- whose it is -------------------------------------------------------------------------------------------

USERS = 'upload-dir = "up"  location "/files" { auth-basic-file = "%s" }\n'


def test_users(make, tmp_path):
	"""Who began it goes on with it, and nobody else; without a password nobody does anything."""
	path = tmp_path / "users"
	path.write_text("ann:%s\nbob:%s\n" % (hashed("a"), hashed("b")))
	server = make(server=USERS % path)
	ann, bob = basic("ann", "a"), basic("bob", "b")
	with server.connect() as c:
		location = create(c, "a", b"12345", *ann, complete=PIECE).get("location")
		for method in ("HEAD", "DELETE"):
			assert c.request(method, location).status == 401
			assert c.request(method, location, bob).status == 404
		assert append(c, location, 5, b"6").status == 401
		assert append(c, location, 5, b"6", *bob).status == 404
		assert append(c, location, 5, b"6", *ann).status == 201
	assert content(server, "a") == b"123456"


def test_rules(make):
	"""Those of the file hold for its upload, by both of the file's paths."""
	rules = 'location "/files/%s" { deny = {"127.0.0.1"} }  location "/up/c" { deny = {"127.0.0.1"} }\n'
	server = make(server=PUBLIC + rules % "b")
	with server.connect() as c:
		locations = [create(c, name, b"12345", complete=PIECE).get("location") for name in "ad"]
		assert create(c, "b", b"1", complete=PIECE).status == create(c, "c", b"1", complete=PIECE).status == 403
		assert head(c, locations[0].replace("/a/", "/b/")).status == 403
		assert head(c, locations[0].replace("/a/", "/c/")).status == 403
	server.write_conf(server=PUBLIC + rules % "a")
	server.reload()
	with server.connect() as c:
		assert head(c, locations[0]).status == append(c, locations[0], 5, b"6").status == 403
		assert append(c, locations[1], 5, b"6").status == 201


# --- cut off -----------------------------------------------------------------------------------------------

def test_cut(make, way):
	"""At any byte: what the server had read is kept, and the rest makes it whole."""
	server = make(workers=2)
	chance = random.Random(66)
	lost = 0
	for i in range(10):
		size = chance.choice([1, 1000, 70000, 400000])
		data = chance.randbytes(size)
		opened, location = begin(server, way, "f%d" % i, size)
		sent = chance.randrange(size + 1) if size > 1 else 0
		opened.send(data[:sent])
		opened.cut(reset=chance.random() < 0.5)
		for _ in range(2):
			state = ask(server, way, location)
			at = offset_of(state)
			assert state.get("upload-complete") == "?0"
			assert state.get("upload-length") == str(size)
			assert at <= sent
			if chance.random() < 0.5 or at == size:
				break
			opened = resumable.Open(server, way, "PATCH", location, [resumable.PARTIAL, WHOLE,
				("upload-offset", str(at))], size - at)
			sent = chance.randrange(at, size)
			opened.send(data[at:sent])
			opened.cut()
		lost += sent - at
		answer = resumable.finish(server, way, location, data)
		assert answer.status == 201, answer
		assert answer.get("repr-digest") == digest(data)
		assert content(server, "f%d" % i) == data
	wait_over(server)
	assert parts(server) == []


def test_nothing_is_lost_by_an_end(make, way):
	"""A client that leaves in order is heard to its last byte."""
	server = make()
	data = os.urandom(300000)
	opened, location = begin(server, way, "a", 2 * len(data))
	opened.send(data)
	opened.cut(reset=False)
	wait_over(server)
	assert offset_of(ask(server, way, location)) == len(data)


@pytest.mark.parametrize("way", TWO_WAYS)
def test_slow(make, way):
	"""What a client brought that then sends nothing any more is kept, too: 408 is no end."""
	server = make(sections="timeouts { body = 1 }")
	opened, location = begin(server, way, "a", 1000)
	opened.send(b"x" * 500)
	with contextlib.closing(opened.c):
		answer = opened.c.response(opened.stream) if opened.is_h2 else opened.c.response()
		assert answer.status == 408
	wait_over(server)
	assert offset_of(ask(server, way, location)) == 500


def test_two_at_once(make):
	"""Who comes later has the upload: the one before is ended, in whatever worker it is."""
	server = make(workers=2, listens=("tcp",))
	server.baseline = None
	for round in range(8):
		way = WAYS[round % 2 * 2]
		name = "f%d" % round
		first, location = begin(server, way, name, 1000)
		first.send(b"1" * 100)
		wait_for(lambda: sum(os.path.getsize(os.path.join(folder(server), p)) for p in parts(server)) == 100,
			said="100 bytes came")
		second = resumable.Open(server, "h1-tcp", "PATCH", location, [resumable.PARTIAL, WHOLE,
			("upload-offset", "100")], 900)
		second.send(b"2" * 100)
		wait_for(lambda: sum(os.path.getsize(os.path.join(folder(server), p)) for p in parts(server)) == 200,
			said="100 more came")
		with contextlib.suppress(Closed, OSError):
			first.send(b"1" * 900)
			assert first.finish().status == 409
		first.cut()
		second.send(b"2" * 800)
		with contextlib.closing(second.c):
			assert second.finish().status == 201
		assert content(server, name) == b"1" * 100 + b"2" * 900
	assert parts(server) == []


def test_asked_meanwhile(make):
	"""An offset that was told stands: what the older request still sends is not appended."""
	server = make(workers=2, listens=("tcp",))
	opened, location = begin(server, "h2-tcp", "a", 1000)
	opened.send(b"1" * 100)
	wait_for(lambda: sum(os.path.getsize(os.path.join(folder(server), p)) for p in parts(server)) == 100,
		said="100 bytes came")
	assert offset_of(ask(server, "h1-tcp", location)) == 100
	opened.send(b"1" * 900)
	assert opened.finish().status == 409
	opened.c.close()
	assert offset_of(ask(server, "h1-tcp", location)) == 100
	assert resumable.finish(server, "h1-tcp", location, b"1" * 100 + b"2" * 900).status == 201
	assert content(server, "a") == b"1" * 100 + b"2" * 900


def test_cancelled_meanwhile(make, way):
	server = make()
	opened, location = begin(server, way, "a", 1000)
	with contextlib.closing(opened.c), connect(server, way) as c:
		opened.send(b"1" * 100)
		assert c.request("DELETE", location).status == 204
		opened.send(b"1" * 900)
		assert opened.finish().status == 409
	wait_over(server)
	assert names(server) == []


# --- deaths ------------------------------------------------------------------------------------------------


def kill_worker(server):
	pid = server.worker_pids()[0]
	os.kill(pid, signal.SIGKILL)
	wait_for(lambda: server.worker_pids() and server.worker_pids() != [pid], said="the next worker")


def reload(server):
	server.reload()


def restart(server):
	server.quit()
	server.start()
	server.baseline = None


DEATHS = [kill_worker, reload, restart]


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: death.__name__)
@pytest.mark.parametrize("way", TWO_WAYS)
def test_deaths(new, way, death):
	"""What was told by upload-offset is there after all of them."""
	server = new()
	data = os.urandom(600000)
	opened, location = begin(server, way, "a", len(data))
	opened.send(data[:200000])
	told = offset_of(ask(server, way, location))
	assert told <= 200000
	death(server)
	opened.cut()
	assert offset_of(ask(server, way, location)) == told
	opened = resumable.Open(server, way, "PATCH", location, [resumable.PARTIAL, WHOLE,
		("upload-offset", str(told))], len(data) - told)
	opened.send(data[told:told + 100000])
	death(server)
	opened.cut()
	assert told <= offset_of(ask(server, way, location)) <= told + 100000
	answer = resumable.finish(server, way, location, data)
	assert (answer.status, answer.get("repr-digest")) == (201, digest(data))
	death(server)
	server.baseline = None
	state = ask(server, way, location)
	assert (state.get("upload-complete"), offset_of(state)) == ("?1", len(data))
	assert content(server, "a") == data
	assert parts(server) == []


def test_killed_while_it_is_placed(new):
	"""By what is there: a ticket that says so, and no part, is an upload that is complete."""
	server = new(listens=("tcp",))
	data = os.urandom(100000)
	chance = random.Random(67)
	placed = 0
	for i in range(8):
		opened, location = begin(server, "h1-tcp", "f%d" % i, len(data))
		opened.send(data)
		time.sleep(chance.random() / 100)
		kill_worker(server)
		opened.cut()
		state = ask(server, "h1-tcp", location)
		if state.get("upload-complete") == "?1":
			placed += 1
		else:
			assert resumable.finish(server, "h1-tcp", location, data).status == 201
		assert content(server, "f%d" % i) == data
		if i == 4:
			server.reload()
	harness.REPORT.append("resumable: of 8 uploads %d were complete when their worker was killed" % placed)
	assert parts(server) == []


# --- the end of its time -----------------------------------------------------------------------------------


def age(server, name, seconds):
	path = os.path.join(folder(server), name)
	then = time.time() - seconds
	os.utime(path, (then, then))


def test_expires(make):
	"""While h2d runs, and not before the time is over."""
	server = make(server=PUBLIC + "resume-expires = 4\n")
	with server.connect() as c:
		old, new = (create(c, name, b"12345", complete=PIECE) for name in "ab")
		assert old.get("upload-limit").endswith("max-age=4")
		token = old.get("location")[-32:]
		for name in sorted(names(server), key=lambda name: token in name):
			with contextlib.suppress(FileNotFoundError):  # swept, as soon as it is old
				age(server, name, 10 if token in name else -3600)
		wait_for(lambda: len(names(server)) == 2, said="one of them is swept")
		assert head(c, old.get("location")).status == 404
		assert head(c, new.get("location")).status == 204


def test_expires_at_start(new):
	"""What is younger survives the sweep of a start; of what is complete little is kept, and not for long."""
	server = new(server=PUBLIC + "resume-expires = 3600\n")
	with server.connect() as c:
		locations = [create(c, name, b"12345", complete=PIECE).get("location") for name in "ab"]
		done = create(c, "c", b"12345").informed[0][1]["location"]
		lost = create(c, "d", b"12345", complete=PIECE).get("location")
	for name in names(server):
		if locations[0][-32:] in name:
			age(server, name, 3700)
		elif name != "c":
			age(server, name, 3500)
	os.unlink(os.path.join(folder(server), ".h2d-" + lost[-32:]))
	age(server, ".h2d-%s.part" % lost[-32:], 3700)
	restart(server)
	server.log.wait(r"removed \d+ left-over upload files")
	assert [ask(server, "h1-tcp", location).status for location in (*locations, done)] == [404, 204, 404]
	assert len(names(server)) == 3
	assert resumable.finish(server, "h1-tcp", locations[1], b"12345678").status == 201


def test_expires_by_the_longest(new):
	"""Of a folder that two servers have, by what either says."""
	server = new()
	other = 'server "other" { root = "%s"  resume-expires = 3600  %s }' % (server.root, PUBLIC)
	server.write_conf(server=PUBLIC + "resume-expires = 60\n", sections=other)
	server.reload()
	with server.connect() as c:
		young, old = (create(c, name, b"12345", complete=PIECE).get("location") for name in "ab")
	for name in names(server):
		age(server, name, 600 if young[-32:] in name else 3700)
	restart(server)
	server.log.wait(r"removed \d+ left-over upload files")
	assert [ask(server, "h1-tcp", location).status for location in (young, old)] == [204, 404]


# --- large ones --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", TWO_WAYS)
def test_progress(make, way):
	"""A client is told what the disk has, while it sends."""
	server = make()
	opened, location = begin(server, way, "a", 40 * MIB)
	piece = os.urandom(MIB)
	for _ in range(40):
		opened.send(piece)
	with contextlib.closing(opened.c):
		answer = opened.finish()
	offsets = [int(fields["upload-offset"]) for status, fields in answer.informed if "upload-offset" in fields]
	assert answer.status == 201
	assert len(offsets) >= 1 and offsets == sorted(set(offsets)) and all(16 * MIB <= n <= 40 * MIB for n in offsets)
	assert all("location" not in fields for _, fields in answer.informed[1:])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_large(new, way):
	size = SIZE * MIB
	server = new(sections='limits { client-max-body-size = "8G" }')
	chance = random.Random(way)
	block = os.urandom(MIB)

	def piece(at):
		"""Bytes from there to the end of their MiB; no MiB is like another."""
		return (b"%08d" % (at // MIB) + block[8:])[at % MIB:]
	right = hashlib.sha256()
	for i in range(SIZE):
		right.update(piece(i * MIB))
	points = sorted(chance.randrange(size) for _ in range(CUTS)) + [size]
	opened, location = begin(server, way, "large", size, ("want-repr-digest", "sha-256=1"))
	at, grown, resent, begun = 0, 0, 0, time.monotonic()
	for i, point in enumerate(points):
		pid = server.worker_pids()[0]
		before = most = procs.proportional_memory(pid)
		sent = at
		while sent < point:
			data = piece(sent)[:point - sent]
			opened.send(data)
			sent += len(data)
			most = max(most, procs.proportional_memory(pid))
		grown = max(grown, most - before)
		if point == size:
			break
		if i % 4 < 3:
			DEATHS[i % 4](server)
		opened.cut()
		server.baseline = None
		at = offset_of(ask(server, way, location))
		assert at <= sent
		resent += sent - at
		opened = resumable.Open(server, way, "PATCH", location, [resumable.PARTIAL, WHOLE,
			("upload-offset", str(at))], size - at)
	with contextlib.closing(opened.c):
		opened.c.timeout = 120
		answer = opened.finish()
	took = time.monotonic() - begun
	assert answer.status == 201
	assert answer.get("repr-digest") == digest_of(right)
	found = hashlib.sha256()
	with open(os.path.join(folder(server), "large"), "rb") as f:
		while data := f.read(MIB):
			found.update(data)
	assert found.digest() == right.digest()
	wait_over(server)
	harness.REPORT.append("resumable: %d MiB by %s, %d cuts, %.1f s, %.2f MiB sent again, PSS grew by %.2f MiB" % (
		SIZE, way, CUTS, took, resent / MIB, grown / MIB))
	assert srv.SANITIZED or grown < 17 * MIB


def digest_of(summed):
	import base64
	return "sha-256=:%s:" % base64.b64encode(summed.digest()).decode()
