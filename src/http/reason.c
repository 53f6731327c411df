/* reason: the rows of reason.def as a switch, which compilers turn into a table. */
#include "http/reason.h"

const char *reason_of(int status)
{
	static const char *const classes[] = { "Informational", "Successful", "Redirection",
		"Client Error", "Server Error" };

	switch (status) {
#define REASON(status, reason) \
	case status: \
		return reason;
#include "http/reason.def"
	default:
		return classes[status >= 100 && status < 600 ? status / 100 - 1 : 4];
	}
}
