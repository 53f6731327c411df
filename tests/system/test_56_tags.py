"""Entity tags of long files: of the content, the same on every machine, made behind a response and remembered."""
import base64
import hashlib
import os
import threading
import time

import pytest

from procs import wait_for
from uploads import PUBLIC, connect, digest, put

LONG = (2 << 20) + 1  # one byte more than cache.max-file-size
WANT = ("want-repr-digest", "sha-256=5")


def tag(data):
	return '"{%s}"' % base64.urlsafe_b64encode(hashlib.sha256(data).digest()[:9]).decode()


def hashed(server):
	return server.status()["totals"]["files_hashed"]


@pytest.mark.parametrize("source", ["", "cache { max-size = 0 }"], ids=["image", "no image"])
def test_content_is_the_tag(h2d, source):
	"""Nothing is promised of it at first; then all workers, reloads and other machines say the same."""
	data = os.urandom(5 << 20)
	server = h2d(workers=2, sections=source, files={"f": data})
	other = h2d(files={"elsewhere": data})
	with server.connect() as c:
		first = c.get("/f")
		assert first.get("etag") is None and first.get("last-modified")
		assert c.get("/f", headers=[("if-range", tag(data)), ("range", "bytes=0-9")]).status == 200
		server.wait_tagged("/f")
		assert c.request("HEAD", "/f").get("etag") == tag(data)
		for status, *headers in ((304, ("if-none-match", tag(data))), (412, ("if-match", '"other"')),
				(206, ("if-range", tag(data)), ("range", "bytes=0-9"))):
			assert c.get("/f", headers=headers).status == status
	with other.wait_tagged("/elsewhere").h1() as c:
		assert c.request("HEAD", "/elsewhere").get("etag") == tag(data)
	assert hashed(server) == 1, "by one worker for all"
	for _ in range(2):
		server.reload()
		for _ in range(8):
			with server.connect() as c:
				assert c.request("HEAD", "/f").get("etag") == tag(data)
	assert hashed(server) == 1, "by the workers of before for these"
	server.write("f", data[:-1])
	with server.connect() as c:
		assert c.request("HEAD", "/f").get("etag") is None
		server.wait_tagged("/f")
		assert c.request("HEAD", "/f").get("etag") == tag(data[:-1])


def make(h2d):
	server = h2d(server=PUBLIC, workers=2, files={"up/.keep": b""})
	os.unlink(os.path.join(server.root, "up", ".keep"))
	return server


def test_two_uploads_at_once(h2d):
	"""Of equal length, to one name, in one tick of the kernel's clock: what one of them was told is not the other's."""
	server = make(h2d)
	both = threading.Barrier(2)
	datas = [b"a" * LONG, b"b" * LONG]
	told = [None, None]

	def upload(i, headers):
		with server.connect() as c:
			both.wait(60)
			told[i] = put(c, "f", datas[i], headers)
	for headers in [()] * 4 + [[WANT]] * 4:
		threads = [threading.Thread(target=upload, args=(i, headers)) for i in (0, 1)]
		for t in threads:
			t.start()
		for t in threads:
			t.join()
		assert {answer.status for answer in told} <= {201, 204}
		assert [answer.get("etag") for answer in told] == ([tag(d) for d in datas] if headers else [None, None])
		with server.connect() as c:
			there = c.get("/files/f")
			assert there.get("etag") in (None, tag(there.body))
			wrong = tag(datas[1 if there.body == datas[0] else 0])
			for method in ("PUT", "DELETE"):
				assert c.request(method, "/files/f", [("if-match", wrong)], b"x" if method == "PUT" else None).status == 412


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tls"])
def test_condition_of_a_long_file(h2d, way):
	"""Nobody has read it: it is hashed for the condition."""
	server = make(h2d)
	data = os.urandom(LONG)
	with connect(server, way) as c:
		assert put(c, "f", data).get("etag") is None
		assert put(c, "f", b"x", [("if-match", tag(data[1:]))]).status == 412
		assert put(c, "f", data, [("if-match", tag(data)), WANT]).get("repr-digest") == digest(data)
		assert c.request("DELETE", "/files/f", [("if-match", tag(data))]).status == 204


def test_what_goes_on_changing_is_not_hashed(h2d):
	"""A hash for each of the first states, then one in two seconds at most; no answer waits for it."""
	data = os.urandom(1 << 20)
	server = h2d(sections="cache { max-size = 0 }", files={"short": data, "long": data * 3})
	begun = time.monotonic()
	with server.connect() as c:
		for name in ("short", "long"):
			want = data * (1 if name == "short" else 3)
			for i in range(30):
				with open(os.path.join(server.root, name), "ab") as f:
					f.write(b"%d\n" % i)
				want += b"%d\n" % i
				answer = c.get("/" + name)
				assert answer.body == want
				assert answer.get("etag") in ([None] if name == "long" else [None, tag(want)])
	wait_for(lambda: hashed(server), said="a hash")
	assert hashed(server) <= 4 + (time.monotonic() - begun) / 2
