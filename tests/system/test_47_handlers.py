"""Handlers: the examples, and all that h2d/handler.h offers, in a server that has their routes (tests/handlers)."""
import contextlib
import os
import re
import signal
import socket
import ssl
import struct
import time

import pytest

import procs
from procs import wait_for
from server import H2D, SANITIZED
from users import basic, hashed, put_users

HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")
PATIENT = 60  # seconds for an answer: only one that never comes is late
LISTENERS = int(os.environ.get("H2D_LISTENERS", "18"))  # of a topic
WORKERS = 3 if LISTENERS < 100 else 8
JSON = [("content-type", "application/json")]


@pytest.fixture
def handlers(h2d):
	"""Makes servers with these routes."""
	def start(**options):
		return h2d(binary=HANDLERS, **options)
	start.new = lambda **options: h2d.new(binary=HANDLERS, **options)
	return start


def link(server, speak, how="tcp", **options):
	return (server.connect if speak == "h2" else server.h1)(how, timeout=PATIENT, **options)


def post(client, path, body=b"", headers=(), length=True, method="POST"):
	"""The response; length: the client says how long the body is."""
	headers = list(headers)
	if hasattr(client, "conn"):
		headers += [("content-length", str(len(body)))] if length else []
	elif not length:
		body = [body]
	return client.request(method, path, headers, body)


def fnv1a(data):
	h = 0xcbf29ce484222325
	for byte in data:
		h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
	return "%016x" % h


def test_removed_headers(handlers, speak):
	"""A handler's header goes, whatever its place, and that of the configuration stays."""
	server = handlers(server="""
remove-header = {"X-Powered-By", "x-kept", "cache-control"}
add-header = {"x-kept: conf"}
cache-control = "no-cache"
location "/t/reply/" { remove-header = {"set-cookie"} }
location "/t/hints/" { remove-header = {"link", "x-hint"} }
location "/t/trailers/" { remove-header = {"x-count"} }""")
	with link(server, speak) as c:
		assert c.get("/t/misuse/field?x-powered-by=h2d").get("x-powered-by") is None
		assert [v for n, v in c.get("/t/misuse/field?x-kept=mine").headers if n == "x-kept"] == ["conf"]
		assert c.get("/t/misuse/field?cache-control=no-store").get("cache-control") == "no-cache"
		assert c.get("/t/misuse/field?x-other=1").get("x-other") == "1"
		assert c.get("/t/reply/cookie?v").status == 200
		assert c.get("/t/reply/cookie?v").get("set-cookie") is None
		assert informed(c.get("/t/hints/now")) == [(103, HINTS)]
		assert post(c, "/t/trailers/1", b"1").trailers == [("x-count", "0")]


# --- bodies that wait ---------------------------------------------------------------------------------


def send_more(left):
	"""left: bytes by socket; as many as each of them takes now. How many those were."""
	sent = 0
	for sock, data in left.items():
		try:
			n = sock.send(data) if data else 0
		except (BlockingIOError, ssl.SSLWantWriteError):
			n = 0
		left[sock] = data[n:]
		sent += n
	return sent


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_bodies_that_wait_cost_little(handlers, how):
	"""HTTP/1: of what a handler does not take for now, no more is taken in than one recv(2) brings."""
	server = handlers(listens=(how,))
	pid, clients = server.worker_pids()[0], []
	try:
		for _ in range(60):
			clients.append(link(server, "h1", how))
			clients[-1].ask("POST", "/t/paused/resume")
			clients[-1].send_bytes(clients[-1].head("POST", "/t/paused/resume?600000", [("content-length", "1000000")]))
		wait_for(lambda: server.gauges()["requests_live"] == len(clients), said="all of them wait")
		before = procs.private_memory(pid)
		for c in clients:
			c.sock.setblocking(False)
		left, came = {c.sock: bytes(600000) for c in clients}, [0, 1]
		while send_more(left) > 0 or came[-1] != came[-2]:
			came.append(server.status()["totals"]["bytes_in"] >> 16)
		# It is 64 KiB each; with the window of a body that is taken it is 512. Sanitizers keep what is freed.
		assert SANITIZED or procs.private_memory(pid) - before < len(clients) * 250000
	finally:
		for c in clients:
			c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
			c.close()


