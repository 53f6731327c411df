"""Two clients: Client speaks correct HTTP/2 by python h2; Raw writes and reads single frames, legal or not."""
import contextlib
import socket
import ssl
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import hpack
from hyperframe import frame as hf

from procs import DEADLINE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAGIC_LAST_ID = 2**31 - 1


class Closed(Exception):
	"""The server ended the connection."""


class Late(AssertionError):
	"""No answer in time."""


def tls_context(alpn=("h2",), minimum=None, maximum=None):
	context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
	context.check_hostname = False
	context.verify_mode = ssl.CERT_NONE
	if alpn:
		context.set_alpn_protocols(list(alpn))
	if minimum:
		context.minimum_version = minimum
	if maximum:
		context.maximum_version = maximum
	return context


def read_all(sock):
	"""What comes until the other side has ended the connection, by a reset or not."""
	sock.settimeout(DEADLINE)
	data = b""
	try:
		while more := sock.recv(65536):
			data += more
	except (ConnectionResetError, ssl.SSLError):
		pass
	return data


def tcp_socket(port, timeout=DEADLINE, source=None):
	"""source: the client's address."""
	sock = socket.create_connection(("127.0.0.1", port), timeout, source and (source, 0))
	sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
	return sock


def tls_socket(port, timeout=DEADLINE, context=None, session=None, source=None):
	plain = tcp_socket(port, timeout, source)
	context = context or tls_context()
	return context.wrap_socket(plain, server_hostname="localhost", session=session)


def hello():
	"""The first bytes of a handshake."""
	outgoing = ssl.MemoryBIO()
	tls = tls_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
	with contextlib.suppress(ssl.SSLWantReadError):
		tls.do_handshake()
	return outgoing.read()


class OverSocket(contextlib.AbstractContextManager):
	"""What is made of a connected socket, and closed at the end of its block."""

	@classmethod
	def tcp(cls, port, timeout=DEADLINE, source=None, **options):
		return cls(tcp_socket(port, timeout, source), timeout=timeout, **options)

	@classmethod
	def unix(cls, path, **options):
		sock = socket.socket(socket.AF_UNIX)
		sock.settimeout(DEADLINE)
		sock.connect(path)
		return cls(sock, **options)

	def __exit__(self, *_):
		self.close()

	def close(self):
		self.sock.close()

	def send_bytes(self, data):
		self.sock.settimeout(self.timeout)
		try:
			self.sock.sendall(data)
		except (BrokenPipeError, ConnectionResetError, ssl.SSLError) as e:
			raise Closed(str(e)) from None

	def try_send(self, data):
		"""False if the server no longer takes anything."""
		try:
			self.send_bytes(data)
			return True
		except (Closed, OSError):
			return False

	def receive(self, deadline, so_far):
		"""Reads once; nothing at the end of the connection."""
		left = deadline - time.monotonic()
		if left > 0:
			self.sock.settimeout(left)
			with contextlib.suppress(socket.timeout):
				try:
					return self.sock.recv(1 << 18)
				except (ConnectionResetError, ssl.SSLError):
					return b""
		raise Late("nothing in time; so far %s" % (so_far,))


class Request:
	"""What was asked, as lint.py reads it."""

	def __init__(self, method, path, headers, authority, version="2"):
		self.method = method
		self.path = path
		self.headers = list(headers)
		self.authority = authority
		self.version = version


class Response:
	def __init__(self, request=None):
		self.request = request
		self.closed = None
		self.status = None
		self.headers = []
		self.pieces = []  # of the body: adding bytes to bytes copies them all, each time
		self.size = 0
		self.ended = False
		self.reset = None
		self.trailers = []  # fields behind the content
		self.informed = []  # interim responses: pairs of a status and a dict of fields

	def get(self, name, default=None):
		for key, value in self.headers:
			if key == name:
				return value
		return default

	@property
	def body(self):
		"""As far as it has come; None if it was not kept."""
		if self.pieces is not None and len(self.pieces) != 1:
			self.pieces = [b"".join(self.pieces)]
		return self.pieces and self.pieces[0]

	@body.setter
	def body(self, data):
		self.pieces = data if data is None else [data]

	@property
	def done(self):
		return self.ended or self.reset is not None

	def __repr__(self):
		return "<%s %s, %d bytes%s%s>" % (self.status, self.headers, self.size,
			"" if self.ended else ", not ended",
			"" if self.reset is None else ", reset %d" % self.reset)


