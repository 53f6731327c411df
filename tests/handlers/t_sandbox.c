/*
 * t_sandbox: tries what an attacker in control of a worker would. GET /t/sandbox/{what}?ARG, in the
 * worker itself: read, write and list of the path ARG, fork, exec, socket, connect to the port ARG
 * of this machine, the same as a proxy (link), datagram, abstract socket ARG, resolve ARG, epoll,
 * ptrace and signal of process ARG. Answers "done", or the name of the error. Or it breaks: spin
 * never ends, fault writes to nowhere, overflow has no end of its stack.
 */
#define _GNU_SOURCE /* strerrorname_np() */
#include "tries.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int closed(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

static int try_read(const char *path)
{
	return closed(open(path, O_RDONLY | O_CLOEXEC));
}

static int try_write(const char *path)
{
	return closed(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int try_list(const char *path)
{
	return closed(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* In a child, which ends at once. */
static int run(const char *program)
{
	char name[] = "true", *const argv[] = { name, NULL };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (program != NULL)
			execv(program, argv);
		_exit(program != NULL ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	errno = WEXITSTATUS(status);
	return errno == 0 ? 0 : -1;
}

static int try_fork(const char *arg)
{
	(void)arg;
	return run(NULL);
}

static int try_exec(const char *arg)
{
	return run(arg);
}

/* Succeeds only if the calling process becomes another program. */
static int try_become(const char *path)
{
	char name[] = "false";

	return execv(path, (char *[]){ name, NULL });
}

static int try_socket(const char *arg)
{
	(void)arg;
	return closed(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int try_connect(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&to, sizeof(to));
	int error = errno;

	closed(fd);
	errno = error;
	return rc;
}

/* Like h2d's own connections to applications. */
static int link_to(const struct sockaddr *to, socklen_t n)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	int rc = fd < 0 ? -1 : connect(fd, to, n);
	int error = errno;
	socklen_t size = sizeof(error);

	if (rc < 0 && fd >= 0 && error == EINPROGRESS && poll(&poll_fd, 1, -1) == 1 &&
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0)
		rc = error == 0 ? 0 : -1;
	closed(fd);
	errno = error;
	return rc;
}

static int try_link(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };

	return link_to((const struct sockaddr *)&to, sizeof(to));
}

static int try_abstract(const char *name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strnlen(name, sizeof(to.sun_path) - 1);

	memcpy(to.sun_path + 1, name, n);
	return link_to((const struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

static int try_datagram(const char *arg)
{
	(void)arg;
	return closed(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int try_resolve(const char *name)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int rc = getaddrinfo(name, "80", &hints, &list);

	if (rc == 0)
		freeaddrinfo(list);
	else if (rc != EAI_SYSTEM)
		errno = EHOSTUNREACH;
	return rc == 0 ? 0 : -1;
}

static int try_epoll(const char *arg)
{
	(void)arg;
	return closed(epoll_create1(EPOLL_CLOEXEC));
}

static int try_ptrace(const char *pid)
{
	long rc = ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL);

	if (rc == 0)
		ptrace(PTRACE_DETACH, atoi(pid), NULL, NULL);
	return rc == 0 ? 0 : -1;
}

static int try_signal(const char *pid)
{
	return kill(atoi(pid), 0);
}

/* Memory for code of its own. */
static int try_code(const char *arg)
{
	void *p = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	return p == MAP_FAILED ? -1 : munmap(p, 4096);
}

static int spin(const char *arg)
{
	(void)arg;
	for (volatile int go = 1; go;)
		;
	return 0;
}

static int fault(const char *arg)
{
	*(volatile int *)(uintptr_t)strtoul(arg, NULL, 0) = 1;
	return 0;
}

static int overflow(const char *arg)
{
	char frame[4096] = { arg[0] };
	int (*volatile again)(const char *) = overflow;
	int rc = again(frame);

	return rc + frame[1];
}

static const struct try tries[] = {
	{ "read", try_read },
	{ "write", try_write },
	{ "list", try_list },
	{ "fork", try_fork },
	{ "exec", try_exec },
	{ "become", try_become },
	{ "socket", try_socket },
	{ "connect", try_connect },
	{ "link", try_link },
	{ "datagram", try_datagram },
	{ "abstract", try_abstract },
	{ "resolve", try_resolve },
	{ "epoll", try_epoll },
	{ "ptrace", try_ptrace },
	{ "signal", try_signal },
	{ "code", try_code },
	{ "spin", spin },
	{ "fault", fault },
	{ "overflow", overflow },
};

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	tries_start(req, tries, sizeof(tries) / sizeof(tries[0]));
}

const struct h2d_handler h2d_handler_t_sandbox = {
	.name = "t_sandbox",
	.start = start,
};
