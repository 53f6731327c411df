"""Clients of HTTP/2 for what h2load does not do: connections that stay idle (scripts/bench-memory), and TLS that is resumed.

As a program it is the load of scripts/bench's handshakes: bench_client.py PORT PATH COUNT full|resumed opens so many connections
over TLS, each with one request, and says how many were answered, and how many sessions were resumed.
"""
import socket
import ssl
import struct
import sys
import time

FLYING = 16  # connections that are opened at a time


def text(s):
	return struct.pack("!B", len(s)) + s if len(s) < 127 else b"\x7f" + number(len(s) - 127) + s


def number(n):
	"""RFC 7541, 5.1: what did not fit into the prefix."""
	out = bytearray()
	while n >= 128:
		out.append(n % 128 + 128)
		n //= 128
	return bytes(out) + bytes([n])


def frame(kind, flags, stream, payload):
	return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def request(path, more=b""):
	"""GET, with fields that a browser sends, each taken into the server's table (RFC 7541, 6.2.1)."""
	fields = (1, b"localhost"), (58, b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"), \
		(19, b"text/html,application/xhtml+xml,*/*;q=0.8"), (16, b"gzip, deflate, br"), (17, b"en-US,en;q=0.5")
	block = b"\x82\x86\x04" + text(path) + b"".join(bytes([0x40 | i]) + text(v) for i, v in fields)
	block += b"\x00" + text(b"cookie") + text(more) if more else b""
	# SETTINGS with a window of 1 MiB, its acknowledgement of the server's, WINDOW_UPDATE, HEADERS with END_STREAM
	# and END_HEADERS
	return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack("!HI", 4, 1 << 20)) + \
		frame(4, 1, 0, b"") + frame(8, 0, 0, struct.pack("!I", 1 << 20)) + frame(1, 5, 1, block)


def client_context():
	"""TLS as a browser speaks it, but that it believes any certificate."""
	context = ssl.create_default_context()
	context.check_hostname = False
	context.verify_mode = ssl.CERT_NONE
	context.set_alpn_protocols(["h2"])
	return context


class Client:
	"""One connection. Of TLS nothing is kept once the answer is there but the session, and whether it is one from before."""

	def __init__(self, address, source, context, path, more=b"", session=None):
		self.sock = socket.socket()
		self.sock.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
		self.sock.bind((source, 0))
		self.sock.settimeout(30)
		self.sock.connect(address)
		self.tls, self.seen, self.session, self.resumed = None, b"", None, False
		if context is not None:
			self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
			self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost", session=session)
			self.ask(self.tls.do_handshake)
			self.tls.write(request(path, more))
			self.sock.sendall(self.outgoing.read())
		else:
			self.sock.sendall(request(path, more))

	def ask(self, call, *args):
		while True:
			try:
				return call(*args)
			except ssl.SSLWantReadError:
				self.sock.sendall(self.outgoing.read())
				self.incoming.write(self.receive())
			finally:
				self.sock.sendall(self.outgoing.read())

	def receive(self):
		data = self.sock.recv(65536)
		if not data:
			raise ConnectionError("the server has closed a connection")
		return data

	def answered(self):
		"""Waits until the answer has ended."""
		while True:
			while len(self.seen) >= 9:
				length, kind, flags, stream = struct.unpack("!I", b"\0" + self.seen[:3])[0], *struct.unpack("!BBI", self.seen[3:9])
				if len(self.seen) < 9 + length:
					break
				self.seen = self.seen[9 + length:]
				if stream == 1 and kind in (0, 1) and flags & 1:
					if self.tls:
						self.session, self.resumed = self.tls.session, self.tls.session_reused
					self.tls = self.incoming = self.outgoing = self.seen = None
					return self.sock
			self.seen += self.ask(self.tls.read, 65536) if self.tls else self.receive()


def main():
	port, path, count, how = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3]), sys.argv[4]
	address, source, context, session = ("127.0.0.1", port), "127.0.0.1", client_context(), None
	begun, answered, resumed = time.monotonic(), 0, 0
	if how == "resumed":
		first = Client(address, source, context, path)
		first.answered().close()
		session = first.session
	while answered < count:
		flying = [Client(address, source, context, path, session=session) for _ in range(min(FLYING, count - answered))]
		for client in flying:
			client.answered().close()
			resumed += client.resumed
		answered += len(flying)
	print("%d answered, %d resumed in %f s" % (answered, resumed, time.monotonic() - begun))


if __name__ == "__main__":
	main()
