"""Kernels, and containers, that lack what h2d needs: a start says what is missing, by its name, and -t does."""
import ctypes
import errno
import os
import platform
import resource
import struct

import pytest

import harness
from server import SANITIZED

CALLS = {"x86_64": {"openat2": 437, "close_range": 436, "memfd_create": 319},
	"aarch64": {"openat2": 437, "close_range": 436, "memfd_create": 279}}[platform.machine()]
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def lacking(call, error=errno.ENOSYS):
	"""What a new process does to have a kernel without that system call: a filter of seccomp(2) answers for it."""
	load, equal, end = 0x20, 0x15, 0x06
	code = [(load, 0, 0, 0), (equal, 0, 1, CALLS[call]), (end, 0, 0, 0x50000 | error), (end, 0, 0, 0x7fff0000)]
	program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in code))
	prog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(program))

	def filter_calls(_program=program):
		assert LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
		assert LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prog, 0, 0) == 0
	return filter_calls


def hide_proc():
	assert LIBC.unshare(CLONE_NEWNS) == 0
	assert LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) == 0
	assert LIBC.mount(b"none", b"/proc", b"tmpfs", 0, None) == 0


def few_descriptors():
	resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))


def refused(server, said):
	"""It does not start, and says why in one line."""
	server.exit_expected = 1
	server.spawn()
	assert server.wait_exit() == 1
	server.log.wait_end()
	assert [line for line in server.log.lines if line == "h2d: " + said] == [server.log.lines[-1]], server.log.lines
	assert not server.log.find("listening")


@pytest.mark.parametrize("call, what, since, why", [
	("openat2", "openat2(2)", "Linux 5.6", "h2d opens files below their root with it"),
	("close_range", "close_range(2)", "Linux 5.9", "h2d closes inherited descriptors with it"),
	("memfd_create", "memfd_create(2) with F_SEAL_FUTURE_WRITE", "Linux 5.1", "h2d shares its cache with it"),
])
@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM], ids=["none", "filtered"])
def test_a_call_that_is_needed(h2d, call, what, since, why, error):
	server = h2d.new(preexec=lacking(call, error))
	refused(server, "%s is missing (%s): %s; provided by %s" % (what, os.strerror(error), why, since))


def test_the_check_says_it_too(h2d):
	server = h2d.new(preexec=lacking("openat2"))
	server.exit_expected = 1
	server.spawn("-t", "-f", server.conf_path)
	assert server.wait_exit() == 1
	server.log.wait(r"^h2d: openat2\(2\) is missing")


def test_descriptors(h2d):
	"""Six are too few for the master's own loop."""
	refused(h2d.new(preexec=few_descriptors), "room for 32 descriptors is missing (Too many open files): "
		"each socket, file and process needs one; provided by ulimit -n, LimitNOFILE=")


def test_no_proc(h2d):
	harness.need_namespaces("-m")
	refused(h2d.new(preexec=hide_proc), "/proc is missing (No such file or directory): "
		"h2d reopens files through it; provided by mount -t proc proc /proc")


if SANITIZED:  # whose tools take /proc themselves
	del test_no_proc
