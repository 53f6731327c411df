/*
 * handler_topic: subscriptions of requests to topics, and their messages from the bus that all
 * workers share. Called by handlers, and by handler_worker.c at the end.
 */
#include "request/handler_call.h"

#include <stdlib.h>

#include "api/handler_worker.h"
#include "base/counters.h"
#include "base/name_map.h"
#include "event/bus.h"

enum { BUCKETS = 256 };

struct subscription {
	struct belonging belonging; /* of the request */
	struct list node;
	struct h2d_req *req;
	h2d_message_fn *fn;
	struct slice topic;
};

/* Subscriptions of all requests, by topic. */
struct topics {
	struct bus_reader *reader;
	struct list buckets[BUCKETS];
};

static struct list *bucket_of(struct topics *t, struct slice topic)
{
	uint64_t h = fnv_add(FNV_BEGIN, topic.p, topic.n);

	return &t->buckets[(h ^ h >> 32) % BUCKETS];
}

/* Calls those of a bucket that topic is for; all of them if topic.p is NULL. Any may end, and any
 * may come, meanwhile. */
static void handler_topic_tell(struct list *bucket, struct slice topic, struct slice data)
{
	struct list turn;

	list_init(&turn);
	list_splice(&turn, bucket);
	LIST_TAKE(struct subscription, s, node, &turn) {
		list_append(bucket, &s->node);
		if (topic.p == NULL || slice_eq(s->topic, topic))
			HANDLER_CALL_DO(
				s->req, s->fn(s->req, s->req->handler_state, data.p, data.n));
	}
}

static void on_message(void *ctx, struct slice topic, struct slice data, uint64_t lost)
{
	struct topics *t = ctx;

	if (lost > 0) {
		COUNT(messages_lost, lost);
		for (unsigned i = 0; i < BUCKETS; i++)
			handler_topic_tell(
				&t->buckets[i], (struct slice){ 0 }, (struct slice){ 0 });
	}
	handler_topic_tell(bucket_of(t, topic), topic, data);
}

static struct topics *topics_new(struct http_env *env)
{
	struct topics *t = malloc(sizeof(*t));

	if (t == NULL)
		return NULL;
	for (unsigned i = 0; i < BUCKETS; i++)
		list_init(&t->buckets[i]);
	t->reader = bus_reader_new(env->api->bus, env->loop, on_message, t);
	if (t->reader != NULL)
		return t;
	free(t);
	return NULL;
}

void handler_topics_close(struct http_env *env)
{
	if (env->api->topics == NULL)
		return;
	bus_reader_free(&env->api->topics->reader);
	free(env->api->topics);
	env->api->topics = NULL;
}

void handler_topics_read(const struct http_env *env)
{
	if (env->api->topics != NULL)
		bus_reader_read(env->api->topics->reader);
}

int h2d_publish(struct h2d_worker *worker, const char *topic, const void *data, size_t len)
{
	struct bus *bus = worker->env->api->bus;

	HANDLER_CALL();
	int rc = bus != NULL ? bus_put(bus, slice_str(topic), slice_of(data, len)) : -1;

	return rc < 0 ? -1 : 0;
}

/* Ends its messages. */
static void handler_topic_leave(struct belonging *b)
{
	list_remove(&LIST_ENTRY(b, struct subscription, belonging)->node);
}

int h2d_subscribe(struct h2d_req *req, const char *topic, h2d_message_fn *fn)
{
	struct http_env *env = req->env;
	struct subscription *s = arena_alloc(&req->arena, sizeof(*s));

	HANDLER_CALL();
	if (s == NULL || strlen(topic) > BUS_TOPIC_MAX || env->api->bus == NULL)
		return -1;
	*s = (struct subscription){
		.req = req,
		.fn = fn,
		.topic = arena_dup(&req->arena, slice_str(topic)),
	};
	if (env->api->topics == NULL)
		env->api->topics = topics_new(env);
	if (s->topic.p == NULL || env->api->topics == NULL)
		return -1;
	belonging_add(&req->belongings, &s->belonging, handler_topic_leave);
	list_append(bucket_of(env->api->topics, s->topic), &s->node);
	return 0;
}
