"""A client of HTTP/1: H1 writes requests or any bytes, and reads responses strictly (RFC 9112)."""
import time

from client import Closed, OverSocket, Request, Response, tls_context, tls_socket
from procs import DEADLINE


class H1(OverSocket):
	"""
	One connection. send() and send_bytes() only write; response() reads the next response, request() does
	both. What was sent by send() is remembered, so that responses to HEAD are read rightly and lint.py
	(seen) knows what was asked. any_case: of names of fields, which h2d sends in lower case.
	"""
	any_case = False

	def __init__(self, sock, timeout=DEADLINE, authority="localhost", seen=None, keep=True):
		self.sock = sock
		self.timeout = timeout
		self.authority = authority
		self.seen = seen
		self.keep = keep
		self.buffer = b""
		self.eof = False
		self.asked = []

	@classmethod
	def tls(cls, port, alpn=("http/1.1",), timeout=DEADLINE, source=None, **options):
		return cls(tls_socket(port, timeout, tls_context(alpn=alpn), source=source), timeout=timeout,
			**options)

	# --- writing ----------------------------------------------------------------------------

	def head(self, method="GET", path="/", headers=(), version="1.1", host=True):
		lines = ["%s %s HTTP/%s" % (method, path, version)]
		if host:
			lines.append("host: " + self.authority)
		lines += ["%s: %s" % pair for pair in headers]
		return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

	def ask(self, method="GET", path="/", headers=(), version="1.1"):
		"""Remembers a request without sending it: its bytes go by send_bytes()."""
		self.asked.append(Request(method, path, headers, self.authority, version))

	def send(self, method="GET", path="/", headers=(), body=None, version="1.1", host=True,
			trailers=()):
		"""body: bytes, sent with content-length; or a list of bytes, sent as chunks, trailers behind them."""
		headers = list(headers)
		data = b""
		if isinstance(body, bytes):
			headers.append(("content-length", str(len(body))))
			data = body
		elif body is not None:
			headers.append(("transfer-encoding", "chunked"))
			data = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in body if c) + b"0\r\n"
			data += "".join("%s: %s\r\n" % pair for pair in trailers).encode("latin-1") + b"\r\n"
		self.ask(method, path, headers, version)
		self.send_bytes(self.head(method, path, headers, version, host) + data)

	# --- reading ----------------------------------------------------------------------------

	def more(self, deadline):
		"""Reads once into the buffer; False at the end of the connection."""
		data = self.receive(deadline, self.buffer[:500])
		self.buffer += data
		self.eof = not data
		return not self.eof

	def take_line(self, deadline):
		while b"\n" not in self.buffer:
			if not self.more(deadline):
				raise Closed("in %r" % self.buffer[:500])
		line, _, self.buffer = self.buffer.partition(b"\n")
		assert line.endswith(b"\r") and b"\r" not in line[:-1], line
		return line[:-1].decode("latin-1")

	def take(self, n, deadline, response):
		while n > 0:
			if not self.buffer and not self.more(deadline):
				raise Closed("in the content, %d bytes short: %s" % (n, response))
			piece, self.buffer = self.buffer[:n], self.buffer[n:]
			n -= len(piece)
			response.size += len(piece)
			if self.keep:
				response.pieces.append(piece)

	def take_chunks(self, deadline, response):
		while True:
			line = self.take_line(deadline)
			assert all(c in "0123456789abcdefABCDEF" for c in line) and line, line
			n = int(line, 16)
			self.take(n, deadline, response)
			if n == 0:
				break
			assert self.take_line(deadline) == ""
		response.trailers = self.take_fields(deadline)

	def take_fields(self, deadline):
		fields = []
		while line := self.take_line(deadline):
			name, colon, value = line.partition(":")
			name = name.lower() if self.any_case else name
			assert colon and name and name == name.strip() and name == name.lower(), line
			fields.append((name, value.strip(" \t")))
		return fields

	def take_head(self, deadline):
		line = self.take_line(deadline)
		version, status, reason = line.split(" ", 2)
		assert version == "HTTP/1.1" and len(status) == 3 and reason, line
		return int(status), reason, self.take_fields(deadline)

	def response(self, timeout=None):
		"""The next final response; of interim ones, .interim has the statuses."""
		deadline = time.monotonic() + (timeout or self.timeout)
		asked = self.asked.pop(0) if self.asked else Request("GET", "/", (), self.authority, "1.1")
		response = Response(asked)
		response.interim = []
		while True:
			response.status, response.reason, response.headers = self.take_head(deadline)
			if response.status >= 200:
				break
			response.interim.append(response.status)
			response.informed.append((response.status, dict(response.headers)))
		if not self.keep:
			response.body = None
		coding, length = response.get("transfer-encoding"), response.get("content-length")
		assert coding is None or (coding == "chunked" and length is None), response
		closes = response.get("connection") == "close"
		if asked.method == "HEAD" or response.status in (204, 304):
			pass
		elif coding:
			self.take_chunks(deadline, response)
		elif length is not None:
			self.take(int(length), deadline, response)
		else:
			assert closes, "neither length nor coding nor close: %s" % response
			while self.buffer or self.more(deadline):
				self.take(len(self.buffer), deadline, response)
		response.ended = True
		if closes:
			assert self.rest(deadline) == b"", "bytes behind the last response"
			response.closed = True
		if self.seen:
			self.seen(response)
		return response

	def rest(self, deadline=None):
		"""All bytes up to the end of the connection."""
		deadline = deadline or time.monotonic() + self.timeout
		while not self.eof and self.more(deadline):
			pass
		data, self.buffer = self.buffer, b""
		return data

	def request(self, method="GET", path="/", headers=(), body=None, timeout=None, **options):
		self.send(method, path, headers, body, **options)
		return self.response(timeout)

	def get(self, path="/", headers=(), **options):
		return self.request("GET", path, headers, **options)
