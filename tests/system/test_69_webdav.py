"""webdav: upload-dir as a drive (RFC 4918, class 1), with the rules of access and of uploads for each member and destination."""
import collections
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import pytest
from hyperframe import frame as hf

from procs import wait_for
from uploads import WAYS, connect, folder, names, put, tag_of_content, wait_over
from users import basic, hashed, put_users

DRIVE = 'upload-dir = "up"  upload-depth = 3  upload-public = true  webdav = true\n'
FILES = {"up/top": b"top", "up/a/one": b"one", "up/a/b/two": b"two"}


@pytest.fixture
def make(h2d):
	def make(server=DRIVE, files=FILES, **options):
		return h2d(server=server, files=files, **options)
	return make


def dav(c, method, path, headers=(), body=b""):
	return c.request(method, "/files/" + path, list(headers), body)


def move(c, path, to, headers=(), method="MOVE"):
	return dav(c, method, path, [("destination", "/files/" + to), *headers]).status


def find(c, path, depth="1", body=b"", headers=()):
	"""{href: {property: text}} of the properties that are there."""
	answer = dav(c, "PROPFIND", path, [("depth", depth), *headers], body)
	assert (answer.status, answer.get("content-type")) == (207, "application/xml; charset=utf-8")
	found = {}
	for response in xml.etree.ElementTree.fromstring(answer.body):
		props = found[response.find("{DAV:}href").text] = {}
		for stat in response.findall("{DAV:}propstat"):
			if "200" in stat.find("{DAV:}status").text:
				props.update({p.tag.replace("{DAV:}", ""): p.text or "".join(c.tag for c in p) for p in stat.find("{DAV:}prop")})
	return found


def on_disk(server):
	return sorted(os.path.relpath(os.path.join(at, name), folder(server))
		for at, _, files in os.walk(folder(server)) for name in files if not name.startswith(".h2d-"))


