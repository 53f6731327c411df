"""The document root: what is found, what is refused, and with which fields."""
import ctypes
import os
import re
import socket

import pytest
from h2.settings import SettingCodes

import procs

WINDOW = SettingCodes.INITIAL_WINDOW_SIZE
NO_CACHE = "cache { max-size = 0 }"


@pytest.fixture(params=["image", "disk"])
def source(request):
	"""Where files come from."""
	return request.param


@pytest.fixture
def make(h2d, source):
	"""A server that answers from the image, or one without an image."""
	def make(**options):
		if source == "disk":
			return h2d(sections=NO_CACHE, **options)
		return h2d(image=True, **options)
	return make


TYPES = {
	"a.html": "text/html; charset=utf-8", "a.HTML": "text/html; charset=utf-8",
	"a.css": "text/css; charset=utf-8",
	"a.js": "text/javascript; charset=utf-8", "a.txt": "text/plain; charset=utf-8",
	"a.json": "application/json",
	"a.png": "image/png", "a.jpg": "image/jpeg", "a.svg": "image/svg+xml", "a.gif": "image/gif",
	"a.pdf": "application/pdf", "a.woff2": "font/woff2", "a.wasm": "application/wasm",
	"a.mp4": "video/mp4",
	"a.ico": None, "a.gz": "application/gzip", "a.unknown": "application/octet-stream",
	"noextension": "application/octet-stream", "a.": "application/octet-stream",
	"a.b/c": "application/octet-stream", "a.tar.zip": "application/zip",
}


def test_types(make):
	server = make(files={name: b"x" for name in TYPES})
	with server.connect("tcp") as c:
		for name, wanted in TYPES.items():
			answer = c.get("/" + name)
			assert answer.status == 200, name
			got = answer.get("content-type")
			assert got and "(null)" not in got, name
			if wanted:
				assert got == wanted, name


def test_index(make):
	server = make(server='index = {"first.html", "second.html"}', files={"second.html": "root",
		"a/first.html": "a1", "a/second.html": "a2", "b/second.html": "b2",
		"c/other.html": "c",
		"d/first.html/second.html": "x", "d/second.html": "d2"})
	with server.connect("tcp") as c:
		assert c.get("/").body == b"root"
		assert c.get("/a/").body == b"a1"
		assert c.get("/b/").body == b"b2"
		assert c.get("/b/").get("content-type") == "text/html; charset=utf-8"
		assert c.get("/b/?query").body == b"b2"
		none = c.get("/c/")
		assert none.status in (403, 404) and b"other" not in none.body
		assert c.get("/nothing/").status == 404
		assert c.get("/b/second.html/").status == 404, "a file is no folder"
		assert c.get("/b/second.html/x").status == 404


def test_folder_redirects(make):
	server = make(files={"dir/index.html": "x", "a b/index.html": "x", "ü/index.html": "x",
		"d/e/f": "x",
		"per%cent?/index.html": "x"})
	with server.connect("tcp") as c:
		for path, wanted in (("/dir", "/dir/"), ("/dir?x=1&y=%2f", "/dir/?x=1&y=%2f"),
				("/dir?", None),
				("/a%20b", "/a%20b/"), ("/%c3%bc", None), ("//dir", "/dir/"),
				("/./d/../dir", "/dir/"),
				("/d/e", "/d/e/"), ("/per%25cent%3f", None)):
			answer = c.get(path)
			assert answer.status == 301, path
			location = answer.get("location")
			assert location.startswith("/") and not location.startswith("//"), path
			if wanted:
				assert location == wanted
			assert c.get(location).status in (200, 403, 404)
		for path in ("/%c3%bc", "/per%25cent%3f"):
			assert c.get(c.get(path).get("location")).status == 200


def test_no_open_redirect(make):
	server = make(files={"evil.example/index.html": "x"})
	with server.connect("tcp") as c:
		for path in ("//evil.example", "///evil.example", "/.//evil.example",
				"/%2e//evil.example"):
			answer = c.get(path)
			assert answer.status in (301, 400, 404)
			assert not (answer.get("location") or "/x").startswith(("//", "/\\"))


# --- conditions ---------------------------------------------------------------------------------

SIZES = [0, 1, 611, 612, 4096, 16384, 16385, 65536, 100000, (1 << 20) + 7, 2 << 20, (2 << 20) + 1,
	5 << 20]


