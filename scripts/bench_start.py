"""scripts/bench --start: how soon h2d serves, and what many workers with one large image take of memory.

With 10 000 files of 4 KiB: milliseconds from the start of the program until one of them is answered with 200, and until the
image is there with all of them. With 200 MiB of files in the image and eight workers, each of which has served every file:
the proportional set size (PSS) of all processes, MiB.
"""
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench_measure import Env
from bench_report import number
from bench_servers import H2d, write

FILES, SIZE = 10000, 4096
IMAGE_FILES, IMAGE_SIZE, WORKERS = 1600, 128 << 10, 8
REQUEST = b"GET /%s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


class Fresh(H2d):
	"""Its log says when the image is there."""

	def commands(self):
		(argv,) = super().commands()
		with open(argv[-1]) as f:
			text = f.read()
		write(argv[-1], text.replace('log-level = "warn"', 'log-level = "info"'))
		return [argv]

	def answers(self, name):
		"""Whether this file comes now."""
		try:
			with socket.create_connection(("127.0.0.1", self.ports[False]), 1) as s:
				s.settimeout(5)
				s.sendall(REQUEST % name.encode())
				return s.recv(64).startswith(b"HTTP/1.1 200 ")
		except OSError:
			return False

	def has_image(self):
		with open(os.path.join(self.folder, "log")) as f:
			return "keeper: cache: " in f.read()

	def process(self):
		"""Started, and not waited for."""
		log = open(os.path.join(self.folder, "log"), "wb")
		self.procs = [subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=self.env.on_server_cpu)
			for argv in self.commands()]


def names(count):
	return ["%02d/%05d.bin" % (i % 100, i) for i in range(count)]


def make_tree(env, count, size):
	"""A root with so many files, which cannot be compressed."""
	env.root = os.path.join(env.work, "%d-files" % count)
	for i in range(100):
		os.makedirs(os.path.join(env.root, "%02d" % i))
	for name in names(count):
		with open(os.path.join(env.root, name), "wb") as f:
			f.write(os.urandom(size))


def until(what, seconds=60):
	"""Milliseconds from now on until it is so; None: it was not within these seconds."""
	begun = time.monotonic()
	while not what():
		if time.monotonic() > begun + seconds:
			return None
		time.sleep(0.001)
	return (time.monotonic() - begun) * 1e3


def start_times(env, name, program):
	server = type("H2d", (Fresh,), {"name": name})(env, program)
	try:
		begun = time.monotonic()
		server.process()
		answer = until(lambda: server.answers(names(FILES)[-1]))
		answer = answer and (time.monotonic() - begun) * 1e3
		image = until(server.has_image)
		return answer, image and (time.monotonic() - begun) * 1e3
	finally:
		server.stop()


def image_memory(env, name, program):
	"""MiB, once every worker has served every file."""
	server = type("H2d", (Fresh,), {"name": name, "workers": WORKERS})(env, program)
	try:
		server.process()
		if until(server.has_image) is None:
			sys.exit("%s: no image within a minute" % name)
		uris = write(os.path.join(env.work, "uris"), "".join("http://127.0.0.1:%d/%s\n" % (server.ports[False], n) for n in names(IMAGE_FILES)))
		clients = 16 * WORKERS  # the fewest of them that a worker gets ask for every file
		subprocess.run(["h2load", "-t1", "-c%d" % clients, "-m10", "-n%d" % (clients * IMAGE_FILES), "--input-file=" + uris],
			stdout=subprocess.DEVNULL, preexec_fn=env.on_client_cpu, check=True)
		return server.pss() / 1024
	finally:
		server.stop()


def table(found):
	rows = [("", "first answer ms", "spread", "image ms", "PSS of %d workers, MiB" % WORKERS)]
	for name, s in found.items():
		rows.append((name, number(s["answer_ms"], "%.0f"), "%.0f-%.0f" % (min(s["answers_ms"]), max(s["answers_ms"])),
			number(s["image_ms"], "%.0f"), number(s["pss_mib"], "%.0f")))
	width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
	return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
		for i, (cell, w) in enumerate(zip(row, width))) for row in rows)


def main(o):
	answers, images, memory = {}, {}, {}
	with tempfile.TemporaryDirectory(prefix="h2d-bench.") as work:
		env = Env(work)
		make_tree(env, FILES, SIZE)
		for i in range(o.rounds):
			for name, program in o.builds:
				answer, image = start_times(env, "%s-%d" % (name, i), program)
				if answer is None or image is None:
					sys.exit("%s does not come up" % name)
				answers.setdefault(name, []).append(answer)
				images.setdefault(name, []).append(image)
		make_tree(env, IMAGE_FILES, IMAGE_SIZE)
		for name, program in o.builds:
			memory[name] = image_memory(env, name, program)
	found = {name: {"answer_ms": statistics.median(answers[name]), "answers_ms": answers[name],
		"image_ms": statistics.median(images[name]), "pss_mib": memory[name]} for name, _ in o.builds}
	os.makedirs(o.out, exist_ok=True)
	with open(os.path.join(o.out, "start.json"), "w") as f:
		json.dump(found, f, indent=1)
	print(table(found))
