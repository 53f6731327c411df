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

/* The number of paths to check now. The names in a form are known at its end. */
static unsigned paths(const struct store *s)
{
	if (s->req->location->store_folder.n > 0)
		return 0;
	if (s->state == STORE_FILES)
		return s->req->site->guarded ? 2 * s->work.nfiles : 0;
	if (s->work.form != NULL)
		return 0;
	return s->to_own.n > 0 ? 3 : 1;
}

/* Finds one of them: each file of a form has one of /files and one in the directory; a
 * destination's follow that of the source. */
static struct store_result path_to_check(struct store *s, unsigned i, struct slice *path)
{
	const char *name = s->work.name;

	if (s->state == STORE_FILES) {
		name = s->work.files[i / 2]->name;
		*path = i % 2 == 0 ? store_public_path(s, name) : store_own_path(s, name);
	} else {
		*path = i == 0 ? store_own_path(s, name) : i == 1 ? s->to_public : s->to_own;
	}
	if (path->n == 0)
		return store_errno(-ENOMEM);
	return s->state != STORE_FILES || store_gate_has_writers(s, name)
		       ? STORE_OK
		       : store_refuse(ERR_UPLOAD_WRITERS);
}

static void on_gate(struct h2d_req *req, enum gate_result result, void *ctx)
{
	(void)req;
	if (result == GATE_ANSWERED)
		refused(ctx);
	else if (result == GATE_GO)
		store_gate(ctx);
}

void store_gate(struct store *s)
{
	enum gate_result result = GATE_GO;

	while (result == GATE_GO && s->gated < paths(s)) {
		struct slice path;
		struct store_result r = path_to_check(s, s->gated++, &path);

		if (!store_ok(r)) {
			store_fail(s, r);
			return;
		}
		result = gate_pass_file(s->req, path, on_gate, s);
	}
	if (result == GATE_ANSWERED)
		refused(s);
	else if (result == GATE_GO && s->state == STORE_FILES)
		store_submit(s, STORE_PLACE);
	else if (result == GATE_GO)
		take_place(s);
}
