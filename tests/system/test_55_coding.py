"""Content codings: what accept-encoding chooses among the files that lie beside one, and what is said of it."""
import gzip
import itertools
import os
import time

from codings import EXTENSIONS, pack
import pytest

NO_CACHE = "cache { max-size = 0 }"
NO_CODINGS = "cache { max-size = 0  compress = {} }"
IDENTITY = b"identity"
PACKED = {coding: pack(coding, IDENTITY) for coding in EXTENSIONS}
THEN = int(time.time()) - 5000

FIELDS = [
	None, "", "gzip", "br", "zstd", "x-gzip", "GZIP", "deflate", "compress, gzip", "gzip, deflate, br, zstd",
	"gzip;q=1.0, br;q=0.5, zstd;q=0.8", "gzip;q=0", "gzip;q=0, br", "br;q=0.001", "gzip; q=0.5 ,br ;q=0.4",
	"*", "*;q=0", "*;q=0.5", "*;q=0, gzip", "gzip;q=0.2, *;q=0.7", "br;q=0, *", "*;q=0, identity",
	"identity", "identity;q=0", "identity;q=0, gzip", "identity;q=0, *;q=0", "identity;q=0, *",
	"identity;q=0.5, gzip;q=0.3", "identity;q=0.3, gzip;q=0.5", "identity, br;q=0.9",
	"gzip;q=2", "gzip;q=x, br", "gzip;;q=1", ",,gzip,", "gzip;q=0.5;x", "gzip;Q=0.5, br;q=0.4",
]


def weights_of(text):
	"""RFC 9110, 12.5.3 and 12.4.2; an element with a malformed weight is as if it were not there, as other parameters are."""
	found = {}
	for element in text.split(","):
		name, *parameters = (part.strip().lower() for part in element.split(";"))
		q = 1.0
		for number in (p[2:] for p in parameters if p.startswith("q=")):
			whole, dot, digits = number.partition(".")
			good = whole in ("0", "1") and len(digits) <= 3 and (digits.isdigit() or not digits)
			q = float(number) if good and not (whole == "1" and digits.strip("0")) else None
		if name and q is not None:
			found[{"x-gzip": "gzip"}.get(name, name)] = q
	return found


def oracle(text, available):
	"""The coding that is sent out of available, "" for none, None for 406."""
	if text is None:
		return ""
	weights = weights_of(text)
	of = lambda name: weights.get(name, weights.get("*"))
	best, most = None, 0
	for name in EXTENSIONS:
		if name in available and (of(name) or 0) > most:
			best, most = name, of(name)
	identity = of("identity")
	if identity is None:
		return best or ""
	return "" if identity > most else best


def headers_of(text):
	return [] if text is None else [("accept-encoding", text)]


def put(server, name, data, t=THEN):
	path = server.write(name, data)
	os.utime(path, (t, t))


def connect(server, protocol):
	return server.connect("tcp") if protocol == "h2" else server.h1("tcp")


IMAGE, IMAGE_NO_CODINGS = "cache { }", "cache { compress = {} }"


@pytest.mark.parametrize("protocol", ["h2", "h1"])
@pytest.mark.parametrize("sections", [NO_CACHE, NO_CODINGS, IMAGE, IMAGE_NO_CODINGS])
def test_every_choice(h2d, protocol, sections):
	"""Files too small for twins that are worth it: from image and disk alike."""
	server = h2d.new(sections=sections)
	subsets = [s for n in range(4) for s in itertools.combinations(EXTENSIONS, n)]
	for i, subset in enumerate(subsets):
		put(server, "f%d.js" % i, b"identity")
		for coding in subset:
			put(server, "f%d.js.%s" % (i, EXTENSIONS[coding]), PACKED[coding])
	server.start()
	# A busy keeper may publish before it has read all.
	if "max-size" not in sections:
		server.wait_settled()
	with connect(server, protocol) as c:
		for i, subset in enumerate(subsets):
			varies = bool(subset) or sections in (NO_CACHE, IMAGE)
			for text in FIELDS:
				answer = c.get("/f%d.js" % i, headers=headers_of(text))
				wanted = oracle(text, subset)
				said = (subset, text, answer)
				assert answer.get("vary") == ("accept-encoding" if varies else None), said
				if wanted is None and varies:
					assert answer.status == 406 and answer.body, said
					continue
				assert answer.status == 200, said
				assert answer.get("content-encoding") == (wanted or None), said
				assert answer.body == (PACKED[wanted] if wanted else IDENTITY), said
				assert answer.get("content-type") == "text/javascript; charset=utf-8", said
	totals = server.status()["totals"]
	every = len(subsets) * len(FIELDS)
	# A keeper that has no processor for a second does not tick, and the disk answers.
	assert totals["cache_hits"] > every // 2 if "max-size" not in sections else totals["cache_hits"] == 0
	assert totals["cache_hits"] + totals["cache_misses"] >= every


