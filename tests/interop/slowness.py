"""A machine that has a share of a processor's time, by the quota of a control group, of version 1 or 2."""
import os

import control_group
import procs

PERIOD = 100000  # microseconds


class Quota:
	"""None of it before limit()."""

	def __init__(self):
		made = control_group.make("h2d-trio-%d" % os.getpid(), ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"),
			("/sys/fs/cgroup", "cpu.max"))
		self.path, self.limit_path = made or (None, None)

	def limit(self, pids, percent):
		"""percent of one processor for all of these."""
		self.say(str(PERIOD * percent // 100))
		for pid in pids:
			with open(os.path.join(self.path, "cgroup.procs"), "w") as f:
				f.write(str(pid))

	def lift(self):
		self.say("max" if self.limit_path.endswith("max") else "-1")

	def say(self, quota):
		with open(self.limit_path, "w") as f:
			f.write(quota if not self.limit_path.endswith("max") else "%s %d" % (quota, PERIOD))

	def close(self):
		"""Once everybody who was in it is gone."""
		def removed():
			try:
				os.rmdir(self.path)
			except OSError:
				return False
			return True
		if self.path:
			procs.wait_for(removed, said="everybody has left the control group")
