"""docs/guide, docs/recipes and docs/migrate are true: each configuration passes -t, each command runs and prints what the page shows."""
import os
import pathlib
import re
import subprocess

import pytest

import procs
from server import H2D, with_user

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = [page for folder in ("guide", "recipes", "migrate") for page in sorted((TOP / "docs" / folder).glob("*.md"))]
TASKS = [page for page in PAGES if page.name != "README.md"]
OTHERS = [page.stem for page in TASKS if page.parent.name == "migrate"] # servers, and the kinds of their blocks
TOOLS = {
	"sudo": 'exec "$@"',
	"systemctl": 'case $1 in reload) exec h2d -s reload ;; start) exit 0 ;; esac; exit 2',
	"install": """for a; do shift; case $a in -g | -o | h2d) ;; *) set -- "$@" "$a" ;; esac; done; exec /usr/bin/install "$@\"""", # no group of that name
}


def blocks(text):
	found = re.findall(r"^ *```([\w. ]+)\n(.*?)^ *```$", text, re.M | re.S)
	return [(kind, block) for kind, block in found if kind not in OTHERS]


class Machine:
	"""A folder in the place of /srv, /etc, /run and /var/log, other ports, and the commands that the pages use."""

	def __init__(self, folder, cert):
		self.folder, self.ports = folder, {}
		for name in ("www", "app", "docs", "other", "shop", "media", "artifacts", "mirror", "sites/a.example"):
			(folder / "srv" / name).mkdir(parents=True)
			(folder / "srv" / name / "index.html").write_text("a page\n")
		for name in ("etc/h2d/tls", "etc/h2d/passwords", "etc/letsencrypt/live/example.com", "run/h2d", "var/log/h2d", "bin"):
			(folder / name).mkdir(parents=True)
		(folder / "etc/h2d/passwords/users").write_text("")
		for name in ("h2d/tls/example", "h2d/tls/shop", "h2d/tls/anna"):
			(folder / ("etc/%s.crt" % name)).symlink_to(cert.cert)
			(folder / ("etc/%s.key" % name)).symlink_to(cert.key)
		(folder / "etc/h2d/tls/clients.pem").symlink_to(cert.cert)
		for name, real in (("fullchain", cert.cert), ("privkey", cert.key)):
			(folder / ("etc/letsencrypt/live/example.com/%s.pem" % name)).symlink_to(real)
		self.conf = folder / "etc/h2d/h2d.conf"
		for name, text in {**TOOLS, "h2d": 'exec %s -f %s "$@"' % (H2D, self.conf)}.items():
			(folder / "bin" / name).write_text("#!/bin/sh\n%s\n" % text)
			(folder / "bin" / name).chmod(0o755)

	def here(self, text):
		return re.sub(r"(?<![\w.])/(srv|etc/h2d|etc/letsencrypt|run/h2d|var/log/h2d)(?=/)", r"%s/\1" % self.folder, text)

	def write(self, text):
		"""A configuration whose listeners have ports of this machine."""
		def listener(m):
			return '"127.0.0.1:%d"' % self.ports.setdefault(m.group(1), procs.free_port())

		text = re.sub(r'"(?:127\.0\.0\.1)?:(\d+)"', listener, self.here(text))
		text = with_user(re.sub(r'^user = "h2d"\n', "", text, flags=re.M))
		if "pid-file" not in text:
			text = 'pid-file = "%s/run/h2d/h2d.pid"\n%s' % (self.folder, text)
		self.conf.write_text(text)
		(self.folder / ".curlrc").write_text("insecure\nsilent\nshow-error\nmax-time = 60\n" + "".join(
			'connect-to = ":%s:127.0.0.1:%d"\n' % port for port in self.ports.items()))

	def run(self, command):
		return subprocess.run(["bash", "-c", self.here(command)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
			text=True, timeout=60, env={**os.environ, "PATH": "%s/bin:%s" % (self.folder, os.environ["PATH"]), "CURL_HOME": str(self.folder)})

	def told(self, text):
		"""What was printed, by the ports of the page."""
		for told, real in self.ports.items():
			text = text.replace(":%d" % real, "" if told in ("80", "443") else ":" + told)
		return text


@pytest.fixture
def machine(tmp_path, cert):
	for folder in (tmp_path, *tmp_path.parents[:3]):
		if os.access(folder, os.W_OK) and folder != pathlib.Path("/tmp"):
			os.chmod(folder, os.stat(folder).st_mode | 0o055)
	return Machine(tmp_path, cert)


@pytest.mark.parametrize("page", TASKS, ids=lambda page: page.stem)
def test_a_page(machine, page):
	text = page.read_text()
	found = blocks(text)
	assert len(text.splitlines()) <= (60 if page.parent.name == "recipes" else 90) and found and found[0][0] == "conf", "a page begins with a whole configuration"
	for kind, block in found:
		if kind.startswith("text "):
			(machine.folder / "etc/h2d" / kind.split()[1]).write_text(block)
	confs = [block for kind, block in found if kind == "conf"]
	for conf in confs[1:] + confs[:1]:
		machine.write(conf)
		done = machine.run("h2d -t")
		assert done.returncode == 0 and "configuration ok" in done.stdout, done.stdout
	commands = [block for kind, block in found if kind == "console"]
	if not commands:
		return
	server = subprocess.Popen([H2D, "-f", machine.conf], stdout=subprocess.DEVNULL, stderr=open(machine.folder / "log", "w"))
	try:
		procs.wait_for(lambda: "serving" in (machine.folder / "log").read_text(), said="h2d serves")
		for command, expected in (step for block in commands for step in steps(block)):
			done = machine.run(command)
			if command.startswith(("grep ", "curl http")): # a log, and an edited page, come a moment later
				procs.wait_for(lambda: all(line in machine.told(machine.run(command).stdout) for line in expected), said=command)
				done = machine.run(command)
			printed = machine.told(done.stdout)
			assert done.returncode == 0 and all(line in printed for line in expected), (
				command, printed, (machine.folder / "log").read_text())
		done = machine.run("h2d -s stop")
		assert done.returncode == 0 and server.wait(60) == 0, done.stdout
	finally:
		if server.poll() is None:
			server.kill()
			server.wait()


def steps(block):
	"""("command", [lines that it prints]), in their order."""
	found = []
	for line in block.splitlines():
		line = line.strip()
		if line.startswith("$ "):
			found.append((line[2:], []))
		elif line:
			found[-1][1].append(line)
	return found


@pytest.mark.parametrize("other", OTHERS)
def test_lines_of_another_server(machine, other):
	"""The last column is a configuration, at the top level or in a server."""
	cells = re.findall(r"\| `([^`]+)` \|$", (TOP / "docs/migrate" / (other + ".md")).read_text(), re.M)
	assert 20 <= len(cells) <= 30
	top = re.findall(r'^CONF_GLOBAL\("([\w-]+)"', (TOP / "src/conf/conf.def").read_text(), re.M)
	for cell in cells:
		outside = re.match(r"tls { (?!client)|(listen|server|cache|limits|timeouts|%s)\b" % "|".join(top), cell)
		machine.write('listen ":8443" { tls = true }\n%s\nserver "example.com" { root = "/srv/www" %s }\nserver "_" { root = "/srv/www" tls { '
			'certificate = "/etc/h2d/tls/example.crt" certificate-key = "/etc/h2d/tls/example.key" } }\n' % ((cell, "") if outside else ("", cell)))
		done = machine.run("h2d -t")
		assert done.returncode == 0 and "configuration ok" in done.stdout, (cell, done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links(page):
	"""Each leads to a page, and the front page has each of them."""
	links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
	assert all((page.parent / link).exists() for link in links)
	if page.name == "README.md":
		assert sorted(links) == sorted(task.name for task in TASKS if task.parent == page.parent)
