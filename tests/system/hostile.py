"""Names and bodies that are meant to hurt, made by rules; and what is right of each, told in another way."""
import itertools
import re
import unicodedata

# --- names ----------------------------------------------------------------------------------------------

CONTROLS = [chr(c) for c in [*range(0x20), 0x7f]]
HIGH_CONTROLS = [chr(c) for c in range(0x80, 0xa0)]
DIRECTIONS = list("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
PUNCTUATION = list("!\"#$%&'()*+,-:;<=>?@[]^_`{|}~ ")
INVISIBLE = list("\u00a0\u00ad\u034f\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufe0f\ufeff")

PATHS = ["/", "\\", "/x", "\\x", "x/", "x\\", "a/b", "a\\b", "//x", "./x", "x/.", "x/..", "../x", "..\\x",
	"a/../b", "a\\..\\b", "../../etc/passwd", "..\\..\\x", "....//x", "....\\\\x", "..;/x",
	"/etc/passwd", "C:\\x", "C:/x", "\\\\host\\share", "file:///x", "~root/x", "x\0/../../y", "up/../x",
	"../up/x"]
HIDDEN = [".", "..", "...", "....", ".x", "..x", ". ", ".\u200d", ".h2d-0000000000000000-0", ".htaccess",
	".well-known", ".x/../y", "..%2fx", ".%2e"]
# Once decoded these are names as any: they are not decoded again, nor normalised.
TWICE = ["%2e", "%2e%2e", "%2e%2e%2fx", "%2E%2E/x", "%252e%252e%252fx", "%00", "a%00b", "a%2fb", "%5c",
	"%c0%ae", "%u002e%u002e", "&#46;&#46;&#47;x", "&#x2f;", "=2E=2E=2Fx", "+ADw-", "=?utf-8?q?=2e=2e?=",
	"%", "%%", "%2", "%zz", "a%"]
ALIKE = ["\uff0e\uff0e\uff0fx", "\u2024\u2024\u2215x", "a\u2044b", "a\u29f8b", "a\uff3cb", "a\u0301",
	"\u00e1", "\u212b", "\u00c5", "\ufb01", "fi", "\u0130", "\u0131", "K", "\u212a", "\u0430", "a"]
ODD = ["con", "CON", "NUL.txt", "aux.", "x.", "x ", " x", "x..", "a:b", "a::$DATA", "-rf", "--help", "-",
	"*", "?", "$(x)", "`x`", "x;y", "a&b=c", "<b>x</b>", "'x'", "x\u0338", "\U0001f469\u200d\U0001f680",
	"\u6587\u4ef6.txt", "\U0010ffff", "\ue000", "index.html", "x.php.jpg", "x~", "#x#", "%s%n", "{0}",
	"'; drop table", "location: /x", "x" * 254, "x" * 255, "x" * 256, "x" * 300, "x" * 5000,
	"\u00fc" * 127, "\u00fc" * 127 + "x", "\u00fc" * 128, "\u6587" * 85, "\u6587" * 86]
# RFC 3629: overlong, of surrogates, past the last, cut, and bytes that begin nothing.
NO_UTF8 = ([bytes([b]) + b"x" for b in range(0x80, 0x100, 5)]
	+ [b"x" + bytes([b]) for b in range(0xc2, 0xf5, 5)]
	+ [b"\xc0\xae", b"\xc0\xae\xc0\xae\xc0\xafx", b"\xe0\x80\xae", b"\xf0\x80\x80\xae", b"\xc0\xaf",
	b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xc1\x9c", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80",
	b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
	b"\xff\xfe.\x00", b"a\xc3", b"\xe6\x96", b"\xe6\x96x", b"\xf0\x9f\x9a", b"\xfcx"])

# Not names: paths to elsewhere, as they are.
ELSEWHERE = ["/files/../x", "/files/a/b", "/files/a/../../x", "/files/x/", "/files/./../up/x", "/up/x",
	"/up/../up/x", "/files/..", "/files/.", "/files/", "/files/%2e%2e/x", "/files/x/%2e%2e/%2e%2e/x",
	"/%2e%2e/x", "/files/a%2fb/c", "/files;/x", "/FILES/x"]


def _around(characters):
	return [form % c for c in characters for form in ("%sx", "x%sx", "x%s")]


def names():
	"""All of them, as bytes, each once."""
	made = [_around(CONTROLS + DIRECTIONS + PUNCTUATION + INVISIBLE), ["x%sx" % c for c in HIGH_CONTROLS],
	PATHS,
		HIDDEN, TWICE, ALIKE, ODD]
	return list(dict.fromkeys([name.encode() for name in itertools.chain(*made)] + NO_UTF8))


def is_name(name):
	"""Whether a file may have it."""
	try:
		text = name.decode()
	except UnicodeDecodeError:
		return False
	return len(name) <= 255 and not re.match(r"\.|.*[/\\]", text, re.S) and not any(
		unicodedata.category(c) in ("Cc", "Zl", "Zp")
		or unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
		for c in text)


DISPOSITION = b'Content-Disposition: form-data; name="x"; filename="good"\r\n'


def section(head, data=b"data", boundary=b"B"):
	return b"--%s\r\n%s\r\n%s\r\n" % (boundary, head, data)


# --- whole bodies ---------------------------------------------------------------------------------------

GOOD = section(DISPOSITION)
STORED = {b"good": b"data"}
FIELD = section(b'Content-Disposition: form-data; name="x"\r\n')
# (body, what is stored of it; None: nothing, as it is malformed)
BODIES = [
	(GOOD + b"--B--\r\n", STORED),
	(GOOD + b"--B--", STORED),
	(b"\r\n" + GOOD + b"--B--", STORED),
	(b"preamble\r\n--BB\r\n--b\r\n--C\r\n\r\n" + GOOD + b"--B--", STORED),
	(b"x" * 100000 + b"\r\n" + GOOD + b"--B--", STORED),
	(GOOD + b"--B--\r\nepilogue\r\n" + GOOD.replace(b"good", b"bad") + b"--B--", STORED),
	(GOOD + b"--B--\r\n" + b"x" * 100000, STORED),
	(GOOD.replace(b"--B\r\n", b"--B \t\r\n") + b"--B-- \t\r\n", STORED),
	(GOOD.replace(b"--B\r\n", b"--B" + b" " * 64 + b"\r\n") + b"--B--" + b" " * 64 + b"\r\n", STORED),
	(GOOD.replace(b"--B\r\n", b"--B" + b" " * 999 + b"\r\n") + b"--B--", None),
	(FIELD * 5 + GOOD + FIELD * 5 + b"--B--", STORED),
	(FIELD + b"--B--", None),
	(b"", None), (b"-", None), (b"--", None), (b"--B", None), (b"--B--", None), (b"--B--\r\n", None),
	(b"--B\r\n", None),
	(b"--B\r\n\r\n", None), (b"--B\r\n\r\n--B--", None), (b"no boundary", None), (b"\r\n" * 9999, None),
	(b"\0" * 99999, None),
	(b"--B\n" + GOOD[5:] + b"--B--", None),
	(b"x" + GOOD + b"--B--", None),
	(GOOD.replace(b"\r\n", b"\n") + b"--B--", None),
	(GOOD, None), (GOOD + b"--C--", None), (GOOD + b"--B", None), (GOOD + b"--B\r\n", None),
	(GOOD + b"--B-", None),
	(GOOD + b"--B-\r\n", None), (GOOD + b"--B--x", None), (GOOD + b"--B--\r", None),
	(GOOD + b"--B\r\n--B--", None),
	(GOOD + b"--B\r\n" + b"X: y\r\n" * 2000 + b"\r\n", None),
	(GOOD + section(b"no colon\r\n") + b"--B--", None),
	(GOOD + section(DISPOSITION.replace(b"good", b".bad")) + b"--B--", None),
	(GOOD + section(DISPOSITION)[:-2] + b"--B--", None),
]
