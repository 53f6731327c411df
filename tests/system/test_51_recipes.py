"""The configurations that h2d.conf(5) and h2d(8) show are configurations: h2d -t takes each, as it stands there."""
import os
import pathlib
import re
import subprocess

import pytest

import client_ca
import harness
from server import H2D, with_user

TOP = pathlib.Path(__file__).resolve().parents[2]
OTHER = re.compile(r"(\[Service\]|# \S+\.path|curl |h2d |openssl )")  # units and commands, by their first words
# Where a block may stand: some have whole files, others what lies in one, or in a server.
PLACES = "%s", '%s\nserver "_" { root = "/srv/www" }', 'tls { certificate = "/etc/h2d/c" certificate-key = "/etc/h2d/k" }\n%s', \
	'listen "127.0.0.1:0" { tls = true }\ntls { certificate = "/etc/h2d/c" certificate-key = "/etc/h2d/k" }\n' \
	'server "_" { root = "/srv/www" }\n%s', 'server "_" { root = "/srv/www"\n%s\n}', \
	'listen "127.0.0.1:0" { tls = true }\ntls { certificate = "/etc/h2d/c" certificate-key = "/etc/h2d/k" }\n' \
	'server "_" { root = "/srv/www"\n%s\n}\n'
FOLDERS = "/srv/www/up", "/srv/www/drop", "/srv/www/files", "/srv/hosts", "/srv/img", "/srv/media", "/srv/example", "/srv/internal", \
	"/run/h2d", "/var/log/h2d", "/etc/h2d/tls", "/etc/h2d/passwords"


def blocks():
	for page in ("h2d.conf.5.in", "h2d.8.in"):
		text = (TOP / "man" / page).read_text()
		for found in re.finditer(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", text, re.M | re.S):
			block = found[1].replace("\\-", "-").replace("\\e", "\\")
			if not OTHER.match(block):
				yield pytest.param(block, id="%s:%d" % (page, text.count("\n", 0, found.start()) + 1))


@pytest.fixture(scope="module")
def staff(tmp_path_factory):
	return client_ca.ClientCa(tmp_path_factory.mktemp("ca"), "staff")


@pytest.fixture(scope="module")
def rsa(tmp_path_factory):
	return harness.Certificate(str(tmp_path_factory.mktemp("rsa")), kind="rsa")


@pytest.fixture
def machine(tmp_path, cert, rsa, staff):
	"""Puts what the documents speak of below a folder, and a configuration that means it."""
	for folder in FOLDERS:
		(tmp_path / folder[1:]).mkdir(parents=True, exist_ok=True)
	for kind, names in ((cert.cert, ("c", "tls/server.crt", "tls/example.crt")), (cert.key, ("k", "tls/server.key", "tls/example.key"))):
		for name in names:
			os.symlink(kind, tmp_path / "etc/h2d" / name)
	for kind, name in ((cert.cert, "example.ecdsa.pem"), (cert.key, "example.ecdsa.key"), (rsa.cert, "example.rsa.pem"),
			(rsa.key, "example.rsa.key"), (staff.cert, "staff-ca.pem"), (staff.crl, "staff-crl.pem")):
		os.symlink(kind, tmp_path / "etc/h2d" / name)
	for users in ("users", "passwords/users"):
		(tmp_path / "etc/h2d" / users).write_text("ann:$6$abcdefgh$" + "x" * 86 + "\n")
	(tmp_path / "etc/h2d/moved.txt").write_text("/old.html /new.html\n")

	def put(text):
		moved = re.sub(r"(?<=[\" :])(/(?:srv|etc|run|var)/)", str(tmp_path) + r"\1", text.replace('user = "h2d"', 'user = "nobody"'))
		(tmp_path / "etc/h2d/h2d.conf").write_text(with_user(moved))
		return subprocess.run([H2D, "-t", "-f", tmp_path / "etc/h2d/h2d.conf"], stderr=subprocess.PIPE, text=True,
			env=dict(os.environ, SITE_ROOT=str(tmp_path / "srv/www")))
	return put


@pytest.mark.parametrize("block", blocks())
def test_recipe(machine, block):
	text, _, _ = block.partition("\n# moved.txt\n")  # a second file
	said = []
	for place in PLACES:
		done = machine(place % text)
		if done.returncode == 0:
			return
		said.append(done.stderr)
	pytest.fail("\n".join(said))


def test_a_slip_is_found(machine):
	for place in PLACES:
		assert machine(place % 'cache-controll = "no-cache"').returncode == 1
