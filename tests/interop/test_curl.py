"""curl, over every protocol it has: HTTP/2 by ALPN and by prior knowledge, HTTP/1.1, HTTP/1.0."""
import json
import os
import subprocess
import urllib.parse

import pytest

from procs import wait_for
from tree import FILES, UPLOADS, put_uploads, run

OPTIONS = {
	("tls", "h2"): ["--http2"], ("tcp", "h2"): ["--http2-prior-knowledge"],
	("tls", "h1"): ["--http1.1"], ("tcp", "h1"): ["--http1.1"],
	("tls", "h1.0"): ["--http1.0"], ("tcp", "h1.0"): ["--http1.0"],
}
# curl 7.88 cannot use a connection again after --http2-prior-knowledge (curl issue 10634).
REUSING = [("tls", "h2"), ("tls", "h1"), ("tcp", "h1")]
VERSIONS = {"h2": "2", "h1": "1.1", "h1.0": "1.1"}
BODIES = ["body", "text.html"]


@pytest.fixture
def curl(server, how, protocol, tmp_path):
	"""curl(path, options…): the finished process; .status, and .fields of the last response."""
	def curl(path, *options, stdin=subprocess.DEVNULL):
		trace = tmp_path / "head"
		done = run("curl", "-q", "-sS", "--cacert", server.cert.cert, *OPTIONS[how, protocol],
			"-D", trace, "-w", "%{stderr}%{http_code} %{http_version} %{num_connects}",
			*options, server.url(how, path), stdin=stdin)
		words = done.stderr.decode().split()[-3:]
		done.status, done.version, done.connects = int(words[0]), words[1], int(words[2])
		assert done.version == VERSIONS[protocol]
		with open(trace, encoding="latin-1") as f:
			head = f.read().replace("\r\n", "\n").strip().split("\n\n")[-1].split("\n")
		done.fields = dict(line.split(": ", 1) for line in head[1:])
		return done
	return curl


@pytest.mark.parametrize("name", sorted(FILES))
def test_get_and_head(curl, name):
	done, head = curl("/" + name), curl("/" + name, "-I")
	assert (done.status, done.stdout) == (200, FILES[name])
	assert int(head.fields["content-length"]) == len(FILES[name])
	for fields in (done.fields, head.fields):
		fields.pop("date")
		fields.pop("connection", None)
	assert done.fields == head.fields


@pytest.mark.parametrize("name", BODIES)
def test_resume(curl, tmp_path, name):
	half = tmp_path / "half"
	half.write_bytes(FILES[name][:1234])
	assert curl("/" + name, "-C", "-", "-o", half).status == 206
	assert half.read_bytes() == FILES[name]


def coded(done):
	"""An answer out of the cache: where the keeper is late for a moment the disk answers, without a coding."""
	return "content-encoding" in done.fields and done


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip"])
def test_compressed(curl, coding):
	name = "text.html"
	done = wait_for(lambda: coded(curl("/" + name, "--compressed", "-H", "accept-encoding: " + coding)), said=coding)
	assert done.fields["content-encoding"] == coding
	assert int(done.fields["content-length"]) < len(FILES[name]) / 2
	assert done.stdout == FILES[name]
	done = curl("/" + name)
	assert "content-encoding" not in done.fields and "accept-encoding" in done.fields["vary"].lower()


def test_compressed_by_default(curl):
	done = wait_for(lambda: coded(curl("/text.html", "--compressed")), said="a coding")
	assert done.fields["content-encoding"] in ("br", "zstd", "gzip")
	assert done.stdout == FILES["text.html"]


def test_folder(curl):
	done = curl("/dir")
	assert (done.status, done.fields["location"]) == (301, "/dir/")


@pytest.mark.parametrize("how, protocol", REUSING)
def test_redirect_is_followed(curl):
	assert curl("/dir", "-L").stdout == FILES["dir/index.html"]


@pytest.mark.parametrize("how_much", [["-d", "a=b"], ["-F", "f=@BODY"], ["-T", "BODY"], ["-T", "-"],
	["-T", "BODY", "-H", "expect:"]], ids=["post", "form", "put", "stdin", "put at once"])
