"""What admin listeners tell: /status.json, the pages, and h2d top."""
import base64
import hashlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time

import pytest

import client
import h1client
from procs import DEADLINE, wait_for
from server import H2D

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")


def test_rates(h2d):
	"""Of the last second, per worker and summed; and of the seconds before."""
	server = h2d(workers=2, listens=("tcp",))

	def asked():
		with server.connect() as c:
			for _ in range(50):
				c.get("/")
		status = server.status()
		rates = [w["requests_per_second"] for w in status["workers"]]
		assert sum(rates) == status["totals"]["requests_per_second"]
		return sum(rates) > 0 and status["totals"]["bytes_out_per_second"] > 0
	wait_for(asked, said="a rate")
	wait_for(lambda: any(server.status()["history"]), said="a second with requests")
	before = server.status()
	now = wait_for(lambda: (s := server.status())["time"] > before["time"] + 1000 and s, said="a second")
	assert now["uptime"] >= before["uptime"] and len(now["history"]) >= len(before["history"])


def test_latency(h2d):
	"""Of the last ten seconds, per worker and summed, to the head of the response; none without requests."""
	server = h2d(binary=HANDLERS, listens=("tcp",))
	with server.connect() as c:
		assert c.get("/").status == 200
		totals = wait_for(lambda: (t := server.status()["totals"])["first_byte_p50_us"] and t, said="a latency")
		assert 0 < totals["first_byte_p50_us"] <= totals["first_byte_p99_us"]
		worker, = server.status()["workers"]
		assert worker["first_byte_p99_us"] > 0


def test_image(h2d):
	"""Its size and age."""
	server = h2d(files={"a": "x" * 1000})
	status = server.wait_settled()
	assert status["image_size"] == status["cache"]["content"] >= 1000
	assert status["image_age"] <= status["uptime"] + 1


def test_last_lines(h2d):
	"""Warnings and errors of every process: of the master with FILE:LINE, of children that are gone, too."""
	server = h2d(listens=("tcp",), user=None)
	server.put_conf(server.conf_text + "no-such-key = 1\n")
	server.run("-s", "reload", check=1)
	line = server.conf_text.count("\n") + 1

	def found(who, text):
		return [l for l in server.status()["lines"] if l["who"] == who and re.search(text, l["text"])]
	fault, = wait_for(lambda: found("master", "%s:%d: .*no-such-key" % (re.escape(server.conf_path), line)))
	assert fault["level"] == "error" and fault["pid"] == server.pid
	assert abs(fault["time"] - 1000 * time.time()) < 60000
	server.put_conf(server.conf_text)
	pid = server.worker_pids()[0]
	server.allow_alert("signal 6")
	server.baseline = None
	os.kill(pid, signal.SIGABRT)
	wait_for(lambda: found("master", r"worker 0 \(process %d.*killed by signal 6" % pid), said="its death")
	server.wait_up()


def test_last_lines_of_a_worker(h2d):
	"""What a child logs comes to the master; no level below warn does."""
	server = h2d.new(listens=("tcp",))
	users = server.path("users")
	with open(users, "w") as f:
		f.write("anna:{SHA}xxxx\n")
	server.write_conf(server='location "/a" { auth-basic-file = "%s" }' % users)
	server.start()
	with server.connect() as c:
		assert c.get("/a", [("authorization", "Basic YW5uYTpi")]).status == 401
	lines = wait_for(lambda: [l for l in server.status()["lines"] if l["who"] == "worker 0"])
	assert users in lines[0]["text"] and lines[0]["level"] == "error"
	assert lines[0]["pid"] == server.worker_pids()[0]
	assert {l["level"] for l in server.status()["lines"]} <= {"alert", "error", "warn"}


# --- the pages ----------------------------------------------------------------------------------

def policy_of(answer):
	return dict(part.strip().split(" ", 1) for part in answer.get("content-security-policy").split(";"))


def hashed(text):
	return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@pytest.fixture(params=["h2", "h1"])
