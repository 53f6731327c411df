"""The program as it was built: what makes a fault of memory harder to use is there. A build with sanitizers, which find more,
has a part of it."""
import platform
import subprocess

import server as srv

ENDBR64 = b"\xf3\x0f\x1e\xfa"  # where an indirect call may land (-fcf-protection)


def readelf(*options):
	return subprocess.run(["readelf", "-W", *options, srv.H2D], stdout=subprocess.PIPE, text=True, check=True).stdout


def imported():
	return {line.split()[7].partition("@")[0] for line in readelf("--dyn-syms").splitlines() if " UND " in line and len(line.split()) > 7}


def test_position_independent():
	assert "DYN (Position-Independent Executable" in readelf("-h")


def test_what_was_relocated_is_read_only():
	assert "GNU_RELRO" in readelf("-l") and "BIND_NOW" in readelf("-d")


def test_no_page_is_written_and_run(site):
	stack = next(line for line in readelf("-l").splitlines() if "GNU_STACK" in line)
	assert stack.split()[6] == "RW"
	for pid in (site.pid, *site.children()):
		with open("/proc/%d/maps" % pid) as f:
			assert not [line for line in f if line.split()[1].startswith("rwx")]


def test_stack_protector():
	assert srv.SANITIZED or "__stack_chk_fail" in imported()


def test_fortified():
	checked = {name for name in imported() if name.startswith("__") and name.endswith("_chk")}
	assert srv.SANITIZED or {"__snprintf_chk", "__memcpy_chk"} <= checked, checked


def test_landing_places_of_indirect_calls():
	with open(srv.H2D, "rb") as f:
		assert srv.SANITIZED or platform.machine() != "x86_64" or f.read().count(ENDBR64) > 300
