"""nghttp and h2load: windows, padding, priorities, many connections; and h2load's HTTP/1.1."""
import re

import pytest

from tree import FILES, program, run


def nghttp(*arguments):
	return run(program("nghttp", "nghttp2-client"), "--no-verify-peer", *arguments).stdout


def test_get(server, how):
	assert nghttp(server.url(how, "/body")) == FILES["body"]


@pytest.mark.parametrize("window, name", [("1", "small"), ("16", "body"), ("30", "body")])
def test_windows(server, how, window, name):
	assert nghttp("-w", window, "-W", "16", server.url(how, "/" + name)) == FILES[name]


def test_priorities_and_padding(server, how):
	said = nghttp("-n", "-v", "-b", "100", "-p", "100", "-m", "20", server.url(how, "/small"))
	assert said.count(b":status: 200") == 20


def test_extensible_priorities(server, how):
	"""RFC 9218: nghttp gives up the old priorities when both sides say so."""
	said = nghttp("-n", "-v", "--no-rfc7540-pri", "-H", "priority: u=0, i", "-m", "5",
		server.url(how, "/small"), server.url(how, "/text.html"))
	assert said.count(b":status: 200") == 10
	assert said.count(b"SETTINGS_NO_RFC7540_PRIORITIES(0x09):1") == 2


def test_many_requests_of_one_page(server, how):
	"""-a fetches what the page names; --stat counts."""
	said = nghttp("-n", "-a", "--stat", server.url(how, "/index.html"))
	assert re.search(rb"\s200\s+\S+ /index.html", said)


@pytest.mark.parametrize("option", ["range: bytes=100-199", "if-modified-since: now"])
def test_fields(server, how, option):
	assert nghttp("-H", option, server.url(how, "/small")) == (
		FILES["small"][100:200] if option.startswith("range") else FILES["small"])


@pytest.mark.parametrize("clients, streams", [(10, 1), (20, 32)])
def test_h2load(server, how, clients, streams):
	done = run("h2load", "-n", "5000", "-c", str(clients), "-m", str(streams), server.url(how, "/small"))
	check(done.stdout.decode(), 5000)


def test_h2load_by_time(server, how):
	"""Connections that are cut at the end of the run leave nothing behind."""
	run("h2load", "-D", "1", "-c", "20", "-m", "10", server.url(how, "/body"))


@pytest.mark.parametrize("pipeline", [1, 8])
def test_h2load_of_http1(server, how, pipeline):
	done = run("h2load", "--h1", "-n", "3000", "-c", "10", "-m", str(pipeline), server.url(how, "/small"))
	check(done.stdout.decode(), 3000)


def check(text, count):
	assert "%d succeeded, 0 failed, 0 errored, 0 timeout" % count in text, text
	assert "status codes: %d 2xx" % count in text, text
