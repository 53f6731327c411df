"""tests/promises.md tells the truth: each test, task, mistake and heading that it names exists."""
import pathlib
import re

import pytest

import test_12_mistakes
import test_tasks_rules
import test_tasks_sites

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = (TOP / "tests/promises.md").read_text()
ROWS = [row for row in re.findall(r"^\| (.+?) \| (.+) \|$", PAGE, re.M) if row[1] != "shown by"]
NAMED = re.compile(r"`(\w+)(?:::(\w+))?`|(task|mistake|section) \*([^*]+)\*")
KNOWN = {
	"task": {name for module in (test_tasks_rules, test_tasks_sites) for name in module.TASKS.by_name},
	"mistake": test_12_mistakes.MISTAKES.keys() | test_12_mistakes.WARNED.keys(),
	"section": set(re.findall(r"^## (.+)$", (TOP / "README.md").read_text(), re.M)),
}


def check(cell):
	names = NAMED.findall(cell)
	assert names and not NAMED.sub("", cell).strip(", "), cell
	for file, case, kind, name in names:
		if kind:
			assert name in KNOWN[kind], f"no {kind} {name}"
			continue
		unit = file.startswith("check_")
		path = next(TOP.glob("tests/%s.%s" % (("unit/" + file, "c") if unit else ("*/" + file, "py"))), None)
		assert path, f"{file}: no such file"
		assert not case or re.search((r"^TEST\w*\(%s\b" if unit else r"^def test_%s\(") % case, path.read_text(), re.M), f"{file} has no {case}"
		assert case or unit, f"{file}: one of its tests is named"


@pytest.mark.parametrize("what, shown", ROWS, ids=[what for what, shown in ROWS])
def test_what_shows_it_exists(what, shown):
	check(shown)


@pytest.mark.parametrize("slip", ["`test_tasks_rules::none`", "`check_nothing`", "`check_h2::nothing`", "task *nothing*", "`test_tasks_rules`", "tests"])
def test_a_slip_is_found(slip):
	assert len(ROWS) > 60
	with pytest.raises(AssertionError):
		check(slip)
