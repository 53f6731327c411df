"""README.md tells the truth: its commands run, its configuration is one, its files are there."""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

import pytest

import procs
from harness import needs_root
from server import H2D

TOP = pathlib.Path(__file__).resolve().parents[2]
README = (TOP / "README.md").read_text()


def section(title, text=README):
	return re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(title), text, re.M | re.S).group(1)


def commands(text):
	return [line.strip().split("  #")[0].strip() for line in text.splitlines() if line.startswith("    ")]


def test_from_a_clone_to_a_page():
	"""scripts/run prints what to try, and that works; Ctrl-C ends it."""
	port, tls_port = procs.free_port(), procs.free_port()
	told = commands(section("From a clone to a page"))
	assert told[0] == "./scripts/run"
	run = subprocess.Popen(["./scripts/run", "--port", str(port), "--tls-port", str(tls_port)], cwd=TOP,
		stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
	try:
		seen = []
		for line in run.stdout:
			seen.append(line)
			if "serving: generation" in line:
				break
		text = "".join(seen)
		assert len(seen) < 30, "what configure and make say is for a log"
		assert "certificate-key" not in text, "a certificate that it has made itself is no reason to warn"
		tries = [re.sub(r":8443\b", f":{tls_port}", re.sub(r":8080\b", f":{port}", c)) for c in told[1:]]
		assert len(tries) == 2
		for c in tries:
			assert c in text, f"not printed: {c}\n{text}"
			page = subprocess.run(shlex.split(c), capture_output=True, text=True, timeout=60)
			assert page.returncode == 0 and "<html" in page.stdout, page
		for link in set(re.findall(r'(?:href|src)="(/[^"]*)"', page.stdout)) - {"/no-such-page"}:
			found = subprocess.run(["curl", "-sfo", "/dev/null", "http://localhost:%d%s" % (port, link)], timeout=60)
			assert found.returncode == 0, "the sample page leads nowhere: " + link
		os.killpg(run.pid, signal.SIGINT)
		assert run.wait(procs.DEADLINE * procs.PATIENCE) == 0
	finally:
		if run.poll() is None:
			os.killpg(run.pid, signal.SIGKILL)


@pytest.mark.parametrize("script", ["build", "build-release", "coverage", "dev-cert", "docs", "fuzz", "install-deps", "on-debian", "roll", "run", "test", "ticket-keys", "train"])
def test_scripts_have_help(script):
	done = subprocess.run([TOP / "scripts" / script, "--help"], capture_output=True, text=True)
	assert done.returncode == 0 and done.stderr == "" and script in done.stdout, done
	assert max(len(line) for line in done.stdout.splitlines()) <= 80


@pytest.mark.parametrize("built", ["man/h2d.8", "man/h2d.conf.5", "systemd/h2d.service"])
def test_built_pages_name_no_variable(built):
	"""configure's variables have been replaced."""
	assert not re.findall(r"@[A-Za-z]+@", (pathlib.Path(H2D).resolve().parents[1] / built).read_text())


@pytest.mark.parametrize("page", ["h2d.8.in", "h2d.conf.5.in"])
def test_manual_pages(page):
	"""h2d(8) has the sections of a server's page, and the guide's pages that are named exist."""
	text = (TOP / "man" / page).read_text()
	if page == "h2d.8.in":
		assert {"ENVIRONMENT", "FILES", "EXIT STATUS", "DIAGNOSTICS", "SEE ALSO", "AUTHORS", "BUGS"} < set(re.findall(r"^\.Sh (.*)$", text, re.M))
	for name in re.findall(r"@docdir@/(guide/[\w-]+\.md)", text):
		assert (TOP / "docs" / name).exists(), name


def test_installed_pages_link_to_what_is_installed(tmp_path):
	build = pathlib.Path(H2D).resolve().parents[1]
	subprocess.run(["make", "-s", "-C", build, "install-dist_docDATA", "install-data-local", "install-data-hook", "DESTDIR=%s" % tmp_path],
		check=True, timeout=60, stdout=subprocess.DEVNULL)
	pages = list(tmp_path.rglob("*.md"))
	assert {"README.md", "uploads.md", "nginx.md"} < {page.name for page in pages}
	for page in pages:
		for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
			assert (page.parent / link).exists(), (page, link)


def test_a_clone_below_a_name_with_a_blank(tmp_path):
	"""Which autotools cannot build in: scripts/run says so before it installs or builds anything."""
	shutil.copytree(TOP / "scripts", tmp_path / "a b/scripts")
	done = subprocess.run([tmp_path / "a b/scripts/run"], capture_output=True, text=True, timeout=60)
	assert done.returncode == 1 and done.stderr.count("\n") == 1 and '/a b": move the clone' in done.stderr, done
	assert os.listdir(tmp_path / "a b") == ["scripts"]


@pytest.mark.parametrize("sudo", ["refuses", "is not there"])
def test_packages_that_a_user_may_not_install(tmp_path, sudo):
	"""One line, which is what root has to run."""
	tools = {"id": "[ $1 = -u ] && echo 1000 || echo anna", "dpkg-query": "true", "apt-get": "exit 9", "node": "true"}
	for name, text in {**tools, **({"sudo": "echo anna is not in the sudoers file >&2; exit 1"} if sudo == "refuses" else {})}.items():
		(tmp_path / name).write_text("#!/bin/sh\n%s\n" % text)
		(tmp_path / name).chmod(0o755)
	for name in ("awk", "bash", "dirname"):
		(tmp_path / name).symlink_to(shutil.which(name))
	done = subprocess.run([TOP / "scripts/install-deps", "build"], capture_output=True, text=True, timeout=60,
		env={"PATH": str(tmp_path)})
	assert done.returncode == 1 and done.stderr.count("\n") == 1, done
	assert "run as root: apt-get install -y --no-install-recommends autoconf automake" in done.stderr, done


def test_the_configuration(tmp_path, cert):
	text = section("The configuration")
	conf = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
	for told, real in (("/srv/www", TOP / "site"), ("/etc/h2d/tls/server.crt", cert.cert), ("/etc/h2d/tls/server.key", cert.key)):
		assert told in conf
		conf = conf.replace(told, str(real))
	path = tmp_path / "h2d.conf"
	path.write_text(conf.replace('user = "h2d"', 'user = "nobody"'))
	done = subprocess.run([H2D, "-t", "-f", path], capture_output=True, text=True, timeout=60)
	assert done.returncode == 0, done.stderr


def test_without_a_configuration_file(h2d, cert):
	for c in commands(section("Without a configuration file", (TOP / "docs/guide/getting-started.md").read_text())):
		c = c.replace("/srv/www", str(TOP / "site")).replace("server.key", cert.key).replace("server.crt", cert.cert)
		argv = shlex.split(c)
		assert argv[0] == "h2d"
		done = subprocess.run([H2D, *argv[1:], "-u", "root", "-t"], capture_output=True, text=True, timeout=60)
		assert done.returncode == 0, done.stderr


@needs_root("makes a user and folders, of a file system of its own")
def test_install(tmp_path):
	"""What stands behind `make install` there, word by word, where nothing is yet: the test has /etc, /srv and /run of its own."""
	told = [line.split("  #")[0].replace("sudo ", "") for line in commands(section("Install")) if "useradd" in line or "/srv/www" in line]
	told = [line for line in told if "docker" not in line]
	assert len(told) == 3
	for name in ("etc", "work"):
		(tmp_path / name).mkdir()
	script = """set -e
mount -t tmpfs none /run
mount -t tmpfs none /srv
mount -t tmpfs none /var/log
mount -t overlay -o lowerdir=/etc,upperdir=%s/etc,workdir=%s/work none /etc
mkdir -p /etc/h2d
cp %s /etc/h2d/h2d.conf
%s
%s -f /etc/h2d/h2d.conf -t
""" % (tmp_path, tmp_path, TOP / "conf" / "installed.conf", "\n".join(told), H2D)
	done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
	assert done.returncode == 0 and "configuration ok" in done.stderr + done.stdout, done.stderr


def test_the_limits_of_security_md():
	"""Each key of the sections limits and timeouts, with its default and a reason, and no other."""
	text, table = (TOP / "SECURITY.md").read_text(), (TOP / "src/conf/conf.def").read_text()
	said = {key: default for key, default in re.findall(r"^\| `([\w.-]+)` \| (\S+) \| \S.* \|$", text, re.M)}
	keys = {section.lower().replace("handling", "timeouts") + "." + key: default for section, key, default
		in re.findall(r'^CONF_(LIMITS|TIMEOUTS|HANDLING)\("([\w-]+)",\s*\w+,\s*\w+,\s*"(.*?)",', table, re.M)}
	assert len(keys) > 10 and said == keys, "SECURITY.md has a row for each key, with its default"
	most = re.search(r'^CONF_GLOBAL\("worker-connections",\s*\w+,\s*\w+,\s*"(\d+)"', table, re.M).group(1)
	assert "`worker-connections` (%s)" % most in text
	for name in re.findall(r"\]\(([^)]+)\)|`((?:scripts|tests)/[\w./]+)", text):
		assert (TOP / (name[0] or name[1])).exists(), name


def test_what_it_names_exists():
	for name in re.findall(r"\./(scripts/\w+)", README):
		assert os.access(TOP / name, os.X_OK), name
	for name in re.findall(r"\]\((?!http)([^)#]+)\)|`([a-z]+/[\w./-]+\.\w+)`", README):
		name = name[0] or name[1]
		assert (TOP / name).exists(), name
	for name in ("HACKING.md", "LICENSE"):
		assert name in README and (TOP / name).exists()
