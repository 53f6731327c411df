/* auth_known: see auth_known.h. Sets of four, chosen by a byte of the key that the tag leaves out.
 */
#include "request/auth_known.h"

#include <stddef.h>

static uint16_t tag_of(const uint8_t *key)
{
	return (uint16_t)(key[1] << 8 | key[2]);
}

static int find(const struct auth_known *k, const uint8_t *key)
{
	for (int i = 0; i < AUTH_KNOWN_WAYS; i++)
		if (k->v[key[0]][i].until_ms > 0 && k->v[key[0]][i].tag == tag_of(key))
			return i;
	return -1;
}

bool auth_known_has(const struct auth_known *k, const uint8_t *key, uint64_t now_ms)
{
	int i = find(k, key);

	return i >= 0 && k->v[key[0]][i].until_ms > now_ms;
}

void auth_known_add(struct auth_known *k, const uint8_t *key, uint64_t now_ms)
{
	int place = find(k, key);

	if (place < 0) {
		place = 0;
		for (int i = 1; i < AUTH_KNOWN_WAYS; i++)
			if (k->v[key[0]][i].until_ms < k->v[key[0]][place].until_ms)
				place = i;
	}
	k->v[key[0]][place].tag = tag_of(key);
	k->v[key[0]][place].until_ms = now_ms + AUTH_KNOWN_MS;
}

void auth_known_remove(struct auth_known *k, const uint8_t *key)
{
	int i = find(k, key);

	if (i >= 0)
		k->v[key[0]][i].until_ms = 0;
}
