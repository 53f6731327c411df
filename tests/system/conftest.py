"""Registers the harness; see harness.py."""
import os
import sys

sys.dont_write_bytecode = sys.pycache_prefix is None
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402


def pytest_configure(config):
	if not config.pluginmanager.has_plugin("h2d-harness"):
		config.pluginmanager.register(harness, "h2d-harness")
