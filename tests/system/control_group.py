"""A control group of version 1 or 2, for what a test limits."""
import os


def make(name, *limits):
	"""limits: folder and file of each version. Path of the new group and of the file, or None if no group has one."""
	for top, limit in limits:
		path = os.path.join(top, name)
		try:
			os.mkdir(path)
		except OSError:
			continue
		if os.access(os.path.join(path, limit), os.W_OK):
			return path, os.path.join(path, limit)
		os.rmdir(path)
	return None
