/*
 * fuzz_ticket_file: any bytes as a file of keys of session tickets. What is taken is the file, key
 * by key; what is not leaves no key and says why.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "driver.h"
#include "tls/tls_tickets.h"

static bool is_zero(const void *p, size_t n)
{
	const uint8_t *bytes = p;

	while (n > 0 && bytes[n - 1] == 0)
		n--;
	return n == 0;
}

static bool is_good(const uint8_t *data, size_t size)
{
	if (size == 0 || size % TLS_TICKETS_KEY != 0 || size > TLS_TICKETS_MAX * TLS_TICKETS_KEY)
		return false;
	for (size_t at = 0; at < size; at += TLS_TICKETS_KEY)
		if (is_zero(data + at, TLS_TICKETS_KEY))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("keys", MFD_CLOEXEC);
	char path[40], why[160] = "";
	struct tls_tickets keys;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&keys, 0xff, sizeof(keys));
	if (tls_tickets_read(path, &keys, why, sizeof(why))) {
		H2D_ASSERT(is_good(data, size) && keys.n == size / TLS_TICKETS_KEY);
		H2D_ASSERT(memcmp(keys.keys, data, size) == 0);
	} else {
		H2D_ASSERT(!is_good(data, size) && is_zero(&keys, sizeof(keys)));
		H2D_ASSERT(strstr(why, path) != NULL);
	}
	close(fd);
	return 0;
}
