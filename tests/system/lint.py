"""Response lint: what one response says against itself, against its request, or against RFC 9110.

lint(request, response) is pure. What takes more than one response is in lint_history.py. A request has
method, path, authority, headers and version ("1.0", "1.1", "2"); a response has status, headers (pairs
as they came), body (None if only counted), size, and closed (HTTP/1: the connection ended after it).
"""
import calendar
import functools
import re
import time

# At most one field line each: lists that may come in several lines are not among them.
SINGLE = {"accept-ranges", "age", "allow", "cache-control", "content-disposition", "content-encoding",
	"content-length", "content-location", "content-range", "content-security-policy", "content-type",
	"date", "etag", "expires", "last-modified", "location", "retry-after", "server",
	"strict-transport-security", "transfer-encoding", "vary", "x-content-type-options",
	"x-frame-options"}
# RFC 9113, 8.2.2
OF_CONNECTIONS = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
CODINGS = {"br", "zstd", "gzip"}
# RFC 9111, 5.2.2, RFC 8246 and RFC 5861: with seconds, or without an argument.
WITH_SECONDS = {"max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"}
PLAIN = {"must-revalidate", "must-understand", "no-cache", "no-store", "no-transform", "private",
	"proxy-revalidate", "public", "immutable"}
CONTRADICTIONS = [("no-store", "max-age"), ("no-store", "s-maxage"), ("no-store", "public"),
	("no-store", "immutable"), ("public", "private"), ("private", "s-maxage"),
	("no-cache", "immutable")]
# RFC 9110, 15.4.5: the 304 has none of these; RFC 9110, 6.4.1 and 8.6: neither has a 204.
NO_CONTENT_FIELDS = ("content-length", "content-type", "content-encoding", "content-range",
	"transfer-encoding")

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE = re.compile(r"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")
ETAG = re.compile(r'"[\x21\x23-\x7e\x80-\xff]*"|W/"[0-9a-f]+-[0-9a-f]+(-\w+)?"|W/"(tar|zip)-\{[\w-]+\}"')
TYPE = re.compile(r"(%s)/(%s)((?:\s*;\s*%s=(?:%s|\"[^\"]*\"))*)" % ((TOKEN.pattern,) * 4))
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)/(\d+)|\*/(\d+))")
ONE_RANGE = re.compile(r"bytes=(?:(\d+)-(\d*)|-(\d+))")
IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"


def values(headers, name):
	return [value for key, value in headers if key.lower() == name]


def value(headers, name):
	"""The first; None without one."""
	return next(iter(values(headers, name)), None)


def words(headers, name):
	"""The elements of a list field, lower case, all lines together."""
	return [word.strip().lower() for line in values(headers, name) for word in line.split(",")]


@functools.lru_cache(1024)
def seconds(date):
	"""An IMF-fixdate as seconds; None if it is none, weekday included (RFC 9110, 5.6.7)."""
	try:
		when = calendar.timegm(time.strptime(date, IMF_FIXDATE))
	except ValueError:
		return None
	return when if time.strftime(IMF_FIXDATE, time.gmtime(when)) == date else None


def has_content(request, response):
	"""Whether the status and the method let it have any (RFC 9110, 6.4.1)."""
	return request.method != "HEAD" and response.status not in (204, 304) and response.status >= 200


# --- the rules: each gives its faults ---------------------------------------------------------------


def fields(request, response):
	seen = set()
	for name, text in response.headers:
		if not TOKEN.fullmatch(name) or name != name.lower():
			yield "field name %r is invalid or not in lower case" % name
		if not VALUE.fullmatch(text):
			yield "field %s has an invalid value %r" % (name, text)
		name = name.lower()
		if name in seen and name in SINGLE:
			yield "field %s comes more than once" % name
		seen.add(name)
	if "date" not in seen:
		yield "no field date"


def connection(request, response):
	names = {name.lower() for name, _ in response.headers}
	if request.version == "2":
		for name in sorted(names & OF_CONNECTIONS):
			yield "field %s with HTTP/2" % name
		return
	coding, options = words(response.headers, "transfer-encoding"), words(response.headers, "connection")
	if coding and "content-length" in names:
		yield "content-length beside transfer-encoding"
	if coding and coding != ["chunked"]:
		yield "transfer-encoding is %s" % coding
	if coding and request.version == "1.0":
		yield "transfer-encoding for an HTTP/1.0 client"
	if response.closed and "close" not in options and request.version != "1.0":
		yield "the connection ends without connection: close"
	if response.closed is False and "close" in options:
		yield "connection: close, and it stays open"
	if "close" in options and "keep-alive" in options:
		yield "connection is both close and keep-alive"
	if not coding and "content-length" not in names and has_content(request, response) \
			and "close" not in options and request.version != "1.0":
		yield "neither content-length nor transfer-encoding nor connection: close"


