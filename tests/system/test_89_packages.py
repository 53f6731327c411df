"""Debian's packages: built from this tree, looked at by lintian, installed, upgraded and purged under a real systemd."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import balanced
import harness
import procs
import test_71_systemd as systemd
from server import H2D

pytestmark = [pytest.mark.xdist_group("systemd"), pytest.mark.slow]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Machine(systemd.Machine):
	"""A Debian with nothing of h2d but the packages, in /debs."""
	packages = None

	def install(self, cert):
		shutil.copytree(self.packages, self.stage + "/debs")
		self.put("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 0\n", 0o755)

	def status(self):
		return self.run("dpkg-query", "-W", "-f", "${db:Status-Status}", "h2d").stdout


@pytest.fixture(scope="module")
def debs():
	"""As users build them with a handler of their own, but without optimisation and debug information: the other sections test that."""
	folder = tempfile.mkdtemp(prefix="h2d-debs-")
	with open(folder + ".site", "w") as f:
		f.write("enable_lto=no\n")
	done = subprocess.run([os.path.join(TOP, "packaging", "build-deb"), folder,
		"--with-handlers=" + os.path.join(TOP, "examples", "skeleton")], stdout=subprocess.PIPE,
		stderr=subprocess.STDOUT, text=True, env={**{k: v for k, v in os.environ.items()
			if not k.startswith(("MAKE", "MFLAGS"))}, "DEB_BUILD_OPTIONS": "nocheck noautodbgsym parallel=2",
			"DEB_CFLAGS_APPEND": "-O0 -g0 -U_FORTIFY_SOURCE", "CONFIG_SITE": folder + ".site"})
	os.unlink(folder + ".site")
	assert done.returncode == 0, done.stdout[-6000:]
	yield folder
	shutil.rmtree(folder)


BUILDER = """#!/bin/sh
# In the place of dpkg-buildpackage: it says what it would build.
find . -type f
dpkg-parsechangelog -S Version
touch ../h2d.deb ../h2d.changes ../h2d.buildinfo
"""


def files_of_tree():
	"""Those that git knows; where there is none, what is there but what was built there."""
	done = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
	if done.returncode == 0:
		return [name for name in done.stdout.split("\0") if os.path.isfile(os.path.join(TOP, name))]
	found = [os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "**"), recursive=True, include_hidden=True)]
	return [name for name in found if os.path.isfile(os.path.join(TOP, name)) and not name.startswith(("build", "dist/", ".git/"))]


def test_the_archive(tmp_path):
	"""make dist takes all that git knows."""
	if not os.path.exists(os.path.join(TOP, ".git")):
		pytest.skip("not a clone")
	build = os.path.dirname(os.path.dirname(H2D))
	subprocess.run(["make", "-s", "-C", build, "distdir=%s" % (tmp_path / "h2d"), "distdir"], check=True, timeout=300,
		stdout=subprocess.DEVNULL)
	assert [name for name in files_of_tree() if not os.path.exists(tmp_path / "h2d" / name)] == [".gitignore"]


def test_without_git(tmp_path):
	"""Of a tree as an archive has it, all is built but what an earlier build has left in it, and nothing is missing."""
	known = files_of_tree()
	for name in known + ["build/src/main.o", "build-asan/x", "dist/h2d.deb", ".git/x"]:
		os.makedirs(os.path.dirname(tmp_path / "h2d" / name), exist_ok=True)
		if name in known:
			shutil.copy2(os.path.join(TOP, name), tmp_path / "h2d" / name)
		else:
			(tmp_path / "h2d" / name).touch()
	(tmp_path / "bin").mkdir()
	(tmp_path / "bin" / "dpkg-buildpackage").write_text(BUILDER)
	(tmp_path / "bin" / "dpkg-buildpackage").chmod(0o755)
	done = subprocess.run([tmp_path / "h2d/packaging/build-deb", tmp_path / "out"], check=True, stdout=subprocess.PIPE, text=True, timeout=60,
		env={**os.environ, "PATH": "%s:%s" % (tmp_path / "bin", os.environ["PATH"]), "GIT_DIR": str(tmp_path / "none")})
	*files, version, _ = done.stdout.splitlines()
	debian = {"./debian/" + name.removeprefix("packaging/debian/") for name in known if name.startswith("packaging/debian/")}
	assert debian and set(files) == {"./" + name for name in known} | debian
	assert version == re.search(r"\((.*?)\)", open(os.path.join(TOP, "packaging/debian/changelog")).read()).group(1)
	assert sorted(os.listdir(tmp_path / "out")) == ["h2d.buildinfo", "h2d.changes", "h2d.deb"]


def test_lintian(debs):
	done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *glob.glob(debs + "/*.changes")],
		stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	assert done.returncode == 0, done.stdout


def test_life(debs, cert):
	"""Installed by one command it serves; an upgrade keeps what was configured; a purge leaves the served files alone."""
	harness.need_namespaces("-f", "-p", "-m", "-C", "-n", "-i", "-u")
	Machine.packages = debs
	folder = tempfile.mkdtemp(prefix="h2d-systemd-")
	machine = Machine(folder, cert)
	try:
		life(machine)
	finally:
		machine.close()
		shutil.rmtree(folder)


def life(machine):
	machine.ok("rm", "-rf", "/var/www")  # what another server on this machine may have put there
	package = machine.ok("sh", "-c", "echo /debs/h2d_*.deb").strip()
	machine.ok("dpkg", "-i", package)
	procs.wait_for(lambda: machine.show("ActiveState") == "active", 120, said="the unit is active")
	assert "h2d works" in machine.get("http://127.0.0.1:80/")
	assert machine.ok("id", "-un", "h2d").strip() == "h2d"
	assert machine.ok("stat", "-c", "%U", "/var/log/h2d").strip() == "root"
	assert "h2d" in machine.ok("ps", "-o", "user=", "-C", "h2d")
	assert "Hello, world!" in machine.get("http://127.0.0.1:80/hello/world")
	machine.ok("h2d", "-t")
	machine.ok("systemctl", "stop", "h2d")
	machine.ok("h2d", "-t")
	machine.ok("rm", "-r", "/run/h2d")  # as it is after a boot, or where nothing was started
	machine.ok("systemd-tmpfiles", "--create", "h2d.conf")
	machine.ok("h2d", "-t")
	machine.ok("systemctl", "start", "h2d")
	logs(machine)

	machine.write("/etc/h2d/conf.d/mine.conf", 'server "mine.example" { root = "/usr/share/h2d" }\n')
	machine.write("/var/www/html/mine.html", "mine\n")
	upgrades(machine, package)
	assert machine.get("http://127.0.0.1:80/mine.html").startswith("mine\n")
	machine.ok("test", "-e", "/etc/h2d/conf.d/mine.conf")

	machine.ok("dpkg", "-P", "h2d")
	assert machine.status() != "installed"
	assert machine.run("systemctl", "is-active", "h2d").stdout.strip() != "active"
	for path in ("/etc/h2d", "/var/log/h2d", "/run/h2d", "/usr/sbin/h2d"):
		assert machine.run("test", "-e", path).returncode != 0, path
	assert machine.ok("cat", "/var/www/html/mine.html") == "mine\n"


def logs(machine):
	"""Who is of the group adm reads them, those after a rotation, too; others do not."""
	assert machine.ok("stat", "-c", "%a %U:%G", "/var/log/h2d").strip() == "2750 root:adm"
	assert "h2d works" in machine.get("http://127.0.0.1:80/")
	procs.wait_for(lambda: machine.ok("sh", "-c", "cat /var/log/h2d/access.log").count("GET / "), said="a line in the log")
	machine.ok("logrotate", "-f", "/etc/logrotate.d/h2d")
	assert machine.ok("sh", "-c", "stat -c '%a %U:%G' /var/log/h2d/access.log*").split("\n")[:-1] == ["640 root:adm"] * 2
	# A worker may write a line or two before it hears of the new file.
	procs.wait_for(lambda: "h2d works" in machine.get("http://127.0.0.1:80/")
		and "GET / " in machine.ok("cat", "/var/log/h2d/access.log"), said="a line in the new log")


def upgrades(machine, package):
	"""None of a client's connections fails, however slow another one's download; a restart is the last resort."""
	size = 64 << 20
	machine.ok("truncate", "-s", str(size), "/var/www/html/large")
	first = machine.show("MainPID")
	with systemd.inside(machine, systemd.SLOW, "80") as slow, systemd.inside(machine, systemd.KNOCK, "80") as client:
		slow.stdout.readline()
		client.stdout.readline()
		done = machine.ok("dpkg", "-i", package)
		assert "upgraded: pid %s " % first in done, done
		assert machine.show("MainPID") != first and machine.show("ActiveState") == "active"
		assert first in machine.ok("pgrep", "-x", "h2d").split(), "it waits for the download"
		assert int(client.communicate("\n", timeout=120)[0]) > 0 and client.returncode == 0
		assert int(slow.communicate("\n", timeout=120)[0]) > size
	machine.ok("rm", "/var/www/html/large")

	behind_a_balancer(machine, package)

	first = machine.show("MainPID")
	machine.write("/etc/h2d/conf.d/fault.conf", "nonsense = 1\n")
	machine.ok("dpkg", "-i", package)
	assert machine.show("MainPID") == first, "the next one could not start"
	machine.ok("rm", "/etc/h2d/conf.d/fault.conf", "/run/h2d/h2d.pid")
	machine.ok("dpkg", "-i", package)
	assert machine.show("MainPID") not in ("0", first), "it cannot be found, and is restarted"
	assert machine.show("ActiveState") == "active"


def behind_a_balancer(machine, package):
	"""A newer package, by apt and under load: no request fails."""
	machine.ok("sh", "-c", "dpkg-deb -R %s /newer && sed -i 's/^Version: .*/&+newer/' /newer/DEBIAN/control && "
		"dpkg-deb -b -Znone /newer /newer.deb" % package)
	machine.ok("truncate", "-s", str(balanced.SIZE), "/var/www/html/large")
	machine.write("/etc/h2d/conf.d/balanced.conf", 'listen "127.0.0.1:8080" { }\n')
	machine.ok("systemctl", "reload", "h2d")
	balancer = balanced.Balancer(machine)
	try:
		for dispatch in ("reuseport", "acceptor"):
			machine.write("/etc/h2d/conf.d/dispatch.conf", "dispatch = %s\n" % dispatch)
			machine.ok("systemctl", "reload", "h2d")
			first = machine.show("MainPID")
			balanced.nothing_failed(balanced.play(machine, dispatch, "apt install of a newer package", "alone",
				lambda _: machine.ok("apt-get", "install", "-y", "--reinstall", "/newer.deb")))
			assert machine.show("MainPID") not in ("0", first) and machine.show("NRestarts") == "0"
			assert machine.ok("dpkg-query", "-W", "-f", "${Version}", "h2d").endswith("+newer")
	finally:
		balancer.close()
	machine.ok("dpkg", "-i", package)
	machine.ok("rm", "/etc/h2d/conf.d/balanced.conf", "/etc/h2d/conf.d/dispatch.conf", "/var/www/html/large")
	machine.ok("systemctl", "reload", "h2d")


def test_header_alone(debs, tmp_path):
	"""What h2d-dev has compiles a handler, without the source of h2d."""
	subprocess.run(["dpkg", "-x", *glob.glob(debs + "/h2d-dev_*.deb"), str(tmp_path)], check=True)
	# check_*.c are for h2d/test.h, which needs a tree of h2d.
	skeleton = glob.glob(str(tmp_path / "usr/share/doc/h2d-dev/examples/skeleton/[!c]*.c"))
	assert skeleton
	flags = subprocess.run(["pkg-config", "--cflags", "h2d"], check=True, stdout=subprocess.PIPE, text=True,
		env={**os.environ, "PKG_CONFIG_PATH": str(tmp_path / "usr/share/pkgconfig"),
			"PKG_CONFIG_SYSROOT_DIR": str(tmp_path), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}).stdout.split()
	for path in skeleton:
		subprocess.run(["cc", "-std=gnu17", "-Wall", "-Werror", *flags, "-c", path, "-o", str(tmp_path / "o.o")],
			check=True)
