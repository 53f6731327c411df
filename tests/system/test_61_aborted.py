"""Connections that their clients reset, in each phase: descriptors, counters and memory are as before. H2D_ABORTS: how many."""
import os
import socket
import struct

import client
import procs
import server as srv

ABORTS = int(os.environ.get("H2D_ABORTS", "150"))
ROUNDS = 5
SPARE = 4 << 20  # bytes that an allocator may keep
PUT = b"PUT /files/cut HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 20000


def nothing(server):
	return server.socket("tcp")


def nothing_tls(server):
	s = server.socket("tcp")
	s.close()
	return socket.create_connection(("127.0.0.1", server.ports["tls"]), procs.DEADLINE)


def half_a_hello(server):
	s, hello = nothing_tls(server), client.hello()
	s.sendall(hello[:len(hello) // 2])
	return s


def hello_without_finish(server):
	s = nothing_tls(server)
	s.sendall(client.hello())
	s.recv(1)
	return s


def handshake(server):
	return server.socket("tls")


def sent(data, how="tcp", answer=0):
	def phase(server):
		s = server.socket(how)
		s.sendall(data)
		if answer:
			s.recv(answer)
		return s
	return phase


def h2_request(path, window, end_stream=True):
	def phase(server):
		raw = server.raw("tls", settings={client.hf.SettingsFrame.INITIAL_WINDOW_SIZE: window})
		raw.send(raw.headers(1, raw.head(path, "GET" if end_stream else "PUT"), end_stream=end_stream))
		if end_stream:
			assert raw.status_of(1) == 200
		return raw.sock
	return phase


PHASES = {
	"nothing": nothing, "nothing_tls": nothing_tls, "half_a_hello": half_a_hello, "hello_without_finish": hello_without_finish,
	"handshake": handshake,
	"preface": sent(client.PREFACE), "half_a_head": sent(b"GET / HTTP/1.1\r\nhost: loc"),
	"request": sent(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n"),
	"reply": sent(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n", answer=100),
	"listing": sent(b"GET /files/ HTTP/1.1\r\nhost: localhost\r\n\r\n"),
	"upload": sent(PUT), "upload_tls": sent(PUT, "tls"),
	"h2_reply": h2_request("/large", 1000), "h2_upload": h2_request("/files/cut", 1000, False),
}


def abort(server, phase):
	s = phase(server)
	s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
	s.close()


def test_aborted(h2d):
	server = h2d.new(server='autoindex = true\nupload-dir = "files"\nupload-public = true', files={"large": os.urandom(3000000)})
	os.mkdir(os.path.join(server.root, "files"))
	server.start(image=True)
	worker = server.worker_pids()[0]

	def all_of(n):
		for phase in PHASES.values():
			for _ in range(n):
				abort(server, phase)
		server.wait_quiet()
		return procs.private_memory(worker)
	all_of(max(1, ABORTS // ROUNDS // 5))
	memory = [all_of(max(1, ABORTS // ROUNDS)) for _ in range(ROUNDS)]
	descriptors = server.settled_kinds(worker)
	assert descriptors == server.baseline[0], descriptors - server.baseline[0]
	assert srv.SLOW > 1 or memory[-1] <= max(memory[:3]) + SPARE, memory
	assert server.worker_pids() == [worker]
	assert set(os.listdir(os.path.join(server.root, "files"))) <= {".h2d-lock"}, "what was cut is not there"
