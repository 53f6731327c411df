"""Registers the harness of the system tests (../system/harness.py), and has what all clients ask for."""
import os
import sys

sys.dont_write_bytecode = sys.pycache_prefix is None
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import harness  # noqa: E402
import pytest  # noqa: E402

import tree  # noqa: E402
from server import Server  # noqa: E402
from uploads import PUBLIC, folder  # noqa: E402


def pytest_configure(config):
	if not config.pluginmanager.has_plugin("h2d-harness"):
		config.pluginmanager.register(harness, "h2d-harness")


@pytest.fixture(scope="module")
def server(cert):
	"""The tree, by two workers, and uploads; one server for all tests of a file, looked over when they are done."""
	made = Server(cert, workers=2, files=tree.FILES, server=PUBLIC)
	os.mkdir(folder(made))
	for name in tree.FILES:
		os.utime(os.path.join(made.root, name), (tree.MODIFIED, tree.MODIFIED))
	try:
		yield made.start(image=True).wait_coded(["text.html"]).wait_tagged("/body")
	except BaseException:
		made.finish(failed=True)
		raise
	made.finish()


@pytest.fixture(params=["h2", "h1", "h1.0"])
def protocol(request):
	"""What a client speaks; see tree.py."""
	return request.param
