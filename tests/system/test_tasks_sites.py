"""Tasks of an operator with many sites; see tasks.py."""
import os
import re
import subprocess
import time

import pytest

import client
import h1client
import harness
import procs
from server import SANITIZED
from tasks import PLAIN, Ask, Tasks
from users import basic, hashed

TASKS = Tasks()
task = TASKS.add

# --- what sites share -------------------------------------------------------------------------------


def put_snippets(run):
	run.put("etc/h2d/snippets/static.inc", 'cache-control = "max-age=31536000, immutable"\n')
	run.put("etc/h2d/snippets/site.inc", """# what all sites of ours have
index = {"start.html"}
add-header = {"x-frame-options: DENY"}
location "/assets/" { include("static.inc") }
""")


task("snippets that sites share", PLAIN + """
server "example.com" {
	root = "/srv/www"
	include("snippets/site.inc")
}
server "example.net" {
	include("snippets/*.inc")
	root = "/srv/www"
}
""", Ask("/", body="Start", x_frame_options="DENY", cache_control=None), Ask("/assets/a.js", cache_control="max-age=31536000, immutable"),
	Ask("/", body="Start", host="example.net", cache_control="max-age=31536000, immutable"),
	files={"start.html": "Start", "assets/a.js": "1"}, before=put_snippets)

task("settings of all sites", PLAIN + """
autoindex = true
charset = "iso-8859-1"
cache-control = "max-age=60"
add-header = {"x-frame-options: DENY"}
auth-basic-file = "/etc/h2d/users"
server "example.com" { root = "/srv/www" }
server "example.net" {
	root = "/srv/www"
	autoindex = false
	add-header = {"x-site: net"}
	auth-basic-file = ""
	location "/a/" { cache-control = "no-cache"  charset = "utf-8" }
}
""", Ask("/", 401, x_frame_options="DENY", x_site=None),
	Ask("/a/", body="deep.txt", x_frame_options="DENY", send=basic("anna", "secret")),
	Ask("/a/deep.txt", content_type="text/plain; charset=iso-8859-1", cache_control="max-age=60", send=basic("anna", "secret")),
	Ask("/a/", 404, host="example.net", x_frame_options="DENY", x_site="net"),
	Ask("/a/deep.txt", host="example.net", content_type="text/plain; charset=utf-8", cache_control="no-cache", x_frame_options="DENY"),
	before=lambda run: run.put("etc/h2d/users", "anna:%s\n" % hashed("secret")))


def explained(run):
	done = subprocess.run(run.server.command("-f", run.conf, "--explain", "http://example.com/old/a"), stdout=subprocess.PIPE,
		text=True, timeout=60)
	line, = [line for line in done.stdout.splitlines() if line.startswith("redirect")]
	assert line.endswith(run.conf + ":2"), done.stdout


task("all sites moved", PLAIN + """redirect = "https://new.example.org/"
server "example.com" { }
server "example.net" { root = "/srv/www"  redirect = "" }
""", Ask("/old/a", 301, location="https://new.example.org/old/a"), Ask("/", body="Home", host="example.net"), after=explained)

# --- hosts ------------------------------------------------------------------------------------------

HOSTILE = ("..", "../hosts", "%2e%2e", ".", "a.example.com/../b.example.com", "b.example.com/private", "a.example.com%00", "private",
	"*.example.com", "_", "lost+found", "[::1]", "a" * 300, "UPPER.example.com")


def put_hosts(run):
	for host in ("a.example.com", "b.example.com", "UPPER.example.com", "lost+found"):
		run.put("srv/hosts/%s/public/index.html" % host, "Home of " + host)
		run.put("srv/hosts/%s/private/index.html" % host, "SECRET")
	run.put("srv/hosts/private/index.html", "SECRET")
	run.put("srv/hosts/index.html", "SECRET")
	os.symlink("a.example.com", run.server.path("srv/hosts/www.a.example.com"))
	os.symlink("../../b.example.com/private", run.server.path("srv/hosts/a.example.com/public/link"))


def hostile(run):
	for host in HOSTILE:
		with run.server.socket("tcp") as s:
			s.sendall(b"GET / HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n" % host.encode())
			answer = b"".join(iter(lambda: s.recv(4096), b""))
		assert answer.split()[1] in (b"400", b"404") and b"SECRET" not in answer, (host, answer)
	os.rename(run.server.path("srv/hosts/b.example.com"), run.server.path("srv/hosts/new.example.com"))
	Ask("/", 404, host="new.example.com").check(run)
	run.server.run("-s", "reload", check=0)
	Ask("/", body="Home of b", host="new.example.com").check(run)
	Ask("/", 404, host="b.example.com").check(run)
	os.rename(run.server.path("srv/hosts/new.example.com"), run.server.path("srv/hosts/b.example.com"))
	run.server.run("-s", "reload", check=0)
	assert "h2d.conf:2" in run.server.run("--explain", "http://nobody.example.com/", check=0).out