def test_etag_is_the_same_from_image_and_disk(h2d):
	files = {"f%d.bin" % size: os.urandom(size) for size in SIZES}
	files["same-content"] = files["f612.bin"]
	image = h2d(image=True, files=files)
	disk = h2d(root=image.root, sections=NO_CACHE, workers=2)
	assert disk.status()["image"] == 0
	seen = {}
	for server in image, disk:
		server.wait_tagged(*("/" + name for name in files))
	with image.connect("tcp") as a, disk.connect("tls") as b:
		for name, body in files.items():
			one, two = a.get("/" + name), b.get("/" + name)
			assert one.body == two.body == body
			drop = lambda answer: [f for f in answer.headers if f[0] != "date"]
			assert drop(one) == drop(two)
			seen[name] = one.get("etag")
	assert image.status()["totals"]["cache_hits"] > 0
	assert disk.status()["totals"]["cache_hits"] == 0
	assert seen["same-content"] == seen["f612.bin"], "the hash of the content, nothing else"
	assert len(set(seen.values())) == len(files) - 1


def test_etag_follows_the_content_on_disk(h2d):
	server = h2d(sections=NO_CACHE, files={"a": b"one"})
	server.allow_fault("the same etag had other fields: .*last-modified",
		"it is written twice, perhaps in different seconds")
	with server.connect("tcp") as c:
		first = c.get("/a").get("etag")
		assert c.get("/a").get("etag") == first
		server.write("a", b"two")
		second = c.get("/a")
		assert second.body == b"two" and second.get("etag") != first
		server.write("a.new", b"one")
		os.rename(os.path.join(server.root, "a.new"), os.path.join(server.root, "a"))
		assert c.get("/a").get("etag") == first


# --- what is refused ----------------------------------------------------------------------------

def test_traversal(make):
	server = make(files={"a/b": "b", "passwd": "mine"})
	with open(server.path("secret"), "w") as f:
		f.write("secret")
	with server.connect("tcp") as c:
		for path in ("/../secret", "/..", "/../", "/a/../../secret", "/%2e%2e/secret",
				"/%2E./secret", "/.%2e/secret",
				"/a/%2e%2e/%2e%2e/secret", "/..%2fsecret", "/a%2f..%2f..%2fsecret",
				"/%2fetc/passwd", "/x%00",
				"/%00", "/a/b%00.html", "/%", "/%f", "/%g0"):
			answer = c.get(path)
			assert answer.status == 400, path
			assert b"secret" not in answer.body
		for path in ("//etc/passwd", "/etc/passwd", "///etc//passwd", "/..a", "/...",
				"/a/...", "/%5c..%5csecret",
				"/..%5csecret", "/%252e%252e/secret", "/" + "a/" * 500, "/"
				+ "x" * 255, "/" + "x" * 256,
				"/" + "x" * 5000):
			answer = c.get(path)
			assert answer.status in (404, 414), path
		assert c.get("/a%2fb").body == b"b", "nothing depends on it"
		assert c.get("//passwd").body == b"mine", "empty segments vanish"
		assert c.get("/a/./../a//b").body == b"b"
		assert c.get("/a/c/../b").body == b"b"


def test_links(make):
	server = make(files={"real/file": "content", "real/index.html": "index"})
	with open(server.path("secret"), "w") as f:
		f.write("secret")
	os.mkdir(server.path("outside"))
	with open(server.path("outside", "index.html"), "w") as f:
		f.write("secret")
	root = server.root
	for name, target in {"inside": "real/file", "up-and-in": "../www/real/file",
			"chain": "inside", "folder": "real",
			"leaves": "../secret", "leaves-folder": "../outside",
			"absolute-out": "/etc/passwd",
			"absolute-in": root + "/real/file", "absolute-folder": root + "/real",
			"dangling": "nothing",
			"loop": "loop", "via": "leaves", "proc": "/proc/self/environ",
			"real/up": "../real/file"}.items():
		os.symlink(target, os.path.join(root, name))
	reload_image(server)
	with server.connect("tcp") as c:
		for name in ("inside", "chain", "folder/file", "real/up"):
			assert c.get("/" + name).body == b"content", name
		assert c.get("/folder/").body == b"index"
		assert c.get("/folder").status == 301
		for name in ("leaves", "leaves-folder", "leaves-folder/",
				"leaves-folder/index.html", "absolute-out", "absolute-in",
				"absolute-folder/", "absolute-folder/file", "dangling", "loop",
				"loop/x", "via", "proc", "up-and-in"):
			answer = c.get("/" + name)
			assert answer.status == 404, name
			assert b"secret" not in answer.body


