"""What scripts/coverage says at its end, out of gcc's counters: python3 coverage_report.py BUILD-FOLDER."""
import collections
import json
import os
import subprocess
import sys

LEAST = 70  # percent: files below it are named


def objects(folder):
	for place, _, names in os.walk(os.path.join(folder, "src")):
		yield from (os.path.join(place, name) for name in names if name.endswith(".gcno"))


def reached(folder, top):
	"""{file of src: {line: times}}, {(file, first line, function): times}: what a header has is in many objects."""
	found, functions = collections.defaultdict(collections.Counter), collections.Counter()
	paths = sorted(objects(folder))
	for i in range(0, len(paths), 50):
		out = subprocess.run(["gcov", "--json-format", "--stdout", *paths[i:i + 50]], cwd=folder, stdout=subprocess.PIPE,
			stderr=subprocess.DEVNULL, check=True).stdout
		for line in out.splitlines():
			report = json.loads(line)
			for file in report["files"]:
				path = os.path.relpath(os.path.join(report["current_working_directory"], file["file"]), top)
				if path.startswith("src" + os.sep):
					for row in file["lines"]:
						found[path][row["line_number"]] += row["count"]
					for row in file["functions"]:
						functions[path, row["start_line"], row["name"]] += row["execution_count"]
	return found, functions


def percent(lines):
	return 100 * sum(1 for n in lines if n) / len(lines)


def main(folder):
	top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
	found, functions = reached(folder, top)
	found = {path: list(lines.values()) for path, lines in found.items() if lines}
	folders = collections.defaultdict(list)
	for path, lines in found.items():
		folders[os.path.dirname(path)] += lines
	for name in sorted(folders):
		print("%-14s %6d lines %5.1f %%" % (name, len(folders[name]), percent(folders[name])))
	every = [n for lines in folders.values() for n in lines]
	print("%-14s %6d lines %5.1f %%" % ("all", len(every), percent(every)))
	for path in sorted((p for p in found if percent(found[p]) < LEAST), key=lambda p: percent(found[p])):
		print("%-40s %5.1f %% of %d" % (path, percent(found[path]), len(found[path])))
	for place in sorted(place for place, n in functions.items() if n == 0):
		print("%s:%d: %s is not called" % place)


main(sys.argv[1])
