"""upload-depth: uploads into folders, which are made as needed, by PUT and by forms; the rules hold for each of their paths."""
import json
import os

import pytest

from procs import wait_for
from resumable import PARTIAL, PIECE, VERSION, WHOLE, append, head, offset_of
from test_62_upload_people import BROWSER, LIST, action
from uploads import PUBLIC, WAYS, connect, folder, form, put, wait_over
from users import basic, hashed, put_users

DEPTH = PUBLIC + "upload-depth = 2\n"


@pytest.fixture
def make(h2d):
	def make(server=DEPTH, **options):
		return h2d(server=server, files={"up/there/old": b"old", "up/plain": b"plain", "outside/x": b"x"}, **options)
	return make


def tree(server):
	"""All files and folders below that of uploads; a folder ends in a slash."""
	found = set()
	for at, folders, files in os.walk(folder(server)):
		at = os.path.relpath(at, folder(server))
		found |= {os.path.normpath(os.path.join(at, name)) + "/" for name in folders}
		found |= {os.path.normpath(os.path.join(at, name)) for name in files}
	return found - {".h2d-quota", ".h2d-lock"}


BEFORE = {"there/", "there/old", "plain"}


def post_in(c, path, files, headers=()):
	kind, body = form(files)
	return c.request("POST", path, [("content-type", kind), *headers], body)


