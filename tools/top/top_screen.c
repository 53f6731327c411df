/*
 * top_screen: termios(3) and the few control sequences of ECMA-48 and xterm that every present
 * terminal supports, so that no library of terminals is needed.
 */
#include "tools/top/top_screen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool is_open;

#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l" /* other screen, no cursor, no wrapping */
#define LEAVE "\x1b[?7h\x1b[?25h\x1b[?1049l"

bool top_screen_can(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term != NULL && *term != '\0' &&
	       strcmp(term, "dumb") != 0;
}

int top_screen_open(void)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -errno;
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return -errno;
	is_open = true;
	top_screen_write(ENTER, sizeof(ENTER) - 1);
	return 0;
}

void top_screen_close(void)
{
	if (!is_open)
		return;
	is_open = false;
	top_screen_write(LEAVE, sizeof(LEAVE) - 1);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

void top_screen_size(unsigned *columns, unsigned *rows)
{
	struct winsize size;

	*columns = 80;
	*rows = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
		*columns = size.ws_col;
		*rows = size.ws_row;
	}
}

bool top_screen_write(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, p, n);

		if (done < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return true;
}
