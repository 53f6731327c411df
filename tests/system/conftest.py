"""Registers the harness, see harness.py, and has what tests of this folder share."""
import os
import sys

import pytest

sys.dont_write_bytecode = sys.pycache_prefix is None
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402


def pytest_configure(config):
	if not config.pluginmanager.has_plugin("h2d-harness"):
		config.pluginmanager.register(harness, "h2d-harness")


@pytest.fixture(params=["h2", "h1"])
def speak(request):
	"""The protocol of a test."""
	return request.param


@pytest.fixture
def connect(speak):
	"""connect(server, how): by that protocol."""
	return lambda server, how="tcp", **options: (
		server.connect(how, **options) if speak == "h2" else server.h1(how, **options))
