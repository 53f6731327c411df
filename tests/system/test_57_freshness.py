"""What is done to the files is seen by every worker, by each protocol, within a second."""
import ctypes
import gzip
import mmap
import os
import shutil
import statistics
import threading
import time

import pytest

import harness
import procs
import server as srv
from everywhere import Everywhere

CLONE_NEWUSER = 0x10000000
OLD, NEW = b"old content\n" * 100, b"new content\n" * 100  # of the same size
WORKERS = 3
RESCAN = 'cache { rescan-interval = 1 }'


@pytest.fixture
def fresh(h2d):
	"""Makes a server with an image of these files, and clients of all its workers."""
	made = []

	def make(files=None, **options):
		server = h2d(image=True, workers=WORKERS, listens=("tcp",),
			files=dict({"f": OLD}, **(files or {})), **options)
		made.append(Everywhere(server))
		made[-1].cached("/f", OLD)
		return server, made[-1]

	yield make
	for every in made:
		every.__exit__()


def in_place(path, data, at=0):
	fd = os.open(path, os.O_WRONLY)
	os.pwrite(fd, data, at)
	os.close(fd)


def by_rename(path, data):
	temporary = os.path.join(os.path.dirname(path), ".new")
	with open(temporary, "wb") as f:
		f.write(data)
	os.rename(temporary, path)


def swap_link(target, path):
	os.symlink(target, path + ".new")
	os.rename(path + ".new", path)


# --- files --------------------------------------------------------------------------------------

def test_created(fresh):
	server, every = fresh()
	every.agree("/new", 404)
	every.changed()
	server.write("new", NEW)
	every.agree("/new", NEW, said="created")
	every.settle("/new", NEW)
	every.cached("/new", NEW)
	every.changed()
	by_rename(server.path("www", "renamed-in"), NEW)
	every.agree("/renamed-in", NEW, said="created")
	every.cached("/renamed-in", NEW)


def test_edited_in_place(fresh):
	server, every = fresh()
	path = server.path("www", "f")
	want = OLD
	for i in range(10):
		want = b"%04d" % i + want[4:]
		every.changed()
		in_place(path, want[:4])
		every.agree("/f", want, said="edited in place")
		if i % 3 == 0:
			every.settle("/f", want)
	every.cached("/f", want)


def test_written_slowly(fresh):
	"""Each piece is seen before the file is closed."""
	server, every = fresh()
	with open(server.path("www", "f"), "ab", buffering=0) as f:
		want = OLD
		for _ in range(5):
			f.write(b"more\n")
			want += b"more\n"
			every.agree("/f", want, said="appended")
	every.cached("/f", want)


def test_replaced(fresh):
	server, every = fresh()
	for data in (NEW, OLD, NEW * 3, b""):
		every.changed()
		by_rename(server.path("www", "f"), data)
		every.agree("/f", data, said="replaced by rename")
		every.settle("/f", data)
	by_rename(server.path("www", "f"), NEW)
	every.agree("/f", NEW, said="replaced by rename")
	every.cached("/f", NEW)


def test_replaced_by_one_that_looks_the_same(fresh):
	"""The same size and mtime, as cp -p and rsync -t leave them."""
	server, every = fresh()
	path = server.path("www", "f")
	before = os.stat(path)
	every.changed()
	with open(path + ".new", "wb") as f:
		f.write(NEW)
	os.utime(path + ".new", ns=(before.st_atime_ns, before.st_mtime_ns))
	os.rename(path + ".new", path)
	every.agree("/f", NEW, said="replaced by rename")
	every.settle("/f", NEW)
	every.changed()
	in_place(path, OLD)
	os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
	every.agree("/f", OLD, said="edited in place")
	every.settle("/f", OLD)


def test_truncated(fresh):
	server, every = fresh()
	path = server.path("www", "f")
	for size in (500, 1, 0):
		every.changed()
		os.truncate(path, size)
		every.agree("/f", OLD[:size], said="truncated")
		every.settle("/f", OLD[:size])
	os.truncate(path, 100)
	every.agree("/f", bytes(100), said="truncated")


def test_renamed(fresh):
	server, every = fresh()
	every.changed()
	os.rename(server.path("www", "f"), server.path("www", "g"))
	every.agree("/f", 404, said="renamed")
	every.agree("/g", OLD, said="renamed")
	every.settle("/g", OLD)
	every.settle("/f", 404)
	every.cached("/g", OLD)


