"""The tables of docs/reference, from the .def files of the source."""
import pathlib
import re

SRC = pathlib.Path(__file__).resolve().parents[1] / "src"


def rows(name):
	"""(macro, fields) of each row; a field is text, or None for NULL."""
	text = re.sub(r"0x\w+ /\* (\w+) \*/", r"\1", (SRC / name).read_text()) # the name of a code of HTTP/2
	text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
	for macro, row in re.findall(r'^([A-Z]\w*)\(((?:"(?:[^"\\]|\\.)*"|[^")])*)\)', text, re.M):
		fields = [word or string.replace('\\"', '"') for string, word in re.findall(r'"((?:[^"\\]|\\.)*)"|([^\s,"]+)', row)]
		yield macro, [None if field == "NULL" else field for field in fields]


def table(heads, lines):
	text = ["| %s |" % " | ".join(str(cell or "").replace("|", "\\|") for cell in line) for line in [heads, ["---"] * len(heads), *lines]]
	return "\n" + "\n".join(text) + "\n"


def metrics():
	"""As board/metrics.c names them: a counter has the name of its row in metrics.def, or its own."""
	named, found = {fields[0]: fields[1:] for _, fields in rows("board/metrics.def")}, {}

	def add(name, kind, help, labels=(), label=None, value=None):
		there = found.setdefault("h2d_" + name, (kind, help, list(labels), []))
		if label:
			there[2][len(labels):] = [label]
			there[3].append("`%s`" % value)
	for macro, (name, *fields) in rows("base/counters.def"):
		if macro == "HISTOGRAM":
			add(name.removesuffix("_us") + "_seconds", "histogram", fields[0])
			continue
		metric, label, value, help = named.get(name) or (name.removesuffix("_total"), None, None, None)
		total = fields[0] == "TOTAL"
		add(metric + "_total" * total, "counter" if total else "gauge", help or fields[1], ["worker"], label, value)
	for _, (_, metric, label, value, help) in rows("board/board_counts.def"):
		add(metric + "_total", "counter", help, (), label, value)
	for _, (name, help) in rows("base/cache_facts.def"):
		add("cache_" + name, "gauge", help)
	text = (SRC / "board/metrics.c").read_text()
	for kind, name, help in re.findall(r'(?:metrics_family\(\s*o, METRICS_(\w+)|\bput_number\(o), "(\w+)",\s*((?:"[^"]*"\s*)+)[,)]', text):
		end = {"COUNTER": "_total", "INFO": "_info"}.get(kind, "")
		add(name + end, {"COUNTER": "counter", "HISTOGRAM": "histogram"}.get(kind, "gauge"), "".join(re.findall(r'"([^"]*)"', help)))
	return table(["Metric", "Type", "Labels", "Help"], [["`%s`" % name, kind, ", ".join(labels) + (": " + ", ".join(values) if values else ""), help]
		for name, (kind, help, labels, values) in found.items()])


def errors():
	limits = {fields[0] for _, fields in rows("base/err_limits.def")}
	by_status = {}
	for _, (name, status, code, scope, level, text) in rows("base/err.def"):
		by_status.setdefault(status, []).append([text, scope.lower(), "" if code == "NO_ERROR" else code, level.lower(), "yes" if name in limits else ""])
	reasons = {fields[0]: "%s %s" % tuple(fields) for _, fields in rows("http/reason.def")}
	return "".join("\n## %s\n%s" % (reasons.get(status, "Without a response"), table(["Text", "Ends", "HTTP/2 code", "Level", "Counted as a limit"], lines))
		for status, lines in sorted(by_status.items(), key=lambda item: int(item[0]) or 999))


def options():
	text, lines = "", []

	def flush():
		return table(["Option", "Argument", "What it does"], lines) if lines else ""
	for macro, fields in rows("cli/options.def"):
		if macro == "GROUP":
			text, lines = text + flush() + "\n## %s\n" % fields[0], []
		elif macro == "OPTION":
			name, arg, code, _, _, help = fields
			letter = "`-%s`, " % code[1] if code[0] == "'" else ""
			lines.append([letter + "`--%s`" % name, arg and "`%s`" % arg, help or "the same as the option above"])
	return text + flush()


PAGES = {"reference/metrics": metrics, "reference/errors": errors, "reference/options": options}