def content(request, response):
	headers, status = response.headers, response.status
	if request.method == "CONNECT" and status // 100 == 2:
		return  # a tunnel (RFC 9110, 9.3.6)
	for length in values(headers, "content-length"):
		if not re.fullmatch(r"\d+", length):
			yield "content-length is %r" % length
		elif has_content(request, response) and int(length) != response.size:
			yield "content-length %s, but %d bytes" % (length, response.size)
	if not has_content(request, response) and response.size:
		yield "%d bytes of content with %s %d" % (response.size, request.method, status)
	if status < 200 or status in (204, 304):
		for name in NO_CONTENT_FIELDS:
			if values(headers, name):
				yield "field %s with %d" % (name, status)
		return
	kind = value(headers, "content-type")
	if kind is None:
		if response.size or value(headers, "content-length") not in (None, "0"):
			yield "content without content-type"
		return
	match = TYPE.fullmatch(kind)
	if not match:
		yield "content-type %r is malformed" % kind
	elif match.group(1) == "text" and not re.search(r";\s*charset=", kind, re.I):
		yield "%s without charset" % kind


def statuses(request, response):
	"""What a status needs beside it, and what must have been asked for it."""
	headers, status = response.headers, response.status
	asked = {name.lower() for name, _ in request.headers}
	needs = {201: "location", 401: "www-authenticate", 405: "allow"}
	if status in (301, 302, 303, 307, 308):
		needs = {status: "location"}
	if status in needs and not value(headers, needs[status]):
		yield "%d without %s" % (status, needs[status])
	where = value(headers, "location")
	if where is not None and not re.fullmatch(r"[!#-;=?-\[\]_a-z~]+", where):
		yield "location %r is no URI" % where
	allow = value(headers, "allow")
	if allow is not None:
		methods = [word.strip() for word in allow.split(",")]
		if not all(re.fullmatch("[A-Z]+", m) for m in methods) or len(set(methods)) != len(methods):
			yield "allow %r is malformed" % allow
		if status == 405 and request.method in methods:
			yield "405, and allow has %s" % request.method
		if "GET" in methods and "HEAD" not in methods:
			yield "allow has GET without HEAD"
	if status == 304 and not asked & {"if-none-match", "if-modified-since"}:
		yield "304 to an unconditional request"
	if status == 304 and request.method not in ("GET", "HEAD"):
		yield "304 to %s" % request.method
	# What appends to an upload has the conditions of the request that began it.
	conditional = asked & {"if", "if-match", "if-none-match", "if-unmodified-since", "overwrite"} or "/.upload/" in request.path
	if status == 412 and not conditional:
		yield "412 to an unconditional request"
	if status >= 400 and status not in (412, 416):
		for name in ("etag", "last-modified", "accept-ranges"):
			if values(headers, name):
				yield "field %s with %d" % (name, status)


def validators(request, response):
	headers = response.headers
	etag = value(headers, "etag")
	if etag is not None and not ETAG.fullmatch(etag):
		yield "etag %s is neither a strong, quoted one nor of sizes and times" % etag
	for name in ("date", "last-modified", "expires"):
		text = value(headers, name)
		if text is not None and seconds(text) is None:
			yield "%s %r is no IMF-fixdate" % (name, text)
	date, modified = (seconds(value(headers, n) or "") for n in ("date", "last-modified"))
	if date is not None and modified is not None and modified > date:
		yield "last-modified is later than date"


def negotiation(request, response):
	headers = response.headers
	vary = words(headers, "vary")
	if vary and (not all(TOKEN.fullmatch(w) for w in vary) or len(set(vary)) != len(vary)):
		yield "vary %s is malformed" % vary
	coding = value(headers, "content-encoding")
	if coding is None:
		return
	if coding not in CODINGS:
		yield "content-encoding %r" % coding
	if "accept-encoding" not in vary:
		yield "content-encoding without vary: accept-encoding"
	accepted = words(request.headers, "accept-encoding")
	if not any(re.match(r"(x-)?%s\s*(;|$)|\*" % re.escape(coding), word) for word in accepted):
		yield "content-encoding %s was not asked for" % coding


