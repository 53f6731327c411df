"""Node's http2, http and https modules; see client.js."""
import os

import pytest

from tree import FILES, program, run

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.js")


@pytest.mark.parametrize("protocol", ["http2", "http"])
def test_node(server, how, protocol):
	done = run(program("node", "nodejs"), SCRIPT, protocol, server.url(how), server.root, *sorted(FILES))
	assert int(done.stdout) > 40 * len(FILES)
