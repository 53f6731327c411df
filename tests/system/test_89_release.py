"""scripts/build-release. A build takes minutes of CPU, and so is run by H2D_RELEASE=1; always: what is refused."""
import hashlib
import os
import pathlib
import re
import subprocess

import pytest

import server as srv

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TOP / "scripts" / "build-release"


def build(*args, check=0):
	done = subprocess.run([SCRIPT, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	assert done.returncode == check, done.stdout
	return done.stdout


def version(folder):
	return subprocess.run([folder / "src/h2d", "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout


def digest(path):
	return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("option", ["--no-such-option", "--profile", "--nghttp2-source"])
def test_what_is_no_option(option):
	assert "usage: scripts/build-release" in build(option, check=2)


@pytest.mark.parametrize("option", ["--profile", "--nghttp2-source"])
def test_a_file_that_is_not_there(tmp_path, option):
	assert "No such file" in build(option, tmp_path / "none", tmp_path / "build", check=1)
	assert not (tmp_path / "build").exists()


@pytest.mark.parametrize("option, said", [
	("--enable-pgo", "--enable-pgo: say train, or a tar archive of profiles"),
	("--with-nghttp2-source=/nonexistent", "there is no /nonexistent/lib/nghttp2_session.c")])
def test_configure_refuses_it(tmp_path, option, said):
	done = subprocess.run([TOP / "configure", "-q", option], cwd=tmp_path, stdout=subprocess.PIPE,
		stderr=subprocess.STDOUT, text=True)
	assert done.returncode == 1 and said in done.stdout


def a_release_and_its_twin(tmp_path):
	"""From its profile another folder makes the same bytes, and both say what they are."""
	first, second = tmp_path / "first", tmp_path / "elsewhere" / "second"
	second.parent.mkdir()
	build(first, "--prefix=/usr")
	said = version(first)
	profile = digest(first / "profile.tar")[:12]
	assert re.search(r"^nghttp2 \S+ \(compiled in, from \S+\)$", said, re.M), said
	assert re.search(r"^profile %s$" % profile, said, re.M), said
	source, = (first / "source").glob("nghttp2-*/")
	build("--profile", first / "profile.tar", "--nghttp2-source", source, second, "--prefix=/usr")
	assert version(second) == said
	assert digest(first / "src/h2d") == digest(second / "src/h2d")
	shared = subprocess.run(["ldd", first / "src/h2d"], stdout=subprocess.PIPE, text=True, check=True).stdout
	assert "libnghttp2" not in shared and str(tmp_path).encode() not in (first / "src/h2d").read_bytes()
	subprocess.run(["python3", "-m", "pytest", "-q", TOP / "tests/system/test_10_start.py", TOP / "tests/system/test_50_files.py"],
		env=dict(os.environ, H2D=first / "src/h2d"), check=True)


if os.environ.get("H2D_RELEASE"):
	test_a_release_and_its_twin = a_release_and_its_twin


def test_any_build_says_its_nghttp2():
	said = subprocess.run([srv.H2D, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout
	assert re.search(r"^nghttp2 [0-9.]+( \(static\)| \(compiled in, from \S+\))?$", said, re.M), said
