"""Media types of a server's own: types, default-type."""
import os

import pytest

import procs
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


def test_uploads_are_as_safe(h2d):
	"""nosniff and sandbox are not of the type."""
	server = h2d.new(files={"files/a.foo": TEXT}, listens=("tcp",))
	server.write_conf(server='upload-dir = "files"  upload-public = true  types = {"foo: text/html"}')
	server.start(image=True)
	with server.connect("tcp") as c:
		answer = c.get("/files/a.foo")
		assert answer.get("content-type") == "text/html; charset=utf-8"
		assert (answer.get("x-content-type-options"), answer.get("content-security-policy")) == ("nosniff", "sandbox")


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
		*[(0, 'types "%s": %s' % said) for said in (("foo", 'it is written "EXTENSION: TYPE"'), (".foo: text/x", "the extension is written without"),
			("tar.gz: text/x", "what stands before the colon"), ("a b: text/x", "what stands before"), (": text/x", "what stands before"),
			("foo: text", "a media type is written"), ("bar: text/", "a media type"), ("baz: text/plain; charset=utf-8", "a media type has no parameters"),
			("q: a/b/c", "a media type is"))],
		(3, 'default-type "unknown": a media type is written'))
	done = faults(h2d, 'types = {"one: text/x", "ONE: text/y"}')
	assert 'this extension is there twice' in done.err