@pytest.mark.parametrize("way", WAYS)
def test_folders(make, way):
	server = make()
	with connect(server, way) as c:
		answer = put(c, "a/b/new", b"deep")
		assert (answer.status, answer.get("location")) == (201, "/files/a/b/new")
		again = put(c, "a/b/new", b"deeper", [("if-match", answer.get("etag"))])
		assert again.status == 204
		assert put(c, "a/b/new", b"x", [("if-none-match", "*")]).status == 412
		assert put(c, "there/second%20one", b"2").status == 201
		got = c.get("/files/a/b/new")
		assert (got.body, got.get("etag"), got.get("content-security-policy")) == (b"deeper", again.get("etag"), "sandbox")
		assert c.get("/files/there/old").body == b"old"
		answer = post_in(c, "/files/a/b/", [("f1", b"1"), ("f2", b"2")])
		assert answer.status == 201
		assert [f["location"] for f in json.loads(answer.body)["files"]] == ["/files/a/b/f1", "/files/a/b/f2"]
		answer = post_in(c, "/files/c/", [("f1", b"1")])
		assert (answer.status, answer.get("location")) == (201, "/files/c/f1")
		assert post_in(c, "/files/", [("top", b"t")]).get("location") == "/files/top"
		assert tree(server) == BEFORE | {"a/", "a/b/", "a/b/new", "a/b/f1", "a/b/f2", "there/second one", "c/", "c/f1", "top"}
		assert c.request("DELETE", "/files/a/b/f1").status == 204
		assert c.get("/files/a/b/f1").status == 404
		for name in ("a/b/f1", "nowhere/f", "plain/f", "a/b"):
			assert c.request("DELETE", "/files/" + name).status == 404, name
		assert sorted(c.request("OPTIONS", "/files/a/b/new").get("allow").split(", ")) == [
			"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]


@pytest.mark.parametrize("way", WAYS)
def test_an_upload_into_a_folder_goes_on(make, way):
	"""At its own address alone; the folder is made with the file."""
	server = make()
	with connect(server, way) as c:
		for method in ("PUT", "POST"):
			begun = c.request(method, "/files/a/b/" + method, [VERSION, PIECE, ("upload-length", "6")], b"abc")
			at = begun.get("location")
			assert (begun.status, at.startswith("/files/a/b/%s/.upload/" % method)) == (201, True)
			assert "a/" not in tree(server) or method == "POST"
			for other in (at.replace("/a/b/", "/a/"), at.replace("/a/b/", "/there/"), at.replace("/a/b/", "/"), at + "/x"):
				assert head(c, other).status == append(c, other, 3, b"def").status == c.request("DELETE", other).status == 404, other
			assert offset_of(head(c, at)) == 3
			ended = append(c, at, 3, b"def")
			assert (ended.status, ended.get("content-location")) == (201, "/files/a/b/" + method)
			assert c.get("/files/a/b/" + method).body == b"abcdef"
		at = c.request("PUT", "/files/c/x", [VERSION, PIECE], b"abc").get("location")
		assert c.request("DELETE", at).status == 204
		assert head(c, at).status == 404
		assert c.request("PATCH", "/files/a/b/PUT", [VERSION, PIECE, PARTIAL, ("upload-offset", "0")], b"x").status == 404
		assert c.request("POST", "/files/a/raw", [], b"x").status == 400, "a form of another site could send it"
	left = {name for name in tree(server) if not name.startswith(".h2d-")}  # a ticket says for a while that it is complete
	assert left == BEFORE | {"a/", "a/b/", "a/b/PUT", "a/b/POST"}


def test_offered(make):
	"""Where uploads may be, and no deeper."""
	server = make(DEPTH + "upload-piece = 1M")
	with server.connect() as c:
		for path in ("x", "a/x", "a/b/x"):
			answer = c.request("OPTIONS", "/files/" + path)
			assert (answer.status, answer.get("accept-patch")) == (204, "application/partial-upload"), path
			assert answer.get("upload-limit") == "max-size=1073741824, max-append-size=1048576, max-age=86400"
		answer = c.request("OPTIONS", "/files/a/b/c/x")
		assert (answer.status, answer.get("accept-patch"), answer.get("upload-limit")) == (204, None, None)


def test_refused(make):
	"""Names are as they are without folders, nothing is deeper than it may be, and nothing is left of what was refused."""
	server = make(DEPTH + "upload-overwrite = false")
	with server.connect() as c:
		for name, status in (("a/b/c/x", 400), ("a/.b/x", 400), (".a/x", 400), ("a%5Cb/x", 400), ("a/b/", 400), ("a/%01/x", 400),
				("there/old", 409), ("plain/x", 409), ("a/%FF/x", 400), ("x" * 256 + "/a", 400)):
			assert put(c, name, b"x").status == status, name
		for path, status in (("/files/a/b/c/", 400), ("/files/.h/", 400), ("/files/plain/", 409)):
			assert post_in(c, path, [("x", b"x")]).status == status, path
		assert post_in(c, "/files/new/", [("x", b"x"), ("x", b"y")]).status == 409
		assert put(c, "fresh/a/x", b"x", [("if-match", '"none"')]).status == 412
		wait_over(server)
		assert tree(server) == BEFORE
		server.log.wait("file exceeds upload-depth")


def test_links(make):
	"""Nothing is written through a symbolic link, wherever it leads; a folder of that name is not made beside it."""
	server = make()
	for name, to in (("in", "there"), ("out", "../outside"), ("abs", "/tmp"), ("loop", "loop"), ("gone", "nowhere")):
		os.symlink(to, os.path.join(folder(server), name))
	os.symlink("../../outside", os.path.join(folder(server), "there", "deep"))
	before = sorted(os.listdir(os.path.join(server.root, "outside")))
	with server.connect() as c:
		for name in ("in/f", "out/f", "abs/f", "loop/f", "gone/f", "there/deep/f"):
			assert put(c, name, b"f").status == 409, name
			assert c.request("DELETE", "/files/" + name).status == 404, name
	assert sorted(os.listdir(os.path.join(server.root, "outside"))) == before
	assert "f" not in os.listdir(os.path.join(folder(server), "there"))


def test_without(make):
	"""The default: paths below /files are the document root's, as ever."""
	server = make(PUBLIC)
	with server.connect() as c:
		assert put(c, "a/new", b"x").status == 405
		assert c.get("/files/there/old").status == 404
		assert post_in(c, "/files/there/", [("x", b"x")]).status == 405
	assert tree(server) == BEFORE


def test_rules(h2d):
	"""Of both paths of a file, whatever folder it is in, and whichever way it comes; a folder is not made for who may not write."""
	server = h2d.new(files={"up/.keep": b""})
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(server=DEPTH + """
location "/files/denied" { deny = {"all"} }
location "/up/closed/inner" { deny = {"all"} }
location "/up/asked" { auth-basic-file = "%s" }
location "/files/read" { allow-methods = {"GET"} }
""" % users)
	server.start()
	with server.connect() as c:
		for name, status in (("denied/x", 403), ("denied/a/x", 403), ("closed/inner/x", 403), ("asked/x", 401), ("asked/a/x", 401),
				("read/x", 405)):
			assert put(c, name, b"x").status == status, name
			path, _, last = name.rpartition("/")
			assert post_in(c, "/files/%s/" % path, [(last, b"x")]).status == status, name
		wait_over(server)
		assert tree(server) == {".keep"}
		assert post_in(c, "/files/closed/", [("inner", b"x")]).status == 403
		assert put(c, "closed/x", b"x").status == 201
		assert put(c, "asked/a/x", b"x", basic("anna", "sesame")).status == 201
		assert c.get("/files/asked/a/x").status == 401
	assert tree(server) == {".keep", "closed/", "closed/x", "asked/", "asked/a/", "asked/a/x"}


def test_listing(make):
	"""Folders have a form of their own, and a browser comes back to the folder."""
	server = make(DEPTH + LIST)
	os.makedirs(os.path.join(folder(server), "a b", "c", "d"))
	with server.connect() as c:
		for path, to in (("/up/", "/files"), ("/up/a%20b/", "/files/a%20b/"), ("/up/a%20b/c/", "/files/a%20b/c/"), ("/up/a%20b/c/d/", None)):
			assert action(c.get(path), path) == to
		answer = post_in(c, "/files/a%20b/c/", [("f", b"f")], [BROWSER])
		assert (answer.status, answer.get("location")) == (303, "/up/a%20b/c/")
		assert b'href="./f"' in c.get("/up/a%20b/c/").body


def test_quota(make):
	"""What is in folders counts, and the folders: of what others put there, too."""
	server = make(DEPTH + 'upload-quota = "40K"')  # 4K each of there/, there/old and plain
	with server.connect() as c:
		assert put(c, "there/10k", b"x" * 10240).status == 201
		assert put(c, "a/b/8k", b"x" * 8192).status == 201  # and 8K of two folders
		assert put(c, "there/more", b"x" * 4096).status == 507
		assert put(c, "new/f", b"x").status == 507
		assert c.request("DELETE", "/files/there/10k").status == 204
		assert put(c, "there/more", b"x" * 4096).status == 201
		for path, status in (("new/f", 507), ("f", 201)):  # there is room for what an upload takes, not for a folder
			assert c.request("PUT", "/files/" + path, [VERSION, WHOLE], b"x").status == status, path
		with open(os.path.join(folder(server), "there", "others"), "wb") as f:
			f.truncate(100 << 10)
		os.utime(folder(server))
		assert put(c, "there/last", b"x" * 4096).status in (201, 507)
		wait_for(lambda: put(c, "there/last", b"x" * 4096).status == 507, said="a walk")
	assert "new/" not in tree(server)


def test_all_workers_agree(h2d):
	"""The answer comes when every worker has the file, of new folders, too, and of one that a GET had not found."""
	server = h2d(server=DEPTH, workers=3, image=True, files={"up/x": b"x"})
	for i in range(10):
		with server.connect() as c:
			assert c.get("/files/d%d/f" % i).status == 404
			assert put(c, "d%d/f" % i, b"%d" % i).status == 201
		for _ in range(6):
			with server.connect() as c:
				assert c.get("/files/d%d/f" % i).body == b"%d" % i and c.get("/up/d%d/f" % i).body == b"%d" % i


# --- upload-dir in a location ---------------------------------------------------------------------

LOCATIONS = """upload-public = true  upload-depth = 1
location "/drop/" { upload-dir = "up"  %s }
location "/outside" { upload-dir = "outside"  autoindex = true }
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_location(make, way):
	"""The title of the location takes the place of /files, for all that /files answers."""
	server = make(LOCATIONS % "")
	with connect(server, way) as c:
		made = c.request("PUT", "/drop/new%20one", [], b"1")
		assert (made.status, made.get("location")) == (201, "/drop/new%20one")
		got = c.get("/drop/new%20one")
		assert (got.body, got.get("content-security-policy")) == (b"1", "sandbox")
		assert c.request("PUT", "/drop/a/deep", [], b"2").get("location") == "/drop/a/deep"
		assert c.get("/drop/a/deep").body == b"2"
		assert c.request("PUT", "/drop/a/b/deep", [], b"2").status == 400
		assert post_in(c, "/drop/", [("f1", b"1")]).get("location") == "/drop/f1"
		assert post_in(c, "/drop/a/", [("f2", b"1")]).get("location") == "/drop/a/f2"
		assert tree(server) == BEFORE | {"new one", "a/", "a/deep", "a/f2", "f1"}
		assert c.request("DELETE", "/drop/f1").status == 204
		assert c.request("DELETE", "/drop/a/f2").status == 204
		assert c.get("/drop/f1").status == 404
		assert set(c.request("OPTIONS", "/drop/").get("allow").split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}
		for path in ("/drop/new%20one", "*"):
			assert "PUT" in c.request("OPTIONS", path).get("allow")
		assert post_in(c, "/outside", [("f3", b"3")]).get("location") == "/outside/f3"
		assert post_in(c, "/outside/", [("f4", b"4")]).get("location") == "/outside/f4"
		assert c.get("/outside/x").body == b"x"
		assert c.request("PUT", "/outside.gz", [], b"x").status == 405, "it is beside the location"


def test_a_location_has_no_other_path(make):
	server = make(LOCATIONS % "")
	with server.connect() as c:
		for path in ("/files/x", "/files", "/up/x", "/x"):
			assert c.request("PUT", path, [], b"x").status == 405, path
		told = c.request("PUT", "/up/x", [], b"x")
		assert b"/drop/ (POST)" in told.body and b"/drop/NAME (PUT" in told.body
	assert tree(server) == BEFORE


def test_a_location_beside_the_server(make):
	"""Each has its own directory."""
	server = make(DEPTH.replace('"up"', '"outside"') + 'location "/drop" { upload-dir = "up" }\n')
	with server.connect() as c:
		assert put(c, "one", b"1").status == 201
		assert c.request("PUT", "/drop/two", [], b"2").status == 201
		assert (c.get("/files/two").status, c.get("/drop/one").status) == (404, 404)
		assert (c.get("/files/one").body, c.get("/drop/two").body) == (b"1", b"2")
	assert tree(server) == BEFORE | {"two"}


def test_a_location_with_rules(h2d):
	server = h2d.new(files={"up/.keep": b"", "outside/.keep": b""})
	users = put_users(server, anna=hashed("sesame"))
	server.write_conf(server=LOCATIONS.replace("upload-public = true", "") % 'auth-basic-file = "%s"' % users)
	server.start()
	with server.connect() as c:
		assert c.request("PUT", "/drop/x", [], b"x").status == 401
		assert c.request("PUT", "/drop/x", basic("anna", "sesame"), b"x").status == 201
		assert c.request("PUT", "/outside/y", [], b"x").status == 403
	assert "upload-dir refuses all uploads: set auth-basic-file, allow or allow-subject for /outside" in server.log_text()


def test_the_form_of_a_location(make):
	server = make(LOCATIONS % "autoindex = true")
	with server.connect() as c:
		page = c.get("/outside/", [BROWSER])
		assert action(page, "/outside/") == "/outside/"
		assert action(c.get("/drop/", [BROWSER]), "/drop/") is None, "it is the listing of another directory"
		kind, body = form([("f", b"1")])
		shown = c.request("POST", "/outside/", [("content-type", kind), BROWSER], body)
		assert (shown.status, shown.get("location")) == (303, "/outside/")


def test_an_upload_to_a_location_goes_on(make):
	server = make(LOCATIONS % "")
	with server.connect() as c:
		begun = c.request("PUT", "/drop/x", [VERSION, PIECE], b"abc")
		at = begun.get("location")
		assert (begun.status, at.startswith("/drop/x/.upload/")) == (201, True)
		ended = append(c, at, 3, b"def")
		assert (ended.status, ended.get("content-location")) == (201, "/drop/x")
		assert c.get("/drop/x").body == b"abcdef"
