#!/usr/bin/python3
"""What scripts/bench says of its results: a table for the terminal, a picture, and one page that needs nothing else."""
import html
import json
import sys

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #2b2822 }
.title { font-size: 17px; font-weight: 600 }
.load { font-weight: 600 }
.quiet { fill: #6b6557 }
rect { fill: #b3ab9b }
.h2d { fill: #b4472b }
.spread { stroke: #2b2822; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text { fill: #ece7dc }
.quiet { fill: #a59d8c }
rect { fill: #5d584c }
.h2d { fill: #e98a6c }
.spread { stroke: #ece7dc }
}
"""

PAGE_STYLE = """
:root { color-scheme: light dark; --text: #2b2822; --quiet: #635d50; --back: #fbf9f5; --line: #ddd6c8 }
@media (prefers-color-scheme: dark) { :root { --text: #ece7dc; --quiet: #aea696; --back: #1d1b18; --line: #45403a } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 2rem auto; max-width: 60rem;
	padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.1rem; margin-top: 2.5rem }
p, dl { color: var(--quiet) } dt { float: left; clear: left; width: 11rem } dd { margin-left: 11rem; overflow-wrap: anywhere }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child { text-align: left } svg { max-width: 100%; height: auto; display: block }
tr.h2d td { font-weight: 600 } @media (max-width: 40rem) { dt { float: none } dd { margin-left: 1rem } }
"""


def number(value, form="%.2f"):
	return "-" if value is None else form % value


def ratio(s):
	"""With "=" where the spreads overlap: no significant difference."""
	return marked(s["ratio"], s.get("alike"))


def marked(value, alike):
	return number(value) + (" =" if alike else "")


def table(results):
	"""Behind the ratio those to further servers (--base)."""
	bases = list(dict.fromkeys(name for servers in results.values() for s in servers.values() for name in s.get("to", ())))
	head = ("load", "server", "CPU us/req", "ratio", *("to " + name for name in bases), "req/s", "p50 us", "p99 us", "PSS KiB", "failed")
	rows = [head]
	for load, servers in results.items():
		for name, s in servers.items():
			to = s.get("to", {})
			rows.append((load, name, number(s["cpu_us"]), ratio(s), *(marked(*to[base]) if base in to else "-" for base in bases),
				number(s["req_s"], "%.0f"), number(s["p50_us"], "%.0f"),
				number(s["p99_us"], "%.0f"), number(s["pss_kib"], "%.0f"), str(s["failed"])))
			load = ""
	width = [max(len(row[i]) for row in rows) for i in range(len(head))]
	return "\n".join("  ".join(cell.ljust(width[i]) if i < 2 else cell.rjust(width[i])
		for i, cell in enumerate(row)) for row in rows)


# --- pictures ----------------------------------------------------------------------------------------


def bars(servers, y):
	"""A bar per server from y on, with the spread of its rounds over it; its lines of SVG."""
	top = max([s["cpu_us"] or 0 for s in servers.values()] + [(s.get("spread_us") or [0, 0])[1] for s in servers.values()] + [1e-9])
	wide, out = 380, []
	for name, s in servers.items():
		value = s["cpu_us"] or 0
		out.append('<text x="36" y="%d">%s</text>' % (y, html.escape(name)))
		out.append('<rect class="%s" x="150" y="%d" width="%.1f" height="15" rx="3"/>'
			% ("h2d" if name.startswith("h2d") else "peer", y - 12, max(1, value / top * wide)))
		if s.get("spread_us"):
			low, high = (150 + v / top * wide for v in s["spread_us"])
			out.append('<path class="spread" d="M%.1f %dH%.1fM%.1f %dv6M%.1f %dv6"/>'
				% (low, y - 4, high, low, y - 7, high, y - 7))
		said = number(s["cpu_us"]) + ("" if s["ratio"] is None else " (%s)" % ratio(s))
		out.append('<text class="quiet" x="%.1f" y="%d">%s</text>' % (160 + wide, y, said))
		y += 22
	return out


def picture(lines, height, more=""):
	return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 %d">\n%s%s\n</svg>\n' % (height, more, "\n".join(lines))


def plot(results):
	"""One group of bars per load, each group on its own scale: bodies cost a thousand times more."""
	out, y = [], 64
	for load, servers in results.items():
		out.append('<text class="load" x="20" y="%d">%s</text>' % (y, html.escape(load)))
		out += bars(servers, y + 22)
		y += 22 * len(servers) + 38
	return picture(out, y, '<style>%s</style>\n<text class="title" x="20" y="30">Server CPU per request, µs (ratio)</text>\n' % STYLE)


# --- the page ----------------------------------------------------------------------------------------


def section(load, servers):
	head = "<tr><th>server<th>CPU µs/request<th>spread<th>ratio<th>requests/s<th>p50 µs<th>p99 µs<th>PSS KiB<th>failed</tr>"
	rows = []
	for name, s in servers.items():
		cells = (html.escape(name), number(s["cpu_us"]),
			"–".join(number(v) for v in s["spread_us"]) if s.get("spread_us") else "-", ratio(s),
			*(number(s[key], "%.0f") for key in ("req_s", "p50_us", "p99_us", "pss_kib")), str(s["failed"]))
		rows.append('<tr%s>%s</tr>' % (' class="h2d"' if name.startswith("h2d") else "", "".join("<td>%s" % c for c in cells)))
	return '<h2>%s</h2>\n%s<div class="wide"><table>%s%s</table></div>\n' % (html.escape(load),
		picture(bars(servers, 22), 22 * len(servers) + 14), head, "\n".join(rows))


def page(found):
	"""found: what bench.json has. All in one: no other file and no other server is asked for anything."""
	facts = dict(found["about"])
	versions = facts.pop("versions", {})
	told = [(key.replace("_", " "), value) for key, value in facts.items()] + list(versions.items())
	return """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%(title)s</title>
<link rel="icon" href="data:,">
<style>%(style)s</style>
<h1>%(title)s</h1>
<p>CPU time that the server needs per request: smaller is better. Each bar is the median of rounds in which the servers took
turns, the line over it their spread. The ratio is to %(base)s; “=” behind it: the spreads overlap, which is no significant
difference.</p>
%(sections)s<h2>How it was measured</h2>
<dl>%(facts)s</dl>
</html>
""" % {"title": html.escape(found.get("title", "h2d beside other servers")), "style": PAGE_STYLE + STYLE,
		"base": html.escape(found.get("base", "nghttpd, over HTTP/1.1 to nginx")),
		"sections": "".join(section(load, servers) for load, servers in found["results"].items()),
		"facts": "".join("<dt>%s<dd>%s" % (html.escape(str(k)), html.escape(str(v))) for k, v in told)}


def main():
	"""Usage: bench_report.py BENCH.JSON >PAGE.HTML"""
	with open(sys.argv[1]) as f:
		sys.stdout.write(page(json.load(f)))


if __name__ == "__main__":
	main()
