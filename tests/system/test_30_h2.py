"""HTTP/2 as RFC 9113 has it: methods, bodies, flow control, many streams, resets, header blocks. What a frame or a field
may not be is asked by tests/conformance."""
import os

import pytest
from h2.settings import SettingCodes
from hyperframe import frame as hf

WINDOW = SettingCodes.INITIAL_WINDOW_SIZE
BIG = os.urandom(1 << 16) * 80  # 5 MiB, over max-file-size
MEDIUM = os.urandom(100001)


@pytest.fixture
def server(h2d):
	return h2d(files={"big": BIG, "medium": MEDIUM, "one": b"1", "empty": b"",
		"dir/index.html": b"dir"})


def test_get(server, how):
	server.wait_tagged("/big")
	with server.connect(how) as c:
		for path, body in (("/medium", MEDIUM), ("/big", BIG), ("/one", b"1"), ("/empty",
				b"")):
			answer = c.get(path)
			assert (answer.status, answer.ended) == (200, True)
			assert answer.get("content-length") == str(len(body))
			assert answer.body == body
			assert answer.get("date") and answer.get("etag") and answer.get(
				"last-modified")
			assert answer.get("server").startswith("h2d/")


def test_head(server, how):
	server.wait_tagged("/big")
	with server.connect(how) as c:
		for path in ("/medium", "/big", "/one", "/empty", "/", "/dir", "/nothing",
				"/healthz"):
			head, get = c.request("HEAD", path), c.get(path)
			assert head.status == get.status
			assert head.body == b"" and head.ended
			drop = lambda fields: [f for f in fields if f[0] != "date"]
			assert drop(head.headers) == drop(get.headers), path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_wrong_method(server, how, method):
	with server.connect(how) as c:
		for path in ("/", "/medium", "/healthz", "/files/x"):
			answer = c.request(method, path)
			assert answer.status == 405, path
			assert {"GET", "HEAD"} <= {m.strip()
				for m in answer.get("allow").split(",")}
		assert c.get("/").status == 200


def test_connect_method_is_harmless(server, how):
	with server.raw(how) as raw:
		raw.send(raw.headers(1, [(":method", "CONNECT"), (":authority", "localhost:1")]))
		assert raw.status_of(1) in (400, 405, 501, "reset")
		raw.send(raw.headers(3))
		assert raw.status_of(3) == 200


BAD_HEADS = {
	"nul in value": [("accept", "a\x00b")],
	"newline in value": [("accept", "a\nb")],
	"space in name": [("a b", "x")],
	"empty name": [("", "x")],
}


@pytest.mark.parametrize("name", BAD_HEADS)
def test_malformed_request(server, how, name):
	"""RFC 9113, 8.1.1: a stream error or a 400; the connection goes on, or ends with GOAWAY."""
	with server.raw(how) as raw:
		raw.send(raw.headers(1, raw.head(extra=BAD_HEADS[name])))
		result = raw.status_of(1)
		assert result in (400, "reset", "closed"), result
		if result != "closed":
			raw.send(raw.headers(3))
			assert raw.status_of(3) == 200


def test_host_instead_of_authority(server, how):
	with server.raw(how) as raw:
		raw.send(raw.headers(1, [f for f in raw.head() if f[0] != ":authority"]
			+ [("host", "localhost")]))
		assert raw.status_of(1) == 200


def test_the_answer_before_the_size_of_the_table_is_confirmed(server, how):
	"""RFC 7541, 4.2: a table that was made smaller, and as large as before, is so in front of the next section, whatever answers."""
	nameless = lambda raw: [f for f in raw.head() if f[0] != ":authority"]
	with server.raw(how) as raw:
		raw.send(hf.SettingsFrame(0, settings={1: 0}), hf.SettingsFrame(0, settings={1: 4096}))
		raw.send(raw.headers(1, nameless(raw)))
		assert raw.status_of(1) in (400, "reset")
		raw.send(raw.headers(3))
		assert raw.status_of(3) == 200
		first = next(f for f in raw.frames if isinstance(f, hf.HeadersFrame))
		assert first.data[0] == 0x20, "no change of the size, to 0, begins it"
		raw.send(raw.headers(5, nameless(raw)))
		assert raw.status_of(5) == 400


