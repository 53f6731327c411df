"""What the tests of uploads share: ways to ask, forms, and what must hold of the folder."""
import base64
import hashlib
import os

import pytest

import procs

# How often what waits for chance is tried; 0: as often as there is time for among other tests.
ROUNDS = int(os.environ.get("H2D_UPLOAD_ROUNDS", "0"))
PUBLIC = 'upload-dir = "up"  upload-public = true\n'
WAYS = ["h2-tcp", "h2-tls", "h1-tcp", "h1-tls"]


@pytest.fixture(params=WAYS)
def way(request):
	return request.param


@pytest.fixture
def make(h2d):
	"""A server whose folder of uploads is empty."""
	def new(server=PUBLIC, files=(), **options):
		made = h2d(server=server, files={"up/.keep": b"", **dict(files)}, **options)
		os.unlink(os.path.join(folder(made), ".keep"))
		return made
	return new


def connect(server, way, **options):
	protocol, how = way.split("-")
	return server.connect(how, **options) if protocol == "h2" else server.h1(how, **options)


def folder(server):
	return os.path.join(server.root, "up")


def names(server):
	"""All names in the folder, hidden ones included, but for its sum and its lock."""
	return sorted(name for name in os.listdir(folder(server)) if name not in (".h2d-quota", ".h2d-lock"))


def content(server, name):
	with open(os.path.join(folder(server), name), "rb") as f:
		return f.read()


def digest(data, algorithm="sha-256"):
	made = hashlib.new(algorithm.replace("-", ""), data).digest()
	return "%s=:%s:" % (algorithm, base64.b64encode(made).decode())


def tag_of_content(data):
	"""The entity tag of a file that an image may have."""
	return '"{%s}"' % base64.urlsafe_b64encode(hashlib.sha256(data).digest()[:9]).decode()


def tag_of_file(path):
	"""The entity tag of a file beyond cache.max-file-size, two seconds behind its last change."""
	st = os.stat(path)
	return '"%x-%x"' % (st.st_size, st.st_mtime_ns)


def put(client, name, data, headers=()):
	return client.request("PUT", "/files/" + name, headers, data)


def form(files, fields=(), boundary="BoUnDaRy-32107"):
	"""(content type, body) of multipart/form-data: files are pairs of a file name and its bytes."""
	body = b""
	for name, value in fields:
		body += b'--%s\r\ncontent-disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (
			boundary.encode(), name.encode(), value)
	for i, (name, value) in enumerate(files):
		body += (b'--%s\r\ncontent-disposition: form-data; name="f%d"; filename="%s"\r\n'
			b"content-type: application/octet-stream\r\n\r\n%s\r\n") % (
			boundary.encode(), i, name if isinstance(name, bytes) else name.encode(), value)
	return "multipart/form-data; boundary=" + boundary, body + b"--%s--\r\n" % boundary.encode()


def post(client, files, fields=(), headers=()):
	kind, body = form(files, fields)
	return client.request("POST", "/files", [("content-type", kind), *headers], body)


def wait_over(server):
	"""Until no upload is under way, and no thread works for one."""
	procs.wait_for(lambda: server.gauges()["uploads_live"] == 0, said="uploads are over")