@pytest.mark.parametrize("way", WAYS)
def test_drive(make, way):
	server = make()
	with connect(server, way) as c:
		options = dav(c, "OPTIONS", "a/")
		assert (options.status, options.get("dav")) == (204, "1")
		assert set(options.get("allow").split(", ")) >= {"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "DELETE", "PUT"}
		assert list(find(c, "a"))[0] == "/files/a/" and set(find(c, "a")) == {"/files/a/", "/files/a/b/", "/files/a/one"}
		one = find(c, "a/one", "0")["/files/a/one"]
		assert (one["getcontentlength"], one["getetag"], one["resourcetype"]) == ("3", tag_of_content(b"one"), "")
		assert one["getlastmodified"] == c.get("/files/a/one").get("last-modified")
		assert find(c, "", "0")["/files/"]["resourcetype"] == "{DAV:}collection"
		made = dav(c, "MKCOL", "new/")
		assert (made.status, made.get("location")) == (201, "/files/new/")
		assert [dav(c, "MKCOL", name).status for name in ("new", "top", "none/x", "", ".x", "a/b/c/d")] == [405, 405, 409, 405, 400, 400]
		assert put(c, "new/x%20%26y", b"x").status == 201
		assert put(c, "none/x", b"x").status == 409
		assert "/files/new/x%20%26y" in find(c, "new/")
		assert move(c, "new/x%20%26y", "top", [("overwrite", "F")]) == 412
		assert move(c, "new/x%20%26y", "top") == 204
		assert c.get("/files/top").body == b"x" and c.get("/files/new/x%20%26y").status == 404
		assert move(c, "a", "new/a", method="COPY") == 201
		assert move(c, "a/", "new/shallow/", [("depth", "0")], method="COPY") == 201
		assert move(c, "new/a", "new/c") == 201
		for path, text in (("a/b/two", b"two"), ("new/c/b/two", b"two")):
			assert c.get("/files/" + path).body == text
		assert c.get("/files/new/a/one").status == 404
		assert on_disk(server) == ["a/b/two", "a/one", "new/c/b/two", "new/c/one", "top"]
		assert dav(c, "DELETE", "new/").status == 204
		assert c.get("/files/new/c/one").status == 404
		wait_over(server)
		assert sorted(names(server)) == ["a", "top"]


def test_acceptor(make):
	server = make(dispatch="acceptor")
	with server.connect() as c:
		assert move(c, "a", "z") == 201
		assert list(find(c, "z", "0")) == ["/files/z/"]


def test_all_paths(make):
	"""OPTIONS * names what a drive in a location takes."""
	server = make('location "/d/" { upload-dir = "d"  webdav = true }\n')
	with server.connect() as c:
		assert "PROPFIND" in c.request("OPTIONS", "*").get("allow")


def test_off(make):
	"""Without the key these are methods that no path has."""
	server = make(DRIVE.replace("  webdav = true", ""))
	with server.connect() as c:
		for method in ("PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE"):
			answer = dav(c, method, "a", [("depth", "0"), ("destination", "/files/z")])
			assert answer.status == 405 and method not in answer.get("allow"), method
		assert dav(c, "OPTIONS", "a").get("dav") is None
		assert dav(c, "DELETE", "a").status == 404


def test_requests(make):
	"""Depths, bodies and headers that are refused."""
	server = make()
	with server.connect() as c:
		for depth in ([("depth", "infinity")], []):
			answer = dav(c, "PROPFIND", "", depth)
			assert answer.status == 403 and b"<D:propfind-finite-depth/>" in answer.body
		assert dav(c, "PROPFIND", "", [("depth", "2")]).status == 400
		entity = "".join('<!ENTITY l%d "%s">' % (i, "&l%d;" % (i - 1) * 10) for i in range(1, 10))
		laughs = '<!DOCTYPE x [<!ENTITY l0 "ha">%s]><D:propfind xmlns:D="DAV:"><D:prop><D:a>&l9;</D:a></D:prop></D:propfind>' % entity
		many = '<D:propfind xmlns:D="DAV:"><D:prop>%s</D:prop></D:propfind>' % "".join("<a%d/>" % i for i in range(100))
		deep = '<D:propfind xmlns:D="DAV:"><D:prop>' + "<a>" * 50 + "</a>" * 50 + "</D:prop></D:propfind>"
		for body in (laughs, many, deep, "<D:propfind", '<D:propfind xmlns:D="DAV:"/>', "<a/>"):
			assert dav(c, "PROPFIND", "", [("depth", "0")], body.encode()).status == 400, body[:60]
		assert dav(c, "PROPFIND", "", [("depth", "0")], b" " * 70000).status == 413
		asked = b'<D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/><D:displayname/><q:a xmlns:q="u:&amp;"/></D:prop></D:propfind>'
		answer = dav(c, "PROPFIND", "top", [("depth", "0")], asked)
		assert b'<D:displayname/><x:a xmlns:x="u:&#38;"/></D:prop><D:status>HTTP/1.1 404' in answer.body
		update = b'<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><a xmlns="u:">1</a></D:prop></D:set></D:propertyupdate>'
		answer = dav(c, "PROPPATCH", "top", (), update)
		assert answer.status == 207 and b'<x:a xmlns:x="u:"/></D:prop><D:status>HTTP/1.1 403' in answer.body
		assert dav(c, "PROPPATCH", "none", (), update).status == 404
		assert dav(c, "MKCOL", "m", (), b"x").status == 415
		assert [dav(c, "MOVE", "a", headers).status for headers in ([], [("destination", "none")], [("destination", "/files/x"), ("overwrite", "x")],
			[("destination", "/files/x"), ("depth", "0")])] == [400, 400, 400, 400]
		assert on_disk(server) == ["a/b/two", "a/one", "top"]


def test_destinations(make):
	"""A destination is in the same directory of uploads, and neither contains the other."""
	server = make()
	with server.connect() as c:
		for method in ("COPY", "MOVE"):
			for source, to, status in (("a", "a", 403), ("a", "a/b/c", 403), ("a/b", "a", 403), ("a/one", "a", 403), ("a", "x/y", 409),
					("a/b", "a/one/x", 409), ("none", "x", 404), ("a", "../x", 502), ("a", ".x", 400), ("top", "x/../../x", 502),
					("a", "a%2fb", 400)):
				assert move(c, source, to, method=method) == status, (method, source, to)
			for url in ("http://elsewhere.example:1:2/files/x", "ftp:x", "//", "/other/x"):
				assert dav(c, method, "a", [("destination", url)]).status == 502, url
		assert dav(c, "MOVE", "a", [("destination", server.url(path="/files/b/"))]).status == 201
		assert dav(c, "MKCOL", "d").status == 201 and dav(c, "MKCOL", "d/e").status == 201
		# One more than upload-depth.
		assert move(c, "b", "d/e/b") == 400
		assert move(c, "top", "d") == 204 and c.get("/files/d").body == b"top"
		assert move(c, "b", "d") == 204 and on_disk(server) == ["d/b/two", "d/one"]


def test_access(h2d):
	"""What GET and PUT refuse is neither seen nor reached: members, what a directory contains, and destinations."""
	server = h2d.new(files={
		**FILES, "up/closed/x": b"x", "up/banned/x": b"x", "up/own/x": b"x", "up/read/x": b"x", "up/a/kept.bak": b"k", "up/link/x": b"x",
		"up/c/closed/x": b"x"})
	users = put_users(server, anna=hashed("secret"))
	server.write_conf(server=DRIVE + '''hide = {"*.bak"}
		location "/files/closed/" { auth-basic-file = "%s" }
		location "/files/banned" { deny = {"all"} }
		location "/up/own" { deny = {"all"} }
		location "/files/read" { allow-methods = {"GET"} }''' % users)
	server.start()
	os.symlink("x", os.path.join(folder(server), "link", "sym"))
	anna = basic("anna", "secret")
	with server.connect() as c:
		assert set(find(c, "")) == {"/files/", "/files/top", "/files/a/", "/files/closed/", "/files/link/", "/files/c/"}
		assert set(find(c, "a")) == {"/files/a/", "/files/a/one", "/files/a/b/"}
		assert set(find(c, "link")) == {"/files/link/", "/files/link/x"}
		for path, status in (("closed/", 401), ("closed/x", 401), ("banned", 403), ("own", 403), ("read", 405), ("a/kept.bak", 404)):
			assert dav(c, "PROPFIND", path, [("depth", "1")]).status == status, path
		assert set(find(c, "closed/", headers=anna)) == {"/files/closed/", "/files/closed/x"}
		for method in ("COPY", "MOVE"):
			for source, to, status in (("top", "closed/y", 401), ("top", "banned/y", 403), ("top", "own/y", 403), ("top", "read/y", 405),
					("top", "y.bak", 404), ("closed/x", "y", 401), ("banned/x", "y", 403), ("own/x", "y", 403), ("closed", "y", 403),
					("a", "y", 403), ("link", "y", 403), ("link/sym", "y", 403), ("c/closed", "closed", 403)):
				assert move(c, source, to, method=method) == status, (method, source, to)
		for path, status in (("closed", 403), ("a", 403), ("banned", 403), ("read", 405), ("own", 403)):
			assert dav(c, "DELETE", path).status == status, path
		assert dav(c, "MKCOL", "closed/new").status == 401
		assert move(c, "top", "closed/y", anna) == 201
		assert os.path.exists(os.path.join(folder(server), "closed/y"))


def test_quota(make):
	server = make(DRIVE + "upload-quota = 40K\n")
	asked = b'<D:propfind xmlns:D="DAV:"><D:prop><D:quota-used-bytes/><D:quota-available-bytes/></D:prop></D:propfind>'
	with server.connect() as c:
		quota = find(c, "", "0", asked)["/files/"]
		assert quota == {"quota-used-bytes": "20480", "quota-available-bytes": "20480"}
		assert move(c, "a", "c", method="COPY") == 201
		assert move(c, "a", "d", method="COPY") == 507
		assert find(c, "", "0", asked)["/files/"]["quota-used-bytes"] == "36864"
		assert dav(c, "DELETE", "c").status == 204 and dav(c, "MKCOL", "c").status == 201
		assert find(c, "", "0", asked)["/files/"]["quota-used-bytes"] == "24576"
		wait_over(server)
		assert sorted(names(server)) == ["a", "c", "top"]


def test_if(make):
	"""If with entity tags (10.4), of the requested file; h2d has no locks, so no lock token matches."""
	server = make()
	tag = tag_of_content(b"top")
	with server.connect() as c:
		for value, status in (("(%s)" % tag, 412), ('(["no"])', 412), ("(<urn:uuid:1> [%s])" % tag, 412), ("([%s]" % tag, 412),
				("</files/a> ([%s])" % tag, 412), ("(Not [%s])" % tag, 412)):
			assert put(c, "top", b"x", [("if", value)]).status == status, value
			assert move(c, "top", "x", [("if", value)]) == status, value
		assert move(c, "top", "x", [("if", "</files/top> ([%s] Not <DAV:no-lock>)" % tag)]) == 201
		assert dav(c, "DELETE", "x", [("if", '(["no"]) ([%s])' % tag)]).status == 204


def test_uploads(make):
	"""An upload in progress is on no list, and its target may be moved, replaced and removed meanwhile."""
	server = make()
	with server.connect() as c, server.h1() as u:
		u.send_bytes(b"PUT /files/a/one HTTP/1.1\r\nhost: h\r\ncontent-length: 8\r\n\r\nnew ")
		wait_for(lambda: server.gauges()["uploads_live"] == 1, said="it has begun")
		assert set(find(c, "a")) == {"/files/a/", "/files/a/b/", "/files/a/one"}
		assert move(c, "top", "a/one") == 204
		assert c.get("/files/a/one").body == b"top"
		u.send_bytes(b"file")
		assert u.response().status == 204
		assert c.get("/files/a/one").body == b"new file"
		u.send_bytes(b"PUT /files/a/one HTTP/1.1\r\nhost: h\r\ncontent-length: 8\r\n\r\nnew ")
		wait_for(lambda: server.gauges()["uploads_live"] == 1, said="it has begun")
		assert move(c, "a", "z") == 201
		u.send_bytes(b"file")
		# The file gets the name that it was sent for.
		assert u.response().status == 201
		wait_over(server)
		assert on_disk(server) == ["a/one", "z/b/two", "z/one"]


def test_lists_held(make):
	"""Lists that a client does not read count for it: it gets no more, and another one still gets its own."""
	server = make(files={"up/%0200d" % n: b"" for n in range(10000)})
	with server.raw(settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 0}) as raw, server.connect(source="127.0.0.7") as c:
		raw.send(*(raw.headers(1 + 2 * n, raw.head("/files/", "PROPFIND", [("depth", "1")])) for n in range(100)))
		found = collections.Counter()
		while found.total() < 100:
			found[raw.until(lambda f: isinstance(f, hf.HeadersFrame)).fields[":status"]] += 1
		assert set(found) == {"207", "503"} and found["207"] <= 16, found
		assert len(find(c, "")) == 10001
	wait_over(server)
	with server.connect() as c:
		assert len(find(c, "")) == 10001


