"""A client of resumable uploads (draft-ietf-httpbis-resumable-upload-12): begins, is cut off, asks, and goes on."""
import contextlib
import socket
import struct
import time

from uploads import connect

VERSION = ("upload-draft-interop-version", "8")
PARTIAL = ("content-type", "application/partial-upload")
WHOLE, PIECE = ("upload-complete", "?1"), ("upload-complete", "?0")


def said(c, data):
	"""How long the body is: H1 says it by itself."""
	return [("content-length", str(len(data)))] if hasattr(c, "conn") else []


def create(c, name, data, *headers, complete=WHOLE):
	return c.request("PUT", "/files/" + name, [VERSION, complete, *said(c, data), *headers], data)


def append(c, location, offset, data, *headers, complete=WHOLE):
	return c.request("PATCH", location, [VERSION, PARTIAL, complete, ("upload-offset", str(offset)),
		*said(c, data), *headers], data)


def head(c, location, *headers):
	return c.request("HEAD", location, list(headers))


def offset_of(answer):
	return int(answer.get("upload-offset"))


class Open:
	"""A request with a body of which some is sent; cut() ends its connection as a network that breaks does."""

	def __init__(self, server, way, method, path, headers, length):
		self.c = connect(server, way, seen=None)
		self.is_h2 = way.startswith("h2")
		headers = [VERSION, *headers, ("content-length", str(length))]
		if self.is_h2:
			self.stream = self.c.send(method, path, headers, end=False)
			self.answer, self.seen = self.c.responses[self.stream], 0
		else:
			self.c.send_bytes(self.c.head(method, path, headers))

	def told(self):
		"""The fields of the next 104."""
		if self.is_h2:
			self.c.until(lambda: len(self.answer.informed) > self.seen or self.answer.done)
			status, fields = self.answer.informed[self.seen]
			self.seen += 1
		else:
			status, _, fields = self.c.take_head(time.monotonic() + self.c.timeout)
			fields = dict(fields)
		assert status == 104, status
		assert fields["upload-draft-interop-version"] == "8"
		return fields

	def send(self, data):
		if self.is_h2:
			self.c.send_body(self.stream, data, end=False)
		else:
			self.c.send_bytes(data)

	def finish(self):
		if self.is_h2:
			self.c.conn.end_stream(self.stream)
			self.c.flush()
		return self.early()

	def early(self):
		"""Before the end of the body, too."""
		return self.c.response(self.stream) if self.is_h2 else self.c.response()

	def cut(self, reset=True):
		sock = self.c.sock
		with contextlib.suppress(OSError):
			if reset:  # what the server has not read is lost
				sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
			else:  # a socket that is closed with something unread sends a reset, too
				sock.shutdown(socket.SHUT_WR)
				while sock.recv(65536):
					pass
		sock.close()


def begin(server, way, name, length, *headers, complete=WHOLE):
	"""An upload whose place is known: (what is open, its location)."""
	opened = Open(server, way, "PUT", "/files/" + name, [complete, *headers], length)
	return opened, opened.told()["location"]


def ask(server, way, location, *headers):
	"""How far it is, by a connection of its own."""
	with connect(server, way) as c:
		return head(c, location, *headers)


def finish(server, way, location, data):
	"""
	The rest of it, from where it is: the last answer. What was sent before the connection was cut may be
	read by another worker only now: then the offset is another one than a moment ago, and is asked again.
	"""
	while True:
		with connect(server, way) as c:  # another one each time: HTTP/1 ends behind a body that was refused
			offset = offset_of(head(c, location))
			answer = append(c, location, offset, data[offset:])
			if answer.status != 409:
				return answer
