"""malloc fails at the n-th call in a worker that serves: whoever asked may lose the answer, nothing else is lost."""
import mmap
import os
import struct
import subprocess

import pytest

import client
import h1client
import procs
import server as srv

MALLOCS = int(os.environ.get("H2D_MALLOCS", "60"))  # how many calls are failed, one in each round
LIBRARY = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static struct { int pid, left; } *order; /* calls in that process until one fails; 0: none does */

__attribute__((constructor)) static void begin(void)
{
	int fd = open(getenv("FAIL_MALLOC"), O_RDWR | O_CLOEXEC);

	order = mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}

static int fails(void)
{
	if (order == NULL || order->left <= 0 || order->pid != getpid() ||
		__atomic_sub_fetch(&order->left, 1, __ATOMIC_RELAXED) != 0)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return n != 0 && fails() ? NULL : __libc_realloc(p, n); }
"""


class Order:
	"""What the library reads."""

	def __init__(self, path):
		with open(path, "w+b") as f:
			f.write(bytes(8))
			f.flush()
			self.map = mmap.mmap(f.fileno(), 8)

	def give(self, pid, n):
		self.map[:8] = struct.pack("ii", pid, n)

	def left(self):
		return struct.unpack("ii", self.map[:8])[1]


def try_all(server):
	"""A bit of everything, each on a connection of its own; how many did not end well."""
	lost = 0
	for how, ask in (("tcp", lambda c: c.get("/small.txt")), ("tcp", lambda c: c.get("/large.bin")),
			("tcp", lambda c: c.get("/")), ("tls", lambda c: c.get("/small.txt")),
			("tcp", lambda c: c.request("PUT", "/files/a", body=b"x" * 5000))):
		for connect in (server.h1, server.connect):
			try:
				with connect(how) as c:
					lost += ask(c).status not in (200, 201, 204)
			except (OSError, client.Closed, client.Late, AssertionError):
				lost += 1
	return lost


@pytest.mark.skipif(srv.SLOW > 1, reason="a sanitizer has the allocator")
def test_malloc_fails_in_a_worker(h2d):
	server = h2d.new(workers=1, server='autoindex = true\nupload-dir = "in"\nupload-public = true')
	os.mkdir(os.path.join(server.root, "in"))
	server.write("small.txt", b"small\n")
	server.write("large.bin", os.urandom(300000))
	with open(server.path("fail.c"), "w") as f:
		f.write(LIBRARY)
	subprocess.run(["cc", "-shared", "-fPIC", "-o", server.path("fail.so"), server.path("fail.c")], check=True)
	order = Order(server.path("order"))
	server.env.update(LD_PRELOAD=server.path("fail.so"), FAIL_MALLOC=server.path("order"))
	server.start()
	worker = server.worker_pids()[0]
	assert try_all(server) == 0
	order.give(worker, 1 << 30)
	try_all(server)
	calls = (1 << 30) - order.left()
	lost = 0
	for i in range(MALLOCS):
		order.give(worker, 1 + (i if MALLOCS >= calls else i * calls // MALLOCS))
		lost += try_all(server)
		order.give(0, 0)
		assert server.worker_pids() == [worker]
	assert lost > 0
	assert try_all(server) == 0
