"""examples/README.md tells the truth: its configuration is one, and its commands say what stands behind them."""
import pathlib
import re
import subprocess

import procs
from server import H2D, with_user

TOP = pathlib.Path(__file__).resolve().parents[2]
TEXT = (TOP / "examples" / "README.md").read_text()
HANDLERS = pathlib.Path(H2D).parent.parent / "tests" / "handlers" / "h2d_handlers"
PATIENT = 60


def commands(text):
	"""(command, what it says)"""
	return [(command, said) for command, said in re.findall(r"^    (.*?)(?:  # (.*))?$", text, re.M)]


class Listener:
	"""A command that ends with "&": once it has said something, what follows may begin."""

	def __init__(self, command, folder):
		self.process = subprocess.Popen(["bash", "-c", "exec " + command.rstrip("& ")], cwd=folder,
			stdout=subprocess.PIPE, text=True)
		self.process.stdout.readline()

	def hears(self, said):
		return any(line.strip() == said for line in self.process.stdout)

	def close(self):
		self.process.kill()
		self.process.communicate()


def run(told, folder):
	"""Runs them in their order."""
	listeners = []
	try:
		for command, said in told:
			if command.endswith("&"):
				listeners.append((Listener(command, folder), said))
				continue
			done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=PATIENT)
			assert done.returncode == 0 and said in done.stdout, (command, done)
		assert all(listener.hears(said) for listener, said in listeners)
	finally:
		for listener, _ in listeners:
			listener.close()


def test_the_examples(tmp_path):
	setup, rest = TEXT.split("```\n", 1)
	conf, rest = rest.split("```\n", 1)
	port = procs.free_port()
	run(commands(setup), tmp_path)
	(tmp_path / "h2d.conf").write_text(with_user(conf.replace(":8080", ":%d" % port).replace('"site"', '"%s"' % (TOP / "site"))))
	server = subprocess.Popen([HANDLERS, "-f", "h2d.conf"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
	try:
		assert any("serving" in line for line in server.stderr)
		told = [(command.replace(":8080/", ":%d/" % port), said) for command, said in commands(rest)]
		assert len(told) >= 9
		run(told, tmp_path)
	finally:
		server.terminate()
		server.communicate(timeout=PATIENT)
	assert server.returncode == 0


def test_each_example_is_told():
	"""Ten lines each, or fewer."""
	for section in re.split(r"^## ", TEXT, flags=re.M)[1:]:
		name = section.split("\n", 1)[0]
		assert (TOP / "examples" / (name + ".c")).exists(), name
		assert len([line for line in section.split("\n")[1:] if line]) <= 10, name
