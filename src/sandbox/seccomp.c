/*
 * seccomp: makes the filter twice, and takes it if both are the same: without memory libseccomp
 * 2.5 may silently make another one, or loop for ever. A call that is not listed fails and does
 * not kill: an unforeseen one of a library would else end all connections of a worker.
 */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

/* A kernel with filters looks for this one, and does not find it. */
bool seccomp_there(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT;
}

#ifdef HAVE_SECCOMP
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"

/* A hundred times the usual time. */
enum { MAKE_MS = 500 };

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

static void seccomp_add(struct filter *f, uint32_t action, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* A call unknown to the library or this architecture cannot be made. */
	if (nr >= 0)
		keep_error(f, seccomp_rule_add_array(f->ctx, action, nr, 0, NULL));
}

/* The library's own macros omit a member, which clang warns of. */
static struct scmp_arg_cmp arg_is(unsigned arg, enum scmp_compare op, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = arg, .op = op, .datum_a = value };
}

static void add_if(struct filter *f, uint32_t action, int nr, struct scmp_arg_cmp arg)
{
	keep_error(f, seccomp_rule_add_array(f->ctx, action, nr, 1, &arg));
}

/* --- allowed calls ---------------------------------------------------------------------------- */

/* Calls of the table allowed only with these values of their arguments. */
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

/* Calls on whole processes, and unconditionally those that are else conditional. */
static void add_conditional(struct filter *f)
{
	static const char *const names[] = {
#define SANITIZER(name) #name,
#include "sandbox/syscalls.def"
	};

	for (size_t i = 0; i < LENGTH(names); i++)
		seccomp_add(f, SCMP_ACT_ALLOW, names[i]);
}

#else

/* Calls allowed by bits of an argument, or by a value known now. */
static void add_conditional(struct filter *f)
{
	/* Memory must not become code. */
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
	/* Not for receiving: listening sockets are shared. */
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

/* Each line for syslog opens its socket again; no other socket is made, but those of a proxy,
 * beside which others get ENOSYS: rules of one call that refuse and allow would contradict each
 * other. */
static void add_socket(struct filter *f)
{
	if (is_allowed(f->s, "socket"))
		return;
	if (f->s->calls & SECCOMP_SYSLOG)
		add_if(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), arg_is(0, SCMP_CMP_EQ, AF_UNIX));
	if (f->s->log || (f->s->calls & SECCOMP_PROXY))
		return;
	if (f->s->calls & SECCOMP_SYSLOG)
		add_if(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), arg_is(0, SCMP_CMP_NE, AF_UNIX));
	else
		seccomp_add(f, SCMP_ACT_ERRNO(EPERM), "socket");
}

static void add_all(struct filter *f)
{
	for (size_t i = 0; i < LENGTH(calls); i++)
		if (calls[i].who & f->s->calls)
			seccomp_add(f, SCMP_ACT_ALLOW, calls[i].name);
	for (unsigned i = 0; i < f->s->nmore; i++) {
		if (seccomp_syscall_resolve_name(f->s->more[i]) == __NR_SCMP_ERROR)
			log_warn("sandbox: syscalls: no call %s", f->s->more[i]);
		seccomp_add(f, SCMP_ACT_ALLOW, f->s->more[i]);
	}
	add_only(f);
	add_conditional(f);
	add_socket(f);
	for (size_t i = 0; i < LENGTH(refused) && !f->s->log; i++)
		if (!is_allowed(f->s, refused[i]))
			seccomp_add(f, SCMP_ACT_ERRNO(EPERM), refused[i]);
}

/* --- the filter ------------------------------------------------------------------------------- */

/* Through a pipe, which every kernel has; the library writes it at once. */
static int export_program(const struct filter *f, struct seccomp_program *p)
{
	int fds[2], rc = f->rc;
	ssize_t n = 0;

	if (rc == 0)
		rc = seccomp_attr_set(f->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A search tree: unlisted calls, or those with conditions, are found in seven steps. */
	if (rc == 0)
		rc = seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc < 0)
		return rc;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	rc = seccomp_export_bpf(f->ctx, fds[1]);
	close(fds[1]);
	if (rc == 0)
		n = read(fds[0], p->insns, sizeof(p->insns));
	/* A full pipe may have been too small. */
	if (rc == 0 &&
		(n <= 0 || (size_t)n == sizeof(p->insns) || n == fcntl(fds[0], F_GETPIPE_SZ)))
		rc = -EFBIG;
	p->size = (size_t)n;
	close(fds[0]);
	return rc;
}

static int build(const struct seccomp *s, struct seccomp_program *p)
{
	struct filter f = { .s = s };
	int rc;

	f.ctx = seccomp_init(s->log ? SCMP_ACT_LOG : SCMP_ACT_ERRNO(ENOSYS));
	if (f.ctx == NULL)
		return -ENOMEM;
	add_all(&f);
	rc = export_program(&f, p);
	seccomp_release(f.ctx);
	return rc;
}

/* Makes the kernel end this process (SIGVTALRM) after so much processor time; 0: no more. */
static void end_after(int ms)
{
	const struct itimerval timer = { .it_value.tv_usec = ms * 1000 };

	setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

int seccomp_make(const struct seccomp *s, struct seccomp_program *p)
{
	struct seccomp_program again;
	int rc;

	end_after(MAKE_MS);
	rc = build(s, p);
	if (rc == 0)
		rc = build(s, &again);
	end_after(0);
	if (rc == 0 && (p->size != again.size || memcmp(p->insns, again.insns, p->size) != 0))
		rc = -ENOMEM;
	return rc;
}

int seccomp_enter(const struct seccomp *s)
{
	struct seccomp_program p;
	int rc = seccomp_make(s, &p);
	struct sock_fprog prog;

	if (rc < 0)
		return rc;
	prog = (struct sock_fprog){ .filter = (struct sock_filter *)p.insns,
		.len = (unsigned short)(p.size / sizeof(struct sock_filter)) };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		rc = -errno;
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

int seccomp_make(const struct seccomp *s, struct seccomp_program *p)
{
	(void)s, (void)p;
	return -ENOSYS;
}

int seccomp_enter(const struct seccomp *s)
{
	(void)s;
	return -ENOSYS;
}

#endif
