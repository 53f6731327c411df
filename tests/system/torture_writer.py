"""Changes its share of the torture's files without pause, and writes down when it did what.

Usage: torture_writer.py ROOT NUMBER OF LOG   Ends when standard input does. LOG is a pickled list of
(file, version, begun, done): between begun and done the file was no whole version, and since done it is
this one; None: it is no more. Times are CLOCK_MONOTONIC, the same for all processes.
"""
import os
import pickle
import random
import select
import sys
import time

import torture

PAUSE = 0.002
# The large ones take a writer's time and the disk's.
LARGE = 0.04

root, number, of, log_path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = random.Random(number)
versions, log = {}, []


def write(path, data, flags):
	fd = os.open(path, os.O_WRONLY | flags, 0o644)
	begun = time.monotonic()
	n = os.write(fd, data)
	done = time.monotonic()
	os.close(fd)
	assert n == len(data)
	return begun, done


def change(file):
	kind = torture.KIND[file].lower()
	path = os.path.join(root, torture.NAMES[file])
	version = versions[file] = versions[file] + 1
	data = torture.content(file, version)
	if kind == "r":
		temporary = os.path.join(root, ".%d.new" % number)
		write(temporary, data, os.O_CREAT | os.O_TRUNC)
		begun = time.monotonic()
		os.rename(temporary, path)
		done = time.monotonic()
	elif kind == "p":
		begun, done = write(path, data, 0)
	elif kind == "t":
		begun = time.monotonic()
		_, done = write(path, data, os.O_TRUNC)
	else:
		begun = time.monotonic()
		os.unlink(path)
		log.append((file, None, begun, time.monotonic()))
		time.sleep(rng.choice((0, 0, 0.001, 0.05)))
		_, done = write(path, data, os.O_CREAT | os.O_EXCL)
		begun = log[-1][2]
	log.append((file, version, begun, done))


files = [file for file in range(len(torture.NAMES)) if file % of == number]
small = [file for file in files if torture.KIND[file].islower()]
large = [file for file in files if torture.KIND[file].isupper()]
for file in files:
	versions[file] = 0
	write(os.path.join(root, torture.NAMES[file]), torture.content(file, 0), os.O_CREAT | os.O_TRUNC)
print("ready", flush=True)
sys.stdin.readline()
# Some are changed all the time, and some rest long enough to be cached and compressed.
calm = [file for file in small if file // of % 3 == 0]
busy = [file for file in small if file // of % 3]
while not select.select([sys.stdin], [], [], PAUSE)[0]:
	luck = rng.random()
	change(rng.choice(large if luck < LARGE else calm if luck < 2 * LARGE else busy))
with open(log_path, "wb") as f:
	pickle.dump(log, f)
