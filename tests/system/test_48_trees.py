"""A second tree for the paths of a location: served, cached and watched as the first."""
import os

import pytest

from everywhere import Everywhere


def put(server, name, text):
	path = server.path(name)
	os.makedirs(os.path.dirname(path), exist_ok=True)
	with open(path + ".new", "w") as f:
		f.write(text)
	os.rename(path + ".new", path)


@pytest.mark.parametrize("source", ["image", "disk"])
def test_a_second_tree(h2d, connect, source):
	"""The whole path is looked for below the location's root."""
	server = h2d.new(files={"index.html": "index", "media/a": "hidden by the location", "404.html": "lost", "f": "f"})
	for name, text in (("m/media/a", "the other"), ("m/media/index.html", "media"), ("m/media/d/x.txt", "x"), ("m/f", "other f"),
			("m/404.html", "another"), ("app/app/page.html", "page"), ("app/app/index.html", "app")):
		put(server, name, text)
	server.write_conf(server="""
error-page "404" { file = "/404.html" }
location "/media" { root = "%s/m"  charset = "latin1"  autoindex = true }
location "/media/none/" { autoindex = false }
location "/app/" { root = "%s/app"  extensions = {".html"}  fallback = "/app/index.html" }
location "/new" { fallback = "/app/page.html" }
""" % (server.dir, server.dir), sections='cache { max-file-size = "%s" }' % ("1M" if source == "image" else "1"))
	server.start(image=True)
	with connect(server) as c:
		for path, body in (("/", b"index"), ("/f", b"f"), ("/media/a", b"the other"), ("/media/", b"media"), ("/media/d/x.txt", b"x"),
				("/app/", b"app"), ("/app/page", b"page"), ("/app/none", b"app"), ("/new/none", b"page")):
			answer = c.get(path)
			assert (answer.status, answer.body) == (200, body), path
		assert c.get("/media/d/x.txt").get("content-type") == "text/plain; charset=latin1"
		assert b"x.txt" in c.get("/media/d/").body
		assert c.get("/media").get("location") == "/media/"
		for path in ("/media/none", "/media/none/x", "/media/f"):
			answer = c.get(path)
			assert (answer.status, answer.body) == (404, b"lost"), path
	if source == "image":
		server.wait_cached("/media/a")
		return
	misses = server.status()["totals"]["cache_misses"]
	with connect(server) as c:
		assert c.get("/media/a").status == 200
	assert server.status()["totals"]["cache_misses"] > misses


def test_freshness_of_a_second_tree(h2d):
	server = h2d.new(workers=2)
	put(server, "m/media/a", "one")
	server.write_conf(server='location "/media" { root = "%s/m" }' % server.dir)
	server.start(image=True)
	with Everywhere(server) as all_of_them:
		all_of_them.cached("/media/a", b"one")
		all_of_them.changed()
		put(server, "m/media/a", "two")
		all_of_them.agree("/media/a", b"two")
		all_of_them.settle("/media/a", b"two")
		os.unlink(server.path("m/media/a"))
		all_of_them.agree("/media/a", 404)
