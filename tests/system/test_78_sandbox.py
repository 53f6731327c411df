"""What a worker that was taken over may still do: it tries, by the routes /t/sandbox/WHAT and /t/shared/WHAT of the
tests' handlers."""
import contextlib
import ctypes
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

import client
import procs
from harness import needs_root
from server import H2D, SANITIZED
from users import basic, hashed, put_users

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")
ROOT = os.geteuid() == 0
NOBODY = 65534
REFUSED = ("EACCES", "EPERM", "ENOSYS")


def landlock_abi():
	create_ruleset, version = 444, 1
	return max(ctypes.CDLL(None).syscall(create_ruleset, None, 0, version), 0)


landlock = pytest.mark.skipif(landlock_abi() == 0, reason="kernel capability landlock: the kernel has none")


def built_with(what):
	out = subprocess.run([H2D, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout
	return re.search(r"^features: .*\b%s\b" % what, out, re.M) is not None


seccomp = pytest.mark.skipif(not built_with("seccomp"), reason="built without libseccomp")


class Inside:
	"""A server with that route, in which a worker tries things."""

	def __init__(self, server):
		self.server = server

	def tries(self, what, arg=""):
		with self.server.connect("tcp") as c:
			answer = c.get("/t/sandbox/%s?%s" % (what, arg))
			assert answer.status == 200, answer
			return answer.body.decode()

	def refuses(self, what, arg=""):
		said = self.tries(what, arg)
		assert said in REFUSED, (what, arg, said)


@pytest.fixture(scope="module")
def handlers():
	"""The server with that route, where every user may start it."""
	with tempfile.TemporaryDirectory(prefix="h2d-test-bin-") as folder:
		os.chmod(folder, 0o755)
		yield shutil.copy(HANDLERS, folder)


@pytest.fixture(params=["root", "user"] if ROOT else ["user"])
def inside(request, h2d, handlers):
	"""inside(options): an Inside, started as root and with a user for its children, or as a user."""
	as_user = {"user": NOBODY} if ROOT and request.param == "user" else {}
	conf = 'user = "nobody"' if request.param == "root" else ""

	def make(prepare=None, **options):
		server = h2d.new(binary=handlers, listens=("tcp",), conf=conf, **as_user, **options)
		if prepare is not None:
			prepare(server)
		if ROOT:
			subprocess.run(["chown", "-R", str(NOBODY), server.dir], check=True)
		return Inside(server.start())
	return make


def off(**keys):
	return "sandbox { %s }" % " ".join("%s = %s" % (k.replace("_", "-"), v) for k, v in keys.items())


def status_of(pid):
	with open("/proc/%d/status" % pid) as f:
		return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def children(server):
	return {"worker": server.worker_pids()[0], "keeper": server.keeper()}


# --- rights -------------------------------------------------------------------------------------


@needs_root("starts as root")
@pytest.mark.parametrize("user", ["nobody", "root"])
def test_no_child_has_a_capability(h2d, user):
	"""In no set, the bounding set included, even where the user is root; nor can it gain any."""
	server = h2d(image=True, conf='user = "%s"' % user)
	for kind, pid in children(server).items():
		status = status_of(pid)
		for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
			assert int(status[name], 16) == 0, (kind, name, status[name])
		assert status["NoNewPrivs"] == "1", kind
		assert set(status["Uid"].split()) == {str(NOBODY if user == "nobody" else 0)}
	assert int(status_of(server.pid)["CapEff"], 16) != 0, "the master keeps its own"


@needs_root("starts as root")
def test_capabilities_can_be_kept(h2d):
	server = h2d(image=True, sections=off(drop_capabilities="false"))
	for kind, pid in children(server).items():
		status = status_of(pid)
		assert int(status["CapEff"], 16) != 0, kind
		assert status["NoNewPrivs"] == "1", kind
	server.log.wait("sandbox of child processes: .*the user's capabilities")


# --- files --------------------------------------------------------------------------------------


@landlock
def test_files_out_of_reach(inside):
	"""What a worker does not need is refused, whoever it runs as, and however the modes are."""
	there = inside(server='upload-dir = "files"', files={"files/kept": b"x", "page": b"p"})
	server = there.server
	there.refuses("read", "/etc/shadow")
	there.refuses("read", "/etc/passwd")
	there.refuses("list", "/etc")
	there.refuses("list", "/")
	if not SANITIZED:
		there.refuses("read", "/proc/self/status")
	there.refuses("write", server.path("www", "new"))
	there.refuses("write", server.path("www", "page"))
	there.refuses("write", "/tmp/h2d-test-78")
	there.refuses("become", "/bin/false")
	assert there.tries("read", server.path("www", "page")) == "done"
	assert there.tries("read", server.path("www", "files", "kept")) == "done"
	server.log.wait(r"sandbox of child processes: no_new_privs, no capabilities, Landlock ABI \d")


@landlock
def test_files_without_landlock(inside):
	"""The same tries, for which the modes are all that there is."""
	there = inside(sections=off(landlock="off"), files={"page": b"p"})
	server = there.server
	os.chmod(server.path("www"), 0o777)
	os.chmod(server.path("www", "page"), 0o666)
	assert there.tries("read", "/etc/passwd") == "done"
	assert there.tries("list", "/") == "done"
	assert there.tries("write", server.path("www", "page")) == "done"
	assert there.tries("write", server.path("www", "new")) == "done"
	there.refuses("read", "/etc/shadow")
	server.log.wait("sandbox of child processes: .*Landlock off")


@landlock
def test_private_key_out_of_reach(inside):
	"""Its mode lets the worker's user read it: it is Landlock that does not."""
	there = inside()
	cert = there.server.cert
	copy = there.server.dir + "-key"
	shutil.copy(cert.key, copy)
	os.chmod(copy, 0o644)
	try:
		there.refuses("read", copy)
	finally:
		os.unlink(copy)


@landlock
def test_what_handlers_may_use(inside):
	"""read and write of section sandbox."""
	with tempfile.TemporaryDirectory(prefix="h2d-test-more-") as top:
		os.chmod(top, 0o755)
		path = lambda *name: os.path.join(top, *name)
		for name in ("read", "write"):
			os.mkdir(path(name))
			with open(path(name, "file"), "w") as f:
				f.write("x")
			os.chmod(path(name), 0o777)
			os.chmod(path(name, "file"), 0o666)
		there = inside(sections='sandbox { read = {"%s"} write = {"%s"} }'
			% (path("read"), path("write")))
		assert there.tries("read", path("read", "file")) == "done"
		there.refuses("write", path("read", "file"))
		assert there.tries("write", path("write", "file")) == "done"
		assert there.tries("write", path("write", "new")) == "done"


@landlock
def test_who_is_refused_is_told_how_to_widen_it(h2d, handlers):
	"""Once for each handler, by what its work leaves behind."""
	server = h2d(binary=handlers)
	for connect in (server.connect, server.h1):
		with connect() as c:
			for _ in range(3):
				assert c.get("/t/block?/etc/shadow").status == 500
			assert c.get("/t/block?%s" % server.path("no-such-file")).status == 500
	refused = r" warn .*handler t_block: its work was denied access: Permission denied; .*read, write and network in section sandbox$"
	server.log.wait(refused)
	assert len(server.log.find(refused)) == 1


if SANITIZED:
	@landlock
	def test_reports_name_functions(h2d):
		"""AddressSanitizer reads them in the program, which is out of reach else."""
		server = h2d(binary=HANDLERS, workers=1, listens=("tcp",))
		server.allow_alert("SEGV|signal|Sanitizer")
		with contextlib.suppress(Exception), server.connect() as c:
			c.get("/t/sandbox/fault?16")
		server.log.wait(r"#0 0x\w+ in fault .*t_sandbox\.c")
		server.wait_up()


def test_paths_are_absolute(h2d):
	server = h2d.new(sections='sandbox { read = {"var/lib"} }')
	done = server.run("-t", check=1)
	assert 'read: "var/lib" is not absolute' in done.err, done.err


# --- what is replaced later ---------------------------------------------------------------------


def swap_link(target, link):
	os.symlink(target, link + ".next")
	os.rename(link + ".next", link)


@landlock
@pytest.mark.parametrize("below", ["", "public"])
def test_release_is_swapped(h2d, below):
	"""Landlock binds what the link led to: where the next release lies is allowed too, not what is beside."""
	server = h2d.new(binary=HANDLERS, listens=("tcp",))
	for name in ("42", "43"):
		os.makedirs(server.path("releases", name, below))
		with open(server.path("releases", name, below, "f"), "w") as f:
			f.write(name)
	os.mkdir(server.path("secret"))
	swap_link("releases/42", server.path("current"))
	server.put_conf(server.conf_text.replace(server.root, server.path("current", below).rstrip("/")))
	server.start(image=True)
	server.baseline = None  # the root's descriptor has another name later
	with server.connect("tcp") as c:
		assert c.get("/f").body == b"42"
		swap_link("releases/43", server.path("current"))
		procs.wait_for(lambda: c.get("/f").body == b"43", said="the next release")
	server.wait_image(1)


@landlock
def test_password_file_is_replaced(inside):
	there = inside(lambda server: put_users(server, anna=hashed("one")), files={"p/f": b"in"},
		server='location "/p/" { auth-basic-file = "users" }')
	server = there.server
	with server.connect("tcp") as c:
		ask = lambda password: c.get("/p/f", basic("anna", password)).status
		procs.wait_for(lambda: ask("one") == 200, said="the first password")
		put_users(server, anna=hashed("two"))
		procs.wait_for(lambda: ask("two") == 200, said="the second")
		procs.wait_for(lambda: ask("one") == 401, said="the first is none any more")


# --- other processes ----------------------------------------------------------------------------


@landlock
def test_other_processes_out_of_reach(inside):
	there = inside()
	server = there.server
	keeper = server.keeper()
	there.refuses("signal", str(server.pid))
	there.refuses("ptrace", str(keeper))
	there.refuses("ptrace", str(server.pid))


# --- system calls -------------------------------------------------------------------------------

CALLS = ("fork", "exec", "become", "socket", "connect", "epoll", "ptrace", "signal", "code")


def arguments(server):
	return {"exec": "/bin/true", "become": "/bin/false", "connect": str(server.ports["tcp"]),
		"ptrace": str(server.keeper()), "signal": str(server.pid)}


@seccomp
def test_system_calls_are_refused(inside):
	"""By seccomp alone."""
	there = inside(sections=off(landlock="off"))
	args = arguments(there.server)
	for what in CALLS:
		if SANITIZED and what in ("fork", "ptrace", "signal", "code"):
			continue  # the sanitizer's own tools need these
		there.refuses(what, args.get(what, ""))
	there.server.log.wait("sandbox of child processes: .*, seccomp$")
	for kind, pid in children(there.server).items():
		# A keeper that has just begun is not in it yet.
		procs.wait_for(lambda: [status_of(pid)[what] for what in ("Seccomp", "NoNewPrivs")] == ["2", "1"], said=kind)


@seccomp
@pytest.mark.parametrize("how", ["address", "name"])
def test_what_a_proxy_opens(inside, how):
	"""Connections to the ports of its application, and with a name what getaddrinfo(3) needs."""
	with socket.create_server(("127.0.0.1", 0)) as app, socket.socket(socket.AF_UNIX) as other:
		port = app.getsockname()[1]
		other.bind("\0h2d-test-78-%d" % os.getpid())
		other.listen()
		host = {"address": "127.0.0.1", "name": "localhost"}[how]
		there = inside(server='location "/app" { proxy = "%s:%d" }' % (host, port))
		args = arguments(there.server)
		assert there.tries("link", str(port)) == "done"
		for what in ("socket", "connect", "exec", "epoll", "ptrace", "signal") + (("datagram",) if how == "address" else ()):
			if not SANITIZED or what not in ("ptrace", "signal"):
				there.refuses(what, args.get(what, ""))
		if landlock_abi() >= 4:
			there.refuses("link", str(there.server.ports["tcp"]))
		if landlock_abi() >= 6:
			there.refuses("abstract", "h2d-test-78-%d" % os.getpid())
		assert (there.tries("resolve", "localhost") == "done") == (how == "name")


@seccomp
def test_no_proxy_opens_nothing(inside):
	there = inside()
	with socket.create_server(("127.0.0.1", 0)) as port:
		there.refuses("link", str(port.getsockname()[1]))
	there.refuses("datagram")
	assert there.tries("resolve", "localhost") != "done"


def options():
	"""Of a listening socket: nobody farther than one hop; a key that no client has; all that is sent, byte by byte."""
	ip_minttl, tcp_maxseg = 21, 2
	return ["%d,%d,255" % (socket.IPPROTO_IP, ip_minttl), "%d,%d,88" % (socket.IPPROTO_TCP, tcp_maxseg),
		"%d,%d,1" % (socket.SOL_SOCKET, socket.SO_RCVBUF)]


@seccomp
@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_what_is_shared_is_left_alone(h2d, handlers, tmp_path, dispatch):
	"""Listening sockets, which outlive the worker; the scheduling of others, and sockets that carry data out."""
	server = h2d(binary=handlers, listens=("tcp", "unix"), dispatch=dispatch)
	keeper, path = str(server.keeper()), str(tmp_path / "heard")
	with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard, socket.create_server(("127.0.0.1", 0)) as port:
		heard.bind(path)
		tries = [("affinity", keeper), ("owner", keeper), ("datagram", path), ("block", "unix"), ("shutdown", "unix")]
		if dispatch == "reuseport":
			tries += [("option", option) for option in options()] + [("steer", ""), ("filter", ""), ("block", "tcp"),
				("fastopen", str(port.getsockname()[1])), ("shutdown", "tcp")]
		with server.connect("tcp") as c:
			said = {t: c.get("/t/shared/%s?%s" % t).body.decode() for t in tries}
		assert {t: text for t, text in said.items() if text not in REFUSED} == {}
	with server.connect("tcp") as c:
		assert c.get("/").status == 200


def answers(server, how):
	"""The master mends one socket after the other."""
	try:
		with server.connect(how) as c:
			return c.get("/").status == 200
	except (OSError, client.Closed):
		return False


def none_waits(pid):
	"""Whether accept4(2) comes back at once from each socket of process pid that listens."""
	with open("/proc/net/unix") as f:
		listening = {int(part[6]) for part in (line.split() for line in list(f)[1:]) if int(part[3], 16) & 0x10000}
	listening |= procs.listening_inodes().keys()
	for inode, fd in procs.sockets(pid).items():
		with open("/proc/%d/fdinfo/%d" % (pid, fd)) as f:
			flags = next(int(line.split()[1], 8) for line in f if line.startswith("flags:"))
		if inode in listening and not flags & os.O_NONBLOCK:
			return False
	return True


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
@pytest.mark.parametrize("what", ["shutdown", "block"])
def test_a_shared_socket_is_mended(h2d, handlers, dispatch, what):
	"""Where nothing keeps a worker from spoiling it: it takes connections again, and those that came before go on."""
	server = h2d(binary=handlers, listens=("tcp", "unix"), dispatch=dispatch, sections=off(seccomp="off"))
	server.baseline = None
	with server.connect("tcp") as c:
		said = {family: c.get("/t/shared/%s?%s" % (what, family)).body for family in ("tcp", "unix")}
		assert said["unix"] == b"done"
		assert said["tcp"] == (b"done" if dispatch == "reuseport" else b"ENOENT"), said
		server.log.wait("a socket of .* was shut down; reopened it: a worker may be compromised")
		# Before that a connection would have the worker wait for the next one.
		procs.wait_for(lambda: none_waits(server.pid), said="all are mended")
		procs.wait_for(lambda: procs.listens(server.admin_path), said="the admin's is mended")
		for how in ("tcp", "unix", "tcp"):
			procs.wait_for(lambda: answers(server, how), said="an answer by " + how)
		if what == "shutdown":
			assert c.get("/").status == 200
	assert len(server.status()["workers"]) == 1


def test_a_proxys_worker_spoils_a_socket(h2d, handlers):
	"""connect(2), which it may call, ends a listening socket, too."""
	server = h2d(binary=handlers, listens=("tcp",), dispatch="reuseport", server='location "/app" { proxy = "127.0.0.1:9" }')
	server.baseline = None
	with server.connect("tcp") as c:
		assert c.get("/t/shared/unconnect?tcp").body == b"done"
		server.log.wait("a socket of .* was shut down; reopened it: a worker may be compromised")
		procs.wait_for(lambda: answers(server, "tcp"), said="an answer")


def test_a_mended_socket_is_stored_anew(h2d, handlers):
	"""The service manager has the one that takes connections, and the other no more."""
	server = h2d.new(binary=handlers, listens=("tcp",), sections=off(seccomp="off"))
	with server.notify_socket(FDSTORE="512") as s:
		server.start()
		server.baseline = None
		name = lambda: "h2d/unix/%d/%d" % (os.stat(server.admin_path).st_dev, os.stat(server.admin_path).st_ino)
		def heard(text):
			while text not in s.recv(4096).decode():
				pass
		before = name()
		heard("FDSTORE=1\nFDPOLL=0\nFDNAME=%s\n" % before)
		with server.connect("tcp") as c:
			assert c.get("/t/shared/shutdown?unix").body == b"done"
		heard("FDSTOREREMOVE=1\nFDNAME=%s\n" % before)
		procs.wait_for(lambda: procs.listens(server.admin_path), said="it is mended")
		heard("FDSTORE=1\nFDPOLL=0\nFDNAME=%s\n" % name())


CTL_FULL, CTL_LINE, CTL_NONE = 11, 13, 31
FLOOD = 600  # more than the master takes in a second, and its queue beside that


@pytest.mark.parametrize("what", [CTL_FULL, CTL_LINE, CTL_NONE])
def test_a_flood_of_messages(h2d, handlers, what):
	"""The master hears so many in a second and no more, logs the fewest, and turns as ever."""
	size = 40 + 256  # of struct ctl_msg
	server = h2d(binary=handlers, workers=2, listens=("tcp",), conf="log-level = info")
	before = len(server.log.lines)
	with server.connect("tcp") as c:
		assert c.get("/t/shared/say?%d,%d,%d" % (what, size, FLOOD)).body == b"done"
	server.log.wait("sends more than 256 messages a second; delaying them")
	server.reload()
	said = [line for line in server.log.lines[before:] if " master: " in line]
	assert len(said) < 60, said
	assert ("unknown message 31" in "".join(said)) == (what == CTL_NONE)
	server.wait_up(2)


@seccomp
@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_descriptors_in_flight(h2d, handlers, dispatch):
	"""The kernel counts those of a user: a worker has its share of them, and none of the acceptor's."""
	user = 'user = "nobody"' if ROOT else ""
	server = h2d(binary=handlers, workers=2, listens=("tcp",), dispatch=dispatch, conf=user)
	server.baseline = None  # in flight they keep what they are of
	with server.connect("tcp") as c:
		assert c.get("/t/shared/flight").body == b"ETOOMANYREFS"
		for _ in range(20):
			with server.connect("tcp") as other:
				assert other.get("/").status == 200
	server.reload()


@seccomp
def test_a_socket_that_lingers(inside):
	there = inside(sections=off(network="true"))
	with socket.create_server(("127.0.0.1", 0)) as port, there.server.connect("tcp") as c:
		assert c.get("/t/shared/linger?%d" % port.getsockname()[1]).body.decode() in REFUSED


def test_a_socket_that_lingers_at_the_master(h2d, handlers):
	"""Where nothing keeps a worker from it, no call of the master waits for the peer; and the worker is ended."""
	server = h2d(binary=handlers, listens=("tcp",), sections=off(network="true", seccomp="off"))
	server.baseline = None
	before = server.worker_pids()
	with socket.create_server(("127.0.0.1", 0)) as port:
		with server.connect("tcp") as c:
			c.send(path="/t/shared/linger?%d" % port.getsockname()[1])
			server.log.wait("sent unexpected descriptors, may be compromised; killing it")
		began = time.monotonic()
		server.reload()
		assert time.monotonic() - began < 30  # it lingers for 60 s
		procs.wait_for(lambda: set(server.worker_pids()).isdisjoint(before), said="another worker")


def test_the_keeper_is_told_elsewhere(h2d, handlers):
	"""A worker shuts down the socket by which all of them tell the keeper of changes: uploads do not wait for good."""
	server = h2d(binary=handlers, workers=2, listens=("tcp",), image=True,
		server='upload-dir = "files" upload-public = true', files={"files/kept": b"x"})
	def put():
		with server.connect("tcp") as c:
			assert c.request("PUT", "/files/x", body=b"y").status in (201, 204)
	def are_told():
		before = server.status()["totals"]["doubts_timed_out"]
		for _ in range(8):
			put()
		return server.status()["totals"]["doubts_timed_out"] == before
	with server.connect("tcp") as c:
		assert c.get("/t/shared/doubts").body == b"done"
	server.log.wait("was shut down; replacing it: a worker may be compromised")
	procs.wait_for(are_told, said="uploads that do not wait for the keeper's answer in vain")
	assert procs.mostly(are_told)


@seccomp
@pytest.mark.parametrize("how", ["off", "log"])
def test_system_calls_without_seccomp(inside, how):
	"""The same tries: with its key off, and when it only logs, what is refused is refused by other rules."""
	there = inside(sections=off(landlock="off", seccomp=how))
	args = arguments(there.server)
	for what in ("fork", "exec", "socket", "connect", "code"):
		assert there.tries(what, args.get(what, "")) == "done", what
	there.server.log.wait("sandbox of child processes: .*, seccomp %s$" % {"off": "off", "log": "logs"}[how])


@landlock
def test_network_without_seccomp(inside):
	"""Landlock alone keeps a worker from TCP, since its version 4."""
	there = inside(sections=off(seccomp="off"))
	assert there.tries("socket") == "done"
	if landlock_abi() >= 4:
		there.refuses("connect", str(there.server.ports["tcp"]))


CERTIFICATES = [p for p in ("/etc/ssl/certs", "/etc/pki/tls/certs") if os.path.isdir(p)]


@landlock
def test_what_libraries_of_handlers_read(inside):
	"""Random bytes, without which SQLite makes them of time and process ID; certificates are for who may connect."""
	there = inside()
	for device in ("/dev/urandom", "/dev/random", "/dev/null"):
		assert there.tries("read", device) == "done", device
		there.refuses("write", device)
	there.refuses("list", "/dev")
	for folder in CERTIFICATES:
		there.refuses("list", folder)


def test_network_for_handlers(inside):
	there = inside(sections=off(network="true"))
	for folder in CERTIFICATES:
		assert there.tries("list", folder) == "done"
		for name in [n for n in sorted(os.listdir(folder)) if os.path.isfile(os.path.join(folder, n))][:20]:
			assert there.tries("read", os.path.join(folder, name)) == "done", name
	assert there.tries("connect", str(there.server.ports["tcp"])) == "done"
	there.refuses("exec", "/bin/true")
	there.refuses("read", "/etc/passwd")


@seccomp
def test_further_system_calls(inside):
	there = inside(sections=off(syscalls='{"socket", "no-such-call"}'))
	assert there.tries("socket") == "done"
	there.refuses("become", "/bin/false")
	there.server.log.wait("syscalls: no call no-such-call")


def test_syslog_in_the_sandbox(h2d):
	"""Each line takes a socket, which is all that such a worker may make."""
	server = h2d.new(binary=HANDLERS, conf='error-log = "syslog"', admin=False, listens=("unix",))
	server.spawn()
	there = Inside(server)
	def asked():
		try:
			with server.connect("unix") as c:
				return c.get("/t/sandbox/socket").body.decode()
		except OSError:
			return None
	said = procs.wait_for(asked, said="it listens")
	assert said in REFUSED
	assert there is not None


# --- what is said -------------------------------------------------------------------------------


def test_version_says_what_is_built_in(h2d):
	done = h2d.new().run("-V", check=0)
	assert re.search(r"^features: .*\blandlock\b", done.out, re.M), done.out
