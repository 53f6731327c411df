"""h2spec, strict, whole: every one of its cases over TLS and over cleartext. See go.mod for its version."""
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import gotool

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = 146


@pytest.fixture(scope="session")
def h2spec(work_folder):
	return gotool.build(work_folder, "h2spec", "github.com/summerwind/h2spec/cmd/h2spec",
		[os.path.join(HERE, "tools.go")])


def test_h2spec(h2d, h2spec, how, tmp_path):
	server = h2d(files={"index.html": b"<!doctype html><title>conformance</title>"
		+ b"x" * 2000})
	report = str(tmp_path / "report.xml")
	done = subprocess.run([h2spec, "-S", "-h", "127.0.0.1", "-p", str(server.ports[how]), "-j",
		report]
		+ (["-t", "-k"] if how == "tls" else []), stdout=subprocess.PIPE,
		stderr=subprocess.STDOUT, text=True,
		timeout=400)
	summary = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", done.stdout)
	assert summary, done.stdout[-2000:]
	wrong = [case.get("package") + ": " + case.get("classname") + ": "
		+ "".join(case.itertext()).strip()
		for case in ElementTree.parse(report).getroot().iter("testcase") if len(case)]
	assert [int(n) for n in summary.groups()] == [CASES, CASES, 0, 0], "\n".join(wrong)
	assert done.returncode == 0
