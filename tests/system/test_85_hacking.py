"""HACKING.md and docs/internals tell the truth: each picture under a heading `## The way of …` names functions that exist in
the files that it names, and calls that are made; what they list as states and rows is in the tables."""
import functools
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TEXT = (TOP / "HACKING.md").read_text()
PAGES = "\n## \n".join([TEXT] + [p.read_text() for p in sorted((TOP / "docs").rglob("*.md"))])
WAYS = re.findall(r"^## (The way of .*)$", PAGES, re.M)


def picture(heading):
	block = PAGES.split("## %s\n" % heading)[1].split("\n##")[0]
	return [line for line in block.splitlines() if line.startswith("    ") and line.strip()]


@functools.cache
def sources():
	"""{path below src, or of tools and kit: text}, of what is checked in."""
	return {str(p.relative_to(TOP)).removeprefix("src/"): p.read_text() for end in ("[ch]", "def")
		for place in ("src", "tools", "kit") for p in (TOP / place).rglob("*." + end)}


@functools.cache
def functions():
	"""{name: {path: body}} of all functions; static ones may share a name."""
	found = {}
	rest = re.compile(r"[^;{}]*\)\n\{\n(.*?)^\}", re.M | re.S)
	for path, text in sources().items():
		for head in re.finditer(r"^[a-z][^\n;{}()]*\b(\w+)\(", text, re.M):
			whole = rest.match(text, head.end())
			if whole:
				found.setdefault(head.group(1), {}).setdefault(path, whole.group(1))
	return found


def bodies_of(name):
	return functions().get(name, {})


def calls(body, callee):
	"""By name, handed on as a callback, or over a seam: h2_input as ->input(…), start as ->start(…)."""
	return re.search(r"\b%s\(|[(,=] ?&?%s[,;)]|->%s\(" % (callee, callee, callee.rsplit("_", 1)[-1]), body)


def named_files(line, files):
	"""The files that a line names, and the line without them; "net/tcp.c, tls.c" are two of net/."""
	folder, found = "", []
	for word in re.findall(r"(?<!\S)((?:[\w-]+/)*\w+\.(?:c|h|def)),?(?!\S)", line):
		folder = word.rpartition("/")[0] + "/" if "/" in word else folder
		path = word if word in files else folder + word
		assert path in files, f"{word}: no such file"
		found.append(path)
	return found, re.sub(r"(?<!\S)(?:[\w-]+/)*\w+\.(?:c|h|def),?(?!\S)", "", line)


def check_line(line, files, arrows=True):
	"""The number of functions that it names."""
	paths, told = named_files(line, files)
	homes = paths + [p[:-1] + "c" for p in paths if p.endswith(".h") and p[:-1] + "c" in files]
	texts = "".join(files[p] for p in homes)
	for text in re.findall(r"\b(?:conf->[\w.]+\w|[A-Z]+(?:_[A-Z]+)+\b)", told):
		assert text in (texts or "".join(files.values())), f"{text}: not in {paths}"
	told = re.sub(r"\b\w+->[\w.]+|\bstruct \w+", "", told)
	names = [name for name in re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", told)
		if not name.startswith(("nghttp2_", "epoll_"))]
	names += [name for pair in re.findall(r"\b([a-z]\w*) (?=→ (\w+))", told) for name in pair
		if "_" not in name]
	for name in names:
		assert bodies_of(name), f"{name}: no such function"
	if names and any(p.endswith(".c") for p in paths):
		assert any(path in homes for name in names for path in bodies_of(name)), \
			f"{names}: none of them is in {paths}"
	for caller, callee in re.findall(r"\b(\w+) (?=→ (\w+))", told if arrows else ""):
		assert any(calls(body, callee) for body in bodies_of(caller).values()), \
			f"{caller} does not call {callee}"
	return len(names)


# Each arrow in these is a call; of the others what they name is there.
PINNED = {"The way of " + what for what in ("a request", "a HUP", "an upload", "a configuration key")}


def test_the_ways_are_there():
	assert PINNED < set(WAYS)


@pytest.mark.parametrize("heading", WAYS)
def test_the_way(heading):
	files = sources()
	assert sum(check_line(line, files, heading in PINNED) for line in picture(heading)) >= 10


@pytest.mark.parametrize("line, why", [
	("no_such_function   conf/conf.c", "no such function"),
	("conf_load   conf/nowhere.c", "no such file"),
	("conf_load   conf/parser.c", "none of them"),
	("conf_load → conf_check   conf/conf_load.c", "does not call"),
	("conf->timeouts.never   server/worker.c", "not in"),
	("CONF_NOTHING   conf/conf.def", "not in"),
])
def test_an_untrue_line_is_found(line, why):
	with pytest.raises(AssertionError, match=why):
		check_line(line, sources())


