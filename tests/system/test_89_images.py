"""The Dockerfiles, step by step in debootstrap's roots (image_root.py): what they build starts, and serves.

They take the network and minutes, so they run by H2D_IMAGES=1, or by H2D_IMAGES=FOLDER, which keeps the base; always: which
steps there are.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess

import image_root
import procs

TOP = image_root.TOP
PACKAGING = os.path.join(TOP, "packaging", "Dockerfile")
ARENA = os.path.join(TOP, "examples", "arena", "Dockerfile")
WANTED = os.environ.get("H2D_IMAGES", "")


@contextlib.contextmanager
def built(dockerfile, tmp_path, **arguments):
	base = image_root.make_base(WANTED if "/" in WANTED else str(tmp_path / "base"))
	with image_root.built(dockerfile, str(tmp_path), base, **arguments) as stage:
		yield stage


@contextlib.contextmanager
def running(stage):
	"""What the image starts, with a network of its own; it ends by the image's signal. Gives curl in that network."""
	with open(os.path.join(os.path.dirname(stage.root), "log"), "w+") as log:
		process = subprocess.Popen(stage.argv(*stage.command, user=stage.user, namespaces=("-m", "-p", "-n", "-i", "-u")),
			stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

		def first():
			assert process.poll() is None, open(log.name).read()
			with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as f:
				return (f.read().split() or ["0"])[0]

		def curl(*arguments):
			return subprocess.run(["nsenter", "-t", first(), "-n", "--", "curl", "-sS", "-k", *arguments], stdout=subprocess.PIPE,
				stderr=subprocess.PIPE, text=True).stdout
		try:
			yield curl
			os.kill(int(first()), signal.SIGQUIT)
			assert process.wait(4 * procs.DEADLINE) == 0, open(log.name).read()
		finally:
			process.kill()
			process.wait()


def version(stage):
	return stage.run("h2d -V")


def is_release(said):
	return bool(re.search(r"^nghttp2 \S+ \(compiled in, from \S+\)$", said, re.M) and re.search("^profile ", said, re.M))


def serves(tmp_path, release):
	with built(PACKAGING, tmp_path, RELEASE=release) as image:
		assert image.user == "h2d" and image.command == ["container-start"]
		said = version(image)
		assert is_release(said) == (release == "yes"), said
		print(said)
		with open(image.path("/srv/www/index.html"), "w") as f:
			f.write("hello from an image\n")
		with running(image) as curl:
			procs.wait_for(lambda: curl("http://127.0.0.1:8080/") == "hello from an image\n", 120, said="it serves")
			assert curl("--http2-prior-knowledge", "http://127.0.0.1:8080/") == "hello from an image\n"
			assert curl("-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:9180/healthz") == "200"


def the_image(tmp_path):
	serves(tmp_path, "no")


def the_image_of_a_release_build(tmp_path):
	serves(tmp_path, "yes")


def the_entry_in_the_arena(tmp_path, cert):
	with built(ARENA, tmp_path) as image:
		said = version(image)
		assert is_release(said), said
		print(said)
		os.makedirs(image.path("/data/static"))
		with open(image.path("/data/static/app.js"), "w") as f:
			f.write("let a\n")
		with open(image.path("/data/dataset.json"), "w") as f:
			f.write('[{"id": 1, "price": 3, "quantity": 2}]')
		os.mkdir(image.path("/certs"))
		shutil.copy(cert.cert, image.path("/certs/server.crt"))
		shutil.copy(cert.key, image.path("/certs/server.key"))
		with running(image) as curl:
			procs.wait_for(lambda: curl("http://127.0.0.1:8080/pipeline") == "ok", 120, said="it serves")
			assert curl("--http2-prior-knowledge", "http://127.0.0.1:8082/baseline2?a=1&b=1") == "2"
			assert curl("--http2", "https://127.0.0.1:8443/static/app.js") == "let a\n"
			assert '"total":12' in curl("https://127.0.0.1:8081/json/1?m=2").replace(" ", "")


if WANTED:
	test_the_image, test_the_image_of_a_release_build, test_the_entry_in_the_arena = (
		the_image, the_image_of_a_release_build, the_entry_in_the_arena)


def test_each_step_is_understood():
	for path in (PACKAGING, ARENA):
		words = [word for word, _ in image_root.instructions(path)]
		assert words.count("FROM") == 2 and not set(words) - image_root.KNOWN, words
