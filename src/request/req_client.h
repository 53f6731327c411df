/*
 * req_client: the client of a request: its address for access rules, limits, logs and handlers, and
 * its use of https. It is the connection's unless a trusted proxy adds another. Found once, by
 * req_start().
 */
#pragma once

#include "request/req.h"

/* Never NULL; before the request begins, the connection's peer. */
static inline const struct addr *req_client(const struct h2d_req *r)
{
	return r->client != NULL ? r->client : &r->conn->peer;
}

/* Logs a mistake of the peer, because the access log has only the status, and notes it. */
static inline void req_fault(struct h2d_req *r, const struct err *err)
{
	err_log(err, req_client(r));
	req_record_error(&r->record, err);
}

/* True if the client used TLS, up to h2d or a trusted proxy. */
static inline bool req_client_https(const struct h2d_req *r)
{
	return r->client_https || r->conn->tls == HTTP_TLS_OURS || r->conn->tls == HTTP_TLS_PROXYS;
}

/* The account of all its budgets; NULL: none. Stays open until req_fini(). */
struct account *req_account(struct h2d_req *req);

/* True if limits by rate and number apply to the client, with its mark in the tally. False: it is
 * exempt, or not counted. */
bool req_limited(struct h2d_req *req, uint64_t *mark);

/* The headers are complete, and the peer is a trusted proxy: finds the client in the headers added.
 */
void req_client_find(struct h2d_req *req);
