"""Symbolic links that leave the root: refused, and that is said once, or followed where the configuration says so."""
import gzip
import json
import os
import re

import pytest

import procs
from harness import needs_root
from test_78_sandbox import HANDLERS, landlock

TOLD = r"symbolic link (\S+) "


def outside(server):
	"""A folder beside the root, and links to it and to others."""
	os.makedirs(server.path("outside", "sub"))
	for name, text in (("f.txt", "out"), ("index.html", "out index"), ("sub/g", "g"), ("page.css", "p{}"), (".hidden", "h")):
		with open(server.path("outside", name), "w") as f:
			f.write(text)
	with open(server.path("outside", "page.css.gz"), "wb") as f:
		f.write(gzip.compress(b"p{}", mtime=0))
	os.mkfifo(server.path("outside", "fifo"))
	for name, target in (("file", "../outside/f.txt"), ("absolute", server.path("outside", "f.txt")), ("chain", "file"),
			("d", "../outside"), ("real/up", "../file"), ("absolute-in", server.path("www", "real", "x")), ("inside", "real/x"),
			("loop", "loop"), ("out-loop", server.path("www", "out-loop")), ("dangling", "../nothing"), ("fifo", "../outside/fifo"),
			("magic", "/proc/self/root" + server.path("outside", "f.txt")), ("shadow", "/etc/shadow"), ("null", "/dev/null"),
			("files/link", "../../outside/f.txt")):
		os.symlink(target, os.path.join(server.root, name))


def names(c, path):
	return [entry["name"] for entry in json.loads(c.get(path, [("accept", "application/json")]).body)]


@pytest.fixture
def make(h2d):
	def start(server="", **options):
		s = h2d.new(files={"real/x": "x", "files/y": "y", "index.html": "index"}, listens=("tcp",), **options)
		outside(s)
		s.write_conf(conf=options.get("conf", ""), sections=options.get("sections", ""), server=server)
		return s.start(image=not options.get("sections"))
	return start


@pytest.mark.parametrize("sections", ["", "cache { max-size = 0 }"], ids=["image", "disk"])
def test_all(make, sections):
	"""Links lead where they lead; magic ones, loops, FIFOs, devices and names with a dot are nothing all the same."""
	server = make("follow-links = all  autoindex = true", sections=sections, workers=2)
	with server.connect("tcp") as c:
		for path, body in (("/file", b"out"), ("/absolute", b"out"), ("/chain", b"out"), ("/real/up", b"out"), ("/d/", b"out index"),
				("/d/f.txt", b"out"), ("/d/sub/g", b"g"), ("/absolute-in", b"x"), ("/inside", b"x"), ("/", b"index")):
			answer = c.get(path)
			assert (answer.status, answer.body) == (200, body), path
		for path in ("/loop", "/out-loop", "/dangling", "/fifo", "/magic", "/null", "/d/.hidden", "/d/none", "/d/fifo", "/file/"):
			assert c.get(path).status == 404, path
		assert c.get("/d").get("location") == "/d/"
		assert names(c, "/d/sub/") == ["g"]
		assert names(c, "/real/") == ["up", "x"]
		first = c.get("/d/page.css", [("accept-encoding", "gzip")])
		assert first.get("content-encoding") == "gzip" and first.body == gzip.compress(b"p{}", mtime=0)
		# What nobody watches is read each time.
		with open(server.path("outside", "f.txt"), "w") as f:
			f.write("changed")
		assert c.get("/file").body == b"changed"
		os.rename(server.path("outside"), server.path("moved"))
		assert c.get("/d/f.txt").status == 404
	assert not server.log.find(TOLD)


@pytest.mark.parametrize("sections", ["", "cache { max-size = 0 }"], ids=["image", "disk"])
def test_none(make, sections):
	"""No link is followed, nor listed, whether it leaves the root or not."""
	server = make("follow-links = none  autoindex = true", sections=sections)
	with server.connect("tcp") as c:
		for path in ("/file", "/inside", "/absolute-in", "/d/f.txt", "/files/link", "/real/up"):
			assert c.get(path).status == 404, path
		assert c.get("/real/x").body == b"x"
		assert names(c, "/real/") == ["x"]


@needs_root("starts as root")
def test_as_the_user(make):
	"""What the workers' user may not read is 403, wherever it lies."""
	server = make("follow-links = all", conf='user = "nobody"')
	with server.connect("tcp") as c:
		assert c.get("/file").body == b"out"
		assert c.get("/shadow").status == 403


def test_where_it_holds(make):
	"""In the location that says so, and never in the folder of uploads."""
	server = make("""upload-dir = "files"  upload-public = true
location "/d/" { follow-links = all }
location "/d/sub/" { follow-links = inside }
location "/files" { follow-links = all }
fallback = "/d/f.txt"
location "/file" { fallback = "" }
location "/files/" { follow-links = all }""")
	with server.connect("tcp") as c:
		assert c.get("/d/f.txt").body == b"out"
		assert c.get("/none").body == b"out", "the fallback is of a location that follows"
		for path in ("/file", "/files/link"):
			assert c.get(path).status == 404, path
		assert c.get("/d/sub/g").body == b"out", "not there, so the fallback"
		assert c.request("PUT", "/files/link", body=b"mine").status in (201, 204)
		assert c.get("/files/link").body == b"mine"
	with open(server.path("outside", "f.txt")) as f:
		assert f.read() == "out"


@pytest.mark.parametrize("sections", ["", "cache { max-size = 0 }"], ids=["image", "disk"])
def test_said_once(make, sections):
	"""By whatever paths and workers a link is met: one line, with its place and the key."""
	server = make(sections=sections, workers=2)
	for _ in range(6):
		with server.connect("tcp") as c:
			for path in ("/file", "/d/", "/d/f.txt", "/d/none", "/chain", "/absolute-in", "/loop", "/magic", "/inside"):
				c.get(path)
	lines = server.log.wait(TOLD, count=5)
	assert sorted(re.search(TOLD, line).group(1) for line in lines) == ["/absolute-in", "/chain", "/d", "/file", "/magic"]
	line, = [line for line in lines if "/d " in line]
	for words in (" warn ", server.root, '"../outside"', "follow-links"):
		assert words in line, line
	server.reload()
	server.wait_up(2)
	with server.connect("tcp") as c:
		c.get("/d/f.txt")
		procs.wait_for(lambda: len(server.log.find(TOLD)) == len(lines) + 1, said="the next generation says it, too")


def test_memory_is_bounded(make):
	server = make(workers=1)
	for i in range(200):
		os.symlink("../outside", os.path.join(server.root, "many-%d" % i))
	with server.connect("tcp") as c:
		for i in range(200):
			assert c.get("/many-%d/f.txt" % i).status == 404
	server.log.wait("not reporting further")
	lines = server.log.find(TOLD)
	assert len(lines) == 128 and "not reporting further" in lines[-1], lines[-1]


@landlock
def test_landlock(make):
	"""What links may lead to is everywhere: workers may read what their user may, and write no more than before."""
	server = make("follow-links = all", binary=HANDLERS)
	server.log.wait("sandbox of child processes: .*Landlock ABI [0-9]+ \\(all files to read: follow-links\\)")
	with server.connect("tcp") as c:
		assert c.get("/t/sandbox/read?/etc/passwd").body == b"done"
		assert c.get("/t/sandbox/write?" + server.path("www", "index.html")).body != b"done"
