"""What reaches an application is exactly the requests that were answered: an application in front of which h2d stands
records all bytes, and reads them as strictly as can be."""
import re
import time

import pytest

import server as server_module
from client import Raw
from h1client import H1
from hyperframe import frame as hf
from test_22_smuggling import BODIES, CASES, CHUNKED, GET, HIDDEN, POST
from upstream import Upstream

BEHIND = HIDDEN.replace("/healthz", "/hidden1")
LAST = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
HEAD = "%s HTTP/1.1\r\nHost: a\r\n\r\n"

# By HTTP/1. None of them is more than what it says it is.
TEXTS = {
	**{name: text for name, (text, _) in CASES.items()},
	**{"chunked " + name: CHUNKED + text for name, text in BODIES.items()},
	**{"get " + name: CHUNKED.replace("POST", "GET") + text for name, text in BODIES.items()},
	"get with a length": GET + "Content-Length: %d\r\n\r\n" % len(HIDDEN),
	"get with chunks": GET + "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
	"te and cl": POST + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nX",
	"two equal cls": POST + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345",
	"cl list": POST + "Content-Length: 5, 5\r\n\r\n12345",
	"cl plus": POST + "Content-Length: +5\r\n\r\n12345",
	"cl hex": POST + "Content-Length: 0x5\r\n\r\n12345",
	"cl minus": POST + "Content-Length: -5\r\n\r\n12345",
	"cl parameter": POST + "Content-Length: 5;a\r\n\r\n12345",
	"cl space inside": POST + "Content-Length: 1 0\r\n\r\n12345",
	"cl empty": POST + "Content-Length:\r\n\r\n12345",
	"cl underscore": POST + "Content_Length: 5\r\n\r\n",
	"cl space before colon": POST + "Content-Length : 5\r\n\r\n12345",
	"cl tab before colon": POST + "Content-Length\t: 5\r\n\r\n12345",
	"cl leading space": GET + " Content-Length: 5\r\n\r\n12345",
	"te space before colon": POST + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	"te vertical tab": POST + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
	"te quoted": POST + 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
	"te identity": POST + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n12345",
	"te chunked identity": POST + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
	"te twice": POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"te twice in one": POST + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
	"te gzip": POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	"te case": POST + "transfer-ENCODING: ChUnKeD\r\n\r\n0\r\n\r\n",
	"te underscore": POST + "Transfer_Encoding: chunked\r\n\r\n",
	"te nul": POST + "Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n",
	"te comma": POST + "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
	"te folded": POST + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
	"bare cr in a value": GET + "X: a\rContent-Length: %d\r\n\r\n" % len(HIDDEN),
	"bare lf in a value": GET + "X: a\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
	"bare lf end": GET + "X: a\n\n",
	"bare cr end": GET + "X: a\r\r\n",
	"chunk leading zeros": CHUNKED + "0000005\r\n12345\r\n000\r\n\r\n",
	"chunk upper case": CHUNKED + "A\r\n1234567890\r\n0\r\n\r\n",
	"chunk hex prefix": CHUNKED + "0x5\r\n12345\r\n0\r\n\r\n",
	"chunk space": CHUNKED + "5 \r\n12345\r\n0\r\n\r\n",
	"chunk extension": CHUNKED + "5;a=b;c\r\n12345\r\n0;d\r\n\r\n",
	"chunk extension quoted": CHUNKED + '5;a="\r\n"\r\n12345\r\n0\r\n\r\n',
	"chunk extension cr": CHUNKED + "5;a\rb\r\n12345\r\n0\r\n\r\n",
	"chunk size overflow": CHUNKED + "10000000000000005\r\n12345\r\n0\r\n\r\n",
	"chunk without cr": CHUNKED + "5\r\n12345\n0\r\n\r\n",
	"chunk end lf": CHUNKED + "0\n\n",
	"trailer length": CHUNKED + "5\r\n12345\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nHost: b\r\nX-Real-IP: x\r\n\r\n",
	"trailer folded": CHUNKED + "0\r\nX: a\r\n b\r\n\r\n",
	"trailer bare lf": CHUNKED + "0\r\nX: a\n\r\n",
	"connection length": POST + "Connection: content-length\r\nContent-Length: %d\r\n\r\n%s" % (len(HIDDEN), HIDDEN),
	"connection coding": POST + "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
	"connection host": GET + "Connection: host, x-forwarded-for, x-real-ip, via\r\n\r\n",
	"connection cookie": GET + "Connection: cookie\r\nCookie: a=b\r\n\r\n",
	"connection upgrade h2c": GET + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
	"connection upgrade list": GET + "Connection: Upgrade\r\nUpgrade: h2c, x\r\n\r\n",
	"keep-alive": GET + "Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n\r\n",
	"two hosts": GET + "Host: b\r\n\r\n",
	"host list": "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
	"host with a path": "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
	"host with a user": "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
	"host with a space": "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
	"host empty": "GET / HTTP/1.1\r\nHost:\r\n\r\n",
	"host space before colon": "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
	"absolute": "GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n",
	"absolute with a user": "GET http://u@b/x HTTP/1.1\r\nHost: a\r\n\r\n",
	"absolute another scheme": "GET ftp://b/x HTTP/1.1\r\nHost: a\r\n\r\n",
	"absolute without a path": "GET http://b?x HTTP/1.1\r\nHost: a\r\n\r\n",
	"authority form": HEAD % "GET a:80",
	"asterisk": HEAD % "OPTIONS *",
	"asterisk get": HEAD % "GET *",
	"connect": HEAD % "CONNECT a:80",
	"two spaces": HEAD % "GET  /",
	"space in the target": HEAD % "GET /a b",
	"tab in the line": "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n",
	"space behind the line": "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
	"lower case protocol": "GET / http/1.1\r\nHost: a\r\n\r\n",
	"version 01.1": "GET / HTTP/01.1\r\nHost: a\r\n\r\n",
	"version 1.10": "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
	"version 1.0": "GET /10 HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
	"version 0.9": "GET /\r\n",
	"fragment": HEAD % "GET /a#b",
	"quote in the target": HEAD % 'GET /"<>`',
	"eight bits in the target": HEAD % "GET /\xff",
	"control in the target": HEAD % "GET /\x01",
	"backslash": HEAD % "GET /a\\..\\b",
	"encoded line ends": HEAD % "GET /%0d%0aHost:%20b%0d%0a",
	"encoded nul": HEAD % "GET /%00",
	"bad escape": HEAD % "GET /%2",
	"method with a colon": HEAD % "GE:T /",
	"method nul": HEAD % "GE\0T /",
	"name nul": GET + "X\0: a\r\n\r\n",
	"name brackets": GET + "X(: a\r\n\r\n",
	"name empty": GET + ": a\r\n\r\n",
	"name eight bits": GET + "X\xe4: a\r\n\r\n",
	"expect": POST + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n12345",
	"expect twice": POST + "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n12345",
	"expect without a body": GET + "Expect: 100-continue\r\n\r\n",
	"preface late": GET + "\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	# What Http11Probe and the HTTP Garden list beside these.
	"cl three times": POST + "Content-Length: 5, 5, 5\r\n\r\n12345",
	"cl digits grouped": POST + "Content-Length: 1_0\r\n\r\n1234567890",
	"cl plus grouped": POST + "Content-Length: +1_0\r\n\r\n1234567890",
	"cl minus zero": POST + "Content-Length: -0\r\n\r\n",
	"cl minus 48": POST + "Content-Length: -48\r\n\r\n",
	"cl two zeros": POST + "Content-Length: 00\r\n\r\n",
	"cl octal": POST + "Content-Length: 010\r\n\r\n0123456789",
	"cl letters behind": POST + "Content-Length: 5a\r\n\r\n12345",
	"cl spaces around": POST + "Content-Length:  \t5 \t\r\n\r\n12345",
	"cl no-break space": POST + "Content-Length: \xa05\r\n\r\n12345",
	"cl name no-break space": POST + "Content-Length\x85: 10\r\n\r\n0123456789",
	"cl without colon": POST + "Content-Length 10\r\n\r\n0123456789",
	"cl empty, then one": POST + "Content-Length: \r\nContent-Length: %d\r\n\r\n%s" % (len(HIDDEN), HIDDEN),
	"cl one, then zero": POST + "Content-Length: 1\r\nContent-Length: 0\r\n\r\nZ",
	"cl zero and a body": POST + "Content-Length: 0\r\n\r\nX",
	"cl of half a request": GET + "Content-Length: 23\r\n\r\nGET /hidden HTTP/1.1\r\nX",
	"cl of head": POST.replace("POST", "HEAD") + "Content-Length: %d\r\n\r\n%s" % (len(HIDDEN), HIDDEN),
	"cl of options": POST.replace("POST", "OPTIONS") + "Content-Length: %d\r\n\r\n%s" % (len(HIDDEN), HIDDEN),
	"cl of trace": POST.replace("POST", "TRACE") + "Content-Length: %d\r\n\r\n%s" % (len(HIDDEN), HIDDEN),
	"cl and te plus": POST + "Content-Length: +6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
	"cl and te comma": POST + "Content-Length: 5\r\nTransfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
	"cl and te folded": POST + "Content-Length: 5\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n",
	"cl and te split": POST + "Transfer-\r\nEncoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
	"te parameter": POST + "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n",
	"te comma behind": POST + "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n",
	"te empty": POST + "Transfer-Encoding:\r\n\r\n0\r\n\r\n",
	"te tabs around": POST + "Transfer-Encoding:\tchunked\t\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
	"te form feed": POST + "Transfer-Encoding: \x0cchunked\r\n\r\n0\r\n\r\n",
	"te no-break spaces": POST + "Transfer-Encoding: \xa0chunked\xa0\r\n\r\n0\r\n\r\n",
	"te eight bits": POST + "Transfer-Encoding: \xffchunked\xff\r\n\r\n1\r\nZ\r\n0\r\n\r\n",
	"te unknown, then chunked": POST + "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
	"te unknown and a body": POST + "Transfer-Encoding: x\r\n\r\n1\r\nZ\r\n0\r\n\r\n",
	"te two lines": POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
	"chunk digits grouped": CHUNKED + "0_2e\r\n\r\n" + HIDDEN + "0\r\n\r\n",
	"chunk minus": CHUNKED + "-5\r\n12345\r\n0\r\n\r\n",
	"chunk plus zero": CHUNKED + "+0\r\n\r\nX",
	"chunk leading space": CHUNKED + " 5\r\n12345\r\n0\r\n\r\n",
	"chunk empty size": CHUNKED + "\r\n\r\n",
	"chunk no size": CHUNKED + "INVALID!!!\r\n",
	"chunk letters behind": CHUNKED + "1these-bytes\r\nZ\r\n0\r\n\r\n",
	"chunk semicolon": CHUNKED + "5;\r\n12345\r\n0\r\n\r\n",
	"chunk extension no token": CHUNKED + "5;b[d=x\r\n12345\r\n0\r\n\r\n",
	"chunk extension nul": CHUNKED + "5;a\0b\r\n12345\r\n0\r\n\r\n",
	"chunk extension two crs": CHUNKED + "5;a=b\r\r12345\r\n0\r\n\r\n",
	"chunk cr before an extension": CHUNKED + "5\r\r;ABCD\r\n34\r\nE\r\n0\r\n\r\n",
	"chunk extension 64 KiB": CHUNKED + "5;" + "a" * 65536 + "\r\n12345\r\n0\r\n\r\n",
	"chunk size cr": CHUNKED + "5\r12345\r\n0\r\n\r\n",
	"chunk two bytes for an end": CHUNKED + "5\r\n12345XX0\r\n\r\n",
	"chunk without an end": CHUNKED + "5\r\n123450\r\n\r\n",
	"chunk empty line before the last": CHUNKED + "17\r\n0\r\n\r\nGET /hidden HTTP/1\r\n\r\n\r\n0\r\n\r\n",
	"chunk no last": CHUNKED + "5\r\n12345\r\n",
	"chunk last with data": CHUNKED + "0\r\nX:POST / HTTP/1.1\r\n\r\n",
	"trailer end lf": CHUNKED + "0\r\n\n",
	"trailer credentials": CHUNKED + "0\r\nAuthorization: Basic eDp5\r\nContent-Type: a/b\r\nCookie: a=b\r\n\r\n",
	"trailer space before colon": CHUNKED + "0\r\nX : a\r\n\r\n",
	"trailer nul": CHUNKED + "0\r\nX: a\0\r\n\r\n",
	"name tab first": "GET / HTTP/1.1\r\n\tContent-Length: 1\r\nHost: a\r\n\r\nX",
	"name cr first": GET + "\rZGET /hidden: HTTP/1.1\r\n\r\n",
	"name and value empty": GET + ":\r\nI: am chopped off\r\n\r\n",
	"name no-break space": GET + "X\x85: a\r\n\r\n",
	"name of separators": GET + '"(),/;<=>?@[/]{}: a\r\n\r\n',
	"name without colon": GET + "Te\r\nst: test\r\n\r\n",
	"name long": GET + "X" * 100000 + ": a\r\n\r\n",
	"value nul cr": GET + "X: v\0\ralue\r\n\r\n",
	"value cr field": GET + "Visible: :/\rSmuggled: :)\r\n\r\n",
	"value two lfs": GET + "Useless:\n\n" + HIDDEN,
	"value controls": GET + "X: \x01\x02\x7f\r\n\r\n",
	"value no-break spaces": GET + "X: \x85admin\xa0\r\n\r\n",
	"host eight bits": "GET / HTTP/1.1\r\nHost: \xffa\xff\r\n\r\n",
	"host nul": "GET / HTTP/1.1\r\nHost: a\0.b\r\n\r\n",
	"two equal hosts": GET + "Host: a\r\n\r\n",
	"host port no digits": "GET / HTTP/1.1\r\nHost: a:x\r\n\r\n",
	"line without a target": "GET HTTP/1.1\r\nHost: a\r\n\r\n",
	"line lf before the version": "GET /\nHTTP/1.1\r\nHost: a\r\n\r\n",
	"line cr": "GET / HTTP/1.1\rHost: a\r\r",
	"line blank first": " \r\n" + GET + "\r\n",
	"line space first": " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	"line byte order mark": "\xef\xbb\xbf" + GET + "\r\n",
	"line binary": "\x80\x01\xff\xfe\x00" * 20 + "\r\n\r\n",
	"line folded": "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
	"target bang": HEAD % "GET !",
	"target overlong": HEAD % "GET /\xc0\xaf",
	"target nul": HEAD % "GET /a\0b",
	"target query only": HEAD % "GET ?x",
	"method lower case": HEAD % "get /",
	"method of separators": HEAD % 'G=":<>(e),[T];?" /',
	"method long": "X" * 100000 + " / HTTP/1.1\r\nHost: a\r\n\r\n",
	"version without minor": "GET / HTTP/1\r\nHost: a\r\n\r\n",
	"version 1.2": "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
	"version 1.32": "GET / HTTP/1.32\r\nHost: a\r\n\r\n",
	"version space": "GET / HTTP/ 1.1\r\nHost: a\r\n\r\n",
	"version crs": "GET / HTTP/\r\r1.1\r\nHost: a\r\n\r\n",
	"version overflow": "GET / HTTP/4294967297.257\r\nHost: a\r\n\r\n",
	"version 1.0 without host": "GET / HTTP/1.0\r\n\r\n",
	"version 1.0 cl and te": "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"expect another": POST + "Expect: 200-ok\r\nContent-Length: 5\r\n\r\n12345",
	"upgrade post": POST + "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nContent-Length: 5\r\n\r\n12345",
	"upgrade 1.0": "GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
	"upgrade not of the connection": GET + "Upgrade: websocket\r\n\r\n",
}