# --- the examples -------------------------------------------------------------------------------------


def test_echo(handlers, speak):
	text = b'{"a":[1,2,"' + b"x" * 3000 + b'"]}'
	with link(handlers(), speak) as c:
		answer = post(c, "/echo", text, JSON)
		assert (answer.status, answer.body) == (200, text)
		assert answer.get("content-type") == "application/json"
		assert post(c, "/echo", b"{}").status == 415
		allowed = c.request("PUT", "/echo", JSON)
		assert (allowed.status, allowed.get("allow")) == (405, "POST, OPTIONS")


@pytest.mark.parametrize("said", [True, False], ids=["length", "no-length"])
def test_echo_of_too_much(handlers, speak, said):
	"""By what is announced, or at the byte that is too many."""
	with link(handlers(), speak) as c:
		assert post(c, "/echo", b"1" * 65537, JSON, said).status == 413


def test_download(handlers, speak):
	server = handlers(files={"downloads/a b.txt": "0123456789"})
	with link(server, speak) as c:
		answer = c.get("/download/a%20b.txt", [("range", "bytes=2-3")])
		assert (answer.status, answer.body) == (206, b"23")
		assert answer.get("content-disposition") == "attachment"
		head = c.request("HEAD", "/download/a%20b.txt")
		assert (head.status, head.body, head.get("content-length")) == (200, b"", "10")
		assert c.get("/download/none").status == 404


def test_count(handlers, speak, how):
	body = bytes(range(256)) * 1000
	with link(handlers(), speak, how) as c:
		answer = post(c, "/count", body)
		assert answer.body == b'{"bytes":256000,"fnv1a":"%s"}\n' % fnv1a(body).encode()


def events(client, stream=None):
	"""How many have come."""
	return client.responses[stream].body.count(b"data: ")


def test_events_go_on(handlers, how):
	"""Longer than every timeout, and as long as the client stays."""
	server = handlers(sections="timeouts { handshake = 1  header = 1  body = 1  send = 1  keepalive = 1 }")
	with link(server, "h2", how) as c:
		stream = c.send(path="/events?50")
		assert c.headers_of(stream).get("content-type") == "text/event-stream; charset=utf-8"
		begun = time.monotonic()
		c.until(lambda: time.monotonic() - begun > 3.5, PATIENT)
		seen = events(c, stream)
		c.until(lambda: events(c, stream) > seen + 3, PATIENT)
		numbers = re.findall(rb"id: (\d+)\ndata: \d+\n\n", c.responses[stream].body)
		assert [int(n) for n in numbers] == list(range(1, len(numbers) + 1))
		c.reset(stream)
		assert c.get("/healthz").status == 200


def test_events_over_http1(handlers):
	server = handlers(sections="timeouts { header = 1  body = 1  send = 1  keepalive = 1 }")
	with server.socket(timeout=PATIENT) as sock:
		sock.sendall(b"GET /events?50 HTTP/1.1\r\nhost: a\r\n\r\n")
		begun, text = time.monotonic(), b""
		while time.monotonic() - begun < 3.5:
			got = sock.recv(65536)
			assert got, text
			text += got
		assert text.count(b"data: ") > 3


def test_events_to_one_who_does_not_read(handlers):
	"""Nothing is made for a closed window but the event that waits, and the stream goes on behind it."""
	server = handlers()
	with server.connect(timeout=PATIENT, credit=False, settings={4: 20}) as c:
		stream = c.send(path="/events?10")
		c.until(lambda: c.responses[stream].size == 20, PATIENT)
		with server.connect(timeout=PATIENT) as other:
			for _ in range(10):
				assert other.get("/later/30").status == 200
		c.window(10000, stream)
		c.until(lambda: events(c, stream) > 3, PATIENT)
		numbers = [int(n) for n in re.findall(rb"id: (\d+)", c.responses[stream].body)]
		assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("name, dispatch", [("HUP", "reuseport"), ("HUP", "acceptor"), ("QUIT", "reuseport")])