def test_neither_authority_nor_host(h2d, how):
	"""An answer stands in front of the reset (RFC 9113, 8.1.1), and a line in the log; other streams go on, heads too."""
	server = h2d()
	with server.raw(how) as raw:
		for stream in (1, 5, 9):
			raw.send(raw.headers(stream, [f for f in raw.head() if f[0] != ":authority"]))
			assert raw.status_of(stream) == 400
			raw.until(lambda f, stream=stream: isinstance(f, hf.RstStreamFrame) and f.stream_id == stream)
			raw.send(raw.headers(stream + 2))
			assert raw.status_of(stream + 2) == 200
	server.log.wait("info .*connection 127.0.0.1: missing, duplicate or malformed Host")
	server.wait_quiet()


def test_request_bodies_do_not_kill_the_connection(server, how):
	"""An ancestor lost the connection to any body; and credit must come back for what nobody reads."""
	with server.connect(how) as c:
		for n in (0, 1, 100, 60000, 65535, 60000, 60000, 60000, 65535, 65535, 1, 65535):
			answer = c.request("POST", "/", body=b"x" * n)
			assert answer.status == 405
		for path in ("/medium", "/dir/", "/nothing"):
			answer = c.request("GET", path, body=b"y" * 60000)
			assert answer.status in (200, 404)
		assert c.get("/medium").body == MEDIUM


def test_interleaved_bodies(server, how):
	with server.connect(how) as c:
		streams = [c.send("POST", "/", end=False) for _ in range(8)]
		for i in range(4):
			for stream in streams:
				if not c.responses[stream].done:
					c.send_body(stream, b"z" * 1500, end=i == 3)
		for stream in streams:
			assert c.response(stream).status == 405
		assert c.get("/").status == 200


# --- flow control -------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/medium", "/big"])
def test_zero_window(server, how, path):
	body = MEDIUM if path == "/medium" else BIG
	with server.connect(how, settings={WINDOW: 0}, credit=False) as c:
		stream = c.send(path=path)
		assert c.headers_of(stream).status == 200
		c.ping()
		assert c.responses[stream].size == 0
		for n in range(1, 20):
			c.window(1, stream)
			c.until(lambda: c.responses[stream].size == n)
		assert c.responses[stream].body == body[:19]
		c.ping()
		assert c.responses[stream].size == 19
		c.window(5000, stream)
		c.until(lambda: c.responses[stream].size == 5019)
		assert c.get("/empty").status == 200
		c.reset(stream)


def test_empty_body_needs_no_window(server, how):
	with server.connect(how, settings={WINDOW: 0}, credit=False) as c:
		assert c.get("/empty").status == 200
		assert c.request("HEAD", "/big").status == 200


def test_connection_window(server, how):
	with server.connect(how, settings={WINDOW: 1 << 20}, credit=False) as c:
		streams = [c.send(path="/medium") for _ in range(3)]
		for stream in streams:
			c.headers_of(stream)
		c.until(lambda: sum(c.responses[s].size for s in streams) == 65535)
		c.ping()
		assert sum(c.responses[s].size for s in streams) == 65535
		c.window(3 * len(MEDIUM))
		for stream in streams:
			assert c.response(stream).body == MEDIUM


def test_small_frames_only(server, how):
	"""No DATA frame is larger than the client's SETTINGS_MAX_FRAME_SIZE, the least it may be."""
	with server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1 << 24}) as raw:
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 24), raw.headers(1,
			raw.head("/big")))
		raw.until(lambda f: "END_STREAM" in f.flags)
		sizes = [len(f.data) for f in raw.frames if isinstance(f, hf.DataFrame)]
		assert max(sizes) <= 16384 and sum(sizes) == len(BIG)


# --- streams ------------------------------------------------------------------------------------

