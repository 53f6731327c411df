"""scripts/bench --beside: how long small answers take beside bulk downloads, over h2c and TLS (bench_beside.c is the client).

64 clients ask for 612 bytes again and again while eight downloads of 100 MiB go on, two of them on connections of these
clients. Reported are p50 and p99 of the small answers, those of the two that share a connection by themselves, and what the
downloads got; ratios are of the p99, to h2o's of the same round.
"""
import json
import os
import re
import statistics
import subprocess
import sys

from bench_measure import TOP, Load, Progress, spread
from bench_report import number

SMALL, LARGE = "/small.html", "/100m.bin"
LOADS = [Load("h2c", False, 64, 1, SMALL, 612), Load("TLS", True, 64, 1, SMALL, 612)]
FILES = LOADS + [Load("bulk", False, 8, 1, LARGE, 100 << 20)]
PEERS = ("nghttpd", "nginx", "h2o")
SAYS = re.compile(r"(\d+) answers, p50 (\d+) us, p99 (\d+) us; shared: p99 (\d+) us; bulk (\d+) MiB/s; (\d+) failed\n")
KEYS = ("answers", "p50_us", "p99_us", "shared_p99_us", "bulk_mib_s", "failed")


def compile_client(work):
	program = os.path.join(work, "bench_beside")
	done = subprocess.run(["cc", "-O2", "-o", program, os.path.join(TOP, "scripts", "bench_beside.c"), "-lnghttp2", "-lssl", "-lcrypto"],
		stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	if done.returncode:
		sys.exit(done.stdout[:2000])
	return program


def measure(env, client, server, load, seconds):
	argv = [client, "tls" if load.tls else "h2c", str(server.ports[load.tls]), SMALL, LARGE, str(seconds)]
	out = subprocess.run(argv, stdout=subprocess.PIPE, text=True, preexec_fn=env.on_client_cpu).stdout
	found = SAYS.fullmatch(out)
	if not found:
		sys.exit("%s: the client says %r" % (server.name, out))
	return dict(zip(KEYS, map(int, found.groups())))


def summary(rounds, base):
	"""Medians; of the ratios, those of rounds that were side by side."""
	s = {key: statistics.median(r[key] for r in rounds) for key in KEYS}
	s["spread_us"] = spread([r["p99_us"] for r in rounds])
	s["ratio"] = statistics.median(r["p99_us"] / b["p99_us"] for r, b in zip(rounds, base)) if base else None
	s["failed"] = sum(r["failed"] for r in rounds)
	return s


def table(results):
	rows = [("612 B beside 100 MiB", "server", "answers", "p50 us", "p99 us", "spread", "ratio", "shared p99", "bulk MiB/s", "failed")]
	for load, servers in results.items():
		for name, s in servers.items():
			rows.append((load, name, "%d" % s["answers"], "%d" % s["p50_us"], "%d" % s["p99_us"], "%d-%d" % tuple(s["spread_us"]),
				number(s["ratio"]), "%d" % s["shared_p99_us"], "%d" % s["bulk_mib_s"], "%d" % s["failed"]))
			load = ""
	width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
	return "\n".join("  ".join(cell.ljust(w) if i < 2 else cell.rjust(w)
		for i, (cell, w) in enumerate(zip(row, width))) for row in rows)


def run(env, servers, rounds, seconds):
	client, results = compile_client(env.work), {}
	progress = Progress(len(LOADS) * len(servers) * (rounds + 1))
	for load in LOADS:
		found = {s.name: [] for s in servers}
		for i in range(rounds + 1):
			turn = i % len(servers)
			for s in servers[turn:] + servers[:turn]:
				one = measure(env, client, s, load, seconds)
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
