"""Tasks of an operator who moves to h2d: rules by the names of files, by methods, sizes and paths."""
import pytest

import harness
from tasks import PLAIN, Ask, Tasks

TASKS = Tasks()
task = TASKS.add

KEPT = "max-age=86400"

task("one rule for all pictures", PLAIN + """
server "_" {
	root = "/srv/www"
	cache-control = "no-cache"
	files {"*.png", "*.jpg"} { cache-control = "max-age=86400"  add-header = {"x-picture: yes"} }
	location "/camera/" { files {"*.raw", "IMG_*"} { cache-control = "no-store" } }
}
""", Ask("/a.png", cache_control=KEPT, x_picture="yes"), Ask("/b.jpg", cache_control=KEPT), Ask("/DSC1.JPG", cache_control=KEPT),
	Ask("/", cache_control="no-cache", x_picture=None), Ask("/c.png.txt", cache_control="no-cache"),
	Ask("/camera/img_1.png", cache_control="no-store"), Ask("/camera/x.png", cache_control=KEPT),
	files={name: name for name in ("a.png", "b.jpg", "DSC1.JPG", "c.png.txt", "camera/img_1.png", "camera/x.png")})


@pytest.fixture(scope="module")
def cert(tmp_path_factory):
	return harness.Certificate(str(tmp_path_factory.mktemp("tls")), names=["DNS:example.com"])


@pytest.mark.parametrize("name", TASKS.by_name)
def test_task(h2d, cert, name):
	TASKS.play(h2d, cert, name)


def test_lists_of_names(h2d):
	"""A list is as many sections that are alike; what is wrong with one is said once."""
	server = h2d.new()
	server.write_conf(server='files {"*.a", "*.B"} { cache-control = "max-age=1" }  files "*.c" { }')
	done = server.run("-T", check=0)
	assert done.out.count('cache-control = "max-age=1"') == 2 and 'files "*.B" {' in done.out
	server.put_conf(done.out)
	assert server.run("-T", check=0).out == done.out
	for text, said in (('files {"*.a", "*.A"} { }', 'files "*.A" is there twice'),
			('files {"*.a", "*.b"} { add-header = {"x y"} }', 'add-header "x y": it is written'),
			('files {"*.a", "*.b"} { charset = 1 }', "charset belongs to server, not to files"),
			('files {"*.a", 1} { }', "a list holds strings in double quotes"),
			('files {} { }', "section files needs a title"),
			('location {"/a", "/b"} { }', "section location has one title: it takes no list of them")):
		server.write_conf(server="\n" + text)
		err = server.run("-t", check=1).err
		assert err.count(said) == 1, (text, err)
