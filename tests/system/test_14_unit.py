"""-t looks at files with the eyes of h2d.service. A systemctl of the tests says what the unit is; test_71 asks the real
one."""
import os
import re
import subprocess

import pytest

from harness import needs_root
from server import H2D

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")
SHIPPED = dict(LoadState="loaded", ProtectSystem="strict", ProtectHome="read-only", PrivateTmp="yes",
	LogsDirectory="h2d", RuntimeDirectory="h2d", ReadWritePaths="", User="",
	CapabilityBoundingSet="cap_net_bind_service cap_setuid cap_setgid cap_kill")


@pytest.fixture
def check(cert, tmp_path):
	"""check(conf, KEY=value…): what -t says, beside the unit as it is shipped but for these keys."""
	root = tmp_path / "srv"
	(root / "up").mkdir(parents=True)
	conf = tmp_path / "h2d.conf"
	bin = tmp_path / "bin"
	bin.mkdir()
	systemctl = bin / "systemctl"

	def run(text, file=conf, status=0, binary=H2D, **keys):
		conf.write_text('listen "127.0.0.1:0" { tls = false }\n' + text + '\nserver "_" { root = "%s" upload-dir = "up" '
			'upload-public = true }\n' % root)
		unit = dict(SHIPPED, ExecStart="{ path=/usr/sbin/h2d ; argv[]=/usr/sbin/h2d -f %s ; ignore_errors=no }" % file)
		unit.update(keys)
		systemctl.write_text("#!/bin/sh\n[ \"$*\" = 'show --no-pager h2d.service' ] || exit 9\ncat <<'E'\n%s\nE\nexit %d\n" % (
			"\n".join("%s=%s" % row for row in unit.items()), status))
		systemctl.chmod(0o755)
		done = subprocess.run([binary, "-t", "-f", conf], stderr=subprocess.PIPE, text=True,
			env=dict(os.environ, PATH="%s:%s" % (bin, os.environ["PATH"])))
		assert done.returncode == 0, done.stderr
		return [line.replace(str(tmp_path), "TMP") for line in done.stderr.splitlines() if "h2d.service" in line]
	run.folder = tmp_path
	return run


def home(**keys):
	"""Whatever folder tests run in, it is a home or below /tmp: neither is in the way."""
	return dict(PrivateTmp="no", ProtectHome="no", **keys)


def test_a_folder_to_write_to(check):
	said = check('access-log = "%s/a.log"' % check.folder, **home())
	assert said == [
		'TMP/h2d.conf:2: warning: access-log "TMP/a.log": h2d.service may not write there '
		"(systemctl edit h2d: ReadWritePaths=TMP)",
		'TMP/h2d.conf:3: warning: upload-dir "TMP/srv/up": h2d.service may not write there '
		"(systemctl edit h2d: ReadWritePaths=TMP/srv)"]


@pytest.mark.parametrize("keys", [
	dict(ReadWritePaths="/nowhere -FOLDER/"), dict(ProtectSystem="full"), dict(ProtectSystem="no")])
def test_it_may_be_written_to(check, keys):
	keys = {k: v.replace("FOLDER", str(check.folder)) for k, v in keys.items()}
	assert check('error-log = "%s/e.log"' % check.folder, **home(**keys)) == []


@pytest.mark.parametrize("protect, refused", [("read-only", True), ("no", False)])
def test_a_home(check, protect, refused):
	said = check('pid-file = "/home/h2d.pid"', PrivateTmp="no", ProtectSystem="no", ProtectHome=protect)
	assert [re.sub(r"^.*?: warning: ", "", line) for line in said if "pid-file" in line] == refused * [
		'pid-file "/home/h2d.pid": h2d.service may not write there (systemctl edit h2d: ReadWritePaths=/home)']


def test_what_handlers_open(check):
	for name in ("in", "db"):
		(check.folder / name).mkdir()
	said = check('handler "t" { source = "%s/in" target = "%s/db/t" }' % (check.folder, check.folder), binary=HANDLERS, **home())
	assert [re.sub(r"^.*?: warning: ", "", line) for line in said if "upload-dir" not in line] == [
		'target "TMP/db/t": h2d.service may not write there (systemctl edit h2d: ReadWritePaths=TMP/db)']


def test_a_tmp_of_its_own(check):
	"""What is there is not there for the unit; whatever may be written."""
	said = check("", PrivateTmp="yes", ProtectHome="no")
	if str(check.folder).startswith(("/tmp/", "/var/tmp/")):
		assert [re.search(r"(\w+) \"TMP/srv\": .*", line).group() for line in said] == [
			'root "TMP/srv": h2d.service has a /tmp of its own (systemctl edit h2d: PrivateTmp=no)']


@needs_root("gives files to others")
@pytest.mark.parametrize("keys, refused", [
	({}, True),
	(dict(CapabilityBoundingSet="cap_chown cap_dac_read_search"), False),
	(dict(User="www-data"), False)])
def test_a_key_of_another_user(check, cert, keys, refused):
	key = check.folder / "key.pem"
	key.write_bytes(open(cert.key, "rb").read())
	key.chmod(0o600)
	os.chown(key, 12345, 12345)
	said = check('tls { certificate = "%s" certificate-key = "%s" }' % (cert.cert, key), **home(ProtectSystem="no", **keys))
	assert [line for line in said if "certificate-key" in line and "CAP_DAC_READ_SEARCH" in line] == said
	assert len(said) == refused


@pytest.mark.parametrize("keys", [
	dict(LoadState="not-found"), dict(file="/etc/h2d/h2d.conf"), dict(status=1), dict(ExecStart="")])
def test_it_is_not_the_units_configuration(check, keys):
	assert check("", **home(**keys)) == []
