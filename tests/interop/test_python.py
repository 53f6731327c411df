"""httpx over HTTP/2 and HTTP/1.1, requests, and the standard library's http.client."""
import asyncio
import http.client
import ssl
import urllib.parse
import warnings

import pytest

import tree
from tree import FILES, UPLOADS


def trusting():
	context = ssl.create_default_context()
	context.check_hostname = False
	context.verify_mode = ssl.CERT_NONE
	return context


@pytest.fixture(params=["h2", "h1"])
def httpx_client(request, server, how):
	"""A client whose base is the server, and that speaks this protocol alone (RFC 9113, 3.3 in cleartext)."""
	httpx = pytest.importorskip("httpx", reason="no httpx (Debian: python3-httpx, python3-h2)")
	h2 = request.param == "h2"
	# Its own deadline is 5 s, for a place among its connections, too.
	return httpx.AsyncClient(http2=h2, http1=not h2, verify=False, base_url=server.url(how, ""), timeout=120,
		headers={"accept-encoding": "identity"}), "HTTP/2" if h2 else "HTTP/1.1"


def test_httpx(httpx_client):
	client, version = httpx_client

	async def all_at_once():
		async with client:
			names = [name for name in FILES for _ in range(20)]
			answers = await asyncio.gather(*(client.get("/" + name) for name in names))
			for name, answer in zip(names, answers):
				assert (answer.status_code, answer.http_version) == (200, version)
				assert answer.content == FILES[name]
	asyncio.run(all_at_once())


def test_httpx_semantics(httpx_client):
	client, _ = httpx_client

	async def one_by_one():
		async with client:
			for name in ("body", "text.html"):
				await one(name)
			assert (await client.get("/dir", follow_redirects=True)).content == FILES["dir/index.html"]
			# While it sends, httpcore 0.16 does not see that a stream was reset: 256 KiB are taken.
			assert (await client.post("/small", content=b"x" * 200000)).status_code == 405
			assert (await client.get("/none")).status_code == 404
			assert (await client.get("/small")).content == FILES["small"]

	async def one(name):
		whole = await client.get("/" + name)
		part = await client.get("/" + name, headers={"range": "bytes=10-99"})
		assert (part.status_code, part.content) == (206, FILES[name][10:100])
		same = await client.get("/" + name, headers={"if-none-match": whole.headers["etag"]})
		assert (same.status_code, same.content) == (304, b"")
		changed = await client.get("/" + name, headers={"if-match": '"none"'})
		assert changed.status_code == 412
		for _ in range(100):
			packed = await client.get("/" + name, headers={"accept-encoding": "gzip"})
			assert packed.content == FILES[name]
			if name != "text.html" or packed.headers.get("content-encoding") == "gzip":
				break
			await asyncio.sleep(0.1)  # the keeper is late: the disk has no codings
		else:
			raise AssertionError(packed.headers)
	asyncio.run(one_by_one())


def test_httpx_streams(httpx_client):
	"""A reader that takes its time, and one that goes away."""
	client, _ = httpx_client

	async def stream():
		async with client:
			async with client.stream("GET", "/body") as answer:
				got = b""
				async for piece in answer.aiter_bytes(10000):
					got += piece
				assert got == FILES["body"]
			async with client.stream("GET", "/body") as answer:
				async for piece in answer.aiter_bytes(10000):
					break
			assert (await client.get("/small")).content == FILES["small"]
	asyncio.run(stream())


def told_files(answer):
	"""(location, content) of the files that the answer to FORM says there are."""
	assert answer.status_code == 201
	told = answer.json()["files"]
	assert [(f["name"], f["size"]) for f in told] == [(name, len(data)) for name, data in UPLOADS.items()]
	return [(f["location"], data) for f, data in zip(told, UPLOADS.values())]


FORM = [("file", (name, data)) for name, data in UPLOADS.items()]


def pieces(data):
	"""Of unknown length for who sends them."""
	for at in range(0, len(data), 50000):
		yield data[at:at + 50000]


def test_httpx_uploads(httpx_client):
	client, _ = httpx_client

	async def some(data):
		for piece in pieces(data):
			yield piece

	async def upload():
		async with client:
			form = await client.post("/files", files=FORM, data={"word": "value"})
			for location, data in told_files(form):
				assert (await client.get(location)).content == data
			for name, data in UPLOADS.items():
				path = "/files/httpx " + urllib.parse.quote(name)
				for content in (data, some(data)):
					done = await client.put(path, content=content)
					assert done.status_code in (201, 204)
					back = await client.get(path)
					assert back.content == data and done.headers.get("etag") in (None, back.headers.get("etag"))
	asyncio.run(upload())


def test_requests_uploads(server, how):
	requests = pytest.importorskip("requests", reason="no requests (Debian: python3-requests)")
	base = server.url(how, "")
	with requests.Session() as session, warnings.catch_warnings():
		warnings.simplefilter("ignore")  # of what is not verified
		session.verify, session.trust_env = False, False
		form = session.post(base + "/files", files=FORM, data={"word": "value"}, timeout=120)
		for location, data in told_files(form):
			assert session.get(base + location, timeout=120).content == data
		for name, data in UPLOADS.items():
			url = base + "/files/requests " + urllib.parse.quote(name)
			for content in (data, pieces(data)):
				done = session.put(url, data=content, timeout=120)
				assert done.status_code in (201, 204)
				back = session.get(url, timeout=120)
				assert back.content == data and done.headers.get("etag") in (None, back.headers.get("etag"))


def test_http_client(server, how):
	if how == "tls":
		c = http.client.HTTPSConnection("127.0.0.1", server.ports[how], context=trusting(), timeout=120)
	else:
		c = http.client.HTTPConnection("127.0.0.1", server.ports[how], timeout=120)
	c.connect()
	first = c.sock
	for _ in range(20):
		for name in sorted(FILES):
			c.request("GET", "/" + name)
			answer = c.getresponse()
			assert (answer.status, answer.version, answer.read()) == (200, 11, FILES[name])
		c.request("HEAD", "/small")
		answer = c.getresponse()
		assert answer.read() == b"" and answer.headers["content-length"] == "612"
		c.request("GET", "/small", headers={"if-modified-since": "Mon, 10 Sep 2001 01:46:40 GMT"})
		answer = c.getresponse()
		assert (answer.status, answer.read()) == (304, b"")
	assert c.sock is first, "one connection for all"
	c.request("POST", "/small", body=iter([b"x" * 1000] * 10), encode_chunked=True,
		headers={"transfer-encoding": "chunked"})
	assert c.getresponse().status == 405
	c.close()


def test_h2(server, how):
	"""python h2, which checks what it is told."""
	with server.connect(how, check=True) as c:
		for name, body in FILES.items():
			assert c.get("/" + name).body == body
