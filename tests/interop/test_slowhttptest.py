"""slowhttptest: a thousand connections that hardly go on, and others are served all the time."""
import csv
import os
import subprocess
import time

import pytest

import procs

CONNECTIONS, SECONDS = 1000, 12
MODES = {
	"head": (["-H", "-i", "3"], "/"),
	"body": (["-B", "-i", "3", "-s", "100000", "-t", "PUT"], "/files/slow"),
	"read": (["-X", "-w", "1", "-y", "16", "-n", "3", "-z", "4", "-k", "3"], "/page"),
}


@pytest.mark.parametrize("mode", list(MODES))
def test_slowhttptest(h2d, mode):
	options, path = MODES[mode]
	server = h2d.new(conf="worker-connections = 4096", files={"page": b"x" * 200000},
		server='upload-dir = "files"\nupload-public = true')
	os.mkdir(os.path.join(server.root, "files"))
	server.start()
	tool = subprocess.Popen(["slowhttptest", *options, "-c", str(CONNECTIONS), "-r", "400", "-l", str(SECONDS), "-p",
		str(int(procs.DEADLINE)), "-g", "-o", "found", "-v", "1", "-u", server.url("tcp", path)],
		cwd=server.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
	most = 0
	while tool.poll() is None:
		for connect in (server.h1, server.connect):
			with connect("tcp") as c:
				assert c.get("/page").status == 200
		most = max(most, server.status()["totals"]["connections"])
		time.sleep(0.2)
	with open(server.path("found.csv")) as f:
		rows = list(csv.DictReader(f))
	assert len(rows) > SECONDS // 2 and most > CONNECTIONS // 2
	assert all(row["Service Available"] != "0" for row in rows), rows
