"""In a control group with little memory: what the cache takes there."""
import os
import re
import subprocess

import pytest

import control_group
import harness
import procs

MB = 1 << 20


def folder_of_groups():
	"""Where groups with a limit of memory can be made, and what the limit is called: of version 1 or 2."""
	made = control_group.make("h2d-test-%d" % os.getpid(), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
		("/sys/fs/cgroup", "memory.max"))
	if made is not None:
		return made[0], os.path.basename(made[1])
	harness.skip_without("memory-groups", "no control group with a limit of memory can be made")


def removed(path):
	"""Whether a group is no more: who leaves it is in it for a moment after its list is empty."""
	try:
		os.rmdir(path)
	except OSError:
		return False
	return True


@pytest.fixture
def group():
	"""group(bytes): makes it; its folder. Who is in it when the test ends is moved out."""
	made = []

	def make(size):
		path, limit = folder_of_groups()
		made.append(path)
		with open(os.path.join(path, limit), "w") as f:
			f.write(str(size))
		return path
	yield make
	for path in made:
		procs.wait_for(lambda: removed(path), said="everybody has left")


def enter(path):
	with open(os.path.join(path, "cgroup.procs"), "w") as f:
		f.write(str(os.getpid()))


def kills(path):
	for name in ("memory.oom_control", "memory.events"):
		if os.path.exists(os.path.join(path, name)):
			with open(os.path.join(path, name)) as f:
				return int(re.search(r"^oom_kill (\d+)$", f.read(), re.M).group(1))


def many(n):
	"""So many files of a megabyte that compress to nothing less."""
	return {"%d.bin" % i: os.urandom(MB) for i in range(n)}


def test_the_cache_takes_a_quarter(group, h2d):
	"""The default, 256 MB, would have the kernel kill the keeper again and again. A value that somebody chose is warned of."""
	path = group(128 * MB)
	server = h2d.new(files=many(160), preexec=lambda: enter(path))
	server.start()
	server.wait_image()
	server.log.wait(" notice .* max-size: the cache is limited to 32 MiB, a quarter of the memory here \\(128 MiB\\)")
	assert 0 < server.status()["image"] and kills(path) == 0

	def said():
		return subprocess.run(server.command("-t", "-f", server.conf_path), stderr=subprocess.PIPE, text=True,
			preexec_fn=lambda: enter(path), check=True).stderr
	assert "max-size" not in said()
	server.put_conf('cache { max-size = "64M" }\n' + server.conf_text)
	assert "h2d.conf:1: warning: max-size: the cache is limited to 32 MiB" in said()
	server.quit()


def test_whom_the_kernel_ends_first(h2d):
	"""The keeper, then workers and the acceptor, the master last; beside what h2d itself was started with."""
	server = h2d(image=True, dispatch="acceptor", preexec=lambda: open("/proc/self/oom_score_adj", "w").write("10"))
	def score(pid):
		with open("/proc/%d/oom_score_adj" % pid) as f:
			return int(f.read())
	assert [score(pid) for pid in (server.pid, server.worker_pids()[0], server.acceptor(), server.keeper())] == [
		10, 60, 60, 210]
