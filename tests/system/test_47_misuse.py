"""Slips of handlers (tests/handlers/t_misuse.c): each is refused, or named in the log, and none is sent."""
import contextlib
import os
import re
import threading
import time

import pytest

from procs import wait_for
from server import SANITIZED
from test_47_handlers import Fifos, PATIENT, answer_until_closed, handlers, link, post  # noqa: F401 (fixtures)

# Of the message, or of its connection: what the server says of them is the truth (RFC 9110, 7.6.1).
FRAMING = ["connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
	"upgrade"]


def misuse(server, speak, what):
	with link(server, speak) as c:
		return c.get("/t/misuse/" + what)


# --- fields and types ---------------------------------------------------------------------------------


def test_fields_of_the_framing_are_refused(handlers, speak):
	server = handlers()
	with link(server, speak) as c:
		for name in FRAMING:
			answer = c.get("/t/misuse/field?%s=3" % name)
			assert (answer.status, answer.body) == (200, b"-1"), name
			assert answer.get(name) == ("2" if name == "content-length" else None)
		assert c.get("/t/misuse/field?x-te=3").get("x-te") == "3"


@pytest.mark.parametrize("name, value", [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("server", "mine/1.0")])
def test_fields_of_the_server_are_replaced(handlers, speak, name, value):
	answer = misuse(handlers(), speak, "field?%s=%s" % (name, value.replace(" ", "_")))
	assert answer.body == b"0"
	assert [v for n, v in answer.headers if n == name] == [value]


@pytest.mark.parametrize("how, want", [("", "application/two"), ("application/three", "application/three"), ("file", "application/two")])
def test_a_content_type_said_again_replaces_the_one_before(handlers, speak, how, want):
	answer = misuse(handlers(), speak, "type-twice?" + how)
	assert answer.status == 200
	assert [v for n, v in answer.headers if n == "content-type"] == [want]


@pytest.mark.parametrize("how", ["type-split", "type-split-stream", "location-split"])
def test_a_type_that_would_split_the_response_is_refused(handlers, speak, how):
	server = handlers()
	answer = misuse(server, speak, how)
	assert answer.status == 500 and answer.get("set-cookie") is None
	server.log.wait(r" error .*handler t_misuse: its (content type|location) is not a header value; .* GET /t/misuse/%s$" % how)


# --- rules, and who breaks them ------------------------------------------------------------------------


def broke(server, pid, rule, method, path, call):
	server.log.wait(r"alert .*worker 0 \(process %d\) crashed: handler \w+ %s %s %s \(%s\)$"
		% (pid, rule, method, re.escape(path), call))
	server.wait_up()


@pytest.fixture
def fragile(handlers):
	"""A server of one worker, which may end by a mistake of a handler."""
	def start(**options):
		server = handlers(workers=1, listens=("tcp",), **options)
		server.allow_alert("handler t_|signal 6")
		return server
	return start


def breaks(server, speak, what, rule, call):
	"""One request ends the worker; its last words say the rule."""
	pid = server.worker_pids()[0]
	answer_until_closed(server, speak, "/t/misuse/" + what)
	broke(server, pid, rule, "GET", "/t/misuse/" + what, call)


# --- replies that come too late: with sanitizers they end the worker -----------------------------------

FIRST = {"page": 404, "bytes": 200, "file": 200, "stream": 200, "options": 204, "gone": 200}


def ignored(server, speak, what, rule, call, logged=True):
	"""The first reply is sent, and the log has a line; of many in a second it has one."""
	if SANITIZED:
		breaks(server, speak, what, rule, call)
		return
	pids = server.worker_pids()
	assert misuse(server, speak, what).status == FIRST[what.split("+")[0]]
	if logged:
		server.log.wait(r" error .*handler \w+ %s GET /t/misuse/%s \(%s\); ignoring it$" % (rule, re.escape(what), call))
	assert server.worker_pids() == pids


@pytest.mark.parametrize("own_page", [False, True], ids=["plain", "own-page"])
def test_a_second_reply(fragile, speak, own_page):
	"""Whatever came first, and whether or not that has been sent: a page or a file may still be looked for."""
	server = fragile(server='error-page "404" { file = "/404.html" }' if own_page else "",
		files={"404.html": "not here", "index.html": "here"}, sections="cache { max-size = 0 }")
	for i, first in enumerate(("page", "file") if own_page else ("bytes", "stream", "options")):
		for j, (second, call) in enumerate((("bytes", "bytes"), ("page", "error"), ("stream", "stream"))):
			ignored(server, speak, first + "+" + second, "replied twice to", "h2d_reply_" + call, i + j == 0)


