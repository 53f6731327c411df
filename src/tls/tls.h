/*
 * tls: the TLS transport. Records are gathered: ciphertext of one turn leaves in one send(2), and
 * is read in one recv(2), through buffers that all connections of the process share. worker_take()
 * opens one for each connection of a TLS listener; an idle connection never holds a buffer.
 */
#pragma once

#include "net/transport.h"
#include "tls/tls_ctx.h"

/*
 * Takes fd (non-blocking). ctx must outlive it. NULL when memory is out; the caller still owns fd.
 */
struct transport *tls_open(const struct tls_ctx *ctx, int fd);
