/*
 * reason: the name of a status, in status lines of HTTP/1, on error pages, in logs (RFC 9110, 15;
 * the table is reason.def). Pure.
 */
#pragma once

/* "Not Found"; for an unregistered status its class: "Client Error". */
const char *reason_of(int status);