@pytest.mark.parametrize("what, call", [("bytes+file", "file"), ("stream+options", "options"), ("bytes+text", "text"),
	("bytes+redirect", "redirect"), ("bytes+memory", "memory")])
def test_a_second_reply_by_other_calls(fragile, speak, what, call):
	ignored(fragile(), speak, what, "replied twice to", "h2d_reply_" + call)


def test_a_field_behind_the_reply(fragile, speak):
	server = fragile(files={"index.html": "here"}, sections="cache { max-size = 0 }")
	for i, first in enumerate(("bytes", "file", "stream")):
		ignored(server, speak, first + "+add", "added a header after its reply to", "h2d_reply_header", i == 0)


def test_an_interim_response_behind_the_reply(fragile, speak):
	server = fragile()
	for i, first in enumerate(("bytes", "stream")):
		ignored(server, speak, first + "+hint", "sent an interim response after its reply to", "h2d_reply_interim", i == 0)


def test_a_reply_from_gone(fragile, speak):
	ignored(fragile(), speak, "gone+bytes", "replied from gone\\(\\) to", "h2d_reply_bytes")


def late(server, pid, rule, method, path, call):
	"""As broke(); in a release a line in place of last words."""
	if SANITIZED:
		broke(server, pid, rule, method, path, call)
	else:
		server.log.wait(r" error .*handler \w+ %s %s %s \(%s\); ignoring it$" % (rule, method, re.escape(path), call))
		assert server.worker_pids() == [pid]


def test_a_reply_from_gone_of_a_request_that_is_refused(fragile):
	"""The answer to the refusal would have been the handler's."""
	server = fragile()
	pid = server.worker_pids()[0]
	with server.h1(timeout=PATIENT) as c:
		c.send_bytes(b"GET /t/misuse/gone HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n")
		assert c.rest()[:12] == (b"" if SANITIZED else b"HTTP/1.1 400")
	late(server, pid, "replied from gone\\(\\) to", "GET", "/t/misuse/gone", "h2d_reply_bytes")


def test_a_second_reply_while_the_body_comes(fragile, speak):
	server = fragile()
	pid = server.worker_pids()[0]
	with contextlib.suppress(Exception) if SANITIZED else contextlib.nullcontext(), link(server, speak) as c:
		assert post(c, "/t/misuse/duplex", b"12345").status == 200
	late(server, pid, "replied twice to", "POST", "/t/misuse/duplex", "h2d_reply_bytes")


# --- rules whose breach ends the worker in any build ---------------------------------------------------


@pytest.mark.parametrize("what, call", [("status?199", "make_head"), ("status?600", "make_head"),
	("redirect?304", "h2d_reply_redirect"), ("error-status?200", "h2d_reply_error"), ("error-status?600", "h2d_reply_error")])
def test_a_status_that_is_none(fragile, speak, what, call):
	breaks(fragile(), speak, what, "replied with an invalid status to", call)


def test_a_fill_over_its_buffer(fragile, speak):
	breaks(fragile(), speak, "over-the-buffer", "overflowed its buffer for", "fill_buf")


def test_credit_that_was_given_back_already(fragile, speak):
	server = fragile()
	pid = server.worker_pids()[0]
	with pytest.raises(Exception), link(server, speak) as c:
		post(c, "/t/misuse/credit", b"12345")
	broke(server, pid, "returned more credit than it had for", "POST", "/t/misuse/credit", "h2d_consume")


@pytest.mark.parametrize("how, rule", [("", "stored twice for"), ("?replied", "stored after its reply to")])
def test_a_second_store(fragile, speak, how, rule):
	server = fragile(server='upload-dir = "up" upload-public = true', files={"up/.keep": b""})
	pid = server.worker_pids()[0]
	with pytest.raises(Exception), link(server, speak) as c:
		c.request("PUT", "/t/misuse/store" + how, (), b"12345")
	broke(server, pid, rule, "PUT", "/t/misuse/store" + how, "\\w+")


@pytest.mark.parametrize("said", [True, False], ids=["length", "no-length"])
@pytest.mark.parametrize("method, path", [("PUT", "/t/store/late?300"), ("POST", "/t/form/behind")])
def test_a_store_of_what_is_left(fragile, speak, said, method, path):
	"""What came before it was dropped: nobody took it, and nobody paused it."""
	server = fragile(server='upload-dir = "up" upload-public = true', files={"up/.keep": b""})
	pid = server.worker_pids()[0]
	with pytest.raises(Exception), link(server, speak) as c:
		post(c, path, b"a=345", [("x-name", "a"), ("content-type", "application/x-www-form-urlencoded")], said, method)
	broke(server, pid, "read a partly discarded body of", method, path, "\\w+")
	with link(server, speak) as c:
		assert c.get("/up/a").status == 404


