"""A FUSE file system whose reads, opens or look-ups of some names wait until they are told to go on.

Usage: slowfs.py MOUNTPOINT. Holds "read-N" at read, "open-N" at open, "look-N" at look-up, the directory
"list-N" when its names are read, "free-N" when its room is asked for; every file has the content of content(name). Says "ready", then "held NAME" for each call held back, on standard output;
takes "release" (let all go, now and in future) and "hold" on standard input; end of input releases.
"""
import errno
import os
import stat
import sys
import threading


def content(name):
	return (name * 1000).encode()[:200000].ljust(200000, b".")


def main():
	import fusepy as fuse

	class SlowFs(fuse.Operations):
		def __init__(self):
			self.gate = threading.Event()
			self.printing = threading.Lock()

		def say(self, text):
			with self.printing:
				print(text, flush=True)

		def hold(self, kind, path):
			if path.startswith("/%s-" % kind) and not self.gate.is_set():
				self.say("held " + path[1:])
				self.gate.wait()

		def commands(self):
			for line in sys.stdin:
				if line.strip() == "release":
					self.gate.set()
				elif line.strip() == "hold":
					self.gate.clear()
			self.gate.set()

		def init(self, path):
			threading.Thread(target=self.commands, daemon=True).start()
			self.say("ready")

		def getattr(self, path, fh=None):
			if path == "/":
				return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
			if path.startswith(("/list-", "/free-")) and path.count("/") == 1:
				return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
			if not path.startswith(("/read-", "/open-", "/look-", "/fast-")):
				raise fuse.FuseOSError(errno.ENOENT)
			self.hold("look", path)
			return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": 200000,
				"st_mtime": 1e9,
				"st_ctime": 1e9}

		def readdir(self, path, fh):
			self.hold("list", path)
			return [".", ".."]  # the keeper finds nothing here: only requests ask

		def statfs(self, path):
			self.hold("free", path)
			return {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 1 << 20, "f_bfree": 1 << 20, "f_bavail": 1 << 20}

		def open(self, path, flags):
			self.hold("open", path)
			return 0

		def read(self, path, size, offset, fh):
			self.hold("read", path)
			return content(path[1:])[offset:offset + size]

	fuse.FUSE(SlowFs(), sys.argv[1], foreground=True, nothreads=False, direct_io=False,
		allow_other=os.geteuid() == 0, attr_timeout=0, entry_timeout=0)


if __name__ == "__main__":
	main()
