"""The keeper: twins, what lies beside, adoption over reloads and crashes, caps, many files."""
import gzip
import itertools
import os
import shutil
import signal
import tempfile

import h2.settings
import pytest

from procs import mostly, wait_for
from server import SANITIZED

TEXT = ("the quick brown fox jumps over the lazy dog\n" * 200).encode()
WINDOW = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE


def cache(server):
	return server.status()["cache"]


def get(server, path, accept=None):
	with server.connect("tcp") as c:
		return c.get(path, headers=[("accept-encoding", accept)] if accept else [])


def hits(server, path, accept=None):
	"""A response, and whether it came out of the image."""
	before = server.status()["totals"]["cache_hits"]
	answer = get(server, path, accept)
	return answer, server.status()["totals"]["cache_hits"] > before


def cached(server, path, accept=None):
	"""The response out of the image: a keeper without a processor for a second is not believed meanwhile."""
	return wait_for(lambda: (found := hits(server, path, accept))[1] and found[0], said=path + " out of the image")


def codings_built(server):
	out = server.run("-V").out
	return [c for c, word in (("br", "brotli"), ("zstd", "zstd"), ("gzip", "zlib")) if word in out]


def test_twins_appear_and_are_right(h2d):
	server = h2d(image=True, files={"a.css": TEXT, "short.css": "x", "p.png": TEXT})
	status = server.wait_settled()
	built = codings_built(server)
	assert status["cache"]["compressed"] == 3 * len(built)  # index.html is the third
	plain = get(server, "/a.css")
	assert plain.body == TEXT and plain.get("vary") == "accept-encoding"
	for coding in built:
		answer = cached(server, "/a.css", coding)
		assert answer.get("content-encoding") == coding, coding
		assert len(answer.body) < len(TEXT) // 10
		assert answer.get("etag") != plain.get("etag")
		if coding == "gzip":
			assert gzip.decompress(answer.body) == TEXT
	for path in ("/short.css", "/p.png"):
		assert get(server, path, "br, zstd, gzip").get("content-encoding") is None
	assert get(server, "/p.png", "br").get("vary") is None


def test_twins_carry_over_a_reload(h2d):
	server = h2d(image=True, files={"%d.css" % i: TEXT + b"%d" % i for i in range(20)})
	before = server.wait_settled()
	assert before["cache"]["compressed"] > 0
	server.reload()
	after = server.wait_settled(above=before["image"])
	assert after["cache"]["adopted"] == 21
	assert after["cache"]["compressed"] == 0
	for coding in codings_built(server):
		assert cached(server, "/7.css", coding).get("content-encoding") == coding
	# One that changed is read and compressed again, and only that.
	server.write("7.css", TEXT * 2)
	status = server.wait_settled(above=after["image"])
	assert status["cache"]["compressed"] == len(codings_built(server))
	assert hits(server, "/7.css")[0].body == TEXT * 2


def test_another_user_adopts_nothing(h2d):
	"""What the next user may not read is 403, cached or not; `user` is root's to say."""
	root = os.geteuid() == 0
	server = h2d(image=True, files={"secret": "secret", "open": "open"}, conf='user = "nobody"')
	secret = os.path.join(server.root, "secret")
	if root:
		shutil.chown(secret, "nobody")
	os.chmod(secret, 0o400)
	before = server.wait_settled()
	cached(server, "/secret")
	server.put_conf(server.conf_text.replace('"nobody"', '"daemon"'))
	server.reload()
	after = server.wait_settled(above=before["image"])
	assert after["cache"]["adopted"] == (0 if root else before["cache"]["entries"])
	assert get(server, "/secret").status == (403 if root else 200)
	assert get(server, "/open").body == b"open"


def test_a_coding_configured_out(h2d):
	server = h2d(image=True, files={"a.css": TEXT})
	before = server.wait_settled()
	server.put_conf(server.conf_text + 'cache { compress = {} }\n')
	server.reload()
	server.wait_settled(above=before["image"])
	answer = get(server, "/a.css", "br, zstd, gzip")
	assert answer.body == TEXT and answer.get("content-encoding") is None


def test_a_dead_keeper_is_replaced(h2d):
	server = h2d(image=True, files={"a.css": TEXT, "b.txt": "one"})
	before = server.wait_settled()
	server.allow_alert("keeper .* (killed|signal)")
	keeper = server.keeper()
	# The next one must not come before the edit.
	os.kill(keeper, signal.SIGSTOP)
	server.write("b.txt", "two")
	os.kill(keeper, signal.SIGKILL)
	# Within a second nobody believes the dead one's image any more.
	wait_for(lambda: get(server, "/b.txt").body == b"two")
	status = server.wait_settled(above=before["image"])
	assert status["keeper"] not in (0, keeper)
	assert status["cache"]["adopted"] == 2
	assert status["cache"]["compressed"] == len(codings_built(server))  # b.txt alone
	assert cached(server, "/b.txt").body == b"two"


