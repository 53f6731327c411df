"""A FUSE file system that takes any case of a name, and short names as vfat has them (HTPASS~1 for .htpasswd).

Usage: foldfs.py MOUNTPOINT. Says "ready" on standard output, and lists its names as they are in TREE.
"""
import errno
import os
import stat
import sys

TREE = {"secret": {"page.html": "secret page"}, "secret.html": "secret", "open": {"page.html": "open page"},
	".htpasswd": "hidden", "till~de.txt": "a name of its own"}


def short(name):
	return name.lstrip(".").replace("~", "")[:6] + "~1"


def find(path):
	"""What path leads to, by whatever spelling; None: there is nothing."""
	here = TREE
	for segment in path.split("/"):
		if segment:
			found = [name for name in here if segment.lower() in (name.lower(), short(name).lower())]
			if not found or not isinstance(here, dict):
				return None
			here = here[found[0]]
	return here


def entry(path):
	"""The directory that path is in, and its name there; as path has it, if there is none."""
	above, _, name = path.rpartition("/")
	above = find(above)
	return above, ([there for there in above if name.lower() in (there.lower(), short(there).lower())] or [name])[0]


def main():
	import fusepy as fuse

	class FoldFs(fuse.Operations):
		def init(self, path):
			print("ready", flush=True)

		def getattr(self, path, fh=None):
			found = find(path)
			if found is None:
				raise fuse.FuseOSError(errno.ENOENT)
			if isinstance(found, dict):
				return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
			return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": len(found),
				"st_mtime": 1e9,
				"st_ctime": 1e9}

		def readdir(self, path, fh):
			return [".", "..", *find(path)]

		def create(self, path, mode, fi=None):
			above, name = entry(path)
			above[name] = bytearray()
			return 0

		def write(self, path, data, offset, fh):
			find(path)[offset:offset + len(data)] = data
			return len(data)

		def truncate(self, path, length, fh=None):
			del find(path)[length:]

		def link(self, target, source):
			above, name = entry(target)
			above[name] = find(source)

		def rename(self, old, new):
			above, name = entry(old)
			target, target_name = entry(new)
			target[target_name] = above.pop(name)

		def unlink(self, path):
			above, name = entry(path)
			del above[name]

		def read(self, path, size, offset, fh):
			content = find(path)
			return bytes(content.encode() if isinstance(content, str) else content)[offset:offset + size]

	# The kernel would go on to find what was removed by another spelling.
	fuse.FUSE(FoldFs(), sys.argv[1], foreground=True, allow_other=os.geteuid() == 0, entry_timeout=0, attr_timeout=0)


if __name__ == "__main__":
	main()