task("a folder for each host", PLAIN + 'server "_" { root = "/srv/hosts/${host}/public"  cache-control = "max-age=60" }',
	Ask("/", body="Home of a.example.com", host="a.example.com", cache_control="max-age=60"),
	Ask("/", body="Home of b", host="B.Example.com.:8080"), Ask("/", body="Home of a", host="www.a.example.com"),
	Ask("/link/index.html", 404, host="a.example.com"), Ask("/", 404, host="c.example.com"), Ask("/", 404, host="example.com"),
	before=put_hosts, after=hostile)

# --- redirects --------------------------------------------------------------------------------------

LINES = 100000


def put_redirects(run):
	run.put("etc/h2d/moved.txt", "# of the site before\n/old.html /new.html\n/caf%C3%A9\thttps://example.org/caf%C3%A9#menu  302 # for now\r\n\n"
		+ "".join("/2019/%d /archive/%d\n" % (i, i) for i in range(LINES)))


def explained_line(run):
	for path, line in (("/old.html", 2), ("/2019/5", 10)):
		done = subprocess.run(run.server.command("-f", run.conf, "--explain", "http://example.com" + path), stdout=subprocess.PIPE,
			text=True, timeout=60)
		said, = [text for text in done.stdout.splitlines() if text.startswith("redirect")]
		assert said.endswith("etc/h2d/moved.txt:%d" % line), done.stdout
	run.put("etc/h2d/moved.txt", "/a /b\n/c\n/d d\n/e /f 303\n/a /c\nx /y\n/g /h\n/h /g\n/i /i\n/k /l 301 /m\n")
	said = run.test(1)
	for line, what in ((2, "has no target"), (3, "neither a path"), (4, "must be 301"), (5, "is a duplicate of line 1"),
			(6, "is not a path"), (7, "loops back"), (8, "loops back"), (9, "loops back"), (10, "end the line")):
		assert re.search(r"/moved\.txt:%d: .*%s" % (line, what), said), (line, said)
	assert "moved.txt:1:" not in said
	run.put("etc/h2d/moved.txt", "/a /new\n")
	run.server.run("-s", "reload", check=0)
	Ask("/a", 301, location="/new").check(run)


task("a hundred thousand links that moved", PLAIN + """
server "example.com" {
	root = "/srv/www"
	redirect-file = "moved.txt"
	location "/2019/" { redirect = "/all/" }
}
""", Ask("/old.html", 301, location="/new.html"), Ask("/old.html?utm=1", 301, location="/new.html"),
	Ask("/caf%C3%A9", 302, location="https://example.org/caf%C3%A9#menu"), Ask("/2019/%d" % (LINES - 1), 301, location="/archive/99999"),
	Ask("/2019/%d" % LINES, 301, location="/all/%d" % LINES), Ask("/old.htm", 404), Ask("/", body="Home"),
	before=put_redirects, after=explained_line)

def put_patterns(run):
	run.put("etc/h2d/moved.txt", "/* https://new.example/:splat 302\n/old/* /new/:splat\n/old/a/* /a.html\n/old/a/b /b\n"
		"/caf%C3%A9/* https://example.org/:splat 308\n")


def unknown_patterns(run):
	run.put("etc/h2d/moved.txt", "/a/*/b /c\n/a* /c\n/:year/a /b/:year\n/a/* /b/:splat/c\n/a/b /c/:splat\n/a /b/*\n/l/* /l/m/:splat\n"
		"/q/* /r?s=/:splat\n/x/* /y\n/x/* /z\n/a/* /b/:splat 200\n/s/* /t/:splatter\n/u/* /v:splat Country=us\n")
	said = run.test(1)
	for line, what in ((1, "only at its end"), (2, "after a"), (3, 'must not contain "/:"'), (4, "has an invalid target"), (5, "must end in"), (6, "has an invalid target"),
			(7, "loops back"), (8, "query"), (10, "is a duplicate of line 9"), (11, "must be 301"), (12, "has an invalid target"), (13, "must be 301")):
		assert re.search(r"/moved\.txt:%d: .*%s" % (line, what), said), (line, said)


task("folders that moved, as Netlify writes them", PLAIN + """
server "example.com" { root = "/srv/www"  redirect-file = "moved.txt" }
""", Ask("/old/x/y?q=1", 301, location="/new/x/y?q=1"), Ask("/old/", 301, location="/new/"), Ask("/old/a/b", 301, location="/b"),
	Ask("/old/a/c?q", 301, location="/a.html"), Ask("/old//evil.example/", 301, location="/new/evil.example/"),
	Ask("/old/%0d%0ax:%20y", 301, location="/new/%0D%0Ax:%20y"), Ask("/caf%C3%A9/%5c%2e%2e", 308, location="https://example.org/%5C.."),
	Ask("//evil.example/", 302, location="https://new.example/evil.example/"), Ask("/", 302, location="https://new.example/"),
	before=put_patterns, after=unknown_patterns)