def test_events_end_when_the_worker_leaves(handlers, speak, name, dispatch):
	"""At once, though their handler waits for what comes much later."""
	server = handlers(dispatch=dispatch)
	with link(server, speak) as c:
		stream = c.send(path="/events?60000")
		if speak == "h2":
			c.headers_of(stream)
		else:
			c.more(time.monotonic() + PATIENT)
		server.baseline = None
		server.signal(getattr(signal, "SIG" + name))
		answer = c.response(stream, 8) if speak == "h2" else c.response(8)
		assert answer.status == 200 and answer.ended and answer.reset is None
	if name == "QUIT":
		assert server.wait_exit(8) == 0
	else:
		server.log.wait("generation 1 exited", deadline=8)


def test_chat(handlers, speak):
	"""A text comes to all of its room, a field for each line, and to no other room."""
	server = handlers(workers=2)
	with contextlib.ExitStack() as stack:
		listeners = []
		for room in ("a", "a", "a", "b"):
			c = stack.enter_context(link(server, "h2"))
			listeners.append((c, c.send(path="/chat/" + room)))
			c.until(lambda c=c, s=listeners[-1][1]: c.responses[s].body == b":\n\n", PATIENT)
		with link(server, speak) as c:
			assert post(c, "/chat/a", b"one\r\ntwo").status == 204
			assert post(c, "/chat/b", b"").status == 204
			assert post(c, "/chat/a", b"x" * 4097).status == 413
		for (c, stream), heard in zip(listeners, [b"data: one\ndata: two\n\n"] * 3 + [b"data: \n\n"]):
			c.until(lambda: c.responses[stream].body == b":\n\n" + heard, PATIENT)
		server.hup()
		for c, stream in listeners:
			assert c.response(stream, PATIENT).reset is None
	server.baseline = None


def test_chat_of_one_who_does_not_read(handlers):
	"""It misses texts, and is told so."""
	server = handlers()
	with server.connect(timeout=PATIENT, credit=False, settings={4: 10}) as c:
		stream = c.send(path="/chat/a")
		c.until(lambda: c.responses[stream].size >= 3, PATIENT)
		with server.connect(timeout=PATIENT) as other:
			for _ in range(20):
				assert post(other, "/chat/a", b"x" * 4000).status == 204
		c.window(100000, stream)
		c.until(lambda: b"event: lost\ndata:\n\n" in c.responses[stream].body, PATIENT)
		with server.connect(timeout=PATIENT) as other:
			assert post(other, "/chat/a", b"after").status == 204
		c.until(lambda: c.responses[stream].body.endswith(b"data: after\n\n"), PATIENT)
	server.baseline = None


def test_later(handlers, speak):
	with link(handlers(), speak) as c:
		begun = time.monotonic()
		answer = c.get("/later/300")
		assert (answer.status, answer.body) == (200, b"now\n") and time.monotonic() - begun > 0.29
		for path in ("/later/x", "/later/3x", "/later/-1", "/later/600001"):
			assert c.get(path).status == 404


def test_resolve(handlers, speak):
	with link(handlers(sections="sandbox { network = true }"), speak) as c:
		answer = c.get("/resolve/127.0.0.1")
		assert (answer.status, answer.body) == (200, b"127.0.0.1\n")
		assert c.get("/resolve/300.0.0.1.invalid.").status == 404


# --- threads ------------------------------------------------------------------------------------------


class Fifos:
	"""Paths whose readers block until they are written to."""

	def __init__(self, server, n):
		self.paths = [server.path("fifo-%d" % i) for i in range(n)]
		for path in self.paths:
			os.mkfifo(path)

	def reader(self, i):
		"""A descriptor for writing, once somebody reads; None before."""
		try:
			return os.open(self.paths[i], os.O_WRONLY | os.O_NONBLOCK)
		except OSError:
			return None

	def meet(self, i):
		"""The writer of the i-th, once a thread has opened it; it reads until that is closed."""
		return wait_for(lambda: self.reader(i), PATIENT, said="a reader of FIFO %d" % i)

	def write(self, i, text):
		fd = self.meet(i)
		os.write(fd, text)
		os.close(fd)


