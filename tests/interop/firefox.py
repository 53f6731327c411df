"""Headless Firefox, driven by Marionette: lengths and JSON over TCP. It has what chromium.Browser has for open(), evaluate() and files."""
import contextlib
import json
import os
import signal
import socket
import subprocess

from procs import wait_for

PREFS = {
	"marionette.port": 0,  # any; the profile tells which
	"app.normandy.enabled": False,
	"app.update.disabledForTesting": True,
	"browser.shell.checkDefaultBrowser": False,
	"datareporting.policy.dataSubmissionEnabled": False,
	"dom.disable_beforeunload": True,  # nobody answers
	"dom.filesystem.pathcheck.disabled": True,  # for Directory
	"network.captive-portal-service.enabled": False,
	"network.connectivity-service.enabled": False,
	"toolkit.telemetry.enabled": False,
}


class Browser:
	"""One browser with a profile of its own in folder, and one page. It trusts each certificate. inside: its network namespace."""

	def __init__(self, program, folder, _, deadline, inside=None):
		self.folder, self.deadline, self.inside, self.number, self.buffer = folder, deadline, inside, 0, b""
		self.profile = os.path.join(folder, "profile")
		os.makedirs(self.profile)
		with open(os.path.join(self.profile, "user.js"), "w") as f:
			f.writelines("user_pref(%s, %s);\n" % (json.dumps(name), json.dumps(value)) for name, value in PREFS.items())
		command = [program, "--headless", "--marionette", "--remote-allow-system-access", "--profile", self.profile, "about:blank"]
		self.errors = open(os.path.join(folder, "stderr"), "wb+")
		self.process = subprocess.Popen(inside.command(*command) if inside else command, stdin=subprocess.DEVNULL, stdout=self.errors,
			stderr=self.errors, start_new_session=True, env=dict(os.environ, HOME=folder, XDG_CACHE_HOME=folder, TMPDIR=folder))
		self.socket = None

	def __enter__(self):
		try:
			wait_for(self.port, said="Firefox listens")
			self.socket = self.inside.call(self.connect) if self.inside else self.connect()
			self.read()
			self.call("WebDriver:NewSession", acceptInsecureCerts=True)
			self.call("WebDriver:SetTimeouts", script=1000 * self.deadline, pageLoad=1000 * self.deadline)
		except BaseException:
			self.close()
			raise
		return self

	def __exit__(self, *_):
		self.close()

	def close(self):
		with contextlib.suppress(ProcessLookupError):
			os.killpg(self.process.pid, signal.SIGKILL)
		self.process.wait()
		if self.socket:
			self.socket.close()
		self.errors.close()

	def port(self):
		with contextlib.suppress(OSError, ValueError), open(os.path.join(self.profile, "MarionetteActivePort")) as f:
			return int(f.read())

	def connect(self):
		return socket.create_connection(("127.0.0.1", self.port()), self.deadline)

	def read(self):
		while b":" not in self.buffer or len(self.buffer) < self.length():
			data = self.socket.recv(1 << 20)
			assert data, "Firefox is gone"
			self.buffer += data
		text, self.buffer = self.buffer[:self.length()], self.buffer[self.length():]
		return json.loads(text.partition(b":")[2])

	def length(self):
		number = self.buffer.partition(b":")[0]
		return len(number) + 1 + int(number)

	def call(self, method, **parameters):
		self.number += 1
		text = json.dumps([0, self.number, method, parameters]).encode()
		self.socket.sendall(b"%d:%s" % (len(text), text))
		_, number, error, result = self.read()
		assert number == self.number and not error, (method, error)
		return result

	def evaluate(self, expression, *args, **options):
		"""The value of a JavaScript expression, awaited."""
		return self.call("WebDriver:ExecuteScript", script="return (%s)" % expression, args=list(args), **options)["value"]

	def open(self, url):
		self.call("WebDriver:Navigate", url=url)

	def choose_files(self, selector, paths):
		"""As a person does it with <input type=file>."""
		element = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
		if os.path.isdir(paths[0]):
			self.evaluate("new Directory(arguments[1]).getFiles(true).then(files => arguments[0].mozSetFileArray(files))", element,
				str(paths[0]), sandbox="system")
		else:
			self.call("WebDriver:ElementSendKeys", id=list(element.values())[0], text="\n".join(map(str, paths)))
