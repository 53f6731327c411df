/*
 * file_seen: compares what stat(2) says of a file at two times, and asks for a lease to see whether
 * the file is open for writing. Tls_cert and tls_client_ca_load call it.
 */
#include "base/file_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Longer than any pause of a program that writes a file. NFSv4 refuses leases of files that nobody
 * writes, too. */
#define WRITING_NS (INT64_C(10) * 1000000000)

/*
 * Whoever opens the file for writing while it has our lease waits for us, and we would be told by
 * SIGIO, which ends a process: by SIGURG, which does nothing, instead.
 */
static bool is_open_for_writing(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is;

	if (fd < 0)
		return false;
	is = fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 &&
	     errno == EAGAIN;
	close(fd);
	return is;
}

static bool is_new(const struct file_id *id, int64_t now_ns)
{
	int64_t age = now_ns - id->ctime_ns;

	return age >= 0 && age < WRITING_NS;
}

static struct file_id id_of(const char *file, bool *regular)
{
	struct stat st;

	if (*file == '\0' || stat(file, &st) < 0)
		return (struct file_id){ 0 };
	*regular = S_ISREG(st.st_mode);
	return file_id_of(&st);
}

void file_seen_note(struct file_seen *s, const char *file)
{
	int64_t now = file_id_clock_ns();
	bool regular = false;

	s->id = id_of(file, &regular);
	s->doubtful = s->id.ino != 0 && !file_id_tells(&s->id, now);
	if (!s->doubtful && regular && is_new(&s->id, now))
		s->doubtful = is_open_for_writing(file);
}

bool file_seen_changed(const struct file_seen *s, const char *file)
{
	bool regular;
	struct file_id is = id_of(file, &regular);

	return s->doubtful || !file_id_eq(&is, &s->id);
}
