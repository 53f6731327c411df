"""The checks of the house find what they are for: a forbidden include, a folder that grows too large."""
import os
import re
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
# A file and what it must not include.
FORBIDDEN = [
	("keeper/scan.c", "files/disk.h"),
	("files/disk.c", "keeper/keeper.h"),
	("keeper/scan.c", "request/req.h"),
	("request/req.c", "keeper/keeper.h"),
	("proto/h2.c", "files/files.h"),
	("files/disk.c", "proto/proto.h"),
	("server/worker.c", "keeper/keeper.h"),
	("http/date.c", "event/loop.h"),
	("handlers/files.c", "files/files.h"),
	("request/req.c", "files/files.h"),
	("image/image.c", "http/date.h"),
	("base/log.c", "event/loop.h"),
]


@pytest.fixture
def house(tmp_path):
	"""A copy of what check-layers reads."""
	for name in ("src", "include", "tools", "kit"):
		shutil.copytree(TOP / name, tmp_path / name)
	(tmp_path / "scripts").mkdir()
	for name in ("check-api", "check-callers", "check-comments", "check-layers", "check-prose", "check-size"):
		shutil.copy(TOP / "scripts" / name, tmp_path / "scripts")
	(tmp_path / "tests" / "cost").mkdir(parents=True)
	shutil.copy(TOP / "tests" / "cost" / "size", tmp_path / "tests" / "cost")
	return tmp_path


