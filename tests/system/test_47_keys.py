"""Keys of handlers: rows of tests/handlers/conf.def, in the section handler "t" of h2d.conf."""
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from harness import needs_root
from procs import wait_for
from test_47_handlers import HANDLERS, PATIENT, link

ROOT = os.geteuid() == 0
NOBODY = 65534


def keys(server, speak="h2"):
	"""The lines of the request, and those of worker_init()."""
	with link(server, speak) as c:
		now, then = c.get("/t/keys/all").body.decode().split("\n--\n")
		return now.split("\n"), then.split("\n")


@pytest.mark.parametrize("speak", ["h2", "h1"])
@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_values(h2d, dispatch, speak):
	server = h2d(binary=HANDLERS, listens=("tcp",), dispatch=dispatch,
		sections='handler "t" { word = "w" file = "x" number = 8 choice = right list = {"p", "q r"} }')
	now, then = keys(server, speak)
	assert now == then == ["w %s  " % server.path("x"), "1 8 2048 60 0", "p;q r;"]


def test_a_reload_has_new_ones(h2d):
	server = h2d(binary=HANDLERS, listens=("tcp",), workers=2)
	assert keys(server)[1][1] == "1 7 2048 60 1"
	server.put_conf(server.conf_text + 'handler "t" { number = 9 flag = false }\n')
	server.reload()
	now, then = keys(server)
	assert now == then and now[1] == "0 9 2048 60 1"
	# One that is refused changes nothing.
	server.put_conf(server.conf_text + 'handler "t" { number = 901 }\n')
	refused = server.run("-s", "reload", check=1)
	assert "number must be a number from 1 to 100" in str(refused.stdout + refused.stderr)
	assert keys(server)[0] == now


@pytest.fixture
def elsewhere():
	"""A folder that no root is near, and that everybody may look into."""
	with tempfile.TemporaryDirectory(prefix="h2d-test-keys-") as folder:
		os.chmod(folder, 0o755)
		yield pathlib.Path(folder)


@pytest.mark.parametrize("user", ["root", "user"] if ROOT else ["user"])
def test_paths_widen_the_sandbox(h2d, user, elsewhere):
	"""What a row says is read or written needs no word in section sandbox."""
	folder = elsewhere
	(folder / "db").mkdir()
	(folder / "in").mkdir()
	(folder / "in" / "source").write_text("x")
	server = h2d.new(binary=HANDLERS, listens=("tcp",), conf='user = "nobody"' if ROOT and user == "root" else "",
		sections='handler "t" { source = "%s/in/source" target = "%s/db/t.sqlite" }' % (folder, folder),
		**({"user": NOBODY} if ROOT and user == "user" else {}))
	for path in (server.dir, folder):
		if ROOT:
			subprocess.run(["chown", "-R", str(NOBODY), path], check=True)
	server.start()
	with link(server, "h2") as c:
		assert [c.get("/t/keys/" + how).body for how in ("read", "write")] == [b"0", b"0"]
		assert sorted(p.name for p in (folder / "db").iterdir()) == ["t.sqlite", "t.sqlite-journal"]
		assert c.get("/t/sandbox/write?%s/in/a" % folder).body in (b"EACCES", b"ENOSYS")


@pytest.mark.parametrize("speak", ["h2", "h1"])
@pytest.mark.parametrize("how, said", [
	("wrong", r'handler t_keys read a number, but its key "word" is a string \(h2d_conf_number\)'),
	("unknown", r'handler t_keys: conf.def has no key "wrod" for t \(h2d_conf_string\)'),
])
def test_a_mistake_is_told(h2d, speak, how, said):
	server = h2d(binary=HANDLERS, listens=("tcp",))
	server.allow_alert("handler t_|signal 6")
	pid = server.worker_pids()[0]
	with link(server, speak) as c:
		with pytest.raises(Exception):
			c.get("/t/keys/" + how)
	server.log.wait(said, deadline=PATIENT)
	wait_for(lambda: server.worker_pids() not in ([], [pid]), said="another worker")


def told(conf, tmp_path, *args):
	(tmp_path / "www").mkdir(exist_ok=True)
	path = tmp_path / "h2d.conf"
	path.write_text('server "_" { root = "www" } %s\n' % ('user = "root"' if ROOT and "user =" not in conf else "") + conf)
	return subprocess.run([HANDLERS, "-f", path, *args], capture_output=True, text=True, timeout=PATIENT)


def test_the_command_line_knows_them(tmp_path):
	"""-t, -T and --explain."""
	conf = 'handler "t" { number = 8 target = "www/t.db" }\n'
	dump = told(conf, tmp_path, "-T", "--all").stdout
	assert re.search(r'^handler "t" \{\n\t# A word, "or" more\.\n\tword = "a \\"b\\"\?"$', dump, re.M)
	again = tmp_path / "again.conf"
	again.write_text(dump)
	assert subprocess.run([HANDLERS, "-f", again, "-T", "--all"], capture_output=True, text=True, timeout=PATIENT).stdout == dump
	why = told(conf, tmp_path, "--explain", "/t/keys/all").stdout
	assert re.search(r"^key +number = 8 +\S*h2d.conf:2$", why, re.M) and "word" not in why
	wrong = told('handler "t" { nmber = 8 }\n', tmp_path, "-t")
	assert (wrong.returncode, wrong.stderr) == (1, '%s/h2d.conf:2: unknown key "nmber" in handler "t": '
		"did you mean number?\n" % tmp_path)


@needs_root("becomes another user")
def test_what_the_user_may_not(tmp_path):
	os.chmod(tmp_path, 0o700)
	said = told('user = "nobody"\nhandler "t" { source = "h2d.conf" target = "www/t.db" }\n', tmp_path, "-t").stderr
	for key in ("source", "target"):
		assert re.search(r'h2d.conf:3: warning: %s ".*: Permission denied: its handler cannot open it' % key, said), said