# --- what becomes a 503 -------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["too-large", "spent", "spent?stream", "spent?file", "spent?page"])
def test_no_memory_for_a_reply_is_logged(handlers, speak, what):
	server = handlers()
	assert misuse(server, speak, what).status == 503
	server.log.wait(r" error .*handler t_misuse: .*memory.*; sending 503: GET /t/misuse/%s$" % re.escape(what))


# --- a length that was said ---------------------------------------------------------------------------


def test_a_length_that_is_kept(handlers, speak):
	with link(handlers(), speak) as c:
		answer = c.get("/t/misuse/sized?3")
		assert (answer.status, answer.body, answer.get("content-length")) == (200, b"0123456789" * 3, "30")
		head = c.request("HEAD", "/t/misuse/sized?3")
		assert (head.status, head.body, head.get("content-length")) == (200, b"", "30")


@pytest.mark.parametrize("tens, said", [(0, "ends 30 bytes before"), (2, "ends 10 bytes before"), (4, "exceeds its stated length")])
def test_a_length_that_is_not_kept(handlers, speak, tens, said):
	"""Nobody takes the response for whole, and only its stream, or its connection, ends."""
	server = handlers()
	pids = server.worker_pids()
	with link(server, speak) as c:
		if speak == "h2":
			stream = c.send(path="/t/misuse/sized?%d" % tens)
			answer = c.response(stream, PATIENT)
			assert answer.reset is not None and answer.size < 30
			assert c.get("/t/misuse/sized?3").size == 30
		else:
			c.send(path="/t/misuse/sized?%d" % tens)
			head, _, body = c.rest().partition(b"\r\n\r\n")
			assert b"content-length: 30" in head and len(body) < 30
	server.log.wait(r" error .*handler t_misuse: content %s.*; cutting it off: GET /t/misuse/sized\?%d$" % (said, tens))
	assert server.worker_pids() == pids


def test_a_length_that_is_none(fragile, speak):
	breaks(fragile(), speak, "sized-wrapped", "passed an overflowed length for", "h2d_reply_stream_sized")


# --- no answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [True, False], ids=["length", "no-length"])
@pytest.mark.parametrize("size", [0, 10, 3000000])
def test_an_end_without_a_body(handlers, speak, size, length):
	"""Nobody takes the body, and its credit comes back: the end is told however long it is."""
	with link(handlers(), speak) as c:
		answer = post(c, "/t/misuse/end", b"x" * size, length=length)
		assert (answer.status, answer.body) == (200, b"the end")


def late_ones(server):
	return server.status()["totals"]["timeout_handler"]


def test_a_handler_that_does_not_answer(handlers, speak, how):
	"""The answer is the server's, and the connection goes on."""
	server = handlers(listens=(how,), sections="timeouts { handler = 1 }")
	with link(server, speak, how) as c:
		for n in (1, 2):
			assert c.get("/t/misuse/never").status == 503
			assert late_ones(server) == n
		assert c.get("/t/misuse/bytes").body == b"twice"
	server.log.wait(r" error .*handler t_misuse: route /t/misuse/\{what\}: no answer for 1 seconds; "
		r"sending 503: GET /t/misuse/never$")


