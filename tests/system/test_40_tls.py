"""TLS: versions, ALPN, resumption, records of any size, handshakes that go wrong."""
import os
import socket
import ssl
import subprocess
import time

import pytest

import client
import procs
from keyupdates import KeyUpdates
from server import SLOW

BODY = os.urandom(700000)


def handshake(server, **options):
	return client.tls_socket(server.ports["tls"], context=client.tls_context(**options))


def test_no_alpn(site):
	"""HTTP/1.1; without ALPN there is no HTTP/2 over TLS (RFC 9113, 3.2), not even with its preface."""
	with site.h1("tls", alpn=()) as c:
		assert c.sock.selected_alpn_protocol() is None
		assert c.get("/").status == 200
	with site.h1("tls", alpn=()) as c:
		c.send_bytes(client.PREFACE)
		assert c.response().status == 505


def test_old_versions_are_refused(site):
	context = client.tls_context()
	context.minimum_version = ssl.TLSVersion.TLSv1
	context.maximum_version = ssl.TLSVersion.TLSv1_1
	context.set_ciphers("ALL:@SECLEVEL=0")
	with pytest.raises((ssl.SSLError, ConnectionResetError)):
		client.tls_socket(site.ports["tls"], context=context)


def test_configured_versions(h2d, cert):
	server = h2d.new()
	server.put_conf(server.conf_text.replace("tls { ", 'tls { protocols = {"TLSv1.3"}  '))
	server.start()
	with handshake(server) as s:
		assert s.version() == "TLSv1.3"
	with pytest.raises((ssl.SSLError, ConnectionResetError)):
		handshake(server, maximum=ssl.TLSVersion.TLSv1_2)


def test_slow_reader(h2d):
	"""A client that reads little by little gets every byte: blocked writes are resumed as they were."""
	server = h2d(files={"body": BODY})
	plain = socket.socket()
	plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
	plain.settimeout(60)
	plain.connect(("127.0.0.1", server.ports["tls"]))
	tls = client.tls_context().wrap_socket(plain, server_hostname="localhost")
	from h2.settings import SettingCodes
	c = client.Client(tls, scheme="https", settings={SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20},
		credit=False)
	c.window(1 << 22)
	streams = [c.send(path="/body") for _ in range(3)]
	for stream in streams:
		assert c.response(stream).body == BODY
	c.close()


def test_handshakes_are_measured(h2d):
	"""Each that was completed is in one bucket of the histogram; others are in none."""
	server = h2d(workers=2)
	for _ in range(8):
		with server.connect("tls") as c:
			assert c.get("/").status == 200
	socket.create_connection(("127.0.0.1", server.ports["tls"]), client.DEADLINE).close()
	status = procs.wait_for(lambda: (lambda s: s["totals"]["handshake_failures"] == 1 and s)(server.status()),
		said="the one without a handshake is gone")
	measured = status["totals"]["handshake_us"]
	assert measured["count"] == sum(measured["buckets"].values()) == 8
	assert measured["sum"] > 8 * 50
	assert sum(w["handshake_us"]["count"] for w in status["workers"]) == 8


@pytest.mark.parametrize("end", ["nothing", "half hello", "garbage", "hello"])
def test_broken_handshakes(site, end):
	before, data = site.status()["totals"], client.hello()
	text = {"nothing": b"", "half hello": data[:len(data) // 2],
		"garbage": b"\x16\x03\x01\x00\x40" + b"\xff" * 300,
		"hello": data}[end]
	pid = site.worker_pids()[0]
	accepted = [socket.create_connection(("127.0.0.1", site.ports["tls"]), client.DEADLINE)
		for _ in range(5)]
	procs.wait_for(lambda: site.status()["totals"]["handshakes"] == 5, said="accepted")
	with procs.paused(pid):  # so that it sees the bytes and the end in one event
		for s in accepted:
			s.sendall(text)
			s.close()
	for _ in range(5):
		with socket.create_connection(("127.0.0.1", site.ports["tls"]), client.DEADLINE) as s:
			s.sendall(text)
			if end == "garbage":
				try:
					while s.recv(1000):
						pass
				except ConnectionResetError:
					pass
			else:
				with site.connect(
						"tls") as c:  # it has seen the bytes by now; the end follows
					assert c.get("/").status == 200
	totals = procs.wait_for(lambda: (now := site.status()["totals"])["handshake_failures"] >= before[
		"handshake_failures"] + 10 and now, said="failures are counted")
	assert totals["timeouts"] == before["timeouts"], "before any timeout"


def test_openssl_sees_the_chain(site, cert):
	done = subprocess.run(["openssl", "s_client", "-connect",
		"127.0.0.1:%d" % site.ports["tls"], "-CAfile",
		cert.cert, "-verify_return_error", "-alpn", "h2", "-servername", "localhost"],
		input=b"", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
	assert b"Verify return code: 0 (ok)" in done.stdout
	assert b"ALPN protocol: h2" in done.stdout
	assert b"Secure Renegotiation IS NOT" not in done.stdout or b"TLSv1.3" in done.stdout


def longest_wait_beside_key_updates(server, pid):
	"""Of a client that asks again and again; and how many records there were."""
	attacker = KeyUpdates(server.ports["tls"])
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
		with procs.paused(pid):  # so that all of it is there at once
			records = attacker.fill()
		longest = 0
		for _ in range(100 // SLOW):
			began = time.monotonic()
			assert c.get("/").status == 200
			longest = max(longest, time.monotonic() - began)
	attacker.close()
	server.wait_quiet(60)
	return longest, records


def test_key_updates_do_not_hold_up_others(h2d):
	"""Records that are work and no bytes are read a little per turn: one client's do not stop the loop."""
	server = h2d()
	pid = server.worker_pids()[0]
	for _ in range(20):  # a machine may have much else to do
		longest, records = longest_wait_beside_key_updates(server, pid)
		assert records > 10000
		if longest < 0.4 * SLOW:
			break
	assert longest < 0.4 * SLOW, "%.2f s" % longest
