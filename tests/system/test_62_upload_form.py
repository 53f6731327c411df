"""Forms: each part with a file name becomes a file, all of them or none. test_62_upload_hostile.py has the odd ones."""
import json
import os
import re

from uploads import PUBLIC, connect, content, digest, form, make, names, post, wait_over, way  # noqa: F401 (fixtures)
from users import basic, hashed, put_users


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
	assert len(server.log.wait("too many files in a form")) == 1
	assert names(server) == [name for name, _ in files]


def test_many_files_of_long_names(make):
	"""What is said of them all is in the answer; what is in its place is never answered by an error."""
	server = make(server=PUBLIC + 'location "/files" { allow = {"0.0.0.0/0"} }\n')
	files = [("\u00e9" * 125 + "%04d" % i, b"%d" % i) for i in range(1000)]
	with server.connect() as c:
		answer = post(c, files)
		assert answer.status == 201
		assert [file["name"] for file in json.loads(answer.body)["files"]] == [name for name, _ in files]
	assert names(server) == [name for name, _ in files]


def test_twice_the_same_name(make):
	server = make()
	with server.connect() as c:
		answer = post(c, [("a", b"1"), ("b", b"2"), ("a", b"3")])
		assert answer.status == 409 and why(answer) == "two files of a form have the same name"
	assert names(server) == []


def why(answer):
	"""What the page of a refusal says to the person who has sent the form."""
	return re.search('<p class="why">(.*)</p>', answer.body.decode()).group(1)


def test_a_folder_that_was_chosen(make, way):
	"""Browsers send the way to each file of a folder: the files have the names behind it."""
	server = make()
	files = [("folder/one.txt", b"1"), ("folder/below/two.txt", b"2"), ("C:\\fakepath\\three.txt", b"3"), ("/etc/passwd", b"4")]
	with connect(server, way) as c:
		answer = post(c, files)
		assert answer.status == 201
		assert [f["location"] for f in json.loads(answer.body)["files"]] == ["/files/one.txt", "/files/two.txt", "/files/three.txt",
			"/files/passwd"]
		assert [content(server, name) for name in ("one.txt", "two.txt", "three.txt", "passwd")] == [b"1", b"2", b"3", b"4"]
		for name, said in (("folder/", "file name is empty"), ("folder/..", "file name begins with a dot"),
				("../.profile", "file name begins with a dot"), ("folder\\a/", "file name is empty")):
			answer = post(c, [("good", b"x"), (name, b"bad")])
			assert answer.status == 400 and why(answer) == said, name
			server.log.wait("connection 127.0.0.1: " + said)
		answer = post(c, [("f1/same", b"1"), ("f2/same", b"2")])
		assert answer.status == 409 and why(answer) == "two files of a form have the same name"
	assert names(server) == ["one.txt", "passwd", "three.txt", "two.txt"]


def test_all_or_none(make):
	server = make(server=PUBLIC + "upload-overwrite = false", files={"up/there": b"there"})
	with server.connect() as c:
		answer = post(c, [("new", b"1"), ("there", b"2"), ("other", b"3")])
		assert answer.status == 409 and why(answer) == "name exists and must not be replaced"
		assert names(server) == ["there"]
		assert post(c, [("new", b"1"), ("other", b"3")]).status == 201
		assert post(c, [("x", b"1"), ("new", b"2")], headers=[("if-none-match", "*")]).status == 412
	assert names(server) == ["new", "other", "there"]


def test_no_form(make):
	server = make()
	with server.connect() as c:
		for kind in ([], [("content-type", "application/json")], [("content-type", "text/plain; boundary=b")]):
			assert c.request("POST", "/files", kind, b"{}").status == 415


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


def test_origins(make):
	"""A page of another site cannot send a form with the user's credentials, unless its origin is configured."""
	server = make(server=PUBLIC + 'upload-origins = {"https://intranet.example"}\n')
	with server.connect() as c:
		own = "http://localhost"
		for headers, status in (
				([("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")], 403),
				([("sec-fetch-site", "same-site"), ("origin", "https://www.example")], 403),
				([("origin", "https://evil.example")], 403), ([("origin", "null")], 403),
				([("origin", own.replace("http", "ftp"))], 403),
				([("sec-fetch-site", "cross-site"), ("origin", "https://Intranet.example")], 201),
				([("sec-fetch-site", "same-origin"), ("origin", own)], 201), ([("sec-fetch-site", "none")], 201),
				([("origin", own)], 201), ([], 201)):
			answer = post(c, [("a%d" % status, b"x")], headers=headers)
			assert answer.status in (status, 200 if status == 201 else status), headers
		# A browser asks before it sends another method.
		assert c.request("PUT", "/files/b", [("origin", "https://evil.example")], b"x").status == 201
		# And this header: the form sends it through a proxy that replaces the host.
		assert c.request("POST", "/files/c", [("origin", "http://nas.example"), ("upload-complete", "?1")], b"x").status == 201
	wait_over(server)
	assert names(server) == ["a201", "b", "c"]
	server.log.wait("form of another site.s page, which upload-origins lacks")
