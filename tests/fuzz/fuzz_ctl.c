/*
 * fuzz_ctl: what processes say to the master: any bytes from any of them. The master goes on, and
 * heeds nothing that a kind may not say.
 */
#include "../unit/model_unit.h"
#include "driver.h"

static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	if (fd >= 0)
		close(fd);
	return fd;
}

/* A message: of another size, or with descriptors, it would be the end of the process. */
static void process_say(const struct process *p, const struct ctl_msg *msg)
{
	struct watch *w = &p->place->ctl;

	H2D_ASSERT(ctl_send(p->ctl, msg, NULL, 0) == 0);
	w->fn(w, EPOLLIN);
}

static void begin(void)
{
	static const char text[] =
		"listen \"127.0.0.1:0\" { tls = false }\nerror-log = \"/dev/null\"\n"
		"cache { max-size = 0 }\nworker-processes = 2\ndispatch = acceptor\n"
		"user = \"root\"\nserver \"_\" { root = \"/tmp\" }\n";
	int fd = mkstemp(conf_path);
	struct ctl_msg up = { .type = CTL_UP };

	H2D_ASSERT(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	close(fd);
	set_clock(1000000);
	master_make(0);
	sides[0].life = LIFE_RUNS;
	reload_begin(&sides[0].m);
	unlink(conf_path);
	H2D_ASSERT(nprocesses == 3);
	for (unsigned i = 0; i < nprocesses; i++)
		process_say(&processes[i], &up);
	settle_all();
	H2D_ASSERT(sides[0].m.phase == MASTER_SERVE);
}

/* "process, in one byte; a message" again and again; behind the last are zeros. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_msg room = { .type = CTL_FULL };
	int first_fd;

	if (sides[0].life == LIFE_NONE)
		begin();
	first_fd = next_fd();
	set_clock(now + 1000);
	while (size > 1) {
		struct process *p = &processes[*data % 3];
		size_t n = size - 1 < sizeof(struct ctl_msg) ? size - 1 : sizeof(struct ctl_msg);
		struct ctl_msg msg = { 0 };

		memcpy(&msg, data + 1, n);
		process_say(p, &msg);
		settle_all();
		H2D_ASSERT(sides[0].m.phase == MASTER_SERVE && sides[0].m.gens.n == 1);
		data += n + 1;
		size -= n + 1;
	}
	for (unsigned i = 0; i < 2; i++)
		process_say(&processes[i], &room);
	settle_all();
	H2D_ASSERT(next_fd() == first_fd);
	return 0;
}
