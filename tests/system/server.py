"""One h2d under test: its folder, its configuration, its life, and what must hold when it is over.

Everything waits for events (a log line, a status, an exit) with a deadline; nothing sleeps for luck.
"""
import collections
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from hyperframe import frame as hf

import client
import h1client
import lint_history
import procs
from procs import DEADLINE, descriptor_kinds, group_members, running, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def find_binary():
	named = os.environ.get("H2D")
	if named:
		return os.path.abspath(named)
	for place in ("build/src/h2d", "src/h2d"):
		path = os.path.join(TOP, place)
		if os.access(path, os.X_OK):
			return path
	raise RuntimeError("no h2d to test: build it, or name it by the environment variable H2D")


H2D = find_binary()
WRAPPER = shlex.split(os.environ.get("H2D_WRAPPER", ""))


def _sanitized():
	with open(H2D, "rb") as f:
		return b"__asan_init" in f.read()


SANITIZED = _sanitized()
# How connections reach the workers of every server that a test starts and does not say it for: -d.
DISPATCH = os.environ.get("H2D_DISPATCH", "")
# Deadlines hold for the plain build; sanitizers and wrappers cost their share.
SLOW = 8 if SANITIZED or WRAPPER else 1
procs.PATIENCE = 2 if SLOW > 1 else 1


class LogReader(threading.Thread):
	"""Collects what a server writes to its standard error; tests wait for lines."""

	def __init__(self, stream):
		super().__init__(daemon=True)
		self.stream = stream
		self.lines = []
		self.changed = threading.Condition()
		self.ended = False
		self.reading = threading.Event()  # cleared: nobody reads
		self.reading.set()

	def run(self):
		for line in self.stream:
			self.reading.wait()
			with self.changed:
				self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
				self.changed.notify_all()
		with self.changed:
			self.ended = True
			self.changed.notify_all()

	def find(self, pattern, since=0):
		return [line for line in self.lines[since:] if re.search(pattern, line)]

	def wait(self, pattern, since=0, count=1, deadline=DEADLINE):
		with self.changed:
			self.changed.wait_for(
				lambda: len(self.find(pattern, since)) >= count or self.ended,
				deadline * procs.PATIENCE)
			found = self.find(pattern, since)
		assert len(found) >= count, "no log line /%s/ in:\n%s" % (
			pattern, "\n".join(self.lines[since:]))
		return found

	def wait_end(self, deadline=DEADLINE):
		with self.changed:
			self.changed.wait_for(lambda: self.ended, deadline)
		return self.ended


def with_user(conf):
	"""Started as root, h2d asks for the user of its workers: root, unless conf names another one."""
	return conf if os.geteuid() != 0 or re.search(r"^\s*user\s*=", conf, re.M) else conf + '\nuser = "root"\n'


def hear(raws):
	"""The answer to each connection's request, which is then closed."""
	for raw in raws:
		assert raw.status_of(1) == 200
		raw.close()