@pytest.mark.parametrize("sections", [NO_CODINGS, IMAGE_NO_CODINGS])
def test_what_is_beside(h2d, sections):
	"""Not older, a regular file and no link; and of text-like files only."""
	server = h2d.new(sections=sections)
	with open(server.path("secret"), "w") as f:
		f.write("secret")
	put(server, "same.css", "identity")
	put(server, "same.css.gz", PACKED["gzip"])
	put(server, "newer.css", "identity")
	put(server, "newer.css.gz", PACKED["gzip"], THEN + 100)
	put(server, "older.css", "identity")
	put(server, "older.css.gz", PACKED["gzip"], THEN - 1)
	put(server, "image.png", "identity")
	put(server, "image.png.gz", PACKED["gzip"])
	for name in ("folder", "outside", "absolute", "fifo", "dangling", "inside"):
		put(server, name + ".css", "identity")
	os.mkdir(os.path.join(server.root, "folder.css.gz"))
	os.symlink("../secret", os.path.join(server.root, "outside.css.gz"))
	os.symlink("/etc/passwd", os.path.join(server.root, "absolute.css.gz"))
	os.symlink("nothing", os.path.join(server.root, "dangling.css.gz"))
	os.symlink("same.css.gz", os.path.join(server.root, "inside.css.gz"))
	os.mkfifo(os.path.join(server.root, "fifo.css.gz"))
	put(server, "alone.css.gz", PACKED["gzip"])
	server.start(image=sections == IMAGE_NO_CODINGS)
	if sections == IMAGE_NO_CODINGS:
		server.wait_checked()
	with server.connect("tcp") as c:
		for name in ("same", "newer"):
			answer = c.get("/%s.css" % name, headers=headers_of("gzip"))
			assert answer.body == PACKED["gzip"] and answer.get("content-encoding") == "gzip", name
		for name in ("older.css", "image.png", "folder.css", "outside.css", "absolute.css", "fifo.css",
				"dangling.css", "inside.css"):
			for text in (None, "gzip", "identity;q=0, gzip", "identity;q=0"):
				answer = c.get("/" + name, headers=headers_of(text))
				assert answer.body == b"identity" and not answer.get("vary"), name
				assert not answer.get("content-encoding"), name
		assert c.get("/alone.css", headers=headers_of("gzip")).status == 404
		raw = c.get("/same.css.gz", headers=headers_of("gzip"))
		assert raw.body == PACKED["gzip"] and not raw.get("content-encoding")
		assert raw.get("content-type") == "application/gzip"


