"""Media types of a server's own: types, default-type."""
import gzip
import os

import pytest

import procs
from test_44_explain import explain, line_of
from test_48_settings import faults

TEXT = "words that compress well, " * 200
FILES = {name: TEXT for name in ("a.foo", "A.FOO", "a.gltfx", "a.blob", "a.md", "a.txt", "none", "a.unknown", "d/a.foo", "x.css", "a.pic")}
TYPES = """types = {"foo: text/x-foo", "GltfX: model/x+json", "blob: application/x-blob", "md: text/plain", "pic: image/svg+xml"}
default-type = "application/x-what"
location "/d/" { charset = "latin1" }"""
EXPECTED = {"/a.foo": "text/x-foo; charset=utf-8", "/A.FOO": "text/x-foo; charset=utf-8", "/a.gltfx": "model/x+json",
	"/a.blob": "application/x-blob", "/a.md": "text/plain; charset=utf-8", "/a.txt": "text/plain; charset=utf-8",
	"/none": "application/x-what", "/a.unknown": "application/x-what", "/d/a.foo": "text/x-foo; charset=latin1",
	"/x.css": "text/css; charset=utf-8", "/a.pic": "image/svg+xml"}


def coding(client, path):
	answer = client.get(path, [("accept-encoding", "gzip")])
	assert answer.status == 200
	return answer.get("content-encoding"), answer.get("vary")


@pytest.mark.parametrize("source", ["image", "disk"])
def test_types(h2d, source):
	"""The same from the image and the disk; text and what is written as JSON or XML is compressed."""
	server = h2d.new(files=FILES, listens=("tcp",))
	server.write_conf(server=TYPES, sections="" if source == "image" else "cache { max-size = 0 }")
	server.start(image=source == "image")
	if source == "image":
		server.wait_coded(["/" + name for name in ("a.foo", "a.gltfx", "a.pic")])
	with server.connect("tcp") as c:
		for path, wanted in EXPECTED.items():
			assert c.get(path).get("content-type") == wanted, path
		for path in ("/a.foo", "/a.gltfx", "/a.pic", "/a.md"):
			assert coding(c, path) == (("gzip" if source == "image" else None), "accept-encoding"), path
		for path in ("/a.blob", "/none", "/a.unknown"):
			assert coding(c, path) == (None, None), path


@pytest.mark.parametrize("source", ["image", "disk"])
def test_compress_types(h2d, source):
	"""A location chooses the types that are sent compressed, from one tree; --explain names the line."""
	server = h2d.new(files={place + name: TEXT for place in ("", "own/", "none/", "more/") for name in ("a.txt", "a.json", "a.png")},
		listens=("tcp",))
	put = {"own/a.txt": "text", "more/a.png": "picture"}
	for name, text in put.items():
		server.write(name + ".gz", gzip.compress(text.encode()))
	server.write_conf(sections="" if source == "image" else "cache { max-size = 0 }", server="""
compress-types = "text/*"
location "/own/" { compress-types = {"image/png", "application/json"} }
location "/none/" { compress-types = {} }
location "/more/" { compress-types = {"auto", "image/png"} }""")
	server.start(image=source == "image")
	packed = {"/a.txt", "/own/a.json", "/own/a.png", "/more/a.txt", "/more/a.json", "/more/a.png"}
	if source == "image":
		server.wait_checked()
		server.wait_settled()
	with server.connect("tcp") as c:
		for place in ("/", "/own/", "/none/", "/more/"):
			for name in ("a.txt", "a.json", "a.png"):
				path = place + name
				made = path in packed and (source == "image" or path[1:] in put)
				assert coding(c, path) == ("gzip" if made else None, "accept-encoding" if path in packed else None), path
		assert c.get("/own/a.txt", [("accept-encoding", "gzip")]).body == TEXT.encode(), "nor what is beside it"
	for path, line in () if source == "disk" else (("/a.json", "compress-types = \"text"), ("/own/a.txt", "compress-types = {\"image")):
		place, = [place for what, text, place in explain(server, path, "-H", "accept-encoding: gzip") if text.startswith("none: compress-types")]
		assert place == line_of(server, line)
	faults(h2d, 'compress-types = {"text", "*"}', (0, 'compress-types "text": write a'), (0, 'compress-types "*": write a'))


def policies(answer):
	return [v for n, v in answer.headers if n == "content-security-policy"]