def ask(request):
	"""How the admin listener is asked."""
	return lambda server: server.connect("admin") if request.param == "h2" else server.h1("admin")


@pytest.mark.parametrize("path, links", [("/status", ["/status.json", "/status/connections", "/status.json"]),
	("/status/connections", ["/status/connections.json", "/status/connections.json", "/status"])])
def test_page(h2d, ask, path, links):
	"""Of one piece: nothing from elsewhere, and the policy lets its own parts through alone."""
	server = h2d(workers=2)
	with ask(server) as c:
		answer, head = c.get(path), c.request("HEAD", path)
	page, policy = answer.body.decode(), policy_of(answer)
	assert answer.status == head.status == 200 and answer.get("content-type") == "text/html; charset=utf-8"
	assert answer.get("cache-control") == "no-store"
	assert policy["default-src"] == "'none'" and policy["frame-ancestors"] == "'none'"
	styles, scripts = (re.findall("<%s>(.*?)</%s>" % (tag, tag), page, re.DOTALL) for tag in ("style", "script"))
	assert policy["style-src"].split() == [hashed(style) for style in styles] and len(styles) == 2
	assert {hashed(script) for script in scripts} < set(policy["script-src"].split()) and len(scripts) == 2
	assert page.count('<link rel="icon" href="data:,">') == 1
	assert not re.findall(r"<(?:link(?! rel=.icon)|img|iframe)| (?:src|style|on\w+)=|https?:|http-equiv|innerHTML = ", page)
	assert re.findall(' href="([^"]*)"', page) == ["data:,", *links]
	for part in ('lang="en"', 'name="viewport"', "prefers-color-scheme:dark", "prefers-reduced-motion", "aria-label",
			"tabular-nums", "<main>", "<noscript>"):
		assert part in page, part


def test_admin_only(h2d):
	server = h2d()
	for how in ("tcp", "tls"):
		with server.connect(how) as c:
			for path in ("/status", "/status.json", "/metrics"):
				assert c.get(path).status == 404
	with server.connect("admin") as c:
		answer = c.request("POST", "/status", body=b"x")
		assert answer.status == 405 and "GET" in answer.get("allow")


# --- h2d top ------------------------------------------------------------------------------------

class Terminal:
	"""One window of a tmux of its own, in which a shell runs."""

	def __init__(self, folder, columns=100, rows=30):
		if not shutil.which("tmux"):
			pytest.skip("no tmux (Debian: tmux)")
		self.socket = os.path.join(folder, "tmux")
		self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
			"env", "PS1=ready> ", "LC_ALL=C.UTF-8", "sh")
		self.wait("ready>")

	def tmux(self, *args):
		return subprocess.run(["tmux", "-u", "-S", self.socket, *args], check=True, stdout=subprocess.PIPE,
			stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=DEADLINE).stdout.decode()

	def screen(self, *args):
		return self.tmux("capture-pane", "-p", *args)

	def type(self, text):
		self.tmux("send-keys", "-l", text)

	def key(self, name):
		self.tmux("send-keys", name)

	def wait(self, pattern):
		return wait_for(lambda: re.search(pattern, self.screen(), re.M), said=pattern, pause=0.05)

	def resize(self, columns, rows):
		self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

	def close(self):
		self.tmux("kill-server")


@pytest.fixture
def terminal(tmp_path):
	made = Terminal(str(tmp_path))
	yield made
	made.close()


top = pytest.mark.skipif(not os.path.exists(H2D + "-top"), reason="built without jansson")


def tops(server, *args):
	return " ".join(shlex.quote(a) for a in (server.binary, "top", "-f", server.conf_path, *args))