def test_deleted(fresh):
	server, every = fresh()
	every.changed()
	os.unlink(server.path("www", "f"))
	every.agree("/f", 404, said="deleted")
	every.settle("/f", 404)
	every.changed()
	server.write("f", NEW)
	every.agree("/f", NEW, said="created")
	every.settle("/f", NEW)


def test_index(fresh):
	"""What a directory answers is a file too."""
	server, every = fresh(files={"d/index.html": OLD})
	every.cached("/d/", OLD)
	every.changed()
	by_rename(server.path("www", "d", "index.html"), NEW)
	every.agree("/d/", NEW, said="replaced by rename")
	every.settle("/d/", NEW)
	os.unlink(server.path("www", "d", "index.html"))
	every.agree("/d/", 404, said="deleted")
	server.write("d/index.html", OLD)
	every.agree("/d/", OLD, said="created")


def test_becomes_another_kind(fresh):
	server, every = fresh()
	path = server.path("www", "f")
	os.unlink(path)
	os.mkdir(path)
	every.agree("/f", 301, said="file becomes directory")
	server.write("f/x", NEW)
	every.agree("/f/x", NEW, said="file becomes directory")
	shutil.rmtree(path)
	os.mkfifo(path)
	every.agree("/f", lambda a: a.status in (403, 404), said="file becomes fifo")
	every.agree("/f/x", 404, said="file becomes fifo")
	os.unlink(path)
	server.write("f", NEW)
	every.agree("/f", NEW, said="created")


def test_grows_over_the_limit(fresh):
	"""Above max-file-size it is read from disk, below it again from the cache."""
	server, every = fresh(sections='cache { max-file-size = "64K" }')
	path = server.path("www", "f")
	large = os.urandom(100000)
	by_rename(path, large)
	every.agree("/f", large, said="replaced by rename")
	in_place(path, b"edit", 70000)
	large = large[:70000] + b"edit" + large[70004:]
	every.agree("/f", large, said="edited in place")
	every.changed()
	os.truncate(path, 1000)
	every.agree("/f", large[:1000], said="truncated")
	every.cached("/f", large[:1000])


def test_a_burst(fresh):
	"""Many at once: none is forgotten."""
	server, every = fresh(files={"n/%d" % i: OLD for i in range(200)})
	every.cached("/n/199", OLD)
	want = {}
	every.changed()
	for i in range(200):
		path = server.path("www", "n", str(i))
		if i % 4 == 0:
			by_rename(path, NEW)
		elif i % 4 == 1:
			in_place(path, NEW)
		elif i % 4 == 2:
			os.unlink(path)
		else:
			os.rename(path, path + "x")
			want["/n/%dx" % i] = OLD
		want["/n/%d" % i] = 404 if i % 4 > 1 else NEW
	for path, data in want.items():
		every.agree(path, data, said="a burst of 200 changes")
	every.settle("/n/0", NEW)
	for path, data in want.items():
		assert not every.wrong(path, data)


# --- directories --------------------------------------------------------------------------------

def test_directory_moves(fresh):
	server, every = fresh(files={"d/a": OLD, "d/sub/b": OLD})
	root = server.path("www")
	os.makedirs(server.path("outside", "sub"))
	for name in ("a", "sub/b", "sub/c"):
		with open(server.path("outside", name), "wb") as f:
			f.write(NEW)
	every.cached("/d/sub/b", OLD)
	every.changed()
	os.rename(root + "/d", root + "/e")
	every.agree("/d/sub/b", 404, said="directory renamed")
	every.agree("/e/sub/b", OLD, said="directory renamed")
	every.settle("/e/sub/b", OLD)
	every.settle("/d/sub/b", 404)
	every.cached("/e/sub/b", OLD)
	# It is watched under its new name.
	by_rename(root + "/e/sub/b", NEW)
	every.agree("/e/sub/b", NEW, said="replaced by rename")
	# Another one in its place.
	every.changed()
	os.rename(root + "/e", server.path("gone"))
	os.rename(server.path("outside"), root + "/e")
	every.agree("/e/a", NEW, said="directory moved in")
	every.agree("/e/sub/c", NEW, said="directory moved in")
	every.settle("/e/sub/c", NEW)
	every.cached("/e/sub/c", NEW)
	# What happens outside is none of ours.
	by_rename(server.path("gone", "a"), b"outside")
	every.agree("/e/a", NEW)
	every.changed()
	os.rename(root + "/e", server.path("outside"))
	every.agree("/e/a", 404, said="directory moved out")
	every.agree("/e/sub/b", 404, said="directory moved out")
	every.settle("/e/sub/b", 404)


