"""Forms: each part with a file name becomes a file, all of them or none; names that are meant to hurt."""
import json
import os
import subprocess

import pytest

from procs import wait_for
from uploads import PUBLIC, WAYS, connect, content, digest, folder, form, names, post, put, wait_over
from users import basic, hashed, put_users


@pytest.fixture
def make(h2d):
	def new(server=PUBLIC, **options):
		options["files"] = {"up/.keep": b"", **options.get("files", {})}
		made = h2d.new(**options)
		made.write_conf(server=server, sections=options.get("sections", ""))
		made.start()
		os.unlink(os.path.join(folder(made), ".keep"))
		return made
	return new


@pytest.fixture(params=WAYS)
def way(request):
	return request.param


def test_form(make, way):
	server = make()
	files = [("a.txt", os.urandom(5)), ("empty", b""), ("ü b.bin", os.urandom(200001)), ("a%b", b"x")]
	with connect(server, way) as c:
		answer = post(c, files, fields=[("word", b"not a file"), ("n", b"1")])
		assert (answer.status, answer.get("location")) == (201, "/files/a.txt")
		assert answer.get("content-type") == "application/json"
		said = json.loads(answer.body)["files"]
		assert [(f["name"], f["size"]) for f in said] == [(n, len(d)) for n, d in files]
		for told, (name, data) in zip(said, files):
			assert content(server, name) == data
			got = c.get(told["location"])
			assert (got.body, got.get("etag")) == (data, told["etag"])
	assert names(server) == sorted(name for name, _ in files)


def test_status_as_older_clients_have_it(make):
	server = make(server=PUBLIC + "upload-status = 200")
	with server.connect() as c:
		assert post(c, [("a", b"a")]).status == 200
		assert put(c, "b", b"b").status == 201, "of forms alone"


def test_many_files(make):
	"""More than a worker keeps open for a form; and more than there may be."""
	server = make()
	files = [("f%04d" % i, b"%d" % i) for i in range(1000)]
	with server.connect() as c:
		answer = post(c, files)
		assert answer.status == 201
		assert len(json.loads(answer.body)["files"]) == 1000
		assert names(server) == [name for name, _ in files]
		assert all(content(server, name) == data for name, data in files)
		assert post(c, [("new", b"")] + files).status == 413
	wait_over(server)
	assert names(server) == [name for name, _ in files]


def test_twice_the_same_name(make):
	server = make()
	with server.connect() as c:
		assert post(c, [("a", b"1"), ("b", b"2"), ("a", b"3")]).status == 409
	assert names(server) == []


def test_all_or_none(make):
	server = make(server=PUBLIC + "upload-overwrite = false", files={"up/there": b"there"})
	with server.connect() as c:
		assert post(c, [("new", b"1"), ("there", b"2"), ("other", b"3")]).status == 409
		assert names(server) == ["there"]
		assert post(c, [("new", b"1"), ("other", b"3")]).status == 201
		assert post(c, [("x", b"1"), ("new", b"2")], headers=[("if-none-match", "*")]).status == 412
	assert names(server) == ["new", "other", "there"]


def test_every_split(make):
	"""A boundary, its look-alikes and CRLFs, cut at every byte into two DATA frames."""
	server = make(listens=("tcp",))
	data = b"\r\n--B\r\n\r\n--Bo\r--BoUnDaRy-3210x\r\n--BoUnDaRy-321\r\n-\r\n\r\n"
	kind, body = form([("a", data)], boundary="BoUnDaRy-3210")
	with server.connect() as c:
		for cut in range(len(body) + 1):
			stream = c.send("POST", "/files", [("content-type", kind)], end=False)
			c.send_body(stream, body[:cut], end=False)
			c.send_body(stream, body[cut:])
			answer = c.response(stream)
			assert answer.status in (201, 204), cut
			assert content(server, "a") == data, cut


MALFORMED = [
	("multipart/form-data", b""),
	("multipart/form-data; boundary=", b""),
	("multipart/form-data; boundary=" + "b" * 71, b""),
	("multipart/form-data; boundary=b", b""),
	("multipart/form-data; boundary=b", b"--b\r\n"),
	("multipart/form-data; boundary=b", b"--b--\r\n"),
	("multipart/form-data; boundary=b", b"no boundary"),
	("multipart/form-data; boundary=b", b'--b\r\ncontent-disposition: form-data; name="x"\r\n\r\nvalue\r\n--b--'),
	("multipart/form-data; boundary=b",
		b'--b\r\ncontent-disposition: form-data; name="x"; filename="good"\r\n\r\nvalue'),
	("multipart/form-data; boundary=b",
		b'--b\r\ncontent-disposition: form-data; name="x"; filename="good"\r\n\r\nvalue\r\n--b\r\n'),
	("multipart/form-data; boundary=b",
		b'--b\r\ncontent-disposition: form-data; name="x"; filename="good"\r\n\r\nvalue\r\n'
		b'--b\r\nno colon\r\n\r\nvalue\r\n--b--\r\n'),
	("multipart/form-data; boundary=b",
		b'--b\r\ncontent-disposition: form-data; name="x"; filename="good"\r\n\r\nvalue\r\n'
		b'--b\r\ncontent-disposition: form-data; name="y"; filename="../bad"\r\n\r\nvalue\r\n--b--\r\n'),
]