def test_caps_under_churn(h2d):
	"""A slow reader holds an old image while everything changes a hundred times."""
	files = {"f%d.bin" % i: os.urandom(20000) for i in range(40)}
	server = h2d(image=True, sections='cache { max-size = "1M" }',
		files=dict(files, **{"held.bin": os.urandom(200000)}))
	server.wait_settled()

	def churn():
		for turn in range(100):
			for i in range(turn % 7, 40, 7):
				server.write("f%d.bin" % i, os.urandom(20000))
			facts = cache(server)
			assert facts["segment_bytes"] <= 2 << 20
			assert facts["images"] <= 4
	with open(server.path("www", "held.bin"), "rb") as f:
		held = f.read()
	with server.connect("tcp", settings={WINDOW: 1000}, credit=False) as c:
		c.window(1 << 24)
		stream = c.send(path="/held.bin")
		c.until(lambda: c.responses[stream].size == 1000)
		churn()
		c.window(1 << 24, stream)
		assert c.response(stream).body == held
	server.wait_settled()
	wait_for(lambda: cache(server)["images"] <= 2, said="old images are gone")
	with server.connect("tcp") as c:
		for i in range(40):
			with open(server.path("www", "f%d.bin" % i), "rb") as f:
				assert c.get("/f%d.bin" % i).body == f.read()
	cached(server, "/f1.bin")


def test_past_max_size(h2d):
	"""What does not fit is read from disk, and found room for when something goes."""
	server = h2d(image=True, sections='cache { max-size = "100K"  compress = {}  rescan-interval = 1 }',
		files={"a.bin": bytes(60000), "d/b.bin": bytes(60000)})
	status = server.wait_settled()
	assert status["cache"]["content"] <= 100 << 10
	# The one nearer the root, unless a busy machine had it read later.
	one, = wait_for(lambda: [name for name in ("a.bin", "d/b.bin") if hits(server, "/" + name)[1]], said="one of them in an image")
	other, = {"a.bin", "d/b.bin"} - {one}
	os.unlink(server.path("www", one))
	cached(server, "/" + other)


@pytest.mark.parametrize("change", ["reload", "upgrade"])
def test_a_keeper_that_left_is_not_waited_for(h2d, change):
	"""The old generation's takes its images back when it leaves, so that the next uploads have their answers at once."""
	server = h2d(workers=1, server='upload-dir = "up" upload-public = true', files={"up/a": b"0"})

	def is_answered(n):
		getattr(server, change)()
		before = server.status()["totals"]
		with server.connect() as c:
			assert c.request("PUT", "/files/a", body=b"%d" % n).status == 204
			assert c.get("/up/a").body == b"%d" % n
		now = server.status()["totals"]
		assert now["doubts_asked"] > before.get("doubts_asked", 0)
		return now.get("doubts_timed_out", 0) == before.get("doubts_timed_out", 0)
	# Not each time: a new keeper that gets no processor for a second answers too late.
	numbers = itertools.count()
	assert mostly(lambda: is_answered(next(numbers)))


FOLDERS = 10 if SANITIZED else 100


@pytest.fixture
def many():
	"""A root with a hundred thousand small files, in memory; sanitizers see a tenth of them."""
	root = tempfile.mkdtemp(prefix="h2d-test-", dir="/dev/shm")
	for d in range(FOLDERS):
		os.mkdir("%s/d%d" % (root, d))
		for i in range(1000):
			with open("%s/d%d/%d.txt" % (root, d, i), "w") as f:
				f.write("%d/%d" % (d, i))
	yield root
	shutil.rmtree(root)


@pytest.mark.slow
def test_a_hundred_thousand_files(many, h2d):
	server = h2d(root=many, sections="cache { compress = {} }")
	wait_for(lambda: cache(server)["entries"] == FOLDERS * 1000, 120, said="all of them")
	server.wait_settled(deadline=120)
	assert cached(server, "/d9/999.txt").body == b"9/999"
	image = server.status()["image"]
	with open("%s/d5/500.txt" % many, "w") as f:
		f.write("changed")
	wait_for(lambda: get(server, "/d5/500.txt").body == b"changed", said="the disk's answer")
	# Twenty times what an image of so many costs, and processors differ.
	server.wait_image(image, 120)
	assert cached(server, "/d5/500.txt").body == b"changed"
