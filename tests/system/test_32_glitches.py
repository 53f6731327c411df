"""HTTP/2: acts of a client that cost work and do none are on one account (limits.glitches), and none goes on for ever."""
import time

import hyperframe.frame as hf
import pytest

from glitches import PRICES, Acts

MOST = 5000
CALM = 11
UPLOADS = 'upload-dir = "up"  upload-public = true\n'


@pytest.fixture
def site(h2d):
	# With the image each request is answered at once: what waits for threads adds up to more streams than there may be.
	return h2d(image=True, server=UPLOADS + 'location "/many" { autoindex = true }', files={
		"up/.keep": "",
		"index.html": "home", "long.bin": "x" * (1 << 20), **{"many/%d" % i: "x" for i in range(50)}})


@pytest.mark.parametrize("name", PRICES)
def test_none_goes_on_for_ever(site, name):
	"""Cut when it has cost all the credit there is: by then no more was done than that and the time pay for."""
	floods = site.status()["totals"]["floods"]
	begun, n, batch = time.monotonic(), 0, 1000 // PRICES[name]
	with site.raw("tcp", settings={hf.SettingsFrame.INITIAL_WINDOW_SIZE: 1} if name == "one_byte_windows" else None) as raw:
		act = getattr(Acts(raw), name)
		going = True
		while going:
			frames = [f for i in range(n, n + batch) for f in act(i)] + [hf.PingFrame(0, b"barrier!")]
			going = raw.try_send(b"".join(f.serialize() for f in frames)) and raw.until(
				lambda f: isinstance(f, hf.PingFrame) and "ACK" in f.flags)
			n += batch
			bound = (MOST + MOST / 5 * (time.monotonic() - begun)) / PRICES[name]
			assert not going or n <= bound + 2 * batch, "%d acts, and no end" % n
		ends = [f.error_code for f in raw.frames if isinstance(f, hf.GoAwayFrame)]
	assert ends and ends[-1] == CALM, ends
	assert site.status()["totals"]["floods"] == floods + 1


def go_on(raw):
	assert raw.ping(), [f for f in raw.frames if isinstance(f, hf.GoAwayFrame)]


def test_a_download_in_small_steps(site):
	"""A client that opens both windows for every frame that it gets is an honest one."""
	for _ in range(8):
		with site.raw("tcp") as raw:
			raw.send(raw.headers(1, raw.head("/long.bin")))
			got = 0
			while got < 1 << 20:
				frame = raw.until_type(hf.DataFrame)
				got += len(frame.data)
				half = len(frame.data) // 2
				raw.send(*(hf.WindowUpdateFrame(stream, window_increment=n) for stream in (0, 1)
					for n in (half, len(frame.data) - half)))
			go_on(raw)


def test_an_upload_in_small_pieces(site):
	with site.raw("tcp") as raw:
		raw.send(raw.headers(1, raw.head("/files/log", "PUT"), end_stream=False))
		for _ in range(100):
			raw.send(*(hf.DataFrame(1, b"a line of a log, as it is written: 40 B.\n") for _ in range(200)))
			go_on(raw)


def test_a_padded_upload(site):
	with site.raw("tcp") as raw:
		raw.send(raw.headers(1, raw.head("/files/padded", "PUT"), end_stream=False))
		for _ in range(100):
			raw.send(*(hf.DataFrame(1, b"x" * 32, pad_length=60, flags=["PADDED"]) for _ in range(80)))
			go_on(raw)


def test_long_cookies(site):
	"""They are sent once, and are one byte from then on."""
	with site.raw("tcp") as raw:
		for n in range(1, 4001, 40):
			raw.send(*(raw.headers(i, raw.head(extra=[("cookie", "c" * 3900)])) for i in range(n, n + 40, 2)))
			go_on(raw)


def test_the_key(h2d):
	server = h2d(sections="limits { glitches = 100 }")
	with server.raw("tcp") as raw:
		raw.send(*(hf.PingFrame(0, b"12345678") for _ in range(40)))
		goaway = raw.goaway()
	assert goaway.error_code == CALM
	server.log.wait("too many useless frames")
