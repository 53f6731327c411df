"""The files that every client fetches, those it uploads, and how a program of a name is found and run."""
import os
import shutil
import subprocess

import pytest

# Sun, 09 Sep 2001 01:46:40 GMT, and a day before and after it.
MODIFIED = 1000000000

FILES = {
	"body": os.urandom(1 << 16) * 50,  # past max-file-size: read from disk
	"small": b"s" * 612,
	"text.html": b"<!doctype html><title>text</title>\n" + b"<p>It was the best of times.</p>\n" * 1000,
	"empty": b"",
	"index.html": b'<!doctype html><title>index</title><a href="text.html">text</a> '
		b'<a href="dir">dir</a> <a href="body">body</a>\n',
	"dir/index.html": b"<!doctype html><title>dir</title>\n",
}

# Names that clients write into forms and paths in ways of their own.
UPLOADS = {
	"large.bin": os.urandom(3000001),
	"empty": b"",
	'tw"o %25 ü.txt': b"\r\n--not a boundary\r\n" * 100,
}


def put_uploads(folder):
	"""Writes them there for a client; their paths."""
	for name, data in UPLOADS.items():
		(folder / name).write_bytes(data)
	return [folder / name for name in UPLOADS]


def program(name, package=None):
	found = shutil.which(name)
	if not found:
		pytest.skip("no %s (Debian: %s)" % (name, package or name))
	return found


def run(*command, code=0, **options):
	done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)
	assert done.returncode == code, (command, done.returncode, done.stderr.decode()[-2000:])
	return done
