"""WebSockets by others' clients: Chromium, by upgrade and by extended CONNECT, Python's websockets, and Go's gorilla/websocket."""
import asyncio
import os
import re

import pytest

import gotool
from procs import wait_for
from server import H2D
from test_chromium import browser, program  # noqa: F401 (fixtures)
from test_python import trusting
from tree import run

GORILLA = os.path.join(gotool.PACKAGES, "src/github.com/gorilla/websocket")
GOSOCKET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gosocket", "main.go")
HANDLERS = os.path.join(os.path.dirname(os.path.dirname(H2D)), "tests", "handlers", "h2d_handlers")

TALK = """new Promise((done) => {
	const said = [], socket = new WebSocket(%r);
	socket.binaryType = "arraybuffer";
	socket.onopen = () => { socket.send("µ €"); socket.send(new Uint8Array(65536)); socket.send("close 4000 enough"); };
	socket.onmessage = (e) => said.push(typeof e.data == "string" ? e.data : e.data.byteLength);
	socket.onclose = (e) => done([...said, e.code, e.reason, e.wasClean]);
})"""


def url(server, how, path):
	return server.url(how, path).replace("http", "ws", 1)


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_chromium(h2d, browser, how):  # noqa: F811
	"""A page of its own host speaks; one of another host is refused."""
	server = h2d(binary=HANDLERS, conf='access-log = "access.log"', files={"a.html": "<!doctype html><title>a</title>\n"})
	browser.open(server.url(how, "/a.html"))
	assert browser.evaluate(TALK % url(server, how, "/t/websocket/echo")) == ["µ €", 65536, 4000, "enough", True]
	assert browser.evaluate(TALK % url(server, how, "/t/strict")) == [1006, "", False]
	server.log.wait(r"WebSocket origin is not allowed: https?://")
	said = {"tcp": r'"GET /t/websocket/echo HTTP/1\.1" 101 ', "tls": r'"CONNECT /t/websocket/echo HTTP/2\.0" 200 '}[how]
	wait_for(lambda: re.search(said, open(server.path("access.log")).read()))


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_python(h2d, how):
	websockets = pytest.importorskip("websockets", reason="no websockets (Debian: python3-websockets)")
	server = h2d(binary=HANDLERS)

	async def talk():
		context = {"ssl": trusting()} if how == "tls" else {}
		async with websockets.connect(url(server, how, "/t/websocket/echo"), **context) as ws:
			for message in ("µ €", "", b"", bytes(65536), ["in ", "three ", "pieces"]):
				await ws.send(message)
				assert await ws.recv() == ("".join(message) if isinstance(message, list) else message)
			await (await ws.ping())
			await ws.send("close 3000 enough")
			with pytest.raises(websockets.ConnectionClosed):
				await ws.recv()
			assert (ws.close_code, ws.close_reason) == (3000, "enough")
		async with websockets.connect(url(server, how, "/t/strict"), subprotocols=["one"], **context) as ws:
			assert ws.subprotocol == "one"
	asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.fixture(scope="session")
def gosocket(work_folder):
	if not os.path.isdir(GORILLA):
		pytest.skip("no gorilla/websocket (Debian: golang-github-gorilla-websocket-dev)")
	return gotool.build(work_folder, "gosocket", ".", [GOSOCKET], debian=True)


@pytest.mark.parametrize("how", ["tcp", "tls"])
def test_go(h2d, gosocket, how):
	"""Messages, fragments, pings and closes of ten connections at once; see gosocket/main.go."""
	server = h2d(binary=HANDLERS)
	done = run(gosocket, url(server, how, "/t/websocket/echo"), url(server, how, "/t/strict"), "10")
	assert done.stdout.strip() == b"10"
