/*
 * fault: puts the position and the message of a configuration fault into one line. Reload calls it
 * for the log and the status file, main and signal_cmd for stderr. It never writes anywhere itself.
 */
#include "conf/fault.h"

void fault_format(const struct conf_pos *pos, const char *message, char *buf, size_t size)
{
	if (pos->file == NULL)
		snprintf(buf, size, "%s", message);
	else if (pos->line == 0)
		snprintf(buf, size, "%s: %s", pos->file, message);
	else
		snprintf(buf, size, "%s:%u: %s", pos->file, pos->line, message);
}

const char *fault_prefix(const struct conf_pos *pos)
{
	return pos->file != NULL && pos->line > 0 ? "" : "h2d: ";
}
