"""What the responses of one server say against each other; made and asked by server.Server.

It keeps what the first response with an entity tag said, and holds all later ones against it.
"""
import hashlib
from email.utils import parsedate_to_datetime

from lint import CONTENT_RANGE, byteranges, lint, value, words

# Bodies up to here are kept, so that parts can be compared with them; of others, a hash.
KEPT = 1 << 20
# These belong to the message, not to what the entity tag names.
OF_MESSAGES = {"date", "connection", "keep-alive", "transfer-encoding", "alt-svc", "x-request-id"}
# RFC 9110, 15.4.5: what a 304 repeats of the 200.
REPEATED = ("cache-control", "content-location", "etag", "expires", "vary")


def different(now, before):
	"""
	But for last-modified: the response of a file's first second may lack it (RFC 9110, 8.8.2.1), and the same content,
	written once more, has a later one.
	"""
	if any(name != "last-modified" for name, _ in set(now) ^ set(before)):
		return True
	times = [value(fields, "last-modified") for fields in (before, now)]
	return None not in times and parsedate_to_datetime(times[1]) < parsedate_to_datetime(times[0])


class Representation:
	"""What one entity tag of one URL named when it was first seen."""

	def __init__(self):
		self.fields = None
		self.coding = None
		self.body = None
		self.digest = None


class History:
	def __init__(self):
		self.faults = []
		self.allowed = []
		self.forget()

	def forget(self):
		"""The configuration is another: fields may change."""
		self.known = {}   # (authority, path, etag): Representation
		self.codings = {} # (authority, path, last-modified): codings seen
		self.varied = {}  # the same: whether vary: accept-encoding was always there

	def allow(self, pattern, why):
		"""Faults that match pattern are expected; why is for the reader."""
		assert why
		self.allowed.append(pattern)

	def see(self, response):
		"""A response is complete; its request is response.request."""
		request = response.request
		for fault in lint(request, response) + list(self.compare(request, response)):
			if not any(pattern.search(fault) for pattern in self.allowed):
				self.faults.append("%s %s (HTTP/%s) %d: %s" % (request.method, request.path,
					request.version, response.status, fault))

	def compare(self, request, response):
		etag = value(response.headers, "etag")
		place = (request.authority, request.path)
		if response.status in (200, 206, 304):
			yield from self.variants(place, response)
		if etag is None or request.method not in ("GET", "HEAD"):
			return
		known = self.known.setdefault((*place, etag), Representation())
		if response.status == 200:
			yield from self.whole(known, request, response)
		elif response.status == 206 and response.body is not None:
			yield from self.part(known, response)
		elif response.status == 304 and known.fields is not None:
			before = dict(known.fields)
			for name in REPEATED:
				if value(response.headers, name) != before.get(name):
					yield "%s differs from that of the 200" % name

	def whole(self, known, request, response):
		fields = sorted(f for f in response.headers if f[0].lower() not in OF_MESSAGES)
		# RFC 9112, 6.1: a chunked response, and HEAD's, may leave content-length out.
		if value(response.headers, "content-length") is None:
			fields = None
		if fields is not None and known.fields is not None and different(fields, known.fields):
			yield "the same etag had other fields: %s" % sorted(
				set(fields) ^ set(known.fields))
		elif fields is not None:
			known.fields = fields
		if request.method == "HEAD" or response.body is None:
			return
		digest = hashlib.sha256(response.body).digest()
		if known.digest is None:
			known.digest = digest
			known.coding = value(response.headers, "content-encoding")
			known.body = response.body if len(response.body) <= KEPT else None
		elif digest != known.digest:
			yield "the same etag had other bytes"
		elif known.coding != value(response.headers, "content-encoding"):
			yield "the same etag had another content-encoding"

	def part(self, known, response):
		if known.body is None:
			return
		kind = value(response.headers, "content-type") or ""
		match = CONTENT_RANGE.fullmatch(value(response.headers, "content-range") or "")
		try:
			parts = [(int(match.group(1)), int(match.group(3)), response.body)] if match else [
				(first, whole, data) for first, _, whole, _, data in
				byteranges(kind, response.body)]
		except (TypeError, ValueError):
			return  # lint() says so
		for first, whole, data in parts:
			if whole != len(known.body) or known.body[first:first + len(data)] != data:
				yield "a part differs from the whole with the same etag"

	def variants(self, place, response):
		"""RFC 9110, 12.5.5: where the coding depends on the request, every response says so."""
		key = (*place, value(response.headers, "last-modified"))
		seen = self.codings.setdefault(key, set())
		if response.status == 200:
			seen.add(value(response.headers, "content-encoding"))
		said = "accept-encoding" in words(response.headers, "vary") or \
			"*" in words(response.headers, "vary")
		self.varied[key] = self.varied.get(key, True) and said
		if len(seen) > 1 and not self.varied[key]:
			yield "content-encoding varies, but vary does not always say accept-encoding"
