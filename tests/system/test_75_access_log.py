"""Access logs of servers: a file each or one for several, what they leave out, their formats, and their life."""
import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import tty

import pytest
from hyperframe import frame as hf

import client
import procs
import server as srv

COMBINED = re.compile(r'\S+ - \S+ \[[^\]]+\] "(?P<line>[^"]*)" (?P<status>\d{3}) \d+ "[^"]*" "[^"]*"')
# Three servers: one with a log of its own, one without any, one that has the log of the top level.
SERVERS = 'server "own" { root = "%s"  access-log = "own.log" }\n' \
	'server "quiet" { root = "%s"  access-log = "off" }\n'


def lines_of(server, name):
	"""The lines of a log but for those of admin listeners; none is torn."""
	path = server.path(name)
	if not os.path.exists(path):
		return []
	return [line for line in procs.whole_lines(path) if "/status.json" not in line]


def flush(server, **wanted):
	"""USR1 writes what is gathered; until each log has as many lines."""
	server.reopen_logs()
	names = {name: name + ".log" for name in wanted}
	procs.wait_for(lambda: all(len(lines_of(server, names[n])) >= wanted[n] for n in wanted),
		said="%s lines" % wanted)
	return {n: lines_of(server, names[n]) for n in wanted}


def targets(lines):
	return [COMBINED.fullmatch(line)["line"].split()[1] for line in lines]


def three(h2d, start=True, workers=1, **options):
	server = h2d.new(workers=workers, conf='access-log = "all.log"', **options)
	server.put_conf(server.conf_text + SERVERS % (server.root, server.root))
	return server.start() if start else server


def ask(server, name, path, how="tcp"):
	with server.connect(how, authority=name) as c:
		return c.get(path)


def ask_each(server, path):
	for name in ("own", "quiet", "other"):
		assert ask(server, name, path).status in (200, 404)


def test_each_server_its_own(h2d):
	server = three(h2d)
	ask_each(server, "/1")
	ask_each(server, "/2")
	found = flush(server, own=2, all=2)
	assert targets(found["own"]) == targets(found["all"]) == ["/1", "/2"]


def test_one_file_is_one_descriptor(h2d):
	"""Servers that name the same file share it, each with its format."""
	server = h2d.new(conf='access-log = "all.log"')
	server.put_conf(server.conf_text + 'server "a" { root = "%s"  access-log = "%s"  access-log-format = json }\n'
		'server "b" { root = "%s"  access-log = "b.log" }\n'
		% (server.root, server.path("all.log"), server.root))
	server.start()
	for name in ("a", "b", "c"):
		ask(server, name, "/")
	found = flush(server, all=2, b=1)
	assert json.loads(found["all"][0])["authority"] == "a" and COMBINED.fullmatch(found["all"][1])
	for pid in server.worker_pids():
		logs = [name for name in procs.descriptors(pid).values() if name.endswith(".log")]
		assert sorted(logs) == [server.path("all.log"), server.path("b.log")]


