/*
 * reason: what a status is called, in status lines of HTTP/1, on pages of errors, in logs (RFC
 * 9110, 15; the table is reason.def). Pure.
 */
#ifndef H2D_HTTP_REASON_H
#define H2D_HTTP_REASON_H

/* "Not Found"; of a status that nobody has registered its class: "Client Error". */
const char *reason_of(int status);

#endif
