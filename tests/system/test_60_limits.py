"""Peers that are slow, greedy or hostile: each ends, or stays bounded, and the others are served."""
import os
import re
import resource
import socket
import ssl
import threading
import time

import pytest
from hyperframe import frame as hf

import client
import procs
import server as srv

SHORT = "timeouts { handshake = 1  header = 1  body = 1  send = 1  keepalive = 1 }"
GENTLE = "timeouts { handshake = 1  header = 1  send = 1  keepalive = 60 }"


def rss(pid):
	with open("/proc/%d/statm" % pid) as f:
		return int(f.read().split()[1]) * resource.getpagesize()


def seconds_until_closed(sock, deadline=60):
	"""Reads and drops; how long until the server's end."""
	start = time.monotonic()
	while True:
		left = start + deadline - time.monotonic()
		assert left > 0, "not closed in %d s" % deadline
		sock.settimeout(left)
		try:
			if not sock.recv(65536):
				break
		except socket.timeout:
			continue
		except (ConnectionResetError, ssl.SSLError):
			break
	return time.monotonic() - start


class Drip(threading.Thread):
	"""Sends a piece every so often until the server is gone."""

	def __init__(self, sock, pieces, pause):
		super().__init__(daemon=True)
		self.sock, self.pieces, self.pause = sock, pieces, pause
		self.stop = threading.Event()
		self.start()

	def run(self):
		for piece in self.pieces:
			try:
				self.sock.sendall(piece)
			except OSError:
				return
			if self.stop.wait(self.pause):
				return


def forever(piece):
	while True:
		yield piece


# --- time ---------------------------------------------------------------------------------------

def slow_hello_drip(server):
	s = socket.create_connection(("127.0.0.1", server.ports["tls"]))
	return s, Drip(s, [b"\x16", b"\x03", b"\x01", b"\x02", b"\x00"] + [b"\x00"] * 500, 0.2)


def slow_preface_drip(server):
	s = socket.create_connection(("127.0.0.1", server.ports["tcp"]))
	return s, Drip(s, [client.PREFACE[i:i + 1] for i in range(24)], 0.4)


def slow_header_drip(server):
	raw = server.raw("tcp")
	head = raw.headers(1, raw.head(extra=[("x", "y" * 60)])).serialize()
	return raw.sock, Drip(raw.sock, [head[i:i + 1] for i in range(len(head))], 0.2)


def slow_headers_unfinished(server):
	raw = server.raw("tls")
	raw.send(raw.headers(1, end_headers=False))
	return raw.sock, None


def slow_idle_after_a_request(server):
	raw = server.raw("tls")
	raw.send(raw.headers(1))
	assert raw.status_of(1) == 200
	return raw.sock, None


def slow_only_pings(server):
	raw = server.raw("tcp")
	return raw.sock, Drip(raw.sock, forever(hf.PingFrame(0, b"12345678").serialize()), 0.2)


def slow_zero_window(server):
	raw = server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0})
	raw.send(raw.headers(1, raw.head("/large")))
	return raw.sock, None


def slow_post_stalls(server):
	"""Answered at once, although its body never ends; then the connection is idle."""
	raw = server.raw("tcp")
	raw.send(raw.headers(1, raw.head(method="POST"), end_stream=False), hf.DataFrame(1, b"x"))
	return raw.sock, None


SLOW_PEERS = {
	"nothing": lambda server: (socket.create_connection(("127.0.0.1", server.ports["tls"])), None),
	"no preface": lambda server: (server.socket("tcp"), None),
	"no preface behind TLS": lambda server: (server.socket("tls"), None),
	"idle": lambda server: (server.raw("tcp").sock, None),
	**{name: f for name, f in globals().items() if name.startswith("slow_")},
}


