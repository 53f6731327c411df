/* build_id: reads the notes of the mapped program; opens no file. */
#include "base/build_id.h"

#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 32, ALIGN = 4 };

static char text[2 * BYTES_MAX + 1];

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void build_id_look(const char *p, size_t n)
{
	ElfW(Nhdr) note;

	while (n >= sizeof(note)) {
		size_t name, all;

		memcpy(&note, p, sizeof(note));
		name = aligned(note.n_namesz);
		all = sizeof(note) + name + aligned(note.n_descsz);
		if (all > n)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
			memcmp(p + sizeof(note), "GNU", sizeof("GNU")) == 0)
			for (size_t i = 0; i < note.n_descsz && i < BYTES_MAX; i++)
				snprintf(text + 2 * i, 3, "%02x",
					(unsigned char)p[sizeof(note) + name + i]);
		p += all;
		n -= all;
	}
}

/* The program is the first object. */
static int on_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size, (void)ctx;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			build_id_look((const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				info->dlpi_phdr[i].p_memsz);
	return 1;
}

const char *build_id(void)
{
	if (text[0] == '\0')
		dl_iterate_phdr(on_object, NULL);
	return text[0] != '\0' ? text : "unknown";
}
