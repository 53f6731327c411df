"""scripts/bench --beside: how long small answers take beside bulk downloads, over h2c and TLS by h2load.

64 clients ask for 612 bytes again and again while eight downloads of 100 MiB go on. Reported are p50 and p99 of the small answers,
and what the downloads got; ratios are of the p99, to h2o's of the same round.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

from bench_measure import Load, Progress, percentiles, spread
from bench_report import number

SMALL, LARGE = "/small.html", "/100m.bin"
LOADS = [Load("h2c", False, 64, 1, SMALL, 612), Load("TLS", True, 64, 1, SMALL, 612)]
FILES = LOADS + [Load("bulk", False, 8, 1, LARGE, 100 << 20)]
PEERS = ("nghttpd", "nginx", "h2o")
KEYS = ("answers", "p50_us", "p99_us", "bulk_mib_s", "failed")


def measure(env, server, load, seconds):
	"""An h2load asks for the small file while another one downloads, which begins half a second earlier and ends later."""
	log, times = os.path.join(env.work, "beside.log"), ["--warm-up-time=0", "-t1", "-m1"]
	bulk = subprocess.Popen(["h2load", *times, "-c8", "-D%dms" % (1000 * (seconds + 1)), "-w30", "-W30", server.url(load, LARGE)],
		stdout=subprocess.PIPE, text=True, preexec_fn=env.on_client_cpu)
	time.sleep(0.5)
	small = subprocess.run(["h2load", *times, "-c%d" % load.connections, "-D%dms" % (1000 * seconds), "--log-file=" + log, server.url(load)],
		stdout=subprocess.PIPE, text=True, preexec_fn=env.on_client_cpu).stdout
	loaded = bulk.communicate()[0]
	p50, p99 = percentiles(log)
	os.unlink(log)
	done = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", small)
	bytes_of = re.search(r"traffic: .*\((\d+)\) total", loaded)
	if not done or not bytes_of or p50 is None:
		sys.exit("%s: h2load says %r and %r" % (server.name, small, loaded))
	answers, failed, errored = map(int, done.groups())
	return dict(zip(KEYS, (answers, p50, p99, int(bytes_of.group(1)) / (seconds + 1) / (1 << 20), failed + errored)))


def summary(rounds, base):
	"""Medians; of the ratios, those of rounds that were side by side."""
	s = {key: statistics.median(r[key] for r in rounds) for key in KEYS}
	s["spread_us"] = spread([r["p99_us"] for r in rounds])
	s["ratio"] = statistics.median(r["p99_us"] / b["p99_us"] for r, b in zip(rounds, base)) if base else None
	s["failed"] = sum(r["failed"] for r in rounds)
	return s


def table(results):
	rows = [("612 B beside 100 MiB", "server", "answers", "p50 us", "p99 us", "spread", "ratio", "bulk MiB/s", "failed")]
	for load, servers in results.items():
		for name, s in servers.items():
			rows.append((load, name, "%d" % s["answers"], "%d" % s["p50_us"], "%d" % s["p99_us"], "%d-%d" % tuple(s["spread_us"]),
				number(s["ratio"]), "%d" % s["bulk_mib_s"], "%d" % s["failed"]))
			load = ""
	width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
	return "\n".join("  ".join(cell.ljust(w) if i < 2 else cell.rjust(w)
		for i, (cell, w) in enumerate(zip(row, width))) for row in rows)


def run(env, servers, rounds, seconds):
	results = {}
	progress = Progress(len(LOADS) * len(servers) * (rounds + 1))
	for load in LOADS:
		found = {s.name: [] for s in servers}
		for i in range(rounds + 1):
			turn = i % len(servers)
			for s in servers[turn:] + servers[:turn]:
				one = measure(env, s, load, seconds)
				if i > 0:  # the first is a warm-up
					found[s.name].append(one)
				progress.step(load.name, "round %d of %d, %s" % (i, rounds, s.name))
		results[load.name] = {name: summary(r, found.get("h2o")) for name, r in found.items()}
	return results


def main(env, o, servers):
	results = run(env, servers, o.rounds, o.seconds)
	os.makedirs(o.out, exist_ok=True)
	with open(os.path.join(o.out, "beside.json"), "w") as f:
		json.dump(results, f, indent=1)
	print(table(results))