class Client(OverSocket):
	"""
	settings: of h2.settings, sent at once. credit: give credit back for what arrives (else the test
	does, by window()). keep: keep bodies, or only count them. seen: called with every whole response.
	"""

	def __init__(self, sock, timeout=DEADLINE, settings=None, credit=True, keep=True, check=False,
			authority="localhost", scheme="http", seen=None):
		self.sock = sock
		self.timeout = timeout
		self.credit = credit
		self.keep = keep
		self.authority = authority
		self.scheme = scheme
		self.seen = seen
		self.responses = {}
		self.goaway = None
		self.eof = False
		self.held = False
		self.settings_acked = 0
		self.pongs = []
		self.conn = h2.connection.H2Connection(h2.config.H2Configuration(
			client_side=True, header_encoding="latin-1",
			validate_outbound_headers=check,
			normalize_outbound_headers=check))
		self.survive_goaway()
		if settings:
			self.conn.local_settings = h2.settings.Settings(client=True,
				initial_values=settings)
		self.conn.initiate_connection()
		self.flush()

	@classmethod
	def tls(cls, port, context=None, session=None, timeout=DEADLINE, source=None, **options):
		options.setdefault("scheme", "https")
		return cls(tls_socket(port, timeout, context, session, source), timeout=timeout, **options)

	def close(self):
		try:
			if self.goaway is None and not self.eof:
				self.conn.close_connection()
				self.flush()
		except (OSError, h2.exceptions.ProtocolError, Closed):
			pass
		self.sock.close()

	def survive_goaway(self):
		"""h2 takes GOAWAY for the end of all streams; RFC 9113, 6.8 does not."""
		goaway = h2.connection.ConnectionInputs.RECV_GOAWAY
		machine = self.conn.state_machine
		machine._transitions = {key: (value[0], key[0]) if key[1] is goaway else value
			for key, value in machine._transitions.items()}

	# --- bytes ------------------------------------------------------------------------------

	@contextlib.contextmanager
	def corked(self):
		"""What is sent meanwhile goes out at the end, in one go."""
		self.held = True
		try:
			yield
		finally:
			self.held = False
		self.flush()

	def flush(self):
		if self.held:
			return
		data = self.conn.data_to_send()
		if data:
			self.send_bytes(data)

	def turn(self, deadline):
		"""Reads once; False at the end of the connection."""
		data = self.receive(deadline, self.responses)
		if not data:
			self.eof = True
			return False
		for event in self.conn.receive_data(data):
			self.event(event)
		self.flush()
		return True

	def event(self, event):
		name = type(event).__name__
		answer = self.responses.get(getattr(event, "stream_id", None))
		if name == "ResponseReceived":
			for key, value in event.headers:
				if key == ":status":
					answer.status = int(value)
				else:
					answer.headers.append((key, value))
		elif name == "InformationalResponseReceived":
			fields = dict(event.headers)
			answer.informed.append((int(fields.pop(":status")), fields))
		elif name == "TrailersReceived":
			answer.trailers = list(event.headers)
		elif name == "DataReceived":
			answer.size += len(event.data)
			if self.keep:
				answer.pieces.append(event.data)
			if self.credit and event.flow_controlled_length:
				self.conn.acknowledge_received_data(event.flow_controlled_length,
					event.stream_id)
		elif name == "StreamEnded":
			answer.ended = True
			if not self.keep:
				answer.body = None
			if self.seen:
				self.seen(answer)
		elif name == "StreamReset":
			answer.reset = int(event.error_code)
		elif name == "ConnectionTerminated":
			self.goaway = (int(event.error_code), event.last_stream_id)
		elif name == "SettingsAcknowledged":
			self.settings_acked += 1
		elif name == "PingAckReceived":
			self.pongs.append(event.ping_data)

	def until(self, what, timeout=None):
		"""Reads until what() is true; Closed when the connection ends first."""
		deadline = time.monotonic() + (timeout or self.timeout)
		while not what():
			if not self.turn(deadline):
				if what():
					return
				raise Closed("the server closed; goaway %s" % (self.goaway,))

	# --- requests ---------------------------------------------------------------------------

	def head(self, method, path, headers=()):
		return [(":method", method), (":scheme", self.scheme), (":authority",
			self.authority),
			(":path", path)] + list(headers)

	def send(self, method="GET", path="/", headers=(), body=None, end=True):
		"""Begins a request; its stream. body: what fits the windows is sent, in one go."""
		stream = self.conn.get_next_available_stream_id()
		self.responses[stream] = Response(Request(method, path, headers, self.authority))
		self.conn.send_headers(stream, self.head(method, path, headers),
			end_stream=body is None and end)
		self.flush()
		if body is not None:
			self.send_body(stream, body, end)
		return stream

	def send_trailers(self, stream, fields):
		"""The end of a request whose body is sent."""
		self.conn.send_headers(stream, fields, end_stream=True)
		self.flush()

	def send_body(self, stream, body, end=True):
		"""Sends as the windows allow; stops early when the response is there."""
		offset = 0
		while offset < len(body) and not self.responses[stream].done:
			room = min(self.conn.local_flow_control_window(stream),
				self.conn.max_outbound_frame_size, len(body) - offset)
			if room <= 0:
				if not self.turn(time.monotonic() + self.timeout):
					raise Closed("in the body")
				continue
			self.conn.send_data(stream, body[offset:offset + room])
			self.flush()
			offset += room
		if end and not self.responses[stream].done:
			self.conn.end_stream(stream)
			self.flush()

	def response(self, stream, timeout=None):
		answer = self.responses[stream]
		self.until(lambda: answer.done, timeout)
		return answer

	def request(self, method="GET", path="/", headers=(), body=None, timeout=None):
		return self.response(self.send(method, path, headers, body), timeout)

	def get(self, path="/", headers=(), **options):
		return self.request("GET", path, headers, **options)

	def headers_of(self, stream):
		"""Until the head of the response is there."""
		answer = self.responses[stream]
		self.until(lambda: answer.status is not None or answer.done)
		return answer

	def window(self, n, stream=None):
		self.conn.increment_flow_control_window(n, stream)
		self.flush()

	def reset(self, stream, code=8):
		"""A stream that the server ended meanwhile is left as it is."""
		with contextlib.suppress(h2.exceptions.StreamClosedError):
			self.conn.reset_stream(stream, code)
		self.flush()

	def ping(self):
		"""A barrier: what the server sent before its answer has been read."""
		before = len(self.pongs)
		self.conn.ping(b"barrier!")
		self.flush()
		self.until(lambda: len(self.pongs) > before)


