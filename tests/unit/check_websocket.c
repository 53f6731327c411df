/* check_websocket: the states of a WebSocket. What it says and hears is in check_ws and in
 * tests/system/test_47_websocket.py. */
#include "api/websocket.h"

#include "states_unit.h"
#include "unit.h"

TEST(states)
{
	states_unit_walk(&websocket_states, "OPEN>ASKED OPEN>ENDED ASKED>ENDED", NULL);
}
