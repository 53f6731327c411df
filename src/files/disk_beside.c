/*
 * disk_beside: what lies beside a file in a coding, and whether it decodes to it: found in a
 * thread, remembered by what both files are. Until that is known, and where it would take long, the
 * file is sent as it is. See disk.h.
 */
#include <errno.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "files/disk.h"
#include "files/escape.h"
#include "image/wait_writers.h"

enum { SETTLE_TRIES = 4, SETTLE_NS = 5000000 };

static bool is_as_it_was(const struct disk_found *o)
{
	struct file_id now;
	struct stat st;

	if (fstat(o->fd, &st) < 0)
		return false;
	now = file_id_of(&st);
	return file_id_eq(&now, &o->file_id);
}

static bool tells(const struct disk_found *o, enum beneath_kind kind, int64_t now_ns)
{
	return file_id_settled(&o->file_id, now_ns) ||
	       (kind != BENEATH_REMOTE && file_id_tells(&o->file_id, now_ns));
}

/* Until every later write moves the stamps, and what is found out may be remembered by them: a tick
 * after the last one. False: it goes on changing. */
static bool holds_still(const struct disk_found *o)
{
	enum beneath_kind kind = beneath_kind(o->fd);
	int64_t now_ns = file_id_clock_ns();

	for (int tries = 0; !tells(o, kind, now_ns); tries++) {
		if (tries == SETTLE_TRIES)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
		now_ns = file_id_clock_ns();
	}
	if (now_ns - o->file_id.ctime_ns <= WAIT_WRITERS_NS && wait_writers(o->fd, &o->file_id) < 0)
		return false;
	return is_as_it_was(o);
}

static struct decoder_bytes bytes_of(const struct disk_found *o)
{
	return (struct decoder_bytes){ o->fd, 0, o->file_id.size };
}

static bool is_long(const struct disk_found *o)
{
	return o->file_id.size > DISK_CHECKED_MAX;
}

/* In a thread. */
static int find_out(struct disk_file *f, const struct verdict_key *key,
	const struct disk_found *coded, const struct disk_found *plain)
{
	struct decoder_bytes from = bytes_of(coded), to;
	int verdict;

	if (!holds_still(coded) || (plain != NULL && !holds_still(plain)))
		return VERDICTS_UNKNOWN;
	if (plain != NULL) {
		to = bytes_of(plain);
		verdict = decoder_compare(key->coding, &from, &to);
	} else
		verdict = decoder_check(key->coding, &from);
	if (verdict < 0 || !is_as_it_was(coded) || (plain != NULL && !is_as_it_was(plain)))
		return VERDICTS_UNKNOWN;
	verdicts_put(f->disk->verdicts, key, (enum decoder_verdict)verdict);
	return verdict;
}

int disk_file_fits(struct disk_file *f, enum coding coding, const struct disk_found *coded,
	const struct disk_found *plain, bool now)
{
	struct verdict_key key = { coded->file_id, (plain != NULL ? plain : coded)->file_id,
		coding };
	int verdict = verdicts_get(f->disk->verdicts, &key);
	bool asks = verdict == VERDICTS_UNKNOWN &&
		    (plain == NULL || (!is_long(coded) && !is_long(plain)));

	if (asks && now)
		return -EAGAIN;
	if (asks)
		verdict = find_out(f, &key, coded, plain);
	if (verdict == DECODER_SAME)
		return 1;
	f->verdicts[coding] = verdict;
	return 0;
}

size_t disk_file_extend(struct disk_file *f, enum coding coding)
{
	size_t n = strlen(f->path);

	if (coding < CODINGS) {
		f->path[n] = '.';
		memcpy(f->path + n + 1, coding_extensions[coding].p, coding_extensions[coding].n);
	}
	return n;
}

void disk_file_cut(struct disk_file *f, size_t n)
{
	memset(f->path + n, '\0', DISK_EXTENSION);
}

const char *disk_file_refusal(const struct disk_file *f, enum coding coding)
{
	int verdict = f->verdicts[coding];

	if (verdict == DECODER_SAME)
		return NULL;
	return verdict == VERDICTS_UNKNOWN ? "it is not known to decode to it"
					   : decoder_reason((enum decoder_verdict)verdict);
}

static void say(const struct disk_file *f, enum coding coding)
{
	const char *name = strrchr(f->path, '/');
	char text[PATH_MAX + 128];

	snprintf(text, sizeof(text), "%s.%s is not %s in %s: %s", f->path,
		coding_extensions[coding].p, name != NULL ? name + 1 : f->path,
		coding_names[coding].p, disk_file_refusal(f, coding));
	if (escapes_first(f->disk->escapes, f->tree->path, text))
		log_warn(
			"root %s: %s; it is served as a file of its own only", f->tree->path, text);
}

void disk_file_say_refused(const struct disk_file *f)
{
	for (enum coding i = 0; i < CODINGS; i++)
		if (f->verdicts[i] != DECODER_SAME && f->verdicts[i] != VERDICTS_UNKNOWN)
			say(f, i);
}
