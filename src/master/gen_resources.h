/*
 * gen_resources: a generation's parts beside its configuration, made before the fork, or for -t.
 * They borrow from the configuration and never outlive it.
 */
#pragma once

#include "sandbox/privs.h"
#include "sites/certs.h"
#include "sites/sites.h"

struct resources {
	struct certs certs;
	struct client_cas client_cas;
	struct privs privs;
	struct trees trees;
	const struct sites *sites;
	struct arena memory; /* of the sites */
};

/*
 * 0, or -1 after at least one fault; gen_resources_fini() is due either way. conf outlives it, and
 * may be faulty: then further faults are found.
 */
int gen_resources_init(
	struct resources *r, const struct conf *conf, conf_fault_fn *fault, void *ctx);

/* Warns of settings that are no fault, but probably not meant; r was made of conf. */
void gen_resources_check(
	const struct resources *r, const struct conf *conf, conf_fault_fn *warn, void *ctx);

/* Warns of staples and lists that have become too old: once, until they are renewed. warn NULL:
 * already logged. */
void gen_resources_expire(struct resources *r, conf_fault_fn *warn);

/* Zeroed resources are empty: no effect. */
void gen_resources_fini(struct resources *r);