def reload_image(server):
	"""Files changed after the start: a server with an image reads them anew."""
	before = server.status()
	if before["image"]:
		server.reload()
		server.wait_up(before["generation"] + 1)
		server.wait_image(before["image"])


def test_other_kinds_of_files(make):
	server = make(files={"plain": "x"})
	os.mkfifo(os.path.join(server.root, "fifo"))
	listener = socket.socket(socket.AF_UNIX)
	listener.bind(os.path.join(server.root, "socket"))
	names = ["fifo", "socket"]
	if os.geteuid() == 0:
		try:
			os.mknod(os.path.join(server.root, "zero"), 0o20666, os.makedev(1, 5))
			names.append("zero")
		except PermissionError:
			pass
	reload_image(server)
	with server.connect("tcp") as c:
		for name in names:
			answer = c.get("/" + name)
			assert answer.status in (403, 404), name
		assert c.get("/plain").body == b"x"
	listener.close()


def watch_opens(path):
	"""An inotify descriptor that is readable once the file was opened (but not by O_PATH)."""
	libc = ctypes.CDLL(None, use_errno=True)
	fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
	assert libc.inotify_add_watch(fd, os.fsencode(path), 0x20) >= 0, os.strerror(ctypes.get_errno())  # IN_OPEN
	return fd


def test_only_regular_files_are_opened(make):
	"""Opening a FIFO lets its writer go on, who then dies of SIGPIPE; opening a device may do anything."""
	server = make(files={"plain": "x"})
	path = os.path.join(server.root, "fifo")
	os.mkfifo(path)
	fifo = watch_opens(path)
	with server.connect("tcp") as c:
		for _ in range(3):
			assert c.get("/fifo").status == 404
		assert c.get("/plain").body == b"x"
	with pytest.raises(BlockingIOError):
		os.read(fifo, 4096)
	os.close(fifo)


def test_unreadable(make):
	options = {"conf": 'user = "nobody"'} if os.geteuid() == 0 else {}
	server = make(files={"secret": "secret", "dir/x": "secret", "open": "open"}, **options)
	os.chmod(os.path.join(server.root, "secret"), 0)
	os.chmod(os.path.join(server.root, "dir"), 0)
	reload_image(server)
	with server.connect("tcp") as c:
		assert c.get("/open").body == b"open"
		answer = c.get("/secret")
		assert answer.status == 403 and answer.body != b"secret"
		server.log.wait(r"info .*secret: Permission denied")
		assert c.get("/dir/x").status in (403, 404)
	os.chmod(os.path.join(server.root, "dir"), 0o755)


ODD_NAMES = ["a b", "ü", "a+b", "a&b=c", "a;b", "100%", "what?", "hash#tag", "quote\"s'", "<tag>",
	"back\\slash", "co:lon",
	"tilde~", "(paren)", "[brackets]", "{brace}", "pi|pe", "^", "`", "comma,", "@", "$", "!",
	"*", "-dash",
	" ", "x" * 255, "日本語", "é" * 100, "a.b.c.d", "%2e%2e", "%2F", "CON", "index.html ",
	"new\nline", "tab\t", "\x7f", "\x1b[31m"]


def quote(name):
	return "/" + "".join("%%%02x" % b for b in os.fsencode(name))


def test_odd_names(make):
	files = {name: ("<" + name + ">").encode() for name in ODD_NAMES}
	server = make(files=files)
	with open(os.path.join(os.fsencode(server.root), b"bad-utf8-\xff\xfe"), "wb") as f:
		f.write(b"latin")
	reload_image(server)
	with server.connect("tcp") as c:
		for name, body in files.items():
			answer = c.get(quote(name))
			assert (answer.status, answer.body) == (200, body), name
		assert c.get("/bad-utf8-%ff%fe").body == b"latin"


def test_deep_folders(make):
	name = "/".join("d%d" % i for i in range(60)) + "/leaf"
	server = make(files={name: "deep"})
	with server.connect("tcp") as c:
		assert c.get("/" + name).body == b"deep"


# --- files that change under a response ---------------------------------------------------------

LARGE = os.urandom(1 << 16) * 96  # 6 MiB, read from disk


