/*
 * reason: the name of a status, in status lines of HTTP/1, on error pages, in logs (RFC 9110, 15;
 * the table is reason.def). Pure.
 */
#ifndef H2D_HTTP_REASON_H
#define H2D_HTTP_REASON_H

/* "Not Found"; for an unregistered status its class: "Client Error". */
const char *reason_of(int status);

#endif