def test_directory_removed(fresh):
	server, every = fresh(files={"d/a": OLD, "d/sub/b": OLD})
	every.changed()
	shutil.rmtree(server.path("www", "d"))
	every.agree("/d/sub/b", 404, said="directory removed")
	every.agree("/d/a", 404, said="directory removed")
	every.settle("/d/sub/b", 404)
	every.changed()
	os.makedirs(server.path("www", "d", "sub", "deep"))
	server.write("d/sub/deep/f", NEW)
	every.agree("/d/sub/deep/f", NEW, said="created")
	every.settle("/d/sub/deep/f", NEW)
	every.cached("/d/sub/deep/f", NEW)


def test_unpacked(fresh):
	"""A tree that is made as tar makes it: what comes while its directories are being found counts."""
	server, every = fresh()
	names = ["t/%d/%d/f" % (i, j) for i in range(10) for j in range(10)]
	every.changed()
	for name in names:
		server.write(name, NEW)
	for name in names:
		every.agree("/" + name, NEW, said="a tree is unpacked")
	for name in names[::7]:
		every.cached("/" + name, NEW)
		by_rename(server.path("www", name), OLD)
		every.agree("/" + name, OLD, said="replaced by rename")


# --- rights -------------------------------------------------------------------------------------

AS_USER = {"conf": 'user = "nobody"'} if os.geteuid() == 0 else {}


def test_unreadable(fresh):
	server, every = fresh(files={"d/sub/f": OLD}, **AS_USER)
	path = server.path("www", "f")
	os.chmod(path, 0)
	every.agree("/f", 403, said="chmod 0")
	every.changed()
	os.chmod(path, 0o644)
	every.agree("/f", OLD, said="chmod back")
	every.cached("/f", OLD)
	folder = server.path("www", "d")
	os.chmod(folder, 0)
	every.agree("/d/sub/f", 403, said="chmod 0 of a directory")
	in_place(path, NEW)
	every.agree("/f", NEW, said="edited in place")
	if os.geteuid() == 0:
		in_place(folder + "/sub/f", NEW)
	os.chmod(folder, 0o755)
	every.agree("/d/sub/f", NEW if os.geteuid() == 0 else OLD, said="chmod back")


# --- links --------------------------------------------------------------------------------------

def test_links(fresh):
	server, every = fresh(files={"real/one": OLD, "real/two": NEW, "other/f": NEW, "real/f": OLD})
	root = server.path("www")
	os.symlink("real/one", root + "/file")
	os.symlink("file", root + "/chain")
	os.symlink("real", root + "/folder")
	for path in ("/file", "/chain", "/folder/f"):
		every.agree(path, OLD, said="link created")
	swap_link("real/two", root + "/file")
	every.agree("/file", NEW, said="link swapped")
	every.agree("/chain", NEW, said="link swapped")
	swap_link("other", root + "/folder")
	every.agree("/folder/f", NEW, said="link swapped")
	# The target changes, not the link.
	in_place(root + "/real/two", OLD)
	every.agree("/file", OLD, said="link's target edited")
	every.agree("/chain", OLD, said="link's target edited")
	by_rename(root + "/other/f", OLD)
	every.agree("/folder/f", OLD, said="link's target edited")
	os.unlink(root + "/real/two")
	every.agree("/chain", 404, said="link's target deleted")
	by_rename(root + "/real/two", NEW)
	every.agree("/chain", NEW, said="link's target created")
	os.rename(root + "/real", root + "/reel")
	every.agree("/chain", 404, said="directory renamed")
	os.rename(root + "/reel", root + "/real")
	every.agree("/chain", NEW, said="directory renamed")
	swap_link("/etc/passwd", root + "/file")
	every.agree("/chain", 404, said="link swapped")


def test_hard_links_in_the_root(fresh):
	"""The kernel tells of the name that is written through alone."""
	server, every = fresh()
	names = ["g%d" % i for i in range(3)]
	for name in names:
		os.link(server.path("www", "f"), server.path("www", name))
		every.agree("/" + name, OLD, said="created")
		every.cached("/" + name, OLD)
	every.settle("/f", OLD)
	every.changed()
	in_place(server.path("www", names[1]), NEW)
	for name in ["f"] + names:
		every.agree("/" + name, NEW, said="edited in place, by another name")
	for name in ["f"] + names:
		every.settle("/" + name, NEW)


