"""A disk of a test's own: a file with ext4 in it, which can be stopped as a power cut stops it, or stand still."""
import fcntl
import os
import subprocess

import harness
import procs

# _IOR('X', 125, __u32), and EXT4_GOING_FLAGS_NOLOGFLUSH: fs/ext4/ext4.h.
SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
NOLOGFLUSH = (2).to_bytes(4, "little")
# _IOWR('X', 119 and 120, int): linux/fs.h.
FREEZE, THAW = (3 << 30 | 4 << 16 | ord("X") << 8 | n for n in (119, 120))
# Nothing goes to the disk early: neither by the journal's own clock nor because a name is replaced.
OPTIONS = "loop,commit=600,noauto_da_alloc"


class Disk:
	def __init__(self, image, path, size):
		self.image, self.path = str(image), path
		with open(image, "wb") as f:
			f.truncate(size)
		subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
		self.mount()
		os.chmod(path, 0o777)
		os.rmdir(os.path.join(path, "lost+found"))
		os.sync()

	def mount(self):
		done = subprocess.run(["mount", "-o", OPTIONS, self.image, self.path], stderr=subprocess.PIPE, text=True)
		if done.returncode:
			harness.skip_without("loop", done.stderr.strip())

	def _control(self, request, argument=0):
		opened = os.open(self.path, os.O_RDONLY)
		try:
			fcntl.ioctl(opened, request, argument)
		finally:
			os.close(opened)

	def cut(self):
		"""What is not in the journal is lost, and from now on everything fails."""
		self._control(SHUTDOWN, NOLOGFLUSH)

	def come_back(self):
		"""Once the last process that has a file of it is gone."""
		def unmounted():
			return subprocess.run(["umount", self.path], stderr=subprocess.PIPE, text=True).returncode == 0
		procs.wait_for(unmounted, said="the disk is not in use")
		self.mount()

	def freeze(self):
		"""Whoever writes waits until thaw()."""
		self._control(FREEZE)

	def thaw(self):
		self._control(THAW)

	def close(self):
		subprocess.run(["umount", "-l", self.path], check=True)
