"""Ranges, byte for byte, against an oracle written from RFC 9110, 14."""
import gzip
import os
import re

import pytest

SIZES = [0, 1, 2, 10, 99, 611, 65536, 65537, 300000, (2 << 20) + 5]
SPECS = [
	"0-0", "0-", "1-", "0-1", "9-9", "-1", "-2", "-10", "-0", "5-8", "9-", "10-", "98-200", "99-",
	"0-99999999", "0-18446744073709551616", "99999999999999999999-", "-99999999999999999999",
	"65535-65536", "100000-200000",
	"0-0,-1", "0-0,2-2", "2-2,0-0", "0-0,2-2,1-1", "8-8,0-1,1-3", "0-4,5-9", "0-4,3-9", "0-,-5",
	"0-0,99999999-", "99999999-,-0", " 0-0 ,\t2-2", "0-0,,2-2,", "1-3,5-7,9-", "60000-70000,1-2",
	"-5,1-70000,150000-160000",
	",".join("%d-%d" % (3 * i, 3 * i) for i in range(200)),
	",".join("%d-%d" % (3 * i, 3 * i) for i in range(201)),
	",".join(["0-0"] * 200), ",".join(["0-0"] * 201),
	"", ",", "-", "1", "x", "2-1", "0-0,2-1", "0-0,x", "--1", "1 -2", "1- 2", "+1-2", "1-2-3", "0x1-2",
]


def oracle(spec, size):
	"""
	200, 416, or [(first, last), …] in the order of the answer. RFC 9110, 14.1.1 for the grammar, 14.1.2 for
	what is satisfiable, 15.3.7.2 for order and coalescing; at most 200, and several that are all are 200.
	"""
	specs = [s.strip(" \t") for s in spec.split(",") if s.strip(" \t")]
	if not specs or len(specs) > 200 or not all(re.fullmatch(r"\d+-\d*|-\d+", s) for s in specs):
		return 200
	wanted, end_of_nothing = [], False
	for s in specs:
		first, last = s.split("-")
		if not first:
			n = min(int(last), size)
			end_of_nothing = end_of_nothing or int(last) > 0
			if n > 0:
				wanted.append((size - n, size - 1))
			continue
		if last and int(last) < int(first):
			return 200
		if int(first) < size:
			wanted.append((int(first), min(int(last or size), size - 1)))
	if not wanted:
		return 200 if end_of_nothing else 416
	groups = [(first, last, [i]) for i, (first, last) in enumerate(wanted)]
	groups.sort()
	merged = [groups[0]]
	for first, last, place in groups[1:]:
		before = merged[-1]
		if first <= before[1] + 1:
			merged[-1] = (before[0], max(before[1], last), before[2] + place)
		else:
			merged.append((first, last, place))
	merged.sort(key=lambda g: min(g[2]))
	ranges = [(first, last) for first, last, _ in merged]
	return 200 if len(specs) > 1 and ranges == [(0, size - 1)] else ranges


def parts(answer):
	"""[(content-type, content-range, bytes)], by hand and to the last byte (RFC 2046, 5.1)."""
	boundary = re.fullmatch(r"multipart/byteranges; boundary=([0-9a-f]{32})", answer.get("content-type"))
	delimiter = b"--" + boundary.group(1).encode()
	assert answer.body.startswith(b"\r\n" + delimiter + b"\r\n"), "as nginx and Apache begin, and zsync expects"
	assert answer.body.endswith(b"\r\n" + delimiter + b"--\r\n")
	pieces = answer.body[:-len(delimiter) - 6].split(b"\r\n" + delimiter + b"\r\n")
	assert pieces[0] == b""
	found = []
	for piece in pieces[1:]:
		head, _, data = piece.partition(b"\r\n\r\n")
		fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
		assert set(fields) == {"content-type", "content-range"}
		found.append((fields["content-type"], fields["content-range"], data))
	return found


def check(answer, body, wanted, media_type, said):
	size = len(body)
	status = wanted if isinstance(wanted, int) else 206
	assert answer.status == status, said
	assert answer.get("accept-ranges") == "bytes", said
	if status != 416:
		assert int(answer.get("content-length")) == len(answer.body), said
	if status == 200:
		assert answer.body == body, said
		assert answer.get("content-range") is None, said
	elif status == 416:
		assert answer.get("content-range") == "bytes */%d" % size, said
	elif len(wanted) == 1:
		first, last = wanted[0]
		assert answer.body == body[first:last + 1], said
		assert answer.get("content-range") == "bytes %d-%d/%d" % (first, last, size), said
		assert answer.get("content-type") == media_type, said
	else:
		assert answer.get("content-range") is None, said
		assert parts(answer) == [(media_type, "bytes %d-%d/%d" % (first, last, size),
			body[first:last + 1]) for first, last in wanted], said