@top
def test_top(h2d, terminal):
	"""It finds the admin listener, counts on, fits the window, and leaves the terminal as it was."""
	server = h2d(workers=2, listens=("tcp",))
	server.baseline = None
	terminal.type("stty -g > %s/before; %s; stty -g > %s/after; echo left $?\n" % (server.dir, tops(server), server.dir))
	first = int(terminal.wait(r"^requests (\d+) ").group(1))
	assert " h2d 0" in terminal.screen().split("\n")[0] and "ready>" not in terminal.screen()
	with server.connect() as c:
		for _ in range(30):
			c.get("/")
	wait_for(lambda: int(terminal.wait(r"^requests (\d+) ").group(1)) >= first + 30, said="30 requests more")
	for pid in server.worker_pids():
		terminal.wait(r"^ +\d up +%d +1 " % pid)
	for columns, rows in ((40, 10), (7, 2), (1, 1), (100, 30)):
		terminal.resize(columns, rows)
		wanted = (" h2d %s   up " % server.status()["version"])[:columns].rstrip()
		wait_for(lambda: terminal.screen().split("\n")[0].startswith(wanted), said="%d × %d" % (columns, rows))
	terminal.wait("^SLOT STATE .* PER SECOND .* P99$")
	terminal.type("q")
	terminal.wait("^left 0")
	assert "ready>" in terminal.screen() and "requests" not in terminal.screen()
	assert terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}") == "0 1\n"
	with open(server.path("before")) as before, open(server.path("after")) as after:
		assert before.read() == after.read()


@top
@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT"])
def test_top_and_signals(h2d, terminal, name):
	server = h2d(listens=("tcp",))
	server.baseline = None
	terminal.type("sh -c 'echo $$ > %s; exec %s'; echo left $?\n" % (server.path("pid"), tops(server)))
	terminal.wait("^requests ")
	with open(server.path("pid")) as f:
		os.kill(int(f.read()), getattr(signal, "SIG" + name))
	terminal.wait("^left 0")
	assert terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}") == "0 1\n"


@top
def test_top_is_stopped_and_goes_on(h2d, terminal):
	"""By Ctrl-Z the shell has its terminal, by fg top has it again; a server that restarts is waited for."""
	server = h2d(listens=("tcp",))
	server.baseline = None
	terminal.type(tops(server) + "\n")
	terminal.wait("^requests ")
	terminal.key("C-z")
	terminal.wait("ready> *$")
	assert terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}") == "0 1\n"
	terminal.type("fg\n")
	terminal.wait("^requests ")
	server.quit()
	terminal.wait("admin.sock: .*trying again")
	terminal.type("q")
	terminal.wait("ready> *$")


@top
def test_top_once(h2d):
	"""One look where there is no terminal, or when told so: without colours, whole lines, all workers."""
	server = h2d(workers=3, listens=("tcp",))
	for args in ((), ("--once",), ("unix:" + server.admin_path,)):
		done = server.run("top", *args, check=0)
		lines = done.out.split("\n")
		assert "\x1b" not in done.out and done.err == "" and lines[0].startswith(" h2d 0")
		assert [re.match(r" +(\d+) up +(\d+) ", line).groups() for line in lines[7:10]] == [
			(str(slot), str(w["pid"])) for slot, w in sorted(server.live_workers().items())]
	assert subprocess.run([H2D, "top", "http://127.0.0.1:%d" % server.ports["tcp"]], stderr=subprocess.PIPE,
		stdout=subprocess.PIPE).stderr.endswith(b"status 404: is this an admin listener of h2d?\n")


@top
def test_top_asks_where_it_is_answered(h2d, tmp_path):
	"""Not at a listener that wants a PROXY header first, though it stands in front."""
	server = h2d(listens=("tcp",))
	proxied = 'trusted-proxies = {"unix"}\nlisten "unix:%s" { admin = true  proxy-protocol = true }\n' % (tmp_path / "proxied")
	server.put_conf(proxied + server.conf_text)
	assert "requests/s" in server.run("top", check=0).out
	server.put_conf(proxied + server.conf_text.replace("admin = true  ", ""))
	assert "has no admin listener" in server.run("top", check=1).err