def test_moves_at_once(make):
	"""One of two gets it."""
	server = make()
	with server.h1() as one, server.h1() as two:
		for n in range(20):
			for c, to in ((one, "x"), (two, "y")):
				c.send("MOVE", "/files/a", [("destination", "/files/" + to)])
			found = [c.response().status for c in (one, two)]
			assert sorted(found) == [201, 404]
			assert move(one, "xy"[found.index(404) - 1], "a") == 201
	assert on_disk(server) == ["a/b/two", "a/one", "top"]


@pytest.mark.parametrize("end", ["client", "worker", "reload"])
def test_copy_ends(make, end):
	"""A copy whose client or worker is gone is complete or leaves nothing, and the sum is right."""
	server = make(DRIVE + "upload-quota = 1G\n", files={"up/a/%d" % n: b"x" for n in range(4000)})
	asked = b'<D:propfind xmlns:D="DAV:"><D:prop><D:quota-used-bytes/></D:prop></D:propfind>'
	with server.h1() as c:
		c.send("COPY", "/files/a", [("destination", "/files/z")])
		wait_for(lambda: len(names(server)) > 1, said="the copy has begun")
		if end == "worker":
			os.kill(server.worker_pids()[0], signal.SIGKILL)
		elif end == "reload":
			server.reload()
			assert c.response().status == 201
	wait_over(server)
	wait_for(lambda: not [name for name in names(server) if name.startswith(".h2d-")], said="no remains")
	copied = "z" in names(server)
	assert copied or end != "reload"
	assert not copied or len(os.listdir(os.path.join(folder(server), "z"))) == 4000
	with server.connect() as c:
		wait_for(lambda: find(c, "", "0", asked)["/files/"]["quota-used-bytes"] == str(4096 * 4001 * (1 + copied)), said="the sum is right")


@pytest.mark.parametrize("suite", ["basic", "copymove", "props", "http"])
def test_litmus(make, suite):
	"""All of class 1 but for properties of the clients' own, which h2d refuses."""
	litmus = shutil.which("litmus")
	if litmus is None:
		pytest.skip("no litmus")
	server = make(files={"up/top": b""})
	run = subprocess.run([litmus, "-k", server.url("tcp", "/files/")], env={**os.environ, "TESTS": suite}, cwd=server.root,
		stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	failed = set(re.findall(r"(\w+)\.+ FAIL", run.stdout))
	assert "summary for `%s'" % suite in run.stdout and failed <= ({"propset", "propmanyns", "propget"} if suite == "props" else set()), run.stdout
