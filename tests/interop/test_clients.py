"""Real clients: curl, nghttp, h2load, Go's net/http, python h2."""
import os
import re
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BODY = os.urandom(1 << 16) * 50


def run(*command, **options):
	done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
		**options)
	assert done.returncode == 0, (command, done.stderr.decode()[-2000:])
	return done


@pytest.fixture
def server(h2d):
	return h2d(workers=2, files={"body": BODY, "small": b"s" * 612})


def curl(server, how, *arguments):
	return run("curl", "-q", "-sS", *(["--http2", "--cacert", server.cert.cert] if how == "tls"
		else ["--http2-prior-knowledge"]), *arguments)


def test_curl(server, how):
	done = curl(server, how, "-w", "%{stderr}%{http_code} %{http_version}", server.url(how,
		"/body"))
	assert done.stdout == BODY and done.stderr == b"200 2"


def test_curl_head_and_condition(server, how):
	head = curl(server, how, "-I", server.url(how, "/body")).stdout.decode()
	etag = re.search(r"^etag: (.*?)\r$", head, re.M).group(1)
	assert "content-length: %d\r\n" % len(BODY) in head
	done = curl(server, how, "-H", "if-none-match: " + etag, "-w", "%{http_code}",
		server.url(how, "/body"))
	assert done.stdout == b"304"


def test_curl_uploads_are_refused_politely(server, how, tmp_path):
	path = tmp_path / "upload"
	path.write_bytes(BODY)
	done = curl(server, how, "-T", str(path), "-w", "%{stderr}%{http_code}", server.url(how,
		"/body"))
	assert done.stderr.endswith(b"405")
	done = curl(server, how, "-F", "f=@%s" % path, "-w", "%{stderr}%{http_code}",
		server.url(how, "/body"))
	assert done.stderr.endswith(b"405")


def test_curl_resets(server, how):
	"""A client that breaks a download off."""
	subprocess.run(["curl", "-q", "-sSk", "--http2" if how == "tls"
		else "--http2-prior-knowledge", "--max-filesize", "1000",
		server.url(how, "/body")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	assert curl(server, how, server.url(how, "/small")).stdout == b"s" * 612


def test_nghttp(server, how):
	assert run("nghttp", "--no-verify-peer", server.url(how, "/body")).stdout == BODY


@pytest.mark.parametrize("window", ["1", "16", "30"])
def test_nghttp_windows(server, how, window):
	assert run("nghttp", "--no-verify-peer", "-w", window, "-W", "16", server.url(how,
		"/small" if window == "1"
		else "/body")).stdout == (b"s" * 612 if window == "1" else BODY)


def test_nghttp_priorities_and_padding(server, how):
	done = run("nghttp", "--no-verify-peer", "-n", "-v", "-b", "100", "-p", "100", "-m", "20",
		server.url(how, "/small"))
	assert done.stdout.count(b":status: 200") == 20


@pytest.mark.parametrize("load", [(10, 1), (20, 32)], ids=["c10 m1", "c20 m32"])
def test_h2load(server, how, load):
	clients, streams = load
	done = run("h2load", "-n", "5000", "-c", str(clients), "-m", str(streams), server.url(how,
		"/small"))
	text = done.stdout.decode()
	assert "5000 succeeded, 0 failed, 0 errored, 0 timeout" in text, text
	assert "status codes: 5000 2xx" in text


def test_h2load_by_time(server, how):
	"""Connections that are cut at the end of the run leave nothing behind."""
	run("h2load", "-D", "1", "-c", "20", "-m", "10", server.url(how, "/body"))


@pytest.fixture(scope="session")
def goclient(work_folder):
	go = "/usr/bin/go" if os.path.exists("/usr/bin/go") else shutil.which("go")
	assert go, "go is missing (Debian: golang-go)"
	binary = os.path.join(work_folder, "goclient")
	source = os.path.join(HERE, "goclient", "main.go")
	if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
		run(go, "build", "-o", binary, source, env=dict(os.environ, GO111MODULE="off",
			GOTOOLCHAIN="local",
			CGO_ENABLED="0"))
	return binary


def test_go(server, goclient):
	for name in ("body", "small"):
		done = run(goclient, server.url("tls", "/" + name), os.path.join(server.root, name),
			"100", "20")
		assert done.stdout.strip() == b"100"


def test_python(server, how):
	with server.connect(how, check=True) as c:
		assert c.get("/body").body == BODY