def test_slow_peers_are_closed(h2d):
	"""All kinds at once, every timeout a second; meanwhile a decent client is served."""
	server = h2d(sections=SHORT, files={"large": b"x" * 5000000})
	before = server.status()["totals"]["timeouts"]
	took = {}

	def one(name):
		began = time.monotonic()
		sock, drip = SLOW_PEERS[name](server)
		try:
			seconds_until_closed(sock)
			took[name] = time.monotonic() - began
		except AssertionError:
			took[name] = None
		if drip:
			drip.stop.set()
		sock.close()
	threads = [threading.Thread(target=one, args=(name,)) for name in SLOW_PEERS]
	for t in threads:
		t.start()
	while any(t.is_alive() for t in threads):
		with server.connect("tcp") as c:
			assert c.get("/").status == 200
		time.sleep(0.05)
	open_for_ever = [name for name, seconds in took.items() if seconds is None]
	assert not open_for_ever
	assert all(0.5 < seconds for seconds in took.values()), took
	assert server.status()["totals"]["timeouts"] - before >= 6, "all but the idle ones, which are told"


@pytest.mark.parametrize("name, said", [("nothing", None), ("no preface", None), ("no preface behind TLS", None),
	("slow_hello_drip", "handshake timed out"), ("slow_header_drip", "header section timed out"),
	("slow_preface_drip", "header section timed out")])
def test_who_never_spoke_is_no_matter_for_the_log(h2d, name, said):
	"""Browsers connect ahead, balancers look whether anybody listens: counted, and closed without a line."""
	server = h2d(sections=SHORT, conf="log-level = debug")
	sock, drip = SLOW_PEERS[name](server)
	seconds_until_closed(sock)
	if drip:
		drip.stop.set()
	sock.close()
	line = server.log.wait(r"connection 127\.0\.0\.1: .*timed out")[0]
	assert " debug " in line if said is None else (" info " in line and said in line)
	totals = server.status()["totals"]
	assert totals["timeouts"] == totals["timeout_header"] + totals["timeout_handshake"] == 1


def test_peer_that_does_not_read(h2d, how):
	server = h2d(sections=GENTLE, files={"large": b"x" * 20000000})
	raw = server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 2**31 - 1})
	raw.send(hf.WindowUpdateFrame(0, window_increment=2**30), raw.headers(1,
		raw.head("/large")))
	procs.wait_for(lambda: server.status()["totals"]["timeouts"] == 1, said="cut off")
	server.wait_connections(0)
	raw.close()


def test_slow_but_steady_is_not_cut(h2d):
	"""Whoever takes some bytes each second has all the time it wants."""
	server = h2d(sections=SHORT.replace("send = 1", "send = 3"), files={"large": b"x" * 5000000})
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		raw.send(raw.headers(1, raw.head("/large")))
		assert raw.status_of(1) == 200
		end = time.monotonic() + 5
		while time.monotonic() < end:
			raw.send(hf.WindowUpdateFrame(1, window_increment=50))
			assert raw.until_type(hf.DataFrame) is not None
			time.sleep(0.1)


ACTS = {
	"ping": lambda raw, n: [hf.PingFrame(0, b"12345678")],
	"settings": lambda raw, n: [hf.SettingsFrame(0, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0})],
	"head": lambda raw, n: [raw.headers(n, raw.head(method="HEAD"))],
	# Others of its streams make progress, those that wait do not.
	"whole reply": lambda raw, n: [raw.headers(n, raw.head("/small")), hf.WindowUpdateFrame(n, window_increment=100)],
	"a byte of each": lambda raw, n: [hf.WindowUpdateFrame(stream, window_increment=1) for stream in range(1, 21, 2)],
}


@pytest.mark.parametrize("act", ACTS)
def test_what_is_no_progress_of_a_stream(h2d, act):
	"""A stream whose window is closed ends, whatever else the client has the server send."""
	server = h2d(sections=GENTLE, files={"large": b"x" * 5000000, "small": b"x" * 100})
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		streams = range(1, 21, 2)
		raw.send(*(raw.headers(stream, raw.head("/large")) for stream in streams))
		for n in range(300):
			if len(resets(raw, streams)) == len(streams):
				break
			raw.send(*ACTS[act](raw, 2 * n + 101))
			raw.pump(0.1)
		assert len(resets(raw, streams)) == len(streams)
		raw.send(raw.headers(999))
		assert raw.status_of(999) == 200, "the connection goes on"