# --- the environment --------------------------------------------------------------------------------


def put_variables(run):
	assert "h2d.conf:3: ${SITE_ROOT} is not set in the environment" in run.test(1)
	run.server.env.update(SITE_ROOT=run.root, LISTINGS="true", STAGE="")


def reloaded(run):
	dump = run.server.run("-T", "-f", run.conf, check=0).out
	assert '"x-stage: live"' in dump and "autoindex = true" in dump and "${S" not in dump
	with open(run.conf) as f:
		text = f.read()
	with open(run.conf, "w") as f:
		f.write(text.replace(":live", ":next"))
	run.server.run("-s", "reload", check=0)
	Ask("/app.js", x_stage="next").check(run)


task("the environment of a container", PLAIN + """server "${SITE_NAME:example.com}" {
	root = "${SITE_ROOT}"
	index = {"${SITE_INDEX:none}.html"}
	autoindex = ${LISTINGS:false}
	add-header = {"x-stage: ${STAGE:live}"}
}
""", Ask("/a/deep.txt", body="deep", x_stage="live"), Ask("/a/", body="deep.txt"),
	before=put_variables, after=reloaded)

# --- many -------------------------------------------------------------------------------------------

SITES = 300


def put_sites(run):
	for i in range(SITES):
		run.put("srv/sites/%d/index.html" % i, "Site %d" % i)
		run.put("etc/h2d/sites/%d.conf" % i, run.moved('server "s%d.example.com" { root = "/srv/sites/%d" }\n' % (i, i)))


def one_more(run):
	run.put("etc/h2d/sites/more.conf", run.moved('server "more.example.com" { root = "/srv/sites/0" }\n'))
	run.server.run("-s", "reload", check=0)
	Ask("/", body="Site 0", host="more.example.com").check(run)
	Ask("/", body="Site 17", host="s17.example.com").check(run)


task("hundreds of sites", PLAIN + 'include("sites/*.conf")\nserver "_" { return = 404 }',
	*(Ask("/", body="Site %d" % i, host="s%d.example.com" % i) for i in (0, 1, SITES // 2, SITES - 1)),
	Ask("/", 404, host="s%d.example.com" % SITES), before=put_sites, after=one_more)


task("hundreds of locations", PLAIN + """server "_" {
	root = "/srv/www"
""" + "".join('\tlocation "/team-%d/" { add-header = {"x-team: %d"} }\n' % (i, i) for i in range(SITES)) + "}\n",
	*(Ask("/team-%d/x" % i, 404, x_team=str(i)) for i in (0, 29, 255, 256, SITES - 1)), Ask("/team-%d/x" % SITES, 404, x_team=None))


@pytest.fixture(scope="module")
def cert(tmp_path_factory):
	return harness.Certificate(str(tmp_path_factory.mktemp("tls")), names=["DNS:example.com"])


@pytest.mark.parametrize("name", TASKS.by_name)
def test_task(h2d, cert, name):
	TASKS.play(h2d, cert, name)


def memory(server):
	"""MiB of the master and of its largest worker."""
	return [procs.anonymous_memory(server.pid) / 2**20, max(procs.anonymous_memory(pid) for pid in server.worker_pids()) / 2**20]


def test_thousands_of_servers(h2d, tmp_path):
	"""5 000 blocks with a name and a root each: what the start, a reload and their memory come to."""
	for i in range(50):
		(tmp_path / str(i)).mkdir()
		(tmp_path / str(i) / "index.html").write_text("Root %d" % i)
	(tmp_path / "sites.conf").write_text("".join(
		'server "s%d.example.com" { root = "%s" }\n' % (i, tmp_path / str(i % 50)) for i in range(5000)))
	server = h2d.new(sections='include("%s")' % (tmp_path / "sites.conf"), listens=("tcp",))
	times, sizes = [], []
	for step in (server.start, server.reload, server.reload, server.reload):
		begun = time.monotonic()
		step()
		times.append(time.monotonic() - begun)
		for i in (0, 2500, 4999):
			with h1client.H1(client.tcp_socket(server.ports["tcp"]), authority="s%d.example.com" % i) as c:
				assert c.get("/").body == b"Root %d" % (i % 50)
		procs.wait_for(lambda: len(procs.group_members(server.process.pid)) == 3 + server.acceptors, said="the generation before leaves")
		sizes.append(memory(server))
	if not SANITIZED:  # 75 MiB beside 38, where they keep those of the generations before; the master frees the last one now
		procs.wait_for(lambda: all(now < 1.5 * first for first, now in zip(sizes[0], memory(server))), said="memory comes back")
	sizes.append(memory(server))
	harness.REPORT.append("5 000 servers: start %.2f s, reloads %s s; master %.0f MiB, worker %.0f MiB; after the reloads %.0f and %.0f" % (
		times[0], ", ".join("%.2f" % t for t in times[1:]), *sizes[0], *sizes[-1]))
