"""HACKING.md tells the truth: the picture of a request's way names functions that exist where it says,
and calls that are made; what it lists as states and rows is in the tables."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]

def picture():
	text = (TOP / "HACKING.md").read_text()
	block = text.split("## The way of a request\n")[1].split("\n##")[0]
	return [line for line in block.splitlines() if line.startswith("    ") and line.strip()]


def sources():
	return {str(p.relative_to(TOP / "src")): p.read_text() for p in (TOP / "src").rglob("*.[ch]")}


def body_of(name, files):
	"""The text of the function called name, None if there is none."""
	for text in files.values():
		m = re.search(r"^[a-z][^\n;{}()]*\b%s\([^;{}]*\)\n\{\n(.*?)^\}" % name, text, re.M | re.S)
		if m:
			return m.group(1)
	return None


def calls(body, callee):
	"""By name, or over a seam: h2_input as ->input(…), start as ->start(…)."""
	return re.search(r"\b%s\(|->%s\(" % (callee, callee.rsplit("_", 1)[-1]), body)


def test_the_way_of_a_request():
	files = sources()
	named = 0
	for line in picture():
		told = re.sub(r"\S+\.[chd]\w*|transport->\w+|handler->\w+|body->\w+", "", line)
		for name in re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", told):
			if not name.startswith(("nghttp2_", "epoll_")):
				assert body_of(name, files) is not None, f"{name}: no such function"
				named += 1
		for caller, callee in re.findall(r"\b(\w+) (?=→ (\w+))", told):
			body = body_of(caller, files)
			assert body is not None and calls(body, callee), f"{caller} does not call {callee}"
	assert named > 30


def test_states_are_those_of_the_tables():
	text = (TOP / "HACKING.md").read_text()
	for label, path, macro in (("connection", "server/conn_state.def", "CONN_STATE"),
			("request", "http/req_state.def", "REQ_STATE")):
		told = re.search(r"^    %s +([A-Z →]+?)  " % label, text, re.M).group(1).split(" → ")
		rows = re.findall(r"^%s\((\w+)," % macro, (TOP / "src" / path).read_text(), re.M)
		assert told == rows


def test_every_layer_is_listed():
	text = (TOP / "HACKING.md").read_text()
	for folder in (TOP / "src").iterdir():
		if folder.is_dir() and any(folder.glob("*.c")):
			assert f"| `src/{folder.name}/` |" in text
