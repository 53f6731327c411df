"""A TLS client that sends KeyUpdate records by the thousand, which Python's ssl cannot: OpenSSL by ctypes."""
import ctypes
import socket

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
PING = bytes.fromhex("000008060000000000") + b"12345678"


class KeyUpdates:
	"""Sends KeyUpdate records, with one byte of an HTTP/2 frame after each thousand."""

	def __init__(self, port, address=""):
		self.ssl = ssl = ctypes.CDLL("libssl.so.3")
		for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
			getattr(ssl, name).restype = ctypes.c_void_p
		self.ctx = ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_client_method())))
		ssl.SSL_CTX_set_alpn_protos(self.ctx, b"\x02h2", 3)
		self.s = ctypes.c_void_p(ssl.SSL_new(self.ctx))
		self.sock = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
		self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
		# A descriptor of Python's socket with a timeout would not block.
		self.sock.setblocking(True)
		ssl.SSL_set_fd(self.s, self.sock.fileno())
		if ssl.SSL_connect(self.s) != 1:
			self.close()
			raise ConnectionError("no TLS connection")

	def fill(self, most=30000):
		"""As many as the sockets take, and no more than is worked off in a second or two; how many."""
		ssl = self.ssl
		if ssl.SSL_write(self.s, PREFACE, len(PREFACE)) != len(PREFACE):
			raise ConnectionError("no preface")
		self.sock.setblocking(False)
		for n in range(most):
			ssl.SSL_key_update(self.s, 0)
			if ssl.SSL_do_handshake(self.s) != 1:
				break
			at = n // 1000 % len(PING)
			if n % 1000 == 0 and ssl.SSL_write(self.s, PING[at:at + 1], 1) != 1:
				break
		return n

	def close(self):
		if self.s:
			self.ssl.SSL_free(self.s)
			self.ssl.SSL_CTX_free(self.ctx)
			self.s = None
		self.sock.close()