@pytest.mark.parametrize("edit", ["hard link elsewhere", "mmap"])
def test_found_by_the_rescan(fresh, edit):
	"""inotify sees nothing of these."""
	server, every = fresh(sections=RESCAN)
	path = server.path("www", "f")
	if edit == "mmap":
		with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
			m[:len(NEW)] = NEW
			m.flush()
			every.agree("/f", NEW, within=2.5, said="found by the rescan (1 s)")
	else:
		os.link(path, server.path("elsewhere"))
		every.cached("/f", OLD)
		in_place(server.path("elsewhere"), NEW)
		every.agree("/f", NEW, within=2.5, said="found by the rescan (1 s)")
	every.cached("/f", NEW)


# --- roots --------------------------------------------------------------------------------------

@pytest.fixture
def deployed(h2d):
	"""A server whose root is, or is below, a link to a release: deployed(below)."""
	made = []

	def make(below=""):
		server = h2d.new(workers=WORKERS, listens=("tcp",))
		for name, data in (("41", OLD), ("42", NEW)):
			for sub in ("f", "sub/f"):
				path = server.path("releases", name, sub)
				os.makedirs(os.path.dirname(path), exist_ok=True)
				with open(path, "wb") as f:
					f.write(data)
		swap_link("releases/41", server.path("current"))
		server.put_conf(server.conf_text.replace(server.root, server.path("current", below)))
		server.start(image=True)
		server.baseline = None  # the root's descriptor has another name later
		made.append(Everywhere(server))
		made[-1].cached("/f", OLD)
		return server, made[-1]

	yield make
	for every in made:
		every.__exit__()


@pytest.mark.parametrize("below", ["", "sub"], ids=["root", "above"])
def test_root_is_swapped(deployed, below):
	server, every = deployed(below)
	for target, data in (("42", NEW), ("41", OLD), ("42", NEW)):
		every.changed()
		swap_link("releases/" + target, server.path("current"))
		every.agree("/f", data, said="root swapped")
		every.settle("/f", data)
		every.cached("/f", data)
	# It is watched where it is now, and the other is not of interest.
	in_place(server.path("releases", "42", below, "f"), OLD)
	every.agree("/f", OLD, said="edited in place")
	in_place(server.path("releases", "41", below, "f"), NEW)
	every.agree("/f", OLD)


def test_roots_of_before_are_closed(deployed):
	"""After many swaps a worker has no more descriptors of roots than before."""
	server, every = deployed()

	def roots():
		return [sum(name.startswith(server.dir) for name in procs.descriptors(pid).values()) for pid in server.worker_pids()]
	before = roots()
	for i in range(51):
		swap_link("releases/" + ("41" if i % 2 else "42"), server.path("current"))
	every.agree("/f", NEW, said="root swapped")
	procs.wait_for(lambda: roots() == before, said="descriptors of old roots are closed")


def test_root_goes_and_comes(fresh):
	server, every = fresh(files={"d/f": OLD})
	server.baseline = None
	root = server.path("www")
	os.rename(root, root + ".away")
	every.agree("/f", 404, said="root removed")
	every.agree("/d/f", 404, said="root removed")
	os.mkdir(root)
	server.write("f", NEW)
	every.agree("/f", NEW, said="root made again")
	every.agree("/d/f", 404)
	every.cached("/f", NEW)
	shutil.rmtree(root)
	every.agree("/f", 404, said="root removed")
	os.rename(root + ".away", root)
	every.agree("/f", OLD, said="root made again")
	every.agree("/d/f", OLD, said="root made again")
	every.cached("/d/f", OLD)


def test_overlapping_roots(fresh):
	"""One root in another, and one twice: each server block has what is there."""
	server, every = fresh(files={"in/f": OLD})
	root = server.path("www")
	server.put_conf(server.conf_text + "".join(
		'server "%s" { root = "%s" }\n' % block for block in (
			("inner", root + "/in"), ("same", root))))
	every.changed()
	server.reload()
	server.wait_up(2)
	server.wait_image(every.image)
	blocks = {"localhost": "/in/f", "inner": "/f", "same": "/in/f"}
	found = {name: Everywhere(server, name) for name in blocks}
	try:
		for data in (NEW, OLD):
			for change in (in_place, by_rename):
				change(root + "/in/f", data)
				for name, path in blocks.items():
					found[name].agree(path, data, said="overlapping roots")
		for name, path in blocks.items():
			found[name].cached(path, OLD)
		os.rename(root + "/in", root + "/out")
		for name, path in blocks.items():
			found[name].agree(path, 404, said="overlapping roots")
		os.rename(root + "/out", root + "/in")
		for name, path in blocks.items():
			found[name].agree(path, OLD, said="overlapping roots")
	finally:
		for other in found.values():
			other.__exit__()


