/*
 * main: reads the command line and calls its action: the master, a check, a dump, a signal. The
 * exit status is 0 for success, 1 when the configuration or the start failed, 2 when the command
 * line was wrong. Main itself never serves or forks.
 */
#include <fcntl.h>
#include <limits.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/explain.h"
#include "cli/options.h"
#include "cli/signal_cmd.h"
#include "conf/conf_fault.h"
#include "http/compress.h"
#include "machine/kernel_check.h"
#include "master/master.h"
#include "master/master_signal.h"
#include "rules/route.h"
#include "sandbox/sandbox.h"
#include "tls/tls_memory.h"
#include "upstream/name.h"

enum { EXIT_USAGE = 2 };

extern const struct route_table routes_table; /* made from routes.def */

#ifdef NGHTTP2_SOURCE
#define NGHTTP2_LINKED " (compiled in, from " NGHTTP2_SOURCE ")"
#elif defined(STATIC_NGHTTP2)
#define NGHTTP2_LINKED " (static)"
#else
#define NGHTTP2_LINKED ""
#endif

static void print_warning(void *ctx, const struct conf_pos *pos, const char *message)
{
	char warning[CONF_FAULT_TEXT];

	snprintf(warning, sizeof(warning), "warning: %s", message);
	conf_fault_print(ctx, pos, warning);
}

/* For -t alone: the master never waits for a name server, and workers look names up themselves. */
static void test_names(const struct sites *sites)
{
	struct conf_faults warnings = { .fn = print_warning };

	for (const struct site_peer *p = sites->peers; p != sites->peers + sites->npeers; p++) {
		struct addrinfo *found = NULL;
		int rc = p->addr.len == 0 ? name_look(p, &found) : 0;

		if (rc != 0)
			conf_fault(&warnings, &p->at, "proxy \"%s\": no address: %s", p->name.p,
				gai_strerror(rc));
		else if (found != NULL)
			freeaddrinfo(found);
	}
}

static int test(const struct conf_override *ov)
{
	struct conf *conf = conf_load_faulty(ov, conf_fault_print, NULL);
	struct resources resources;
	int rc;

	if (conf == NULL)
		return EXIT_FAILURE;
	rc = gen_resources_init(&resources, conf, conf_fault_print, NULL);
	if (kernel_check() < 0 || conf->faulty)
		rc = -1;
	if (rc == 0) {
		clock_update();
		gen_resources_check(&resources, conf, print_warning, NULL);
		test_names(resources.sites);
		fprintf(stderr, "%s: configuration ok\n",
			conf->path != NULL ? conf->path : "command line");
	}
	gen_resources_fini(&resources);
	conf_free(&conf);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Output lost to a full disk or a closed pipe must not look like success. */
static int flushed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	perror("h2d: standard output");
	return EXIT_FAILURE;
}

/* Opens files like the workers: from here on this process has their user. */
static int explain_as_user(const struct options *o, const struct conf *conf)
{
	struct resources resources;
	int rc = gen_resources_init(&resources, conf, conf_fault_print, NULL);

	log_max = LEVEL_WARN;
	if (rc == 0 && privs_drop(&resources.privs, conf->sandbox.drop_capabilities) < 0)
		perror("h2d: user");
	for (unsigned i = 0; rc == 0 && i < o->nurls; i++) {
		if (i > 0)
			putchar('\n');
		rc = explain(conf, &resources, o, o->urls[i], stdout);
	}
	gen_resources_fini(&resources);
	return rc;
}

static int explain_all(const struct options *o)
{
	struct conf *conf = conf_load(&o->conf, conf_fault_print, NULL);
	int rc;

	if (conf == NULL)
		return EXIT_FAILURE;
	rc = explain_as_user(o, conf);
	conf_free(&conf);
	return rc == 0 ? flushed() : EXIT_FAILURE;
}

static int dump(const struct conf_override *ov, bool all)
{
	struct conf *conf = conf_load(ov, conf_fault_print, NULL);

	if (conf == NULL)
		return EXIT_FAILURE;
	conf_dump(conf, all, stdout);
	conf_free(&conf);
	return flushed();
}

static int version(void)
{
	char library[32];

	printf("h2d " PACKAGE_VERSION "\nnghttp2 %s" NGHTTP2_LINKED "\n%s\n",
		nghttp2_version(0)->version_str, OpenSSL_version(OPENSSL_VERSION));
	for (enum coding c = 0; c < CODINGS; c++)
		if (compress_has(c)) {
			compress_library(c, library, sizeof(library));
			puts(library);
		}
	printf("build %s\n", build_id());
#ifdef PROFILE_ID
	puts("profile " PROFILE_ID);
#endif
	fputs("features: reuseport acceptor tls http/1.1 h2 h2c cache", stdout);
	for (enum coding c = 0; c < CODINGS; c++)
		if (compress_has(c))
			printf(" %.*s", SLICE_ARG(coding_names[c]));
#ifdef HAVE_EXPAT
	fputs(" webdav", stdout);
#endif
	puts(sandbox_built());
	return flushed();
}

/* Becomes h2d-top, which is beside this program: the server links no reader of JSON. */
static int top(const struct options *o)
{
	static char name[] = "h2d-top", once[] = "--once", file[] = "-f";
	char path[PATH_MAX] = "", *slash, **args;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(name));
	size_t n = 0, nargs = 1;

	while (o->top[n] != NULL)
		n++;
	args = calloc(n + 5, sizeof(*args));
	slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
	if (args == NULL || slash == NULL) {
		perror("h2d: top");
		free(args);
		return EXIT_FAILURE;
	}
	strcpy(slash + 1, name);
	args[0] = name;
	if (o->once)
		args[nargs++] = once;
	if (o->conf.file != NULL) {
		args[nargs++] = file;
		args[nargs++] = (char *)(uintptr_t)o->conf.file;
	}
	memcpy(args + nargs, o->top, n * sizeof(*args));
	execv(path, args);
	fprintf(stderr, "h2d: top: %s: %m\n", path);
	free(args);
	return EXIT_USAGE;
}

/* A descriptor of ours must never get a number below 3 and be taken for a log. */
static void have_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	struct program program;
	struct options o;
	sigset_t set, before;
	int rc;

	/* First: a HUP or USR1 that comes before the master listens waits until it does. */
	master_signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	have_standard_fds();
	tls_memory_init();
	if (options_parse(&o, argc, argv) < 0)
		return EXIT_USAGE;
	o.conf.terminal = isatty(STDERR_FILENO);
	if (o.action != OPTIONS_RUN)
		sigprocmask(SIG_SETMASK, &before, NULL);
	switch (o.action) {
	case OPTIONS_TEST:
		return test(&o.conf);
	case OPTIONS_DUMP:
		return dump(&o.conf, o.all);
	case OPTIONS_ROUTES:
		route_print(&routes_table, stdout);
		return flushed();
	case OPTIONS_EXPLAIN:
		return explain_all(&o);
	case OPTIONS_SIGNAL:
		return signal_cmd(o.signal, o.wait, &o.conf);
	case OPTIONS_TOP:
		return top(&o);
	case OPTIONS_VERSION:
		return version();
	case OPTIONS_HELP:
		options_help(stdout);
		return flushed();
	case OPTIONS_RUN:
		break;
	}
	log_out_own(STDOUT_FILENO);
	log_out_own(STDERR_FILENO);
	if (program_keep(&program, argv) < 0)
		return EXIT_FAILURE;
	rc = master_run(&o.conf, &program);
	program_free(&program);
	return rc;
}
