"""docs/internals/handlers.md tells the truth: each mistake of a handler has tests, over the protocols that its row says, and no text
that the code has for one is missing; what h2d/handler.h is said to have, it has."""
import ast
import functools
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs/internals/handlers.md").read_text()
SOURCES = {path: path.read_text() for end in ("c", "def") for path in (TOP / "src").rglob("*." + end)}
TESTS = TOP / "tests" / "system"
# Tests of test_47_misuse.py that show what is no mistake.
NO_MISTAKES = {"a_length_that_is_kept", "nothing_else_is_late", "work_that_nobody_wants_any_more"}


def table(name):
	"""Its rows, by the heading's words."""
	lines = [line for line in PAGE.split("\n## %s\n" % name)[1].split("\n## ")[0].splitlines() if line.startswith("|")]
	heading, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
	assert all(len(row) == len(heading) for row in rows)
	return [dict(zip(heading, row)) for row in rows]


MISTAKES = table("Mistakes")


@functools.lru_cache(None)
def spoken_by(file):
	"""{name without test_: the protocols that it speaks}"""
	source = (TESTS / (file + ".py")).read_text()
	found = {}
	for node in ast.parse(source).body:
		if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
			text, both = ast.get_source_segment(source, node), "speak" in [a.arg for a in node.args.args]
			found[node.name.removeprefix("test_")] = {protocol for protocol, call in (("h1", "h1"), ("h2", "connect"))
				if both or re.search(r'"%s"|server\.%s\b' % (protocol, call), text)}
	return found


def named(row):
	return re.findall(r"`(test_\w+)::(\w+)`", row["tests"])


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row["mistake"].split(" (")[0])
def test_each_mistake_has_tests(row):
	spoken = {"h1"} if row["HTTP/2"].startswith("no such") else {"h1", "h2"}
	for file, test in named(row):
		assert spoken_by(file)[test] == spoken, test
	units = re.findall(r"`(check_\w+)`", row["tests"])
	assert named(row) or units
	assert all((TOP / "tests" / "unit" / (name + ".c")).exists() for name in units)


def test_each_test_is_in_the_table():
	there = {test for row in MISTAKES for file, test in named(row) if file == "test_47_misuse"}
	assert there == spoken_by("test_47_misuse").keys() - NO_MISTAKES
	assert NO_MISTAKES <= spoken_by("test_47_misuse").keys()


def texts(pattern):
	"""Of the code's, for mistakes; pieces of one are joined."""
	return {re.sub(r'"\s*(?:PRI\w+)?\s*"?', "", m) for text in SOURCES.values() for m in re.findall(pattern, text)}


def test_each_text_is_in_the_table():
	phrases = {phrase for row in MISTAKES for phrase in re.findall(r'"([^"]+)"', row["release"])}
	told = texts(r'HANDLER_RULE\(\w+,\s*("[^"]+")\)')
	assert len(told) > 10 and told <= phrases
	pieces = r'((?:"[^"]*"\s*|PRI\w+\s*)+)'
	said = texts(r"HANDLER_SLIP\(\s*[^,]+,\s*" + pieces) | texts(r"handler_rule_call\([^,;]+,\s*" + pieces)
	assert len(said) > 8
	for text in said:
		assert any(phrase in text for phrase in phrases), text
	code = re.sub(r'"\s*(?:PRI\w+)?\s*"', "", "\n".join(SOURCES.values())).replace('\\"', '"')
	for phrase in phrases:
		assert all(part in code for part in phrase.split(" … ")), phrase


def test_h2d_has_what_the_page_says():
	"""The names in its column; calls, members and files."""
	headers = "".join(path.read_text() for path in (TOP / "include" / "h2d").glob("*.h"))
	column = " ".join(row["h2d"] for row in table("Beside others"))
	names = set(re.findall(r"`([\w/.]+)(?:\(\))?`", column))
	assert len(names) > 20
	for name in names:
		assert re.search(r"\b%s\b" % re.escape(name), headers) or (TOP / name).exists() or (TOP / "include" / name).exists() \
			or (TOP / "examples" / name).exists(), name
