"""An application for a proxy to stand before: it records the bytes of each connection, and answers as a test says."""
import contextlib
import re
import select
import socket
import struct
import threading

from procs import DEADLINE, wait_for

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE = re.compile(rb"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")
LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[\x21-\x7e\x80-\xff]*|\*) HTTP/1\.1")


class Malformed(Exception):
	"""What came is no request that all servers read alike."""


class Ended(Exception):
	"""The proxy ended the connection where none may end."""


def parse_head(head):
	"""(method, target, fields) of a head with its empty line; as strict as can be."""
	lines = head.split(b"\r\n")
	if lines[-2:] != [b"", b""] or b"\n" in head.replace(b"\r\n", b"") or b"\r" in head.replace(b"\r\n", b""):
		raise Malformed("line ends in %r" % head)
	line = LINE.fullmatch(lines[0])
	if not line:
		raise Malformed("request line %r" % lines[0])
	fields = []
	for text in lines[1:-2]:
		name, colon, value = text.partition(b": ")
		if not colon or not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
			raise Malformed("field %r" % text)
		fields.append((name.decode().lower(), value.decode("latin-1")))
	return line[1].decode(), line[2].decode("latin-1"), fields


class Request:
	"""One that came: .method, .target, .fields; its body comes by pieces() or whole()."""

	def __init__(self, connection, head):
		self.connection = connection
		self.method, self.target, self.fields = parse_head(head)
		self.body, self.trailers = None, []
		names = [name for name, _ in self.fields]
		if names.count("host") != 1:
			raise Malformed("%d host fields" % names.count("host"))
		length, coding = self.all("content-length"), self.all("transfer-encoding")
		if len(length) + len(coding) > 1 or (length and not re.fullmatch("[0-9]{1,18}", length[0])) or coding not in ([], ["chunked"]):
			raise Malformed("framing by %s %s" % (length, coding))
		self.left = int(length[0]) if length else 0
		self.chunked = bool(coding)
		self.raw = head

	def all(self, name):
		return [value for key, value in self.fields if key == name]

	def get(self, name):
		"""Its value; it comes once at most."""
		values = self.all(name)
		assert len(values) < 2, values
		return values[0] if values else None

	def pieces(self):
		"""Of the body."""
		c = self.connection
		while self.left > 0:
			piece = c.some(self.left)
			self.left -= len(piece)
			yield piece
		while self.chunked:
			size = c.line()
			if not re.fullmatch(b"[0-9a-f]{1,15}", size):
				raise Malformed("chunk size %r" % size)
			n = int(size, 16)
			if n == 0:
				while line := c.line():
					name, _, value = line.partition(b": ")
					if not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
						raise Malformed("trailer %r" % line)
					self.trailers.append((name.decode(), value.decode("latin-1")))
				self.chunked = False
				return
			while n > 0:
				piece = c.some(n)
				n -= len(piece)
				yield piece
			if c.line() != b"":
				raise Malformed("a chunk is longer than it says")

	def whole(self):
		if self.body is None:
			self.body = b"".join(self.pieces())
		return self.body


class Connection:
	"""One from the proxy: .raw has all bytes that came; requests are read by the thread that serves it."""

	def __init__(self, upstream, sock):
		self.upstream, self.sock = upstream, sock
		self.raw, self.at, self.sent = bytearray(), 0, 0
		self.requests, self.fault, self.over = [], None, threading.Event()

	def more(self):
		"""Reads once; False at the end."""
		try:
			data = self.sock.recv(1 << 18)
		except ConnectionResetError:
			data = b""
		if self.upstream.recording:
			self.raw += data
		else:
			self.raw[:] = self.raw[self.at:] + data
			self.at = 0
		return bool(data)

	def some(self, most):
		if self.at == len(self.raw) and not self.more():
			raise Ended("in a body")
		piece = bytes(self.raw[self.at:self.at + most])
		self.at += len(piece)
		return piece

	def until(self, mark, what):
		while (end := self.raw.find(mark, self.at)) < 0:
			if not self.more():
				raise Ended("in a %s" % what)
		data = bytes(self.raw[self.at:end + len(mark)])
		self.at = end + len(mark)
		return data

	def line(self):
		return self.until(b"\r\n", "line")[:-2]

	def request(self):
		"""The next; None at the end."""
		if self.at == len(self.raw) and not self.more():
			return None
		request = Request(self, self.until(b"\r\n\r\n", "head"))
		self.requests.append(request)
		self.upstream.came(request)
		return request

	def send(self, data):
		view = memoryview(data)
		while view:
			n = self.sock.send(view)
			self.sent += n
			view = view[n:]

	def head(self, status=200, fields=(), version="1.1"):
		lines = ["HTTP/%s %d Said" % (version, status)] + ["%s: %s" % pair for pair in fields]
		self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

	def reply(self, body=b"", status=200, fields=()):
		self.head(status, [*fields, ("content-type", "application/x"), ("content-length", str(len(body)))])
		self.send(body)

	def reset(self):
		self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		self.sock.close()

	def is_blocked(self):
		"""It cannot send now."""
		return not select.select([], [self.sock], [], 0)[1]

	def serve(self):
		try:
			while (request := self.request()) is not None:
				if self.upstream.answer(self, request) is False:
					break
				request.whole()
		except Malformed as e:
			self.fault = str(e)
		except (Ended, OSError, ValueError):  # the proxy leaves, or a test does; a closed socket
			pass
		finally:
			with contextlib.suppress(OSError):
				self.sock.shutdown(socket.SHUT_RDWR)
			self.sock.close()
			self.over.set()


