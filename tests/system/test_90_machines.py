"""Several machines that serve one site: the same answers from each, and a name by which they are told apart."""
import json
import os
import shutil
import socket

import pytest

import client
from server import SLOW
from test_75_access_log import flush

CONF = 'instance-name = "%s"  request-id = true\naccess-log = "all.log"  access-log-format = json'
LONG = 3 << 20  # beyond cache.max-file-size
FILES = {"page.html": "<p>page</p>\n" * 200, "long.bin": os.urandom(1 << 16) * (LONG >> 16), "a/style.css": "a { b: c }\n"}


def copy_of(server, root):
	"""The tree as rsync -a has it: contents and times."""
	shutil.rmtree(root)
	shutil.copytree(server.root, root, copy_function=shutil.copy2)


def metrics(server):
	with client.Client.unix(server.admin_path) as c:
		return c.get("/metrics").body.decode()


def machines(h2d, n, conf=CONF, **options):
	first = h2d(conf=conf % "web-1", files=FILES, **options)
	others = [h2d.new(conf=conf % ("web-%d" % i), **options) for i in range(2, n + 1)]
	for other in others:
		copy_of(first, other.root)
		other.start()
	return [first, *others]


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_machine_says_its_name(h2d, how, dispatch):
	"""In the log, the metrics and the status; it is one name after a reload, too."""
	server = h2d(conf=CONF % "web-1", files=FILES, dispatch=dispatch)
	with server.connect(how) as two, server.h1(how) as one:
		for c in (two, one):
			answers = [c.get(path) for path in ("/page.html", "/none", "/%zz", "/healthz", "/a")]
			assert [a.status for a in answers] == [200, 404, 400, 200, 301]
	assert {json.loads(line)["instance_name"] for line in flush(server, all=10)["all"]} == {"web-1"}
	assert 'h2d_machine_info{instance_name="web-1"} 1' in metrics(server)
	assert server.status()["instance_name"] == "web-1"
	server.put_conf(server.conf_text.replace("web-1", "auto"))
	server.reload()
	server.wait_up(2)
	assert server.status()["instance_name"] == socket.gethostname()
	assert 'instance-name = "%s"' % socket.gethostname() in server.run("-T", check=0).out.replace("  ", " ")


def test_no_name_unless_asked(h2d):
	"""A host's name is not for strangers, unless somebody has said so."""
	server = h2d(conf='access-log = "all.log"  access-log-format = json  instance-name = "auto"', files=FILES)
	with server.connect("tcp") as c:
		answer = c.get("/page.html")
	assert all(socket.gethostname() not in value for _, value in answer.headers)
	assert json.loads(flush(server, all=1)["all"][0])["instance_name"] == socket.gethostname()


def test_the_same_answers(h2d):
	"""Who is sent from one to another in the middle of something notices nothing: tags, dates, ranges, codings."""
	fleet = machines(h2d, 3, CONF.replace("request-id = true", ""))
	for m in fleet:
		m.wait_coded(["page.html"]).wait_tagged("/long.bin")
	found = []
	for m in fleet:
		with m.connect("tcp") as c:
			whole = [c.get(path) for path in ("/page.html", "/long.bin", "/a/style.css", "/", "/none")]
			whole += [c.get("/page.html", [("accept-encoding", coding)]) for coding in ("br", "zstd", "gzip")]
			whole += [c.get("/long.bin", [("range", "bytes=5-9"), ("if-range", whole[1].get("etag"))])]
			found.append([(a.status, a.body, [(n, v) for n, v in a.headers if n not in ("date", "x-request-id")])
				for a in whole])
	assert found[0] == found[1] == found[2]
	assert [status for status, _, _ in found[0]] == [200, 200, 200, 200, 404, 200, 200, 200, 206]
	assert not dict(found[0][1][2])["etag"].startswith("W/")


def test_no_id_is_given_twice(h2d):
	"""Requests of all machines and workers, reloads included, are told apart by their ids."""
	count = 50 if SLOW > 1 else 200
	fleet = machines(h2d, 3, workers=2, listens=("tcp",))
	ids = []
	for round in range(2):
		for m in fleet:
			for _ in range(4):
				with m.connect("tcp") as c:
					ids += [c.get("/a/style.css").get("x-request-id") for _ in range(count // 4)]
			if round == 0:
				m.reload()
	assert len(ids) == len(set(ids)) == 2 * 3 * (count // 4) * 4
