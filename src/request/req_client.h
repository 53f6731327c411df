/*
 * req_client: whose request it is: the address that access rules, limits, logs and handlers go by,
 * and whether the client itself came by https. It is the connection's unless a trusted proxy says
 * another. Found once, by req_start(); everybody else only asks.
 */
#ifndef H2D_REQUEST_REQ_CLIENT_H
#define H2D_REQUEST_REQ_CLIENT_H

#include "request/req.h"

/* Never NULL; of a request that has not begun it is the connection's peer. */
static inline const struct addr *req_client(const struct h2d_req *r)
{
	return r->client != NULL ? r->client : &r->conn->peer;
}

/* Whether the client came by TLS, which ended at h2d or at a trusted proxy. */
static inline bool req_client_https(const struct h2d_req *r)
{
	return r->client_https || r->conn->tls == HTTP_TLS_OURS || r->conn->tls == HTTP_TLS_PROXYS;
}

/* The account that all it asks for is asked of; NULL: there is none. Stays open until req_fini().
 */
struct account *req_account(struct h2d_req *req);

/* Whether limits by rate and number hold for the client, and its mark in the tally. False: it is
 * exempt, or nothing is counted. */
bool req_limited(struct h2d_req *req, uint64_t *mark);

/* Its fields are complete, and its peer is a trusted proxy: finds who it is by what that has added.
 */
void req_client_find(struct h2d_req *req);

#endif
