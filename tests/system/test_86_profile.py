"""scripts/profile: whom perf(1) is to look at, under which load, and what becomes of the samples. perf and h2load stand-ins
keep what they were asked for: a processor that is measured for seconds is no test."""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from server import H2D

TOP = pathlib.Path(__file__).resolve().parents[2]
# Three samples: two of them in the kernel, at different depths there, one without a name.
SAMPLES = r"""
ffffffff81a00010 tcp_sendmsg+0x10 ([kernel.kallsyms])
ffffffff81a00020 do_syscall_64 ([kernel.kallsyms])
          4a1f10 conn_write+0x30 (/usr/sbin/h2d)
          4a1000 conn_work (/usr/sbin/h2d)
          401000 main (/usr/sbin/h2d)

ffffffff81a00020 do_syscall_64 ([kernel.kallsyms])
          4a1f10 conn_write+0x30 (/usr/sbin/h2d)
          4a1000 conn_work (/usr/sbin/h2d)
          401000 main (/usr/sbin/h2d)

          4b0000 operator<(a&, b&) (/usr/sbin/h2d)
    7f0000000000 [unknown] (/usr/lib/libc.so.6)
          401000 main (/usr/sbin/h2d)
"""
PERF = """#!/bin/sh
echo "$@" >>"$SAID/asked"
for pid in $(echo "$@" | sed -n 's/.* -p \\([0-9,]*\\) .*/\\1/p' | tr , ' '); do cat /proc/$pid/comm >>"$SAID/watched"; done
[ "$1" = record ] || cat "$SAID/samples" # which perf script fails for where there are none
"""
H2LOAD = """#!/bin/sh
echo "$@" >"$SAID/load"
for url; do :; done
case $url in https:*) version=--http2 ;; *) version=--http2-prior-knowledge ;; esac
curl -sSk $version -o "$SAID/body" -w '%{http_code} %{http_version}' "$url" >"$SAID/answer"
"""


def profile(path, *arguments, samples=SAMPLES):
	"""samples None: perf fails."""
	for name, text in (("perf", PERF), ("h2load", H2LOAD)):
		(path / name).write_text(text)
		(path / name).chmod(0o755)
	if samples is not None:
		(path / "samples").write_text(samples)
	return subprocess.run([sys.executable, TOP / "scripts" / "profile", "--h2d", H2D, "--seconds", "1", "-o", path / "graph.svg", *arguments],
		env=dict(os.environ, PATH="%s:%s" % (path, os.environ["PATH"]), SAID=str(path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("load, size", [("-c 3 -m 2 /64k.bin", 65536), ("-c 3 -m 2 tls:/small.html", 612)], ids=["h2c", "tls"])
def test_whom_it_looks_at(tmp_path, load, size):
	done = profile(tmp_path, load)
	assert done.returncode == 0, done
	assert (tmp_path / "load").read_text().startswith("-D 3 -c 3 -m 2 http")
	assert (tmp_path / "answer").read_text() == "200 2" and (tmp_path / "body").stat().st_size == size
	assert len((tmp_path / "watched").read_text().split("\n")) >= 3, "a worker and the keeper"
	assert "record" in (tmp_path / "asked").read_text()


def test_what_it_makes_of_samples(tmp_path):
	done = profile(tmp_path)
	tree = re.findall(r"^ *([\d.]+) %( +)(\S+)", done.stdout, re.M)
	assert [(share, len(depth) // 2, name) for share, depth, name in tree] == [("100.0", 1, "main"), ("66.7", 2, "conn_work"),
		("66.7", 3, "conn_write"), ("66.7", 4, "kernel"), ("33.3", 2, "[unknown]"), ("33.3", 3, "operator<(a&,")], done.stdout
	titles = [t.text for t in xml.etree.ElementTree.parse(tmp_path / "graph.svg").iter("{http://www.w3.org/2000/svg}title")]
	assert "main: 100.0 %" in titles and "kernel: 66.7 %" in titles and "operator<(a&, b&): 33.3 %" in titles


def test_nothing_was_seen(tmp_path):
	done = profile(tmp_path, samples="")
	assert done.returncode == 1 and "perf has seen nothing" in done.stderr and not (tmp_path / "graph.svg").exists()


def test_perf_fails(tmp_path):
	"""The server does not stay: whoever reads what the program says would wait for its end."""
	done = profile(tmp_path, samples=None)
	assert done.returncode == 1 and "perf" in done.stderr and not (tmp_path / "graph.svg").exists()