def test_work_that_blocks_keeps_no_file_waiting(handlers, speak):
	"""More of it than there are threads, for longer than anything else takes."""
	server = handlers()
	fifos = Fifos(server, 12)
	with link(server, "h2") as c, link(server, speak) as other:
		streams = [c.send(path="/t/block?" + path) for path in fifos.paths]
		wait_for(lambda: server.status()["totals"]["offload_jobs"] == 12, PATIENT)
		for i in range(5):
			server.write("new-%d.txt" % i, "new")
			assert other.get("/new-%d.txt" % i).body == b"new"
		assert other.get("/events-no").status == 404
		for i in range(12):
			fifos.write(i, b"text %d" % i)
		assert [c.response(s, PATIENT).body for s in streams] == [b"text %d" % i for i in range(12)]


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_a_worker_leaves_though_work_blocks(handlers, number):
	server = handlers(conf="shutdown-timeout = 1")
	fifos = Fifos(server, 1)
	with link(server, "h2") as c:
		c.send(path="/t/block?" + fifos.paths[0])
		wait_for(lambda: server.status()["totals"]["offload_jobs"] == 1, PATIENT)
		server.signal(number)
		assert server.wait_exit(PATIENT) == 0


# --- bodies that wait ---------------------------------------------------------------------------------


def test_each_piece_waits_for_a_thread(handlers, speak, how):
	body = os.urandom(300000)
	with link(handlers(), speak, how) as c:
		answer = post(c, "/t/slow", body)
		assert (answer.status, answer.body) == (200, b"300000 %d" % sum(body))


def test_stored_without_a_name(handlers, speak):
	"""No name is no name that a file may have, and not a form's."""
	server = handlers(server='upload-dir = "up" upload-public = true', files={"up/.keep": b""})
	with link(server, speak) as c:
		assert c.request("PUT", "/t/store", [("x-name", "a")], b"1").status == 204
		for headers in ([], [("x-name", "")], [("x-name", ".a")], [("content-type", "multipart/form-data; boundary=b")]):
			assert c.request("PUT", "/t/store", headers, b"--b\r\n\r\n--b--").status == 400, headers


def test_a_folder_of_the_handlers(handlers, speak):
	"""Who may store there is theirs to say; the routes of /files are closed as they were."""
	server = handlers(server='upload-dir = "up" upload-quota = "40K" location "/t/store" { store-folder = "own" } '
		'location "/up" { deny = {"all"} }', files={"up/kept": b"k"})
	with link(server, speak) as c:
		for body in (b"1", b"22"):
			assert c.request("PUT", "/t/store", [("x-name", "a")], body).status == 204
			with open(os.path.join(server.root, "up/own/a"), "rb") as f:
				assert f.read() == body
		for path in ("/files/a", "/files/own", "/files/own/a", "/files/kept"):
			assert c.request("PUT", path, (), b"3").status in (403, 404, 405), path
			assert c.request("DELETE", path).status in (403, 404, 405), path
		assert c.request("PUT", "/t/store", [("x-name", "../kept")], b"1").status == 400
		# A folder and its files cost 4K at least.
		stored = [c.request("PUT", "/t/store", [("x-name", "f%d" % i)], b"1").status for i in range(12)]
		assert 507 in stored and stored.index(507) in (6, 7), stored
	assert sorted(os.listdir(os.path.join(server.root, "up")))[-2:] == ["kept", "own"]


@pytest.mark.parametrize("said", [True, False], ids=["length", "no-length"])
@pytest.mark.parametrize("size", [0, 1, 1000, 900000])
def test_paused_and_stored(handlers, speak, how, size, said):
	"""By a handler that has neither body() nor end(): nothing of what came meanwhile is lost."""
	server = handlers(server='upload-dir = "up" upload-public = true', files={"up/.keep": b""}, listens=(how,))
	body = os.urandom(size)
	with link(server, speak, how) as c:
		for name in ("a", "b"):
			answer = post(c, "/t/store/paused?100", body, [("x-name", name)], said, "PUT")
			assert (answer.status, c.get("/up/" + name).body) == (204, body)


@pytest.mark.parametrize("size", [10, 300000])
def test_paused_for_longer_than_a_client_may_pause(handlers, speak, size):
	"""It is not the client's fault."""
	server = handlers(sections="timeouts { header = 1  body = 1  send = 1  keepalive = 1 }")
	with link(server, speak) as c:
		answer = post(c, "/t/paused/resume?3500", b"x" * size)
		assert (answer.status, answer.body) == (200, b"%d 0" % size)