MEDIA = {"film.mp4": "video/mp4", "sound.ogg": "audio/ogg", "p.png": "image/png", "p.upper": "video/x-what"}
SCRIPTS = {"a.foo": "text/html; charset=utf-8", "p.svg": "image/svg+xml", "p.svgz": "image/svg+xml", "p.shout": "image/X+XML",
	"a.pdf": "application/pdf", "film.mp4.foo": "text/html; charset=utf-8", "none": "application/octet-stream"}


@pytest.mark.parametrize("protocol", ["h2", "h1"])
@pytest.mark.parametrize("source", ["image", "disk"])
def test_uploads_are_as_safe(h2d, source, protocol):
	"""
	nosniff is not of the type, and sandbox of what can have a script: by the type that is sent, whatever the name
	says, with each status. Browsers play nothing that is sandboxed.
	"""
	files = {"files/" + name: TEXT for name in [*MEDIA, *SCRIPTS]}
	server = h2d.new(files=files, listens=("tcp",))
	server.write_conf(server="""upload-dir = "files"  upload-public = true
types = {"foo: text/html", "upper: video/x-what", "shout: image/X+XML"}""",
		sections="" if source == "image" else "cache { max-size = 0 }")
	server.start(image=source == "image")
	with server.connect("tcp") if protocol == "h2" else server.h1("tcp") as c:
		for names, policy in ((MEDIA, []), (SCRIPTS, ["sandbox"])):
			for name, kind in names.items():
				path = "/files/" + name
				answer = c.get(path)
				assert (answer.status, answer.get("content-type")) == (200, kind), path
				same = [("if-none-match", answer.get("etag"))]
				for status, headers in ((200, []), (206, [("range", "bytes=0-9")]), (304, same),
						(206, [("range", "bytes=0-9,20-29")])):
					answer = c.get(path, headers=headers)
					assert answer.status == status, (path, headers)
					assert answer.get("x-content-type-options") == "nosniff", (path, headers)
					assert policies(answer) == policy, (path, headers)
				assert policies(c.request("HEAD", path)) == policy
		assert policies(c.get("/files/none.mp4")) == ["sandbox"], "the page of an error is no film"
		assert policies(c.get("/files/film.mp4", headers=[("if-match", '"no"')])) == ["sandbox"]


WAYS_TO_AN_UPLOAD = {
	"own": ("/x/raw/evil.html", "/x/raw/", "/raw/evil.html", "/gone", "/latest/evil.html", "/one.html", "/files/evil.html"),
	"around": ("/www/x/raw/evil.html", "/www/x/raw/", "/www/latest/evil.html"),
	"is": ("/evil.html", "/evil", "/", "/sub/deep.html", "/sub/", "/none"),
	"within": ("/deep.html", "/"),
	"spelled": ("/raw/evil.html",),
	"linked": ("/evil.html", "/sub/deep.html"),
	"elsewhere": ("/in/evil.html", "/in/sub/", "/file"),
}


@pytest.mark.parametrize("protocol", ["h2", "h1"])
@pytest.mark.parametrize("source", ["image", "disk"])
def test_an_upload_by_whatever_way(h2d, source, protocol):
	"""The folder of one server may be below another's root, be it, or be around it, be a location's, and be reached by links."""
	evil = "<script>"
	server = h2d.new(files={"x/raw/evil.html": evil, "x/raw/sub/deep.html": evil, "plain.html": "page"}, listens=("tcp",))
	www, other = server.root, server.path("other")
	os.mkdir(other)
	os.symlink("x/raw", www + "/latest")
	os.symlink("x/raw/evil.html", www + "/one.html")
	os.symlink(www + "/x/raw", other + "/in")
	os.symlink(www + "/x/raw/evil.html", other + "/file")
	os.symlink(www + "/x/raw", server.path("current"))
	is_one = 'index = {"evil.html"}  extensions = {".html"}  error-page "404" { file = "/evil.html" }'
	server.write_conf(server='''upload-dir = "x/raw"  upload-public = true  index = {"evil.html"}
fallback = "/x/raw/evil.html"  location "/raw/" { root = "%s/x" }''' % www,
		sections="\n".join(['server "around" { root = "%s"  index = {"evil.html"} }' % server.dir,
			'server "is" { root = "%s/x/raw"  %s  location "/sub/" { index = {"deep.html"} } }' % (www, is_one),
			'server "within" { root = "%s/x/raw/sub"  index = {"deep.html"} }' % www,
			'server "spelled" { root = "%s/./x//../x/" }' % www, 'server "linked" { root = "%s" }' % server.path("current"),
			'server "elsewhere" { root = "%s"  follow-links = all  location "/in/sub/" { index = {"deep.html"} } }' % other,
			"" if source == "image" else "cache { max-size = 0 }"]))
	server.start(image=source == "image")
	for host, paths in WAYS_TO_AN_UPLOAD.items():
		with (server.connect if protocol == "h2" else server.h1)("tcp", authority=host) as c:
			for path in paths:
				answer = c.get(path)
				assert (answer.status, answer.body) == (404 if path == "/none" else 200, evil.encode()), (host, path)
				assert (policies(answer), answer.get("x-content-type-options")) == (["sandbox"], "nosniff"), (host, path)
	with server.connect("tcp") as c:
		assert (policies(c.get("/plain.html")), c.get("/plain.html").get("x-content-type-options")) == ([], None)