@pytest.mark.parametrize("protocol", ["h2", "h1"])
@pytest.mark.parametrize("sections", [NO_CACHE, IMAGE])
def test_every_status_says_vary(h2d, protocol, sections):
	server = h2d.new(sections=sections)
	put(server, "f.css", "identity " * 100)
	put(server, "f.css.gz", pack("gzip", b"identity " * 100))
	put(server, "g.css", "nothing beside it " * 100)
	server.start(image=sections == IMAGE)
	if sections == IMAGE:
		server.wait_coded(["f.css", "g.css"])  # which changes what the etag is of
	with connect(server, protocol) as c:
		for text in (None, "gzip", "br"):
			for path in ("/f.css", "/g.css"):
				etag = c.get(path, headers=headers_of(text)).get("etag")
				for fields, status in (
						([("if-none-match", etag)], 304), ([("if-match", '"x"')], 412),
						([("range", "bytes=0-1")], 206),
						([("range", "bytes=9999-")], 416), ([], 200)):
					for method in ("GET", "HEAD"):
						if method == "HEAD" and status in (206, 416):
							continue
						answer = c.request(method, path,
							headers=headers_of(text) + fields)
						assert answer.status == status
						assert answer.get("vary") == "accept-encoding", (path,
							text, fields)
		assert c.get("/none.css", headers=headers_of("gzip")).get("vary") is None


@pytest.mark.parametrize("sections", [NO_CACHE, IMAGE])
def test_one_tag_for_each_coding(h2d, sections):
	"""A tag names bytes: of another coding it matches nothing."""
	server = h2d.new(sections=sections)
	put(server, "f.css", "identity")
	put(server, "copy.bin", PACKED["gzip"])
	for coding, extension in EXTENSIONS.items():
		put(server, "f.css." + extension, PACKED[coding])
	server.start(image=sections == IMAGE)
	if sections == IMAGE:
		server.wait_checked()
	with server.connect("tcp") as c:
		tags = {text: c.get("/f.css", headers=headers_of(text)).get("etag")
			for text in (None, *EXTENSIONS)}
		assert len(set(tags.values())) == 4
		assert c.get("/copy.bin").get("etag") == tags["gzip"], "that of its bytes, as any file's"
		for text, etag in tags.items():
			for other, status in ((text, 304), *((o, 200) for o in tags if o != text)):
				answer = c.get("/f.css", headers=headers_of(other) + [("if-none-match", etag)])
				assert answer.status == status, (text, other)


def test_image_and_disk_agree(h2d):
	"""The same fields, the date aside, for the same bytes, wherever they come from; twins aside, too."""
	image = h2d.new(sections=IMAGE)
	names = ["a.css", "b.html", "c.png", "d.json", "e", "f.txt", "empty.css", "void.css",
		"large.txt"]

	def content(name):
		return b"" if name == "empty.css" else name.encode() * (200 if name != "large.txt" else 400000)
	for name in names:
		put(image, name, content(name))
	for name, coding in (("a.css", "gzip"), ("b.html", "br"), ("d.json", "zstd"), ("f.txt", "gzip"), ("c.png", "gzip"), ("empty.css", "gzip")):
		put(image, "%s.%s" % (name, EXTENSIONS[coding]), pack(coding, content(name)), THEN - (name == "f.txt"))
	put(image, "void.css.gz", "")  # no gzip stream is empty: somebody is about to write it
	image.start(image=True)
	image.wait_checked()
	disk = h2d(root=image.root, sections=NO_CACHE)
	image.wait_tagged("/large.txt")
	disk.wait_tagged("/large.txt")
	with image.connect("tcp") as a, disk.connect("tcp") as b:
		for name in names:
			for text in (None, "identity", "gzip", "br", "zstd"):
				one, two = (c.get("/" + name, headers=headers_of(text)) for c in (a, b))
				drop = lambda answer: [f for f in answer.headers if f[0] != "date"]
				twin = one.get("content-encoding") and not two.get("content-encoding")
				assert one.get("vary") == two.get("vary"), (name, text)
				assert twin or (drop(one), one.body) == (drop(two), two.body), (name, text)
	assert image.status()["totals"]["cache_hits"] > 0


def test_large_file_beside(h2d):
	"""Above max-file-size, over both file systems' ways of reading."""
	server = h2d.new()
	plain = os.urandom(5 << 20)
	coded = pack("zstd", plain)
	put(server, "large.json", plain)
	put(server, "large.json.zst", coded)
	server.start(image=True)
	with server.connect("tcp") as c:
		answer = c.get("/large.json", headers=headers_of("zstd"))
		assert answer.body == coded and answer.get("content-encoding") == "zstd"
		part = c.get("/large.json", headers=headers_of("zstd") + [("range", "bytes=-100")])
		assert part.status == 206 and part.body == coded[-100:]