STATES = {
	"connection": ("session_go", "session/session_state.def", "SESSION"),
	"request": ("req_go", "request/req_state.def", "REQ"),
	"body": ("req_body_go", "request/req_body_state.def", "REQ_BODY"),
	"password": ("auth_check_go", "auth/auth_check_state.def", "AUTH_CHECK"),
	"download": ("disk_file_go", "files/disk_state.def", "DISK"),
	"place": ("place_go", "files/place_state.def", "PLACE"),
	"archive": ("archive_go", "files/archive_state.def", "ARCHIVE"),
	"upload": ("store_go", "store/store_state.def", "STORE"),
	"worker": ("worker_go", "board/board_state.def", "BOARD"),
	"keeper": ("keeper_go", "keeper/keeper_state.def", "KEEPER"),
	"h1": ("h1_go", "proto/h1_state.def", "H1"),
	"h1_part": ("h1_part_go", "proto/h1_part_state.def", "H1_PART"),
	"h2_drain": ("h2_drain_go", "proto/h2_drain_state.def", "H2_DRAIN"),
	"websocket": ("websocket_go", "api/websocket_state.def", "WEBSOCKET"),
	"exchange": ("exchange_go", "upstream/exchange_state.def", "EXCHANGE"),
	"generation": ("gen_go", "master/gen_state.def", "GEN"),
	"child": ("child_go", "master/child_state.def", "CHILD"),
	"sockets": ("sockets_go", "master/sockets_state.def", "SOCKETS"),
	"upgrade": ("upgrade_go", "upgrade/upgrade_state.def", "UPGRADE"),
	"master": ("master_go", "master/master_phase.def", "MASTER"),
}


def test_states_are_those_of_the_tables():
	block = PAGES.split("## The tables\n")[1].split("\n##")[0]
	rows = re.findall(r"^    (\w+) +([A-Z →]+?)  +(\w+)\(\), +(\S+)$", block, re.M)
	assert {row[0] for row in rows} == set(STATES)
	for label, told, writer, path in rows:
		assert (writer, path) == STATES[label][:2]
		macro = STATES[label][2] + "_STATE"
		assert told.split(" → ") == re.findall(r"^%s\((\w+)," % macro,
			(TOP / "src" / path).read_text(), re.M)


@pytest.mark.parametrize("label", STATES)
def test_each_state_has_one_writer(label):
	"""It takes the step by the table, and nobody else assigns one of these states, but for the first at birth."""
	writer, path, prefix = STATES[label]
	first = re.search(r"^%s_STATE\((\w+)," % prefix, (TOP / "src" / path).read_text(), re.M).group(1)
	files = sources()
	body, = bodies_of(writer).values()
	table, member, to = re.search(r"\bSTATES_STEP\(&(\w+), \w+->(\w+), (\w+)\);", body).groups()
	assert any(re.search(r"^const struct states %s = \{.*?\"%s\"" % (table, path), text, re.M | re.S)
		for text in files.values())
	writers = {function for function, bodies in functions().items()
		if re.search(r"(->|\.)%s = (?!%s_%s\b)(%s_\w+|%s);" % (member, prefix, first, prefix, to), "".join(bodies.values()))}
	assert writers - {other for other, _, _ in STATES.values()} == set()


def test_each_table_of_states_is_listed():
	tables = {path: set(re.findall(r"^const struct states \w+ = \{.*?#include \"(\S+)\"", text, re.M | re.S))
		for path, text in sources().items()}
	assert set().union(*tables.values()) == {path for _, path, _ in STATES.values()}


def test_the_pages():
	"""HACKING.md stays a page, names all of docs/internals, and what they name is there."""
	assert len(TEXT.splitlines()) <= 200
	assert set(re.findall(r"\]\((docs/internals/\w+\.md)\)", TEXT)) == {
		str(p.relative_to(TOP)) for p in (TOP / "docs/internals").glob("*.md")}
	files = sources()
	for path in set(re.findall(r"`(?:src/)?([a-z]+/\w+\.(?:c|h|def))`", PAGES)) - {"src/routes_table.c", "src/handler_keys.c"}:
		assert path in files or (TOP / path).exists() or (TOP / "include" / path).exists(), f"{path}: no such file"


def test_every_layer_is_listed():
	for folder in (TOP / "src").iterdir():
		if folder.is_dir() and any(folder.glob("*.c")):
			assert f"| `src/{folder.name}/` |" in TEXT
	for name in ("tools", "kit"):
		assert f"| `{name}/` |" in TEXT


def test_words_are_used():
	rows = re.findall(r"^\| ([a-z, ]+) \|", TEXT.split("\n## Words\n")[1].split("\n##")[0], re.M)[1:]
	assert 10 < len(rows) <= 15
	used = " ".join(sources().values()).lower().replace("_", " ")
	for word in ", ".join(rows).split(", "):
		assert word in used, f"{word}: the source does not say so any more"


def test_stall_runs_a_command():
	done = subprocess.run([TOP / "tests" / "stall", "sh", "-c", "exit 3"], timeout=60)
	assert done.returncode == (3 if os.geteuid() == 0 else 1)
