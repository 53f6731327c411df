"""TUTORIAL.md tells the truth: its commands are run in their order, on a copy of this tree. And what else
--with-handlers and make install have to do, in the same copy."""
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

import procs
from server import H2D

TOP = pathlib.Path(__file__).resolve().parents[2]
TEXT = (TOP / "TUTORIAL.md").read_text()
PATIENT = 900  # seconds: it compiles
BUILD = pathlib.Path(H2D).parent.parent
PAGES = sorted(page for page in (TOP / "docs/handlers").glob("*.md") if page.stem not in ("api", "tutorial"))


def steps(text):
	"""("run", command) and ("write", (path, content)), in the order of the text."""
	found = []
	for m in re.finditer(r"^    (\S.*)$|^`(\.\./hello/[\w.]+)`:\n\n```\w+\n([\s\S]*?)^```$", text, re.M):
		found.append(("run", m.group(1)) if m.group(1) else ("write", (m.group(2), m.group(3))))
	return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
	"""A copy of the tree, in which build-hello has what build has made already: make does the rest."""
	top = tmp_path_factory.mktemp("tutorial") / "h2d"
	ignored = shutil.ignore_patterns(".*", "__pycache__", "autom4te.cache")
	builds = {name for name in os.listdir(TOP) if name.startswith("build") and name != "build-aux"}
	shutil.copytree(TOP, top, ignore=lambda folder, names: (builds if pathlib.Path(folder) == TOP else set())
		| ignored(folder, names) - {".clang-format"})
	if (BUILD / "config.status").exists():
		shutil.copytree(BUILD, top / "build-hello", ignore=shutil.ignore_patterns(
			"test-tools", "check_*", "fuzz_*", "*.log", "*.trs", "h2d", "config.status", "Makefile", ".options"))
	return top


class Shell:
	"""Runs commands one after the other, as a terminal does; a server goes on beside them."""

	def __init__(self, top):
		self.top = self.cwd = top
		self.port = procs.free_port()
		self.server = None

	def run(self, command):
		serves = re.search(r" -p 8080\b", command) is not None
		user = " -u root" if os.geteuid() == 0 else ""
		command = command.replace(":8080/", ":%d/" % self.port).replace("-p 8080", "-p %d%s" % (self.port, user))
		if command.startswith("cd "):
			self.cwd = (self.cwd / command[3:]).resolve()
			return ""
		if serves:
			self.server = subprocess.Popen(shlex.split(command), cwd=self.cwd, stderr=subprocess.PIPE, text=True)
			assert any("serving" in line for line in self.server.stderr), command
			return ""
		done = subprocess.run(["bash", "-c", command], cwd=self.cwd, stdout=subprocess.PIPE,
			stderr=subprocess.STDOUT, text=True, timeout=PATIENT)
		assert done.returncode == 0, "%s\n%s" % (command, done.stdout[-5000:])
		return done.stdout

	def write(self, path, text):
		(self.cwd / path).write_text(text)

	def close(self):
		if self.server is not None:
			self.server.send_signal(signal.SIGTERM)
			self.server.communicate(timeout=PATIENT)
			assert self.server.returncode == 0


@pytest.fixture
def shell(tree):
	shell = Shell(tree)
	yield shell
	shell.close()


@pytest.mark.slow
@pytest.mark.xdist_group("tutorial")
def test_the_tutorial(shell):
	said = {}
	done = steps(TEXT)
	assert len(done) >= 10 and [kind for kind, _ in done].count("write") == 2
	for kind, what in done:
		if kind == "write":
			shell.write(*what)
		else:
			said.setdefault(what, []).append(shell.run(what))
	assert re.search(r"^GET +/hello/\{name\} +hello ", said["build-hello/src/h2d --routes"][0], re.M)
	assert "check_hello" in said["make -C build-hello check-handlers"][0]
	greetings = [out for command, out in said.items() if command.startswith("curl")]
	assert [re.findall(r"^Hello.*", out[0], re.M) for out in greetings] == [["Hello, world!"], ["Hello, wörld!"]]
	tests = [out for command, out in said.items() if "unittest" in command][0]
	assert ["Ran 2 tests" in tests[0], "Ran 4 tests" in tests[1]] == [True, True]


