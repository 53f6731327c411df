"""Master, workers and keeper: reloads, deaths, drains, descriptors, rights."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from h2.settings import SettingCodes
from hyperframe import frame as hf

import client
import harness
import server as srv

HERE = os.path.dirname(os.path.abspath(__file__))
WINDOW = SettingCodes.INITIAL_WINDOW_SIZE
LARGE = os.urandom(1 << 16) * 64


def reload(server, check=0):
	server.baseline = None  # other processes from now on
	return server.run("-s", "reload", check=check)


def hup(server):
	server.baseline = None
	server.signal(signal.SIGHUP)


# --- reload -------------------------------------------------------------------------------------

def test_reload(h2d):
	server = h2d(workers=2, files={"a": "old"})
	before = server.status()
	pids = set(server.worker_pids())
	os.mkdir(server.path("other"))
	with open(server.path("other", "a"), "w") as f:
		f.write("new")
	server.put_conf(server.conf_text.replace(server.root, server.path("other")))
	done = reload(server)
	assert "generation %d" % (before["generation"] + 1) in done.out + done.err
	after = server.wait_up(before["generation"] + 1)
	assert not pids & {w["pid"] for w in after["workers"]}
	assert after["totals"]["requests"] >= before["totals"]["requests"], "totals survive"
	for how in ("tcp", "tls"):
		with server.connect(how) as c:
			assert c.get("/a").body == b"new"
	with open(server.pid_path) as f:
		assert int(f.read()) == server.pid, "the main pid never changes"
	assert not any(srv.running(p) for p in pids)


def test_reload_by_hup(h2d):
	server = h2d()
	generation = server.status()["generation"]
	for i in range(1, 4):
		hup(server)
		server.wait_up(generation + i)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200


def bad_syntax(server):
	server.put_conf(server.conf_text.replace("worker-processes", "worker-precesses"))
	return r"h2d\.conf:1: "


def bad_root(server):
	server.put_conf(server.conf_text.replace(server.root, server.root + "-not"))
	return r"h2d\.conf:\d+: .*www-not"


def bad_key(server):
	server.put_conf(server.conf_text.replace(server.cert.key, server.cert.key + "-not"))
	return r"h2d\.conf:\d+: .*key-not"


def bad_log(server):
	server.put_conf('error-log = "%s/no/such/folder/x"\n' % server.dir + server.conf_text)
	return r"h2d\.conf:1: .*no/such/folder"


def bad_user(server):
	server.put_conf('user = "no-such-user"\n' + server.conf_text)
	return r"no-such-user"


def missing_file(server):
	os.unlink(server.conf_path)
	return r"h2d\.conf.*No such file"


def port_taken(server):
	other = socket.socket()
	other.bind(("127.0.0.1", 0))
	other.listen(1)
	server.keep_open = other
	address = "127.0.0.1:%d" % other.getsockname()[1]
	server.put_conf('listen "%s" { tls = false }\nlisten "127.0.0.1:0" {}\n' % address + server.conf_text)
	return re.escape(address) + ".*in use"


BAD_RELOADS = [bad_syntax, bad_root, bad_key, bad_log, missing_file, port_taken] + (
	[bad_user] if os.geteuid() == 0 else [])


@pytest.mark.parametrize("make", BAD_RELOADS, ids=lambda f: f.__name__)
def test_bad_reload_keeps_the_old(h2d, make):
	server = h2d(workers=2)
	before = server.status()
	pids = sorted(server.worker_pids())
	fds = srv.descriptor_kinds(server.pid)
	with server.connect("tls") as c:
		assert c.get("/").status == 200
		pattern = make(server)
		done = server.run("--pid-file", server.pid_path, "-s", "reload", check=1)
		assert re.search(pattern, done.err), done.err
		server.log.wait(pattern)
		seen = len(server.log.lines)
		server.signal(signal.SIGHUP)
		server.log.wait(pattern, since=seen)
		server.log.wait("goes on", since=seen)
		assert c.get("/").status == 200, "even the old connections live on"
	after = server.status()
	assert after["generation"] == before["generation"]
	assert sorted(server.worker_pids()) == pids
	srv.wait_for(lambda: srv.descriptor_kinds(server.pid) == fds, said="the master keeps no descriptor of it")
	server.put_conf(server.conf_text)
	reload(server)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200


def test_reloads_at_once(h2d):
	"""Every `-s reload` learns of an outcome."""
	server = h2d()
	server.baseline = None
	running = [subprocess.Popen(server.command("-f", server.conf_path, "-s", "reload"), stderr=subprocess.PIPE)
		for _ in range(5)]
	for process in running:
		err = process.communicate(timeout=20)[1]
		assert process.returncode == 0, err
	server.wait_up()


def test_reload_changes_listeners(h2d):
	server = h2d(workers=2, listens=("tcp",))
	old = server.ports["tcp"]
	seen = len(server.log.lines)
	server.put_conf(server.conf_text.replace('"127.0.0.1:0"', '"127.0.0.2:0"'))
	reload(server)
	line = server.log.wait(r"listening on 127\.0\.0\.2:\d+", since=seen)[0]
	port = int(re.search(r"127\.0\.0\.2:(\d+)", line).group(1))
	with socket.create_connection(("127.0.0.2", port), 10) as s:
		assert client.Client(s).get("/").status == 200

	def refused():
		try:
			socket.create_connection(("127.0.0.1", old), 1).close()
		except ConnectionRefusedError:
			return True
	srv.wait_for(refused, said="the old port is closed")


@pytest.mark.parametrize("count", [1, 4])
def test_reload_changes_the_worker_count(h2d, count):
	server = h2d(workers=2)
	server.put_conf(server.conf_text.replace("worker-processes = 2", "worker-processes = %d" % count))
	server.workers = count
	reload(server)
	server.wait_up(2)
	for how in ("tcp", "tls"):
		for _ in range(20):
			with server.connect(how) as c:
				assert c.get("/").status == 200


def test_command_line_survives_hup(h2d):
	server = h2d.new(workers=1, args=("-n", "2"))
	server.workers = 2
	server.start()
	generation = server.status()["generation"]
	hup(server)
	assert len(server.wait_up(generation + 1)["workers"]) == 2


def test_new_certificate_after_reload(h2d, tmp_path):
	server = h2d()
	other = harness.Certificate(str(tmp_path), "other.example")
	server.put_conf(server.conf_text.replace(server.cert.cert, other.cert).replace(server.cert.key, other.key))
	reload(server)
	with server.socket("tls") as s:
		der = s.getpeercert(binary_form=True)
	assert b"other.example" in der


def test_old_connections_drain(h2d, how):
	"""RFC 9113, 6.8: GOAWAY 2^31-1, then GOAWAY with the last id; what runs is finished; then the end."""
	server = h2d(files={"large": LARGE})
	with server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		hup(server)
		first = raw.until_type(hf.GoAwayFrame)
		assert (first.last_stream_id, first.error_code) == (client.MAGIC_LAST_ID, 0)
		raw.send(raw.headers(3, raw.head("/healthz")))
		while True:
			frame = raw.until(lambda f: isinstance(f, hf.GoAwayFrame) or (
				f.stream_id == 3 and isinstance(f, (hf.HeadersFrame, hf.RstStreamFrame))))
			if isinstance(frame, hf.GoAwayFrame):
				assert frame.error_code == 0 and frame.last_stream_id in (1, 3)
				break
			if isinstance(frame, hf.HeadersFrame):
				assert frame.fields[":status"] == "503", "not healthy while draining"
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 24), hf.WindowUpdateFrame(1, window_increment=1 << 24))
		assert raw.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags) is not None
		assert b"".join(f.data for f in raw.frames if isinstance(f, hf.DataFrame) and f.stream_id == 1) == LARGE
		raw.goaway()
	server.wait_up(2)


def test_ignored_requests_do_not_end_a_drain(h2d, how):
	"""A request that crosses the last GOAWAY is not served, and does no harm to what is."""
	server = h2d(sections="timeouts { header = 1 }", files={"large": LARGE})
	with server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		hup(server)
		assert raw.until_type(hf.GoAwayFrame).last_stream_id == client.MAGIC_LAST_ID
		assert raw.until_type(hf.GoAwayFrame).last_stream_id == 1
		raw.send(raw.headers(3))
		time.sleep(2)  # longer than the header timeout
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 24), hf.WindowUpdateFrame(1, window_increment=1 << 24))
		assert raw.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags) is not None
	server.wait_up(2)


def test_idle_connections_are_told(h2d, how):
	server = h2d()
	raws = [server.raw(how) for _ in range(20)]
	for raw in raws:
		raw.send(raw.headers(1))
		assert raw.status_of(1) == 200
	hup(server)
	for raw in raws:
		assert raw.goaway().error_code == 0
		raw.close()


@pytest.mark.parametrize("flip", [False, True], ids=["same", "worker count flips"])
def test_twenty_hups_under_load(h2d, flip):
	"""One every 200 ms under 50 clients: no failed, errored or timed-out request."""
	server = h2d(workers=2)
	fleet = subprocess.Popen([sys.executable, os.path.join(HERE, "fleet.py"), "50",
		"tcp:%d" % server.ports["tcp"], "tls:%d" % server.ports["tls"]],
		stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	try:
		assert fleet.stdout.readline().strip() == "running"
		srv.wait_for(lambda: server.status()["totals"]["requests"] > 1000, said="load")
		server.baseline = None
		for i in range(20):
			start = time.monotonic()
			if flip:
				server.workers = (4, 2)[i % 2]
				server.put_conf(server.conf_text.replace("worker-processes = 2",
					"worker-processes = %d" % server.workers))
			server.signal(signal.SIGHUP)
			time.sleep(max(0, start + 0.2 - time.monotonic()))
		server.wait_up()
	finally:
		fleet.stdin.close()
	result = json.loads(fleet.stdout.read())
	assert fleet.wait(10) == 0
	assert result["failures"] == 0, result
	assert result["goaways"] > 100 and result["requests"] > 1000, result
	assert server.status()["generation"] > 5
	print(result)


def test_reload_with_queued_connections(h2d):
	"""What waits in the queue of a worker that does not accept is not reset by a reload."""
	server = h2d(workers=1, listens=("tcp",))
	pid = server.worker_pids()[0]
	os.kill(pid, signal.SIGSTOP)
	try:
		raws = [server.raw("tcp") for _ in range(20)]
		for raw in raws:
			raw.send(raw.headers(1))
		hup(server)
		for raw in raws:
			assert raw.status_of(1) == 200
			raw.close()
	finally:
		os.kill(pid, signal.SIGCONT)
	server.wait_up(2)


# --- deaths -------------------------------------------------------------------------------------

def back_after(server, pid, number=signal.SIGKILL):
	"""Kills pid; seconds until a request that came after it is answered (by one worker)."""
	start = time.monotonic()
	os.kill(pid, number)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	return time.monotonic() - start


def test_killed_worker_is_back(h2d):
	server = h2d(workers=1)
	took = []
	for _ in range(3):
		pid = server.worker_pids()[0]
		took.append(back_after(server, pid))
		server.wait_up()
		assert server.worker_pids() != [pid]
		if min(took) < 0.1:
			break
	assert min(took) < 0.1 * srv.SLOW, took
	server.log.wait("signal 9")
	server.wait_image()


def test_others_do_not_notice_a_death(h2d):
	server = h2d(workers=2, listens=("tcp",))
	raws = [server.raw("tcp") for _ in range(40)]
	for raw in raws:
		raw.send(raw.headers(1))
		assert raw.status_of(1) == 200
	workers = server.live_workers()
	counts = {slot: w["connections"] for slot, w in workers.items()}
	assert sum(counts.values()) == 41 and min(counts.values()) > 3
	os.kill(workers[0]["pid"], signal.SIGKILL)
	alive = 0
	for raw in raws:
		try:
			raw.send(raw.headers(3))
			alive += raw.status_of(3) == 200
		except OSError:
			pass
		raw.close()
	assert alive >= counts[1] - 1
	server.wait_up()
	after = server.live_workers()
	assert after[1]["pid"] == workers[1]["pid"] and after[0]["pid"] != workers[0]["pid"]


def test_queued_connections_survive_a_death(h2d):
	server = h2d(workers=1, listens=("tcp",))
	pid = server.worker_pids()[0]
	os.kill(pid, signal.SIGSTOP)
	raws = [server.raw("tcp") for _ in range(50)]
	for raw in raws:
		raw.send(raw.headers(1))
	os.kill(pid, signal.SIGKILL)
	for raw in raws:
		assert raw.status_of(1) == 200
		raw.close()


def test_crash_is_an_alert(h2d):
	server = h2d()
	server.allow_alert("signal 6")
	os.kill(server.worker_pids()[0], signal.SIGABRT)
	server.log.wait(" alert .*signal 6")
	server.wait_up()


def test_crash_loop_backs_off(h2d):
	server = h2d(workers=2)
	for _ in range(7):
		pid = server.live_workers()[0]["pid"]
		os.kill(pid, signal.SIGKILL)
		srv.wait_for(lambda: server.live_workers().get(0, {"pid": pid})["pid"] != pid, said="respawn")
	waits = [int(re.search(r"in (\d+) ms", line).group(1))
		for line in server.log.find(r"started again in \d+ ms")]
	waits = [w for w in waits if w > 0]
	assert waits == sorted(waits) and waits[0] >= 100 and waits[-1] >= 400, waits
	assert len(waits) == 4, "the first three are mended at once"


def test_keeper_dies(h2d):
	"""It costs nothing but the next image."""
	server = h2d()
	keeper = server.status()["keeper"]
	assert keeper in server.children()
	os.kill(keeper, signal.SIGKILL)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	srv.wait_for(lambda: server.status()["keeper"] not in (0, keeper), said="another keeper")
	server.wait_image()
	server.baseline = None


def test_master_killed(h2d):
	"""Workers and keeper leave, after what they have; the port is free again."""
	server = h2d(workers=2, files={"large": LARGE})
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		children = server.children()
		assert len(children) == 3
		os.kill(server.pid, signal.SIGKILL)
		server.process.wait()
		server.expect_exit(-signal.SIGKILL)
		raw.until_type(hf.GoAwayFrame)
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 24), hf.WindowUpdateFrame(1, window_increment=1 << 24))
		assert raw.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags) is not None
	srv.wait_for(lambda: not any(srv.running(p) for p in children), said="the children leave")
	with pytest.raises(ConnectionRefusedError):
		server.socket("tcp")
	second = h2d.new()
	second.put_conf(second.conf_text.replace(second.pid_path, server.pid_path)
		.replace(second.admin_path, server.admin_path))
	second.admin_path = server.admin_path
	second.start()  # takes the pid file and the stale socket over


# --- the end ------------------------------------------------------------------------------------

def test_quit_finishes_a_download(h2d, how):
	server = h2d(files={"large": LARGE}, workers=2)
	with server.connect(how, settings={WINDOW: 1000}, credit=False) as c:
		pass
	with server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		server.signal(signal.SIGQUIT)
		assert raw.until_type(hf.GoAwayFrame) is not None

		def refused():
			try:
				server.socket(how).close()
			except (ConnectionRefusedError, ConnectionResetError):
				return True
			except OSError:
				return False
		srv.wait_for(refused, said="no new connections")
		assert server.process.poll() is None
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 24), hf.WindowUpdateFrame(1, window_increment=1 << 24))
		assert raw.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags) is not None
		assert sum(len(f.data) for f in raw.frames if isinstance(f, hf.DataFrame)) == len(LARGE)
	assert server.wait_exit() == 0


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_term_stops_at_once(h2d, name):
	server = h2d(files={"large": LARGE}, workers=2)
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		start = time.monotonic()
		server.signal(name)
		assert server.wait_exit() == 0
		assert time.monotonic() - start < 2 * srv.SLOW
		assert raw.until(lambda f: False) is None


def test_drain_deadline(h2d):
	server = h2d(conf="shutdown-timeout = 1", files={"large": LARGE})
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		start = time.monotonic()
		server.signal(signal.SIGQUIT)
		assert server.wait_exit() == 0
		took = time.monotonic() - start
		assert 0.8 < took < 4 * srv.SLOW, took
	server.log.wait("shutdown-timeout")


def test_second_signal_makes_a_drain_a_stop(h2d):
	server = h2d(files={"large": LARGE})
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1000}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		server.signal(signal.SIGQUIT)
		raw.until_type(hf.GoAwayFrame)
		server.signal(signal.SIGTERM)
		assert server.wait_exit(3 * srv.SLOW) == 0


# --- descriptors and rights -----------------------------------------------------------------------

def sockets_of(pid):
	"""{fd: inode}"""
	found = {}
	for fd in os.listdir("/proc/%d/fd" % pid):
		try:
			name = os.readlink("/proc/%d/fd/%s" % (pid, fd))
		except FileNotFoundError:
			continue
		match = re.fullmatch(r"socket:\[(\d+)\]", name)
		if match:
			found[int(fd)] = int(match.group(1))
	return found


def test_descriptor_lists(h2d):
	"""Each process holds what is on its list; a slot's listener is held by its worker and the master only."""
	server = h2d(conf='access-log = "access.log"', workers=3)
	listening = srv.listening_inodes()
	ports = set(server.ports.values())
	owners = {}
	workers = server.live_workers()
	keeper = server.status()["keeper"]
	for slot, worker in workers.items():
		mine = [i for i in sockets_of(worker["pid"]).values() if listening.get(i) in ports]
		assert sorted(listening[i] for i in mine) == sorted(ports), "one of each port"
		for inode in mine:
			assert inode not in owners, "shared between workers"
			owners[inode] = slot
	assert set(owners) <= set(sockets_of(server.pid).values()), "the master keeps them"
	assert not set(owners) & set(sockets_of(keeper).values())
	for pid in [w["pid"] for w in workers.values()] + [keeper]:
		kinds = srv.descriptor_kinds(pid)
		for name in kinds:
			assert not name.endswith((".key", ".crt", ".conf", ".pid")), (pid, name)
		wrong = [name for name in kinds if not re.match(
			r"socket$|pipe$|anon_inode:|/memfd:|/dev/null|%s($|/)|.*access\.log|.*stdout$" % re.escape(server.root), name)]
		assert not wrong, (pid, kinds)
		assert kinds["anon_inode:[eventpoll]"] <= 1


