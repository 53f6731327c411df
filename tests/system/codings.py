"""Content codings without their libraries: streams whose blocks are stored as they are, which every decoder takes."""
import gzip

EXTENSIONS = {"br": "br", "zstd": "zst", "gzip": "gz"}
BLOCK = 1 << 16


def pieces(data):
	return [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]


def brotli(data):
	"""RFC 7932, 9: a window of 64 KiB in the first bit, uncompressed meta-blocks, an empty last one."""
	out, first = b"", True
	for piece in pieces(data):
		# ISLAST 0, MNIBBLES 0 (four of them), MLEN - 1, ISUNCOMPRESSED 1
		head = (len(piece) - 1) << 3 | 1 << 19
		out += (head << first).to_bytes(3, "little") + piece
		first = False
	return out + (b"\x06" if first else b"\x03")


def zstd(data):
	"""RFC 8878, 3.1.1: a window of 1 MiB, raw blocks."""
	out = b"\x28\xb5\x2f\xfd\x00\x50"
	for piece in pieces(data):
		out += (len(piece) << 3).to_bytes(3, "little") + piece
	return out + b"\x01\0\0"


def pack(coding, data):
	if coding == "gzip":
		return gzip.compress(data, 0, mtime=0)
	return {"br": brotli, "zstd": zstd}[coding](data)