def check(house, name="check-layers"):
	return subprocess.run([house / "scripts" / name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_it_stands(house):
	done = check(house)
	assert done.returncode == 0, done.stdout


def test_forbidden_includes(house):
	for file, other in FORBIDDEN:
		assert (house / "src" / other).exists()
		path = house / "src" / file
		path.write_text(path.read_text().replace("#include", '#include "%s"\n#include' % other, 1))
	done = check(house)
	assert done.returncode != 0
	for file, other in FORBIDDEN:
		assert re.search(r"%s\b.* %s must not include %s" % (file, os.path.dirname(file), os.path.dirname(other)), done.stdout), done.stdout


@pytest.mark.parametrize("call", ["clock_read_us()", "clock_gettime(CLOCK_MONOTONIC, &now)"])
def test_a_file_that_does_not_measure(house, call):
	"""Its time would go on where tests have frozen it."""
	path = house / "src" / "request" / "req.c"
	path.write_text(path.read_text() + "/* %s */\n" % call)
	assert check(house).returncode == 0
	path.write_text(path.read_text() + "static uint64_t x = %s;\n" % call)
	done = check(house)
	assert done.returncode != 0 and "%s() is not for this file" % call.partition("(")[0] in done.stdout, done.stdout


def grow(house, room, lines):
	for n in range(0, lines, 400):
		(house / "src" / room / ("more_%d.c" % n)).write_text("/* more */\n" * min(400, lines - n))


def test_a_house_that_grows(house):
	"""Half a percent is let pass; more is kept by the one who lets it grow."""
	lines = int(re.search(r"(\d+) lines", check(house, "check-size").stdout).group(1))
	grow(house, "net", lines // 400)
	assert check(house, "check-size").returncode == 0
	grow(house, "net", lines // 100)
	done = check(house, "check-size")
	assert done.returncode != 0 and re.search(r"^src/net: \d+ lines more$", done.stdout, re.M), done.stdout
	subprocess.run([house / "scripts" / "check-size", "--update"], check=True)
	assert check(house, "check-size").returncode == 0


def test_a_room_that_grows_too_large(house):
	grow(house, "net", 14000)
	subprocess.run([house / "scripts" / "check-size", "--update"], check=True)
	done = check(house, "check-size")
	assert done.returncode != 0 and re.search(r"^src/net: \d+ of \d+ lines, over 12 %$", done.stdout, re.M), done.stdout


def test_a_comment_without_a_noun(house):
	path = house / "src" / "net" / "more.c"
	for words, counted in (("The bytes that are left.", 0), ("of one file", 0), ("What is left.", 1), ("The same, later.", 1),
			("Of the first n bytes.", 1), ("whose turn it is", 1), ("Nobody asks.", 1), ("It is over.", 1), ("Whether it is over.", 1)):
		path.write_text("/* more */\nint x; /* %s */\n" % words)
		done = subprocess.run([house / "scripts" / "check-comments", path], stdout=subprocess.PIPE, text=True)
		assert done.stdout.count("src/net/more.c:2: " + words) == done.returncode == counted, done.stdout
	assert check(house, "check-comments").returncode == 1


@pytest.mark.parametrize("text, found", [("A client that nobody knows.", 1), ("A log says so.", 1), ("Whoever asks.", 1), ("`says`, `nobody`", 0),
	("    h2d says so", 0), ("```\nnobody\n```", 0), ("A client asks.", 0)])
def test_prose(house, text, found):
	(house / "README.md").write_text(text + "\n")
	done = check(house, "check-prose")
	assert done.stdout.count("README.md:1: ") == found == done.returncode, done.stdout


# A sentence about src/ipc/ctl.c, and what is wrong with it.
SENTENCES = (("Called by listener.c.", "listener.c does not"), ("Called by worker_life.c.", None),
	("Called by worker_life.c only.", "master/child.c does, too"), ("Only nobody.c calls it.", "there is no nobody.c"),
	("Only loop.c includes it.", "loop.c does not"), ("The master alone calls this.", "keeper/keeper.c does, too"))


def test_a_head_comment_about_callers(house):
	path = house / "src" / "ipc" / "ctl.c"
	path.write_text(path.read_text().replace(" */\n", "".join(" * %s\n" % said for said, _ in SENTENCES) + " */\n", 1))
	done = check(house, "check-callers")
	assert done.returncode != 0
	for sentence, fault in SENTENCES:
		assert not fault or fault in done.stdout, done.stdout
		assert fault or '"%s"' % sentence not in done.stdout, done.stdout


@pytest.mark.parametrize("file, what, other, fault", [
	("include/h2d/reply.h", "void h2d_resume(struct h2d_req *req);", "", "call void h2d_resume(struct h2d_req *req);: H2D_API 1 has it"),
	("include/h2d/reply.h", "void h2d_resume(", "int h2d_resume(", "call void h2d_resume(struct h2d_req *req);: H2D_API 1 has it"),
	("include/h2d/request.h", "\tH2D_HEAD,\n", "", "value H2D_POST 2: H2D_API 1 has it"),
	("include/h2d/handler.h", "\tsize_t state_size;", "\tlong more;\n\tsize_t state_size;",
		"member h2d_handler.start 24: H2D_API 1 has it"),
	("src/api/h2d_req.c", "\tHANDLER_CALL();\n", "", "h2d_req_method(): does not begin with HANDLER_CALL()"),
])
def test_what_handlers_were_promised(house, file, what, other, fault):
	"""It stays as it was: what was released is not written anew, either."""
	path, header = house / file, house / "include/h2d/handler.h"
	path.write_text(path.read_text().replace(what, other, 1))
	for update in ([], ["--update"]):
		done = subprocess.run([house / "scripts/check-api", *update], stdout=subprocess.PIPE, text=True)
		assert done.returncode == 1 and "check-api: " + fault in done.stdout, done.stdout
		header.write_text(header.read_text().replace("#define H2D_API 1\n", "#define H2D_API 2\n"))


@pytest.mark.parametrize("name", ["control", "changelog"])
def test_no_address_of_others(name):
	"""Policy asks for an address. Without one, its domain is of those that never exist (RFC 6761, 6.4), and not for examples."""
	assert set(re.findall(r"<.*?@(.*?)>", (TOP / "packaging/debian" / name).read_text())) == {"h2d.invalid"}
