/*
 * reason: the rows of reason.def as a switch, which compilers turn into a table. Called per
 * response of HTTP/1 and per error.
 */
#include "http/reason.h"

static const char *of_class(int status)
{
	switch (status / 100) {
	case 1:
		return "Informational";
	case 2:
		return "Successful";
	case 3:
		return "Redirection";
	case 4:
		return "Client Error";
	default:
		return "Server Error";
	}
}

const char *reason_of(int status)
{
	switch (status) {
#define REASON(status, reason) \
	case status: \
		return reason;
#include "http/reason.def"
	default:
		return of_class(status);
	}
}
