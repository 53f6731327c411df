"""Requests whose end two servers could see in different places (RFC 9112, 11.2): one answer, and the end.

check_h1_parse has all of them, in pieces: here one of each kind goes the whole way."""
import pytest

GET = "GET / HTTP/1.1\r\nHost: a\r\n"
POST = "POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"
# What would be answered, if the request in front of it were taken to end there.
HIDDEN = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"

CASES = {
	"cl and te": (POST + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX", 400),
	"two cls": (POST + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", 400),
	"cl overflow": (POST + "Content-Length: 18446744073709551616\r\n\r\n", 400),
	"te unknown": (POST + "Transfer-Encoding: xchunked\r\n\r\n", 501),
	"te in 1.0": ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
	"no host": ("GET / HTTP/1.1\r\n\r\n", 400),
	"http/2.0": ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
	"bare lf line": ("GET / HTTP/1.1\nHost: a\n\n", 400),
	"nul in value": (GET + "X: \0\r\n\r\n", 400),
	"folded": (GET + "X: a\r\n b\r\n\r\n", 400),
	"long line": ("GET /" + "x" * 40000 + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
	"long field": (GET + "X: " + "x" * 40000 + "\r\n\r\n", 431),
	"many fields": (GET + "X: y\r\n" * 2000 + "\r\n", 431),
}

# Behind a head that would be answered with 405 or 200, for nobody takes the body: that is looked at first.
BODIES = {
	"size plus": "+5\r\n12345\r\n",
	"extension no value": "5;a=\r\n12345\r\n0\r\n\r\n",
	"extension lf": "5;a\n12345\r\n",
	"extension long": "5;" + "a" * 5000 + "\r\n12345\r\n",
	"size lf": "5\n12345\r\n",
	"data long": "5\r\n123456\r\n",
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