class Watched:
	"""A server before an application that records."""

	def __init__(self, cert):
		self.upstream, self.faults = Upstream(), 0
		self.server = server_module.Server(cert, listens=("tcp",), server='proxy = "%s"' % self.upstream.name).start()

	def answered(self, text):
		"""Numbers that the application gave its answers."""
		return [int(n) for n in re.findall(rb"\r\nx-answer: (\d+)", text)]

	def check(self, before, answers):
		"""The requests since: as many as were answered, and nothing else was said."""
		with self.server.connect("admin") as c:
			c.get("/status.json")
		assert self.upstream.faults()[self.faults:] == []
		self.faults = len(self.upstream.faults())
		came = self.upstream.requests[before:]
		assert sorted(answers) == list(range(before + 1, before + len(came) + 1)), [request.raw for request in came]
		for connection in self.upstream.connections:
			assert connection.over.is_set() or connection.at == len(connection.raw), bytes(connection.raw[connection.at:])
		return came

	def close(self):
		self.upstream.close()
		self.server.finish(False)


@pytest.fixture(scope="module")
def watched(tmp_path_factory, cert):
	made = Watched(cert)
	yield made
	made.close()


OF_CONNECTIONS = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings"}


@pytest.mark.parametrize("case", TEXTS)
def test_by_http_1(watched, case):
	before = len(watched.upstream.requests)
	with H1.tcp(watched.server.ports["tcp"]) as c:
		c.try_send((TEXTS[case] + BEHIND + LAST).encode("latin-1"))
		heard = c.rest()
	came = watched.check(before, watched.answered(heard))
	targets = [request.target for request in came]
	assert targets[1:] in ([], ["/hidden1"], ["/last"], ["/hidden1", "/last"]) or targets == ["/hidden1", "/last"]
	assert (case == "get with a length") <= ("/hidden1" not in targets), "it is a body"
	assert len(came) == len(re.findall(rb"HTTP/1\.1 200 [A-Z]", heard))
	for request in came:
		names = {name for name, _ in request.fields}
		assert not names & OF_CONNECTIONS and not any("_" in name for name in names)
		assert len(request.all("x-real-ip")) == len(request.all("x-forwarded-for")) == len(request.all("via")) == 1
		assert not {"host", "content-length", "transfer-encoding", "x-real-ip"} & {name.lower() for name, _ in request.trailers}