@pytest.mark.parametrize("number", range(len(MALFORMED)))
def test_malformed(make, number):
	"""400, whatever was well-formed in front of it, and nothing appears."""
	kind, body = MALFORMED[number]
	server = make()
	with server.connect() as c, server.h1() as d:
		for client in (c, d):
			answer = client.request("POST", "/files", [("content-type", kind)], body)
			assert answer.status == 400, answer
	wait_over(server)
	assert names(server) == []


def test_no_form(make):
	server = make()
	with server.connect() as c:
		for kind in ([], [("content-type", "application/json")], [("content-type", "text/plain; boundary=b")]):
			assert c.request("POST", "/files", kind, b"{}").status == 415


BAD_NAMES = [b".", b"..", b".hidden", b".h2d-0000000000000000-0", b".well-known", b"../x", b"..\\\\x", b"a/b",
	b"/etc/passwd", b"C:\\\\x", b"a\\\\b", b"a\x00b", b"a\x01b", b"a\x7fb", b"n" * 256,
	b"\xff\xfe", b"a\xc3", b"\xc0\xae\xc0\xae", b"\xe2\x80\xaecod.exe", b"a\xc2\x85b", b"\xe2\x80\xa8"]
GOOD_NAMES = [b"a", b"a b", b"a.b.c", b"-rf", b"n" * 255, "ü".encode(), "文件.txt".encode(),
	"👩‍🚀".encode(), b"con", b"%2e%2e%2fx", b"a;b", b"a&b=c", b"$(x)", b"'x'", b"a:b", b"*", b"?", b"<b>", b"~"]


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tcp"])
def test_names_in_forms(make, way):
	server = make()
	for name in BAD_NAMES:
		with connect(server, way) as c:
			assert post(c, [("good", b"good"), (name, b"bad")]).status == 400, name
	wait_over(server)
	assert names(server) == []
	with connect(server, way) as c:
		for name in GOOD_NAMES:
			answer = post(c, [(name, name)])
			assert answer.status == 201, name
			assert c.get(answer.get("location")).body == name
	assert names(server) == sorted(name.decode() for name in GOOD_NAMES)


BAD_PATHS = ["%2e%2e%2fx", "..%2fx", "a%2fb", "a%5cb", "%5c", ".x", "%2ex", ".h2d-0", "a%00b", "a%01b", "a%7fb",
	"%ff", "%c0%ae", "%e2%80%ae", "n" * 256, "a%0d%0ab", ".well-known", "%c2%85"]


@pytest.mark.parametrize("way", ["h2-tcp", "h1-tcp"])
def test_names_in_paths(make, way):
	server = make()
	for path in BAD_PATHS:
		for method in ("PUT", "DELETE"):
			with connect(server, way) as c:
				assert c.request(method, "/files/" + path, (),
					b"bad" if method == "PUT" else None).status == 400, path
	wait_over(server)
	assert names(server) == []
	assert sorted(os.listdir(server.root)) == ["index.html", "up"]


def test_rules_of_names_in_forms(make):
	"""Who may not write a file by its own path does not do it by a form either."""
	server = make(server=PUBLIC)
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(server=PUBLIC + """
location "/files/denied" { deny = {"all"} }
location "/up/closed" { deny = {"all"} }
location "/files/asked" { auth-basic-file = "%s" }
""" % users)
	server.reload()
	with server.connect() as c:
		assert post(c, [("a", b"a"), ("denied", b"x")]).status == 403
		assert post(c, [("a", b"a"), ("closed", b"x")]).status == 403
		assert post(c, [("a", b"a"), ("asked", b"x")]).status == 401
		wait_over(server)
		assert names(server) == []
		assert post(c, [("a", b"a"), ("asked", b"x")], headers=basic("anna", "sesame")).status == 201
		assert post(c, [("a", b"a")]).status == 201
	assert names(server) == ["a", "asked"]


def test_form_digest(make):
	server = make()
	kind, body = form([("a", b"content")])
	with server.connect() as c:
		for name in ("content-digest", "repr-digest"):
			for algorithm in ("sha-256", "sha-512"):
				right, wrong = digest(body, algorithm), digest(body + b"x", algorithm)
				assert c.request("POST", "/files", [("content-type", kind), (name, wrong)],
					body).status == 400
				assert names(server) == []
				assert c.request("POST", "/files", [("content-type", kind), (name, right)],
					body).status == 201
				assert c.request("DELETE", "/files/a").status == 204


def test_curl(make, tmp_path):
	server = make()
	one, two = tmp_path / "one.bin", tmp_path / 'tw"o'
	one.write_bytes(os.urandom(300001))
	two.write_bytes(b"two")
	for how, option in (("tcp", "--http1.1"), ("tcp", "--http2-prior-knowledge"), ("tls", "--http2")):
		done = subprocess.run(["curl", "-ksS", option, "-F", "a=@%s" % one, "-F", "b=x", "-F", "c=@%s" % two,
			server.url(how, "/files")], stdout=subprocess.PIPE, timeout=30, check=True)
		assert [f["name"] for f in json.loads(done.stdout)["files"]] == ["one.bin", 'tw"o']
		done = subprocess.run(["curl", "-ksS", option, "-T", str(one), server.url(how, "/files/")],
			timeout=30, check=True)
		assert content(server, "one.bin") == one.read_bytes()
		assert content(server, 'tw"o') == b"two"