def test_many_streams(server, how):
	with server.connect(how) as c:
		for _ in range(5):
			streams = [c.send(path=p) for p in ("/medium", "/one", "/dir/", "/nothing",
				"/empty") * 20]
			answers = [c.response(s) for s in streams]
			assert [a.status for a in answers] == [200, 200, 200, 404, 200] * 20
			assert all(a.body == MEDIUM for a in answers[::5])


def test_big_files_at_once(server, how):
	with server.connect(how, settings={WINDOW: 1 << 20}) as c:
		c.window(1 << 24)
		for stream in [c.send(path="/big") for _ in range(6)]:
			assert c.response(stream).body == BIG


def test_a_small_one_passes_a_big_one(server, how):
	with server.connect(how, settings={WINDOW: 1 << 24}) as c:
		c.window(1 << 24)
		big = c.send(path="/big")
		assert c.get("/one").body == b"1"
		assert c.response(big).size == len(BIG)


def test_max_concurrent_streams(h2d, how):
	server = h2d(sections="limits { max-concurrent-streams = 4 }", files={"medium": MEDIUM})
	with server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		settings = raw.until_type(hf.SettingsFrame)
		assert settings.settings[hf.SettingsFrame.MAX_CONCURRENT_STREAMS] == 4
		assert raw.until(lambda f: isinstance(f, hf.SettingsFrame) and "ACK" in f.flags)
		assert raw.ping()
		for n in (1, 3, 5, 7):
			raw.send(raw.headers(n, raw.head("/medium")))
			assert raw.status_of(n) == 200
		raw.send(raw.headers(9, raw.head("/medium")))
		frame = raw.until_type((hf.RstStreamFrame, hf.GoAwayFrame))
		if isinstance(frame, hf.RstStreamFrame):
			assert (frame.stream_id, frame.error_code) == (9, 7), "REFUSED_STREAM"
		else:
			assert frame.error_code == 1, "nghttp2 ends the connection of who saw the limit"


