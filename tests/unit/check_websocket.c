/* check_websocket: the states of a WebSocket. What it says and hears is in check_ws and in
 * tests/system/test_47_websocket.py. */
#include "api/websocket.h"

#include "states_unit.h"
#include "unit.h"

START_TEST(states)
{
	states_unit_walk(&websocket_states, "OPEN>ASKED OPEN>ENDED ASKED>ENDED", NULL);
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("websocket");

	tcase_add_test(c, states);
	return c;
}

UNIT_MAIN("websocket")
