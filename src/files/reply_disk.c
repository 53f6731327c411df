/*
 * reply_disk: selects the file to look for on the disk, and answers when the result is known.
 * Called by reply_file.c; never opens a file. See reply_file.h.
 */
#include "files/reply_file.h"

#include <errno.h>

#include "base/counters.h"
#include "base/log.h"
#include "files/reply_conditional.h"
#include "http/cond.h"
#include "http/date.h"
#include "http/mime.h"
#include "request/trace.h"

void reply_disk_fail(struct file_reply *a, int status)
{
	a->req->location = a->of_path;
	if (a->page_status == 0) {
		reply_conditional_error(a->req, status);
		return;
	}
	body_close(&a->req->reply.body);
	reply_own_page(a->req, a->page_status);
}

void reply_disk_no_memory(struct file_reply *a)
{
	if (a->page_status == 0) {
		a->req->location = a->of_path;
		reply_conditional_no_memory(a->req);
	} else {
		reply_disk_fail(a, ERR_NO_MEMORY->status);
	}
}

void reply_disk_settings(struct h2d_req *req, struct slice path)
{
	const struct location *rule = site_file_settings(req->location, path);

	if (rule != req->location)
		TRACE_STEP(req, FILES, TRACE_AT(rule, block), "apply to \"%.*s\"", SLICE_ARG(path));
	req->location = rule;
}

static void tell_coding(
	struct h2d_req *req, const struct disk_file *file, unsigned seen, bool varies)
{
	if (!varies)
		return;
	if (file->coding < CODINGS)
		TRACE_STEP(req, CODING, NULL, "%s, from the precompressed file",
			coding_names[file->coding].p);
	else if (!(seen & COND_ACCEPT_ENCODING))
		TRACE_STEP(req, CODING, NULL, TRACE_NO_CODING);
	else
		TRACE_STEP(req, CODING, NULL, "none: %s",
			file->has_beside ? "the client accepts none of the precompressed files"
					 : "the file is neither precompressed nor cached");
}

void reply_disk_send(struct file_reply *a, struct disk_file *file)
{
	struct h2d_req *req = a->req;
	char *date = arena_alloc(&req->arena, DATE_LEN + 1);
	const struct mime *mime = mime_find(req->location->types, a->name);
	struct reply_conditional r = {
		.type = mime_content_type(mime, req->location->charset, &req->arena),
		.etag = etag_slice(&file->etag),
		.mtime = file->mtime,
		.coding = file->coding,
		.varies = mime_varies(mime_packs(req->location->types, mime),
			site_codings(req->location, a->files->codings), file->has_beside),
	};

	COUNT(cache_misses, 1);
	req->record.source = REQ_SOURCE_DISK;
	if (__builtin_expect(req->env->conf.traced, false)) {
		trace_found(req, a->root, a->name, "disk");
		tell_coding(req, file, a->seen, r.varies);
	}
	if (date == NULL || r.type.p == NULL ||
		((file->uploaded || doc_root_is_upload(&a->files->roots[a->root], a->name)) &&
			reply_conditional_sandbox(req) < 0)) {
		reply_disk_no_memory(a);
		return;
	}
	if (r.varies && r.coding == CODING_IDENTITY && !a->plain) {
		reply_conditional_refuse(req, true, 406);
		return;
	}
	date_format(r.mtime, date);
	r.last_modified = slice_of(date, DATE_LEN);
	req->reply.body.left = file->file_id.size;
	if (a->page_status == 0 && req->location->nrules > 0)
		reply_disk_settings(req, a->name);
	file->range.wanted =
		req->location->sendfile && req->conn != NULL && req->conn->takes_ranges;
	if (a->page_status == 0)
		reply_conditional(req, &r, a->seen);
	else
		reply_conditional_page(req, &r, a->page_status);
}

bool reply_disk_is_missing(int rc)
{
	switch (-rc) {
	case EISDIR:
	case ENOENT:
	case ENOTDIR:
	case EXDEV:
	case ELOOP:
	case ENAMETOOLONG:
	case ENXIO:
	case ENODEV:
		return true;
	default:
		return false;
	}
}

void reply_disk_refuse(struct file_reply *a, const struct disk_file *file, int rc)
{
	bool refused = rc == -EACCES || rc == -EPERM;

	if (refused)
		TRACE_STEP(a->req, FILE, TRACE_AT(a->req->location, root), "\"%.*s\": %s",
			SLICE_ARG(a->name), strerror(-rc));
	log_peer(refused ? LEVEL_INFO : LEVEL_ERROR, "%s: %s", file->path, strerror(-rc));
	reply_disk_fail(a, refused ? 403 : 503);
}

bool reply_disk_sends(const struct file_reply *a, const struct disk_file *file)
{
	if (a->req->method == H2D_HEAD)
		return false;
	return a->page_status != 0 ||
	       reply_conditional_proceeds(a->req, etag_slice(&file->etag), file->mtime, a->seen);
}

/*
 * Files beside the requested one may contain it in a coding, made by other programs, except in a
 * directory of uploads. Without codings of our own the answer varies only if one exists, so all are
 * looked for.
 */
static void look_beside(struct file_reply *a, struct disk_file *file)
{
	const struct h2d_req *req = a->req;
	unsigned left = (1u << CODINGS) - 1;
	enum coding coding;

	a->plain = true;
	if (!mime_packs(req->location->types, mime_find(req->location->types, a->name)))
		return;
	if (!req->location->precompressed || doc_root_is_upload(&a->files->roots[a->root], a->name))
		left = 0;
	if (a->seen & COND_ACCEPT_ENCODING) {
		while ((coding = coding_memo_choose(
				&a->files->memo, req->fields, req->nfields, left)) < CODINGS) {
			disk_file_beside(file, coding, true);
			left &= ~(1u << coding);
		}
		a->plain = coding == CODING_IDENTITY || a->page_status != 0;
	}
	for (unsigned c = 0; c < CODINGS && site_codings(req->location, a->files->codings) == 0;
		c++)
		if (left >> c & 1)
			disk_file_beside(file, (enum coding)c, false);
}

struct disk_file *reply_disk_file(struct file_reply *a)
{
	struct disk_file *file = disk_file_new(a->files->disk, a->req, a->root, a->name);

	body_close(&a->req->reply.body);
	if (file == NULL) {
		reply_disk_no_memory(a);
		return NULL;
	}
	disk_file_attach(file, &a->req->reply.body);
	file->ctx = a;
	file->links = a->links;
	if (doc_root_is_upload(&a->files->roots[a->root], a->name)) {
		file->links &= ~(unsigned)BENEATH_LEAVE;
		file->asks = true;
	}
	look_beside(a, file);
	return file;
}
