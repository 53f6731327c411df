"""h2spec, strict, whole: every one of its cases over TLS and over cleartext. See go.mod for its version."""
import os
import re
import subprocess

import pytest

import gotool

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = 146


@pytest.fixture(scope="session")
def h2spec(work_folder):
	return gotool.build(work_folder, "h2spec", "github.com/summerwind/h2spec/cmd/h2spec",
		[os.path.join(HERE, "tools.go")])


def test_h2spec(h2d, h2spec, how):
	server = h2d(files={"index.html": b"<!doctype html><title>conformance</title>"
		+ b"x" * 2000})
	# It waits for an answer as long as -o says, 2 s if that is not said: too short where a machine is busy.
	done = subprocess.run([h2spec, "-S", "-o", "30", "-h", "127.0.0.1", "-p", str(server.ports[how])]
		+ (["-t", "-k"] if how == "tls" else []), stdout=subprocess.PIPE,
		stderr=subprocess.STDOUT, text=True, errors="backslashreplace", timeout=400)
	summary = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", done.stdout)
	assert summary, done.stdout[-2000:]
	assert [int(n) for n in summary.groups()] == [CASES, CASES, 0, 0], done.stdout.partition("Failures:")[2]
	assert done.returncode == 0