def resets(raw, streams):
	return {f.stream_id for f in raw.frames if isinstance(f, hf.RstStreamFrame)} & set(streams)


def test_a_byte_of_the_connections_window(h2d):
	"""The window of the connection counts as that of a stream does."""
	server = h2d(sections=GENTLE, files={"large": b"x" * 5000000})
	raw = server.raw("tcp")
	raw.send(*(raw.headers(stream, raw.head("/large")) for stream in (1, 3, 5)))
	drip = Drip(raw.sock, forever(hf.WindowUpdateFrame(0, window_increment=1).serialize()), 0.2)
	seconds_until_closed(raw.sock)
	drip.stop.set()
	raw.close()


def slow_body_is_taken(raw, stream):
	"""Not that of a client who was held up for a second."""
	raw.send(raw.headers(stream, raw.head(method="POST"), end_stream=False))
	for n in range(30):
		raw.send(hf.DataFrame(stream, b"x" * 50, flags=["END_STREAM"] if n == 29 else []))
		raw.pump(0.1)
		if resets(raw, (stream,)):
			return False
	return True


def test_a_body_nobody_reads(h2d):
	"""It may come, at a least rate; a stream whose body does not ends after `body`, not `send`."""
	server = h2d(sections="timeouts { body = 1 }")
	with server.raw("tcp") as raw:
		for stream in (1, 3):
			raw.send(raw.headers(stream, raw.head(method="POST"), end_stream=False))
			assert raw.status_of(stream) == 405
		for _ in range(60):
			if resets(raw, (1, 3)):
				break
			raw.send(hf.DataFrame(3, b"x"))
			raw.pump(0.1)
		if len(resets(raw, (1, 3))) < 2:
			raw.until(lambda f: len(resets(raw, (1, 3))) == 2)
		raw.send(raw.headers(5))
		assert raw.status_of(5) == 200, "the connection goes on"
		streams = iter(range(7, 17, 2))
		assert procs.mostly(lambda: slow_body_is_taken(raw, next(streams))), "slow, but not too slow"


@pytest.mark.parametrize("extra", [("Accept", "x"), (":x", "y")], ids=["upper case", "pseudo"])
def test_malformed_request_does_not_end_others(h2d, extra):
	"""Its header section is over, too: the header timeout must not strike the connection."""
	server = h2d(sections=GENTLE.replace("send = 1", "send = 9"), files={"large": b"x" * 5000000})
	with server.held() as raw:
		raw.send(raw.headers(3, raw.head(extra=[extra])))
		assert raw.status_of(3) in (400, "reset")
		time.sleep(1.7)  # longer than the header timeout
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 23),
			hf.WindowUpdateFrame(1, window_increment=1 << 23))
		assert raw.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags) is not None


def test_idle_gets_goaway(h2d, how):
	server = h2d(sections=SHORT)
	with server.raw(how) as raw:
		raw.send(raw.headers(1))
		goaway = raw.goaway()
		assert goaway is not None and goaway.error_code == 0
		assert goaway.last_stream_id in (1, client.MAGIC_LAST_ID)


# --- floods -------------------------------------------------------------------------------------

