"""Directories as a whole: what other programs read of the archives, any part of them, and what is not in them.

H2D_ARCHIVE_SIZE: MiB of the directory that curl takes with twenty cuts; the disk takes less than twice as much.
"""
import hashlib
import io
import os
import random
import re
import shutil
import subprocess
import tarfile
import zipfile
import zlib

import pytest
from h2.settings import SettingCodes

from procs import wait_for
from test_47_handlers import handlers  # noqa: F401 (fixture)
from users import basic, hashed, put_users

SIZE = int(os.environ.get("H2D_ARCHIVE_SIZE", "16"))
MIB = 1 << 20
WINDOW = SettingCodes.INITIAL_WINDOW_SIZE
ARCHIVE = 'archive = {"tar", "zip"}\n'
TAR, ZIP = "?archive=tar", "?archive=zip"
LONG = "/".join(["a long name of a directory %d" % i for i in range(9)])
CONTENTS = {
	"d/plain.txt": b"plain", "d/empty": b"", "d/large": random.Random(1).randbytes(5 << 20),
	"d/new\nline": b"line", "d/%s/file" % LONG: b"far", "d/%s" % ("x" * 200): b"long", "d/\u65e5\u672c\u8a9e/\u00fc": b"utf-8",
	"d/block": b"b" * 512, "d/quo\"te\\": b"quote",
}
DIRS = ["d/nothing", "d/deep/deeper"]


def old(server, name="d"):
	"""Its times are so far back that every change will show: the tag is strong."""
	for at, dirs, files in os.walk(os.path.join(server.root, name), topdown=False):
		for entry in dirs + files:
			path = os.path.join(at, entry)
			os.utime(path, (784111777, 784111777), follow_symlinks=False)
	os.utime(os.path.join(server.root, name), (784111777, 784111777))


@pytest.fixture
def make(h2d):
	def make(server=ARCHIVE, files=CONTENTS, dirs=DIRS, **options):
		server = h2d(server=server, files=files, **options)
		for name in dirs:
			os.makedirs(os.path.join(server.root, name))
		return server
	return make


def names_on_disk(server, top="d"):
	names = {top + "/"}
	for at, dirs, files in os.walk(os.path.join(server.root, top)):
		at = os.path.relpath(at, server.root)
		names |= {os.path.join(at, name) + "/" for name in dirs} | {os.path.join(at, name) for name in files}
	return names


def read_tar(body):
	"""{name: content, None of a directory}"""
	found = {}
	with tarfile.open(fileobj=io.BytesIO(body)) as tar:
		for member in tar:
			assert member.isdir() or member.isreg()
			found[member.name + "/" * member.isdir()] = tar.extractfile(member).read() if member.isreg() else None
	return found


def read_zip(body):
	with zipfile.ZipFile(io.BytesIO(body)) as z:
		assert z.testzip() is None
		return {i.filename: None if i.is_dir() else z.read(i) for i in z.infolist()}


def on_disk(server):
	return {name: None if name.endswith("/") else open(os.path.join(server.root, name), "rb").read() for name in names_on_disk(server)}


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_as_other_programs_read_it(make, connect, dispatch, tmp_path):
	server = make(dispatch=dispatch)
	with connect(server) as c:
		tar, packed = c.get("/d/" + TAR), c.get("/d/" + ZIP)
		for answer, kind, media_type in ((tar, "tar", "application/x-tar"), (packed, "zip", "application/zip")):
			assert answer.status == 200
			assert answer.get("content-type") == media_type
			assert answer.get("content-disposition") == "attachment; filename=\"d.%s\"; filename*=UTF-8''d.%s" % (kind, kind)
			assert int(answer.get("content-length")) == len(answer.body)
			assert answer.get("archive-left-out") is None
			head = c.request("HEAD", "/d/?archive=" + kind)
			for name in ("content-length", "etag", "content-type", "content-disposition", "accept-ranges"):
				assert head.get(name) == answer.get(name)
	assert read_tar(tar.body) == read_zip(packed.body) == on_disk(server)
	for name, body, list_names, extract in (("d.tar", tar.body, ["tar", "-tf"], ["tar", "-xf"]),
			("d.zip", packed.body, ["unzip", "-Z1"], ["unzip", "-q"])):
		path, out = tmp_path / name, tmp_path / ("out." + name)
		path.write_bytes(body)
		out.mkdir()
		assert len(subprocess.run(list_names + [path], check=True, stdout=subprocess.PIPE).stdout.splitlines()) >= len(on_disk(server))
		subprocess.run(extract + [path], check=True, cwd=out)
		if name == "d.tar": # unzip makes other names of a newline, as it should
			subprocess.run(["diff", "-r", os.path.join(server.root, "d"), out / "d"], check=True)


