"""A client of WebSockets (RFC 6455), by an upgrade of HTTP/1.1 or by an extended CONNECT of HTTP/2 (RFC 8441)."""
import base64
import contextlib
import hashlib
import os
import struct
import time

import h2.settings

from client import Closed, Request, Response
from procs import DEADLINE

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONNECT_PROTOCOL = h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL


class Refused(Exception):
	"""The handshake was answered with something else; .answer has it."""

	def __init__(self, answer):
		super().__init__(str(answer))
		self.answer = answer


def frame(op, payload=b"", fin=True, mask=b"\x37\xfa\x21\x3d", rsv=0):
	"""As a client writes it; mask None: not masked."""
	head = bytes([fin << 7 | rsv << 4 | op])
	bit = 0x80 if mask else 0
	if len(payload) < 126:
		head += bytes([bit | len(payload)])
	elif len(payload) < 65536:
		head += struct.pack("!BH", bit | 126, len(payload))
	else:
		head += struct.pack("!BQ", bit | 127, len(payload))
	if not mask:
		return head + payload
	whole = (mask * (len(payload) // 4 + 1))[:len(payload)]
	masked = int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")
	return head + mask + masked.to_bytes(len(payload), "big")


def close_frame(code=None, reason=b""):
	return frame(CLOSE, b"" if code is None else struct.pack("!H", code) + reason)


class WebSocket(contextlib.AbstractContextManager):
	"""What both protocols have: write(bytes) and read() of some bytes, b"" at the end, are theirs."""

	def __init__(self):
		self.bytes = b""
		self.answer = None

	def __exit__(self, *_):
		self.client.close()

	def send(self, op, payload=b"", **options):
		self.write(frame(op, payload, **options))

	def text(self, text):
		self.send(TEXT, text.encode())

	def take(self, n, deadline):
		while len(self.bytes) < n:
			more = self.read(deadline)
			if not more:
				raise Closed("behind %r" % self.bytes[:100])
			self.bytes += more
		data, self.bytes = self.bytes[:n], self.bytes[n:]
		return data

	def receive(self, timeout=DEADLINE):
		"""The next frame: a pair of its opcode and its payload. The server sends whole ones, not masked."""
		deadline = time.monotonic() + timeout
		first, length = self.take(2, deadline)
		assert first & 0xf0 == 0x80 and length < 128, (first, length)
		if length == 126:
			length, = struct.unpack("!H", self.take(2, deadline))
			assert length > 125
		elif length == 127:
			length, = struct.unpack("!Q", self.take(8, deadline))
			assert length > 65535
		return first & 0x0f, self.take(length, deadline)

	def close_code(self, timeout=DEADLINE):
		"""The next frame is a close, and the end is behind it: its code, None for none, and its reason."""
		op, payload = self.receive(timeout)
		assert op == CLOSE, (op, payload)
		deadline = time.monotonic() + timeout
		while more := self.read(deadline):
			raise AssertionError("behind the close: %r" % more)
		return (struct.unpack("!H", payload[:2])[0], payload[2:]) if payload else (None, b"")

	def ask(self, text, timeout=DEADLINE):
		"""The answer to a text."""
		self.text(text)
		op, payload = self.receive(timeout)
		assert op == TEXT, (op, payload)
		return payload.decode()


class ByUpgrade(WebSocket):
	def __init__(self, client, path, fields=(), version="13", key=None, method="GET", connection="Upgrade",
			upgrade="websocket", behind=b""):
		"""behind: what is sent with the request."""
		super().__init__()
		self.client = client
		key = base64.b64encode(os.urandom(16)).decode() if key is None else key
		head = [("connection", connection), ("upgrade", upgrade), ("sec-websocket-version", version),
			("sec-websocket-key", key), *fields]
		client.ask(method, path, head)
		client.send_bytes(client.head(method, path, [pair for pair in head if pair[1] is not None]) + behind)
		deadline = time.monotonic() + client.timeout
		self.status, _, self.headers = client.take_head(deadline)
		if self.status != 101:
			client.close()
			raise Refused(self)
		wanted = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()
		fields = dict(self.headers)
		assert (fields["connection"], fields["upgrade"]) == ("upgrade", "websocket"), fields
		assert fields["sec-websocket-accept"] == wanted
		assert not {"transfer-encoding", "content-length"} & fields.keys(), fields

	def write(self, data):
		self.client.send_bytes(data)

	def read(self, deadline):
		if not self.client.buffer:
			self.client.more(deadline)
		data, self.client.buffer = self.client.buffer, b""
		return data

	def end(self):
		"""Says no more, and no close."""
		self.client.sock.close()


class ByConnect(WebSocket):
	def __init__(self, client, path, fields=(), version="13", protocol="websocket", drop=(), end=False):
		super().__init__()
		self.client = client
		client.until(lambda: client.settings_acked > 0)
		stream = client.conn.get_next_available_stream_id()
		self.response = client.responses[stream] = Response(Request("CONNECT", path, fields, client.authority))
		head = [(":method", "CONNECT"), (":protocol", protocol), (":scheme", client.scheme), (":path", path),
			(":authority", client.authority), ("sec-websocket-version", version), *fields]
		client.conn.send_headers(stream, [pair for pair in head if pair[0] not in drop and pair[1] is not None],
			end_stream=end)
		client.flush()
		self.stream = stream
		client.until(lambda: self.response.status is not None or self.response.done)
		self.status, self.headers = self.response.status, self.response.headers
		if self.status != 200:
			client.close()
			raise Refused(self)
		names = {name for name, _ in self.headers}
		assert not {"connection", "upgrade", "sec-websocket-accept", "content-length"} & names, names

	def write(self, data):
		self.client.send_body(self.stream, data, end=False)

	def read(self, deadline):
		answer = self.response
		while not answer.pieces and not answer.done:
			if not self.client.turn(deadline):
				break
		data, answer.pieces = b"".join(answer.pieces), []
		return data

	def end(self):
		self.client.conn.reset_stream(self.stream, 8)
		self.client.flush()