# --- what else there is -------------------------------------------------------------------------


def test_sidecars(fresh):
	"""x.css.gz is what gzip means for x.css, while it is no older."""
	text = b"body { color: red }\n" * 100
	server, every = fresh(files={"x.css": text}, sections="cache { compress = {} }")
	path = server.path("www", "x.css")
	accept = [("accept-encoding", "gzip")]

	def coded(data):
		return lambda a: a.status == 200 and a.get("content-encoding") == "gzip" and (
			gzip.decompress(a.body) == data)

	def plain(data):
		return lambda a: a.status == 200 and a.get("content-encoding") is None and a.body == data
	every.agree("/x.css", plain(text), accept)
	by_rename(path + ".gz", gzip.compress(text))
	every.agree("/x.css", coded(text), accept, said="sidecar")
	every.agree("/x.css", plain(text))
	by_rename(path + ".gz", gzip.compress(text.upper()))
	every.agree("/x.css", coded(text.upper()), accept, said="another sidecar")
	by_rename(path, text.upper())
	os.utime(path + ".gz", (1000000000, 1000000000))
	every.agree("/x.css", plain(text.upper()), accept, said="sidecar is older")
	os.utime(path + ".gz")
	every.agree("/x.css", coded(text.upper()), accept, said="sidecar is newer")
	os.unlink(path + ".gz")
	every.agree("/x.css", plain(text.upper()), accept, said="sidecar deleted")


def test_compressed_twins(fresh):
	"""What is compressed is the file as it is."""
	text = b"body { color: red }\n" * 100
	server, every = fresh(files={"x.css": text}, sections='cache { compress = {"gzip"} }')
	accept = [("accept-encoding", "gzip")]

	def right(data):
		def check(a):
			body = gzip.decompress(a.body) if a.get("content-encoding") == "gzip" else a.body
			return a.status == 200 and body == data
		return check

	def coded(data):
		return lambda a: right(data)(a) and a.get("content-encoding") == "gzip"
	for data in (text, text.upper(), text * 2):
		by_rename(server.path("www", "x.css"), data)
		every.agree("/x.css", right(data), accept, said="compressed file")
		# Compressing takes a while.
		every.agree("/x.css", coded(data), accept, within=10)
		every.agree("/x.css", data)


# --- the keeper and its limits ------------------------------------------------------------------

def keeper_of(server):
	pid = server.keeper()
	assert pid > 0
	return pid


def test_keeper_sleeps(fresh):
	"""Its image is not used while it sleeps, nor on awaking before it has looked around."""
	server, every = fresh(files={"g": OLD})
	with procs.paused(keeper_of(server)):
		in_place(server.path("www", "f"), NEW)
		every.agree("/f", NEW, within=1.5, said="the keeper sleeps (1 s)")
		os.unlink(server.path("www", "g"))
	every.agree("/g", 404)
	until = time.monotonic() + 1
	while time.monotonic() < until:
		assert not every.wrong("/f", NEW)
		assert not every.wrong("/g", 404)
	every.cached("/f", NEW)


@pytest.mark.slow
def test_lost_events(fresh):
	"""More happens than the kernel keeps for a keeper that does not look."""
	with open("/proc/sys/fs/inotify/max_queued_events") as f:
		flood = int(f.read()) // 2 + 100
	# Looking at all of these takes a while.
	files = {"d/%d/%d/f" % (i, j): OLD for i in range(40) for j in range(50)}
	server, every = fresh(files=dict(files, g=OLD, **{"d/39/49/last/f": OLD}))
	every.cached("/d/39/49/last/f", OLD)
	with procs.paused(keeper_of(server)):
		for i in range(flood):
			os.truncate(server.path("www", "g"), 1 + i % 7)
			os.truncate(server.path("www", "f"), 1 + i % 7)
		by_rename(server.path("www", "d/39/49/last/f"), NEW)
		server.write("e/f", NEW)
		every.agree("/d/39/49/last/f", NEW, within=1.5, said="the keeper sleeps (1 s)")
		every.agree("/e/f", NEW, within=1.5, said="the keeper sleeps (1 s)")
	until = time.monotonic() + 1
	while time.monotonic() < until:
		assert not every.wrong("/d/39/49/last/f", NEW)
		assert not every.wrong("/e/f", NEW)
	every.cached("/d/39/49/last/f", NEW)
	every.cached("/e/f", NEW)
	by_rename(server.path("www", "e", "f"), OLD)
	every.agree("/e/f", OLD, said="replaced by rename")


