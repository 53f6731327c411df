"""Uploads that are meant to hurt: what hostile.py makes, over few connections; nothing appears but what is right."""
import os
import re
import time
import urllib.parse

import pytest

import hostile
from uploads import PUBLIC, connect, content, folder, form, wait_over

KIND = "multipart/form-data; boundary=B"


class Asker:
	"""One connection, and another whenever the server has ended it; and what must hold of the files."""

	def __init__(self, server, way):
		self.server, self.way = server, way
		self.client = None
		self.files = {}
		self.outside = self.look_outside()

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.leave()

	def leave(self):
		if self.client:
			self.client.close()
		self.client = None

	def look_outside(self):
		return [sorted(os.listdir(path)) for path in (self.server.dir, self.server.root)]

	def ask(self, method, path, headers=(), body=None):
		if not self.client:
			self.client = connect(self.server, self.way)
		answer = self.client.request(method, path, headers, body)
		if answer.closed or getattr(self.client, "goaway", None):
			self.leave()
		return answer

	def stored(self, name, data):
		self.files[name] = data

	def expect(self, statuses, *request):
		answer = self.ask(*request)
		assert answer.status in statuses, (request, answer)
		return answer

	def post(self, body, wanted, kind=KIND):
		"""wanted: {name: data}, what must be stored; None: nothing, as it is malformed."""
		answer = self.ask("POST", "/files", [("content-type", kind)], body)
		assert (answer.status == 400) if wanted is None else (answer.status in (201, 204)), (
			kind, body[:500], answer)
		self.files.update(wanted or {})

	def post_all(self, rows):
		"""Rows of what post() takes: those first of which nothing may be left."""
		rows = sorted(rows, key=lambda row: row[1] is not None)
		first = next(i for i, row in enumerate(rows) if row[1] is not None)
		for part in (rows[:first], rows[first:]):
			for row in part:
				self.post(*row)
			self.check()

	def check(self):
		"""The folder holds what was stored and nothing else; nor has anything come elsewhere."""
		wait_over(self.server)
		path = folder(self.server).encode()
		found = {}
		for name in set(os.listdir(path)) - {b".h2d-lock"}:
			with open(os.path.join(path, name), "rb") as f:
				found[name] = f.read()
		assert found.keys() == self.files.keys(), found.keys() ^ self.files.keys()
		for name, data in self.files.items():
			assert found[name] == data, name
		assert self.look_outside() == self.outside


@pytest.fixture
def asker(h2d):
	made = []

	def new(way="h2-tcp"):
		server = h2d(server=PUBLIC, files={"up/.keep": b""})
		os.unlink(os.path.join(folder(server), ".keep"))
		made.append(Asker(server, way))
		return made[-1]
	yield new
	for each in made:
		each.leave()


def percent(name):
	return "".join("%%%02x" % b for b in name).encode()


def needed(name):
	return urllib.parse.quote_from_bytes(name, safe="").encode()


def refusal(name):
	if name in (b".", b".."):
		return 400, 404, 405  # these are taken away before a route is looked for
	if b"/" in name:
		return 400, 404  # an encoded slash parts no name
	return (400, 414, 431) if len(name) > 1000 else (400,)


@pytest.mark.parametrize("way, encode", [("h2-tcp", percent), ("h2-tls", needed), ("h1-tcp", percent)],
	ids=["h2-all", "h2-some", "h1-all"])
def test_names_in_paths(asker, way, encode):
	"""All bytes of a name encoded, or those that must be."""
	with asker(way) as a:
		for name in hostile.names():
			path = "/files/" + encode(name).decode()
			if hostile.is_name(name):
				answer = a.expect((201, 204), "PUT", path, (), name)
				a.stored(name, name)
				assert a.ask("GET", answer.get("content-location")).body == name
			else:
				a.expect(refusal(name), "PUT", path, (), b"bad")
				a.expect(refusal(name), "DELETE", path)
		for path in hostile.ELSEWHERE:
			for method in ("PUT", "DELETE"):
				a.expect((400, 404, 405), method, path, (), b"bad")
		a.check()


def quoted(name):
	"""filename="…", None for a name that it cannot say."""
	if name[-1:] == b"\\" or b"%22" in name or b"%0" in name:
		return None
	for what, by in ((b'"', b"%22"), (b"\r", b"%0D"), (b"\n", b"%0A")):
		name = name.replace(what, by)
	return b'filename="%s"' % name


def extended(name):
	"""filename*=…, which wins over another one."""
	return b"filename=\"decoy\"; filename*=UTF-8''" + percent(name)


@pytest.mark.parametrize("way, say", [("h2-tcp", quoted), ("h1-tcp", quoted), ("h2-tls", extended)],
	ids=["h2-quoted", "h1-quoted", "h2-extended"])
def test_names_in_forms(asker, way, say):
	"""Behind a file that would be good: all or none. What is behind the last slash or backslash is the name."""
	with asker(way) as a:
		for name in hostile.names():
			said = say(name)
			if said is None:
				continue
			last = re.split(rb"[/\\\\]", name)[-1]
			good = last != b"" and hostile.is_name(last) and b"\0" not in said
			head = b'content-disposition: form-data; name="x"; %s\r\n' % said
			body = hostile.section(head, name) + b"--B--"
			if not good:
				body = hostile.section(hostile.DISPOSITION) + body
			a.post(body, {last: name} if good else None)
		a.check()


