"""zsync: of a file that differs in some places only those are fetched, by dozens of ranges in a request."""
import os

from tree import program, run


def test_edited_file(h2d, tmp_path):
	new = os.urandom(4 << 20)
	old = bytearray(new)
	for at in range(0, len(old), len(old) // 60):
		old[at:at + 3000] = bytes(3000)
	(tmp_path / "old").write_bytes(old)
	server = h2d(files={"f.bin": new})
	run(program("zsyncmake", "zsync"), "-u", "f.bin", "-o", "f.bin.zsync", "f.bin", cwd=server.root)
	run(program("zsync"), "-q", "-i", tmp_path / "old", "-o", tmp_path / "new", server.url("tcp", "/f.bin.zsync"))
	assert (tmp_path / "new").read_bytes() == new
	assert server.status()["totals"]["bytes_out"] < len(new) // 4