def test_film_whose_page_answers(h2d):
	"""By the path of its folder an upload may answer for a name that leaves its extension out."""
	server = h2d.new(files={"up/film.mp4.html": "<script>", "up/film.mp4x.mp4": "film"}, listens=("tcp",))
	server.write_conf(server='upload-dir = "up"  extensions = {".html", ".mp4"}')
	server.start(image=True)
	with server.connect("tcp") as c:
		for path, policy in (("/up/film.mp4", "sandbox"), ("/up/film.mp4x", None)):
			answer = c.get(path)
			assert (answer.status, answer.get("content-security-policy")) == (200, policy), path


def test_reload(h2d):
	"""The next generation's image has the next generation's types, though its files are taken over."""
	server = h2d.new(files={"a.foo": TEXT}, listens=("tcp",))
	os.utime(server.path("www", "a.foo"), (1e9, 1e9))
	server.start(image=True)
	generation = 1
	for conf, wanted, coded in (('types = {"foo: text/x-foo"}', "text/x-foo; charset=utf-8", "gzip"),
			('types = {"foo: video/x-foo"}', "video/x-foo", None), ("", "application/octet-stream", None),
			('default-type = "text/plain"', "text/plain; charset=utf-8", "gzip")):
		image = server.status()["image"]
		server.write_conf(server=conf)
		server.reload()
		generation += 1
		server.wait_up(generation)
		server.wait_image(image)
		with server.connect("tcp") as c:
			answer = c.get("/a.foo")
			assert answer.get("content-type") == wanted
			procs.wait_for(lambda c=c, coded=coded: coding(c, "/a.foo")[0] == coded, said="the coding of a type that is new")
			assert c.get("/a.foo").get("etag") is not None


def test_two_servers_of_one_tree(h2d):
	server = h2d.new(files={"a.foo": TEXT}, listens=("tcp",))
	server.write_conf(server='types = {"foo: text/x-one"}', sections=
		'server "two" { root = "%s"  types = {"foo: text/x-two"} }\nserver "three" { root = "%s" }' % (server.root, server.root))
	server.start(image=True)
	for host, wanted in (("one", "text/x-one; charset=utf-8"), ("two", "text/x-two; charset=utf-8"),
			("three", "application/octet-stream")):
		with server.connect("tcp", authority=host) as c:
			assert c.get("/a.foo").get("content-type") == wanted, host


def test_faults(h2d):
	faults(h2d, """types = {"foo", ".foo: text/x", "tar.gz: text/x", "a b: text/x", ": text/x",
"foo: text", "bar: text/", "baz: text/plain; charset=utf-8", "q: a/b/c",
"one: text/x", "ONE: text/y"}
default-type = "unknown\"""",
		*[(0, 'types "%s": %s' % said) for said in (("foo", 'write "EXTENSION: TYPE"'), (".foo: text/x", "write the extension without"),
			("tar.gz: text/x", "write one extension before the colon"), ("a b: text/x", "write one extension before"), (": text/x", "write one extension before"),
			("foo: text", "write a media type"), ("bar: text/", "write a media type"), ("baz: text/plain; charset=utf-8", "remove the parameters"),
			("q: a/b/c", "write a media type"))],
		(3, 'default-type "unknown": write a media type'))
	done = faults(h2d, 'types = {"one: text/x", "ONE: text/y"}')
	assert 'duplicate extension' in done.err