def lower_limit(name, value):
	"""For preexec: a user namespace of its own, in which inotify has this limit."""
	def preexec():
		uid, gid = os.geteuid(), os.getegid()
		if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
			os._exit(77)
		for file, text in (("/proc/self/setgroups", "deny"),
				("/proc/self/uid_map", "0 %d 1" % uid), ("/proc/self/gid_map", "0 %d 1" % gid),
				("/proc/sys/user/max_inotify_" + name, str(value))):
			with open(file, "w") as f:
				f.write(text)
	return preexec


@pytest.mark.parametrize("limit", [("instances", 0), ("watches", 4)], ids=lambda l: l[0])
def test_without_inotify(fresh, limit):
	"""What cannot be watched is found by rescans."""
	files = {"d/%d/f" % i: OLD for i in range(10)}
	server, every = fresh(files=files, sections=RESCAN, preexec=lower_limit(*limit))
	server.log.wait("inotify")
	for name in ["f"] + list(files):
		by_rename(server.path("www", name), NEW)
	server.write("d/3/g", NEW)
	os.mkdir(server.path("www", "d", "new"))
	server.write("d/new/f", NEW)
	for name in ["f"] + list(files) + ["d/3/g", "d/new/f"]:
		every.agree("/" + name, NEW, within=2.5, said="without inotify, found by rescans")
	os.rename(server.path("www", "d", "3"), server.path("www", "d", "33"))
	every.agree("/d/33/f", NEW, within=2.5, said="without inotify, found by rescans")
	every.agree("/d/3/f", 404, within=2.5, said="without inotify, found by rescans")
	every.cached("/d/33/f", NEW)


def memory_of(server, cap=None):
	"""Bytes: of memory files, and of what else its processes take. What went and what came while it was looked are both in
	it: past cap it is looked again."""
	for _ in range(20):
		found = look_at_memory(server)
		if cap is None or found[0] < cap:
			break
	return found


def look_at_memory(server):
	files, private = {}, 0
	for pid in procs.group_members(server.pid):
		files.update(procs.memfds(pid))
		private += procs.private_memory(pid)
	return sum(files.values()), private


def test_a_thousand_edits_a_second(fresh):
	"""Others are served as before meanwhile, and memory stays where it is."""
	files = {"n/%d" % i: OLD * 16 for i in range(50)}
	server, every = fresh(files=files, sections='cache { max-size = "2M" }')
	stop, made = threading.Event(), []
	cap = (2 * 2 + 1) << 20  # twice max-size of segments, and four indexes

	def edit():
		paths = [server.path("www", "n", str(i)) for i in range(50)]
		start = time.monotonic()
		while not stop.is_set():
			n = len(made)
			if n % 2:
				in_place(paths[n % 50], b"%08d" % n)
			else:
				by_rename(paths[n % 50], b"%08d" % n + OLD[8:] * 16)
			made.append(n)
			ahead = start + n / 1000 - time.monotonic()
			if ahead > 0:
				time.sleep(ahead)
	_, private = memory_of(server)
	writer = threading.Thread(target=edit)
	took, most, images = [], [0, 0], server.status()["image"]
	writer.start()
	try:
		until = time.monotonic() + 4
		while time.monotonic() < until:
			for c in every.clients.values():
				start = time.monotonic()
				assert c.get("/f").body == OLD
				took.append(time.monotonic() - start)
			most = [max(pair) for pair in zip(most, memory_of(server, cap))]
	finally:
		stop.set()
		writer.join()
	images = server.status()["image"] - images
	last = {i: max(n for n in made[-100:] if n % 50 == i) for i in range(50)}
	for i, n in last.items():
		every.agree("/n/%d" % i, lambda a, n=n: a.body[:8] == b"%08d" % n, said="1000 edits/s")
	took.sort()
	harness.REPORT.append("freshness: %d edits in 4 s, %d images; an unrelated file: median %.2f ms, "
		"99 %% %.2f ms, max %.1f ms; memory files %d KiB, the rest grew by %d KiB" % (len(made),
		images, 1000 * statistics.median(took), 1000 * took[len(took) * 99 // 100],
		1000 * took[-1], most[0] >> 10, (most[1] - private) >> 10))
	assert statistics.median(took) < 0.5 * srv.SLOW
	assert most[0] < cap
	if srv.SLOW == 1:
		assert most[1] - private < 4 << 20
