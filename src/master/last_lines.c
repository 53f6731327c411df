/*
 * last_lines: the one writer of the ring. What a child says is its word: a level that is none, or a
 * text without an end, must do no harm.
 */
#include "master/last_lines.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

static struct board_lines *own;

static void add(struct board_lines *ring, struct board_line *line, const char *text)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	line->ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	snprintf(line->text, sizeof(line->text), "%s", text);
	board_lines_add(ring, line);
}

static void tell(enum log_level level, const char *message)
{
	struct board_line line = { .level = level, .pid = getpid(), .who = "master" };

	add(own, &line, message);
}

void last_lines_begin(struct board_lines *ring)
{
	own = ring;
	log_tell(tell);
}

void last_lines_end(void)
{
	log_tell(NULL);
	own = NULL;
}

void last_lines_said(struct board_lines *ring, const struct child *c, const struct ctl_msg *msg)
{
	struct board_line line = { .level = LEVEL_ALERT, .pid = c->pid };
	char text[CTL_LINE_SIZE];

	if (msg->arg <= LEVEL_WARN)
		line.level = (uint32_t)msg->arg;
	child_name(c, line.who, sizeof(line.who));
	snprintf(text, sizeof(text), "%.*s", CTL_LINE_SIZE - 1, msg->line);
	add(ring, &line, text);
}
