"""Entity tags of files beyond cache.max-file-size: of size and time, weak for two seconds behind a change; nothing is read for them."""
import os
import re
import threading
import time

import pytest

from procs import together, wait_for
from uploads import PUBLIC, connect, digest, put, tag_of_content, tag_of_file

LONG = (2 << 20) + 1  # one byte more than cache.max-file-size
WANT = ("want-repr-digest", "sha-256=5")


def hashed(server):
	return server.status()["totals"]["files_hashed"]


def changed_now(c, path, headers):
	"""The answer, if it took less than a second from a change of all but content and its time."""
	begun = time.monotonic()
	os.chmod(path, 0o644)
	answer = c.get("/f", headers=headers)
	return answer if time.monotonic() - begun < 1 else None


@pytest.mark.parametrize("source", ["", "cache { max-size = 0 }"], ids=["image", "no image"])
def test_size_and_time(h2d, source):
	"""All workers, reloads and other machines say the same, if the file has the same time there."""
	data = os.urandom(5 << 20)
	server = h2d(workers=2, sections=source, files={"f": b""})
	other = h2d.new(files={"elsewhere": data})
	path = server.path("www", "f")
	with server.connect() as c:
		server.write("f", data)
		tag = tag_of_file(path)
		wait_for(lambda: tag in (c.request("HEAD", "/f").get("etag") or ""), said="the new file")
		for status, *headers in ((200,), (206, ("range", "bytes=0-9")), (304, ("if-none-match", "W/" + tag)), (304, ("if-none-match", tag)),
				(412, ("if-match", "W/" + tag)), (412, ("if-match", tag)),
				(200, ("if-range", "W/" + tag), ("range", "bytes=0-9")), (200, ("if-range", tag), ("range", "bytes=0-9"))):
			answer = wait_for(lambda: changed_now(c, path, headers), said="an answer within a second of a change")
			assert (answer.status, answer.get("etag")) == (status, None if status == 412 else "W/" + tag)
		server.wait_tagged("/f")
		for status, *headers in ((304, ("if-none-match", tag)), (412, ("if-match", '"other"')), (200, ("if-match", tag)),
				(206, ("if-range", tag), ("range", "bytes=0-9")), (200, ("if-range", "W/" + tag), ("range", "bytes=0-9"))):
			assert c.get("/f", headers=headers).status == status
	st = os.stat(path)
	os.utime(other.path("www", "elsewhere"), ns=(st.st_mtime_ns, st.st_mtime_ns))
	other.start()
	with other.wait_tagged("/elsewhere").h1() as c:
		assert c.request("HEAD", "/elsewhere").get("etag") == tag
	server.reload()
	for _ in range(8):
		with server.connect() as c:
			assert c.request("HEAD", "/f").get("etag") == tag
	assert hashed(server) == 0


def make(h2d):
	server = h2d(server=PUBLIC, workers=2, files={"up/.keep": b""})
	os.unlink(os.path.join(server.root, "up", ".keep"))
	return server


def test_two_uploads_at_once(h2d):
	"""Of equal length, to one name, in one tick of the kernel's clock: neither is told a tag, and none that lets it write is the other's."""
	server = make(h2d)
	both = threading.Barrier(2)
	datas = [b"a" * LONG, b"b" * LONG]
	told = [None, None]

	def upload(i, headers):
		with server.connect() as c:
			both.wait(60)
			told[i] = put(c, "f", datas[i], headers)
	for headers in [()] * 4 + [[WANT]] * 4:
		together(2, lambda i: upload(i, headers))
		assert {answer.status for answer in told} <= {201, 204}
		assert [answer.get("etag") for answer in told] == [None, None]
		assert [answer.get("repr-digest") for answer in told] == [digest(d) if headers else None for d in datas]
		with server.connect() as c:
			there = c.get("/files/f")
			assert re.fullmatch('(W/)?"[0-9a-f]+-[0-9a-f]+"', there.get("etag"))
			for tag in (*map(tag_of_content, datas), "W/" + there.get("etag").replace("W/", "")):
				for method in ("PUT", "DELETE"):
					assert c.request(method, "/files/f", [("if-match", tag)], b"x" if method == "PUT" else None).status == 412


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tls"])
def test_condition_of_a_long_file(h2d, way):
	"""It holds once the tag is strong."""
	server = make(h2d)
	data = os.urandom(LONG)
	with connect(server, way) as c:
		assert put(c, "f", data).get("etag") is None
		assert put(c, "f", b"x", [("if-none-match", tag_of_file(server.path("www", "up", "f")))]).status == 412
		server.wait_tagged("/files/f")
		tag = c.request("HEAD", "/files/f").get("etag")
		assert tag == tag_of_file(server.path("www", "up", "f"))
		assert put(c, "f", b"x", [("if-match", '"other"')]).status == 412
		assert put(c, "f", data, [("if-match", tag), WANT]).get("repr-digest") == digest(data)
		server.wait_tagged("/files/f")
		assert c.request("DELETE", "/files/f", [("if-match", tag)]).status == 412
		assert c.request("DELETE", "/files/f", [("if-match", c.request("HEAD", "/files/f").get("etag"))]).status == 204


def test_what_goes_on_changing(h2d):
	"""A file that is appended to comes as long as it was: a short one with the tag of that or none, a long one with a weak one."""
	data = os.urandom(1 << 20)
	server = h2d(sections="cache { max-size = 0 }", files={"short": data, "long": data * 3})
	with server.connect() as c:
		for name in ("short", "long"):
			want = data * (1 if name == "short" else 3)
			for i in range(30):
				with open(os.path.join(server.root, name), "ab") as f:
					f.write(b"%d\n" % i)
				begun = time.monotonic()
				want += b"%d\n" % i
				answer = c.get("/" + name)
				assert answer.body == want
				weak = ["W/" + tag_of_file(server.path("www", name))]
				late = [weak[0][2:]] if time.monotonic() - begun > 1 else []
				assert answer.get("etag") in (weak + late if name == "long" else [None, tag_of_content(want)])
