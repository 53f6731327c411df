"""The tree and the configuration that attacks (attacks.py) and honest clients (honest.py) meet."""
import os
import random

import attacks
import honest
from users import BCRYPT, hashed, put_users

PASSWORD = "sesame"  # anna's and the guests'; bob's is known to attackers
SERVER = """autoindex = true
archive = "tar"
upload-dir = "in"
upload-depth = 8
webdav = true
location "/old/" { redirect = "/new/" }
location "/in" { auth-basic-file = "%s" }"""


def lay_out(server, conf, sections):
	rng = random.Random(61)
	server.write("still/small.txt", b"small and still\n")
	server.write("still/cached.txt", b"".join(b"line %d %d\n" % (n, rng.randrange(10**9)) for n in range(5000)))
	server.write("still/disk.bin", rng.randbytes(600000))
	server.write("still/large.bin", rng.randbytes(4000000))
	server.write("in/secret.txt", b"a secret\n" * 100)
	server.write("in/secret.txt.gz", b"no gzip, but a secret\n")
	os.mkfifo(os.path.join(server.root, "still/fifo"))
	for n in range(50):
		server.write("list/file %d" % n, b"x" * n)
	for n in range(3000):
		server.write("many/file number %d" % n, b"")
	for n in range(3000):
		server.write("in/many/file number %d" % n, b"")
	for n in range(100):
		server.write("in/deep/d/e/e/p/e/r/%d" % n, b"x")
	for n in range(4):
		server.write("turn/r%d.txt" % n, attacks.whole(n, 20000))
		server.write("turn/p%d.bin" % n, attacks.whole(n, 100000))
	server.write("turn/m.bin", attacks.whole(0, 8192))
	guests = dict.fromkeys(("guest%d" % n for n in range(honest.GUESTS)), hashed(PASSWORD, BCRYPT % 6))
	users = put_users(server, anna=hashed(PASSWORD), bob=hashed("bobs", BCRYPT % 8), **guests)
	server.write_conf(conf, sections, SERVER % users)
