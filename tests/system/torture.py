"""What the files of the coherence torture hold, so that each byte tells whose it is; and who may change them how.

A file is a record of 32 bytes over and over, cut at its size: file, version, size, checksum of these.
"""
import random
import re
import zlib

RECORD = 32
MAX_FILE = 256 << 10  # the server's max-file-size

# What is done to a file: a letter of its name, capital for those above max-file-size; and how many.
#   r  only ever replaced by rename          p  overwritten in place by one write, its size stays
#   t  truncated, then written               d  deleted, then made anew
COUNTS = dict(r=60, R=16, p=40, P=12, t=30, T=6, d=30, D=6)
NAMES = ["%s%03d%s" % (kind, i, ".txt" if i % 2 else ".bin")
	for kind, n in COUNTS.items() for i in range(n)]
KIND = [name[0] for name in NAMES]


def size_of(file, version):
	if KIND[file] in "pP":
		version = 0
	rng = random.Random(file * 1000003 + version)
	if KIND[file].isupper():
		return rng.randrange(MAX_FILE + 1, 10 * MAX_FILE)
	return rng.randrange(RECORD, 9000 if version % 8 else MAX_FILE)


def record(file, version, size):
	text = b"%04d %08d %08d " % (file, version, size)
	return text + b"%08x" % zlib.crc32(text) + b"\n"


def content(file, version):
	size = size_of(file, version)
	one = record(file, version, size)
	return (one * (size // len(one) + 1))[:size]


def parse(one):
	"""(file, version, size) of a whole record, else None."""
	match = re.fullmatch(rb"(\d{4}) (\d{8}) (\d{8}) ([0-9a-f]{8})\n", one)
	if not match or zlib.crc32(one[:23]) != int(match.group(4), 16):
		return None
	return tuple(int(match.group(i)) for i in (1, 2, 3))


def version_of(file, body, at=0, total=None):
	"""
	The version that body is, from offset at of total bytes (None: all of it); None: of no single one.
	"""
	skip = -at % RECORD
	if len(body) - skip < RECORD:
		return None
	one = body[skip:skip + RECORD]
	found = parse(one)
	if not found or found[0] != file or found[2] != (len(body) if total is None else total):
		return None
	n = len(body) + RECORD
	if (one * (n // RECORD + 1))[at % RECORD:][:len(body)] != body:
		return None
	return found[1]


def looks(file, body):
	"""What a body that is no whole version is made of: "prefix" of one, "mix" of versions, or what is wrong."""
	if not body:
		return "prefix"
	if b"\0" in body:
		return "padded"
	versions, torn = set(), 0
	for at in range(0, len(body) - RECORD + 1, RECORD):
		found = parse(body[at:at + RECORD])
		if not found:
			torn += 1
		elif found[0] != file:
			return "another file's bytes"
		else:
			versions.add(found[1:])
	if torn > 4:
		return "%d records that nobody wrote" % torn
	if len(versions) > 1 or torn:
		return "mix"
	one = body[:RECORD]
	return "prefix" if (one * (len(body) // RECORD + 1))[:len(body)] == body else "mix"
