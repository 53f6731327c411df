"""examples/login.c: a form, a session, and what others must not do with them."""
import re
import urllib.parse

import pytest

from test_47_handlers import HANDLERS, PATIENT, link
from users import YESCRYPT, hashed

FORM = ("content-type", "application/x-www-form-urlencoded")


@pytest.fixture
def site(h2d, tmp_path):
	"""Makes servers where ada may log in."""
	users, key = tmp_path / "users", tmp_path / "key"
	users.write_text("bob:*\nada:%s\n" % hashed("love&lace", YESCRYPT))
	key.write_bytes(b"k" * 32)

	def start(lifetime="1h", **options):
		return h2d(binary=HANDLERS, sections='handler "login" { users = "%s" key-file = "%s" lifetime = %s }'
			% (users, key, lifetime), **options)
	start.key = key
	return start


def post(c, path, fields=(), **form):
	body = urllib.parse.urlencode(form).encode()
	length = [("content-length", str(len(body)))] if hasattr(c, "conn") else []
	return c.request("POST", path, [FORM, *length, *fields], body)


def log_in(c, fields=()):
	"""The answer, and the cookie as a browser sends it back."""
	answer = post(c, "/login", fields, name="ada", password="love&lace")
	assert (answer.status, answer.get("location")) == (303, "/account"), answer
	return answer.get("set-cookie"), ("cookie", answer.get("set-cookie").split(";")[0])


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_a_session(site, speak, how):
	server = site(workers=2)
	with link(server, speak, how) as c:
		assert c.get("/account").status == 303
		form = c.get("/login")
		assert form.status == 200 and b'method="post" action="/login"' in form.body
		said, cookie = log_in(c)
		name = "__Host-session" if how == "tls" else "session"
		assert re.fullmatch(name + r"=ada:\d+:[0-9a-f]{32}:[0-9a-f]{64}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax"
			+ ("; Secure" if how == "tls" else ""), said)
		account = c.get("/account", [cookie])
		assert account.status == 200 and b"You are ada." in account.body
		assert account.get("cache-control") == "no-store"
		assert c.get("/login", [cookie]).get("location") == "/account"
		assert log_in(c)[0] != said, "each session is one of its own"
	server.reload()
	for _ in range(8):
		with link(server, speak, how) as c:
			assert c.get("/account", [cookie]).status == 200, "every worker knows it, also behind a reload"
			assert c.get("/account", [("cookie", "other=1"), cookie]).status == 200
	with link(server, speak, how) as c:
		out = post(c, "/logout", [cookie])
		assert (out.status, out.get("location")) == (303, "/login")
		assert out.get("set-cookie").startswith(name + "=; Path=/; Max-Age=0; ")


def test_forged_cookies(site, speak):
	server = site()
	with link(server, speak) as c:
		good = log_in(c)[1][1]
		name, value = good.split("=")
		parts = value.split(":")
		forged = [value[:-1] + ("0" if value[-1] != "0" else "1"), value[:-1], value + "0", "", ":", "a" * 5000,
			":".join(["bob"] + parts[1:]), ":".join([parts[0], str(int(parts[1]) + 1)] + parts[2:]),
			":".join(parts[:3]), value.replace("ada", "ad"), "::" * 200]
		for value in forged:
			assert c.get("/account", [("cookie", "%s=%s" % (name, value))]).status in (303, 431), value
	site.key.write_bytes(b"another key that has 32 bytes...")
	server.reload()
	with link(server, speak) as c:
		assert c.get("/account", [("cookie", good)]).status == 303, "another key ends all sessions"


def test_an_old_session(site):
	server = site(lifetime="0")
	with link(server, "h2") as c:
		assert c.get("/account", [log_in(c)[1]]).status == 303


def test_wrong_passwords(site, speak):
	server = site()
	with link(server, speak) as c:
		for name, password in (("ada", "lovelace"), ("eve", "love&lace"), ("bob", "*"), ("ad", "x"), ("ada", "")):
			answer = post(c, "/login", name=name, password=password)
			assert answer.status == 403 and b"Name or password is wrong" in answer.body
			assert answer.get("set-cookie") is None
		for name, password in (("", "x"), ("a:b", "x"), ("<b>", "x"), ("a" * 65, "x"), ("ada", "x" * 200), ("ada", "a\0b")):
			assert post(c, "/login", name=name, password=password).status == 400
		assert post(c, "/login", name="ada").status == 400
		log_in(c)
	counted = server.status()["handlers"]
	assert (counted["login_wrong_total"], counted["login_sessions_total"], counted["login_check_seconds"]["count"]) == (5, 1, 6)


def test_forms_of_other_sites(site, speak):
	"""A browser says where a form is from."""
	with link(site(), speak) as c:
		for origin in ("https://evil.example", "null", "https://" + c.authority, "http://%s.evil.example" % c.authority):
			assert post(c, "/login", [("origin", origin)], name="ada", password="love&lace").status == 403
			assert post(c, "/logout", [("origin", origin)]).status == 403
		log_in(c, [("origin", "http://" + c.authority.upper())])


def test_many_at_once(site):
	"""Who comes while 32 checks of the worker wait is told to come again."""
	body = urllib.parse.urlencode({"name": "ada", "password": "wrong"}).encode()
	with site().connect("tcp", timeout=PATIENT) as c:
		streams = [c.send("POST", "/login", [FORM, ("content-length", str(len(body)))], body) for _ in range(60)]
		answers = [c.response(stream) for stream in streams]
	assert {a.status for a in answers} <= {403, 503}
	assert [a.status for a in answers].count(403) >= 32
	assert all(a.get("retry-after") == "5" for a in answers if a.status == 503)


def test_off_without_users(h2d, speak):
	with link(h2d(binary=HANDLERS, listens=("tcp",)), speak) as c:
		assert [c.get(path).status for path in ("/login", "/account")] == [404, 404]


def test_a_short_key(site, speak):
	"""Such a server does not start, and a reload changes nothing."""
	server = site()
	site.key.write_bytes(b"short")
	server.run("-s", "reload", check=1)
	server.log.wait("handler login: key-file .* has fewer than 32 bytes")
	server.log.wait("handler login: worker_init")
	with link(server, speak) as c:
		log_in(c)
