/*
 * ctl_lines: sends lines of the log as messages. The log calls it under its lock, in any thread. So
 * that they never take the room of other messages it sends a few per second: the log has them all.
 */
#include "net/ctl_lines.h"

#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "net/ctl.h"

static int to = -1;
static time_t second;
static unsigned sent; /* in that second */

static void tell(enum log_level level, const char *message)
{
	struct ctl_msg msg = { .type = CTL_LINE, .arg = level };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec != second)
		sent = 0;
	second = now.tv_sec;
	if (sent++ >= CTL_LINES_PER_SECOND)
		return;
	snprintf(msg.line, sizeof(msg.line), "%s", message);
	(void)ctl_send(to, &msg, NULL, 0);
}

void ctl_lines_to(int fd)
{
	to = fd;
	log_tell(fd >= 0 ? tell : NULL);
}
