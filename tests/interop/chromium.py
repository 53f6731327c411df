"""Headless Chromium, driven by the DevTools protocol over a pair of pipes (descriptors 3 and 4)."""
import base64
import contextlib
import hashlib
import json
import os
import select
import signal
import subprocess
import time

FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
	"--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--disable-background-networking",
	"--disable-component-update", "--disable-default-apps", "--disable-domain-reliability",
	"--disable-extensions", "--disable-sync", "--metrics-recording-only", "--mute-audio",
	"--password-store=basic", "--use-mock-keychain", "--autoplay-policy=no-user-gesture-required", "--window-size=1000,4000"]


def key_hash(certificate):
	"""What --ignore-certificate-errors-spki-list wants; --ignore-certificate-errors would stop caching."""
	key = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"],
		stdout=subprocess.PIPE, check=True).stdout
	der = base64.b64decode(b"".join(key.split(b"\n")[1:-2]))
	return base64.b64encode(hashlib.sha256(der).digest()).decode()


class Browser:
	"""
	One browser with a profile of its own in folder, and one page. It trusts certificate (a file) for
	every name. Events are kept in events. inside: its network namespace.
	"""

	def __init__(self, program, folder, certificate, deadline, inside=None):
		self.end = time.monotonic() + deadline
		self.buffer, self.number, self.events, self.answers = b"", 0, [], {}
		self.errors = open(os.path.join(folder, "stderr"), "wb+")
		sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
		their_in, self.out = os.pipe()
		self.inp, their_out = os.pipe()
		# The shell puts the pipes where the browser looks for them.
		shell = 'exec 3<&%d 4>&%d; exec "$@"' % (their_in, their_out)
		command = [program, *FLAGS, *sandbox, "--ignore-certificate-errors-spki-list=" + key_hash(certificate),
			"--user-data-dir=" + os.path.join(folder, "profile"), "about:blank"]
		self.process = subprocess.Popen(["/bin/bash", "-c", shell, "sh", *(inside.command(*command) if inside else command)], stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors,
			pass_fds=(their_in, their_out), start_new_session=True,
			env=dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder))
		os.close(their_in)
		os.close(their_out)
		self.session = None

	def attach(self, target):
		"""From now on calls are that page's."""
		self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
		for domain in ("Page", "Runtime", "Log", "Network"):
			self.call(domain + ".enable")

	@contextlib.contextmanager
	def tab(self):
		"""Another page of this browser, for the calls in this block."""
		first, self.session = self.session, None
		target = self.call("Target.createTarget", url="about:blank")["targetId"]
		self.attach(target)
		yield
		self.session = None
		self.call("Target.closeTarget", targetId=target)
		self.session = first

	def __enter__(self):
		try:
			pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
			self.attach(pages[0]["targetId"] if pages else self.call("Target.createTarget", url="about:blank")["targetId"])
		except BaseException:
			self.close()
			raise
		return self

	def __exit__(self, *_):
		self.close()

	def close(self):
		os.close(self.out)
		try:
			# The end of its pipe tells it to leave.
			self.process.wait(5)
		except subprocess.TimeoutExpired:
			pass
		try:
			os.killpg(self.process.pid, signal.SIGKILL)
		except ProcessLookupError:
			pass
		self.process.wait()
		os.close(self.inp)
		self.errors.close()

	def said(self):
		self.errors.seek(0)
		return self.errors.read().decode("utf-8", "replace")[-3000:]

	def read(self):
		"""One message; an event is kept, an answer put where call() looks."""
		while b"\0" not in self.buffer:
			left = self.end - time.monotonic()
			assert left > 0, "Chromium takes too long; it said:\n" + self.said()
			if not select.select([self.inp], [], [], left)[0]:
				continue
			data = os.read(self.inp, 1 << 20)
			assert data, "Chromium is gone; it said:\n" + self.said()
			self.buffer += data
		text, _, self.buffer = self.buffer.partition(b"\0")
		message = json.loads(text)
		if "id" in message:
			self.answers[message["id"]] = message
		else:
			self.events.append((message["method"], message["params"]))

	def call(self, method, **parameters):
		self.number += 1
		message = {"id": self.number, "method": method, "params": parameters}
		if self.session:
			message["sessionId"] = self.session
		data = json.dumps(message).encode() + b"\0"
		while data:
			data = data[os.write(self.out, data):]
		while self.number not in self.answers:
			self.read()
		answer = self.answers.pop(self.number)
		assert "error" not in answer, (method, answer["error"])
		return answer["result"]

	def evaluate(self, expression):
		"""The value of a JavaScript expression, awaited."""
		done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
			returnByValue=True)
		assert "exceptionDetails" not in done, done["exceptionDetails"]
		return done["result"].get("value")

	@contextlib.contextmanager
	def loading(self):
		"""What is done in this block opens a page: waits for its load event."""
		before = len(self.events)
		yield
		while not any(name == "Page.loadEventFired" for name, _ in self.events[before:]):
			self.read()

	def open(self, url):
		before = len(self.events)
		done = self.call("Page.navigate", url=url)
		assert "errorText" not in done, done
		while not self.has_loaded(done["loaderId"], before):
			self.read()

	def has_loaded(self, loader, before):
		"""Whether that page has: the event of the one that was left may come late."""
		there = False
		for name, parameters in self.events[before:]:
			there = there or name == "Page.frameNavigated" and parameters["frame"]["loaderId"] == loader
			if there and name == "Page.loadEventFired":
				return True
		return False

	def choose_files(self, selector, paths):
		"""As a person does it with <input type=file>."""
		document = self.call("DOM.getDocument")["root"]["nodeId"]
		node = self.call("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
		self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

	def of(self, name):
		return [parameters for event, parameters in self.events if event == name]

	def console_errors(self):
		"""What its console shows in red, or yellow."""
		found = [e["entry"]["text"] + " " + e["entry"].get("url", "") for e in self.of("Log.entryAdded")
			if e["entry"]["level"] in ("error", "warning")]
		found += [str(e["args"]) for e in self.of("Runtime.consoleAPICalled")
			if e["type"] in ("error", "warning", "assert")]
		found += [str(e["exceptionDetails"]) for e in self.of("Runtime.exceptionThrown")]
		found += ["%(errorText)s: %(type)s" % e for e in self.of("Network.loadingFailed")
			if not e.get("canceled")]
		return found
