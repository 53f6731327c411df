"""Go's net/http over every protocol it has, and golang.org/x/net/http2 for h2c; see goclient/main.go."""
import os

import pytest

import gotool
from tree import run

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goclient")
SOURCES = [os.path.join(FOLDER, name) for name in ("main.go", "upload.go")]


@pytest.fixture(scope="session")
def goclient(work_folder):
	return gotool.build(work_folder, "goclient", ".", SOURCES)


@pytest.mark.parametrize("protocol", ["h2", "h1"])
@pytest.mark.parametrize("name", ["body", "empty", "index.html"])
def test_go(server, goclient, how, protocol, name):
	done = run(goclient, protocol, server.url(how, "/" + name), os.path.join(server.root, name), "100", "20",
		server.url(how, "/files"))
	assert done.stdout.strip() == b"100"
