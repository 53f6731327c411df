/*
 * seccomp: makes the filter from syscalls.def. Called by sandbox.c alone, in a new process without
 * threads. A call that is not listed fails and does not kill: an unforeseen one of a library would
 * else take all connections of a worker with it.
 */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <sys/prctl.h>

bool seccomp_there(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

#ifdef HAVE_SECCOMP
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	unsigned who;
} calls[] = {
#define CALL(name, who) { #name, SECCOMP_##who },
#include "sandbox/syscalls.def"
};

struct value {
	unsigned arg;
	unsigned long is;
};

enum { VALUES = 2 };

static const struct {
	const char *name;
	unsigned who;
	struct value values[VALUES];
	unsigned n;
} conditions[] = {
#define ONLY(name, who, ...) \
	{ #name, SECCOMP_##who, { __VA_ARGS__ }, LENGTH(((struct value[]){ __VA_ARGS__ })) },
#include "sandbox/syscalls.def"
};

static const char *const refused[] = {
#define REFUSED(name) #name,
#include "sandbox/syscalls.def"
};

struct filter {
	scmp_filter_ctx ctx;
	const struct seccomp *s;
	int rc; /* the first error */
};

static void keep_error(struct filter *f, int rc)
{
	if (rc < 0 && rc != -EEXIST && f->rc == 0)
		f->rc = rc;
}

static void add(struct filter *f, uint32_t action, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* A call that the library or this architecture does not have can be made by nobody. */
	if (nr >= 0)
		keep_error(f, seccomp_rule_add_array(f->ctx, action, nr, 0, NULL));
}

/* The library's own macros leave a member of it out, which clang warns of. */
static struct scmp_arg_cmp arg_is(unsigned arg, enum scmp_compare op, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = arg, .op = op, .datum_a = value };
}

static void add_if(struct filter *f, uint32_t action, int nr, struct scmp_arg_cmp arg)
{
	keep_error(f, seccomp_rule_add_array(f->ctx, action, nr, 1, &arg));
}

/* --- what is allowed -------------------------------------------------------------------------- */

/* Calls of the table that only these values of their arguments allow. */
static void add_only(struct filter *f)
{
	for (size_t i = 0; i < LENGTH(conditions); i++) {
		const struct value *v = conditions[i].values;
		int nr = seccomp_syscall_resolve_name(conditions[i].name);
		const struct scmp_arg_cmp args[VALUES] = {
			arg_is(v[0].arg, SCMP_CMP_EQ, v[0].is),
			arg_is(v[1].arg, SCMP_CMP_EQ, v[1].is),
		};

		if (nr >= 0 && conditions[i].who & f->s->calls)
			keep_error(f, seccomp_rule_add_array(
					      f->ctx, SCMP_ACT_ALLOW, nr, conditions[i].n, args));
	}
}

#ifdef __SANITIZE_ADDRESS__

/* Calls of whole processes, and without conditions those that are conditional else. */
static void add_conditional(struct filter *f)
{
	static const char *const names[] = {
#define SANITIZER(name) #name,
#include "sandbox/syscalls.def"
	};

	for (size_t i = 0; i < LENGTH(names); i++)
		add(f, SCMP_ACT_ALLOW, names[i]);
}

#else

/* Calls of which bits of an argument decide, or a value that is known now. */
static void add_conditional(struct filter *f)
{
	/* Memory never becomes code. */
	add_if(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	add_if(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* Threads, no processes. clone3 hides its flags: without it the C library uses clone. */
	add_if(f, SCMP_ACT_ALLOW, SCMP_SYS(clone),
		SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	if (!f->s->log)
		add_if(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone),
			SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	/* abort(3) */
	add_if(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), arg_is(0, SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	/* Never the other way: listening sockets are shared. */
	if (f->s->calls & SECCOMP_NETWORK)
		keep_error(f,
			seccomp_rule_add(f->ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
				arg_is(1, SCMP_CMP_EQ, F_SETFL),
				SCMP_A2_64(SCMP_CMP_MASKED_EQ, O_NONBLOCK | O_ASYNC, O_NONBLOCK)));
}

#endif

static bool is_allowed(const struct seccomp *s, const char *name)
{
	for (size_t i = 0; i < LENGTH(calls); i++)
		if (calls[i].who & s->calls && strcmp(calls[i].name, name) == 0)
			return true;
	for (unsigned i = 0; i < s->nmore; i++)
		if (strcmp(s->more[i], name) == 0)
			return true;
#ifdef __SANITIZE_ADDRESS__
#define SANITIZER(call) \
	if (strcmp(#call, name) == 0) \
		return true;
#include "sandbox/syscalls.def"
#endif
	return false;
}

/* Each line for syslog opens its socket anew; no other socket is made. */
static void add_socket(struct filter *f)
{
	if (is_allowed(f->s, "socket"))
		return;
	if (f->s->calls & SECCOMP_SYSLOG)
		add_if(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), arg_is(0, SCMP_CMP_EQ, AF_UNIX));
	if (f->s->log)
		return;
	if (f->s->calls & SECCOMP_SYSLOG)
		add_if(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), arg_is(0, SCMP_CMP_NE, AF_UNIX));
	else
		add(f, SCMP_ACT_ERRNO(EPERM), "socket");
}

static void add_more(struct filter *f)
{
	for (unsigned i = 0; i < f->s->nmore; i++) {
		if (seccomp_syscall_resolve_name(f->s->more[i]) == __NR_SCMP_ERROR)
			log_warn("sandbox: syscalls: there is no %s", f->s->more[i]);
		add(f, SCMP_ACT_ALLOW, f->s->more[i]);
	}
}

static void add_all(struct filter *f)
{
	for (size_t i = 0; i < LENGTH(calls); i++)
		if (calls[i].who & f->s->calls)
			add(f, SCMP_ACT_ALLOW, calls[i].name);
	add_more(f);
	add_only(f);
	add_conditional(f);
	add_socket(f);
	for (size_t i = 0; i < LENGTH(refused) && !f->s->log; i++)
		if (!is_allowed(f->s, refused[i]))
			add(f, SCMP_ACT_ERRNO(EPERM), refused[i]);
}

/* --- the filter ------------------------------------------------------------------------------- */

static int load(const struct filter *f)
{
	int rc = f->rc;

	if (rc == 0)
		rc = seccomp_attr_set(f->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A search tree: what is not listed, or has conditions, is found in seven steps. */
	if (rc == 0)
		rc = seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return rc == 0 ? seccomp_load(f->ctx) : rc;
}

int seccomp_enter(const struct seccomp *s)
{
	struct filter f = { .s = s };
	int rc;

	f.ctx = seccomp_init(s->log ? SCMP_ACT_LOG : SCMP_ACT_ERRNO(ENOSYS));
	if (f.ctx == NULL)
		return -ENOMEM;
	add_all(&f);
	rc = load(&f);
	seccomp_release(f.ctx);
	return rc;
}

bool seccomp_built(void)
{
	return true;
}

#else

bool seccomp_built(void)
{
	return false;
}

int seccomp_enter(const struct seccomp *s)
{
	(void)s;
	return -ENOSYS;
}

#endif