@top
def test_top_of_several(h2d, terminal):
	"""A line for each, whatever the others do: one that takes the question and says nothing, one that nobody is at."""
	servers = [h2d(listens=("tcp",), conf='instance-name = "web-%d"' % n) for n in (1, 2)]
	for server in servers:
		server.baseline = None
	places = ["unix:" + s.admin_path for s in servers]
	with socket.create_server(("127.0.0.1", 0)) as mute:
		silent, away = "http://127.0.0.1:%d" % mute.getsockname()[1], "http://127.0.0.1:1"
		terminal.resize(100, 30)
		terminal.type("%s top %s; echo left $?\n" % (shlex.quote(H2D), " ".join(shlex.quote(p) for p in (*places, silent, away))))
		terminal.wait("^ h2d +2 of 4 machines answer, health 200 from 2 ")
		terminal.wait("^%s: (asked|Connection timed out)$" % silent)
		terminal.wait("^%s: Connection refused$" % away)
		first = int(terminal.wait(r"^requests (\d+) ").group(1))
		for server in servers:
			with server.connect() as c:
				for _ in range(20):
					c.get("/")
		wait_for(lambda: int(terminal.wait(r"^requests (\d+) ").group(1)) >= first + 40, said="the requests of both")
		servers[0].run("-s", "drain", check=0)
		terminal.wait("^web-1 +503 drained +1 ")
		servers[1].quit()
		terminal.wait("^web-2 +unix:.*admin.sock: ")
		terminal.type("q")
		terminal.wait("^left 0")
	for where, code in ((places[:1] + [away], 1), (places[:1] * 2, 0)):
		done = servers[0].run("top", "--once", *where, check=code)
		assert "\nweb-1            503 drained  " in done.out and ("Connection refused\n" in done.out) == (away in where), done.out
	done = servers[0].run("top", away, places[1], check=1)
	assert done.out == "" and "Connection refused" in done.err and places[1] in done.err


@top
def test_top_says_why_not(h2d, tmp_path):
	server = h2d.new(listens=("tcp",), admin=False)
	assert "has no admin listener" in server.run("top", check=1).err
	assert "No such file" in subprocess.run([H2D, "top", "-f", str(tmp_path / "none")], stderr=subprocess.PIPE).stderr.decode()
	for where, why in (("unix:%s/none" % tmp_path, "No such file"), ("http://127.0.0.1:1", "Connection refused"),
			("https://a", "TLS")):
		done = server.run("top", where, check=1)
		assert why in done.err and done.err.startswith("h2d: top: " + where[:9]), done.err
	for args in (("--once",), ("-t", "top"), ("bottom", "a")):
		server.run(*args, check=2)


@pytest.fixture
def named(h2d):
	"""A server with an admin listener that has a name, on the port named."""
	server = h2d(listens=("tcp",), sections='listen "127.0.0.1:0" { admin = true  admin-host = {"stats.example.com"} }')
	lines = server.log.wait(r" listening on 127", count=2)
	server.named = int(lines[-1].rsplit(":", 1)[1].split()[0])
	return server


def test_a_name_that_leads_here(named):
	"""A page of another site cannot read an admin listener's answers by a name of its own (DNS rebinding)."""
	for host, status in (("127.0.0.1:9", 200), ("localhost:9", 200), ("[::1]:9", 200), ("LOCALHOST", 200),
			("stats.example.com:9", 200), ("Stats.Example.COM", 200), ("evil.example:9", 421),
			("127.0.0.1.evil.example", 421), ("localhost.evil.example", 421)):
		for link in (client.Client, h1client.H1):
			with link(client.tcp_socket(named.named), authority=host) as c:
				assert c.get("/status.json").status == status, host
	named.log.wait("host evil.example:9 is not in admin-host")


def test_a_name_is_for_an_admin_listener(named):
	for listen in ('"127.0.0.1:0" {', '"unix:%s" { admin = true' % named.path("other.sock")):
		named.put_conf(named.conf_text + 'listen %s  admin-host = {"stats.example.com"} }\n' % listen)
		assert "admin-host needs admin = true and an IP address" in named.run("-t", check=1).err
