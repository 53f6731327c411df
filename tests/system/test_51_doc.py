"""Every file of a real tree, by real clients, byte for byte: /usr/share/doc by curl and nghttp."""
import copy
import os
import subprocess
import tempfile
import urllib.parse

import pytest

import server as srv

ROOT = "/usr/share/doc"
CONNECTIONS = 20
# A client that hangs is found; on a busy machine one takes minutes.
DEADLINE = 400


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
			# Dot files are never served, nor what is below such a folder.
			names[:] = [name for name in names if not name.startswith(".")]
			for name in sorted(name for name in names + leaves if not name.startswith(".")):
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
		if srv.SLOW > 1:
			self.files = self.files[::3]
		self.content = {}
		for name in self.files:
			with open(os.path.join(ROOT, name), "rb") as f:
				self.content[name] = f.read()

	def quarter(self, which):
		"""Every fourth file."""
		part = copy.copy(self)
		part.files = self.files[which % 4::4]
		return part


@pytest.fixture(scope="module")
def tree():
	found = Tree()
	assert len(found.files) > 100
	return found


def url(server, how, name):
	return server.url(how, "/" + urllib.parse.quote(name))


def curl(server, how, config, names, outputs=None):
	"""A curl command for names, and its configuration file written."""
	command = ["curl", "-q", "-s", "-S", "--globoff", "--path-as-is", "-K", config]
	urls = [url(server, how, name) for name in names]
	if how == "tls":
		command += ["--http2", "-k"]
	else:
		# curl 7.88 cannot use an h2c connection a second time: every request has its own host and connection
		place = "127.0.0.1:%d" % server.ports[how]
		command += ["--http2-prior-knowledge", "--connect-to", "::" + place]
		urls = [u.replace(place, "h%d.test" % i, 1) for i, u in enumerate(urls)]
	with open(config, "w") as f:
		for i, u in enumerate(urls):
			f.write('url = "%s"\n' % u)
			if outputs:
				f.write('output = "%s"\n' % outputs[i])
	return command


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
	"""One client process that fetches names one after the other, to one output."""

	def __init__(self, tool, server, how, names, folder):
		self.tool, self.names = tool, names
		self.out = tempfile.TemporaryFile(dir=folder)
		if tool == "curl":
			config = tempfile.mktemp(dir=folder)
			command = curl(server, how, config, names) + ["-w",
				"%{stderr}%{http_code} %{http_version}\\n"]
		else:
			# one stream at a time (the server allows no more), so that standard output is file after file
			command = ["nghttp", "-M", "1", "--no-verify-peer"] + [url(server, how,
				name) for name in names]
		self.process = subprocess.Popen(command, stdout=self.out, stderr=subprocess.PIPE)

	def check(self, tree):
		err = self.process.communicate(timeout=DEADLINE)[1].decode()
		assert self.process.returncode == 0, err[-2000:]
		if self.tool == "curl":
			check_lines(err, len(self.names))
		self.out.seek(0)
		same_bytes(self.out.read(), self.names, tree)


def shares(names, n):
	return [names[i::n] for i in range(n)]


def fetch_multiplexed(tree, servers, how, folder):
	"""
	One curl, a hundred streams at a time. Over cleartext, where each is a connection of its own, a third
	of the files: the others are fetched at once.
	"""
	names = tree.files[::3] if how == "tcp" else tree.files
	with tempfile.TemporaryDirectory(dir=folder) as out:
		command = curl(servers["curl"], how, os.path.join(out, "config"), names,
			["%s/%d" % (out, i) for i in range(len(names))])
		done = subprocess.run(command + ["--parallel", "--parallel-max", "100",
			"-w", "%{http_code} %{http_version}\\n"], stdout=subprocess.PIPE,
			stderr=subprocess.PIPE,
			timeout=DEADLINE)
		assert done.returncode == 0, done.stderr[-2000:]
		check_lines(done.stdout.decode(), len(names))
		for i, name in enumerate(names):
			path = os.path.join(out, str(i))
			if not tree.content[name] and not os.path.exists(path):
				continue
			with open(path, "rb") as f:
				assert f.read() == tree.content[name], name


def fetch_at_once(tree, servers, how, folder):
	"""Twenty connections at once, by both clients."""
	running = [Fetch(tool, servers[tool], how, names, folder)
		for tool, names in zip(("curl", "nghttp") * CONNECTIONS, shares(tree.files,
		CONNECTIONS))]
	for fetch in running:
		fetch.check(tree)


WAYS = [fetch_multiplexed, fetch_at_once]


def links_that_leave(tree, servers, how, folder):
	names = tree.refused
	if not names:
		return
	command = curl(servers["curl"], how, os.path.join(folder, "refused"), names,
		["/dev/null"] * len(names))
	done = subprocess.run(command + ["-w", "%{http_code}\\n"], stdout=subprocess.PIPE,
		timeout=DEADLINE)
	assert done.stdout.decode().split() == ["404"] * len(names)


def servers_for(h2d, cache="", **options):
	"""One for each client, with the coding that it asks for: nghttp's serves one stream at a time."""
	return {
		"curl": h2d(root=ROOT, workers=2, sections=cache or "cache { compress = {} }", **options),
		"nghttp": h2d(root=ROOT, workers=2, sections=(cache or 'cache { compress = {"gzip"} }')
			+ "\nlimits { max-concurrent-streams = 1 }", **options),
	}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["disk", "image"])
@pytest.mark.parametrize("fetch", WAYS, ids=lambda fetch: fetch.__name__)
def test_every_file(h2d, tree, how, source, fetch, tmp_path):
	"""
	Before the image is there (no image at all) and from it: each way of fetching has each file once, over one transport,
	from the disk or from the image, and the other way has it from the other.
	"""
	tree = tree.quarter(2 * (how == "tls") + (source == "image") + WAYS.index(fetch))
	servers = servers_for(h2d, "cache { max-size = 0 }") if source == "disk" else servers_for(h2d, image=True)
	fetch(tree, servers, how, str(tmp_path))
	links_that_leave(tree, servers, how, str(tmp_path))
	hits = 0
	for server in servers.values():
		status = server.status()
		hits += status["totals"]["cache_hits"]
		assert (status["image"] > 0) == (source == "image")
	# A keeper that had no processor for a second leaves some to the disk.
	assert hits > len(tree.files) // 10 if source == "image" else hits == 0


@pytest.mark.slow
def test_while_the_image_arrives(h2d, tree, tmp_path):
	"""From the first moment on, across the change from disk to image."""
	tree = tree.quarter(0)
	servers = servers_for(h2d)
	fetch_at_once(tree, servers, "tcp", str(tmp_path))
	for server in servers.values():
		server.wait_image()
	fetch_at_once(tree, servers, "tls", str(tmp_path))
