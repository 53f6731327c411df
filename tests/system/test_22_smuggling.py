"""Requests whose end two servers could see in different places (RFC 9112, 11.2): one answer, and the end. check_h1_parse has them in pieces."""
import pytest

GET = "GET / HTTP/1.1\r\nHost: a\r\n"
POST = "POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"
# What would be answered, if the request in front of it were taken to end there.
HIDDEN = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"

CASES = {
	"cl and te": (POST + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX", 400),
	"te and cl": (POST + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n", 400),
	"two cls": (POST + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", 400),
	"two equal cls": (POST + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
	"cl list": (POST + "Content-Length: 0, 0\r\n\r\n", 400),
	"cl plus": (POST + "Content-Length: +0\r\n\r\n", 400),
	"cl minus": (POST + "Content-Length: -1\r\n\r\n", 400),
	"cl empty": (POST + "Content-Length: \r\n\r\n", 400),
	"cl hex": (POST + "Content-Length: 0x0\r\n\r\n", 400),
	"cl overflow": (POST + "Content-Length: 18446744073709551616\r\n\r\n", 400),
	"cl space colon": (POST + "Content-Length : 5\r\n\r\n", 400),
	"te space colon": (POST + "Transfer-Encoding : chunked\r\n\r\n", 400),
	"te tab": (POST + "Transfer-Encoding\t: chunked\r\n\r\n", 400),
	"te folded": (POST + "Transfer-Encoding:\r\n chunked\r\n\r\n", 400),
	"te vertical tab": (POST + "Transfer-Encoding: \x0bchunked\r\n\r\n", 400),
	"te nul": (POST + "Transfer-Encoding: chunked\0\r\n\r\n", 400),
	"te bare lf": (POST + "X: y\nTransfer-Encoding: chunked\r\n\r\n", 400),
	"te bare cr": (POST + "X: y\rTransfer-Encoding: chunked\r\n\r\n", 400),
	"te unknown": (POST + "Transfer-Encoding: xchunked\r\n\r\n", 501),
	"te gzip": (POST + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
	"te identity": (POST + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n", 501),
	"te twice": (POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
	"te not last": (POST + "Transfer-Encoding: chunked, identity\r\n\r\n", 400),
	"te in 1.0": ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
	"no host": ("GET / HTTP/1.1\r\n\r\n", 400),
	"two hosts": (GET + "Host: b\r\n\r\n", 400),
	"host list": ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
	"host with user": ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
	"host with path": ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
	"two spaces": ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
	"leading space": (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
	"http/0.9": ("GET /\r\n", 400),
	"http/1.10": ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
	"http/2.0": ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
	"bare lf line": ("GET / HTTP/1.1\nHost: a\n\n", 400),
	"bare lf end": (GET + "\n", 400),
	"bare cr": (GET + "X: a\rb\r\n\r\n", 400),
	"cr cr lf": (GET + "X: a\r\r\n\r\n", 400),
	"nul in name": (GET + "X\0: a\r\n\r\n", 400),
	"nul in value": (GET + "X: \0\r\n\r\n", 400),
	"nul in target": ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
	"folded": (GET + "X: a\r\n b\r\n\r\n", 400),
	"folded first": ("GET / HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n", 400),
	"no colon": (GET + "X\r\n\r\n", 400),
	"long line": ("GET /" + "x" * 40000 + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
	"long field": (GET + "X: " + "x" * 40000 + "\r\n\r\n", 431),
	"many fields": (GET + "X: y\r\n" * 2000 + "\r\n", 431),
}

# Behind a head that would be answered with 405 or 200, for nobody takes the body: that is looked at first.
BODIES = {
	"size 0x": "0x5\r\n12345\r\n",
	"size plus": "+5\r\n12345\r\n",
	"size space": " 5\r\n12345\r\n",
	"size behind": "5 \r\n12345\r\n",
	"size empty": "\r\n12345\r\n",
	"size long": "00000000000000005\r\n12345\r\n",
	"size overflow": "10000000000000005\r\n12345\r\n",
	"size underscore": "0_2e\r\n12345\r\n",
	"size cr": "5\r\r;x\r\n12345\r\n",
	"extension empty": "5;\r\n12345\r\n0\r\n\r\n",
	"extension no value": "5;a=\r\n12345\r\n0\r\n\r\n",
	"extension lf": "5;a\n12345\r\n",
	"extension cr": "5;a\rb\r\n12345\r\n",
	"extension long": "5;" + "a" * 5000 + "\r\n12345\r\n",
	"size lf": "5\n12345\r\n",
	"data long": "5\r\n123456\r\n",
	"data lf": "5\r\n12345\n",
	"trailer space": "0\r\nX : y\r\n\r\n",
	"trailer lf": "0\r\nX: y\n\r\n",
	"trailer request": "0\r\n" + HIDDEN,
	"trailer long": "0\r\nX: " + "y" * 40000 + "\r\n\r\n",
}


@pytest.fixture(scope="module")
def one(tmp_path_factory, cert):
	"""One server for all cases: each is a connection of its own."""
	import server
	s = server.Server(cert).start()
	yield s
	s.finish(False)


@pytest.mark.parametrize("case", CASES)
def test_heads(one, case):
	text, status = CASES[case]
	with one.h1() as c:
		c.try_send(text.encode("latin-1"))
		c.try_send(HIDDEN.encode())
		answer = c.response()
		assert answer.status == status
		assert answer.closed, "and nothing behind it is answered"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("case", BODIES)
def test_bodies(one, case, method):
	text = CHUNKED.replace("POST", method) + BODIES[case]
	with one.h1() as c:
		c.ask(method)
		c.try_send(text.encode("latin-1"))
		c.try_send(HIDDEN.encode())
		answer = c.response()
		assert answer.status == (431 if case == "trailer long" else 400)
		assert answer.closed, "nothing behind it is answered"


def test_lengths_are_believed(one):
	"""What lies in a body is no request."""
	with one.h1() as c:
		assert c.request("POST", "/", body=HIDDEN.encode()).status == 405
		assert c.request("POST", "/", body=[HIDDEN.encode()]).status == 405
		c.ask("POST")
		c.send_bytes((CHUNKED + "0\r\nContent-Length: 37\r\nTransfer-Encoding: x\r\n\r\n").encode())
		assert c.response().status == 405, "trailers are dropped"
		assert c.get("/").status == 200


def test_empty_lines(one):
	with one.h1() as c:
		c.send_bytes(b"\r\n\r\n" + c.head())
		assert c.response().status == 200
		c.send_bytes(b"\r\n" + c.head())
		assert c.response().status == 200
		c.send_bytes(b"\r\n\r\n\r\n" + c.head())
		assert c.response().status == 400
