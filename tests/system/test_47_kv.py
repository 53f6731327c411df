"""examples/kv.c: a store on SQLite. Nothing that was answered is lost, and nobody overwrites what he has not seen."""
import concurrent.futures
import contextlib
import sqlite3
import subprocess

import pytest

from client import Closed
from test_47_handlers import HANDLERS, PATIENT, link

ROUTES = subprocess.run([HANDLERS, "--routes"], stdout=subprocess.PIPE, text=True, check=True).stdout

pytestmark = pytest.mark.skipif("/kv/" not in ROUTES, reason="built without SQLite")


@pytest.fixture
def kv(h2d, tmp_path):
	"""Makes servers with a database of their own, which the user of the workers may write."""
	def start(**options):
		return h2d(binary=HANDLERS, listens=("tcp",), sections='handler "kv" { database = "%s/kv.sqlite" max-value = 64K }'
			% tmp_path, **options)
	return start


def put(c, name, value, *headers):
	return c.request("PUT", "/kv/" + name, [("content-length", str(len(value))), *headers]
		if hasattr(c, "conn") else list(headers), value)


def test_values(kv, speak):
	with link(kv(), speak) as c:
		assert c.get("/kv/a").status == 404
		made = put(c, "a", b"1")
		assert made.status == 201
		read = c.get("/kv/a")
		assert (read.status, read.body, read.get("etag")) == (200, b"1", made.get("etag"))
		assert read.get("x-content-type-options") == "nosniff"
		replaced = put(c, "a", b"")
		assert replaced.status == 204 and replaced.get("etag") != made.get("etag")
		assert c.get("/kv/a").body == b""
		assert c.request("HEAD", "/kv/a").status == 200
		bytes_of_all_kinds = bytes(range(256)) * 200
		assert put(c, "%c3%b6%20%ff", bytes_of_all_kinds).get("location") == "/kv/%C3%B6%20%FF"
		assert c.get("/kv/%c3%b6%20%ff").body == bytes_of_all_kinds
		assert c.get("/kv/%c3%b6%20").status == 404
		assert c.request("DELETE", "/kv/a").status == 204
		assert c.request("DELETE", "/kv/a").status == 404
		assert put(c, "a", b"x" * 65536).status == 201
		assert put(c, "a", b"x" * 65537).status == 413


def test_conditions(kv, speak):
	with link(kv(), speak) as c:
		assert put(c, "a", b"1", ("if-match", "*")).status == 412
		assert put(c, "a", b"1", ("if-none-match", "*")).status == 201
		assert put(c, "a", b"2", ("if-none-match", "*")).status == 412
		tag = c.get("/kv/a").get("etag")
		for fields, status in (
				([("if-none-match", tag)], 304),
				([("if-none-match", '"x", W/%s' % tag)], 304),
				([("if-none-match", '"x"'), ("if-none-match", tag)], 304),
				([("if-none-match", "*")], 304),
				([("if-none-match", '"x"')], 200),
				([("if-match", '"x"')], 412),
				([("if-match", "W/" + tag)], 412),
				([("if-match", '"x" , ' + tag)], 200),
		):
			answer = c.get("/kv/a", fields)
			assert answer.status == status, fields
			assert status == 412 or answer.get("etag") == tag
		assert put(c, "a", b"2", ("if-match", tag)).status == 204
		assert put(c, "a", b"3", ("if-match", tag)).status == 412
		assert c.request("DELETE", "/kv/a", [("if-match", tag)]).status == 412
		tag = c.get("/kv/a").get("etag")
		assert c.request("DELETE", "/kv/a", [("if-match", tag)]).status == 204
		assert put(c, "a", b"2").get("etag") != tag, "a tag never comes again"


def count(server, speak, times):
	"""Adds one so many times, each time to what it has read; how often somebody else was faster."""
	refused = 0
	def ask(what):
		while True:
			# A worker that leaves may close a connection on which nothing is asked, and has done nothing then.
			with contextlib.suppress(Closed), link(server, speak) as c:
				return what(c)
	while times > 0:
		now = ask(lambda c: c.get("/kv/sum"))
		answer = ask(lambda c: put(c, "sum", b"%d" % (int(now.body) + 1), ("if-match", now.get("etag"))))
		assert answer.status in (204, 412)
		times -= answer.status == 204
		refused += answer.status == 412
	return refused


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_no_update_is_lost(kv, dispatch):
	"""Clients of both protocols, on two workers, add to one number; reloads come meanwhile."""
	server = kv(workers=2, dispatch=dispatch)
	with link(server, "h2") as c:
		assert put(c, "sum", b"0").status == 201
	with concurrent.futures.ThreadPoolExecutor(6) as pool:
		counting = [pool.submit(count, server, speak, 10) for speak in ("h1", "h2") * 3]
		for _ in range(2):
			server.reload()
		for c in counting:
			c.result(PATIENT)
	with link(server, "h1") as c:
		assert c.get("/kv/sum").body == b"60"


def test_migrations(kv, tmp_path):
	"""A database of the first version keeps its values; one of a later program is left alone."""
	def sql(text):
		with sqlite3.connect(tmp_path / "kv.sqlite") as db:
			return db.execute(text).fetchall()
	sql("CREATE TABLE kv (id INTEGER PRIMARY KEY, name BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
	sql("INSERT INTO kv (name, value) VALUES (x'61', x'31')")
	sql("PRAGMA user_version = 1")
	server = kv(workers=4)
	with link(server, "h2") as c:
		assert (c.get("/kv/a").body, c.get("/kv/a").get("etag")) == (b"1", '"0"')
		assert put(c, "a", b"2", ("if-match", '"0"')).status == 204
	assert sql("PRAGMA user_version") == [(2,)] and sql("PRAGMA journal_mode") == [("wal",)]
	sql("PRAGMA user_version = 3")
	server.run("-s", "reload", check=1)
	server.log.wait("handler kv: worker_init")
	with link(server, "h2") as c:
		assert c.get("/kv/a").body == b"2"


def test_without_a_database(h2d, speak):
	with link(h2d(binary=HANDLERS, listens=("tcp",)), speak) as c:
		assert [c.get("/kv/a").status, put(c, "a", b"1").status] == [404, 404]