class Upstream:
	"""
	path: of its unix socket, else it is on TCP. Paths that a test gives to on() are answered by its function,
	which gets the connection and the request, and returns False to end the connection; others as default() does.
	"""

	def __init__(self, path=None, backlog=128):
		self.path = path
		if path is None:
			self.sock = socket.create_server(("127.0.0.1", 0), backlog=backlog)
			self.name = "127.0.0.1:%d" % self.sock.getsockname()[1]
		else:
			self.sock = socket.socket(socket.AF_UNIX)
			self.sock.bind(path)
			self.sock.listen(backlog)
			self.name = "unix:" + path
		self.connections, self.requests, self.paths = [], [], {}
		self.recording = True
		self.changed = threading.Condition()
		threading.Thread(target=self.accept, daemon=True).start()

	def accept(self):
		while True:
			try:
				sock, _ = self.sock.accept()
			except OSError:
				return
			if self.path is None:
				with contextlib.suppress(OSError):  # it is reset already
					sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
			connection = Connection(self, sock)
			self.connections.append(connection)
			threading.Thread(target=connection.serve, daemon=True).start()

	def came(self, request):
		with self.changed:
			self.requests.append(request)
			self.changed.notify_all()

	def wait(self, n=1):
		"""Until n requests are there; the last of these."""
		with self.changed:
			assert self.changed.wait_for(lambda: len(self.requests) >= n, DEADLINE), "%d requests, not %d" % (len(self.requests), n)
			return self.requests[n - 1]

	@property
	def last(self):
		return self.requests[-1]

	def on(self, path, answer):
		"""answer: a function of the connection and the request, or bytes to send before the connection ends."""
		def say(connection, request):
			request.whole()
			connection.send(answer)
			return False
		self.paths[path] = answer if callable(answer) else say

	def answer(self, connection, request):
		path = request.target.partition("?")[0]
		return self.paths.get(path, default)(connection, request)

	def faults(self):
		return [c.fault for c in self.connections if c.fault]

	def deaf(self):
		"""Nobody listens any more; connections stay."""
		with contextlib.suppress(OSError):
			self.sock.shutdown(socket.SHUT_RDWR)
		self.sock.close()

	def hang_up(self):
		"""All connections end."""
		for connection in self.connections:
			with contextlib.suppress(OSError):
				connection.sock.shutdown(socket.SHUT_RDWR)
		for connection in self.connections:
			assert connection.over.wait(DEADLINE)

	def close(self):
		self.deaf()
		self.hang_up()

	def wait_over(self, n):
		"""Until the proxy has ended n connections."""
		wait_for(lambda: sum(c.over.is_set() for c in self.connections) >= n, said="%d connections over" % n)


def default(connection, request):
	"""/length/N: so many bytes. /echo: the body, in chunks, as it comes. Others: the body, with a length."""
	kind, _, rest = request.target[1:].partition("?")[0].partition("/")
	if kind == "echo":
		connection.head(200, [("content-type", "application/x"), ("transfer-encoding", "chunked")])
		for piece in request.pieces():
			connection.send(b"%x;a=b\r\n%s\r\n" % (len(piece), piece))
		connection.send(b"0\r\n" + b"".join(b"%s: %s\r\n" % (n.encode(), v.encode()) for n, v in request.trailers) + b"\r\n")
		return
	body = bytes(int(rest)) if kind == "length" else request.whole()
	fields = [("content-type", "application/x"), ("content-length", str(len(body))), ("x-answer", str(len(connection.upstream.requests)))]
	connection.head(200, fields)
	if request.method != "HEAD":
		connection.send(body)