def test_max_concurrent_streams_again_after_a_reset(h2d, how):
	server = h2d(sections="limits { max-concurrent-streams = 4 }", files={"medium": MEDIUM})
	with server.raw(how, settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw:
		for n in (1, 3, 5, 7):
			raw.send(raw.headers(n, raw.head("/medium")))
			assert raw.status_of(n) == 200
		raw.send(hf.RstStreamFrame(1, error_code=8), raw.headers(11, raw.head("/medium")))
		assert raw.status_of(11) == 200


def test_resets_in_the_middle(server, how):
	with server.connect(how, settings={WINDOW: 5000}, credit=False) as c:
		c.window(1 << 24)
		for _ in range(10):
			streams = [c.send(path=p) for p in ("/big", "/medium") * 5]
			for stream in streams:
				c.until(lambda: c.responses[stream].size > 0)
				c.reset(stream)
		assert c.get("/one").body == b"1"


def test_reset_before_the_response(server, how):
	with server.raw(how) as raw:
		for n in range(1, 401, 2):
			raw.send(raw.headers(n, raw.head("/big")), hf.RstStreamFrame(n,
				error_code=8))
		raw.send(raw.headers(1001, raw.head("/one")))
		assert raw.status_of(1001) == 200


def test_client_goaway(server, how):
	"""What is open is finished, then the server closes."""
	with server.held(how, "/medium") as raw:
		raw.send(hf.GoAwayFrame(0, last_stream_id=0, error_code=0))
		raw.send(hf.WindowUpdateFrame(0, window_increment=1 << 20), hf.WindowUpdateFrame(1,
			window_increment=1 << 20))
		assert raw.until(lambda f: "END_STREAM" in f.flags) is not None
		assert sum(len(f.data) for f in raw.frames if isinstance(f,
			hf.DataFrame)) == len(MEDIUM)
		assert raw.until(lambda f: False) is None


# --- header blocks ------------------------------------------------------------------------------

def pieces(raw, stream, fields, sizes):
	"""A header block cut into HEADERS and CONTINUATION frames of those sizes (the last takes the rest)."""
	block = raw.encoder.encode(fields)
	frames = [raw.headers(stream, block=block[:sizes[0]], end_headers=False)]
	at = sizes[0]
	for size in sizes[1:]:
		frames.append(hf.ContinuationFrame(stream, block[at:at + size]))
		at += size
	frames.append(hf.ContinuationFrame(stream, block[at:], flags=["END_HEADERS"]))
	return frames


def test_continuation(server, how):
	with server.raw(how) as raw:
		raw.send(*pieces(raw, 1, raw.head(extra=[("x-a", "b" * 50)]), [1, 1, 0, 5, 1]))
		assert raw.status_of(1) == 200
		raw.send(*pieces(raw, 3, raw.head(), [0, 0]))
		assert raw.status_of(3) == 200


@pytest.mark.parametrize("count", [120, 180, 300])
def test_cookies(server, how, count):
	"""Browsers send each in a field of its own (RFC 9113, 8.2.3): they are one, and their size is what counts."""
	cookies = [("cookie", "name-%d=%s" % (i, "v" * 20)) for i in range(count)]
	with server.connect(how) as c:
		assert c.get("/", headers=cookies).status == 200
		assert c.get("/", headers=cookies + [("x-%d" % i, "y") for i in range(127)]).status == 200
		assert c.get("/", headers=cookies + [("x-%d" % i, "y") for i in range(128)]).status == 431
		assert c.get("/", headers=[("x-%d" % i, "y") for i in range(127)] + cookies).status == 200
		assert c.get("/", headers=cookies * 2).status == (200 if count < 300 else 431)
		assert c.get("/").status == 200


@pytest.mark.parametrize("fields", [
	[("x-%d" % i, "v" * 20) for i in range(2500)], [("x", "")] * 4000, [("cookie", "a=b")] * 4000,
	[("x-large", "a" * 9000)] * 15,
], ids=["many", "empty", "cookies", "large"])
def test_far_too_large_a_head(server, how, fields):
	before = server.status()["totals"]["floods"]
	with server.raw(how) as raw:
		block = raw.encoder.encode(raw.head(extra=fields))
		raw.send(*(hf.HeadersFrame(1, block[:16000], flags=["END_STREAM"]) if at == 0 else
			hf.ContinuationFrame(1, block[at:at + 16000]) for at in range(0, len(block), 16000)),
			hf.ContinuationFrame(1, b"", flags=["END_HEADERS"]))
		assert raw.status_of(1) == 431
		goaway = raw.goaway()
		assert goaway is not None and goaway.error_code == 11, "ENHANCE_YOUR_CALM"
	assert server.status()["totals"]["floods"] == before + 1
	with server.connect(how) as c:
		assert c.get("/", headers=[("x", "")] * 128).status == 200


def test_header_size_limit_is_announced_and_configured(h2d):
	server = h2d(sections='limits { client-header-size = "2K" }')
	with server.connect("tcp") as c:
		assert c.get("/", headers=[("x-large", "a" * 1500)]).status == 200
		assert c.get("/", headers=[("x-large", "a" * 2500)]).status == 431
		assert c.conn.remote_settings.max_header_list_size in (None, 2048)


def test_the_largest_header_size(h2d):
	"""What is announced is taken, in however many CONTINUATION frames; HTTP/1 has its request line besides."""
	server = h2d(sections='limits { client-header-size = "1M" }')
	with server.connect("tcp") as c:
		fields = [("x-%d" % i, "b" * 10000) for i in range(100)]
		assert c.get("/", headers=fields).status == 200
		assert c.get("/", headers=fields + [("y", "b" * 50000)]).status == 431
		assert c.get("/").status == 200
	with server.h1() as c:
		assert c.get("/?" + "a" * 1000000, headers=[("x", "b" * 1000000)]).status == 200


@pytest.mark.parametrize("tokens,value", [("name", "h2d"), ("off", None)])
def test_server_tokens(h2d, tokens, value):
	server = h2d(conf="server-tokens = " + tokens)
	with server.connect("tcp") as c:
		assert c.get("/").get("server") == value
	with server.h1() as c:
		assert c.get("/").get("server") == value