def flood(server, how, piece, total, opening=b"", read=False):
	"""Sends pieces until total or the server ends it; (bytes sent, ended)."""
	raw = server.raw(how)
	if opening:
		raw.send_bytes(opening)
	chunk = piece * max(1, 16384 // len(piece))
	sent = 0
	raw.sock.settimeout(5)
	ended = False
	while sent < total:
		try:
			raw.sock.sendall(chunk)
			sent += len(chunk)
			if read:
				raw.sock.settimeout(0.0)
				try:
					while raw.sock.recv(1 << 20):
						pass
				except (BlockingIOError, ssl.SSLWantReadError):
					pass
				raw.sock.settimeout(5)
		except socket.timeout:
			break  # it no longer reads: bounded
		except (OSError, ssl.SSLError):
			ended = True
			break
	raw.close()
	return sent, ended


FLOODS = {
	"ping": hf.PingFrame(0, b"12345678").serialize(),
	"settings": hf.SettingsFrame(0, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 65535}).serialize(),
	"empty settings": hf.SettingsFrame(0).serialize(),
	"priority": hf.PriorityFrame(1, depends_on=0, stream_weight=5).serialize(),
	"window update": hf.WindowUpdateFrame(0, window_increment=1).serialize(),
	"unknown": bytes((0, 0, 0, 0xb0, 0, 0, 0, 0, 0)),
	"settings ack": hf.SettingsFrame(0, flags=["ACK"]).serialize(),
}


@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
@pytest.mark.parametrize("kind", FLOODS)
def test_frame_flood(site, kind, read):
	"""2 MiB of frames that do no work: ended or bounded, and nobody else notices."""
	pid = site.worker_pids()[0]
	before = rss(pid)
	peak = [0]
	done = threading.Event()

	def watch():
		with site.connect("tcp") as c:
			while not done.is_set():
				assert c.get("/").status == 200
				peak[0] = max(peak[0], rss(pid))
				done.wait(0.02)
	watcher = threading.Thread(target=watch)
	watcher.start()
	try:
		flood(site, "tcp", FLOODS[kind], 2 << 20, read=read)
	finally:
		done.set()
		watcher.join()
	assert peak[0] - before < (30 << 20) * srv.SLOW
	assert site.worker_pids() == [pid]


def test_empty_data_flood(site):
	"""Empty DATA frames on one stream do no work."""
	encoder = client.Raw(socket.socket(), preface=False)
	opening = encoder.headers(1, encoder.head(method="POST"), end_stream=False).serialize()
	flood(site, "tcp", hf.DataFrame(1, b"").serialize(), 2 << 20, opening=opening)
	with site.connect("tcp") as c:
		assert c.get("/").status == 200


@pytest.mark.parametrize("piece", [b"", b"\x00\x01a\x01b"], ids=["empty", "fields"])
def test_continuation_flood(site, how, piece):
	before = site.status()["totals"]
	raw = site.raw(how)
	raw.send(raw.headers(1, end_headers=False))
	frame = hf.ContinuationFrame(1, piece).serialize()
	for _ in range(2000):
		if not raw.try_send(frame * 10):
			break
	try:
		raw.goaway()
	except AssertionError:
		pytest.fail("20 000 CONTINUATION frames were taken")
	raw.close()
	with site.connect(how) as c:
		assert c.get("/").status == 200
	after = site.status()["totals"]
	for name in ("protocol_errors", "floods"):
		assert after[name] == before[name] + 1



def test_header_bomb(site):
	"""4 KiB in the table, referred to 16 000 times: 64 MB of fields out of 20 KB."""
	pid = site.worker_pids()[0]
	before = rss(pid)
	with site.raw("tcp") as raw:
		first = raw.encoder.encode(raw.head(extra=[("x-bomb", "b" * 3900)]))
		raw.send(raw.headers(1, block=first))
		assert raw.status_of(1) == 200
		for stream in range(3, 23, 2):
			head = raw.encoder.encode(raw.head())
			raw.send(raw.headers(stream, block=head + b"\xbe" * 16000))
		result = {raw.status_of(stream) for stream in range(3, 23, 2)}
		assert result <= {431, "reset", "closed"}, result
		assert rss(pid) - before < (8 << 20) * srv.SLOW
	with site.connect("tcp") as c:
		assert c.get("/").status == 200


