"""A Dockerfile's steps, run without a container engine: each stage in a root of its own, which debootstrap(8) makes.

What it knows is what the Dockerfiles of this repository use. The context is what git knows and .gitignore does not
(test_89_container.py holds .dockerignore to that). Takes root, the network and minutes.
"""
import contextlib
import os
import re
import shlex
import shutil
import subprocess

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# As the image debian:12-slim has them.
SOURCES = """Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

IGNORED = {"EXPOSE", "STOPSIGNAL", "HEALTHCHECK"}
KNOWN = {"FROM", "RUN", "WORKDIR", "ARG", "USER", "COPY", "ENTRYPOINT", "CMD"} | IGNORED
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENTER = """
mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && { [ "$2" = host ] || ip link set lo up; } || exit
root=$1 user=$3 && shift 3 && exec chroot --userspec="$user" "$root" env -i "$@"
"""


def make_base(folder):
	"""A root as debian:12-slim is, once for all stages."""
	if os.path.exists(os.path.join(folder, "etc/debian_version")):
		return folder
	subprocess.run(["debootstrap", "--variant=minbase", "bookworm", folder, "http://deb.debian.org/debian"],
		stdout=subprocess.DEVNULL, check=True)
	os.remove(os.path.join(folder, "etc/apt/sources.list"))
	with open(os.path.join(folder, "etc/apt/sources.list.d/debian.sources"), "w") as f:
		f.write(SOURCES)
	return folder


def instructions(path):
	"""(word, rest) of each; lines that end in a backslash are one."""
	with open(path) as f:
		text = re.sub(r"^#.*\n", "", f.read(), flags=re.M)
	for line in text.replace("\\\n", " ").splitlines():
		if line.strip():
			word, _, rest = line.strip().partition(" ")
			yield word, rest.strip()


class Stage:
	def __init__(self, root, base):
		subprocess.run(["cp", "-a", "--reflink=auto", base, root], check=True)
		self.root, self.cwd, self.environment, self.user = root, "/", {}, "root"
		for name in ("resolv.conf", "hosts"):
			shutil.copy("/etc/" + name, os.path.join(root, "etc"))

	def argv(self, *command, user="root", namespaces=("-m", "-p")):
		"""A command that runs in the root, in namespaces of its own."""
		return ["unshare", *namespaces, "-f", "--kill-child", "sh", "-c", ENTER, "sh", self.root, "own" if "-n" in namespaces else "host", user,
			"-C", self.cwd, "PATH=" + PATH, *("%s=%s" % pair for pair in self.environment.items()), *command]

	def run(self, text):
		done = subprocess.run(self.argv("sh", "-c", text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
		assert done.returncode == 0, "%s\n%s" % (text, done.stdout[-6000:])
		return done.stdout

	def path(self, name):
		return os.path.join(self.root, os.path.join(self.cwd, name).lstrip("/"))

	def copy(self, source, name):
		target = self.path(name)
		os.makedirs(os.path.dirname(target.rstrip("/")), exist_ok=True)
		subprocess.run(["cp", "-a", source, target], check=True)


def copy_context(stage, name):
	"""All that git knows or would take in."""
	names = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=TOP, stdout=subprocess.PIPE, check=True).stdout
	names = b"\0".join(n for n in names.split(b"\0") if n and os.path.lexists(os.path.join(TOP.encode(), n)))
	target = stage.path(name)
	os.makedirs(target, exist_ok=True)
	tar = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=TOP, input=names, stdout=subprocess.PIPE, check=True).stdout
	subprocess.run(["tar", "-x", "--no-same-owner", "-C", target], input=tar, check=True)


@contextlib.contextmanager
def built(dockerfile, work, base, **arguments):
	"""The last stage, with what the image says it starts, as .command."""
	stages, stage, command = {}, None, {}
	try:
		for word, rest in instructions(dockerfile):
			if word == "FROM":
				image, _, name = rest.partition(" AS ")
				assert image == "debian:12-slim", image
				stage = stages[name or str(len(stages))] = Stage(os.path.join(work, name or "last"), base)
			elif word == "RUN":
				stage.run(rest)
			elif word == "WORKDIR":
				os.makedirs(stage.path(rest), exist_ok=True)
				stage.cwd = rest
			elif word == "ARG":
				name, _, value = rest.partition("=")
				stage.environment[name] = arguments.get(name, value)
			elif word == "USER":
				stage.user = rest
			elif word == "COPY":
				*options, source, target = shlex.split(rest)
				if options:
					stage.copy(stages[options[0][len("--from="):]].path(source), target)
				elif source == ".":
					copy_context(stage, target)
				else:
					stage.copy(os.path.join(TOP, source), target)
			elif word in ("ENTRYPOINT", "CMD"):
				command[word] = [w.strip('" ') for w in rest.strip("[]").split(",")]
			else:
				assert word in IGNORED, word
		stage.environment = {}
		stage.command = command.get("ENTRYPOINT", []) + command.get("CMD", [])
		yield stage
	finally:
		for one in stages.values():
			shutil.rmtree(one.root)
