"""What else keeps health from saying 200: no cache image yet."""
import pytest

from procs import wait_for
from test_91_drain import health, health_of_admin


def says(server, *reasons):
	wait_for(lambda: server.status()["unhealthy"] == list(reasons), said="unhealthy: %s" % (reasons,))


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_image(h2d, dispatch):
	"""The first one ends it, which may come before the master looks and logs; check_reload has what is before, and the reload."""
	server = h2d(dispatch=dispatch, workers=2, conf="health-waits-for-cache = true", files={"page": "page"})
	says(server)
	assert server.status()["image"] > 0 and health(server) == (200, b"ok\n") == health_of_admin(server)
	said = [line.rpartition("health check ")[2] for line in server.log.find("health check")]
	assert said in (["fails: image", "passes again"], [])


def test_image_of_nothing(h2d):
	"""Without a cache none is waited for, and by default none is either."""
	for conf in ("health-waits-for-cache = true  cache { max-size = 0 }", ""):
		server = h2d(listens=("tcp",), conf=conf)
		assert health(server) == (200, b"ok\n") and not server.log.find("health check")
