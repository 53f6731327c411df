"""The rules of a file hold by whatever name it is asked for; guesses at passwords cost those who guess."""
import contextlib
import os
import socket
import threading
import time

import pytest

import client
from procs import wait_for
from users import BCRYPT, basic, hashed, put_users


# --- every way to a file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["image", "disk"])
def test_uploads_by_their_alias(h2d, connect, source):
	"""GET /files/NAME is a way to /up/NAME: who may not go the one does not get there by the other."""
	names = ("open", "denied", "asked", "both", "both.gz")
	server = h2d.new(files={"up/" + name: "content of " + name for name in names})
	path = put_users(server, anna=hashed("sesame"), bob=hashed("bobs"))
	put_users(server, "others", anna=hashed("sesame"))
	server.write_conf(server="""
upload-dir = "up"
location "/up/denied" { deny = {"all"} }
location "/up/asked" { auth-basic-file = "%s"  auth-basic-realm = "the folder" }
location "/up/both" { auth-basic-file = "%s" }
location "/files/both" { auth-basic-file = "%s" }
location "/files/both.gz" { auth-basic-file = "%s" }
""" % (path, path, server.path("others"), server.path("others")),
		sections="cache { max-file-size = \"%s\" }" % ("1M" if source == "image" else "1"))
	server.start(image=True)
	with connect(server) as c:
		assert c.get("/files/open").body == b"content of open"
		for way in ("/up/denied", "/files/denied", "/files/%64enied", "/files//denied"):
			assert c.get(way).status == 403, way
			assert c.request("HEAD", way).status == 403, way
		for way in ("/up/asked", "/files/asked"):
			for headers in ([], basic("anna", "wrong")):
				answer = c.get(way, headers)
				assert answer.status == 401, way
				assert 'realm="the folder"' in answer.get("www-authenticate")
			answer = c.get(way, basic("anna", "sesame"))
			assert answer.body == b"content of asked"
			assert answer.get("content-security-policy") == "sandbox"
		# Two files of users: both must know them. What lies beside it is held, too.
		for way in ("/files/both", "/files/both.gz"):
			assert c.get(way).status == 401
			assert c.get(way, basic("bob", "bobs")).status == 401
			assert c.get(way, basic("anna", "sesame")).status == 200, way
		assert c.get("/files/none").status == 404


def test_error_pages_are_for_everybody(h2d, connect):
	"""They are said to whom the error is said, however their file is held; by its name the rules hold."""
	server = h2d.new(files={"in/401.html": "the door", "in/403.html": "the wall", "in/f": "secret"})
	path = put_users(server, anna=hashed("sesame"))
	server.write_conf(server="""
error-page "401" { file = "/in/401.html" }
error-page "403" { file = "/in/403.html" }
location "/in" { auth-basic-file = "%s" }
location "/in/403.html" { deny = {"all"} }
location "/denied" { deny = {"all"} }
""" % path)
	server.start(image=True)
	with connect(server) as c:
		answer = c.get("/in/401.html")
		assert (answer.status, answer.body) == (401, b"the door")
		answer = c.get("/denied")
		assert (answer.status, answer.body) == (403, b"the wall")
		assert c.get("/in/403.html", basic("anna", "sesame")).status == 403
		assert c.get("/in/401.html", basic("anna", "sesame")).status == 200


# --- guesses ---------------------------------------------------------------------------------------------


def from_address(server, address):
	return client.Client(socket.create_connection(("127.0.0.1", server.ports["tcp"]), 30,
		source_address=(address, 0)), timeout=60)


@pytest.fixture
def costly(h2d):
	"""A password whose check takes a quarter of a second, and two users."""
	server = h2d.new(files={"in/f": "secret"})
	path = put_users(server, anna=hashed("sesame", BCRYPT % 12), bob=hashed("bobs", BCRYPT % 12))
	server.write_conf(server="location \"/in\" { auth-basic-file = \"%s\" }" % path)
	server.start(image=True)
	# Old enough that its time stamps tell every later change.
	wait_for(lambda: time.time() - os.stat(path).st_ctime > 2.1)
	return server


def test_guesses_of_others(costly):
	"""Who asks from elsewhere is answered before most of forty guesses are."""
	with from_address(costly, "127.0.0.2") as rude, from_address(costly, "127.0.0.1") as c:
		with rude.corked():  # all are there before the first is known to be wrong
			streams = [rude.send("GET", "/in/f", basic("anna", "guess %d" % i)) for i in range(40)]
		assert rude.response(streams[0]).status == 401
		assert c.get("/in/f", basic("anna", "sesame")).status == 200
		assert c.get("/in/f", basic("bob", "bobs")).status == 200
		answers = [rude.response(s).status for s in streams[9:]]
		assert set(answers) == {503}
		for stream in streams[1:9]:
			rude.reset(stream)
	costly.wait_quiet()


class Guessers(contextlib.AbstractContextManager):
	"""Each address keeps nine wrong passwords of one user outstanding, for as long as a test lasts."""

	def __init__(self, server, addresses, user):
		self.over = threading.Event()
		self.threads = [threading.Thread(target=self.run, args=(server, a, user))
			for a in addresses]
		self.first = threading.Barrier(len(self.threads) + 1)
		self.statuses = set()
		for t in self.threads:
			t.start()
		self.first.wait(60)

	def run(self, server, address, user):
		with from_address(server, address) as c:
			streams = [c.send("GET", "/in/f", basic(user, "guess %d of %s" % (n, address))) for n in range(9)]
			for n in range(9, 10**6):
				answer = c.response(streams.pop(0))
				self.statuses.add(answer.status)
				if n == 10:
					self.first.wait(60)
				if self.over.is_set() and n > 10:
					break
				streams.append(c.send("GET", "/in/f", basic(user, "guess %d of %s" % (n, address))))
				if answer.status == 429:
					self.over.wait(0.05)
			for stream in streams:
				c.reset(stream)

	def __exit__(self, *exc):
		self.over.set()
		for t in self.threads:
			t.join(60)


@pytest.fixture
def many_users(h2d):
	server = h2d.new(files={"in/f": "secret"}, workers=1)
	users = {"u%d" % n: hashed("right %d" % n, BCRYPT % 8) for n in range(16)}
	path = put_users(server, anna=hashed("sesame", BCRYPT % 8), **users)
	server.write_conf(server="location \"/in\" { auth-basic-file = \"%s\" }" % path)
	server.start(image=True)
	return server


@pytest.mark.parametrize("addresses", [["127.0.0.%d" % n for n in range(2, 12)], ["127.0.0.1"]],
	ids=["elsewhere", "same-address"])
def test_right_passwords_beside_guesses(many_users, addresses):
	"""Guesses wait for their own delay, and take no place of those whose password is right: whether they
	come from ten other addresses or from the one that all share."""
	with Guessers(many_users, addresses, "anna") as rude:
		with from_address(many_users, "127.0.0.1") as c:
			answers = [c.get("/in/f", basic("u%d" % n, "right %d" % n)).status for n in range(16)]
	assert answers == [200] * 16
	assert 429 in rude.statuses and rude.statuses <= {401, 429, 503}
	assert many_users.status()["totals"]["limit_passwords"] > 0
	many_users.log.wait(r"connection 127\.0\.0\.\d+: login delayed after wrong passwords")
	many_users.wait_quiet()