def make(h2d, source, files, **options):
	if source == "disk":
		return h2d(sections="cache { max-size = 0 }", files=files, **options)
	server = h2d(image=True, files=files, **options)
	return server.wait_checked()


@pytest.fixture(params=["image", "disk"])
def source(request):
	return request.param


def connect(server, protocol, **options):
	return server.connect("tcp", **options) if protocol == "h2" else server.h1("tcp", **options)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["h2", "h1"])
def test_every_range(h2d, source, protocol):
	files = {"f%d.txt" % size: os.urandom(size) for size in SIZES}
	server = make(h2d, source, files).wait_tagged("/f%d.txt" % SIZES[-1])
	with connect(server, protocol) as c:
		for size in SIZES:
			path = "/f%d.txt" % size
			body = files[path[1:]]
			plain = c.get(path)
			assert plain.body == body
			for spec in SPECS:
				wanted = oracle(spec, size)
				headers = [("range", "bytes=" + spec)]
				answer = c.get(path, headers=headers)
				check(answer, body, wanted, "text/plain; charset=utf-8", (size, spec))
				if answer.status in (200, 206):
					for name in ("etag", "last-modified", "vary", "cache-control"):
						assert answer.get(name) == plain.get(name), (name, spec)


def test_other_units_and_methods(h2d, source):
	server = make(h2d, source, {"f": b"0123456789"})
	with server.connect("tcp") as c:
		for text in ("lines=0-1", "bytes 0-1", "bytes:0-1", "0-1", "bytes", "", "BYTE=0-1"):
			assert c.get("/f", headers=[("range", text)]).body == b"0123456789", text
		assert c.get("/f", headers=[("range", "Bytes=0-1")]).body == b"01"
		two = [("range", "bytes=0-1"), ("range", "bytes=4-5")]
		assert c.get("/f", headers=two).body == b"0123456789", "it is no list"
		head = c.request("HEAD", "/f", headers=[("range", "bytes=0-1")])
		assert head.status == 200 and head.get("content-length") == "10"
		assert head.get("accept-ranges") == "bytes" and head.get("content-range") is None


@pytest.mark.parametrize("protocol", ["h2", "h1"])
def test_ranges_of_coded_content(h2d, source, protocol):
	"""A range is one of the bytes that would be sent; several would be decoded as one, so all come."""
	plain = os.urandom(500) + b"body { color: red }\n" * 1000
	coded = gzip.compress(plain, mtime=0)
	server = make(h2d, source, {"f.css": plain, "f.css.gz": coded})
	gz = ("accept-encoding", "gzip")
	with connect(server, protocol) as c:
		whole, identity = c.get("/f.css", headers=[gz]), c.get("/f.css")
		assert whole.body == coded and whole.get("content-encoding") == "gzip"
		assert identity.body == plain and identity.get("etag") != whole.get("etag")
		for spec in ("0-9", "5-", "-7", "100-200"):
			answer = c.get("/f.css", headers=[gz, ("range", "bytes=" + spec)])
			check(answer, coded, oracle(spec, len(coded)), whole.get("content-type"), spec)
			for name in ("etag", "content-encoding", "vary"):
				assert answer.get(name) == whole.get(name), (name, spec)
		check(c.get("/f.css", headers=[gz, ("range", "bytes=0-0,5-5")]), coded, 200, None, "several")
		check(c.get("/f.css", headers=[("range", "bytes=0-0,5-5")]), plain, [(0, 0), (5, 5)],
			whole.get("content-type"), "several of what is not coded")
		for tag, body, status in ((whole, coded, 206), (identity, coded, 200)):
			headers = [gz, ("range", "bytes=0-9"), ("if-range", tag.get("etag"))]
			answer = c.get("/f.css", headers=headers)
			assert answer.status == status
			assert answer.body == body[:10 if status == 206 else len(body)]
		beyond = c.get("/f.css", headers=[gz, ("range", "bytes=9999999-")])
		assert beyond.status == 416 and beyond.get("vary") == "accept-encoding"
		assert beyond.get("content-range") == "bytes */%d" % len(coded)


def test_slow_reader(h2d, source):
	"""Parts wait for the window like any content, each where it was."""
	body = os.urandom(1500000)
	server = make(h2d, source, {"f.bin": body, "large.bin": body * 3})
	spec = "1000000-1400000,0-299999,-40000"
	with server.connect("tcp") as c:
		streams = [(c.send(path=path, headers=[("range", "bytes=" + spec)]), data)
			for path, data in (("/f.bin", body), ("/large.bin", body * 3)) for _ in range(3)]
		for stream, data in streams:
			check(c.response(stream), data, oracle(spec, len(data)), "application/octet-stream", spec)