class Server:
	"""
	conf: global directives; sections: further sections as text; listens: names out of
	"tcp", "tls", "unix" (an h2c unix socket that serves files); an admin listener is always added.
	"""

	def __init__(self, cert, conf="", sections="", listens=("tcp", "tls"), workers=1, root=None,
			server="", pid_file=True, args=(), env=None, admin=True, binary=None,
			user=None, preexec=None, files=None, dispatch=DISPATCH):
		self.dir = tempfile.mkdtemp(prefix="h2d-test-")
		os.chmod(self.dir, 0o755)
		self.cert = cert
		self.binary = binary or H2D
		if user is not None:  # who may not enter the clone, where it lies below a home folder
			self.binary = shutil.copy(self.binary, self.dir)
		self.env = env or {}
		self.acceptors = 1 if dispatch == "acceptor" else 0
		self.args = (["-d", dispatch] if dispatch else []) + list(args)
		self.user = user
		self.preexec = preexec
		self.root = root or self.path("www")
		if root is None:
			os.mkdir(self.root)
			self.write("index.html", "<!doctype html><title>index</title>\n")
		for name, data in (files or {}).items():
			self.write(name, data)
		self.listens = listens
		self.workers = workers
		self.admin = admin
		self.admin_path = self.path("admin.sock")
		self.unix_path = self.path("files.sock")
		self.pid_path = self.path("h2d.pid")
		self.conf_path = self.path("h2d.conf")
		self.write_conf(conf, sections, server, pid_file)
		self.process = None
		self.heir = None  # the master that an upgrade put in place of the first one
		self.log = None
		self.ports = {}
		self.baseline = None
		self.alerts_allowed = []
		self.lint = lint_history.History()
		self.exit_expected = 0
		self.logs_reopened = False

	# --- files ------------------------------------------------------------------------------

	def path(self, *name):
		return os.path.join(self.dir, *name)

	def write(self, name, data, mode=None):
		"""Writes a file below the root; returns its path."""
		path = os.path.join(self.root, name)
		os.makedirs(os.path.dirname(path), exist_ok=True)
		with open(path, "wb") as f:
			f.write(data.encode() if isinstance(data, str) else data)
		if mode is not None:
			os.chmod(path, mode)
		return path

	def write_conf(self, conf="", sections="", server="", pid_file=True):
		text = ["worker-processes = %d" % self.workers]
		if pid_file:
			text.append('pid-file = "%s"' % self.pid_path)
		text.append(conf)
		if "tcp" in self.listens:
			text.append('listen "127.0.0.1:0" { tls = false }')
		if "tls" in self.listens:
			text.append('listen "127.0.0.1:0" { tls = true }')
		if "unix" in self.listens:
			text.append('listen "unix:%s" { tls = false  socket-mode = "0666" }' % self.unix_path)
		if self.admin:
			text.append('listen "unix:%s" { admin = true  socket-mode = "0600" }' % self.admin_path)
		if "tls" in self.listens:
			text.append('tls { certificate = "%s"  certificate-key = "%s" }'
				% (self.cert.cert, self.cert.key))
		text.append(sections)
		if "health =" not in server:
			server = 'health = "/healthz"  ' + server
		text.append('server "_" { root = "%s"  %s }' % (self.root, server))
		self.conf_text = "\n".join(text) + "\n"
		self.put_conf(self.conf_text)

	def put_conf(self, text):
		"""Replaces the configuration file."""
		temporary = self.conf_path + ".new"
		with open(temporary, "w") as f:
			f.write(with_user(text))
		os.rename(temporary, self.conf_path)

	# --- life -------------------------------------------------------------------------------

	def command(self, *args):
		if os.geteuid() == 0 and "-r" in args and "-f" not in args:
			args += ("-u", "root")
		elif "-f" in args and os.path.isfile(args[args.index("-f") + 1]) and args[args.index("-f") + 1] != self.conf_path:
			with open(args[args.index("-f") + 1], errors="replace") as f:
				args += ("-u", "root") if with_user(f.read()).endswith('user = "root"\n') else ()
		return WRAPPER + [self.binary] + list(args)

	def environment(self):
		env = dict(os.environ)
		env.pop("NOTIFY_SOCKET", None)
		env.update(self.env)
		return env

	@contextlib.contextmanager
	def notify_socket(self, **env):
		"""A service manager's socket, for a start with these variables."""
		with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
			s.bind(self.path("notify.sock"))
			s.settimeout(DEADLINE)
			self.env.update(env, NOTIFY_SOCKET=self.path("notify.sock"))
			yield s

	def preload(self, source):
		"""Functions of this C text take the place of the C library's in all that is started from now on."""
		with open(self.path("preload.c"), "w") as f:
			f.write(source)
		subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path("preload.so"), self.path("preload.c")], check=True)
		self.env.update(LD_PRELOAD=self.path("preload.so"),
			ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")

	def run(self, *args, timeout=200, check=None):
		"""Another h2d to its end, with this one's configuration: the finished process, as text. It waits 75 s itself."""
		done = subprocess.run(self.command("-f", self.conf_path, *args),
			stdout=subprocess.PIPE,
			stderr=subprocess.PIPE, env=self.environment(), timeout=timeout,
			cwd=self.dir)
		done.out = done.stdout.decode("utf-8", "replace")
		done.err = done.stderr.decode("utf-8", "replace")
		if check is not None:
			assert done.returncode == check, (done.returncode, done.out, done.err)
		return done

	def spawn(self, *args):
		"""Starts the process and returns at once."""
		self.started_at = time.monotonic()
		self.process = subprocess.Popen(
			self.command(*(args or ("-f", self.conf_path, *self.args))),
			stdin=subprocess.DEVNULL, stdout=open(self.path("stdout"), "wb"),
			stderr=subprocess.PIPE, env=self.environment(), cwd=self.dir,
			start_new_session=True, user=self.user, preexec_fn=self.preexec)
		self.log = LogReader(self.process.stderr)
		self.log.start()
		return self

	def start(self, image=False):
		"""Starts, and waits until every worker is up (image: and answers from the cache, all that is in it)."""
		self.spawn()
		self.wait_listening()
		if self.admin:
			self.wait_up()
			if image:
				self.wait_whole_image()
			self.take_baseline()
		return self

	def wait_listening(self):
		wanted = len(self.listens) + (1 if self.admin else 0)
		lines = self.log.wait(r" listening on ", count=wanted)
		ports = [int(m.group(1)) for m in
			(re.search(r"listening on (?:127\.0\.0\.1|\[::1?\]|0\.0\.0\.0):(\d+)", line)
				for line in lines) if m]
		for name, port in zip([n for n in self.listens if n in ("tcp", "tls")], ports):
			self.ports[name] = port

	@property
	def pid(self):
		"""Of the master."""
		return self.heir or self.process.pid

	def lives(self):
		return procs.running(self.heir) if self.heir else self.process.poll() is None

	def signal(self, number):
		os.kill(self.pid, number)

	def reload(self):
		self.baseline = None  # other processes from now on
		self.lint.forget()
		return self.run("-s", "reload", check=0)

	def upgrade(self, check=0, env=None):
		"""By `-s upgrade`; the finished process."""
		self.baseline = None
		self.lint.forget()
		done = self.run("-s", "upgrade", check=check)
		if check == 0:
			self.find_heir()
		return done

	def find_heir(self):
		"""The pid file names another master; True once it does."""
		with open(self.pid_path) as f:
			pid = int(f.read())
		found = pid != self.pid
		if found:
			self.heir = pid
		return found

	def hup(self):
		self.baseline = None
		self.lint.forget()
		self.signal(signal.SIGHUP)

	def reopen_logs(self):
		self.signal(signal.SIGUSR1)
		self.logs_reopened = True

	def quit(self, deadline=DEADLINE):
		self.signal(signal.SIGQUIT)
		return self.wait_exit(deadline)

	def wait_exit(self, deadline=DEADLINE):
		if self.heir:
			wait_for(lambda: not self.lives(), deadline, said="the master leaves")
		try:
			return self.process.wait(deadline * procs.PATIENCE)
		except subprocess.TimeoutExpired:
			raise AssertionError("h2d did not leave:\n" + self.log_text()) from None

	def log_text(self):
		return "\n".join(self.log.lines) if self.log else ""

	# --- looking at it ----------------------------------------------------------------------

	def status(self, timeout=DEADLINE):
		with client.Client.unix(self.admin_path, timeout=timeout) as c:
			answer = c.get("/status.json")
		assert answer.status == 200, answer
		return json.loads(answer.body)

	def live_workers(self):
		"""{slot: worker} of those that are up in the current generation. A slot keeps the state of a process that died."""
		status = self.status()
		return {w["slot"]: w for w in status["workers"] if w["state"] == "up" and w["pid"]
			and w["pid"] not in procs.killed and w["generation"] == status["generation"]}

	def worker_pids(self):
		return [w["pid"] for w in self.live_workers().values()]

	def keeper(self):
		"""Its process, once there is one: the status says 0 between two of them."""
		return wait_for(lambda: self.status()["keeper"], said="a keeper")

	def acceptor(self):
		return wait_for(lambda: self.status()["acceptor"], said="an acceptor")

	def listening(self, pid):
		"""The sockets by which that process listens on port "tcp"."""
		return {i for i, port in procs.listening_inodes().items() if port == self.ports["tcp"]
			and i in procs.sockets(pid)}

	def wait_up(self, generation=None):
		def all_up():
			status = self.status()
			if generation is not None and status["generation"] < generation:
				return None
			if any(w["generation"] != status["generation"] or w["state"] != "up" or w["pid"] in procs.killed
					for w in status["workers"]):
				return None
			return status if len(status["workers"]) == self.workers else None
		return wait_for(all_up, said="all %d workers up" % self.workers)

	def wait_image(self, above=0, deadline=DEADLINE):
		"""Until every worker answers from an image with a number above that."""
		def imaged():
			status = self.status()
			workers = status["workers"]
			return status if status["image"] > above and workers and all(
				w["image"] > above for w in workers) else None
		return wait_for(imaged, deadline, said="an image above %d" % above)

	def wait_whole_image(self):
		"""As wait_image(), after the keeper's first walk, which publishes a part if it lasts longer than a second."""
		line = self.log.wait(r"cache: \d+ files, ")[-1]
		files = int(re.search(r"cache: (\d+) files, ", line).group(1))
		wait_for(lambda: self.status()["cache"]["entries"] >= files, said="an image of %d files" % files)
		return self.wait_image(self.status()["image"] - 1)

	def wait_settled(self, above=0, deadline=DEADLINE):
		"""Until the keeper has nothing left to do, and every worker has its newest image."""
		def settled():
			status = self.status()
			facts, workers = status["cache"], status["workers"]
			return status if (status["image"] > above and not facts["pending"] and not facts["unsettled"]
				and all(w["image"] == status["image"] for w in workers)) else None
		return wait_for(settled, deadline, said="a keeper at rest")

	def wait_checked(self, deadline=DEADLINE):
		"""Until the keeper knows what lies beside which file, and every worker has the image that says so."""
		def checked():
			status = self.status()
			return not status["cache"]["pending"] and all(w["image"] == status["image"] for w in status["workers"])
		wait_for(checked, deadline, said="a keeper without work")
		return self

	def wait_cached(self, *paths):
		"""Until an image answers for each: a busy keeper's first one may be without a file that was just written."""
		def cached(path):
			before = self.status()["totals"]["cache_hits"]
			with self.connect(self.listens[0]) as c:
				c.get(path)
			return self.status()["totals"]["cache_hits"] > before
		for path in paths:
			wait_for(lambda: cached(path), said=path + " in an image")
		return self

	def wait_tagged(self, *paths):
		"""Until each has a strong entity tag: that of a long file is weak for two seconds behind a change."""
		with self.connect(self.listens[0]) as c:
			for path in paths:
				wait_for(lambda: (c.request("HEAD", path).get("etag") or "W/")[0] == '"', said=path + " with a strong entity tag")
		return self

	def wait_coded(self, names):
		"""Until every worker has these files in all codings: twins come with a later image."""
		missing = [(name, coding) for name in names for coding in ("br", "zstd", "gzip")]

		def coded():
			with self.connect() as c:
				while missing:
					name, coding = missing[-1]
					if c.get("/" + name, [("accept-encoding", coding)]).get("content-encoding") != coding:
						return False
					missing.pop()
			return True
		wait_for(coded, said="files in all codings")
		self.wait_image(self.status()["image"] - 1)
		return self

	def gauges(self):
		"""The live counters, summed over the workers, without this look's own connection."""
		totals = self.status()["totals"]
		found = {name: totals[name] for name in GAUGES}
		found["connections"] -= 1
		found["requests_live"] -= 1
		return found

	def wait_quiet(self, deadline=DEADLINE):
		"""Until all live counters are zero."""
		last = {}

		def quiet():
			last.clear()
			last.update(self.gauges())
			return not any(last.values())
		try:
			wait_for(quiet, deadline, 0.02)
		except AssertionError:
			raise AssertionError("live counters do not return to zero: %s" % {
				k: v for k, v in last.items() if v}) from None

	def wait_connections(self, n):
		"""Until there are n beside this look's own, and none of those before that are over; the status."""
		def counted():
			status = self.status()
			return status if status["totals"]["connections"] == n + 1 else None
		return wait_for(counted, said="%d connections" % n)

	def take_baseline(self):
		self.wait_quiet()
		self.baseline = {w["slot"]: self.settled_kinds(w["pid"])
			for w in self.live_workers().values()}

	def settled_kinds(self, pid):
		"""The descriptors of pid once two looks agree, and no connection of an admin request is among them."""
		last = [None]

		def same():
			# Looked for first: one that goes between the two is not counted any more.
			asked = procs.sockets(pid).keys() & procs.accepted(self.admin_path)
			now = descriptor_kinds(pid)
			agree = now == last[0] and not asked
			last[0] = now
			return agree
		wait_for(same, said="descriptors of %d settle" % pid)
		return last[0]

	def children(self):
		"""Living children of the master."""
		found = []
		for name in os.listdir("/proc/%d/task" % self.pid):
			with open("/proc/%d/task/%s/children" % (self.pid, name)) as f:
				found += [int(pid) for pid in f.read().split()]
		return [pid for pid in found if running(pid)]

	# --- the end ----------------------------------------------------------------------------

	def kill_workers(self):
		"""One after the other, and waits until there are others."""
		for pid in self.worker_pids():
			os.kill(pid, signal.SIGKILL)
			self.log.wait("process %d.*signal 9" % pid)
			self.wait_up()

	def allow_alert(self, pattern):
		"""Announces a line of the level alert."""
		self.alerts_allowed.append(re.compile(pattern))

	def allow_fault(self, pattern, why):
		"""Announces a fault that lint.py or lint_history.py finds, and says why it is none."""
		self.lint.allow(re.compile(pattern), why)

	def expect_exit(self, code):
		self.exit_expected = code

	def finish(self, failed=False):
		"""What holds after every test."""
		problems = []
		try:
			if self.process is not None:
				self._finish(problems, failed)
		finally:
			self._kill_rest()
			shutil.rmtree(self.dir, ignore_errors=True)
		assert not problems, "after the test: %s\nlog:\n%s" % (
			"\n".join(problems), self.log_text())

	def _finish(self, problems, failed):
		if self.lives() and not failed:
			for check in (self._check_quiet, self._check_descriptors):
				try:
					check()
				except (AssertionError, OSError, client.Closed, KeyError) as e:
					problems.append("%s: %s" % (type(e).__name__, e))
		if not failed:
			problems += ["lint: " + fault for fault in self.lint.faults]
		if self.lives():
			self.signal(signal.SIGQUIT)
		try:
			wait_for(lambda: not self.lives())
			self.process.wait(DEADLINE)
		except (AssertionError, subprocess.TimeoutExpired):
			problems.append("it does not leave on QUIT")
			self._kill_rest()
			self.process.wait()
		if self.process.returncode != self.exit_expected:
			problems.append("exit status %d, not %d"
				% (self.process.returncode, self.exit_expected))
		try:
			wait_for(lambda: not group_members(self.process.pid))
		except AssertionError:
			problems.append("processes left behind: %s" % group_members(self.process.pid))
			self._kill_rest()
		self.log.wait_end()
		logs = self.log.lines[:]
		for path in self._own_logs():
			with open(path, errors="replace") as f:
				logs += f.read().split("\n")
		for line in logs:
			if any(p.search(line) for p in self.alerts_allowed):
				continue
			if " alert " in line:
				problems.append("alert: " + line)
			if "Sanitizer" in line or "runtime error:" in line:
				problems.append("sanitizer: " + line)

	def _own_logs(self):
		return [os.path.join(self.dir, n) for n in os.listdir(self.dir) if "error.log" in n]

	def _check_quiet(self):
		if self.admin:
			self.wait_quiet()

	def _check_descriptors(self):
		if not self.baseline:
			return
		for slot, worker in self.live_workers().items():
			wanted = self.baseline.get(slot)
			if wanted is None:
				continue
			# An image that came or went since keeps a pipe open while it lives.
			spare = collections.Counter(["pipe"])
			if self.logs_reopened:  # a log that is a standard stream is there a second time
				spare.update(["pipe", self.path("stdout")])

			def differ():
				now = descriptor_kinds(worker["pid"])
				return dict(now - wanted - spare), dict(wanted - now - spare)
			try:
				wait_for(lambda: differ() == ({}, {}), pause=0.02)
			except AssertionError:
				raise AssertionError("descriptors of worker %d: more %s, fewer %s"
					% ((slot,) + differ())) from None

	def _kill_rest(self):
		if self.process is None:
			return
		try:
			os.killpg(self.process.pid, signal.SIGKILL)
		except (ProcessLookupError, PermissionError):
			pass

	# --- clients ----------------------------------------------------------------------------

	def connect(self, how="tcp", **options):
		options.setdefault("seen", self.lint.see)
		if how == "tcp":
			return client.Client.tcp(self.ports["tcp"], **options)
		if how == "tls":
			return client.Client.tls(self.ports["tls"], **options)
		if how == "unix":
			return client.Client.unix(self.unix_path, **options)
		return client.Client.unix(self.admin_path, **options)

	def h1(self, how="tcp", **options):
		"""The same over HTTP/1."""
		options.setdefault("seen", self.lint.see)
		if how in ("tcp", "tls"):
			return getattr(h1client.H1, how)(self.ports[how], **options)
		return h1client.H1.unix(self.unix_path if how == "unix" else self.admin_path, **options)

	def raw(self, how="tcp", **options):
		return client.Raw(self.socket(how), **options)

	def held(self, how="tcp", path="/large"):
		"""A download that is under way, and goes no further before raw.rest()."""
		raw = self.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000})
		raw.send(raw.headers(1, raw.head(path)))
		assert raw.status_of(1) == 200
		return raw

	def refuses(self, how="tcp"):
		"""Whether nobody listens any more."""
		try:
			self.socket(how).close()
		except (ConnectionRefusedError, ConnectionResetError):
			return True
		except OSError:
			pass
		return False

	def ask(self, n, how="tcp", path="/"):
		"""So many connections, each with a request; hear() has the answers."""
		raws = [self.raw(how) for _ in range(n)]
		for raw in raws:
			raw.send(raw.headers(1, raw.head(path)))
		return raws

	def asked(self, n, how="tcp"):
		"""So many connections, each with a request that was answered; none waits for another's answer."""
		raws = self.ask(n, how)
		for raw in raws:
			assert raw.status_of(1) == 200
		return raws

	def socket(self, how="tcp", timeout=DEADLINE):
		if how == "tls":
			return client.tls_socket(self.ports["tls"], timeout)
		if how == "tcp":
			return socket.create_connection(("127.0.0.1", self.ports["tcp"]), timeout)
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(timeout)
		s.connect(self.unix_path if how == "unix" else self.admin_path)
		return s

	def url(self, how="tcp", path="/"):
		return "%s://127.0.0.1:%d%s" % ("https" if how == "tls" else "http",
			self.ports[how], path)


def _gauges():
	"""Names of the live counters, from the table they are made from."""
	with open(os.path.join(TOP, "src", "base", "counters.def")) as f:
		return re.findall(r"^COUNTER\((\w+),\s*GAUGE", f.read(), re.M)


GAUGES = _gauges()
