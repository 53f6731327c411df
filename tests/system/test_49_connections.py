"""/status/connections.json: a client that hangs is named there, with what it waits for, whatever it hangs in."""
import contextlib
import json
import os
import socket

import pytest
from h2.settings import SettingCodes

import client
from procs import paused, wait_for
from users import BCRYPT, basic, hashed, put_users

BIG = 32 << 20  # more than the buffers of two sockets take
WIDE = {SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1}
# Longer than a machine may stand still.
TIMES = "timeouts { handshake = 300  header = 300  body = 300  send = 300  keepalive = 300 }"
SHUT = {SettingCodes.INITIAL_WINDOW_SIZE: 0}


def look(server, path="/status/connections.json"):
	with client.Client.unix(server.admin_path) as c:
		answer = c.get(path)
	assert answer.status == 200 and answer.get("cache-control") == "no-store"
	return answer.body.decode()


def connections(server):
	"""{address of the client: its connection}, of all workers; those of unix sockets are left out."""
	def said():
		workers = json.loads(look(server))["workers"]
		# One that had no processor for a second is asked again.
		return workers if all(worker["answers"] for worker in workers) else None
	found = {}
	for worker in wait_for(said, said="all workers answer"):
		assert worker["left_out"] == 0
		for c in worker["connections"]:
			found[c["client"]] = dict(c, slot=worker["slot"], generation=worker["generation"])
	return found


def name_of(c):
	sock = getattr(c, "sock", c)
	return "%s:%d" % sock.getsockname()


def hang(server, c, **want):
	"""Until it is said so of that client; what it says."""
	def said():
		found = connections(server).get(name_of(c))
		return found if found and all(found[key] == value for key, value in want.items()) else None
	return wait_for(said, said="%s: %s" % (name_of(c), want))


@pytest.fixture
def dispatched(h2d, dispatch):
	"""Two workers, a large file, a password whose check takes a quarter of a second, uploads."""
	server = h2d.new(dispatch=dispatch, workers=2)
	with open(os.path.join(server.root, "big"), "wb") as f:
		f.truncate(BIG)
	os.mkdir(os.path.join(server.root, "files"))
	os.chmod(os.path.join(server.root, "files"), 0o777)
	users = put_users(server, anna=hashed("sesame", BCRYPT % 12))
	server.write_conf('shutdown-timeout = 300', TIMES, server='upload-dir = "files"  upload-public = true '
		'location "/in" { auth-basic-file = "%s" }' % users)
	return server.start()


@pytest.fixture(params=["reuseport", "acceptor"])
def dispatch(request):
	return request.param


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_hangs(dispatched, dispatch, protocol):
	"""Each of them in its own way, all at once."""
	server, how = dispatched, "tls" if (dispatch == "acceptor") == (protocol == "h1") else "tcp"

	def open_(**options):
		if protocol == "h1":
			options.pop("settings", None), options.pop("credit", None)
			return stack.enter_context(server.h1(how))
		c = stack.enter_context(server.connect(how, **options))
		c.window(2**31 - 1 - 65535)
		return c

	with contextlib.ExitStack() as stack:
		unread, body, idle = open_(settings=WIDE, credit=False), open_(), open_()
		silent = stack.enter_context(client.tcp_socket(server.ports[how]))
		unread.send(path="/big")
		if protocol == "h1":
			body.send_bytes(b"PUT /files/x HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n")
		else:
			body.send("PUT", "/files/x", [("content-length", "10")], end=False)
		assert idle.get("/").status == 200
		said = hang(server, unread, waits_for="the peer to read", streams_wait_for="1 for the connection")
		assert "blocked" in said["flags"] and 0 < said["left_ms"] <= 300000
		assert how == "tls" or said["queued"] > 0
		assert (said["protocol"], said["transport"]) == (protocol, how)
		assert (said["streams"], said["requests"]) == (1, 1) and 65536 < said["bytes_out"] < BIG
		hang(server, body, waits_for="the request body" if protocol == "h1" else "its requests",
			streams_wait_for="1 for its body")
		said = hang(server, idle, waits_for="a request", state="open")
		assert said["streams"] == 0 and said["requests"] == 1 and said["streams_wait_for"] == ""
		said = hang(server, silent, waits_for="the handshake" if how == "tls" else "the header section",
			protocol="", requests=0)
		assert "silent" in said["flags"] and said["state"] == ("handshake" if how == "tls" else "open")
		if protocol == "h2":
			shut = stack.enter_context(server.connect(how, settings=SHUT))
			shut.send(path="/big")
			said = hang(server, shut, streams_wait_for="1 for flow control")
			assert said["queued"] == 0
		guesses = []
		def in_line():
			guesses.append(open_())
			guesses[-1].send(path="/in", headers=basic("anna", "guess %d" % len(guesses)))
			found = connections(server)
			return any(found[name_of(c)]["streams_wait_for"] == "1 for its turn"
				and found[name_of(c)]["left_ms"] is None for c in guesses if name_of(c) in found)
		wait_for(in_line, said="a guess in line")


