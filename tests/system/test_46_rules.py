"""The rules of a file hold by whatever name it is asked for; guesses at passwords cost those who guess."""
import gzip
import os
import socket
import time

import pytest

import client
from procs import wait_for
from users import BCRYPT, basic, hashed, put_users


@pytest.fixture(params=["h2", "h1"])
def connect(request):
	return lambda server, how="tcp", **options: (
		server.connect(how, **options) if request.param == "h2" else server.h1(how, **options))


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


def test_what_lies_beside(h2d, connect):
	"""NAME.gz is NAME: it is not to be had by who may not have NAME. So is that of an index file."""
	server = h2d.new(files={name + end: gzip.compress(b"secret") if end else "secret"
		for name in ("secret.html", "dir/index.html", "x/denied.css", "open.html")
		for end in ("", ".gz", ".br", ".zst", ".gz.br")})
	path = put_users(server, anna=hashed("sesame"))
	server.write_conf(server="""
location "/secret.html" { auth-basic-file = "%s" }
location "/dir/index.html" { deny = {"all"} }
location "/x/denied.css" { deny = {"127.0.0.1"} }
""" % path)
	server.start(image=True)
	with connect(server) as c:
		for end in ("", ".gz", ".br", ".zst", ".%67z", ".gz.br"):
			assert c.get("/secret.html" + end).status == 401, end
			assert c.get("/secret.html" + end, basic("anna", "sesame")).status == 200, end
			assert c.get("/dir/index.html" + end).status == 403, end
			assert c.get("/x/denied.css" + end).status == 403, end
			assert c.get("/open.html" + end).status == 200, end
		assert c.get("/dir/").status == 403
		assert c.get("/.gz").status == 404


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
		streams = [rude.send("GET", "/in/f", basic("anna", "guess %d" % i)) for i in range(40)]
		assert rude.response(streams[0]).status == 401
		assert c.get("/in/f", basic("anna", "sesame")).status == 200
		assert c.get("/in/f", basic("bob", "bobs")).status == 200
		answers = [rude.response(s).status for s in streams[9:]]
		assert set(answers) == {503}
		for stream in streams[1:9]:
			rude.reset(stream)
	costly.wait_quiet()


def test_guesses_beside_somebody_known(costly):
	"""Ten wrong passwords a second on one connection: who is known goes on being answered, past the
	ten seconds that a verdict holds, from the same address."""
	waits = []
	with costly.connect("tcp", timeout=60) as rude, costly.connect("tcp", timeout=60) as c:
		assert c.get("/in/f", basic("anna", "sesame")).status == 200
		begun = time.monotonic()
		guesses = 0
		while time.monotonic() - begun < 12:
			while guesses < 10 * (time.monotonic() - begun):
				rude.send("GET", "/in/f", basic("bob", "guess %d" % guesses))
				guesses += 1
			asked = time.monotonic()
			assert c.get("/in/f", basic("anna", "sesame")).status == 200
			waits.append(time.monotonic() - asked)
			time.sleep(0.05)
	assert max(waits) < 15, max(waits)
	costly.wait_quiet()
