"""Uploads that are meant to hurt: what hostile.py makes, over few connections; nothing appears but what is right. Heads of parts,
boundaries and what looks like one, cut at every byte, are for check_multipart and check_multipart_head."""
import contextlib
import os
import re
import urllib.parse

import pytest

import hostile
from uploads import PUBLIC, connect, folder, wait_over

KIND = "multipart/form-data; boundary=B"


class Asker(contextlib.AbstractContextManager):
	"""One connection, and another whenever the server has ended it; and what must hold of the files."""

	def __init__(self, server, way):
		self.server, self.way = server, way
		self.client = None
		self.files = {}
		self.outside = self.look_outside()

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


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tls"])
def test_bodies(asker, way):
	with asker(way) as a:
		a.post_all(hostile.BODIES)


REASONS = [
	(hostile.GOOD, "multipart: content ends before the final boundary"),
	(hostile.GOOD.replace(b"--B\r\n", b"--B" + b" " * 999 + b"\r\n") + b"--B--",
		"multipart: too many blanks after a boundary"),
	(hostile.section(b"no colon\r\n") + b"--B--", "multipart: malformed header section of a part"),
	(hostile.GOOD + b"--B\r\n" + b"X: y\r\n" * 2000 + b"\r\n", "multipart: header section of a part is too large"),
	(hostile.section(b"content-type: text/plain\r\n") + b"--B--",
		"multipart: part needs one content-disposition: form-data with a name"),
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
