/*
 * tickets: renews the keys of session tickets every twelve hours. The master asks it once a second;
 * keys come from tls/tls_tickets.h.
 */
#ifndef H2D_MASTER_TICKETS_H
#define H2D_MASTER_TICKETS_H

struct master;

/* The keys of the file are those of all workers now, if the generation that serves has one. */
void tickets_serve(struct master *m);

/* Looks whether a new key is due; once a second. */
void tickets_second(struct master *m);

#endif