def test_times(make):
	server = make()
	old(server)
	with server.connect("tcp") as c:
		with tarfile.open(fileobj=io.BytesIO(c.get("/d/" + TAR).body)) as tar:
			assert {member.mtime for member in tar} == {784111777}
		with zipfile.ZipFile(io.BytesIO(c.get("/d/" + ZIP).body)) as z:
			assert {i.date_time for i in z.infolist()} == {(1994, 11, 6, 8, 49, 36)}


def cut_and_resumed(c, path, tag, size, times):
	"""The body, of so many pieces, each asked for as a client resumes."""
	cuts = sorted(random.Random(2).sample(range(1, size), times))
	body = b""
	for first, last in zip([0] + cuts, cuts + [size]):
		answer = c.get(path, [("range", "bytes=%d-%d" % (first, last - 1)), ("if-range", tag)])
		assert answer.status == 206 and answer.get("content-range") == "bytes %d-%d/%d" % (first, last - 1, size)
		body += answer.body
	return body


def settled(c, path):
	"""The tag, once it is strong: two seconds behind the last change, whose time cannot be set."""
	return wait_for(lambda: next((head for head in [c.request("HEAD", path)] if not head.get("etag").startswith("W/")), None))


def test_resumed(make, connect):
	server = make()
	with connect(server) as c:
		head = settled(c, "/d/" + TAR)
		tag, size = head.get("etag"), int(head.get("content-length"))
		whole = c.get("/d/" + TAR)
		assert whole.get("etag") == tag and whole.get("accept-ranges") == "bytes"
		assert cut_and_resumed(c, "/d/" + TAR, tag, size, 20) == whole.body
		several = c.get("/d/" + TAR, [("range", "bytes=0-99,5000-5999,-600")])
		assert several.status == 206 and whole.body[5000:6000] in several.body and whole.body[-600:] in several.body
		assert c.get("/d/" + TAR, [("if-none-match", tag)]).status == 304
		assert c.get("/d/" + TAR, [("if-match", '"other"')]).status == 412
		beyond = c.get("/d/" + TAR, [("range", "bytes=%d-" % size)])
		assert beyond.status == 416 and beyond.get("content-range") == "bytes */%d" % size
		packed = c.get("/d/" + ZIP, [("range", "bytes=0-9")])
		assert packed.status == 200 and packed.get("accept-ranges") == "none"
		server.write("d/more", "more")
		changed = c.get("/d/" + TAR, [("range", "bytes=0-9"), ("if-range", tag)])
		assert changed.status == 200 and changed.get("etag") != tag and "d/more" in read_tar(changed.body)


