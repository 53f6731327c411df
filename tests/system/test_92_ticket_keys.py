"""scripts/ticket-keys: one file of keys for three machines. A client that comes to any of them resumes its session, also
while a rotation is on its way.

H2D_RESUMPTIONS: how many (100 for each version of TLS).
"""
import os
import random
import subprocess

import pytest

import procs
import server as srv
from test_40_tickets import VERSIONS, Sessions, conf

SCRIPT = os.path.join(srv.TOP, "scripts", "ticket-keys")
RESUMPTIONS = int(os.environ.get("H2D_RESUMPTIONS", "100"))
PUSH = 'cp "$1" "$2/tickets.new" && mv "$2/tickets.new" "$2/tickets"'


def keys(*args, check=0):
	done = subprocess.run([SCRIPT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	assert done.returncode == check, (args, done)
	return done.stderr


def read(path):
	with open(path, "rb") as f:
		data = f.read()
	return [data[i:i + 80] for i in range(0, len(data), 80)]


def taken(server):
	return server.log_text().count("session tickets: using keys of")


def push(file, machines):
	"""To these; returns when each has taken it."""
	before = [taken(m) for m in machines]
	keys("push", file, PUSH, *(m.dir for m in machines))
	for m, n in zip(machines, before):
		m.reload()  # by itself it would be by now, or in a minute
		procs.wait_for(lambda: taken(m) > n, said="the keys")  # its log is read by a thread


@pytest.mark.parametrize("version", VERSIONS)
def test_resumptions(h2d, tmp_path, version):
	"""Four rotations, each of which reaches one machine after the other while the client goes on: none is refused."""
	file = str(tmp_path / "tickets")
	keys("make", file)
	machines = [h2d.new(workers=2, listens=("tls",)) for _ in range(3)]
	keys("push", file, PUSH, *(m.dir for m in machines))
	sessions = []
	for m in machines:
		conf(m, 'session-ticket-key-file = "%s"' % m.path("tickets"))
		m.start()
		sessions.append(Sessions(m, version))
		sessions[-1].context = sessions[0].context  # Python's sessions belong to one
	choice = random.Random(1)
	state = {"newest": None, "resumed": 0}

	def come(s):
		resumed = s.come(state["newest"])
		state["newest"] = s.newest
		return resumed

	def go_on(times):
		for _ in range(times):
			assert come(choice.choice(sessions)), "%d were resumed" % state["resumed"]
			state["resumed"] += 1

	assert not come(sessions[0])
	oldest = state["newest"]
	each = -(-RESUMPTIONS // 16)
	for _ in range(4):
		go_on(each)
		keys("rotate", file)
		for i in range(3):
			push(file, machines[i:i + 1])
			go_on(each)
		keys("push", file, "true", *(m.dir for m in machines))  # it is everywhere by now
	assert state["resumed"] >= RESUMPTIONS
	assert all(s.come(oldest) for s in sessions), "of four rotations ago"


def test_rotations(tmp_path):
	"""What waits encrypts next; what encrypted is kept, six of them; nothing is used that is not everywhere."""
	file = str(tmp_path / "tickets")
	keys("make", file)
	seen = [read(file)]
	assert len(seen[0]) == 2 and os.stat(file).st_mode & 0o777 == 0o600
	assert "exists" in keys("make", file, check=1)
	assert "push it first" in keys("rotate", file, check=1)
	keys("rotate", "--force", file)
	assert "not on b" in keys("push", file, 'test "$2" != b', "a", "b", "c", check=1)
	assert "push it first" in keys("rotate", file, check=1)
	for _ in range(9):
		seen.append(read(file))
		keys("push", file, 'test -s "$1" && test -n "$2"', "a", "b", "c")
		keys("rotate", file)
		assert read(file)[0] == seen[-1][1] and read(file)[2] == seen[-1][0]
	assert len(read(file)) == 8 and len({k for one in [*seen, read(file)] for k in one}) == 12
	assert os.stat(file).st_mode & 0o777 == 0o600


def test_one_key(tmp_path):
	"""A file by `openssl rand 80` has none that waits: it gets one, and is pushed before the rotation."""
	file = tmp_path / "tickets"
	file.write_bytes(b"k" * 80)
	file.chmod(0o600)
	assert "push it first" in keys("rotate", str(file), check=1)
	assert read(file)[0] == b"k" * 80 and len(read(file)) == 2
	keys("push", str(file), "true", "a")
	keys("rotate", str(file))
	assert read(file)[2] == b"k" * 80


BAD = {": no key in it": (b"", 0o600), "not a multiple of 80 bytes": (b"k" * 79, 0o600), "duplicate key": (b"k" * 160, 0o600),
	"others may read it": (bytes(range(80)), 0o644), "9 keys, which is more than 8": (os.urandom(720), 0o600)}


@pytest.mark.parametrize("said", BAD)
def test_check(tmp_path, said):
	data, mode = BAD[said]
	file = tmp_path / "tickets"
	file.write_bytes(data)
	file.chmod(mode)
	for args in (("check", str(file)), ("rotate", str(file)), ("push", str(file), "exit 9", "a")):
		assert said in keys(*args, check=1)
	assert file.read_bytes() == data


def test_usage(tmp_path):
	for args in ((), ("make",), ("push", "a", "b"), ("bake", "a"), ("rotate", "--force")):
		assert "usage:" in keys(*args, check=2)
	assert "no such file" in keys("check", str(tmp_path / "none"), check=1)
