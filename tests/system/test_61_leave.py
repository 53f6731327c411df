"""Clients that leave at any moment: of WebSockets, replies made of the body, topics and work in threads at once. Every
start() has its gone(), each work its done(), and nothing is left. H2D_LEAVE_SECONDS: how long."""
import contextlib
import os
import random
import time

import websocket
from client import Closed, Late
from procs import together
from test_47_handlers import PATIENT, handlers  # noqa: F401 (a fixture)
from websocket import BINARY, PING, TEXT, Refused, close_frame, frame

SECONDS = float(os.environ.get("H2D_LEAVE_SECONDS", "4"))
CLIENTS = 6


def open_socket(server, rng, speak):
	connect = websocket.ByUpgrade if speak == "h1" else websocket.ByConnect
	path = rng.choice(["/t/websocket/echo", "/t/websocket/later", "/chat/a", "/t/strict"])
	return connect((server.h1 if speak == "h1" else server.connect)(rng.choice(["tcp", "tls"]), timeout=PATIENT), path)


def on_socket(server, rng, speak):
	"""Some frames, cut off at any byte; some of what comes."""
	with open_socket(server, rng, speak) as ws:
		data = b"".join(rng.choice([frame(TEXT, b"hello"), frame(BINARY, bytes(rng.randrange(3000))),
			frame(TEXT, b"send 20 5000"), frame(TEXT, b"begun", fin=False) + frame(0), frame(PING, b"p"),
			frame(TEXT, b"pause 5"), close_frame(1000)]) for _ in range(rng.randrange(12)))
		ws.write(data[:rng.randrange(len(data) + 1)])
		for _ in range(rng.randrange(6)):
			ws.client.sock.settimeout(0.02)
			ws.receive(0.02)


def on_body(server, rng, speak):
	"""A body that is sent back, threads in between or not, and is not sent to its end."""
	when = rng.choice(["start", "body", "end"]) + rng.choice(["", "?work", "?limit=9000", "?fail=9000"])
	with (server.h1 if speak == "h1" else server.connect)("tcp", timeout=PATIENT) as c:
		if speak == "h1":
			body = c.head("POST", "/t/duplex/" + when, [("content-length", "100000")]) + bytes(100000)
			c.ask("POST", "/t/duplex/" + when)
			c.send_bytes(body[:rng.randrange(len(body))])
			return
		stream = c.send("POST", "/t/duplex/" + when, body=bytes(rng.randrange(60000)), end=False)
		if rng.random() < 0.5:
			c.conn.reset_stream(stream, 8)
			c.flush()


def on_topic(server, rng, speak):
	"""Listens, says something, leaves; or asks a timer, or a thread, and does not wait."""
	with (server.h1 if speak == "h1" else server.connect)("tcp", timeout=PATIENT) as c:
		c.send(path=rng.choice(["/chat/a", "/later/50", "/events?20", "/t/topic/chat", "/t/wake/20"]))
		with server.h1(timeout=PATIENT) as other:
			other.request("POST", "/chat/a", body=b"x" * rng.randrange(4000))


def client(server, seed, end, failed):
	rng = random.Random(seed)
	try:
		while time.monotonic() < end:
			with contextlib.suppress(Closed, Late, Refused, OSError):
				rng.choice([on_socket, on_socket, on_body, on_topic])(server, rng, rng.choice(["h1", "h2"]))
	except BaseException as e:
		failed.append(e)
		raise


def numbers(server, path):
	with server.h1(timeout=PATIENT) as c:
		return [int(word) for word in c.get(path).body.split() if word.isdigit()]


def test_clients_leave_at_any_moment(handlers):
	server = handlers(sections="sandbox { network = true }")
	end, failed = time.monotonic() + SECONDS, []
	together(CLIENTS, lambda seed: client(server, seed, end, failed))
	assert not failed
	server.wait_quiet(PATIENT)
	sockets, gones, closes = numbers(server, "/t/websocket/counts")[:3]
	# Its own start is among them; not all were accepted, or have a closed().
	assert sockets == gones + 1 and 0 < closes < sockets
	starts, gones, mistakes, works, dones = numbers(server, "/t/duplex/counts")
	assert (starts, works, mistakes) == (gones, dones, 0) and starts > 0
	server.baseline = None
	print("WebSockets: %d starts and gones, %d closed; replies made of bodies: %d starts and gones, %d works and dones"
		% (sockets - 1, closes, starts, works))
