"""scripts/simulate-roll: a rolling upgrade of ten thousand machines, and the table of docs/SCALE.md that it made."""
import os
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def simulate(*options):
	return subprocess.run([sys.executable, os.path.join(TOP, "scripts", "simulate-roll"), *options], check=True,
		stdout=subprocess.PIPE, text=True).stdout


def table(text):
	"""Rows by way and build, each a dictionary by the words of the head."""
	lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines()]
	return {(row[0], row[1]): dict(zip(lines[0], row)) for row in lines[2:]}


@pytest.fixture(scope="module")
def rolls():
	return table(simulate())


def test_the_same_seed_gives_the_same_table():
	text = simulate("--machines", "300", "--seed", "7")
	assert text == simulate("--machines", "300", "--seed", "7")
	assert text != simulate("--machines", "300", "--seed", "8")


def test_an_upgrade_takes_no_machine_out(rolls):
	row = rolls["upgrade", "good"]
	assert (row["out at most"], row["wrong answers"]) == ("0", "0")


def test_a_restart_takes_out_no_more_than_may_change_at_once(rolls):
	assert 1 < int(rolls["restart", "good"]["out at most"]) <= 100
	assert int(table(simulate("--at-once", "7"))["restart", "good"]["out at most"]) <= 7


@pytest.mark.parametrize("way", ["upgrade", "restart"])
@pytest.mark.parametrize("build", ["dead", "sick", "wrong"])
def test_a_bad_build_reaches_one_machine(rolls, way, build):
	row = rolls[way, build]
	assert row["machines it reached"] == "1" and int(row["out at most"]) <= 1
	assert (row["wrong answers"] == "0") == (build != "wrong")


def test_a_drain_that_is_long_enough_cuts_nothing():
	row = table(simulate("--machines", "500", "--drain", "14400"))["restart", "good"]
	assert row["downloads cut"] == "0"
	assert int(table(simulate("--machines", "500", "--drain", "30"))["restart", "good"]["downloads cut"]) > 1000


def test_the_manual_has_this_table():
	with open(os.path.join(TOP, "docs", "SCALE.md")) as f:
		assert simulate() in f.read()
