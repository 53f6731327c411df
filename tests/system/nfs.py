"""Machines that share a file system as clients of NFS do: nfsfs.c, mounted once for each, and an h2d on each mount."""
import os
import struct
import subprocess

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "nfsfs"
SOURCES = [os.path.join(HERE, name) for name in ("nfsfs.c", "nfsfs_client.c", "nfsfs.h", "nfsfs.def")]


def build(folder):
	"""The program, in folder, made anew if its sources are newer; several processes may build at once."""
	program = os.path.join(folder, NAME)
	if os.path.exists(program) and os.path.getmtime(program) > max(map(os.path.getmtime, SOURCES)):
		return program
	flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], stdout=subprocess.PIPE, text=True, check=True)
	made = "%s.%d" % (program, os.getpid())
	subprocess.run(["cc", "-O1", "-g", "-Wall", "-Wextra", "-o", made, *SOURCES[:2], *flags.stdout.split()], check=True)
	os.rename(made, program)
	return program


class Export:
	"""A folder, and where it is mounted."""

	def __init__(self, program, folder, mountpoints):
		if not os.path.exists("/dev/fuse"):
			harness.skip_without("fuse", "no /dev/fuse")
		self.folder, self.mountpoints = folder, mountpoints
		for path in (folder, *mountpoints):
			os.makedirs(path, exist_ok=True)
		self.process = subprocess.Popen([program, folder, *mountpoints], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
			stderr=subprocess.PIPE, text=True)
		if self.process.stdout.readline() != "ready\n":
			why = self.process.communicate()[1].strip().split("\n")[-1]
			self.unmount()
			harness.skip_without("fuse", why)

	def order(self, text):
		"""One of nfsfs.c's."""
		self.process.stdin.write(text + "\n")
		self.process.stdin.flush()
		assert self.process.stdout.readline() == "ok\n"

	def age(self):
		"""From now on nothing of what a machine has cached is believed."""
		self.order("age")

	def unmount(self):
		for path in self.mountpoints:
			for how in (["umount", "-l"], ["fusermount3", "-u", "-z"]):
				subprocess.run([*how, path], stderr=subprocess.DEVNULL)

	def close(self):
		"""It has said nothing of what it could not do."""
		self.process.stdin.close()
		said = [line for line in self.process.stderr if line.startswith("nfsfs:")]
		self.process.wait(60)
		self.unmount()
		assert not said, said


def held(folder):
	"""(of files, of what is being received), as the folder's sum has it; (0, 0): there is none."""
	try:
		with open(os.path.join(folder, ".h2d-quota"), "rb") as f:
			return struct.unpack("QQQ", f.read(24))[1:]
	except (OSError, struct.error):
		return 0, 0