def reset_flood(raw, path, second):
	"""20 000 requests, each with a second frame that ends it; whether the server ended that."""
	raw.send(raw.headers(1, raw.head(path)), second(1))
	block = raw.encoder.encode(raw.head(path))
	for start in range(3, 40003, 200):
		data = b"".join(raw.headers(n, block=block).serialize() + second(n).serialize()
			for n in range(start, start + 200, 2))
		if not raw.try_send(data):
			return True
	return False


def test_rapid_reset(h2d, how):
	"""HEADERS, RST_STREAM, 20 000 times: ended with GOAWAY, soon; the others are served."""
	server = h2d(files={"large": b"x" * 5000000})
	with server.raw(how) as raw:
		if not reset_flood(raw, "/large", lambda n: hf.RstStreamFrame(n, error_code=8)):
			goaway = raw.goaway()
			assert goaway is not None and goaway.last_stream_id < 10000
	with server.connect(how) as c:
		assert c.get("/").status == 200
	totals = server.status()["totals"]
	assert totals["protocol_errors"] == totals["floods"] == 1
	assert server.log.wait("info.*: connection 127.0.0.1: streams opened and reset too fast")


ENDS = {
	"streams opened and reset too fast": lambda raw: reset_flood(raw, "/large", lambda n: hf.RstStreamFrame(n, error_code=8)),
	"frames on a closed stream": lambda raw: raw.send(raw.headers(1, raw.head("/large")), hf.DataFrame(1, b"more")),
	"flow-control window exceeded": lambda raw: raw.send(hf.WindowUpdateFrame(0, window_increment=2**31 - 1)),
	"header block cannot be decoded": lambda raw: raw.send(raw.headers(1, block=b"\xff\xff\xff\xff\x7f")),
}


@pytest.mark.parametrize("said", ENDS)
def test_ends_that_the_library_makes(h2d, how, said):
	"""They are said, as what they are, and counted once each."""
	server = h2d(files={"large": b"x" * 5000000})
	for n in (1, 2):
		with server.raw(how) as raw:
			ENDS[said](raw)
			raw.goaway()
		procs.wait_for(lambda: server.status()["totals"]["protocol_errors"] == n, said="it is counted")
	totals = server.status()["totals"]
	assert (totals["protocol_errors"], totals["floods"]) == (2, 2 * ("too fast" in said))
	server.log.wait("info .* connection 127.0.0.1: %s" % said)
	assert not server.log.find("connection 127.0.0.1: (?!%s)" % said)


def test_made_you_reset(h2d):
	"""The server is made to reset its streams itself, by windows that overflow: ended, or bounded."""
	server = h2d(files={"large": b"x" * 5000000})
	pid = server.worker_pids()[0]
	before = rss(pid)
	with server.raw("tcp") as raw:
		reset_flood(raw, "/large", lambda n: hf.WindowUpdateFrame(n,
			window_increment=2**31 - 1))
		with server.connect("tcp") as c:
			assert c.get("/").status == 200
		assert rss(pid) - before < (30 << 20) * srv.SLOW


def test_many_streams_against_a_zero_window(h2d):
	"""Connections full of streams that wait pin no more than their share."""
	server = h2d(files={"large": b"x" * 1500000, "disk": b"y" * 5000000})
	pid = server.worker_pids()[0]
	before = rss(pid)
	raws = []
	for _ in range(10):
		raw = server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0})
		for n in range(1, 201, 2):
			raw.send(raw.headers(n, raw.head("/large" if n % 4 == 1 else "/disk")))
		raws.append(raw)
	for raw in raws:
		assert raw.ping()
	assert rss(pid) - before < (40 << 20) * srv.SLOW
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	for raw in raws:
		raw.close()


# --- what runs out ------------------------------------------------------------------------------