def begin_large(server, how):
	c = server.connect(how, settings={WINDOW: 100000}, credit=False)
	c.window(1 << 24)
	stream = c.send(path="/large")
	c.until(lambda: c.responses[stream].size == 100000)
	return c, stream


@pytest.mark.parametrize("change", ["shrinks", "is edited", "is emptied"])
def test_file_changes_under_its_response(h2d, how, change):
	server = h2d(files={"large": LARGE, "small": "small"})
	path = os.path.join(server.root, "large")
	c, stream = begin_large(server, how)
	if change == "is edited":
		with open(path, "r+b") as f:
			f.seek(5 << 20)
			f.write(b"edited")
	else:
		os.truncate(path, 200000 if change == "shrinks" else 0)
	c.window(1 << 24, stream)
	answer = c.response(stream)
	assert answer.reset is not None and not answer.ended, answer
	assert LARGE.startswith(answer.body)
	assert c.get("/small").body == b"small", "only that stream ended"
	c.close()


# --- the image ----------------------------------------------------------------------------------

def test_image_is_used_and_numbered(h2d):
	server = h2d(files={"a": "x"}).wait_cached("/a")
	status = server.status()
	assert status["image"] >= 1

	def ten_hits():
		before = server.status()["totals"]["cache_hits"]
		with server.connect("tcp") as c:
			for _ in range(10):
				assert c.get("/a").status == 200
		return server.status()["totals"]["cache_hits"] >= before + 10
	procs.wait_for(ten_hits, said="all from the image")
	reload_image(server)
	assert server.status()["image"] > status["image"]


def test_full_image(h2d):
	"""Past max-size files are read from the disk."""
	files = {"f%d" % i: os.urandom(30000) for i in range(20)}
	server = h2d(sections='cache { max-size = "200K" }', files=files)
	server.wait_settled()
	with server.connect("tcp") as c:
		for name, body in files.items():
			assert c.get("/" + name).body == body
	totals = server.status()["totals"]
	assert totals["cache_hits"] > 0 and totals["cache_misses"] > 0
	assert len(server.log.wait(r"cache: max-size of \d+ bytes is used up")) == 1


def test_max_size_past_what_an_image_holds(h2d):
	"""It is said once, and what fits is used."""
	server = h2d(image=True, sections='cache { max-size = "100G" }')
	line, = server.log.wait(r"cache: max-size reduced to \d+ bytes")
	assert 3 << 30 < int(re.search(r"reduced to (\d+) bytes", line).group(1)) < 4 << 30
	assert server.connect("tcp").get("/").status == 200


def test_empty_root(h2d):
	server = h2d.new()
	os.unlink(os.path.join(server.root, "index.html"))
	server.start()
	with server.connect("tcp") as c:
		assert c.get("/").status in (403, 404)
		assert c.get("/x").status == 404


def test_new_file_is_served_at_once(h2d):
	"""What the image does not know is asked of the disk."""
	server = h2d(image=True)
	server.write("late", "late")
	with server.connect("tcp") as c:
		assert c.get("/late").body == b"late"


# --- /files -------------------------------------------------------------------------------------

def test_download(make):
	server = make(server='upload-dir = "up"', files={"up/a.html": "<b>", "up/ü.txt": "u",
		"up/sub/x": "x",
		"outside": "no"})
	with open(server.path("secret"), "w") as f:
		f.write("secret")
	os.symlink("../../secret", os.path.join(server.root, "up", "link"))
	with server.connect("tcp") as c:
		answer = c.get("/files/a.html")
		assert (answer.status, answer.body) == (200, b"<b>")
		assert answer.get("x-content-type-options") == "nosniff"
		assert answer.get("content-security-policy") == "sandbox"
		assert answer.get("etag")
		assert c.request("HEAD", "/files/a.html").get("content-length") == "3"
		assert c.get("/files/a.html", headers=[("if-none-match",
			answer.get("etag"))]).status == 304
		assert c.get("/files/%c3%bc.txt").body == b"u"
		for path in ("/files/nothing", "/files/sub", "/files/link", "/files/..%2foutside",
				"/files/"):
			assert c.get(path).status in (301, 400, 403, 404), path
		assert c.get("/files/../outside").body == b"no", "that is the document root's"
		answer = c.request("PATCH", "/files/a.html")
		assert (answer.status, answer.get("allow")) == (405, "GET, HEAD, POST, PUT, DELETE, OPTIONS")