def test_of_every_generation(dispatched):
	"""A download that holds up the end of an old worker is there, beside the new worker's."""
	server = dispatched
	with server.h1() as c:
		c.send(path="/big")
		assert hang(server, c, waits_for="the peer to read")["generation"] == 1
		server.baseline = None
		server.reload()
		said = hang(server, c, state="drain")
		assert said["generation"] == 1
		with server.connect() as new:
			assert new.get("/").status == 200
			assert hang(server, new, waits_for="a request")["generation"] == 2


def test_a_worker_that_stands_still(h2d):
	"""Whose clients hang for that: it is named, and the others are shown all the same."""
	server = h2d(workers=2, listens=("tcp",), conf="worker-watchdog = 300")
	with client.Client.unix(server.admin_path) as admin:
		def alone():
			workers = json.loads(admin.get("/status/connections.json").body)["workers"]
			return [w["slot"] for w in workers if w["connections"]] if all(w["answers"] for w in workers) and sum(
				len(w["connections"]) for w in workers) == 1 else None
		mine, = wait_for(alone, said="no other connection")
		other = server.live_workers()[1 - mine]["pid"]
		with paused(other):
			def said():
				workers = json.loads(admin.get("/status/connections.json").body)["workers"]
				return {w["slot"]: w["answers"] for w in workers} == {mine: True, 1 - mine: False}
			wait_for(said, said="it is named") # what it has shown is taken for a tenth of a second


def test_more_than_fit(h2d):
	"""Idle ones are left out first; how many is said."""
	server = h2d(workers=1, listens=("tcp",), files={"big": "x" * (8 << 20)})
	idle = server.asked(300)
	with server.h1() as c:
		c.send(path="/big")
		def said():
			worker = json.loads(look(server))["workers"][0]
			mine = [found for found in worker["connections"] if found["client"] == name_of(c)]
			return worker if mine and mine[0]["waits_for"] == "the peer to read" else None
		worker = wait_for(said)
	# 300, the download, this look, and those that are not closed yet.
	assert len(worker["connections"]) == 255 and worker["left_out"] >= 300 + 2 - 255
	for raw in idle:
		raw.close()


def test_a_proxy_that_says_nothing(h2d, tmp_path):
	"""Its PROXY header is awaited."""
	server = h2d(listens=("tcp",), conf='trusted-proxies = {"unix"}',
		sections='listen "unix:%s" { proxy-protocol = true }' % (tmp_path / "proxied"))
	server.log.wait("listening on unix:%s" % (tmp_path / "proxied"))
	with contextlib.closing(socket.socket(socket.AF_UNIX)) as c:
		c.connect(str(tmp_path / "proxied"))
		def said():
			return [found for worker in json.loads(look(server))["workers"] for found in worker["connections"]
				if found["state"] == "handshake" and "proxy" in found["flags"]]
		assert wait_for(said)[0]["client"] == "unix"


def test_admin_alone(site):
	with site.connect() as c:
		for path in ("/status/connections", "/status/connections.json"):
			assert c.get(path).status == 404
	assert "<title>h2d: connections</title>" in look(site, "/status/connections")
