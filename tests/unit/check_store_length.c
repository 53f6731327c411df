/* store: a name or an offset whose length wrapped is the handler's fault, whatever is asked about
 * it. */

#include "files_unit.h"
#include "unit.h"

TEST_SIGNAL(length_that_wrapped, 5, SIGABRT)
{
	struct h2d_req *req = malloc(sizeof(*req));
	size_t n = 0;

	req_init(req, &unit_env, NULL, &unit_stream);
	n--;
	switch (_i) {
	case 0:
		h2d_store(req, "d", n, NULL);
		break;
	case 1:
		h2d_store_remove(req, "d", n, NULL);
		break;
	case 2:
		h2d_store_resumable(req, "d", n, NULL);
		break;
	case 3:
		h2d_store_resume(req, "d", n, "u", 1, NULL);
		break;
	default:
		h2d_store_resume(req, "d", 1, "u", n, NULL);
		break;
	}
}
