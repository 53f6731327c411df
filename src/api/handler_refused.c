/* handler_refused: see handler_refused.h. */
#include "api/handler_refused.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/log.h"

enum { TOLD_MAX = 64 };

static _Thread_local char refused[HANDLER_REFUSED_PATH];

/* --- open(2) ---------------------------------------------------------------------------------- */

static int opened(const char *path, int flags, mode_t mode)
{
	static int (*of_libc)(const char *path, int flags, ...);
	int fd;

	if (of_libc == NULL)
		*(void **)&of_libc = dlsym(RTLD_NEXT, "open");
	fd = of_libc(path, flags, mode);

	if (fd < 0 && errno == EACCES && crash_doing() != NULL) {
		snprintf(refused, sizeof(refused), "%s", path);
		errno = EACCES;
	}
	return fd;
}

/* Callers that make no file give no mode: what is read in its place is not used. */
#define OPEN(name) \
	__attribute__((visibility("default"))) int name(const char *path, int flags, ...) \
	{ \
		va_list args; \
		mode_t mode; \
		va_start(args, flags); \
		mode = (mode_t)va_arg(args, unsigned); \
		va_end(args); \
		return opened(path, flags, mode); \
	}
int open64(const char *path, int flags, ...);
OPEN(open)
OPEN(open64)

void handler_refused_begin(void)
{
	refused[0] = '\0';
}

const char *handler_refused_path(void)
{
	return refused;
}

/* --- what is told ----------------------------------------------------------------------------- */

const char *handler_refused_cure(int error)
{
	switch (error) {
	case EACCES:
		return "; if modes allow it, look at read, write and network of section sandbox";
	case EPERM:
	case ENOSYS:
		return "; look at network and syscalls of section sandbox";
	default:
		return "";
	}
}

/* C libraries ask for system calls that may not be there, and do without: ENOSYS says nothing. */
void handler_refused_look(const char *handler, int error, const char *path)
{
	static const char *told[TOLD_MAX];
	static unsigned ntold;

	if ((error != EACCES && error != EPERM) || ntold == TOLD_MAX)
		return;
	for (unsigned i = 0; i < ntold; i++)
		if (told[i] == handler)
			return;
	told[ntold++] = handler;
	log_warn("handler %s: its work was refused %s: %s%s", handler,
		error == EACCES && path[0] != '\0' ? path : "something", strerror(error),
		handler_refused_cure(error));
}
