"""Every file of a real tree, by real clients, byte for byte: /usr/share/doc by curl and nghttp."""
import os
import subprocess
import tempfile
import urllib.parse

import pytest

ROOT = "/usr/share/doc"
CONNECTIONS = 20


def beneath(path, depth=0):
	"""What openat2(RESOLVE_BENEATH) makes of path (below ROOT): a real path, or None where it is refused."""
	stack = []
	todo = path.split("/")[::-1]
	links = 0
	while todo:
		part = todo.pop()
		if part in ("", "."):
			continue
		if part == "..":
			if not stack:
				return None
			stack.pop()
			continue
		here = os.path.join(ROOT, *stack, part)
		if os.path.islink(here):
			links += 1
			target = os.readlink(here)
			if target.startswith("/") or links > 40:
				return None
			todo += target.split("/")[::-1]
		elif not os.path.lexists(here):
			return None
		else:
			stack.append(part)
	return os.path.join(ROOT, *stack)


class Tree:
	def __init__(self):
		self.files, self.refused, self.folders = [], [], []
		for folder, names, leaves in os.walk(ROOT):
			for name in sorted(names + leaves):
				path = os.path.join(folder, name)
				below = path[len(ROOT) + 1:]
				if os.path.islink(path):
					real = beneath(below)
					if real is None:
						self.refused.append(below)
					elif os.path.isdir(real):
						self.folders.append(below)
					elif os.access(real, os.R_OK):
						self.files.append(below)
				elif os.path.isfile(path) and os.access(path, os.R_OK):
					self.files.append(below)
		self.content = {}
		for name in self.files:
			with open(os.path.join(ROOT, name), "rb") as f:
				self.content[name] = f.read()


@pytest.fixture(scope="module")
def tree():
	found = Tree()
	assert len(found.files) > 100
	return found


def url(server, how, name):
	return server.url(how, "/" + urllib.parse.quote(name))


def curl_flags(how):
	return ["curl", "-q", "-s", "-S", "--globoff", "--path-as-is"] + (
		["--http2", "-k"] if how == "tls" else ["--http2-prior-knowledge"])


def check_lines(text, count):
	lines = text.splitlines()
	wrong = [line for line in lines if line != "200 2"]
	assert not wrong and len(lines) == count, (len(lines), wrong[:10])


def same_bytes(got, names, tree):
	at = 0
	for name in names:
		body = tree.content[name]
		assert got[at:at + len(body)] == body, "differs in " + name
		at += len(body)
	assert len(got) == at, "surplus bytes at the end"


class Fetch:
	"""One client process that fetches names one after the other on one connection, to one output."""

	def __init__(self, tool, server, how, names, folder):
		self.tool, self.names = tool, names
		self.out = tempfile.TemporaryFile(dir=folder)
		urls = [url(server, how, name) for name in names]
		if tool == "curl":
			config = tempfile.NamedTemporaryFile("w", dir=folder, delete=False)
			config.write("".join('url = "%s"\n' % u for u in urls))
			config.close()
			command = curl_flags(how) + ["-K", config.name, "-w", "%{stderr}%{http_code} %{http_version}\\n"]
		else:
			# one stream at a time, so that standard output is file after file
			command = ["nghttp", "-M", "1", "--no-verify-peer"] + urls
		self.process = subprocess.Popen(command, stdout=self.out, stderr=subprocess.PIPE)

	def check(self, tree):
		err = self.process.communicate(timeout=120)[1].decode()
		assert self.process.returncode == 0, err[-2000:]
		if self.tool == "curl":
			check_lines(err, len(self.names))
		self.out.seek(0)
		same_bytes(self.out.read(), self.names, tree)


def shares(names, n):
	return [names[i::n] for i in range(n)]


def argument_shares(server, how, names):
	"""nghttp takes URLs as arguments only: as many as the kernel lets pass."""
	share, size, result = [], 0, []
	for name in names:
		cost = len(url(server, how, name)) + 9
		if size + cost > 1000000:
			result.append(share)
			share, size = [], 0
		share.append(name)
		size += cost
	return result + [share]


def fetch_multiplexed(tree, server, how, folder):
	"""One curl, a hundred streams at a time."""
	with tempfile.TemporaryDirectory(dir=folder) as out:
		config = os.path.join(out, "config")
		with open(config, "w") as f:
			for i, name in enumerate(tree.files):
				f.write('url = "%s"\noutput = "%s/%d"\n' % (url(server, how, name), out, i))
		done = subprocess.run(curl_flags(how) + ["-K", config, "--parallel", "--parallel-max", "100",
			"-w", "%{http_code} %{http_version}\\n"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
			timeout=120)
		assert done.returncode == 0, done.stderr[-2000:]
		check_lines(done.stdout.decode(), len(tree.files))
		for i, name in enumerate(tree.files):
			path = os.path.join(out, str(i))
			if not tree.content[name] and not os.path.exists(path):
				continue
			with open(path, "rb") as f:
				assert f.read() == tree.content[name], name


def fetch_one_by_one(tree, server, how, folder):
	"""One nghttp after the other, each with as many files as its command line holds."""
	for names in argument_shares(server, how, tree.files):
		Fetch("nghttp", server, how, names, folder).check(tree)


def fetch_at_once(tree, server, how, folder):
	"""Twenty connections at once, by both clients."""
	running = [Fetch(("curl", "nghttp")[i % 2], server, how, names, folder)
		for i, names in enumerate(shares(tree.files, CONNECTIONS))]
	for fetch in running:
		fetch.check(tree)


def links_that_leave(tree, server, how, folder):
	names = tree.refused
	if not names:
		return
	config = os.path.join(folder, "refused-" + how)
	with open(config, "w") as f:
		for name in names:
			f.write('url = "%s"\noutput = "/dev/null"\n' % url(server, how, name))
	done = subprocess.run(curl_flags(how) + ["-K", config, "-w", "%{http_code}\\n"], stdout=subprocess.PIPE,
		timeout=60)
	assert done.stdout.decode().split() == ["404"] * len(names)


@pytest.mark.parametrize("source", ["disk", "image"])
def test_every_file(h2d, tree, how, source, tmp_path):
	"""Before the image is there (no image at all) and from it."""
	sections = "limits { max-concurrent-streams = 128 }\n"
	if source == "disk":
		sections += "cache { max-size = 0 }"
	server = h2d(image=source == "image", root=ROOT, workers=2, sections=sections)
	folder = str(tmp_path)
	for fetch in (fetch_multiplexed, fetch_one_by_one, fetch_at_once, links_that_leave):
		fetch(tree, server, how, folder)
	status = server.status()
	assert (status["image"] > 0) == (source == "image")
	if source == "image":
		assert status["totals"]["cache_hits"] > len(tree.files)
	else:
		assert status["totals"]["cache_hits"] == 0


def test_while_the_image_arrives(h2d, tree, tmp_path):
	"""From the first moment on, across the change from disk to image."""
	server = h2d.new(root=ROOT, workers=2).spawn()
	server.wait_listening()
	fetch_at_once(tree, server, "tcp", str(tmp_path))
	server.wait_image()
	fetch_at_once(tree, server, "tls", str(tmp_path))