def test_strings_end(handlers, speak):
	"""Each has a NUL where its length says, whatever follows it in the request."""
	server = handlers.new()
	users = put_users(server, ann=hashed("secret"))
	server.write_conf(server='location "/t" { auth-basic-file = "%s" }' % users)
	server.start()
	fields = basic("ann", "secret") + [("x-one", "1"), ("x-one", "22"), ("cookie", "a=1; c=3"), ("cookie", "b=2"),
		("accept-encoding", "br"), ("te", "trailers")]
	path = "/t/strings/one%20/two/three/four?q=1&r=2"
	with link(server, speak) as c:
		if speak == "h2":
			stream = c.send("POST", path, fields, b"12345", end=False)
			c.send_trailers(stream, [("x-sum", "7")])
			assert (c.response(stream).status, c.response(stream).body) == (200, b"34")
		else:
			for form in (path, "http://host.example" + path):
				answer = c.request("POST", form, fields, [b"12345"], trailers=[("x-sum", "7")])
				assert (answer.status, answer.body) == (200, b"34")


def test_paused_by_a_handler_whose_user_was_asked(handlers, speak):
	"""The body waited for the password first; the handler's word is heard behind that."""
	server = handlers.new()
	users = put_users(server, ann=hashed("secret"))
	server.write_conf(server='location "/t" { auth-basic-file = "%s" }' % users)
	server.start()
	with link(server, speak) as c:
		begun = time.monotonic()
		answer = post(c, "/t/paused/resume?200", b"12345", basic("ann", "secret"))
		assert (answer.status, answer.body) == (200, b"5 0")
		assert time.monotonic() - begun >= 0.2
		answer = c.get("/t/facts/1/2/", basic("ann", "secret"))
		assert b"user=ann\n" in answer.body


# --- the worker ---------------------------------------------------------------------------------------


def test_at_home_in_the_worker(handlers, speak):
	"""A context, a timer and a watch that belong to no request; each worker has its own, and takes them down."""
	server = handlers(workers=2)
	def counted():
		with link(server, speak) as c:
			return [int(n) for n in c.get("/t/worker").body.split()]
	ticks, _ = wait_for(lambda: (n := counted())[1] > 3 and n, said="ticks")
	assert ticks > 3
	server.hup()
	server.wait_up(2)
	wait_for(lambda: counted()[1] > 3, said="ticks of the workers that follow")


def test_a_handler_that_cannot_be_at_home(handlers):
	"""A start fails, and says whose fault it is."""
	server = handlers.new(env={"T_WORKER_FAILS": "1"})
	server.exit_expected = 1
	server.spawn()
	assert server.wait_exit() == 1
	server.log.wait_end()
	assert server.log.find(r"worker \d: handler t_worker: worker_init\(\) failed: Permission denied; exiting; .*section sandbox$")


def test_woken_by_another_thread(handlers, speak):
	"""While the client is there, and when it has left."""
	server = handlers()
	with link(server, speak) as c:
		assert c.get("/t/wake/20").body == b"woken"
	server.take_baseline()  # with the eventfd that the first waker made
	for _ in range(30):
		with link(server, speak) as c:
			c.send("GET", "/t/wake/50") if speak == "h2" else c.send(path="/t/wake/50")
	with link(server, speak) as c:
		assert c.get("/t/wake/100").body == b"woken"


