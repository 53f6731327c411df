"""Access log and error log: formats, whole lines, reopening."""
import fcntl
import os
import re
import signal
import threading
import time

import pytest

import procs

F_SETPIPE_SZ = 1031
COMBINED = re.compile(r'(?P<peer>\S+) - - \[(?P<time>\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] '
	r'"(?P<method>\S+) (?P<target>\S+) (?P<protocol>HTTP/2\.0)" (?P<status>\d{3}) (?P<bytes>\d+) '
	r'"(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"')


def lines_of(path):
	"""Those of the test: the harness asks for the status, which is logged, too."""
	return [line for line in procs.whole_lines(path) if "/status.json" not in line]


def wait_lines(server, name, count):
	"""USR1 flushes; until that many lines are there."""
	server.reopen_logs()
	path = server.path(name)
	return procs.wait_for(lambda: os.path.exists(path) and len(lines_of(path)) >= count
		and lines_of(path),
		said="%d lines in %s" % (count, name))


def ask(server, how):
	with server.connect(how) as c:
		assert c.get("/page", headers=[("user-agent", "Tester/1.0 \"x\""), ("referer",
			"https://a.example/?q=1")]).status == 200
		assert c.request("HEAD", "/page?query=1").status == 200
		assert c.get("/nothing").status == 404
		assert c.request("POST", "/page", body=b"x" * 100).status == 405


def test_combined(h2d, how):
	server = h2d(conf='access-log = "%s"' % "access.log", files={"page": "hello"})
	ask(server, how)
	lines = wait_lines(server, "access.log", 4)
	found = [COMBINED.fullmatch(line) for line in lines]
	assert all(found), lines
	found = [m for m in found if m["peer"] != "unix"]
	assert [(m["method"], m["target"], m["status"]) for m in found] == [
		("GET", "/page", "200"), ("HEAD", "/page?query=1", "200"), ("GET", "/nothing",
		"404"), ("POST", "/page", "405")]
	assert [m["peer"] for m in found] == ["127.0.0.1"] * 4
	assert found[0]["bytes"] == "5" and found[1]["bytes"] == "0"
	assert "Tester/1.0" in found[0]["agent"] and found[0]["referer"] == "https://a.example/?q=1"
	assert found[1]["agent"] == found[1]["referer"] == "-"


def test_stdout(h2d):
	server = h2d(conf='access-log = "stdout"', files={"page": "hello"})
	ask(server, "tcp")
	assert any('"GET /page HTTP/2.0" 200 5' in line for line in wait_lines(server, "stdout", 4))


def test_buffer_is_flushed_by_itself(h2d):
	server = h2d(conf='access-log = "access.log"', files={"page": "hello"})
	with server.connect("tcp") as c:
		c.get("/page")
		procs.wait_for(lambda: "/page" in open(server.path("access.log")).read(),
			said="the line comes by itself")


@pytest.mark.parametrize("end", [signal.SIGQUIT, signal.SIGTERM])
def test_nothing_is_lost_at_the_end(h2d, end):
	server = h2d(conf='access-log = "access.log"', workers=2)
	for _ in range(10):
		with server.connect("tcp") as c:
			assert c.get("/count").status == 404
	server.signal(end)
	assert server.wait_exit() == 0
	assert len([line for line in lines_of(server.path("access.log")) if "/count" in line]) == 10


def test_reopen_under_load(h2d):
	"""USR1 while two workers write: no line lost, none torn, each in one of the files."""
	server = h2d.new(conf='access-log = "access.log"\nerror-log = "error.log"\n', workers=2,
		admin=False).spawn()
	procs.wait_for(lambda: os.path.exists(server.path("error.log"))
		and len(re.findall(r"listening on 127\.0\.0\.1:",
		open(server.path("error.log")).read())) == 2)
	ports = re.findall(r"listening on 127\.0\.0\.1:(\d+)",
		open(server.path("error.log")).read())
	server.ports = dict(zip(("tcp", "tls"), map(int, ports)))
	done = threading.Event()
	asked = [0] * 4
	errors = []

	def load(i):
		try:
			while not done.is_set():
				with server.connect(("tcp", "tls")[i % 2]) as c:
					for stream in [c.send(path="/load-%d" % i)
							for _ in range(50)]:
						assert c.response(stream).status == 404
						asked[i] += 1
		except Exception as e:
			errors.append(e)
	threads = [threading.Thread(target=load, args=(i,)) for i in range(4)]
	for t in threads:
		t.start()
	try:
		for i in range(5):
			seen = sum(asked)
			procs.wait_for(lambda: sum(asked) > seen + 200 or errors)
			os.rename(server.path("access.log"), server.path("access.log.%d" % i))
			os.rename(server.path("error.log"), server.path("error.log.%d" % i))
			server.reopen_logs()
			procs.wait_for(lambda: os.path.exists(server.path("access.log"))
				and os.path.exists(server.path("error.log")), said="reopened")
			procs.wait_for(lambda: os.path.getsize(server.path("access.log")) > 0,
				said="written to")
	finally:
		done.set()
		for t in threads:
			t.join()
	assert not errors, errors
	server.signal(signal.SIGQUIT)
	assert server.wait_exit() == 0
	total = 0
	for name in sorted(os.listdir(server.dir)):
		if name.startswith("access.log"):
			lines = lines_of(server.path(name))
			assert all(COMBINED.fullmatch(line) for line in lines), name
			total += len(lines)
	assert total == sum(asked)


