/*
 * store_gate: checks writers, and waits for an upload's place among the open files. On the loop;
 * never blocks.
 */
#include <errno.h>

#include "request/gate.h"
#include "request/req_client.h"
#include "request/trace.h"
#include "share/tally.h"
#include "store/store.h"

/* --- a place ---------------------------------------------------------------------------------- */

static void granted(struct place *p)
{
	store_submit(LIST_ENTRY(p, struct store, place), STORE_BEGIN);
}

/* Ends an upload whose client hardly sends: others wait for its place. */
static bool back(struct place *p)
{
	store_fail(LIST_ENTRY(p, struct store, place), store_refuse(ERR_UPLOAD_SLOW));
	return false;
}

static uint64_t came(struct place *p)
{
	const struct store *s = LIST_ENTRY(p, struct store, place);
	bool waits = s->state == STORE_BODY && !s->req->body_queue.ended;

	return waits ? s->req->record.bytes_in : PLACES_BUSY;
}

/* Counts until the upload is over, even after its request. False: its client has too many. */
static bool count_upload(struct store *s)
{
	struct h2d_req *req = s->req;
	bool counted, may;

	if (req->env->uploads == NULL)
		return true;
	s->account = req_account(req);
	may = holding_take(req->env->uploads, s->account, &counted);
	s->holding = counted ? req->env->uploads : NULL;
	if (may || !req->env->sites->dry_run)
		return may;
	err_log_dry(ERR_UPLOADS, req_client(req));
	return true;
}

static void take_place(struct store *s)
{
	struct store_part *p = s->work.part;

	if (!count_upload(s)) {
		reply_add(s->req, SLICE("retry-after"), SLICE("1"));
		store_fail(s, store_refuse(ERR_UPLOADS));
		return;
	}
	/* The gate has found the request's user. */
	if (p != NULL)
		p->user = arena_printf(&s->arena, "%.*s", SLICE_ARG(s->req->user));
	if (p != NULL && p->user == NULL) {
		store_fail(s, store_errno(-ENOMEM));
		return;
	}
	store_go(s, STORE_LINE);
	s->place.granted = granted;
	s->place.upload = true;
	s->place.back = back;
	s->place.came = came;
	if (places_take(&s->disk->places, s->req->conn->files, req_account(s->req), &s->place))
		granted(&s->place);
}

/* --- the gate --------------------------------------------------------------------------------- */

bool store_gate_has_writers(struct store *s, const char *name)
{
	const struct h2d_req *req = s->req;
	struct slice path = store_own_path(s, name);

	if (req->location->writers || req->location->store_folder.n > 0 ||
		(path.n > 0 && site_location(req->site, path)->writers))
		return true;
	TRACE_STEP(s->req, WRITERS, NULL, "is false, and no access rule applies to \"%s\"", name);
	return false;
}

/* Ends the upload: the gate has answered its request. */
static void refused(struct store *s)
{
	req_unhook(s->req);
	store_leave(s);
}

static void on_gate(struct h2d_req *req, enum gate_result result, void *ctx);

/* Both paths of a destination, after those of the source. */
static void gate_destination(struct store *s)
{
	enum gate_result result = GATE_GO;

	while (s->to_own.n > 0 && s->gated < 2 && result == GATE_GO)
		result = gate_pass_file(
			s->req, s->gated++ == 0 ? s->to_public : s->to_own, on_gate, s);
	if (result == GATE_GO)
		take_place(s);
	else if (result == GATE_ANSWERED)
		refused(s);
}

static void on_gate(struct h2d_req *req, enum gate_result result, void *ctx)
{
	struct store *s = ctx;

	(void)req;
	if (result == GATE_ANSWERED)
		refused(s);
	else if (result == GATE_GO && s->state == STORE_FILES)
		store_gate_files(s);
	else if (result == GATE_GO)
		gate_destination(s);
}

void store_gate(struct store *s)
{
	struct slice path;

	if (s->work.form != NULL || s->req->location->store_folder.n > 0) {
		take_place(s);
		return;
	}
	path = store_own_path(s, s->work.name);
	if (path.n > 0)
		on_gate(s->req, gate_pass_file(s->req, path, on_gate, s), s);
	else
		store_fail(s, store_errno(-ENOMEM));
}

/* The names in a form are known at its end; each has a path in the directory and one of /files. */
void store_gate_files(struct store *s)
{
	const struct store_work *w = &s->work;
	enum gate_result result = GATE_GO;
	bool asks = s->req->site->guarded && s->req->location->store_folder.n == 0;

	while (asks && s->gated < 2 * w->nfiles && result == GATE_GO) {
		const char *name = w->files[s->gated / 2]->name;
		struct slice path =
			s->gated % 2 == 0 ? store_public_path(s, name) : store_own_path(s, name);

		s->gated++;
		if (path.n == 0) {
			store_fail(s, store_errno(-ENOMEM));
			return;
		}
		if (!store_gate_has_writers(s, name)) {
			store_fail(s, store_refuse(ERR_UPLOAD_WRITERS));
			return;
		}
		result = gate_pass_file(s->req, path, on_gate, s);
	}
	if (result == GATE_GO)
		store_submit(s, STORE_PLACE);
	else if (result == GATE_ANSWERED)
		refused(s);
}