@pytest.fixture
def large(make, tmp_path):
	"""A server with a directory of SIZE MiB, most of them in one file, which is mostly holes; and the place of its archive."""
	server = make(files={**CONTENTS, **{"d/many/%04d" % i: random.Random(i).randbytes(i * 40) for i in range(200)}})
	for name, parts in (("d/most", SIZE * 9 // 10), ("d/rest", SIZE // 10)):
		with open(os.path.join(server.root, name), "wb") as f:
			for i in range(parts):
				f.seek(i * MIB)
				f.write(random.Random(i).randbytes(MIB if i % 10 == 0 else 4096))
			f.truncate(parts * MIB)
	old(server) # whole seconds: a tar has no others
	yield server, str(tmp_path / "archive")
	shutil.rmtree(os.path.join(server.root, "d"))
	os.unlink(tmp_path / "archive")


def take(server, query, path, *options, size=None):
	"""curl adds to the file what comes, or loses its reader after size bytes; returns the head."""
	with open(path, "ab") as f, subprocess.Popen(["curl", "-qsSf", "-D", path + ".head", *options, server.url(path="/d/" + query)],
			stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as curl:
		end = f.tell() + size if size is not None else 1 << 62
		while piece := curl.stdout.read(min(MIB, end - f.tell())):
			f.write(piece)
		curl.stdout.close()
	assert size is not None or curl.returncode == 0
	with open(path + ".head") as f:
		return f.read().lower()


def test_taken_with_twenty_cuts(large):
	server, path = large
	with server.connect("tcp") as c:
		head = settled(c, "/d/" + TAR)
	tag, size = head.get("etag"), int(head.get("content-length"))
	cuts = sorted(random.Random(3).sample(range(1, size), 20))
	for first, last in zip([0] + cuts, cuts + [None]):
		head = take(server, TAR, path, "-r", "%d-" % first, "-H", "if-range: " + tag, size=last and last - first)
		assert "content-range: bytes %d-%d/%d\n" % (first, size - 1, size) in head
	assert os.path.getsize(path) == size
	differs = subprocess.run(["tar", "-df", path, "-C", server.root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
	assert [line for line in differs.splitlines() if not re.search(b": (Mode|Uid|Gid) differs$", line)] == []
	with tarfile.open(path) as tar:
		assert {member.name + "/" * member.isdir() for member in tar} == names_on_disk(server)


def checked(path):
	"""(bytes, CRC-32) of that file; of a directory it has none."""
	size = crc = 0
	if not path.endswith("/"):
		with open(path, "rb") as f:
			while piece := f.read(MIB):
				size, crc = size + len(piece), zlib.crc32(piece, crc)
	return size, crc


def test_large_zip(large):
	server, path = large
	take(server, ZIP, path)
	with zipfile.ZipFile(path) as z:
		assert z.testzip() is None
		assert {i.filename: (i.file_size, i.CRC) for i in z.infolist()} == \
			{name: checked(os.path.join(server.root, name)) for name in names_on_disk(server)}
	for command in (["unzip", "-tqq"], ["7z", "t", "-bd"]):
		if command[0] == "unzip" or shutil.which(command[0]):
			subprocess.run(command + [path], check=True, stdout=subprocess.DEVNULL)


def test_larger_than_old_numbers(make, connect):
	"""A file of 9 GiB that is none on the disk: heads and ends are where they must be, without all between."""
	server = make(files={"d/after": "after"}, dirs=())
	with open(os.path.join(server.root, "d/Sparse"), "wb") as f:
		f.truncate(9 << 30)
		f.seek((9 << 30) - 4)
		f.write(b"last")
	with connect(server) as c:
		head = c.request("HEAD", "/d/" + TAR)
		size = int(head.get("content-length"))
		assert size == 512 + 3 * 512 + (9 << 30) + 2 * 512 + 1024
		begin = c.get("/d/" + TAR, [("range", "bytes=0-2047")]).body
		assert b"size=9663676416\n" in begin
		end = c.get("/d/" + TAR, [("range", "bytes=%d-" % (2044 + (9 << 30)))]).body
		assert end.startswith(b"lastd/after\0") and b"after" in end[516:]
		packed = c.request("HEAD", "/d/" + ZIP)
		assert int(packed.get("content-length")) > 9 << 30


def test_what_the_client_may_not_read(make, connect, tmp_path):
	(tmp_path / "moved").write_text("/d/moved /new\n")
	(tmp_path / "users").write_text("anna:$6$salt$" + "x" * 86 + "\n")
	server = make(server=ARCHIVE + """hide = {"*.bak"}
		location "/d/closed/" { deny = {"all"} }
		location "/d/secret" { auth-basic-file = "%s" }
		location "/d/unlisted/" { archive = {} }
		location "/d/gone/" { return = 410 }
		location "/d/elsewhere/" { redirect = "/d/" }
		redirect-file = "%s" """ % (tmp_path / "users", tmp_path / "moved"), files={
			"d/seen": "seen", "d/closed/x": "x", "d/secret": "s", "d/secret.gz": "s", "d/unlisted/x": "x", "d/gone/x": "x",
			"d/elsewhere/x": "x", "d/.dot": "x", "d/.git/x": "x", "d/a.bak": "x", "d/c.bak/x": "x", "d/.well-known/x": "w", "d/moved": "x"},
			dirs=())
	with connect(server) as c:
		tar, packed = c.get("/d/" + TAR), c.get("/d/" + ZIP)
		wanted = {"d/": None, "d/seen": b"seen", "d/.well-known/": None, "d/.well-known/x": b"w"}
		assert read_tar(tar.body) == read_zip(packed.body) == wanted
		assert tar.get("archive-left-out") == packed.get("archive-left-out") == "7"
		assert zipfile.ZipFile(io.BytesIO(packed.body)).comment == b"archive-left-out: 7"
		assert "no-cache" in tar.get("cache-control") and "private" in tar.get("cache-control"), "others may have less"
		assert c.get("/%s/%s" % ("x" * 5000, TAR)).status == 404
		assert c.get("/d/closed/" + TAR).status == 403
		assert c.get("/d/unlisted/" + TAR).status == 404, "the query means nothing there"


def test_paths_of_routes(handlers):  # noqa: F811
	server = handlers(server=ARCHIVE, files={"t/duplex/start": "a handler answers instead", "t/x": "x"})
	with server.connect() as c:
		tar = c.get("/t/" + TAR)
		assert set(read_tar(tar.body)) == {"t/", "t/duplex/", "t/x"} and tar.get("archive-left-out") == "1"


def test_passwords(make, connect):
	"""The password that opened the directory opens no location with other users."""
	server = make(files={"d/x": "x", "d/same/x": "same", "d/other/x": "other"}, dirs=())
	one, two = put_users(server, "one", anna=hashed("pass")), put_users(server, "two", anna=hashed("pass"))
	server.write_conf(server=ARCHIVE + """location "/d/" { auth-basic-file = "%s" }
		location "/d/same/" { auth-basic-file = "%s" }
		location "/d/other/" { auth-basic-file = "%s" }""" % (one, one, two))
	server.reload()
	with connect(server) as c:
		assert c.get("/d/" + TAR).status == 401
		assert set(read_tar(c.get("/d/" + TAR, basic("anna", "pass")).body)) == {"d/", "d/x", "d/same/", "d/same/x"}
		assert c.get("/" + TAR).get("archive-left-out") == "1", "without a password, nothing of it"


@pytest.mark.skipif(os.getuid() != 0, reason="a worker that may read all")
def test_unreadable(make):
	server = make(conf='user = "nobody"', files={"d/a": "a", "d/b": "b", "d/e/x": "x"}, dirs=())
	os.chmod(os.path.join(server.root, "d/b"), 0)
	os.chmod(os.path.join(server.root, "d/e"), 0o711)
	with server.connect("tcp") as c:
		answer = c.get("/d/" + TAR)
		assert read_tar(answer.body) == {"d/": None, "d/a": b"a"} and answer.get("archive-left-out") == "2"


@pytest.mark.parametrize("links, found", [("none", set()), ("inside", {"d/in", "d/folder/", "d/folder/x"}),
	("all", {"d/in", "d/folder/", "d/folder/x", "d/out"})])
def test_links(make, tmp_path, links, found):
	(tmp_path / "out").write_text("outside")
	server = make(server=ARCHIVE + "follow-links = " + links, files={"d/x": "x", "e/x": "x"}, dirs=())
	for name, to in (("in", "x"), ("folder", "../e"), ("out", tmp_path / "out"), ("circle", "."), ("broken", "nowhere")):
		os.symlink(to, os.path.join(server.root, "d", name))
	with server.connect("tcp") as c:
		answer = c.get("/d/" + TAR)
		assert set(read_tar(answer.body)) == {"d/", "d/x"} | found
		assert answer.get("archive-left-out") == (None if links == "none" else "1"), "the circle"


def test_where_it_is_configured(make, connect):
	server = make(server='autoindex = true  location "/d/" { archive = {"zip"} }', files={"d/x": "x", "e/x": "x", "d/i/index.html": "i"}, dirs=())
	with connect(server) as c:
		assert c.get("/d/" + ZIP).get("content-type") == "application/zip"
		assert c.get("/d/" + TAR).get("content-type").startswith("text/html")
		assert c.get("/e/" + ZIP).get("content-type").startswith("text/html")
		assert b'href="?archive=zip"' in c.get("/d/").body and b"archive=tar" not in c.get("/d/").body
		assert b"archive" not in c.get("/e/").body
		assert set(read_zip(c.get("/d/i/" + ZIP).body)) == {"i/", "i/index.html"}, "with its index file, not instead of it"
		assert c.get("/d" + ZIP).get("location").endswith("/d/" + ZIP)
		assert c.get("/d/none/" + ZIP).status == 404
		assert c.get("/d/x" + ZIP).body == b"x"


@pytest.mark.parametrize("change", ["shrinks", "is edited", "is removed", "is replaced"])
def test_changes_under_it(make, how, change):
	server = make(files={"d/a": os.urandom(3 << 20), "d/b": "b" * 1000, "small": "small"}, dirs=())
	path = os.path.join(server.root, "d/b")
	c = server.connect(how, settings={WINDOW: 100000}, credit=False)
	c.window(1 << 24)
	stream = c.send(path="/d/" + TAR)
	c.until(lambda: c.responses[stream].size == 100000)
	if change == "is removed":
		os.unlink(path)
	elif change == "is replaced":
		server.write("new", "c" * 1000)
		os.rename(os.path.join(server.root, "new"), path)
	elif change == "shrinks":
		os.truncate(path, 999)
	else:
		with open(path, "r+b") as f:
			f.write(b"edited")
	c.window(1 << 24, stream)
	answer = c.response(stream)
	assert answer.reset is not None and not answer.ended, answer
	assert c.get("/small").body == b"small", "only that stream ended"
	c.close()


def test_too_deep_and_too_many(make):
	server = make(files={"d/" + "s/" * 70 + "x": "x"}, dirs=())
	with server.connect("tcp") as c:
		assert c.get("/d/" + TAR).status == 403
		server.log.wait("archive /d/: too many files or directories")


def test_many_files_and_slow_readers(make):
	"""Twenty thousand files: lists are shared, and slow readers of them cost no more memory than one."""
	server = make(files={"d/%02d/a file of many, %05d" % (i % 50, i): "%d" % i for i in range(20000)}, dirs=(), workers=1)
	with server.connect("tcp", settings={WINDOW: 65535}, credit=False) as c, server.connect("tcp") as other:
		streams = [c.send(path="/d/" + TAR) for _ in range(30)]
		c.until(lambda: all(c.responses[stream].status == 200 for stream in streams))
		assert server.gauges()["listing_bytes"] < 8 << 20
		body = other.get("/d/" + TAR).body
		assert hashlib.sha256(b"".join(sorted(v for v in read_tar(body).values() if v))).digest() == \
			hashlib.sha256(b"".join(sorted(b"%d" % i for i in range(20000)))).digest()
		assert other.get("/d/00/" + ZIP).status == 200