def test_nobody_holds_what_was_renamed(h2d):
	"""What rotation compresses or deletes gives its space back: each process lets go."""
	server = h2d.new(conf='access-log = "access.log"\nerror-log = "error.log"\n', workers=2, admin=True)
	server.spawn()
	path = server.path("error.log")
	procs.wait_for(lambda: os.path.exists(path) and "serving: generation" in open(path).read())
	pids = [server.pid] + server.children()
	assert len(pids) == 4 + server.acceptors
	for name in ("access.log", "error.log"):
		os.rename(server.path(name), server.path(name + ".1"))
	server.reopen_logs()

	def holders():
		return [(pid, path) for pid in pids for path in procs.descriptors(pid).values() if path.endswith(".log.1")]
	procs.wait_for(lambda: not holders(), said="all let go")


def test_reopen_failure_keeps_the_old_file(h2d):
	server = h2d.new()
	os.mkdir(server.path("logs"))
	server.put_conf('access-log = "logs/access.log"\n' + server.conf_text)
	server.start()
	os.rename(server.path("logs"), server.path("gone"))
	server.baseline = None  # its descriptors have other names now
	server.reopen_logs()
	server.log.wait(r"logs/access\.log")
	with server.connect("tcp") as c:
		c.get("/after")
	procs.wait_for(lambda: "/after" in open(server.path("gone", "access.log")).read(),
		said="the old file is written to")


def test_error_log_lines(h2d):
	server = h2d(conf="log-level = debug", workers=2)
	with server.connect("tls") as c:
		c.get("/")
	with server.socket("tcp") as s:
		s.sendall(b"nonsense" * 10)
	reload_done = server.run("-s", "reload", check=0)
	assert reload_done.returncode == 0
	server.baseline = None
	pattern = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (alert|error|warn|notice|info|debug) "
		r"\[\d+\] (master|worker \d+|keeper): \S.*")
	server.wait_up(2)
	wrong = [line for line in server.log.lines if not pattern.fullmatch(line)]
	assert not wrong


def test_log_level(h2d):
	server = h2d.new(conf="log-level = error")
	server.spawn()
	procs.wait_for(lambda: procs.listens(server.admin_path))
	server.wait_up()
	assert server.log.lines == []


def test_error_log_file_keeps_stderr_quiet(h2d):
	server = h2d.new(conf='error-log = "error.log"', admin=True)
	server.spawn()
	procs.wait_for(lambda: procs.listens(server.admin_path))
	server.wait_up()
	assert re.search("listening on", open(server.path("error.log")).read())
	assert server.quit() == 0


def stop_reading(server):
	"""Nobody reads the server's standard error any more, and a page of it is all that fits."""
	fcntl.fcntl(server.process.stderr, F_SETPIPE_SZ, 4096)
	server.log.reading.clear()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGQUIT])
def test_blocked_reader_of_stderr(h2d, end):
	"""Nobody waits for whoever reads the log, and it is said how many lines were lost."""
	server = h2d(conf="log-level = debug", workers=2)
	server.baseline = None
	stop_reading(server)
	for _ in range(300):
		with server.raw("tcp") as raw:
			raw.sock.sendall(b"nonsense " * 10)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	server.hup()
	procs.wait_for(lambda: server.status()["generation"] == 2, said="the master goes on")
	server.log.reading.set()
	server.log.wait(r" \d+ log lines were lost")
	server.signal(end)
	assert server.wait_exit() == 0


def test_blocked_reader_to_the_end(h2d):
	server = h2d.new(conf="log-level = debug").start()
	stop_reading(server)
	for _ in range(200):
		with server.raw("tcp") as raw:
			raw.sock.sendall(b"nonsense " * 10)
	server.signal(signal.SIGTERM)
	try:
		assert server.wait_exit() == 0
	finally:
		server.log.reading.set()


def test_malformed_targets_are_said_once_a_second(h2d):
	server = h2d(conf="log-level = info")
	began = time.monotonic()
	with server.connect("tcp") as c:
		for _ in range(40):
			for stream in [c.send(path="/%zz") for _ in range(50)]:
				assert c.response(stream).status == 400
	seconds = time.monotonic() - began
	server.log.wait(r"malformed request target: /%zz … and \d+ more like it in the last second")
	assert len(server.log.find("malformed request target: /%zz$")) <= seconds + 2


def test_access_log_to_a_blocked_pipe(h2d):
	"""The access log's reader stands still: requests are answered, lines are lost whole, and that is said."""
	server = h2d.new(conf="access-log = \"%s\"" % "fifo")
	os.mkfifo(server.path("fifo"))
	reader = os.open(server.path("fifo"), os.O_RDONLY | os.O_NONBLOCK)
	try:
		server.start()
		with server.connect("tcp") as c:
			for _ in range(60):
				for stream in [c.send(path="/" + "x" * 1000) for _ in range(50)]:
					assert c.response(stream).status == 404
			got = []

			def drink():
				try:
					got.append(os.read(reader, 1 << 20))
				except BlockingIOError:
					pass
				return server.log.find(r"access log: \d+ lines were lost")
			procs.wait_for(drink, said="what is lost is said")
		server.baseline = None
		assert server.quit() == 0
		drink()
		assert server.log.wait_end()
		lines = b"".join(got).decode().split("\n")
		assert lines.pop() == "" and all(COMBINED.fullmatch(line) for line in lines)
		lost = sum(int(re.search(r"(\d+) lines were lost", line).group(1))
			for line in server.log.find(r"lines were lost"))
		assert len([line for line in lines if "/xxx" in line]) + lost >= 3000
	finally:
		os.close(reader)