def test_messages_between_workers(handlers, speak):
	"""Each listener hears all that is said of its topic, in one order, whichever worker it is in, across a reload."""
	server = handlers(workers=WORKERS)
	links = []
	with contextlib.ExitStack() as stack:
		def listen(n):
			# Requests that are answered are over a moment later.
			wait_for(lambda: server.gauges()["requests_live"] == len(links), said="the listeners alone")
			listeners = [stack.enter_context(link(server, speak)) for _ in range(n)]
			links.extend(listeners)
			streams = [c.send("GET", "/t/topic/chat") if speak == "h2" else c.send(path="/t/topic/chat")
				for c in listeners]
			wait_for(lambda: server.gauges()["requests_live"] == len(links), said="listeners")
			return [lambda c=c, s=s: c.response(s) if speak == "h2" else c.response()
				for c, s in zip(listeners, streams)]
		def say(what, topic="chat"):
			with link(server, speak) as c:
				assert c.request("POST", "/t/topic/%s?%s" % (topic, what)).status == 202
		early = listen(LISTENERS * 2 // 3)
		for i in range(10):
			say("a%d" % i)
			say("x", "other")
		server.hup()
		wait_for(lambda: sum((w["generation"], w["state"]) == (2, "up") for w in server.status()["workers"]) == WORKERS,
			said="the workers that follow")
		late = listen(LISTENERS // 3)
		for i in range(10):
			say("b%d" % i)
		say("end")
		first, then = (["%s%d" % (c, i) for i in range(10)] for c in "ab")
		for answers, heard in ((early, first + then), (late, then)):
			for answer in answers:
				assert answer().body.decode().split("\n") == ["chat", *heard, "end", ""]
		assert server.status()["totals"]["messages_lost"] == 0
	server.baseline = None


# --- the request and its route ------------------------------------------------------------------------


def facts(answer):
	assert answer.status == 200, answer
	return dict(line.split("=", 1) for line in answer.body.decode().splitlines())


def test_facts(handlers, speak):
	with link(handlers(), speak) as c:
		assert facts(c.get("/t/facts/a%2Bb/%c3%a9/c/d/")) == {"a": "a+b", "b": "é", "*": "c/d/",
			"length": "0", "peer": "127.0.0.1", "user": "NULL"}
		assert facts(c.get("/t/facts/a/b/"))["*"] == ""
		several = [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2; c=3"), ("cookie", "d=4")]
		assert facts(c.get("/t/facts/a/b/", several))["cookie"] == "a=1; b=2; c=3; d=4"
		assert facts(c.get("/t/facts/a/b/", several[:2]))["cookie"] == "a=1"
		answer = post(c, "/t/facts/a/b/", b"body")
		assert facts(answer)["length"] == "4"


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_asked(handlers, speak, how):
	"""Fields by number, cookies in one field and by name, parameters decoded, the scheme: over both protocols alike."""
	sent = [("x-twice", "1"), ("cookie", "a=1"), ("x-twice", "2"), ("cookie", 'b="2"; c=3')]
	with link(handlers(listens=(how,)), speak, how) as c:
		answer = c.get("/t/asked?cookie=b&a+b=%c3%a9&n=1&n=%26+2&", sent)
	assert answer.status == 200
	lines = [line for line in answer.body.decode().splitlines()
		if not line.startswith(("field user-agent=", "field accept", "id ="))]
	assert re.search(rb"^id =[0-9a-f]{32}$", answer.body, re.M)
	assert lines == ["field x-twice=1", 'field cookie=a=1; b="2"; c=3', "field x-twice=2", "twice =1", "twice =2",
		"query cookie=b", "query a b=é", "query n=1", "query n=& 2", 'cookie b="2"',
		"scheme =" + ("https" if how == "tls" else "http")] + ["tls =TLSv1.3"] * (how == "tls")


def test_the_scheme_that_a_proxy_says(handlers, speak):
	"""As for rules and fields: https, if a trusted proxy says that the client came by it."""
	came = [("x-forwarded-for", "192.0.2.9"), ("x-forwarded-proto", "https")]
	trusting = handlers(conf='trusted-proxies = {"127.0.0.1"}\nclient-address = x-forwarded-for')
	with link(trusting, speak) as c:
		assert b"scheme =https\n" in c.get("/t/asked", came).body
		assert b"tls =" not in c.get("/t/asked", came).body
	with link(handlers(), speak) as c:
		assert b"scheme =http\n" in c.get("/t/asked", came).body


HINTS = {"link": "</a.css>; rel=preload; as=style", "x-hint": "a"}


def informed(answer):
	"""The interim responses: statuses, and fields without the server's pseudo ones."""
	return [(status, {k: v for k, v in fields.items() if not k.startswith(":")}) for status, fields in answer.informed]


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_interim_responses(handlers, speak, how):
	"""In front of the reply, at once or while it is made; none of their fields is the reply's."""
	with link(handlers(listens=(how,)), speak, how) as c:
		for path, wanted in (("/t/hints/now", [(103, HINTS)]), ("/t/hints/later", [(103, HINTS), (102, {})])):
			answer = c.get(path)
			assert (answer.status, answer.body, informed(answer)) == (200, b"ok\n", wanted)
			assert answer.get("link") is None and answer.get("x-hint") is None
		assert informed(c.request("HEAD", "/t/hints/now")) == [(103, HINTS)]
		assert informed(c.get("/t/facts/a/b/")) == []


def test_no_interim_response_for_http_1_0(handlers):
	with link(handlers(), "h1") as c:
		c.send(path="/t/hints/later", version="1.0")
		assert c.rest().startswith(b"HTTP/1.1 200 ")


def post_with_trailers(client, path, body, trailers):
	if hasattr(client, "conn"):
		stream = client.send("POST", path, body=body, end=False)
		client.send_trailers(stream, trailers)
		return client.response(stream)
	client.send("POST", path, body=[body], trailers=trailers)
	return client.response()


TRAILERS = [("a", "1"), ("b", "x, y"), ("a", "2")]
ECHOED = [("x-" + name, value) for name, value in TRAILERS] + [("x-count", "3")]


@pytest.mark.parametrize("how", ["tcp", "tls"])
@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_trailers(handlers, speak, how, pieces):
	"""Behind the body and behind the content, be there any or none; the connection goes on."""
	with link(handlers(listens=(how,)), speak, how) as c:
		for _ in range(2):
			answer = post_with_trailers(c, "/t/trailers/%d" % pieces, b"12345", TRAILERS)
			assert (answer.status, answer.body, answer.trailers) == (200, b"5\n" * pieces, ECHOED)
			assert answer.get("x-count") is None and not answer.reset
		answer = post(c, "/t/trailers/%d" % pieces, b"123")
		assert (answer.body, answer.trailers) == (b"3\n" * pieces, [("x-count", "0")])


def test_no_trailers_for_http_1_0(handlers):
	with link(handlers(), "h1") as c:
		c.ask("POST", "/t/trailers/1", version="1.0")
		c.send_bytes(b"POST /t/trailers/1 HTTP/1.0\r\ncontent-length: 2\r\n\r\n12")
		assert c.response().body == b"2\n"


FORM = [("content-type", "application/x-www-form-urlencoded")]


@pytest.mark.parametrize("said", [True, False], ids=["length", "no-length"])
@pytest.mark.parametrize("when", ["now", "later"])
def test_forms(handlers, speak, when, said):
	with link(handlers(), speak) as c:
		answer = post(c, "/t/form/" + when, b"a=1&b+c=%C3%A9%26&&d&a=2", FORM, said)
		assert (answer.status, answer.body.decode()) == (200, "a=1\nb c=é&\nd=\na=2\na is there\n")
		assert post(c, "/t/form/" + when, b"a=" + b"x" * 4998, FORM, said).body.count(b"x") == 4998
		assert post(c, "/t/form/" + when, b"a=" + b"x" * 4999, FORM, said).status == 413
	with link(handlers(), speak) as c:
		assert post(c, "/t/form/" + when, b"{}", JSON, said).status == 415
		assert post(c, "/t/form/" + when, b"", FORM, said).body == b""


def test_a_route_that_the_configuration_refuses(handlers, speak):
	with link(handlers(server='location "/t/reply" { return = 404 }'), speak) as c:
		assert [c.get(path).status for path in ("/t/reply/json", "/t/asked")] == [404, 200]


@pytest.mark.parametrize("said", [True, False], ids=["length", "no-length"])
def test_a_body_is_read(handlers, speak, said):
	with link(handlers(), speak) as c:
		for size in (0, 1, 5000):
			answer = post(c, "/t/read", b"x" * size, length=said)
			assert (answer.status, answer.body) == (200, b"x" * size)
		assert post(c, "/t/read", b"x" * 5001, length=said).status == 413


def test_short_replies(handlers, speak):
	server = handlers(workers=1)
	with link(server, speak) as c:
		def ask(how):
			answer = c.get("/t/reply/" + how)
			return answer.status, answer.get("content-type"), answer.body
		assert ask("text?abc") == (200, "text/plain; charset=utf-8", b"abc")
		assert ask("json") == (202, "application/json", b'{"a":1}')
		assert ask("printf?abc") == (200, "text/html; charset=utf-8", b"<p>abc" + b"0" * 4999 + b"7")
		answer = c.get("/t/reply/redirect?/a%20b")
		assert (answer.status, answer.get("location")) == (303, "/a%20b")
		answer = c.get("/t/reply/cookie?x")
		assert [value for name, value in answer.headers if name == "set-cookie"] == [
			"a=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax", "b=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax",
			"c=1; Path=/; HttpOnly; SameSite=Lax"]
		assert c.get("/t/reply/cookie?x;y").status == 400


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_replies_that_are_not_copied(handlers, speak, how):
	"""Memory is released once, when the last byte of it has left, or the client is gone."""
	server = handlers(workers=1, listens=(how,))
	with link(server, speak, how) as c:
		assert c.get("/t/reply/static").body == b"s" * 100000
		for size in (1, 3000, 1000000):
			assert c.get("/t/reply/owned?%d" % size).body == b"o" * size
		assert c.request("HEAD", "/t/reply/owned?10").status == 200
		wait_for(lambda: c.get("/t/reply/released").body == b"4", PATIENT)
		with link(server, speak, how) as other:
			other.send(path="/t/reply/owned?50000000")
		wait_for(lambda: c.get("/t/reply/released").body == b"5", PATIENT)


def test_the_peer_of_a_unix_socket(handlers, speak):
	with link(handlers(listens=("unix",)), speak, "unix") as c:
		assert facts(c.get("/t/facts/a/b/"))["peer"] == "unix"


def test_methods(handlers, speak):
	"""A row of its own answers OPTIONS; PATCH is a method as any other."""
	with link(handlers(), speak) as c:
		assert b"peer" in c.request("OPTIONS", "/t/methods").body
		assert b"peer" in c.request("PATCH", "/t/methods").body
		answer = c.get("/t/methods")
		assert (answer.status, answer.get("allow")) == (405, "OPTIONS, PATCH")
		answer = c.request("OPTIONS", "/later/1")
		assert (answer.status, answer.get("allow")) == (204, "GET, HEAD, OPTIONS")
		assert c.request("HEAD", "/later/1").body == b""


def test_an_admin_route_is_none_of_the_public(handlers, speak):
	server = handlers(files={"t/admin/file": "of the root"})
	with link(server, speak) as c:
		assert c.get("/t/admin/file").body == b"of the root"
		assert c.request("OPTIONS", "*").get("allow") == "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH"
	with link(server, speak, "admin") as c:
		assert facts(c.get("/t/admin/file"))["a"] == "file"
		assert c.get("/t/block").status == 404
		assert c.request("OPTIONS", "*").get("allow") == "GET, HEAD, OPTIONS"


def test_the_routes_are_told(handlers):
	told = handlers().run("--routes", check=0).out
	assert re.search(r"^POST +/t/facts/\{a\}/\{b\}/\* +t_facts +public +stream$", told, re.M)
	assert re.search(r"^GET +/t/admin/\{a\} +t_admin +admin +none$", told, re.M)


# --- faults of handlers -------------------------------------------------------------------------------


def answer_until_closed(server, speak, path):
	"""What comes of an answer before the connection ends: bytes, or frames of its stream."""
	if speak == "h1":
		with server.h1(timeout=PATIENT) as c:
			c.send(path=path)
			return c.rest()
	with server.raw(timeout=PATIENT) as c:
		c.send(c.headers(1, c.head(path)))
		c.until(lambda frame: False)
		return [frame for frame in c.frames if frame.stream_id == 1]


def test_a_length_that_wrapped_sends_nothing(handlers, speak):
	"""The worker ends and says in whose code it did: behind the handler's bytes lies what belongs to others."""
	server = handlers(workers=1, listens=("tcp",))
	server.allow_alert("handler t_length|signal 6")
	pid = None
	for what in ("bytes", "printed", "later"):
		pid, = wait_for(lambda: [p for p in server.worker_pids() if p != pid], said="another worker")
		assert not answer_until_closed(server, speak, "/t/length/" + what)
		server.log.wait(r"alert .*worker 0 \(process %d\) crashed: handler t_length passed an overflowed length for "
			r"GET /t/length/%s \(h2d_reply_bytes\)$" % (pid, what))
	wait_for(lambda: server.worker_pids() not in ([], [pid]), said="another worker")