def test_descriptors_after_reloads(h2d):
	"""No descriptor is gathered over generations, in the master or the workers."""
	server = h2d(workers=2)
	reload(server)
	server.wait_up(2)
	server.wait_image()
	server.log.wait("generation 1 is gone|gone", deadline=5)
	server.wait_quiet()
	master = server.settled_kinds(server.pid)
	worker = server.settled_kinds(server.live_workers()[0]["pid"])
	for i in range(5):
		before = server.status()["image"]
		reload(server)
		server.wait_up(3 + i)
		server.wait_image(before)
	server.wait_quiet()
	srv.wait_for(lambda: srv.descriptor_kinds(server.pid) == master,
		said="master: %s, was %s" % (srv.descriptor_kinds(server.pid), master))
	pid = server.live_workers()[0]["pid"]
	srv.wait_for(lambda: srv.descriptor_kinds(pid) == worker,
		said="worker: %s, was %s" % (srv.descriptor_kinds(pid), worker))


def status_field(pid, name):
	with open("/proc/%d/status" % pid) as f:
		return re.search(r"^%s:\s*(.*)$" % name, f.read(), re.M).group(1)


def test_rights(h2d):
	"""Started as root the children are the user, whole; else `user` is ignored."""
	server = h2d(conf='user = "nobody"', workers=2)
	pids = server.children()
	assert len(pids) == 3
	for pid in pids:
		assert status_field(pid, "NoNewPrivs") == "1"
		if os.geteuid() == 0:
			assert status_field(pid, "Uid").split() == ["65534"] * 4
			assert set(status_field(pid, "Gid").split()) == {"65534"}
			assert "0" not in status_field(pid, "Groups").split()
			assert int(status_field(pid, "CapEff"), 16) == 0
		else:
			assert status_field(pid, "Uid").split() == [str(os.geteuid())] * 4
	with server.connect("tls") as c:
		assert c.get("/").status == 200


