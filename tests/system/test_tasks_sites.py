"""Tasks of an operator with many sites; see tasks.py."""
import pytest

import harness

from tasks import PLAIN, Ask, Tasks

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


@pytest.fixture(scope="module")
def cert(tmp_path_factory):
	return harness.Certificate(str(tmp_path_factory.mktemp("tls")), names=["DNS:example.com"])


@pytest.mark.parametrize("name", TASKS.by_name)
def test_task(h2d, cert, name):
	TASKS.play(h2d, cert, name)
