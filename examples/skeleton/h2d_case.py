"""A test case with an h2d of its own: the program that the environment variable H2D names."""
import http.client
import os
import re
import subprocess
import tempfile
import unittest


class H2dCase(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		cls.root = tempfile.TemporaryDirectory()
		user = ["-u", "root"] if os.geteuid() == 0 else []
		cls.h2d = subprocess.Popen([os.environ["H2D"], "-r", cls.root.name, "-p", "0", "--h2c", "-n", "1", *user],
			stderr=subprocess.PIPE, text=True)
		for line in cls.h2d.stderr:
			listening = re.search(r"listening on \S+:(\d+)", line)
			if listening:
				cls.port = int(listening.group(1))
			if "serving" in line:
				return
		raise RuntimeError("h2d did not start")

	@classmethod
	def tearDownClass(cls):
		cls.h2d.terminate()
		cls.h2d.communicate()
		cls.root.cleanup()

	def ask(self, method, path, body=None):
		"""The status of the answer, and its content."""
		connection = http.client.HTTPConnection("localhost", self.port, timeout=60)
		try:
			connection.request(method, path, body)
			answer = connection.getresponse()
			return answer.status, answer.read()
		finally:
			connection.close()
