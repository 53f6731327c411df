/*
 * tickets: renews the keys of session tickets every twelve hours. The master calls it once a
 * second; keys come from tls/tls_tickets.h.
 */
#pragma once

struct master;

/* Gives all workers the keys of the file, if the serving generation has one. */
void tickets_serve(struct master *m);

/* Checks if a new key is due; once a second. */
void tickets_second(struct master *m);
