/*
 * conf_pos: a place in the configuration. Conf keeps one for each value it reads; sites keep those
 * of the settings that decide about requests, so that a decision can be told with its line
 * (request/trace.h). It owns nothing: the name of the file is the configuration's.
 */
#ifndef H2D_BASE_CONF_POS_H
#define H2D_BASE_CONF_POS_H

/*
 * Where a value came from: a file and line, the command line ("command line", line 0), or (file
 * NULL) the default. A fault about a whole file has line 0 too: then ":LINE" is not written.
 */
struct conf_pos {
	const char *file;
	unsigned line;
	unsigned outer; /* sections between the one that has the value and the one that says it */
};

#endif