TEXT = b"body { color: red }\n" * 500


@pytest.mark.parametrize("how", ["image", "disk", "past max-file-size"])
def test_precompressed(h2d, how):
	"""A file beside another is sent as it is, whatever it holds, where the configuration lets; elsewhere the other is, in h2d's own coding if it has one."""
	server = h2d.new(listens=("tcp",))
	sections = 'cache { compress = {"gzip"} %s }\n' % {"image": "", "disk": "max-size = 0", "past max-file-size": 'max-file-size = "1K"'}[how]
	for name in ("no", "some"):
		sections += 'server "%s" { root = "%s"  precompressed = false %s }\n' % (
			name, server.path(name), 'location "/on/" { precompressed = true }' if name == "some" else "")
	server.write_conf(sections=sections, server='location "/off/" { precompressed = false }')
	for name in ("a.css", "off/a.css", "../no/a.css", "../some/a.css", "../some/on/a.css"):
		put(server, name, TEXT)
		put(server, name + ".gz", "made elsewhere")
	server.start(image=how != "disk")
	if how == "image":
		server.wait_checked()
	for host, path, sent in (("any", "/a.css", True), ("any", "/off/a.css", False), ("no", "/a.css", False),
			("some", "/a.css", False), ("some", "/on/a.css", True)):
		with server.connect("tcp", authority=host) as c:
			answer = c.get(path, headers_of("gzip"))
			coding = answer.get("content-encoding")
			if sent:
				assert (answer.body, coding) == (b"made elsewhere", "gzip"), (host, path)
			elif how == "image" and host == "no":
				assert (gzip.decompress(answer.body), coding) == (TEXT, "gzip"), (host, path)
			else:
				assert (answer.body, coding) == (TEXT, None), (host, path)
			assert answer.get("vary") == "accept-encoding"
			assert c.get(path).body == TEXT
			assert c.get(path + ".gz").body == b"made elsewhere"


@pytest.mark.parametrize("how", ["image", "disk"])
def test_compress_by_location(h2d, how):
	"""h2d neither makes nor sends a form that the place does not name; files beside others are another matter."""
	server = h2d.new(listens=("tcp",))
	server.write_conf(sections='cache { compress = {"gzip"} %s }\nserver "off" { root = "%s"  compress = false }\n' % (
		"" if how == "image" else "max-size = 0", server.path("elsewhere")), server="""
location "/off/" { compress = false }
location "/off/on/" { compress = {"gzip"} }
location "/off/lists/" { autoindex = true }
location "/lists/" { autoindex = true }""")
	paths = ("a.css", "off/a.css", "off/on/a.css", "../elsewhere/a.css", "off/lists/a.css", "lists/a.css", "off/beside.css")
	for path in paths:
		put(server, path, TEXT)
	put(server, "off/beside.css.gz", gzip.compress(b"beside"))
	server.start(image=how == "image")
	if how == "image":
		server.wait_checked()
		# index.html, too; /off/lists/ inherits from the server.
		assert server.wait_settled()["cache"]["compressed"] == 5
	for host, path, coded in (("any", "/a.css", True), ("any", "/off/a.css", False), ("any", "/off/on/a.css", True),
			("off", "/a.css", False), ("any", "/off/lists/a.css", True)):
		with server.connect("tcp", authority=host) as c:
			answer = c.get(path, headers_of("gzip"))
			coding = "gzip" if coded and how == "image" else None
			assert (answer.get("content-encoding"), answer.get("vary")) == (coding, "accept-encoding" if coded else None), path
			assert (gzip.decompress(answer.body) if coding else answer.body) == TEXT
			assert coded or c.get(path, headers_of("gzip, identity;q=0")).status == 200
	with server.connect("tcp") as c:
		beside = c.get("/off/beside.css", headers_of("gzip"))
		assert (gzip.decompress(beside.body), beside.get("vary")) == (b"beside", "accept-encoding")
		assert c.get("/lists/", headers_of("gzip")).get("content-encoding") == "gzip"
	server.write_conf(server='compress = false  autoindex = true  location "/off/" { compress = true }')
	server.reload()
	with server.connect("tcp") as c:
		assert c.get("/lists/", headers_of("gzip")).get("content-encoding") is None
		assert c.get("/off/lists/", headers_of("gzip")).get("content-encoding") == "gzip"


