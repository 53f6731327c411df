"""Programs that read logs of others understand h2d's: fail2ban with the filter that is shipped, GoAccess."""
import json
import os
import re
import subprocess

from tree import program
from users import basic, hashed, put_users

FILTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "fail2ban", "h2d.filter.conf")


def test_fail2ban(h2d, tmp_path):
	"""It sees who guessed, over either protocol, in the file and in the journal; and nobody else."""
	server = h2d.new(listens=("tcp",), files={"f": "in"}, server='auth-basic-file = "users"', conf='log-level = debug')
	put_users(server, anna=hashed("secret"))
	server.start()
	log = tmp_path / "error.log"
	for connect in (server.connect, server.h1):
		seen = len(server.log.lines)
		with connect() as c:
			assert c.get("/f").status == 401
			assert c.get("/f", basic("anna", "guess")).status == 401
		server.log.wait("user or password is wrong$|more like it", since=seen)  # one line a second
		with connect() as c:
			while c.get("/f", basic("anna", "secret")).status == 429:  # a guess delays what follows
				pass
	lines = server.log.lines[:]
	said = [line for line in lines if line.endswith(("user or password is wrong", "delayed after wrong passwords"))]
	assert said and all(re.search(r"connection 127\.0\.0\.1: ", line) for line in said)
	for text in ("\n".join(lines), "\n".join("Nov 23 10:00:00 host h2d[77]: " + line for line in lines)):
		log.write_text(text + "\n")
		done = subprocess.run([program("fail2ban-regex"), "--print-all-matched", str(log), FILTER], stdout=subprocess.PIPE,
			stderr=subprocess.STDOUT, text=True, timeout=60)
		matched = re.search(r"^Lines: \d+ lines, 0 ignored, (\d+) matched", done.stdout, re.M)
		assert matched and int(matched.group(1)) == len(said), done.stdout


def test_goaccess(h2d, tmp_path):
	"""By its name for the format, --log-format=COMBINED."""
	server = h2d(listens=("tcp",), files={"page.html": "x" * 100}, server='access-log = "%s"' % (tmp_path / "access.log"))
	with server.connect() as c:
		for _ in range(3):
			assert c.get("/page.html").status == 200
		assert c.get("/none").status == 404
	assert server.quit() == 0
	done = subprocess.run([program("goaccess"), str(tmp_path / "access.log"), "--log-format=COMBINED", "-o", str(tmp_path / "out.json"),
		"--no-global-config"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, cwd=tmp_path)
	assert done.returncode == 0, done.stdout
	general = json.loads((tmp_path / "out.json").read_text())["general"]
	assert (general["valid_requests"], general["failed_requests"]) == (4, 0), general