@pytest.mark.slow
@pytest.mark.xdist_group("tutorial")
def test_faults_of_a_folder(shell, tree):
	"""Each stops the build, and says where it is."""
	folder = tree.parent / "other"
	folder.mkdir()
	(folder / "a.c").write_text('#include "h2d/handler.h"\nstatic void start(struct h2d_req *r, void *s) '
		'{ (void)s; h2d_reply_error(r, 404); }\nconst struct h2d_handler h2d_handler_a = { .start = start };\n')
	(folder / "routes.def").write_text('ROUTE(GET, "/a", a, BODY_NONE)\n')
	shell.run("mkdir -p build-hello && cd build-hello && ../configure --with-handlers=../../other && make src/h2d")
	for name, text, why in (
			("routes.def", 'ROUTE(GET, "/a/", a, BODY_NONE)\n', r"/other/routes.def:1: bad pattern"),
			("routes.def", '\nROUTE(GET, "/healthz", a, BODY_NONE)\n',
				r'/other/routes.def:2: .* clashes with "/healthz" of \S*src/routes.def:\d+'),
			("routes.def", 'ROUTE(GET, "/b", b, BODY_NONE)\n', r"/other/routes.def:1.*undefined reference to .h2d_handler_b"),
			("b.c", "int arena_reset;\n", r"/other: the server has this name, too: arena_reset"),
			("c.c", '#include "request/req.h"\n', r"/other/c.c:1.*request/req.h"),
			("conf.def", '\nKEY(a, "x", NUMBER, "7", 0, 5, NULL, "Help.")\n',
				r"/other/conf.def:2: default: x must be a number from 0 to 5, not 7"),
			("metrics.def", '\nCOUNTER(a, "a_hits", "Help.")\n',
				r'/other/metrics.def:2: metric "a_hits": a counter must end in "_total"'),
	):
		path = folder / name
		before = path.read_text() if path.exists() else None
		path.write_text(text)
		done = subprocess.run(["make", "-C", "build-hello", "src/h2d"], cwd=tree, stdout=subprocess.PIPE,
			stderr=subprocess.STDOUT, text=True, timeout=PATIENT)
		assert done.returncode != 0 and re.search(why, done.stdout), (why, done.stdout[-3000:])
		path.unlink()
		if before is not None:
			path.write_text(before)
	shell.run("make -C build-hello src/h2d")
	done = subprocess.run(["../configure", "--with-handlers=nowhere"], cwd=tree / "build-hello", text=True,
		stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENT)
	assert done.returncode != 0 and "there is no file nowhere/routes.def" in done.stdout


LIBRARY = """
int arena_reset(void) { return 7; }
int library_answer(void) { return arena_reset(); }
"""
CALLER = """
#include "h2d/handler.h"
int library_answer(void);
static void start(struct h2d_req *req, void *state)
{
	char digit = (char)('0' + library_answer());

	(void)state;
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", &digit, 1);
}
const struct h2d_handler h2d_handler_caller = { .start = start };
"""
TABLE = """
#include "table.h"
const char *table_word(void)
{
	return "of the table";
}
"""
TABLE_HEADER = """
#ifdef __cplusplus
extern "C"
#endif
const char *table_word(void);
"""
IN_CXX = """
#include "h2d/handler.h"
#include "table.h"
#include <string>
static void start(h2d_req *req, void *)
{
	std::string text = std::string(WORD) + " " + table_word();

	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text.data(), text.size());
}
H2D_HANDLER(cxx) = { .name = "cxx", .start = start };
"""


def folder_of(path, routes, **files):
	"""A folder of handlers; files: by name, with _ for the dot."""
	path.mkdir(parents=True)
	(path / "routes.def").write_text(routes)
	for name, text in files.items():
		(path / name.replace("_", ".")).write_text(text)
	return path


@pytest.mark.slow
@pytest.mark.xdist_group("tutorial")
def test_several_folders(shell, tree, h2d, tmp_path):
	"""One of them in C++, with a subfolder; each has its own flags. A library keeps a name that it has in common with the server."""
	one = folder_of(tmp_path / "one", 'ROUTE(GET, "/one", cxx, BODY_NONE)\n#undef ROUTE\n', cxx_cc=IN_CXX,
		handlers_mk="HANDLERS_SUBDIRS = db\nHANDLERS_CPPFLAGS = -I$(handlers_dir)/db -DWORD='\"word\"'\n")
	(one / "db").mkdir()
	(one / "db" / "table.c").write_text(TABLE)
	(one / "db" / "table.h").write_text(TABLE_HEADER)
	library = tmp_path / "library"
	library.mkdir()
	(library / "answer.c").write_text(LIBRARY)
	shell.run("${CC:-cc} -shared -fPIC -o %s/libanswer.so %s/answer.c" % (library, library))
	two = folder_of(tmp_path / "two", 'ROUTE(GET, "/answer", caller, BODY_NONE)\n', caller_c=CALLER,
		flags_c="#ifdef WORD\n#error of another folder\n#endif\n",
		handlers_mk="HANDLERS_LIBS = -L%s -lanswer -Wl,-rpath,%s\n" % (library, library))
	(one / "metrics.def").write_text('COUNTER(cxx, "cxx_total", "Help.")\n#undef COUNTER\n#undef HISTOGRAM\n')
	(two / "metrics.def").write_text('HISTOGRAM(caller, "caller_seconds", "Help.", 1)\nCOUNTER(caller, "caller_total", "Help.")\n')
	(one / "conf.def").write_text('KEY(cxx, "word", STRING, "a", 0, 0, NULL, "Help.")\n#undef KEY\n')
	(two / "conf.def").write_text('KEY(cxx, "size", SIZE, "1K", 0, 4096, NULL, "Help.")\n')
	shell.run("mkdir -p build-hello && cd build-hello && ../configure --with-handlers=%s --with-handlers=%s" % (one, two))
	shell.run("make -C build-hello src/h2d 2>&1 | grep '/two/conf.def:1: handler cxx already has keys in .*/one/conf.def:1:'")
	(two / "conf.def").write_text('KEY(caller, "size", SIZE, "1K", 0, 4096, NULL, "Help.")\n')
	shell.run("make -C build-hello src/h2d man/h2d.conf.5")
	assert ".Ss handler Qq caller\n" in (tree / "build-hello" / "man" / "h2d.conf.5").read_text()
	assert 'handler "cxx" {\n\t# Help.\n\tword = "a"\n}' in shell.run("build-hello/src/h2d -r /tmp -T --all")
	with h2d(binary=str(tree / "build-hello" / "src" / "h2d")).connect(timeout=60) as c:
		assert [c.get(path).body for path in ("/one", "/answer")] == [b"word of the table", b"7"]
	shell.run("make -C build-hello check TESTS=tests/unit/check_route_random check_PROGRAMS=tests/unit/check_route_random")


