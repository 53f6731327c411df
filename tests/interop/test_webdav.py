"""Clients of WebDAV on a drive, each without locks: what they write is on the disk, and what is there they read. H2D_DAV_FILES: how
many files rclone synchronizes."""
import filecmp
import os
import subprocess

import pytest

from harness import need_namespaces, needs_root, skip_without
from tree import program, run
from uploads import folder, wait_over

COUNT = int(os.environ.get("H2D_DAV_FILES", "200"))
BYTES = os.urandom(300000)


@pytest.fixture
def server(h2d):
	return h2d(server='upload-dir = "up"  upload-depth = 8  upload-public = true  webdav = true\n', files={"up/there/file": BYTES})


@pytest.fixture
def environment(tmp_path):
	return dict(os.environ, HOME=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path), GVFS_DISABLE_FUSE="1")


def on_disk(server):
	wait_over(server)
	return sorted(os.path.relpath(os.path.join(at, name), folder(server))
		for at, _, files in os.walk(folder(server)) for name in files if not name.startswith(".h2d-"))


def is_same(one, two):
	found = filecmp.dircmp(one, two, ignore=[".h2d-lock", ".h2d-quota"])
	return not (found.left_only or found.right_only or found.diff_files or found.funny_files) and all(
		is_same(os.path.join(one, name), os.path.join(two, name)) for name in found.common_dirs)


def test_rclone(server, environment, tmp_path):
	url = server.url("tcp", "/files/")

	def rclone(*arguments):
		run(program("rclone"), "--config", os.devnull, "--webdav-url", url, "--webdav-vendor", "other", "--retries", "1", *arguments,
			env=environment)
	here, back = tmp_path / "here", tmp_path / "back"
	for n in range(COUNT):
		file = here / str(n % 10) / ("file ü & %d" % n)
		file.parent.mkdir(parents=True, exist_ok=True)
		file.write_bytes(b"x" * (n % 3000))
	rclone("sync", here, ":webdav:tree")
	rclone("check", "--download", here, ":webdav:tree")
	for n in range(0, COUNT, max(COUNT // 100, 1)):
		(here / str(n % 10) / ("file ü & %d" % n)).write_bytes(b"y" * 3001)
	(here / "0" / "file ü & 0").rename(here / "moved")
	rclone("sync", here, ":webdav:tree")
	assert is_same(here, os.path.join(folder(server), "tree"))
	rclone("sync", ":webdav:tree", back)
	assert is_same(here, back)
	rclone("purge", ":webdav:tree")
	assert on_disk(server) == ["there/file"]


def test_cadaver(server, environment, tmp_path):
	(tmp_path / "put").write_bytes(BYTES)
	script = """mkcol d\nput put d/one\nget d/one got\ncopy d/one d/two\nmove d/two three\ncopy d e\nls d\ndelete d/one\nrmcol e\nquit\n"""
	done = run(program("cadaver"), server.url("tcp", "/files/"), input=script.encode(), env=environment, cwd=tmp_path)
	assert b"failed" not in done.stdout, done.stdout
	assert (tmp_path / "got").read_bytes() == BYTES
	assert on_disk(server) == ["there/file", "three"] and os.path.isdir(os.path.join(folder(server), "d"))


def test_gio(server, environment, tmp_path):
	program("gio", "libglib2.0-bin"), program("dbus-run-session", "dbus-daemon")
	if not os.path.exists("/usr/share/gvfs/mounts/dav.mount"):
		pytest.skip("no backend for dav (Debian: gvfs-backends)")
	(tmp_path / "put").write_bytes(BYTES)
	script = """gio mount "$1" && gio list "$1" && gio mkdir "$1/d" && gio copy put "$1/d/one" && gio copy "$1/there/file" got &&
		gio move "$1/d/one" "$1/d/two" && gio copy put "$1/d/three" && gio remove "$1/d/three" && gio rename "$1/d/two" four"""
	url = server.url("tcp", "/files").replace("http", "dav", 1)
	run(program("dbus-run-session", "dbus-daemon"), "--", "sh", "-ec", script, "sh", url, env=environment, cwd=tmp_path)
	assert (tmp_path / "got").read_bytes() == BYTES
	assert on_disk(server) == ["d/four", "there/file"]


@needs_root("mounts")
def test_davfs2(server, environment, tmp_path):
	"""In a namespace of its own, so that no mount outlives it."""
	need_namespaces("-m")
	if not os.path.exists("/sbin/mount.davfs"):
		pytest.skip("no mount.davfs (Debian: davfs2)")
	(tmp_path / "put").write_bytes(BYTES)
	(tmp_path / "mnt").mkdir()
	(tmp_path / "conf").write_text("use_locks 0\nask_auth 0\ndelay_upload 0\nbuf_size 64\n")
	mount = ["unshare", "-m", "sh", "-ec", """mount -t davfs -o "conf=$PWD/conf" "$1" mnt
		trap "umount mnt" EXIT
		mkdir mnt/d && cp put mnt/d/one && mv mnt/d/one mnt/d/two && mv mnt/d mnt/e && cp mnt/there/file got && rm -r mnt/there
		test "$(ls mnt/e)" = two""", "sh"]
	done = subprocess.run([*mount, server.url("tcp", "/files/")], stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
	if "mounting failed: " in done.stderr or "fuse device" in done.stderr:
		skip_without("fuse", done.stderr.strip())
	assert done.returncode == 0, done.stderr
	assert (tmp_path / "got").read_bytes() == BYTES
	assert on_disk(server) == ["e/two"]


@pytest.mark.parametrize("option", ["--http1.1", "--http2-prior-knowledge"])
def test_curl(server, option, tmp_path):
	def curl(path, *arguments):
		return run("curl", "-q", "-sSf", option, *arguments, server.url("tcp", "/files/" + path)).stdout
	(tmp_path / "put").write_bytes(BYTES)
	curl("d/", "-X", "MKCOL")
	curl("d/one", "-T", tmp_path / "put")
	assert b"<D:href>/files/d/one</D:href>" in curl("d", "-X", "PROPFIND", "-H", "depth: 1")
	curl("d", "-X", "COPY", "-H", "destination: /files/e")
	curl("d/one", "-X", "MOVE", "-H", "destination: " + server.url("tcp", "/files/d/two"))
	assert curl("e/one") == curl("d/two") == BYTES
	curl("e", "-X", "DELETE")
	assert on_disk(server) == ["d/two", "there/file"]
