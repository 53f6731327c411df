"""Acts of an HTTP/2 client that cost a server work and do none, and what each costs of the credit of limits.glitches."""
import hyperframe.frame as hf

RESET, ANSWER = 25, 5


class Acts:
	"""Each method has the frames of the n-th act."""

	def __init__(self, raw):
		self.raw = raw

	def request(self, n, path="/", method="GET", extra=(), end=True, **more):
		return self.raw.headers(2 * n + 1, self.raw.head(path, method, extra), end_stream=end, **more)

	def open_upload(self):
		return [self.request(0, "/files/one", "PUT", end=False)]

	def content_length(self, n):
		return [self.request(n, "/files/a", "PUT", [("content-length", "9")], end=False),
			hf.DataFrame(2 * n + 1, b"short", flags=["END_STREAM"])]

	def malformed_field(self, n):
		return [self.request(n, extra=[("x-odd", "a\nb")])]

	def second_path(self, n):
		return [self.raw.headers(2 * n + 1, self.raw.head() + [(":path", "/")])]

	def listing_and_overflow(self, n):
		return [self.request(n, "/many/"), hf.WindowUpdateFrame(2 * n + 1, window_increment=2**31 - 1)]

	def too_large(self, n):
		if n == 0:
			return [self.request(0, extra=[("x-bomb", "b" * 3900)]), hf.WindowUpdateFrame(0, window_increment=1 << 24)]
		return [self.request(n, block=self.raw.encoder.encode(self.raw.head()) + b"\xbe" * 9)]

	def open_trailers(self, n):
		return [self.request(n, "/files/a", "PUT", end=False),
			self.raw.headers(2 * n + 1, [("x-trailer", "1")], end_stream=False)]

	def priority(self, n):
		return [hf.PriorityFrame(2 * n + 1, depends_on=0, stream_weight=5)]

	def window_update(self, n):
		return [hf.WindowUpdateFrame(0, window_increment=1)]

	def unknown(self, n):
		return [hf.ExtensionFrame(0xb0, 0, 0, body=b"")]

	def altsvc(self, n):
		return [hf.AltSvcFrame(0, origin=b"a", field=b'h2=":1"')]

	def ping_ack(self, n):
		return [hf.PingFrame(0, b"nobody's", flags=["ACK"])]

	def one_byte_data(self, n):
		return (self.open_upload() if n == 0 else []) + [hf.DataFrame(1, b"x")]

	def padded_data(self, n):
		return (self.open_upload() if n == 0 else []) + [hf.DataFrame(1, b"x", pad_length=20, flags=["PADDED"])]

	def one_byte_windows(self, n):
		return [self.request(0, "/long.bin")] if n == 0 else [hf.WindowUpdateFrame(1, window_increment=1)]

	def references(self, n):
		"""One byte each for nearly four kilobytes: 31 in all, which is allowed."""
		if n == 0:
			return [self.request(0, extra=[("x-bomb", "b" * 3900)])]
		return [self.request(n, block=self.raw.encoder.encode(self.raw.head()) + b"\xbe" * 8)]

	def crumbs(self, n):
		"""Pieces of a cookie, one byte each."""
		if n == 0:
			return [self.request(0, extra=[("cookie", "a=b")])]
		return [self.request(n, block=self.raw.encoder.encode(self.raw.head()) + b"\xbe" * 700)]


PRICES = {"content_length": RESET, "malformed_field": RESET, "second_path": RESET, "listing_and_overflow": RESET,
	"too_large": RESET, "open_trailers": RESET, "priority": 1, "window_update": 1, "unknown": 1, "altsvc": 1,
	"ping_ack": ANSWER, "one_byte_data": 1, "padded_data": 1, "one_byte_windows": 1, "references": 20, "crumbs": 15}