def test_descriptors_run_out(h2d):
	"""EMFILE pauses accepting and does not spin; what was queued is served when there is room."""
	server = h2d(listens=("tcp",))
	pid = server.worker_pids()[0]
	soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
	highest = max(procs.descriptors(pid))
	resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 9, hard))
	clients = [client.Raw(server.socket("tcp")) for _ in range(40)]
	for raw in clients:
		raw.send(raw.headers(1, raw.head("/healthz")))  # a file may need a descriptor, too
	assert clients[0].status_of(1) == 200
	server.log.wait(r"accept: .*Too many open files")
	cpu = procs.cpu_seconds(pid)
	for raw in clients[:5]:
		raw.ping()
	time.sleep(0.5)  # the time in which it must not be busy
	assert procs.cpu_seconds(pid) - cpu < 0.25 * srv.SLOW
	for raw in clients:
		if not any(isinstance(f, hf.HeadersFrame) for f in raw.frames):
			assert raw.status_of(1) == 200
		raw.close()
	resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
	assert server.status()["totals"]["accept_failures"] > 0
	assert server.worker_pids() == [pid]


def test_descriptors_run_out_for_an_image(h2d):
	"""A worker that cannot take a new image's descriptors goes on with the disk, and takes the next one."""
	server = h2d(listens=("tcp",), files={"a.txt": b"old"})
	pid = server.worker_pids()[0]
	with server.connect("tcp") as c:
		assert c.get("/a.txt").body == b"old"
		soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(procs.descriptors(pid)) + 1, hard))
		server.write("b.txt", b"new")
		server.log.wait(r"message lost: Too many open files")
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
		server.write("c.txt", b"newer")
		for path, body in (("/a.txt", b"old"), ("/b.txt", b"new"), ("/c.txt", b"newer")):
			assert c.get(path).body == body
	assert server.worker_pids() == [pid]


def test_what_descriptors_ran_out_for_is_asked_for(h2d):
	"""Reopened logs and a new image reach a worker as soon as it has room for them, without another occasion."""
	server = h2d(conf='access-log = "access.log"', listens=("tcp",), image=True)
	pid = server.worker_pids()[0]
	before = server.status()["image"]
	soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
	resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, hard))
	os.rename(server.path("access.log"), server.path("access.log.1"))
	server.reopen_logs()
	server.log.wait(r"message lost: Too many open files")
	server.write("b.txt", b"new")
	server.log.wait(r"message lost: Too many open files", count=3)  # or once more for the logs
	resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))

	def logged():
		with server.connect("tcp") as c:
			assert c.get("/b.txt").body == b"new"
		with open(server.path("access.log")) as f:
			return "/b.txt" in f.read()
	procs.wait_for(logged, said="a line in the new log")
	server.wait_image(before)
	assert server.worker_pids() == [pid]


@pytest.mark.parametrize("name", ["keeper", "worker"])
def test_a_log_that_descriptors_ran_out_for(h2d, name):
	server = h2d.new(conf='error-log = "error.log"', admin=True)
	server.spawn()
	procs.wait_for(lambda: procs.listens(server.admin_path), said="the admin socket")
	server.wait_up()
	server.wait_image()
	status = server.status()
	pid = status["keeper"] if name == "keeper" else status["workers"][0]["pid"]
	soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
	resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, hard))
	os.rename(server.path("error.log"), server.path("error.log.1"))
	server.reopen_logs()

	def lost():
		with open(server.path("error.log.1")) as f:
			return re.search("%s.*message lost" % name, f.read())
	procs.wait_for(lost, said="the message is lost")
	resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
	new = os.stat(server.path("error.log")).st_ino
	procs.wait_for(lambda: new in {os.stat("/proc/%d/fd/%d" % (pid, fd)).st_ino
		for fd in procs.descriptors(pid) if os.path.exists("/proc/%d/fd/%d" % (pid, fd))},
		said="the new log is its own")


def test_descriptors_run_out_for_files(h2d):
	"""No descriptor for a file: 503 for that request, not more."""
	server = h2d(listens=("tcp",), sections="cache { max-size = 0 }",
		files={"f%d" % i: b"x" * 3000000 for i in range(8)})
	pid = server.worker_pids()[0]
	soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
	with server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		assert raw.ping()
		highest = max(procs.descriptors(pid))
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 3, hard))
		seen = []
		while 503 not in seen:
			n = len(seen)
			raw.send(raw.headers(2 * n + 1, raw.head("/f%d" % n)))
			seen.append(raw.status_of(2 * n + 1))
		assert set(seen) == {200, 503}, seen
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
		raw.send(raw.headers(101, raw.head("/f0")))
		assert raw.status_of(101) == 200


