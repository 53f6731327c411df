"""Tasks of an operator: a configuration as a person would write it, what is asked, and what is answered. For test_tasks*.py.

Each configuration stands there as it would on a machine. The test only moves it: the folders below a folder of its own,
the addresses to ports that are free (`moved`); what the harness needs stands in another file, which includes this one.
"""
import os
import re
import subprocess

import procs

TREE = {"index.html": "<h1>Home</h1>", "app.js": "let a = 1\n", "a/deep.txt": "deep\n"}
PLAIN = 'listen "0.0.0.0:80" { }\n'
TLS = """listen "0.0.0.0:443" { tls = true }
tls {
	certificate = "/etc/h2d/tls/server.crt"
	certificate-key = "/etc/h2d/tls/server.key"
}
"""
ADDRESS = {"0.0.0.0:80": "tcp", "0.0.0.0:443": "tls", "127.0.0.1:9100": "admin"}


class Ask:
	"""One request and what is expected.

	method: if it is neither GET nor PUT. body: a part of it, or a question about it. has: fields by name, None: there is none.
	"""
	def __init__(self, path, status=200, body=None, host="example.com", via=None, send=(), put=None, method=None, **has):
		self.path, self.status, self.body, self.host = path, status, body, host
		self.via, self.send, self.put = via, list(send), put
		self.method = method or ("GET" if put is None else "PUT")
		self.has = {name.replace("_", "-"): value for name, value in has.items()}

	def asked(self, run):
		with run.connect(self.via, self.host) as c:
			return c.request(self.method, self.path, self.send, self.put)

	def is_whole(self, answer):
		"""Where the keeper is late for a moment the disk answers, without a coding."""
		return self.has.get("content-encoding") is None or self.status != answer.status or answer.get("content-encoding") is not None

	def check(self, run):
		answer = procs.wait_for(lambda: self.is_whole(a := self.asked(run)) and a, said="the coding of " + self.path)
		assert answer.status == self.status, (self.path, answer)
		if callable(self.body):
			assert self.body(answer.body), (self.path, answer.body[:300])
		elif self.body is not None:
			assert self.body.encode() in answer.body, (self.path, answer.body[:300])
		for name, value in self.has.items():
			got = answer.get(name)
			assert got == value if value is None or isinstance(value, str) else value(got), (self.path, name, got)


class Run:
	"""A task's server: its files below one folder, its configuration moved there."""
	def __init__(self, server, cert, conf):
		self.server, self.cert = server, cert
		self.root = server.root
		self.conf = server.path("etc", "h2d", "h2d.conf")
		for folder in ("etc/h2d/tls", "var/log/h2d", "srv"):
			os.makedirs(server.path(folder), exist_ok=True)
		os.rename(server.root, server.path("srv", "www"))
		self.root = server.root = server.path("srv", "www")
		for name, path in (("crt", cert.cert), ("key", cert.key)):
			os.symlink(path, server.path("etc", "h2d", "tls", "server." + name))
		self.write(conf)
		server.listens = self.listens(conf)
		server.put_conf('worker-processes = 1\npid-file = "%s"\nlisten "unix:%s" { admin = true  socket-mode = "0600" }\ninclude("%s")\n'
			% (server.pid_path, server.admin_path, self.conf))

	def listens(self, conf):
		return [ADDRESS[address] for address in re.findall(r'^listen "(.*?)"', conf, re.M)]

	def moved(self, conf):
		conf = re.sub(r'"/(srv|etc|var|run|mnt)/', lambda m: '"%s/' % self.server.path(m.group(1)), conf)
		return re.sub(r'^listen "(?:0\.0\.0\.0|127\.0\.0\.1):\d+"', 'listen "127.0.0.1:0"', conf, flags=re.M)

	def write(self, conf):
		with open(self.conf, "w") as f:
			f.write(self.moved(conf))

	def put(self, name, data):
		"""A file anywhere: "srv/media/x"."""
		path = self.server.path(name)
		os.makedirs(os.path.dirname(path), exist_ok=True)
		with open(path, "wb") as f:
			f.write(data.encode() if isinstance(data, str) else data)

	def test(self, code=0):
		"""h2d -t, of the person's file alone."""
		done = subprocess.run(self.server.command("-t", "-f", self.conf), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
			env=self.server.environment(), timeout=60)
		assert done.returncode == code, done.stderr
		return done.stdout + done.stderr

	def connect(self, via=None, host="example.com"):
		via = via or ("tls" if "tls" in self.server.listens else "tcp")
		return self.server.connect(via, authority=host, scheme="https" if via == "tls" else "http")


class Tasks:
	"""Tasks by name, in the order in which they were added."""
	def __init__(self):
		self.by_name = {}

	def add(self, name, conf, *asks, files=(), before=None, after=None):
		"""files: of the tree, beside TREE. before(run): before the start; after(run): behind the requests."""
		assert name not in self.by_name
		self.by_name[name] = (conf, asks, {**TREE, **dict(files)}, before, after)

	def play(self, h2d, cert, name):
		conf, asks, files, before, after = self.by_name[name]
		server = h2d.new(files=files)
		run = Run(server, cert, conf)
		if before is not None:
			before(run)
		assert run.test() == run.conf + ": configuration ok\n"
		server.start(image=True)
		if any(file.endswith(".gz") for file in files):
			server.wait_checked()
		for ask in asks:
			ask.check(run)
			if ask.put is not None:
				server.wait_quiet()  # an upload that was refused gives its room back behind its answer
		if after is not None:
			after(run)
