/*
 * host_check: compares the ports of the configuration with the rights of this process. Main calls
 * it for -t.
 */
#include "cli/host_check.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/addr.h"

/* Below it a port takes CAP_NET_BIND_SERVICE (ip(7)). */
static unsigned first_free_port(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	unsigned port;
	int n;

	if (f == NULL)
		return 1024;
	n = fscanf(f, "%u", &port);
	fclose(f);
	return n == 1 ? port : 1024;
}

static bool may_bind_any(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[0].effective & (1u << CAP_NET_BIND_SERVICE)) != 0;
}

void host_check(const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	unsigned free_port = first_free_port();
	char text[256];

	if (may_bind_any())
		return;
	for (unsigned i = 0; i < conf->nlistens; i++) {
		const struct conf_listen *l = &conf->listens[i];
		struct addr addr;

		if (addr_parse(l->address, &addr) != NULL || addr.sa.sa_family == AF_UNIX ||
			addr_port(&addr) == 0 || addr_port(&addr) >= free_port)
			continue;
		snprintf(text, sizeof(text),
			"listen \"%.80s\": a port below %u takes root or CAP_NET_BIND_SERVICE, "
			"and this user has neither",
			l->address, free_port);
		warn(ctx, &l->at, text);
	}
}