def test_notify(h2d):
	"""READY=1 after the last worker is up; STATUS and STOPPING follow."""
	server = h2d.new(workers=2)
	path = server.path("notify.sock")
	with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
		s.bind(path)
		s.settimeout(10)
		server.environment = lambda: dict(os.environ, NOTIFY_SOCKET=path)
		server.spawn()
		message = s.recv(4096).decode()
		assert "READY=1" in message.split("\n"), message
		server.wait_listening()
		status = server.status()
		assert [w["state"] for w in status["workers"]] == ["up", "up"]
		server.signal(signal.SIGHUP)
		seen = ""
		while "READY=1" not in seen.split("\n"):
			seen += s.recv(4096).decode() + "\n"
		server.wait_up(2)
		server.signal(signal.SIGQUIT)
		while "STOPPING=1" not in seen.split("\n"):
			seen += s.recv(4096).decode() + "\n"
		assert server.wait_exit() == 0


def test_two_workers_share_the_load(h2d):
	server = h2d(workers=2, listens=("tcp",))
	raws = [server.raw("tcp") for _ in range(100)]
	for raw in raws:
		raw.send(raw.headers(1))
		assert raw.status_of(1) == 200
	counts = [w["connections"] for w in server.live_workers().values()]
	assert min(counts) > 20, counts
	for raw in raws:
		raw.close()


def test_cpu_is_quiet_when_idle(h2d):
	"""Nobody spins: with idle connections open, half a second costs no CPU."""
	server = h2d(workers=2)
	raws = [server.raw(how) for how in ("tcp", "tls") * 5]
	for raw in raws:
		raw.send(raw.headers(1))
		assert raw.status_of(1) == 200
	pids = [server.pid] + server.children()
	before = sum(srv.cpu_seconds(p) for p in pids)
	time.sleep(0.5)
	assert sum(srv.cpu_seconds(p) for p in pids) - before <= 0.05 * srv.SLOW
	for raw in raws:
		raw.close()
