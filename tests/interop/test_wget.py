"""wget: a recursive copy, time stamps, resuming, compression."""
import pytest

from procs import wait_for
from tree import FILES, MODIFIED, program, run


@pytest.fixture
def wget(server, how, tmp_path):
	def wget(*options, path="/", code=0):
		return run(program("wget"), "--no-config", "--no-hsts", "--no-proxy", "--no-check-certificate",
			"-P", tmp_path, *options, server.url(how, path), code=code)
	return wget


def test_recursive(wget, tmp_path):
	"""What the page links to, and what that names."""
	wget("-r", "-nH", "-np", "--adjust-extension")
	for name in ("index.html", "text.html", "body"):
		assert (tmp_path / name).read_bytes() == FILES[name]
		assert (tmp_path / name).stat().st_mtime == MODIFIED


def test_time_stamps(wget, tmp_path):
	"""-N fetches only what is newer."""
	wget("-N", path="/text.html")
	done = wget("-N", "-S", path="/text.html")
	assert b" 304 " in done.stderr
	assert (tmp_path / "text.html").read_bytes() == FILES["text.html"]


def test_continue(wget, tmp_path):
	(tmp_path / "body").write_bytes(FILES["body"][:99999])
	done = wget("-c", "-S", path="/body")
	assert b" 206 " in done.stderr and (tmp_path / "body").read_bytes() == FILES["body"]


def test_redirect(wget, tmp_path):
	wget("-O", tmp_path / "out", path="/dir")
	assert (tmp_path / "out").read_bytes() == FILES["dir/index.html"]


def test_compression(wget, tmp_path):
	def coded():
		"""By the cache: where the keeper is late for a moment the disk answers, without a coding."""
		return b"content-encoding: gzip" in wget("--compression=gzip", "-S", "-O", tmp_path / "text.html", path="/text.html").stderr.lower()
	wait_for(coded, said="a coding")
	assert (tmp_path / "text.html").read_bytes() == FILES["text.html"]


def test_not_found(wget):
	assert b"404" in wget(path="/none", code=8).stderr
