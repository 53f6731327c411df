"""scripts/build-release and patches/nghttp2. A build takes minutes of CPU, and so is run by H2D_RELEASE=1, and so are
nghttp2's own tests; always: what is refused, and what each patch says of itself."""
import hashlib
import os
import pathlib
import re
import subprocess

import pytest

import server as srv

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TOP / "scripts" / "build-release"
PATCH = TOP / "scripts" / "patch-nghttp2"
PATCHES = TOP / "patches" / "nghttp2"
VERSIONS = ["1.52", "1.64"]  # of Debian 12 and 13
LONGEST = 150  # lines of a patch
LEAST = 2.0  # per cent of instructions that a patch takes away


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
	assert re.search(r"^nghttp2 \S+ \(compiled in, from \S+ with \d+ patches\)$", said, re.M), said
	assert re.search(r"^profile %s$" % profile, said, re.M), said
	source, = (first / "source").glob("nghttp2-*/")
	said_of_patches = subprocess.run([TOP / "scripts/check-nghttp2", source], stdout=subprocess.PIPE, text=True, check=True).stdout
	assert "traces are equal" in said_of_patches and "its own tests pass" in said_of_patches
	build("--profile", first / "profile.tar", "--nghttp2-source", source, second, "--prefix=/usr")
	assert version(second) == said
	assert digest(first / "src/h2d") == digest(second / "src/h2d")
	shared = subprocess.run(["ldd", first / "src/h2d"], stdout=subprocess.PIPE, text=True, check=True).stdout
	assert "libnghttp2" not in shared and str(tmp_path).encode() not in (first / "src/h2d").read_bytes()
	subprocess.run(["python3", "-m", "pytest", "-q", TOP / "tests/system/test_10_start.py", TOP / "tests/system/test_50_files.py"],
		env=dict(os.environ, H2D=first / "src/h2d"), check=True)


def tree(path, version):
	"""What patch-nghttp2 looks at, of a version: no nghttp2."""
	(path / "lib").mkdir(parents=True)
	(path / "lib/nghttp2_session.c").write_text("int session;\n")
	(path / "configure.ac").write_text("AC_INIT([nghttp2], [%s], [t-tujikawa@users.sourceforge.net])\n" % version)
	return path


def patch(path, check=0):
	done = subprocess.run([PATCH, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	assert done.returncode == check, done.stdout
	return done.stdout


def test_patch_nghttp2_without_a_tree(tmp_path):
	assert "usage: scripts/patch-nghttp2" in subprocess.run([PATCH], stderr=subprocess.PIPE, text=True).stderr
	assert "has no lib/nghttp2_session.c" in patch(tmp_path, check=1)


def test_a_version_without_patches_is_built_as_it_is(tmp_path):
	assert "there are no patches for nghttp2 9.1.0" in patch(tree(tmp_path / "nghttp2", "9.1.0"))
	assert not (tmp_path / "nghttp2/h2d-patches").exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_patches_that_do_not_fit_change_nothing(tmp_path, version):
	top = tree(tmp_path / "nghttp2", version + ".0")
	assert "does not fit nghttp2 %s.0: none is applied" % version in patch(top, check=1)
	assert [path.name for path in top.rglob("*") if path.is_file()] == ["configure.ac", "nghttp2_session.c"]
	assert (top / "lib/nghttp2_session.c").read_text() == "int session;\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_each_patch_is_short_and_says_its_gain(version):
	names = sorted(path.name for path in (PATCHES / version).glob("*.patch"))
	assert names and names == sorted(path.name for path in (PATCHES / VERSIONS[0]).glob("*.patch"))
	for name in names:
		text = (PATCHES / version / name).read_text()
		assert text.count("\n") < LONGEST, name
		gains = re.findall(r"([0-9 ]+) -> ([0-9 ]+)", text.partition("\ndiff ")[0])
		assert gains, name
		assert max(100 - 100 * int(now.replace(" ", "")) / int(before.replace(" ", "")) for before, now in gains) >= LEAST, name


if os.environ.get("H2D_RELEASE"):
	test_a_release_and_its_twin = a_release_and_its_twin


def test_any_build_says_its_nghttp2():
	said = subprocess.run([srv.H2D, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout
	assert re.search(r"^nghttp2 [0-9.]+( \(static\)| \(compiled in, from \S+( with \d+ patches)?\))?$", said, re.M), said