def test_uploads_are_refused_politely(curl, server, protocol, how_much):
	if how_much[-1] == "-" and protocol == "h1.0":
		how_much = ["-T", "BODY", "-H", "connection: keep-alive"]  # it knows no chunks
	body = os.path.join(server.root, "body")
	with open(body, "rb") as f:
		done = curl("/small", *(word.replace("BODY", body) for word in how_much), stdin=f)
	assert done.status == 405 and "GET" in done.fields["allow"]
	assert curl("/small").stdout == FILES["small"]


@pytest.mark.parametrize("how, protocol", REUSING + [("tcp", "h1.0")])
def test_many_on_one_connection(curl, server, how, protocol, tmp_path):
	urls = [url for _ in range(30) for name in ("small", "text.html") for url in
		("-o", tmp_path / "out", server.url(how, "/" + name))]
	done = curl("/small", *urls)
	connects = [int(line.split()[2]) for line in done.stderr.decode().replace("200 ", "\n200 ").split(
		"\n") if line]
	assert len(connects) == 61
	assert sum(connects) == (61 if protocol == "h1.0" else 1)


@pytest.mark.parametrize("how, protocol", REUSING)
def test_parallel(server, how, protocol, tmp_path):
	run("curl", "-q", "-sS", "-k", *OPTIONS[how, protocol], "-Z", "--parallel-max", "20", "-o",
		tmp_path / "#1-#2", server.url(how, "/{body,small,text.html}?[1-20]"))
	got = list(tmp_path.iterdir())
	assert len(got) == 60
	for path in got:
		assert path.read_bytes() == FILES[path.name.rpartition("-")[0]]


def test_limited_rate(curl):
	"""A client slower than the server: what waits for it is bounded, and whole in the end."""
	assert curl("/body", "--limit-rate", "4M").stdout == FILES["body"]


def test_resets(server, how, protocol):
	"""A client that breaks a download off."""
	subprocess.run(["curl", "-q", "-sSk", *OPTIONS[how, protocol], "--max-filesize", "1000",
		server.url(how, "/body")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	assert run("curl", "-q", "-sSk", *OPTIONS[how, protocol],
		server.url(how, "/small")).stdout == FILES["small"]


def test_options(curl, protocol):
	done = curl("/", "-X", "OPTIONS")
	assert done.status in (200, 204) and "GET" in done.fields["allow"]
	done = curl("/", "-X", "OPTIONS", "--request-target", "*")
	assert done.status in (200, 204)


# --- without the table of protocols -----------------------------------------------------------------


def test_as_if_it_were_a_proxy(server):
	"""The absolute form (RFC 9112, 3.2.2)."""
	done = run("curl", "-q", "-sS", "-x", server.url("tcp"), "http://example.test/text.html")
	assert done.stdout == FILES["text.html"]


def test_both_protocols_on_one_port(server, how):
	for _ in range(5):
		for option, version in (("--http1.1", b"1.1"), (OPTIONS[how, "h2"][0], b"2")):
			done = run("curl", "-q", "-sSk", option, "-w", "%{stderr}%{http_version}",
				server.url(how, "/small"))
			assert done.stdout == FILES["small"] and done.stderr == version


def test_upload_by_form(curl, tmp_path):
	"""-F"""
	options = ["-F", "word=value"]
	for i, path in enumerate(put_uploads(tmp_path)):
		options += ["-F", 'file%d=@"%s"' % (i, str(path).replace('"', '\\"'))]
	done = curl("/files", *options)
	assert done.status == 201
	files = json.loads(done.stdout)["files"]
	assert [f["name"] for f in files] == list(UPLOADS)
	assert done.fields["location"] == files[0]["location"]
	for f, data in zip(files, UPLOADS.values()):
		back = curl(f["location"])
		assert (back.status, back.stdout) == (200, data) and f.get("etag") in (None, back.fields.get("etag"))


def test_upload_by_put(curl, protocol, tmp_path):
	"""-T: a file to its own name, and one of unknown length."""
	for path, data in zip(put_uploads(tmp_path), UPLOADS.values()):
		done = curl("/files/", "-T", path)
		assert done.status in (201, 204)
		back = curl("/files/" + urllib.parse.quote(path.name))
		assert (back.status, back.stdout) == (200, data) and done.fields.get("etag") in (None, back.fields.get("etag"))
		if protocol == "h1.0":
			continue  # it has no chunks
		with open(path, "rb") as f:
			assert curl("/files/piped", "-T", "-", stdin=f).status in (201, 204)
		assert curl("/files/piped").stdout == data