SMUGGLED = b"\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"


def fields(method=b"GET", path=b"/h2", authority=b"a", scheme=b"http", more=()):
	"""None: without that one."""
	return [pair for pair in ((b":method", method), (b":scheme", scheme), (b":authority", authority), (b":path", path), *more) if pair[1] is not None]


def each(what):
	"""Bytes that end something in HTTP/1, in that place."""
	return {"%s %s" % (what, name): value for name, value in (("cr", b"a\rb"), ("lf", b"a\nb"), ("crlf", b"a\r\nx: y"), ("nul", b"a\0b"),
		("request", b"a" + SMUGGLED), ("leading crlf", b"\r\na"), ("space", b"a b"), ("tab", b"a\tb"), ("colon", b"a:b"), ("del", b"a\x7fb"), ("high", b"a\xffb"))}


# By HTTP/2: fields, data, trailers; data None: the head is all.
SECTIONS = {
	**{name: (fields(more=[(b"x-a", value)]), None, None) for name, value in each("value").items()},
	**{name: (fields(more=[(value, b"1")]), None, None) for name, value in each("name").items()},
	**{name: (fields(path=b"/" + value), None, None) for name, value in each("path").items()},
	**{name: (fields(method=value), None, None) for name, value in each("method").items()},
	**{name: (fields(authority=value), None, None) for name, value in each("authority").items()},
	**{name: (fields(scheme=value), None, None) for name, value in each("scheme").items()},
	**{name: (fields(more=[(b"host", value)], authority=None), None, None) for name, value in each("host").items()},
	**{name: (fields(more=[(b"cookie", value), (b"cookie", b"b=c")]), None, None) for name, value in each("cookie").items()},
	**{name: (fields(b"POST"), b"12345", [(b"x-a", value)]) for name, value in each("trailer value").items()},
	**{name: (fields(b"POST"), b"12345", [(value, b"1")]) for name, value in each("trailer name").items()},
	"path with a version": (fields(path=b"/ HTTP/1.1"), None, None),
	"path without a slash": (fields(path=b"a"), None, None),
	"path empty": (fields(path=b""), None, None),
	"path missing": (fields(path=None), None, None),
	"path asterisk": (fields(path=b"*"), None, None),
	"path absolute": (fields(path=b"http://b/x"), None, None),
	"path fragment": (fields(path=b"/a#b"), None, None),
	"method empty": (fields(method=b""), None, None),
	"authority empty": (fields(authority=b""), None, None),
	"authority missing": (fields(authority=None), None, None),
	"authority with a path": (fields(authority=b"a/b"), None, None),
	"authority with a user": (fields(authority=b"u@a"), None, None),
	"host and authority": (fields(more=[(b"host", b"b")]), None, None),
	"host twice": (fields(authority=None, more=[(b"host", b"a"), (b"host", b"b")]), None, None),
	"length too long": (fields(b"POST", more=[(b"content-length", b"6")]), b"12345", None),
	"length too short": (fields(b"POST", more=[(b"content-length", b"4")]), b"12345", None),
	"length without a body": (fields(b"POST", more=[(b"content-length", b"5")]), None, None),
	"length twice": (fields(b"POST", more=[(b"content-length", b"5"), (b"content-length", b"5")]), b"12345", None),
	"length list": (fields(b"POST", more=[(b"content-length", b"5, 5")]), b"12345", None),
	"length plus": (fields(b"POST", more=[(b"content-length", b"+5")]), b"12345", None),
	"length right": (fields(b"POST", more=[(b"content-length", b"5")]), b"12345", None),
	"length underscore": (fields(b"POST", more=[(b"content_length", b"0"), (b"transfer_encoding", b"chunked")]), b"12345", None),
	"length of get": (fields(more=[(b"content-length", b"5")]), b"12345", None),
	"body of get": (fields(), SMUGGLED, None),
	"body of head": (fields(b"HEAD"), SMUGGLED, None),
	"body of delete": (fields(b"DELETE"), SMUGGLED, None),
	"body of an unknown one": (fields(b"BREW"), SMUGGLED, None),
	"body": (fields(b"POST"), SMUGGLED, None),
	"body like a last chunk": (fields(b"POST"), b"0\r\n\r\n" + SMUGGLED, None),
	"coding": (fields(b"POST", more=[(b"transfer-encoding", b"chunked")]), b"0" + SMUGGLED, None),
	"coding and length": (fields(b"POST", more=[(b"content-length", b"5"), (b"transfer-encoding", b"chunked")]), b"0\r\n\r\n", None),
	"connection length": (fields(b"POST", more=[(b"connection", b"content-length"), (b"content-length", b"5")]), b"12345", None),
	"connection": (fields(more=[(b"connection", b"close")]), None, None),
	"keep-alive": (fields(more=[(b"keep-alive", b"1")]), None, None),
	"proxy-connection": (fields(more=[(b"proxy-connection", b"keep-alive")]), None, None),
	"upgrade": (fields(more=[(b"upgrade", b"websocket")]), None, None),
	"te trailers": (fields(more=[(b"te", b"trailers")]), None, None),
	"te other": (fields(more=[(b"te", b"trailers, chunked")]), None, None),
	"http2-settings": (fields(more=[(b"http2-settings", b"AAMAAABkAAQCAAAAAAIAAAAA")]), None, None),
	"upper case": (fields(more=[(b"X-A", b"1")]), None, None),
	"name empty": (fields(more=[(b"", b"1")]), None, None),
	"pseudo unknown": (fields(more=[(b":x", b"1")]), None, None),
	"pseudo late": (fields(path=None, more=[(b"x-a", b"1"), (b":path", b"/hidden")]), None, None),
	"pseudo twice": (fields(more=[(b":path", b"/hidden")]), None, None),
	"protocol": (fields(more=[(b":protocol", b"websocket")]), None, None),
	"connect": ([(b":method", b"CONNECT"), (b":authority", b"a:80")], None, None),
	"value spaces": (fields(more=[(b"x-a", b" 1 ")]), None, None),
	"trailers with a length": (fields(b"POST"), b"12345", [(b"content-length", b"5")]),
	"trailers with a coding": (fields(b"POST"), b"12345", [(b"transfer-encoding", b"chunked")]),
	"trailers with a host": (fields(b"POST"), b"12345", [(b"host", b"b"), (b"x-real-ip", b"192.0.2.1"), (b"x-a", b"1")]),
	"trailers pseudo": (fields(b"POST"), b"12345", [(b":path", b"/hidden")]),
	"trailers behind a length": (fields(b"POST", more=[(b"content-length", b"5")]), b"12345", [(b"x-a", b"1")]),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_by_http_2(watched, case):
	head, data, trailers = SECTIONS[case]
	before = len(watched.upstream.requests)
	with Raw.tcp(watched.server.ports["tcp"]) as c:
		frames = [c.headers(1, head, end_stream=data is None)]
		if data is not None:
			frames.append(hf.DataFrame(1, data, flags=[] if trailers else ["END_STREAM"]))
		if trailers:
			frames.append(c.headers(1, trailers))
		c.try_send(b"".join(frame.serialize() for frame in frames))
		status = c.status_of(1)
		answer = next((f.fields for f in c.frames if isinstance(f, hf.HeadersFrame)), {})
		if status == 200:
			if not any("END_STREAM" in f.flags for f in c.frames if f.stream_id == 1):
				c.until(lambda f: f.stream_id == 1 and ("END_STREAM" in f.flags or isinstance(f, hf.RstStreamFrame)))
			content = b"".join(f.data for f in c.frames if isinstance(f, hf.DataFrame))
			assert head[0][1] == b"HEAD" or content == (data or b"")
	came = watched.check(before, [int(answer["x-answer"])] if status == 200 else came_in_vain(watched, before))
	for request in came:
		names = {name for name, _ in request.fields}
		assert not names & OF_CONNECTIONS and not any("_" in name for name in names)
		assert request.target != "/hidden" and len(request.all("host")) == 1
		assert not {"host", "content-length", "transfer-encoding", "x-real-ip"} & {name for name, _ in request.trailers}


def came_in_vain(watched, before):
	"""Bodies that prove wrong when their head has been passed on: their connection ends with them, within the request."""
	in_vain = watched.upstream.requests[before:]
	assert len(in_vain) <= 1
	for request in in_vain:
		assert request.connection.over.wait(server_module.DEADLINE)
		assert request.body is None and (request.left > 0 or request.chunked), request.raw
	return list(range(before + 1, before + len(in_vain) + 1))
