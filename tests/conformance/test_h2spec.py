"""h2spec, strict, whole: every one of its cases over TLS and over cleartext. See go.mod for its version."""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = 146


@pytest.fixture(scope="session")
def h2spec(work_folder):
	"""Built once, in a folder of its own, because go may rewrite what lies beside go.mod."""
	folder = os.path.join(work_folder, "h2spec")
	binary = os.path.join(folder, "h2spec")
	os.makedirs(folder, exist_ok=True)
	fresh = os.path.exists(binary)
	for name in ("go.mod", "go.sum", "tools.go"):
		with open(os.path.join(HERE, name)) as f:
			text = f.read()
		copy = os.path.join(folder, name)
		if not os.path.exists(copy) or open(copy).read() != text:
			fresh = False
			with open(copy, "w") as f:
				f.write(text)
	if not fresh:
		go = "/usr/bin/go" if os.path.exists("/usr/bin/go") else shutil.which("go")
		assert go, "go is missing (Debian: golang-go)"
		done = subprocess.run([go, "build", "-o", binary,
			"github.com/summerwind/h2spec/cmd/h2spec"],
			cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
			timeout=600,
			env=dict(os.environ, GOFLAGS="-mod=mod", GOTOOLCHAIN="local",
			CGO_ENABLED="0", GO111MODULE="on"))
		assert done.returncode == 0, done.stdout
	return binary


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