def test_a_request_without_a_server(h2d):
	"""What is refused before its host is known is in the log of the server that needs no name."""
	server = h2d(server='access-log = "all.log"')
	with server.h1() as c:
		c.send_bytes(b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n")
		assert c.response().status == 400
	assert '"GET / HTTP/1.1" 400 ' in flush(server, all=1)["all"][0]


def test_admin_listeners_are_logged_at_the_top_level(h2d):
	server = h2d(conf='access-log = "top.log"', server='access-log = "all.log"')
	with server.connect("admin") as c:
		assert c.get("/healthz").status == 200
	ask(server, "x", "/1")
	assert targets(flush(server, all=1)["all"]) == ["/1"]
	procs.wait_for(lambda: "/healthz" in targets(lines_of(server, "top.log")))


def test_skip(h2d):
	"""As the titles of locations: a path, what is below it and its sidecars; or only what is below it."""
	server = h2d.new(conf='access-log = "all.log"  access-log-skip = {"/healthz", "/assets/"}')
	server.put_conf(server.conf_text + 'server "b" { root = "%s"  access-log-skip = {} }\n' % server.root)
	server.start()
	paths = ["/healthz", "/healthz/", "/healthz/x", "/%68ealthz", "/healthz?a", "/healthz.gz", "/assets/", "/assets/a.js"]
	kept = ["/healthzz", "/assets", "/x/healthz", "/x"]
	for path in paths + kept:
		ask(server, "a", path)
	for path in paths:
		ask(server, "b", path)
	assert targets(flush(server, all=len(kept) + len(paths))["all"]) == kept + paths


def test_reopen(h2d):
	"""USR1 opens all of them anew; no process holds what was renamed."""
	server = three(h2d, workers=2)
	ask_each(server, "/1")
	pids = [server.pid] + server.children()
	for name in ("own", "all"):
		os.rename(server.path(name + ".log"), server.path(name + ".log.1"))
	server.reopen_logs()
	procs.wait_for(lambda: not [path for pid in pids for path in procs.descriptors(pid).values()
		if path.endswith(".log.1")], said="all let go")
	ask_each(server, "/2")
	found = flush(server, own=1, all=1)
	assert targets(found["own"]) == targets(found["all"]) == ["/2"]
	assert targets(lines_of(server, "own.log.1")) == targets(lines_of(server, "all.log.1")) == ["/1"]


def test_reload_adds_and_removes(h2d):
	server = three(h2d)
	text = server.conf_text
	ask_each(server, "/1")
	server.put_conf(server.conf_text + SERVERS.replace('access-log = "off"', 'access-log = "quiet.log"')
		.replace("own.log", "new.log") % (server.root, server.root))
	server.reload()
	ask_each(server, "/2")
	found = flush(server, quiet=1, new=1, all=2)
	assert targets(found["quiet"]) == targets(found["new"]) == ["/2"]
	# A worker that leaves may write its last line after the next one's first.
	assert targets(lines_of(server, "own.log")) == ["/1"] and sorted(targets(found["all"])) == ["/1", "/2"]
	server.put_conf(text.replace('access-log = "all.log"', ""))
	server.reload()
	ask_each(server, "/3")
	server.wait_quiet()
	procs.wait_for(lambda: not [path for pid in [server.pid] + server.children()
		for path in procs.descriptors(pid).values() if path.endswith(".log")], said="no log is open")
	assert len(lines_of(server, "all.log")) == 2 and len(lines_of(server, "new.log")) == 1


def test_upgrade(h2d):
	"""Lines from before and after are in the same files; who leaves may write his last ones after the heir's first."""
	server = three(h2d)
	ask_each(server, "/1")
	server.upgrade()
	ask_each(server, "/2")
	found = flush(server, own=2, all=2)
	assert sorted(targets(found["own"])) == sorted(targets(found["all"])) == ["/1", "/2"]


@pytest.mark.parametrize("broken", ["folder", "link"])
def test_a_log_that_cannot_be_opened(h2d, broken):
	"""A fault at its line, at a start and at a reload, after which the generation before goes on."""
	server = three(h2d)
	name = {"folder": "none/x.log", "link": "link.log"}[broken]
	if broken == "link":
		os.symlink("elsewhere", server.path(name))
	good = server.conf_text + SERVERS % (server.root, server.root)
	server.put_conf(good.replace("own.log", name))
	line = good.split("\n").index(next(l for l in good.split("\n") if "own.log" in l)) + 1
	where = r"h2d\.conf:%d: .*%s" % (line, re.escape(name))
	assert re.search(where, server.run("-t", check=1).err)
	done = server.run("-s", "reload")
	assert done.returncode == 1 and re.search(where, done.err)
	assert ask(server, "own", "/1").status == 404
	server.baseline = None
	assert targets(flush(server, own=1)["own"]) == ["/1"]
	assert server.status()["generation"] == 1


def test_dump_is_read_back(h2d):
	"""What a server does not set is not in the dump, so that it still follows the top level."""
	server = three(h2d, start=False)
	dumped = server.run("-T", "--all", check=0).out
	server.put_conf(dumped)
	assert server.run("-T", "--all", check=0).out == dumped
	assert dumped.count("access-log = ") == 3 and dumped.count("access-log-format = ") == 1


# --- json ---------------------------------------------------------------------------------------

JSON = 'access-log = "all.log"  access-log-format = json'


def strict(pairs):
	"""No member is there twice."""
	names = [name for name, _ in pairs]
	assert len(names) == len(set(names)), names
	return dict(pairs)


def objects(server, count):
	return [json.loads(line, object_pairs_hook=strict) for line in flush(server, all=count)["all"]]


def manual_members():
	"""The names that h2d.conf(5) has for members."""
	with open(os.path.join(srv.TOP, "man", "h2d.conf.5.in")) as f:
		text = f.read()
	text = text[text.index(".It Cm json"):]
	return {name for line in re.findall(r"^\.It Va (.*)$", text, re.M) for name in line.split(" , ")}


def test_json_members(h2d, how):
	server = h2d(conf=JSON, files={"page": "x" * 100, "files/a": "y"},
		server='upload-dir = "files"  upload-public = true')
	server.wait_settled()
	with server.connect(how, authority="LOCALHOST:99") as c:
		assert c.get("/page").status == 200
		assert c.request("PUT", "/files/b", body=b"z" * 5000).status == 201
		assert c.get("/files/a").status == 200
		assert c.request("HEAD", "/healthz").status == 200
	found = objects(server, 4)
	assert all(m.keys() == manual_members() - {"request_id", "instance_name"} for m in found)
	assert {(m["authority"], m["host"], m["server"], m["port"], m["peer"], m["protocol"]) for m in found} == {
		("LOCALHOST:99", "LOCALHOST", "_", server.ports[how], "127.0.0.1", "HTTP/2.0")}
	assert {m["tls"] for m in found} == {"TLSv1.3" if how == "tls" else ""}
	assert {m["cipher"].partition("_")[0] for m in found} == {"TLS" if how == "tls" else ""}
	assert [m["route"] for m in found] == ["files", "/files/{file_name}", "/files/{file_name}", "health"]
	# The upload is news for the keeper, and without a keeper that has just ticked the disk answers.
	assert [m["cache"] in ("hit", "miss") for m in found] == [True, False, True, False]
	assert {found[1]["cache"], found[3]["cache"]} == {""}
	assert [(m["bytes"], m["bytes_in"]) for m in found[:2]] == [(100, 0), (found[1]["bytes"], 5000)]
	assert all(0 <= m["first_byte_us"] <= m["duration_us"] for m in found)
	assert all(m["error"] == "" and m["complete"] is True for m in found)


# --- request-id ---------------------------------------------------------------------------------


def id_of(answer):
	ids = [value for name, value in answer.headers if name == "x-request-id"]
	assert len(ids) == 1, answer
	return ids[0]


@pytest.mark.parametrize("speak", ["h2", "h1"])
def test_request_ids(h2d, how, speak):
	"""The same in the answer, the error page and the log, whatever the answer is; no two are alike."""
	server = h2d(conf=JSON + "  request-id = true", files={"page": "x"}, server='location "/no" { deny = {"all"} }')
	with (server.connect if speak == "h2" else server.h1)(how) as c:
		answers = [c.get(path, [("x-request-id", "mine")]) for path in ("/page", "/none", "/no", "/%zz", "/healthz")]
		answers.append(c.get("/", [("x", "y" * 40000)]))
	assert [a.status for a in answers] == [200, 404, 403, 400, 200, 431]
	ids = [id_of(a) for a in answers]
	assert len(set(ids)) == len(ids) and all(re.fullmatch("[0-9a-f]{32}", i) for i in ids)
	for a in answers:
		assert (">Request %s</p>" % id_of(a) in a.body.decode()) == (a.status >= 400)
	assert [m["request_id"] for m in objects(server, len(ids))] == ids


@pytest.mark.parametrize("form", ["combined", "combined-vhost"])
def test_request_ids_in_lines(h2d, form):
	"""A trusted proxy's is taken, if it can stand in a line; it is the last word."""
	server = h2d(conf='access-log = "all.log"  access-log-format = %s  request-id = true\n'
		'trusted-proxies = {"127.0.0.1"}\nclient-address = x-forwarded-for' % form, files={"page": "x"})
	with server.connect("tcp") as c:
		taken = c.get("/page", [("x-request-id", "Root=1-67891233-ab")])
		made = c.get("/page", [("x-request-id", 'a" 200 "b')])
	assert id_of(taken) == "Root=1-67891233-ab" and re.fullmatch("[0-9a-f]{32}", id_of(made))
	assert [line.rpartition('" ')[2] for line in flush(server, all=2)["all"]] == [id_of(taken), id_of(made)]


def test_json_errors(h2d):
	server = h2d(conf=JSON, sections="limits { client-max-body-size = 10 }", files={"files/b": ""},
		server='location "/no" { deny = {"all"} }  upload-dir = "files"  upload-public = true')
	with server.connect("tcp") as c:
		assert [c.get(path).status for path in ("/none", "/no", "/%zz")] == [404, 403, 400]
		assert c.request("BREW", "/").status == 501
		assert c.request("PUT", "/files/a", body=b"x" * 11).status == 413
	with server.h1() as c:
		c.send_bytes(b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n")
		assert c.response().status == 400
	found = objects(server, 6)
	assert [m["error"] for m in found] == ["Not Found", "client address is not allowed", "malformed request target",
		"unknown method", "request body exceeds the limit", "missing, duplicate or malformed Host"]
	assert [m["route"] for m in found[:2]] == ["files", "none"] and all(m["complete"] for m in found)


def test_json_aborted(h2d):
	"""A stream that the client resets, and a connection that goes."""
	server = h2d(conf=JSON, files={"large": b"x" * 5000000})
	with server.connect("tcp", credit=False) as c:
		stream = c.send(path="/large")
		c.until(lambda: c.responses[stream].size >= 60000)
		c.reset(stream)
		objects(server, 1)
		stream = c.send(path="/large?2")
		c.until(lambda: c.responses[stream].status)
		c.sock.close()
	found = objects(server, 2)
	assert [(m["target"], m["complete"], m["error"]) for m in found] == [
		("/large", False, "reset by the client"), ("/large?2", False, "ended before its answer was sent")]
	assert found[0]["first_byte_us"] <= found[0]["duration_us"]


@pytest.mark.parametrize("frame, reason", [
	(b"\0\0\x0d\6\0\0\0\0\0" + b"ping of 13 by", "invalid frame size"),
	(b"\0\0\6\4\0\0\0\0\0\0\4\xff\xff\xff\xff", "flow-control window exceeded"),
	(b"\0\0\1\1\5\0\0\0\3\xff", "header block cannot be decoded"),
	(b"\0\0\1\0\0\0\0\0\0x", "HTTP/2 protocol violation"),
], ids=["ping", "settings", "headers", "data"])
def test_json_of_what_the_library_ends(h2d, frame, reason):
	"""A connection that nghttp2 itself ends: its streams say why, as the log does."""
	server = h2d(conf=JSON, files={"large": b"x" * 5000000})
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		raw.send_bytes(frame)
		assert raw.goaway().error_code != 0
	server.log.wait(re.escape(reason))
	server.reopen_logs()

	def found():
		return [(m["complete"], m["error"]) for m in map(json.loads, lines_of(server, "all.log"))
			if m["target"] == "/large"]
	procs.wait_for(found, said="its line")
	assert found() == [(False, reason)]


# --- at a terminal ------------------------------------------------------------------------------

SHORT = re.compile(r"(\d{3}|---) (\S+) +(\S+) +(\d+(?:\.\d)? [KM]?B) +(\d+(?:\.\d)? m?s)( aborted)?")


class Terminal(contextlib.AbstractContextManager):
	"""h2d with a terminal as its standard error, and all that it shows."""

	def __init__(self, server, *args, **env):
		self.master, slave = pty.openpty()
		tty.setraw(slave)
		environment = {"PATH": os.environ["PATH"], "TERM": "xterm", **env}
		self.process = subprocess.Popen(server.command("-r", server.root, "-p", "0", "-n", "1", *args),
			stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, env=environment, cwd=server.dir,
			start_new_session=True)
		os.close(slave)
		os.set_blocking(self.master, False)
		self.text = ""
		self.port = int(self.wait(r" open http://localhost:(\d+)/").group(1))

	def read(self):
		try:
			self.text += os.read(self.master, 65536).decode()
		except (BlockingIOError, OSError):
			pass

	def wait(self, pattern):
		def found():
			ended = self.process.poll()
			self.read()
			match = re.search(pattern, self.text)
			assert match or ended is None, "it ended with status %d" % ended
			return match
		try:
			return procs.wait_for(found, said=pattern)
		except AssertionError as e:
			raise AssertionError("%s, in %r" % (e, self.text)) from None

	def ask(self, *paths):
		with client.Client.tcp(self.port) as c:
			for path in paths:
				c.get(path)

	def lines(self):
		"""Without those of the error log."""
		return [line for line in self.text.split("\n")[:-1] if not re.match(r"\d{4}-\d\d-\d\dT", line)]

	def __exit__(self, *_):
		self.process.send_signal(signal.SIGTERM)
		assert self.process.wait(procs.DEADLINE) == 0
		self.read()
		os.close(self.master)
		assert " alert " not in self.text and "Sanitizer" not in self.text, self.text


@pytest.fixture
def folder(h2d):
	return h2d.new(files={"page": "x" * 1229})


def test_terminal(folder):
	"""A line for each request, at once, with the class of the status in colour; nothing of a client's moves the cursor."""
	with Terminal(folder) as t:
		t.ask("/page", "/none?a=1", "/%1b[31m\"")
		t.wait(r"%1b.*\n")
		lines = t.lines()
	assert [line[:5] for line in lines] == ["\x1b[32m", "\x1b[33m", "\x1b[33m"]
	plain = [re.sub(r"\x1b\[\d*m", "", line) for line in lines]
	found = [SHORT.fullmatch(line) for line in plain]
	assert all(found), plain
	assert [m.group(1, 2, 3) for m in found] == [("200", "GET", "/page"), ("404", "GET", "/none?a=1"),
		("404", "GET", "/%1b[31m\\x22")]
	assert found[0].group(4) == "1.2 KB"
	assert len({len(line) for line in plain}) == 1, plain


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminal_without_colours(folder, env):
	with Terminal(folder, **env) as t:
		t.ask("/page")
		t.wait(r"/page.*\n")
		assert len(t.lines()) == 1 and SHORT.fullmatch(t.lines()[0])
	assert "\x1b" not in t.text


def test_terminal_of_two_workers(folder):
	"""Whole lines, whoever writes them; in the acceptor's mode, too."""
	with Terminal(folder, "--workers", "2", "-d", "acceptor", NO_COLOR="1") as t:
		for i in range(20):
			t.ask(*["/page"] * 10)
			# The kernel takes some kilobytes that nobody has read, and then half a line.
			procs.wait_for(lambda: t.read() or len(t.lines()) == 10 * (i + 1), said="ten more lines")
		lines = t.lines()
	assert len(lines) == 200 and all(SHORT.fullmatch(line) for line in lines), lines


def test_terminal_told_otherwise(folder):
	"""--access-log says where lines go; then there are none at the terminal."""
	for args in (["off"], ["access.log"]):
		with Terminal(folder, "--access-log", *args) as t:
			t.ask("/page")
		assert t.lines() == []
	assert COMBINED.fullmatch(lines_of(folder, "access.log")[0])


def test_terminal_with_a_file(h2d):
	"""Who has a configuration has said where the log is."""
	server = h2d.new(listens=("tcp",), admin=False)
	master, slave = pty.openpty()
	done = subprocess.run(server.command("-f", server.conf_path, "-T", "--all"), stdin=subprocess.DEVNULL,
		stdout=subprocess.PIPE, stderr=slave, text=True, check=True)
	assert 'access-log = "off"' in done.stdout
	done = subprocess.run(server.command("-r", server.root, "-T"), stdin=subprocess.DEVNULL,
		stdout=subprocess.PIPE, stderr=slave, text=True, check=True)
	assert 'access-log = "stderr"' in done.stdout and "access-log-format = short" in done.stdout
	os.close(slave)
	os.close(master)


def test_no_terminal(folder):
	"""Without one there is no access log but where it is asked for."""
	folder.admin = False
	folder.listens = ("tcp",)
	folder.spawn("-r", folder.root, "-p", "0", "-n", "1")
	port = int(re.search(r"localhost:(\d+)", folder.log.wait(r" open http://")[0]).group(1))
	with client.Client.tcp(port) as c:
		assert c.get("/page").status == 200
	assert folder.quit() == 0
	assert not folder.log.find("/page") and os.path.getsize(folder.path("stdout")) == 0