class Dev(contextlib.AbstractContextManager):
	"""scripts/dev at work in a copy of the tree."""

	def __init__(self, tree, folder):
		self.url = "http://localhost:%d" % procs.free_port()
		self.said = []
		self.process = subprocess.Popen([tree / "scripts" / "dev", "-p", self.url.split(":")[-1], folder], text=True,
			stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

	def until(self, word):
		for line in self.process.stdout:
			self.said.append(line)
			if word in line:
				return
		raise AssertionError("".join(self.said))

	def get(self, path):
		try:
			with urllib.request.urlopen(self.url + path, timeout=60) as answer:
				return answer.status, answer.read().decode()
		except urllib.error.HTTPError as error:
			return error.code, error.read().decode()

	def __exit__(self, *exc):
		self.process.terminate()
		self.said += self.process.communicate(timeout=PATIENT)[0].splitlines()


@pytest.mark.slow
@pytest.mark.xdist_group("tutorial")
def test_dev(tree):
	"""An edit is answered, a mistake too, and a mistake that is mended."""
	folder = shutil.copytree(tree / "examples" / "skeleton", tree.parent / "edited")
	shutil.copytree(tree / "build-hello", tree / "build-dev-edited")
	source = folder / "hello.c"
	text = source.read_text()
	with Dev(tree, folder) as dev:
		dev.until("has it")
		assert dev.get("/hello/you") == (200, "Hello, you!\n")
		source.write_text(text.replace('"Hello, %s!\\n"', 'oops'))
		dev.until("the build failed")
		for path in ("/hello/you", "/"):
			status, page = dev.get(path)
			assert status == 503 and "hello.c:7:" in page and "oops" in page
		assert any("hello.c:7:" in line for line in dev.said)
		source.write_text(text.replace("Hello, ", "Ahoy, "))
		dev.until("has it")
		assert dev.get("/hello/you") == (200, "Ahoy, you!\n")
		assert "h2d" in dev.get("/")[1]
	pid = next((tree / "build-dev-edited" / "dev").glob("h2d.pid"), None)
	assert pid is None or not pid.read_text().strip() or not os.path.exists("/proc/" + pid.read_text().strip())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page(page, tmp_path):
	text = page.read_text()
	written = [what for kind, what in steps(text) if kind == "write"]
	assert written and len(text.splitlines()) <= 90
	for path, code in written:
		source = tmp_path / pathlib.Path(path).name
		source.write_text(code)
		subprocess.run(["cc", "-std=c11", "-I", TOP / "include", "-Wall", "-Wextra", "-Werror", "-c", "-o", tmp_path / "page.o", source], check=True)


def test_what_is_installed(tmp_path):
	"""The headers compile alone where they were installed, with the flags that pkg-config has."""
	def run(*command, **options):
		return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, timeout=PATIENT, **options)
	for target in ("install-h2dincludeHEADERS", "install-nodist_pkgconfigDATA"):
		run("make", "-s", target, "prefix=%s" % tmp_path, cwd=BUILD)
	for header in (TOP / "include/h2d").glob("*.h"):
		if header.name not in ("test.h", "upload_scope.h"):
			assert (tmp_path / "include/h2d" / header.name).read_text() == header.read_text()
	flags = run("pkg-config", "--define-variable=includedir=%s/include" % tmp_path, "--cflags", "h2d",
		env=dict(os.environ, PKG_CONFIG_PATH=str(tmp_path / "share/pkgconfig"))).stdout.split()
	run("cc", *flags, "-Wall", "-Wextra", "-Werror", "-c", "-o", tmp_path / "hello.o",
		TOP / "examples/skeleton/hello.c")
