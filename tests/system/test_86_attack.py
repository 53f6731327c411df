"""scripts/attack: one row of its table, and what it leaves when it is told to end; its figures are no test."""
import os
import pathlib
import re
import signal
import subprocess

from procs import wait_for
from server import H2D

ATTACK = [str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "attack"), "--table", "--h2d", H2D, "--lead", "0.1"]


def test_a_row():
	"""A server that was attacked survived, and it ended the attack."""
	out = subprocess.run([*ATTACK, "--seconds", "0.5", "pings"], check=True, capture_output=True, text=True, timeout=180).stdout
	head, alone, row = out.splitlines()
	assert head.split()[:3] == ["attack", "dispatch", "survived"]
	assert re.fullmatch(r"\(none\) +reuseport +\d+ +0  \d+/s", alone)
	name, mode, survived, steps = row.split()[:4]
	assert (name, mode, survived) == ("pings", "reuseport", "yes") and int(steps) > 0


def test_no_server_is_left(tmp_path):
	"""Its servers end with it, though SIGTERM ends it in the middle of a row."""
	attack = subprocess.Popen([*ATTACK, "--seconds", "60", "pings"], stdout=subprocess.DEVNULL,
		env=dict(os.environ, TMPDIR=str(tmp_path)), start_new_session=True)
	wait_for(lambda: list(tmp_path.glob("h2d-test-*/h2d.pid")))
	attack.send_signal(signal.SIGTERM)
	assert attack.wait(30) == 128 + signal.SIGTERM
	left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True).stdout
	assert left == ""
