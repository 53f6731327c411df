"""Uploads that are cut off and go on, by clients that know nothing of it but its fields: curl, and Python's own."""
import hashlib
import http.client
import os
import random
import ssl
import subprocess

import pytest

from procs import wait_for
from resumable import PARTIAL, PIECE, VERSION, WHOLE
from tree import run
from uploads import content

OPTIONS = {("tls", "h2"): "--http2", ("tcp", "h2"): "--http2-prior-knowledge", ("tls", "h1"): "--http1.1",
	("tcp", "h1"): "--http1.1"}
DATA = random.Random(9).randbytes(3000001)
CUT = 1234567


@pytest.fixture(params=["h2", "h1"])
def protocol(request):
	return request.param


def fields_of(text):
	"""Of the last response."""
	head = text.replace("\r\n", "\n").strip().split("\n\n")[-1].split("\n")
	return head[0].split()[1], dict(line.split(": ", 1) for line in head[1:])


def arguments(server, how, protocol, path, fields, *options):
	lines = [word for name, value in fields for word in ("-H", "%s: %s" % (name, value))]
	return ["curl", "-q", "-sS", "-N", "-i", "--cacert", server.cert.cert, OPTIONS[how, protocol], *lines,
		*options, server.url(how, path)]


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_curl(server, how, protocol, tmp_path):
	"""It is killed in the middle, and another one sends what is missing."""
	name = "curl-%s-%s" % (how, protocol)

	def curl(path, fields, *options):
		done = run(*arguments(server, how, protocol, path, fields, *options))
		return fields_of(done.stdout.decode("latin-1"))
	process = subprocess.Popen(arguments(server, how, protocol, "/files/" + name, [VERSION, WHOLE], "-T", ".", "-v"),
		stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
	location = None
	while location is None:
		line = process.stderr.readline().decode("latin-1").lower()
		assert line, "curl says where the upload is"
		location = line.partition(": ")[2].strip() if line.startswith("< location: ") else None
	process.stdin.write(DATA[:CUT])
	process.stdin.flush()
	# Asked before it has left, the server would take the upload from it.
	process.kill()
	process.wait()
	wait_for(lambda: server.gauges()["uploads_live"] == 0, said="the server knows that it has gone")
	status, fields = curl(location, [], "-I")
	offset = int(fields["upload-offset"])
	assert (status, fields["upload-complete"]) == ("204", "?0")
	assert 0 < offset <= CUT
	rest = tmp_path / "rest"
	rest.write_bytes(DATA[offset:])
	status, fields = curl(location, [VERSION, WHOLE, PARTIAL, ("upload-offset", offset)], "-X", "PATCH", "-T", rest)
	assert (status, fields["upload-complete"]) == ("201", "?1")
	assert content(server, name) == DATA


class Python:
	"""A careful client: it asks for a place first, and sends pieces there; of each it may be unlucky."""

	def __init__(self, server, how):
		self.server, self.how = server, how

	def request(self, method, path, body=None, fields=(), cut=None):
		port = self.server.ports[self.how]
		context = ssl.create_default_context(cafile=self.server.cert.cert)
		c = http.client.HTTPConnection("127.0.0.1", port, timeout=30) if self.how == "tcp" else (
			http.client.HTTPSConnection("localhost", port, timeout=30, context=context))
		try:
			c.putrequest(method, path)
			for name, value in (*fields, ("content-length", len(body or b""))):
				c.putheader(name, str(value))
			c.endheaders(body if cut is None else body[:cut])
			return c.getresponse() if cut is None else None
		finally:
			c.close()

	def upload(self, name, data, chance):
		answer = self.request("PUT", "/files/" + name, fields=[PIECE, ("upload-length", len(data))])
		location, cuts = answer.headers["location"], 0
		while True:
			answer = self.request("HEAD", location)
			if answer.headers["upload-complete"] == "?1":
				return cuts
			offset = int(answer.headers["upload-offset"])
			assert answer.headers["upload-length"] == str(len(data))
			cut = chance.randrange(1, len(data) - offset) if len(data) - offset > 1000 else None
			self.request("PATCH", location, data[offset:], [WHOLE, PARTIAL, ("upload-offset", offset)], cut)
			cuts += cut is not None


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_python(server, how):
	name = "python-" + how
	assert Python(server, how).upload(name, DATA, random.Random(how)) > 0
	found = hashlib.sha256(content(server, name)).digest()
	assert found == hashlib.sha256(DATA).digest()
	assert not [n for n in os.listdir(os.path.join(server.root, "up")) if n.endswith(".part")]