def test_contents(asker):
	"""What looks like a boundary, or is one, in every combination of what boundaries are made of."""
	with asker() as a:
		whole, special = [], []
		for data in hostile.contents():
			(whole if hostile.true_content(data) == data else special).append(data)
		assert len(whole) > 300 and len(special) > 5
		for first in range(0, len(whole), 200):
			files = [("%d" % i, data) for i, data in enumerate(whole[first:first + 200], first)]
			kind, body = form(files, boundary=hostile.BOUNDARY)
			a.post(body, {name.encode(): data for name, data in files}, kind)
		a.check()
		trues = [(data, hostile.true_content(data)) for data in special]
		a.post_all([(hostile.section(hostile.DISPOSITION, data)[:-2] + hostile.LAST,
			None if true is None else {b"good": true}) for data, true in trues])


def test_heads(asker):
	"""Of a part with a second one behind it."""
	other = hostile.section(hostile.DISPOSITION.replace(b"good", b"other")) + b"--B--"
	rows = []
	for head, name in hostile.HEADS:
		wanted = None if name is None else {b"other": b"data"}
		rows.append((hostile.section(head, head) + other, {name: head, **wanted} if name else wanted))
	with asker() as a:
		a.post_all(rows)


def test_boundaries(asker):
	rows = []
	for parameters, boundary in hostile.PARAMETERS:
		text = (boundary or "B").encode()
		rows.append((hostile.section(hostile.DISPOSITION, text, text) + b"--%s--" % text,
			{b"good": text} if boundary else None, ("multipart/form-data; " + parameters).rstrip()))
	with asker() as a:
		a.post_all(rows)


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tls"])
def test_bodies(asker, way):
	with asker(way) as a:
		a.post_all(hostile.BODIES)


REASONS = [
	(hostile.GOOD, "multipart: content ends before the final boundary"),
	(hostile.GOOD.replace(b"--B\r\n", b"--B" + b" " * 999 + b"\r\n") + b"--B--",
		"multipart: too many blanks behind a boundary"),
	(hostile.section(b"no colon\r\n") + b"--B--", "multipart: malformed header section of a part"),
	(hostile.GOOD + b"--B\r\n" + b"X: y\r\n" * 2000 + b"\r\n", "multipart: header section of a part over the limit"),
	(hostile.section(b"content-type: text/plain\r\n") + b"--B--",
		"multipart: part without one content-disposition of form-data with a name"),
	(hostile.FIELD + b"--B--", "multipart: no part with a file name"),
	(hostile.section(hostile.DISPOSITION.replace(b"good", b"../.bad")) + b"--B--", "file name begins with a dot"),
]


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tcp"])
def test_refusals_are_explained(asker, way):
	"""The answer has the status; the error log says what was wrong with the form."""
	with asker(way) as a:
		for body, reason in REASONS:
			a.post(body, None)
			a.server.log.wait(r"info .*connection 127\.0\.0\.1: %s$" % reason)
		a.expect((413,), "POST", "/files", [("content-type", KIND)], hostile.FIELD * 10001 + b"--B--")
		a.server.log.wait(r"info .*connection 127\.0\.0\.1: multipart: too many parts$")


# --- where frames end -----------------------------------------------------------------------------------

DATA = b"\r\n--B\r\n\r\n--Bo\r--BoUnDaRy-3210x\r\n--BoUnDaRy-321\r\n-\r\n\r\n"
FRAME = 16384


def send(a, pieces, **options):
	"""A form of one file, each piece a DATA frame."""
	c = a.client = a.client or connect(a.server, a.way)
	stream = c.send("POST", "/files", [("content-type", form([], boundary="BoUnDaRy-3210")[0])], end=False)
	for piece in pieces:
		while c.conn.local_flow_control_window(stream) < len(piece) + 256:
			c.turn(time.monotonic() + c.timeout)
		c.conn.send_data(stream, piece, **options)
		c.flush()
	c.conn.end_stream(stream)
	c.flush()
	return c.response(stream)


def test_every_split(asker):
	"""At every byte into two frames, with and without padding; and into frames of every size."""
	with asker() as a:
		body = form([("a", DATA)], boundary="BoUnDaRy-3210")[1]
		for cut in range(len(body) + 1):
			pieces = [body[:cut], body[cut:]]
			answer = send(a, pieces, pad_length=cut % 256) if cut % 2 else send(a, pieces)
			assert answer.status in (201, 204) and content(a.server, "a") == DATA, cut
		for size in range(1, 40):
			answer = send(a, [body[at:at + size] for at in range(0, len(body), size)])
			assert answer.status in (201, 204) and content(a.server, "a") == DATA, size
		a.stored(b"a", DATA)
		a.check()


def test_boundary_at_every_offset(asker):
	"""Of a frame of the largest size: it begins in one and ends in the next."""
	with asker() as a:
		before = form([("a", b"")], boundary="BoUnDaRy-3210")[1].index(b"\r\n\r\n") + 4
		for short in range(-2, len("\r\n--BoUnDaRy-3210--\r\n") + 2):
			data = os.urandom(FRAME - before - short)
			body = form([("a", data), ("b", data[:9])], boundary="BoUnDaRy-3210")[1]
			answer = send(a, [body[at:at + FRAME] for at in range(0, len(body), FRAME)])
			assert answer.status in (201, 204), short
			assert (content(a.server, "a"), content(a.server, "b")) == (data, data[:9]), short
		a.stored(b"a", data)
		a.stored(b"b", data[:9])
		a.check()


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tcp"])
def test_cut_anywhere(asker, way):
	"""A form that ends before its last boundary is no form, however much of it was there."""
	with asker(way) as a:
		kind, body = form([("a", b"\r\n--"), ("b", b"")], fields=[("word", b"value")], boundary="B")
		for cut in range(len(body) - 2):
			a.post(body[:cut], None, kind)
		a.check()
		a.post(body, {b"a": b"\r\n--", b"b": b""}, kind)
		a.check()