def test_open_files_of_one_connection(h2d):
	"""Its streams wait for one another past sixteen; those of others do not, and all are answered."""
	content = os.urandom(200000)
	server = h2d(listens=("tcp",), sections="cache { max-size = 0 }", files={"f": content})
	pid = server.worker_pids()[0]
	before = len(procs.descriptors(pid))
	with server.connect("tcp") as c, server.raw("tcp",
			settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		assert c.get("/f").body == content
		streams = range(1, 201, 2)
		raw.send(hf.WindowUpdateFrame(0, window_increment=2**30),
			*(raw.headers(n, raw.head("/f")) for n in streams))
		assert raw.ping()
		while sum(isinstance(f, hf.HeadersFrame) for f in raw.frames) < 16:
			raw.read()
		assert len(procs.descriptors(pid)) - before < 25
		assert c.get("/f").body == content
		raw.send(hf.SettingsFrame(0, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 2**20}))
		ended = 0
		while ended < len(streams):
			ended += "END_STREAM" in raw.until_type(hf.DataFrame).flags
		assert sum(f.length for f in raw.frames if isinstance(f, hf.DataFrame)) == 100 * len(content)


@pytest.mark.parametrize("window", [0, 1, 5000])
@pytest.mark.parametrize("size", [60000, 5000000])
def test_closed_windows_pin_no_buffers(h2d, window, size):
	"""What cannot be sent is not kept in memory."""
	server = h2d(listens=("tcp",), sections="cache { max-size = 0 }", files={"f": b"x" * size})
	pid = server.worker_pids()[0]
	with server.connect("tcp") as c:
		for _ in range(8):
			assert len(c.get("/f").body) == size
	before = rss(pid)
	raws = [server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: window})
		for _ in range(25)]
	for raw in raws:
		raw.send(*(raw.headers(n, raw.head("/f")) for n in range(1, 201, 2)))
	for raw in raws:
		assert raw.status_of(1) == 200
		assert raw.ping()
	assert rss(pid) - before < (20 << 20) * srv.SLOW
	for raw in raws:
		raw.close()


def test_files_leave_descriptors_to_others(h2d):
	"""Clients that hold files open take none of what connections, images and logs need."""
	server = h2d(listens=("tcp",), files={"large": b"x" * 5000000, "small": b"y"}, image=True)
	resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (256, 256))
	assert server.reload() is not None
	raws = []
	for _ in range(60):
		raw = server.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0})
		raw.send(*(raw.headers(n, raw.head("/large")) for n in range(1, 21, 2)))
		raws.append(raw)
	for _ in range(5):
		with server.connect("tcp") as c:
			assert c.get("/small").body == b"y"
	assert server.status()["totals"]["accept_failures"] == 0
	for raw in raws:
		raw.close()


def test_worker_connections(h2d):
	"""Past the limit connections wait for room; none is dropped."""
	server = h2d(conf="worker-connections = 16", listens=("tcp",))
	srv.hear(server.ask(40))
	server.log.wait("worker-connections")


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_idle_connections_make_room(h2d, protocol):
	"""A full worker closes what is idle for the longest, and a new client is served at once."""
	server = h2d(conf="worker-connections = 16", listens=("tcp",), sections="timeouts { keepalive = 3600 }")
	idle = [server.h1("tcp") if protocol == "h1" else server.raw("tcp") for _ in range(15)]
	for c in idle:
		if protocol == "h1":
			assert c.get("/").status == 200
		else:
			c.send(c.headers(1))
			assert c.status_of(1) == 200
	with server.raw("tcp") as busy:
		for n in range(1, 101, 2):
			busy.send(busy.headers(n))
			assert busy.status_of(n) == 200
			with server.connect("tcp") as c:
				assert c.get("/").status == 200, "long before the idle ones end by themselves"
	if protocol == "h1":
		assert idle[0].rest() == b""
	else:
		goaway = idle[0].goaway()
		assert goaway is not None and goaway.error_code == 0
	for c in idle:
		c.close()