def caching(request, response):
	names = []
	for line in values(response.headers, "cache-control"):
		# A quoted argument may hold commas.
		pieces = re.findall(r'(?:[^,"]|"[^"]*")+', line)
		if ",".join(pieces) != line or not line:
			yield "cache-control %r is malformed" % line
		for word in pieces:
			name, equals, argument = word.strip().lower().partition("=")
			names.append(name)
			if name in WITH_SECONDS:
				if not re.fullmatch(r"\d+", argument):
					yield "cache-control: %s wants seconds" % name
			elif name in PLAIN:
				if equals and name not in ("no-cache", "private"):
					yield "cache-control: %s takes no argument" % name
			else:
				yield "cache-control: %r is unknown" % name
	if len(set(names)) != len(names):
		yield "cache-control says something twice"
	for one, other in CONTRADICTIONS:
		if one in names and other in names:
			yield "cache-control: %s and %s" % (one, other)
	if response.status >= 400 and "immutable" in names:
		yield "%d is immutable" % response.status


def ranges(request, response):
	headers, status = response.headers, response.status
	asked, text = value(request.headers, "range"), value(headers, "content-range")
	match = CONTENT_RANGE.fullmatch(text) if text is not None else None
	accepts = value(headers, "accept-ranges")
	if accepts not in (None, "bytes", "none"):
		yield "accept-ranges: %s" % accepts
	if text is not None and not match:
		yield "content-range %r is malformed" % text
	if status not in (206, 416):
		if text is not None:
			yield "content-range with %d" % status
		once = len(values(request.headers, "range")) == 1
		one = once and ONE_RANGE.fullmatch(asked)
		sane = one and (not one.group(2) or int(one.group(1)) <= int(one.group(2)))
		conditional = value(request.headers, "if-range") is not None
		# Of no content the last bytes can be asked for (RFC 9110, 14.1.2), but not written as a range.
		if status == 200 and accepts == "bytes" and request.method == "GET" and sane \
				and not conditional and response.size > 0:
			yield "accept-ranges: bytes, but range is ignored"
		return
	if asked is None or request.method != "GET":
		yield "%d to %s without range" % (status, request.method)
	if status == 416:
		if not match or match.group(4) is None:
			yield "416 without content-range: bytes */N"
		return
	if accepts == "none":
		yield "206 and accept-ranges: none"
	kind = value(headers, "content-type") or ""
	if kind.lower().startswith("multipart/byteranges"):
		if text is not None:
			yield "content-range beside multipart/byteranges"
		if response.body is not None:
			yield from multipart(kind, response.body)
	elif not match or match.group(1) is None:
		yield "206 without content-range"
	else:
		yield from one_range(match, response.size)


def one_range(match, size):
	first, last, whole = (int(match.group(i)) for i in (1, 2, 3))
	if not first <= last < whole:
		yield "content-range %s is impossible" % match.group(0)
	elif last - first + 1 != size:
		yield "content-range %s with %d bytes" % (match.group(0), size)


def multipart(kind, body):
	"""RFC 9110, 14.6 and RFC 2046, 5.1.1."""
	try:
		parts = list(byteranges(kind, body))
	except ValueError as e:
		yield "multipart/byteranges: %s" % e
		return
	if len({whole for _, _, whole, _, _ in parts}) != 1:
		yield "multipart/byteranges: no parts, or of different lengths"
	for first, last, whole, headers, data in parts:
		match = CONTENT_RANGE.fullmatch("bytes %d-%d/%d" % (first, last, whole))
		yield from one_range(match, len(data))
		if value(headers, "content-type") is None:
			yield "multipart/byteranges: a part without content-type"


def byteranges(kind, body):
	"""The parts: first, last, whole, headers, data; ValueError if there is something else."""
	boundary = re.search(r'boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*$', kind)
	if not boundary:
		raise ValueError("no boundary")
	mark = b"\r\n--" + (boundary.group(1) or boundary.group(2)).encode()
	pieces = (b"\r\n" + body).split(mark)
	if pieces[0].strip() or len(pieces) < 3 or pieces[-1] not in (b"--\r\n", b"--"):
		raise ValueError("no such boundaries")
	for piece in pieces[1:-1]:
		head, gap, data = piece.partition(b"\r\n\r\n")
		if not gap or not head.startswith(b"\r\n"):
			raise ValueError("a part without a head")
		headers = []
		for line in head[2:].decode("latin-1").split("\r\n"):
			name, colon, text = line.partition(":")
			if not colon or not TOKEN.fullmatch(name):
				raise ValueError("field %r in a part" % line)
			headers.append((name.lower(), text.strip()))
		match = CONTENT_RANGE.fullmatch(value(headers, "content-range") or "")
		if not match or match.group(1) is None:
			raise ValueError("a part without content-range")
		yield (*(int(match.group(i)) for i in (1, 2, 3)), headers, data)


RULES = (fields, connection, content, statuses, validators, negotiation, caching, ranges)


def lint(request, response):
	"""The faults of a whole response, each a line of text."""
	return [fault for rule in RULES for fault in rule(request, response)]
