/* handler_refused: see handler_refused.h. */
#include "api/handler_refused.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

enum { TOLD_MAX = 64 };

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
void handler_refused_look(const char *handler, int error)
{
	static const char *told[TOLD_MAX];
	static unsigned ntold;

	if ((error != EACCES && error != EPERM) || ntold == TOLD_MAX)
		return;
	for (unsigned i = 0; i < ntold; i++)
		if (told[i] == handler)
			return;
	told[ntold++] = handler;
	log_warn("handler %s: its work was refused something: %s%s", handler, strerror(error),
		handler_refused_cure(error));
}
