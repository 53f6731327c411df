"""The least of an HTTP/2 client, for processes that ask fast: frames out of a byte stream, and a few to write."""
import asyncio
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ACK = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00"  # of SETTINGS


class Frames(asyncio.Protocol):
	"""Calls frame(kind, flags, stream, body) for each."""

	def __init__(self):
		self.buffer = bytearray()

	def data_received(self, data):
		self.buffer += data
		buffer = self.buffer
		at = 0
		while len(buffer) - at >= 9:
			length = buffer[at] << 16 | buffer[at + 1] << 8 | buffer[at + 2]
			if len(buffer) - at < 9 + length:
				break
			kind, flags, stream = struct.unpack_from("!BBI", buffer, at + 3)
			self.frame(kind, flags, stream, bytes(buffer[at + 9:at + 9 + length]))
			at += 9 + length
		del buffer[:at]
