"""scripts/roll: machines are upgraded one after the other, and the first that fails stops it. Three servers, and an ssh
that runs its commands in their folders."""
import os
import subprocess

import pytest

import server as srv
from test_91_drain import health, is_drained

SCRIPT = os.path.join(srv.TOP, "scripts", "roll")
SSH = """#!/bin/sh
echo "$1 $2" >>"${0%/*}/said"
cd "${0%/*}/$1" && exec sh -c "$2"
"""
HEALTH = "test $(curl -q -s -o /dev/null -w %{http_code} --unix-socket admin.sock http://localhost/healthz) = 200"
# A new configuration, and the one of before.
CHANGE = {"--upgrade": "cp h2d.conf before.conf && cp new.conf h2d.conf && %s -s reload", "--back": "cp before.conf h2d.conf && %s -s reload"}


class Fleet:
	def __init__(self, h2d, folder):
		self.folder, self.machines = str(folder), {}
		self.h2d = "%s -f h2d.conf" % srv.H2D
		self.ssh = os.path.join(self.folder, "ssh")
		with open(self.ssh, "w") as f:
			f.write(SSH)
		os.chmod(self.ssh, 0o755)
		for name in ("one", "two", "three"):
			server = h2d(listens=("tcp",), files={"page": "page"})
			os.symlink(server.dir, os.path.join(self.folder, name))
			self.machines[name] = server

	def prepare(self, **more):
		"""What the new configuration of each adds."""
		for name, server in self.machines.items():
			with open(server.path("new.conf"), "w") as f:
				f.write(srv.with_user(server.conf_text + more.get(name, 'instance-name = "new"') + "\n"))

	def roll(self, commands, *options, check=0):
		"""What it has said."""
		for server in self.machines.values():
			server.baseline = None
			server.lint.forget()
		args = ["--ssh", self.ssh, "--h2d", self.h2d, "--health", HEALTH, "--settle", "0", "--timeout", "30", *options]
		for option, command in commands.items():
			args += [option, command.replace("%s", self.h2d)]
		done = subprocess.run([SCRIPT, *args, *self.machines], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
		assert done.returncode == check, done.stdout
		return [line[len("roll: "):] for line in done.stdout.splitlines() if line.startswith("roll: ")]

	def steps(self):
		"""What was run where: the words behind h2d -s, and what else there was."""
		with open(os.path.join(self.folder, "said")) as f:
			lines = [line.split(" ", 1) for line in f.read().splitlines()]
		return [(name, command.rpartition(" -s ")[2] if " -s " in command else "health") for name, command in lines
			if "healthz" not in command]

	def of(self, value):
		return {name: value(server) for name, server in self.machines.items()}

	def ids(self):
		return self.of(lambda server: server.status()["instance_name"])

	def all_well(self):
		return set(self.of(health).values()) == {(200, b"ok\n")}


@pytest.fixture
def fleet(h2d, tmp_path):
	return Fleet(h2d, tmp_path)


def test_a_change(fleet):
	fleet.prepare()
	assert fleet.roll(CHANGE) == ["one: begins", "one: is well", "two: begins", "two: is well", "three: begins", "three: is well"]
	assert set(fleet.ids().values()) == {"new"} and fleet.all_well()
	assert fleet.steps() == [(name, word) for name in fleet.machines for word in ("drain", "reload", "undrain")]


def test_an_upgrade(fleet):
	before = fleet.of(lambda server: server.pid)
	fleet.roll({"--upgrade": "%s -s upgrade", "--back": "false"})
	assert all(server.find_heir() for server in fleet.machines.values()) and fleet.all_well()
	assert not set(before.values()) & set(fleet.of(lambda server: server.pid).values())


@pytest.mark.parametrize("take_all", [False, True])
def test_a_change_that_fails(fleet, take_all):
	"""A bad configuration: the machine goes on with the one of before, the next is not touched."""
	fleet.prepare(two="nonsense = 1")
	said = fleet.roll(CHANGE, *["--all"] * take_all, check=1)
	assert said == ["one: begins", "one: is well", "two: begins", "two: failed", "two: taken back",
		"one: taken back" if take_all else "upgraded before it, and left so: one "]
	assert fleet.ids() == {"one": "" if take_all else "new", "two": "", "three": ""} and fleet.all_well()
	assert "three" not in {name for name, _ in fleet.steps()}


def test_a_machine_that_is_not_well(fleet):
	"""What was changed runs, but health does not say 200: it is taken back, too."""
	fleet.prepare()
	said = fleet.roll(CHANGE, "--timeout", "3", "--health", HEALTH + " && ! grep -q new h2d.conf", check=1)
	assert said == ["one: begins", "one: failed", "one: taken back"]
	assert fleet.all_well()


def test_nothing_helps(fleet):
	"""A machine that is well neither way stays out of the balancer."""
	said = fleet.roll({"--upgrade": "false", "--back": "false"}, check=1)
	assert said[-1] == "one: is not well either way: it stays drained, see its log"
	assert is_drained(fleet.machines["one"]) and not is_drained(fleet.machines["two"])


def test_usage():
	for args in ([], ["a"], ["--upgrade", "true", "a"], ["--upgrade", "true", "--back", "true"], ["--what", "a"], ["--ssh"]):
		done = subprocess.run([SCRIPT, *args], stderr=subprocess.PIPE, text=True)
		assert done.returncode == 2 and "usage:" in done.stderr
