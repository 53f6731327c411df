"""Conditional requests: every combination of the five fields, against an oracle written from RFC 9110, 13."""
import email.utils
import itertools
import os
import time

import pytest

BODY = bytes(range(256)) * 20
THEN = int(time.time()) - 10 * 86400


def date(t):
	return email.utils.formatdate(t, usegmt=True)


SAME, OLDER, NEWER = date(THEN), date(THEN - 1), date(THEN + 1)
# name: how its fields look, etag standing for the representation's; whether they match.
MATCHES = {
	"if-match": {None: None, "{etag}": True, '"other"': False},
	"if-none-match": {None: None, "{etag}": True, '"other"': False},
	"if-modified-since": {None: None, SAME: True, OLDER: False},
	"if-unmodified-since": {None: None, SAME: True, OLDER: False},
}
# With a range; None: a range without it.
IF_RANGE = {None: True, "{etag}": True, SAME: True, "W/{etag}": False, '"other"': False, NEWER: False,
	OLDER: False}
RANGE, PART = "bytes=1-4", (1, 4)


def oracle(method, seen, has_range):
	"""RFC 9110, 13.2.2, step by step. seen: the field's name: whether it matches; absent ones are not in it."""
	# 1. and 2.: If-Match, else If-Unmodified-Since (true: not modified since)
	if "if-match" in seen:
		if not seen["if-match"]:
			return 412
	elif "if-unmodified-since" in seen and not seen["if-unmodified-since"]:
		return 412
	# 3. and 4.: If-None-Match (false if it matches), else If-Modified-Since (false if not modified)
	if "if-none-match" in seen:
		if seen["if-none-match"]:
			return 304
	elif "if-modified-since" in seen and seen["if-modified-since"]:
		return 304
	# 5.: Range, where If-Range lets it; 14.2: for GET
	if method == "GET" and has_range and seen.get("if-range", True):
		return 206
	return 200


def combinations():
	for chosen in itertools.product(*(options.items() for options in MATCHES.values())):
		fields = [(name, text, match) for name, (text, match) in zip(MATCHES, chosen)
			if text is not None]
		yield fields, False
		for text, match in IF_RANGE.items():
			yield fields + ([("if-range", text, match)] if text else []), True


@pytest.fixture(params=["image", "disk", "too large for the image"])
def server(h2d, request):
	options = {"image": {"image": True}, "disk": {"sections": "cache { max-size = 0 }"},
		"too large for the image": {"image": True,
			"sections": 'cache { max-file-size = "1K" }'}}[request.param]
	server = h2d.new(files={"f.bin": BODY}, **{k: v for k, v in options.items() if k != "image"})
	os.utime(os.path.join(server.root, "f.bin"), (THEN, THEN))
	server.start(image=options.get("image", False))
	# A busy keeper's first image may be without a file that was just written.
	if request.param == "image":
		server.wait_settled()
	server.wait_tagged("/f.bin")
	yield server
	totals = server.status()["totals"]
	if request.param == "image":
		assert totals["cache_hits"] > totals["cache_misses"]
	else:
		assert totals["cache_misses"] > totals["cache_hits"] == 0


def check(answer, method, wanted, etag, said):
	assert answer.status == wanted, said
	if wanted in (200, 206, 304):
		assert answer.get("etag") == etag, said
		assert answer.get("last-modified") == SAME, said
		assert answer.get("accept-ranges") == "bytes", said
	if wanted in (304, 412):
		assert answer.get("content-range") is None, said
	if wanted == 304:
		for name in ("content-type", "content-length", "content-encoding"):
			assert answer.get(name) is None, said
	elif method == "HEAD":
		assert int(answer.get("content-length")) > 0, said
	if method == "HEAD" or wanted == 304:
		assert answer.body == b"", said
	elif wanted == 206:
		assert answer.get("content-range") == "bytes %d-%d/%d" % (PART + (len(BODY),)), said
		assert answer.body == BODY[PART[0]:PART[1] + 1], said
	elif wanted == 200:
		assert answer.body == BODY, said


@pytest.mark.parametrize("protocol", ["h2", "h1"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_every_combination(server, protocol, method):
	with server.connect("tcp") if protocol == "h2" else server.h1("tcp") as c:
		etag = c.get("/f.bin").get("etag")
		for fields, has_range in combinations():
			headers = [(name, text.format(etag=etag)) for name, text, _ in fields]
			if has_range:
				headers.append(("range", RANGE))
			seen = {name: match for name, _, match in fields}
			wanted = oracle(method, seen, has_range)
			check(c.request(method, "/f.bin", headers=headers), method, wanted, etag, headers)


LISTS = [
	# RFC 9110, 13.1.1 and 13.1.2: strong comparison, weak comparison, lists, "*"
	("if-match", "*", 200), ("if-match", 'W/{etag}', 412), ("if-match", '"a", {etag}', 200),
	("if-match", '"a,b", W/{etag}', 412), ("if-match", "", 412),
	("if-none-match", "*", 304), ("if-none-match", 'W/{etag}', 304),
	("if-none-match", '"a" , W/"b",{etag}', 304), ("if-none-match", "{etag}x", 200),
	("if-none-match", "garbage", 200), ("if-none-match", "", 200),
	# 13.1.3 and 13.1.4: what is no date is ignored; obsolete forms are dates
	("if-modified-since", "yesterday", 200), ("if-modified-since", NEWER, 304),
	("if-modified-since", time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(THEN)), 304),
	("if-modified-since", time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(THEN)), 304),
	("if-modified-since", date(THEN + 20 * 365 * 86400), 304),
	("if-unmodified-since", "yesterday", 200), ("if-unmodified-since", NEWER, 200),
	("if-unmodified-since", time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(THEN - 1)), 412),
]


@pytest.mark.parametrize("protocol", ["h2", "h1"])
def test_lists_and_dates(server, protocol):
	with server.connect("tcp") if protocol == "h2" else server.h1("tcp") as c:
		etag = c.get("/f.bin").get("etag")
		for name, text, wanted in LISTS:
			headers = [(name, text.format(etag=etag))]
			for method in ("GET", "HEAD"):
				check(c.request(method, "/f.bin", headers=headers), method, wanted, etag,
					headers)
		two = [("if-none-match", '"a"'), ("accept", "*/*"), ("if-none-match", etag)]
		check(c.get("/f.bin", headers=two), "GET", 304, etag, two)


def test_only_what_would_be_200(server):
	"""RFC 9110, 13.2.1: a redirect and an error are no representations."""
	os.mkdir(os.path.join(server.root, "dir"))
	headers = [("if-none-match", "*"), ("if-modified-since", date(time.time())), ("range", "bytes=0-0")]
	with server.connect("tcp") as c:
		assert c.get("/dir", headers=headers).status == 301
		assert c.get("/none", headers=headers).status == 404
		assert c.get("/none", headers=[("if-match", '"x"')]).status == 404
		assert c.get("/f.bin", headers=[("if-none-match", "*")]).status == 304