@pytest.mark.parametrize("protocol", ["h2", "h1"])
def test_error_pages(h2d, protocol):
	"""A page is sent in a coding like any file; but in some form to everybody, and without validators."""
	server = h2d.new(sections=NO_CACHE, server='error-page "404" { file = "/404.html" }'
		' error-page "406" { file = "/404.html" } error-page "416" { file = "/404.html" }')
	put(server, "404.html", "identity")
	put(server, "404.html.gz", PACKED["gzip"])
	put(server, "f.css", "x")
	server.start()
	with connect(server, protocol) as c:
		for text, body in ((None, b"identity"), ("gzip", PACKED["gzip"]), ("identity;q=0", b"identity")):
			answer = c.get("/none", headers=headers_of(text) + [("if-none-match", "*"),
				("range", "bytes=0-0")])
			assert (answer.status, answer.body) == (404, body)
			assert answer.get("content-encoding") == ("gzip" if body == PACKED["gzip"] else None)
			assert [v for k, v in answer.headers if k == "vary"] == ["accept-encoding"]
			assert answer.get("content-type") == "text/html; charset=utf-8"
		head = c.request("HEAD", "/none", headers=headers_of("gzip"))
		assert (head.status, head.get("content-length"), head.body) == (404, str(len(PACKED["gzip"])), b"")
		answer = c.get("/f.css", headers=headers_of("identity;q=0"))
		assert (answer.status, answer.body) == (406, b"identity")
		assert [v for k, v in answer.headers if k == "vary"] == ["accept-encoding"]
		answer = c.get("/f.css", headers=headers_of("gzip") + [("range", "bytes=5-")])
		assert (answer.status, answer.body) == (416, PACKED["gzip"])
		assert answer.get("content-range") == "bytes */1"


UPLOADS = 'upload-dir = "up"  upload-public = true  upload-overwrite = false'


@pytest.mark.parametrize("how", ["image", "disk", "past max-file-size"])
def test_uploads_are_no_variants(h2d, how):
	"""Who may add a file may not be who may change another: NAME.gz in the folder of uploads is a file of its own, by each way to it."""
	server = h2d.new(files={"up/report.txt": b"plain " * 1000, "other/index.html": "other"}, listens=("tcp",))
	sections = {"image": "", "disk": NO_CACHE, "past max-file-size": 'cache { max-file-size = "1K" }'}[how]
	sections += 'server "around" { root = "%s" }\nserver "inside" { root = "%s" }' % (os.path.dirname(server.root), server.path("www", "up"))
	server.write_conf(server=UPLOADS, sections=sections)
	server.start(image=how != "disk")
	ways = [("any", "/files/report.txt"), ("any", "/up/report.txt"), ("around", "/www/up/report.txt"), ("inside", "/report.txt")]
	with server.connect("tcp") as c:
		for extension in EXTENSIONS.values():
			assert c.request("PUT", "/files/report.txt." + extension, body=b"x" * 100).status == 201
	if how == "image":
		server.wait_coded(["/up/report.txt"])
	for host, path in ways:
		with server.connect("tcp", authority=host) as c:
			for coding, extension in EXTENSIONS.items():
				answer = c.get(path, [("accept-encoding", coding)])
				assert answer.status == 200 and answer.body != b"x" * 100, (host, path, coding)
				if answer.get("content-encoding") is None:
					assert answer.body == b"plain " * 1000
				answer = c.get(path + "." + extension, [("accept-encoding", coding)])
				assert (answer.body, answer.get("content-encoding")) == (b"x" * 100, None)
			assert c.get(path, [("accept-encoding", "identity;q=0, deflate")]).status == 406
