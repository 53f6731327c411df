"""A page as people build them, with a hundred sub-resources of all kinds; and a script that judges it.

build() makes the files. In a browser, `judge()` (in /judge.js) waits until everything has loaded and
gives a list of what is wrong, and what the browser knows of each resource.
"""
import json
import os
import struct
import zlib

# Debian: fonts-dejavu-core
FONTS = "/usr/share/fonts/truetype/dejavu"
STYLES, SCRIPTS, MODULES, IMAGES, DOCUMENTS = 12, 16, 8, 48, 10


def png(width, height):
	def chunk(name, data):
		return (struct.pack("!I", len(data)) + name + data
			+ struct.pack("!I", zlib.crc32(name + data)))
	rows = b"".join(b"\0" + bytes((x * 7 & 255, y * 5 & 255, width & 255)[i]
		for x in range(width) for i in range(3)) for y in range(height))
	return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0))
		+ chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def svg(width, height):
	return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"><rect width="9" height="9"/>%s'
		"</svg>" % (width, height, "<!-- a comment that compresses well -->" * 40)).encode()


def woff(ttf):
	"""WOFF 1.0 around a TrueType font: the same tables, compressed one by one."""
	count = struct.unpack_from("!H", ttf, 4)[0]
	tables = [struct.unpack_from("!4sIII", ttf, 12 + 16 * i) for i in range(count)]
	at, directory, data = 44 + 20 * count, b"", b""
	for tag, checksum, offset, length in tables:
		original = ttf[offset:offset + length]
		packed = min(zlib.compress(original), original, key=len)
		directory += struct.pack("!4sIIII", tag, at + len(data), len(packed), length, checksum)
		data += packed + bytes(-len(packed) % 4)
	size = 12 + 16 * count + sum((t[3] + 3) // 4 * 4 for t in tables)
	head = struct.pack("!4s4sIHHIHHIIIII", b"wOFF", ttf[:4], at + len(data), count, 0, size, 1, 0,
		0, 0, 0, 0, 0)
	return head + directory + data


def wav(seconds):
	"""Silence with clicks, 8 kHz, 8 bit."""
	data = (b"\x80" * 799 + b"\xff") * (10 * seconds)
	return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
		+ struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data"
		+ struct.pack("<I", len(data)) + data)


def fonts():
	found = {}
	for name in ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansMono-Bold",
			"DejaVuSerif", "DejaVuSerif-Bold"):
		with open(os.path.join(FONTS, name + ".ttf"), "rb") as f:
			found["font/%s.ttf" % name] = f.read()
	found["font/packed.woff"] = woff(found["font/DejaVuSansMono.ttf"])
	return found


def build():
	"""{name below the root: bytes}"""
	files = dict(fonts())
	families = [name for name in files]
	for i in range(STYLES):
		faces = "".join("@font-face { font-family: f%d; src: url(../%s) }\n" % (n, name)
			for n, name in enumerate(families) if n % STYLES == i)
		files["css/%d.css" % i] = ("%s:root { --s%d: ok }\n%s" % (faces, i,
			".b%d { background: url(../img/back%d.png) }\n" % (i, i)
			+ ".x { color: red }\n" * 200)).encode()
		files["img/back%d.png" % i] = png(20 + i, 3)
	for i in range(SCRIPTS):
		files["js/%d.js" % i] = ("window.ran = (window.ran || []).concat(%d);\n" % i
			+ "// a comment that compresses well\n" * (1 << (i % 12))).encode()
	for i in range(MODULES):
		down = 'export * from "./%d.mjs";\n' % (i + 1) if i + 1 < MODULES else ""
		files["js/m/%d.mjs" % i] = ("%sexport const m%d = %d;\n" % (down, i, i)).encode()
	for i in range(IMAGES):
		files["img/%d.%s" % (i, "svg" if i % 4 == 0 else "png")] = (svg if i % 4 == 0 else png)(
			i + 1, 16 + i * 3)
	for i in range(DOCUMENTS):
		files["data/%d.json" % i] = json.dumps({"n": i, "list": list(range(i * 300))}).encode()
	files["sound.wav"] = wav(60)
	files["favicon.ico"] = png(16, 16)
	with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge.js"), "rb") as f:
		files["judge.js"] = f.read()
	files["index.html"] = html(families).encode()
	return files


def html(families):
	part = ["<!doctype html><html lang=en><meta charset=utf-8><title>page</title>",
		'<link rel=icon href="favicon.ico">']
	part += ['<link rel=stylesheet href="css/%d.css">' % i for i in range(STYLES)]
	part += ['<script src="js/%d.js"></script>' % i for i in range(SCRIPTS)]
	part += ['<script type=module>import * as m from "./js/m/0.mjs"; window.m = {...m};</script>']
	part += ['<script>window.plan = %s;</script><script src="judge.js"></script>' % json.dumps({
		"styles": STYLES, "scripts": SCRIPTS, "modules": MODULES, "documents": DOCUMENTS,
		"families": len(families)}), "<body>"]
	part += ['<p class="b%d" style="font-family: f%d">text é ü</p>' % (i, i) for i in range(STYLES)]
	part += ['<img alt="" data-width=%d src="img/%d.%s">' % (i + 1, i, "svg" if i % 4 == 0 else "png")
		for i in range(IMAGES)]
	part += ['<audio id=sound preload=auto controls src="sound.wav"></audio>', "</html>"]
	return "\n".join(part)
