"""What else keeps health from saying 200: no cache image yet, no room for uploads."""
import os
import re
import subprocess

import pytest

import harness
from procs import wait_for
from test_52_slow_disk import Slow
from test_91_drain import health, health_of_admin

MIB = 1 << 20


def says(server, *reasons):
	wait_for(lambda: server.status()["unhealthy"] == list(reasons), said="unhealthy: %s" % (reasons,))


@pytest.fixture
def mounted(h2d, tmp_path):
	"""A file system whose answers are held back; and what makes a server with a root on it."""
	if not os.path.exists("/dev/fuse"):
		harness.skip_without("fuse", "no /dev/fuse")
	mount = Slow(str(tmp_path / "slow"))
	os.chmod(tmp_path, 0o755)
	if not mount.ready:
		harness.skip_without("fuse", mount.process.communicate()[1].strip().split("\n")[-1])
	servers = []

	def new(**options):
		servers.append(h2d.new(**options))
		return servers[-1]
	mount.new = new
	try:
		yield mount
		mount.say("release")
		for server in servers:
			server.finish()
			server.process = None
	finally:
		mount.close()


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_image(h2d, dispatch):
	"""The first one ends it, which may come before the master looks and logs; check_reload has what is before, and the reload."""
	server = h2d(dispatch=dispatch, workers=2, conf="health-image = true", files={"page": "page"})
	says(server)
	assert server.status()["image"] > 0 and health(server) == (200, b"ok\n") == health_of_admin(server)
	said = [line.rpartition("health says ")[2] for line in server.log.find("health says")]
	assert said in (["503: image", "200 again"], [])


def test_image_of_nothing(h2d):
	"""Without a cache none is waited for, and by default none is either."""
	for conf in ("health-image = true  cache { max-size = 0 }", ""):
		server = h2d(listens=("tcp",), conf=conf)
		assert health(server) == (200, b"ok\n") and not server.log.find("health says")


def test_room(h2d):
	"""A disk that fills up, through a reload, a worker that dies, and back; a folder of uploads need not be there."""
	server = h2d.new(listens=("tcp",), conf="health-min-free = 8M", server='upload-dir = "files"  upload-public = true')
	done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "none", server.root], stderr=subprocess.PIPE)
	if done.returncode != 0:
		harness.skip_without("mount", done.stderr.decode().strip())
	try:
		server.start()
		says(server)
		assert health(server) == (200, b"ok\n")
		conf = server.conf_text
		for key, *unhealthy in (("64M", "room"), ("8M",)):  # more than there is, and less
			server.put_conf(conf.replace("8M", key))
			server.reload()
			says(server, *unhealthy)
		os.mkdir(os.path.join(server.root, "files"))
		server.reload()  # which opens it for writing
		server.wait_up(4)
		with server.connect("tcp") as c:
			assert c.request("PUT", "/files/a", body=bytes(12 * MIB)).status == 201
		says(server, "room")
		assert health(server) == (503, b"not ready\n")
		assert health_of_admin(server)[1].startswith(b"a folder of uploads has too little room")
		assert len(server.log.wait(r"/files: .* free, which is less than health-min-free", count=2)) == 2  # one each time
		server.reload()
		server.wait_up(5)
		assert server.status()["unhealthy"] == ["room"]
		with server.connect("tcp") as c:
			assert c.request("DELETE", "/files/a").status == 204
		says(server)
		assert health(server) == (200, b"ok\n")
		server.quit()
	finally:
		subprocess.run(["umount", "-l", server.root], check=True)


def test_room_that_nobody_knows(mounted):
	"""A file system that does not answer has no room, and holds up nothing else."""
	server = mounted.new(conf="health-min-free = 1M", listens=("tcp",), root=mounted.mountpoint, server='upload-dir = "free-1"')
	server.spawn()
	server.wait_listening()
	server.wait_up()
	mounted.wait_held("free-1")
	says(server, "room")
	server.log.wait("a file system of uploads has not answered for")
	assert health(server) == (503, b"not ready\n")
	mounted.say("release")
	says(server)
	assert health(server) == (200, b"ok\n")
