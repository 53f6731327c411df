/*
 * qvalue: reads the weight of one element of an accept field. Called per request where one of
 * several representations is chosen; must never allocate.
 */
#include "http/qvalue.h"

int qvalue_value(struct slice s)
{
	int digits = QVALUE_MAX / 10, value;

	if (s.n == 0 || s.n > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
		return -1;
	value = (s.p[0] - '0') * QVALUE_MAX;
	for (size_t i = 2; i < s.n; i++, digits /= 10) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		value += (s.p[i] - '0') * digits;
	}
	return value <= QVALUE_MAX ? value : -1;
}

static struct slice skip_blanks(struct slice s)
{
	while (s.n > 0 && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	return s;
}

int qvalue_parse(struct slice s)
{
	s = skip_blanks(s);
	if (s.n == 0)
		return QVALUE_MAX;
	if (*s.p != ';')
		return -1;
	s = skip_blanks(slice_of(s.p + 1, s.n - 1));
	if (s.n < 2 || (s.p[0] != 'q' && s.p[0] != 'Q') || s.p[1] != '=')
		return -1;
	return qvalue_value(slice_of(s.p + 2, s.n - 2));
}