def offer(client, size):
	"""Posts that many bytes, as far as they are taken; the answer."""
	if hasattr(client, "conn"):
		return post(client, "/t/misuse/hoard", b"x" * size)
	headers = [("content-length", str(size))]
	client.ask("POST", "/t/misuse/hoard", headers)
	client.send_bytes(client.head("POST", "/t/misuse/hoard", headers) + b"x" * (size if size == 10 else size // 2))
	return client.response(PATIENT)


@pytest.mark.parametrize("size", [10, 2000000])
def test_a_handler_that_takes_a_body_and_nothing_more(handlers, speak, size):
	"""Without its credit no window opens; that is not the client's doing."""
	server = handlers(sections="timeouts { handler = 1  body = 1 }\nlimits { receive-window = 65536 }")
	with link(server, speak) as c:
		assert offer(c, size).status == 503
	assert late_ones(server) == 1


def test_nothing_else_is_late(handlers, speak):
	"""An answer that has begun, a body that comes slowly, and one that is worked on, take their time."""
	server = handlers(sections="timeouts { handler = 1 }")
	with link(server, "h2") as c, link(server, speak) as other:
		stream = c.send(path="/events?100")
		assert post(other, "/t/slow", b"x" * 3000000).status == 200
		with server.h1(timeout=PATIENT) as slow:
			slow.ask("POST", "/count")
			slow.send_bytes(slow.head("POST", "/count", [("content-length", "5")]))
			for _ in range(5):
				c.until(lambda begun=time.monotonic(): time.monotonic() - begun > 0.5, PATIENT)
				slow.send_bytes(b"x")
			assert slow.response().status == 200
		assert c.headers_of(stream).get("content-type") == "text/event-stream; charset=utf-8"
		assert c.responses[stream].reset is None
	assert late_ones(server) == 0


# --- threads ------------------------------------------------------------------------------------------

# A sanitizer says more about faults than last words do.
CRASHES = {"abort": 6} if SANITIZED else {"abort": 6, "fault": 11, "overflow": 11}


@pytest.mark.parametrize("what", CRASHES)
def test_a_crash_in_a_thread_has_last_words(fragile, speak, what):
	server = fragile()
	server.allow_alert("signal %d" % CRASHES[what])
	pid = server.worker_pids()[0]
	answer_until_closed(server, speak, "/t/thread/" + what)
	server.log.wait(r"alert .*worker 0 \(process %d\) crashed: signal %d.*, in handler t_thread, "
		r"in the request GET /t/thread/%s$" % (pid, CRASHES[what], what))
	server.wait_up()


# In the sandbox glibc finds no library to unwind with, and ends the process itself.
@pytest.mark.parametrize("what, said", [
	("exit", r"(run\(\) ended its thread, which is the server's \(pthread_exit\)|signal 6)"),
	("other", r"h2d_work_unwanted was called outside of run\(\) of that job"),
	("reply", r"h2d_reply_error was called outside the event loop's thread")])
def test_what_work_must_not_do(fragile, speak, what, said):
	server = fragile()
	pid = server.worker_pids()[0]
	answer_until_closed(server, speak, "/t/thread/" + what)
	server.log.wait(r"alert .*worker 0 \(process %d\) crashed: %s, in handler t_thread, "
		r"in the request GET /t/thread/%s$" % (pid, said, what))
	server.wait_up()


@pytest.mark.parametrize("path", ["/t/misuse/quit?0", "/t/misuse/quit?1", "/t/thread/quit"])
def test_a_handler_that_exits(fragile, speak, path):
	"""exit(3), which a library may call: it is no end of a worker that nobody has to look for."""
	server = fragile()
	pid = server.worker_pids()[0]
	answer_until_closed(server, speak, path)
	server.log.wait(r"alert .*worker 0 \(process %d\) crashed: exit\(\) ended the worker, in handler \w+, "
		r"in the request GET %s$" % (pid, re.escape(path)))
	server.wait_up()


def test_work_that_nobody_wants_any_more(handlers, speak):
	"""It is told, and ends: else its job would be there for ever."""
	server = handlers()
	with link(server, speak) as c:
		c.send(path="/t/thread/unwanted")
		wait_for(lambda: server.status()["totals"]["offload_jobs"] == 1, PATIENT)
	server.wait_quiet(PATIENT)


def test_work_that_hangs_is_logged(handlers, speak):
	"""Its request was answered long before it is over."""
	server = handlers(sections="timeouts { handler = 1 }")
	fifos = Fifos(server, 1)
	with link(server, speak) as c:
		assert c.get("/t/block?" + fifos.paths[0]).status == 503
		server.log.wait(r" error .*handler t_block: its work has not returned for 1 seconds: GET /t/block\?")
		assert server.status()["totals"]["work_late"] == 1
	fifos.write(0, b"text")
	server.wait_quiet(PATIENT)


def test_a_client_whose_work_hangs_keeps_no_other_waiting(handlers, speak):
	"""Of two threads it has one, and the rest of its work waits."""
	server = handlers(workers=1, sections="limits { handler-threads = 2 }")
	fifos = Fifos(server, 4)
	with contextlib.ExitStack() as links:
		for path in fifos.paths[:3]:
			links.enter_context(link(server, speak)).send(path="/t/block?" + path)
		met = fifos.meet(0)
		wait_for(lambda: server.status()["totals"]["limit_handler_threads"] == 2, PATIENT)
		server.log.wait(r" info .*client 127\.0\.0\.1: holds 1 of 2 handler threads")
		with link(server, speak, source="127.0.0.2") as other:
			for text in (b"one", b"two"):
				writer = threading.Thread(target=fifos.write, args=(3, text))
				writer.start()
				assert other.get("/t/block?" + fifos.paths[3]).body == text
				writer.join()
		assert fifos.reader(1) is None
		os.close(met)
		for i in (1, 2):
			fifos.write(i, b"text")
	server.wait_quiet(PATIENT)