@pytest.mark.parametrize("said", [b"", b"\x16", b"G"], ids=["nothing", "a byte of TLS", "a byte of HTTP/1"])
def test_silent_connections_make_room(h2d, how, said):
	"""A full worker closes those that do not get as far as a request, long before their timeout."""
	server = h2d(conf="worker-connections = 16", sections="timeouts { handshake = 3600  header = 3600 }")
	to = {b"\x16": "tls", b"G": "tcp"}.get(said, how)
	silent = [socket.create_connection(("127.0.0.1", server.ports[to])) for _ in range(20)]
	for s in silent:
		s.sendall(said)
	for _ in range(20):
		with server.connect(how) as c:
			assert c.get("/").status == 200
	assert server.status()["totals"]["timeouts"] > 0
	for s in silent:
		s.close()


def test_who_has_asked_is_not_silent(h2d):
	"""A worker that was late finds a new connection first, and behind it the requests of those it had: none is lost."""
	server = h2d(conf="worker-connections = 16", listens=("tcp",))
	pid = server.worker_pids()[0]
	early = [server.h1("tcp") for _ in range(15)]
	server.wait_connections(15)
	with procs.paused(pid):
		late = [server.h1("tcp") for _ in range(4)]
		for c in early + late:
			c.send(path="/")
		time.sleep(1.2)  # longer than silence is borne
	for c in early + late:
		assert c.response().status == 200
		c.close()


def fill(server, lines):
	"""Connections until that many workers have said that they are full; they stay open."""
	clients = []
	while len(server.log.find("worker-connections reached")) < lines:
		clients.append(server.socket("tcp"))
		if len(clients) >= 16:
			try:
				server.log.wait("worker-connections reached", count=lines, deadline=0.05)
			except AssertionError:
				pass
		assert len(clients) < 200
	return clients


@pytest.mark.parametrize("workers", [1, 2], ids=["one of two", "both"])
def test_full_workers_answer_the_operator(h2d, workers):
	"""Admin connections have room of their own."""
	server = h2d(conf="worker-connections = 16", listens=("tcp",), workers=2)
	clients = fill(server, workers)
	for _ in range(20):
		assert server.status()["totals"]["connections"] >= 16
	for s in clients:
		s.close()


def test_full_worker_leaves_the_shared_socket_to_others(h2d):
	server = h2d(conf="worker-connections = 16", listens=("tcp", "unix"), workers=2)
	clients = fill(server, 1)
	full = len(server.log.find("worker-connections reached"))
	for _ in range(20):
		if full == 1:
			with server.connect("unix") as c:
				assert c.get("/").status == 200
	for s in clients:
		s.close()


def test_many_connections(h2d, how):
	server = h2d(workers=2)
	clients = server.asked(300, how)
	server.wait_connections(300)
	for raw in clients:
		raw.close()


def test_log_injection(h2d):
	"""A peer cannot forge a line of any log."""
	server = h2d(conf='access-log = "access.log"\nlog-level = debug', listens=("tcp",))
	with server.connect("tcp") as c:
		c.get("/%0a%0d2026-01-01T00:00:00.000Z alert [1] master: forged")
		c.get("/x", headers=[("user-agent", "a\"b\\c\x7f\xe9"), ("referer",
			"\" 200 1 \"forged")])
		c.request("G\"ET", "/\"x\" 200")
	server.wait_quiet()
	for line in procs.wait_for(lambda: len(lines := procs.whole_lines(server.path("access.log"))) >= 3 and lines):
		assert line.count('"') - line.count('\\"') == 6, line
		assert all(32 <= ord(ch) < 127 for ch in line), line
