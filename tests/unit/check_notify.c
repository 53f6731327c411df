/* check_notify: what a service manager hears, over path and abstract sockets. */
#include "machine/notify.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "fds_unit.h"
#include "unit.h"

static int manager;
static char path[64];

static void listen_at(bool abstract)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	socklen_t len;

	snprintf(path, sizeof(path), "%sh2d-check-notify.%d", abstract ? "@" : "./", (int)getpid());
	strcpy(sun.sun_path, path);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (abstract)
		sun.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(manager, 0);
	ck_assert_int_eq(bind(manager, (const struct sockaddr *)&sun, len), 0);
	if (!abstract) {
		char *full = realpath(path, NULL);

		ck_assert_ptr_nonnull(full);
		setenv("NOTIFY_SOCKET", full, 1);
		free(full);
	} else {
		setenv("NOTIFY_SOCKET", path, 1);
	}
}

static void teardown(void)
{
	close(manager);
	if (path[0] == '.')
		unlink(path);
	unsetenv("NOTIFY_SOCKET");
}

static const char *heard(void)
{
	static char buf[1024];
	ssize_t n = recv(manager, buf, sizeof(buf) - 1, 0);

	ck_assert_int_ge(n, 0);
	buf[n] = '\0';
	return buf;
}

/* _i: abstract or not */
TEST_EACH(messages, 2)
{
	unsigned long long usec;
	char text[2000];

	listen_at(_i != 0);
	notify_ready("serving: 2 workers");
	ck_assert_str_eq(heard(), "READY=1\nSTATUS=serving: 2 workers\n");
	notify_reloading("reloading");
	ck_assert_int_eq(
		sscanf(heard(), "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reloading", &usec), 1);
	ck_assert_uint_gt(usec, 0);
	notify_stopping("draining");
	ck_assert_str_eq(heard(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000\nSTATUS=draining\n");
	notify_leaving();
	ck_assert_str_eq(heard(), "EXTEND_TIMEOUT_USEC=15000000\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	notify_ready(text);
	ck_assert_uint_lt(strlen(heard()), 600);
	teardown();
}

/* What the log says of it, and no descriptor is left. */
TEST(nobody_listens)
{
	static const char slashes[300] = { [0 ... 298] = '/' };
	static const struct {
		const char *value, *said;
	} rows[] = {
		{ NULL, "" },
		{ "", "" },
		{ "relative", "" },
		{ "/nonexistent/socket",
			"cannot notify /nonexistent/socket: No such file or directory\n" },
		{ "@no-such-name", "cannot notify @no-such-name: Connection refused\n" },
		{ slashes, "NOTIFY_SOCKET is too long: //" },
	};
	int ends[2], fds;
	char line[600];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
	log_to(ends[1]);
	fds = open_fds();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ssize_t n;

		if (rows[i].value != NULL)
			setenv("NOTIFY_SOCKET", rows[i].value, 1);
		else
			unsetenv("NOTIFY_SOCKET");
		notify_ready("x");
		n = recv(ends[0], line, sizeof(line) - 1, 0);
		line[n > 0 ? n : 0] = '\0';
		ck_assert_msg(rows[i].said[0] == '\0' ? n < 0 : strstr(line, rows[i].said) != NULL,
			"%s: %s", rows[i].value, line);
	}
	ck_assert_int_eq(open_fds(), fds);
	log_to(STDERR_FILENO);
	unsetenv("NOTIFY_SOCKET");
}