class Raw(OverSocket):
	"""A connection of single frames. read() acknowledges SETTINGS and PING, and gives no credit back."""

	def __init__(self, sock, settings=None, preface=True, timeout=DEADLINE):
		self.sock = sock
		self.timeout = timeout
		self.buffer = b""
		self.encoder = hpack.Encoder()
		self.decoder = hpack.Decoder()
		self.decoder.max_header_list_size = 1 << 24
		self.frames = []
		if preface:
			self.send_bytes(PREFACE)
			self.send(hf.SettingsFrame(0, settings=settings or {}))

	def send_bytes(self, data):
		self.sock.settimeout(self.timeout)
		self.sock.sendall(data)

	def send(self, *frames):
		self.send_bytes(b"".join(f.serialize() for f in frames))

	def head(self, path="/", method="GET", extra=(), scheme="http", authority="localhost"):
		return [(":method", method), (":scheme", scheme), (":authority", authority),
			(":path", path)] + list(extra)

	def headers(self, stream, fields=None, end_stream=True, end_headers=True, block=None):
		frame = hf.HeadersFrame(stream)
		frame.data = self.encoder.encode(fields or self.head()) if block is None else block
		if end_stream:
			frame.flags.add("END_STREAM")
		if end_headers:
			frame.flags.add("END_HEADERS")
		return frame

	def read(self, deadline=None):
		"""The next frame; None at the end of the connection."""
		deadline = deadline or time.monotonic() + self.timeout
		while True:
			if len(self.buffer) >= 9:
				frame, length = hf.Frame.parse_frame_header(memoryview(
					self.buffer[:9]))
				if len(self.buffer) >= 9 + length:
					body = self.buffer[9:9 + length]
					self.buffer = self.buffer[9 + length:]
					frame.parse_body(memoryview(body))
					frame.length = length
					break
			data = self.receive(deadline, self.frames)
			if not data:
				return None
			self.buffer += data
		if isinstance(frame, hf.SettingsFrame) and "ACK" not in frame.flags:
			self.try_send(hf.SettingsFrame(0, flags=["ACK"]).serialize())
		if isinstance(frame, hf.PingFrame) and "ACK" not in frame.flags:
			self.try_send(hf.PingFrame(0, frame.opaque_data, flags=["ACK"]).serialize())
		if isinstance(frame, hf.HeadersFrame):
			frame.fields = dict(self.decoder.decode(frame.data))
		self.frames.append(frame)
		return frame

	def until(self, what, timeout=None):
		"""Frames up to and with the first for which what(frame); None at the end of the connection."""
		deadline = time.monotonic() + (timeout or self.timeout)
		while True:
			frame = self.read(deadline)
			if frame is None or what(frame):
				return frame

	def pump(self, seconds):
		"""Reads the frames that come within that time."""
		try:
			self.until(lambda f: False, seconds)
		except AssertionError:
			pass

	def until_type(self, kind, **options):
		return self.until(lambda f: isinstance(f, kind), **options)

	def goaway(self, timeout=None):
		"""Waits for the end of the connection; the last GOAWAY before it, or None."""
		self.until(lambda f: False, timeout)
		found = [f for f in self.frames if isinstance(f, hf.GoAwayFrame)]
		return found[-1] if found else None

	def status_of(self, stream):
		"""Until the response's head; its status, "reset", or "closed"."""
		frame = self.until(lambda f: f.stream_id == stream
			and isinstance(f, (hf.HeadersFrame, hf.RstStreamFrame)))
		if frame is None:
			return "closed"
		if isinstance(frame, hf.RstStreamFrame):
			return "reset"
		return int(frame.fields[":status"])

	def rest(self):
		"""All of the response to the first request, of a download that was held."""
		self.send(hf.WindowUpdateFrame(0, window_increment=1 << 24), hf.WindowUpdateFrame(1, window_increment=1 << 24))
		assert self.until(lambda f: f.stream_id == 1 and "END_STREAM" in f.flags) is not None
		return b"".join(f.data for f in self.frames if isinstance(f, hf.DataFrame) and f.stream_id == 1)

	def ping(self):
		self.send(hf.PingFrame(0, b"barrier!"))
		return self.until(lambda f: isinstance(f, hf.PingFrame)
			and "ACK" in f.flags) is not None
