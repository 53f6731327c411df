"""Builds Go programs once, from what tests/conformance/go.mod pins, or from Debian's packages of Go, in a folder that go
may write into."""
import fcntl
import os
import shutil
import subprocess

PACKAGES = "/usr/share/gocode"  # of Debian
MODULE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conformance")


def copy(source, place):
	"""Whether it was another one before."""
	with open(source) as f:
		text = f.read()
	if os.path.exists(place):
		with open(place) as f:
			if f.read() == text:
				return False
	with open(place, "w") as f:
		f.write(text)
	return True


def build(folder, name, package, sources, debian=False):
	"""The program name, made of package ("." is the sources themselves) in folder/name/; debian: of its packages alone."""
	folder = os.path.join(folder, name)
	program = os.path.join(folder, name)
	os.makedirs(folder, exist_ok=True)
	with open(os.path.join(folder, ".lock"), "w") as lock:
		fcntl.flock(lock, fcntl.LOCK_EX)  # several processes may test at once
		return build_locked(folder, program, package, sources, debian)


def build_locked(folder, program, package, sources, debian):
	sources = sources if debian else [os.path.join(MODULE, f) for f in ("go.mod", "go.sum")] + sources
	where = {"GO111MODULE": "off", "GOPATH": PACKAGES, "GOFLAGS": ""} if debian else {"GO111MODULE": "on", "GOFLAGS": "-mod=mod"}
	changed = [copy(source, os.path.join(folder, os.path.basename(source))) for source in sources]
	if any(changed) or not os.path.exists(program):
		go = "/usr/bin/go" if os.path.exists("/usr/bin/go") else shutil.which("go")
		assert go, "go is missing (Debian: golang-go)"
		done = subprocess.run([go, "build", "-o", program, package], cwd=folder,
			stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
			env=dict(os.environ, GOTOOLCHAIN="local", CGO_ENABLED="0", **where))
		assert done.returncode == 0, done.stdout
	return program
