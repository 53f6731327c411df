"""h2d -s drain and undrain: a machine is taken out of its load balancers and put back, and serves all the while."""
import os
import signal
import socket
import threading

import pytest

import client
from procs import DEADLINE, wait_for
from server import H2D
from test_45_sites import extra_port

ADMIN = b"drained by h2d -s drain; h2d -s undrain ends it\n"


def health(server, how="tcp"):
	with server.connect(how) as c:
		answer = c.get("/healthz")
		assert answer.get("cache-control") == "no-store"
		return answer.status, answer.body


def health_of_admin(server):
	with client.Client.unix(server.admin_path) as c:
		answer = c.get("/healthz")
		return answer.status, answer.body


def metrics(server):
	with client.Client.unix(server.admin_path) as c:
		return c.get("/metrics").body.decode()


def is_drained(server):
	"""What everybody says of it, who must agree."""
	drained = server.status()["unhealthy"] == ["drained"]
	assert health_of_admin(server) == ((503, ADMIN) if drained else (200, b"ok\n"))
	assert health(server) == ((503, b"draining\n") if drained else (200, b"ok\n"))
	assert 'h2d_unhealthy{reason="drained"} %d\n' % drained in metrics(server)
	return drained


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_drain(h2d, dispatch):
	"""Each worker says so, over each protocol, and everything else is as before, on old connections and new ones."""
	server = h2d(dispatch=dispatch, workers=2, files={"page": "page", "files/a": "a"},
		server='upload-dir = "files"  upload-public = true')
	assert not is_drained(server)
	with server.connect("tls") as old:
		assert old.get("/page").status == 200
		done = server.run("-s", "drain", check=0)
		assert done.out == "drained: health check fails, requests are still served\n" and not done.err
		assert is_drained(server) and health(server, "tls") == (503, b"draining\n")
		for _ in range(8):  # of both workers
			assert health(server)[0] == 503
		with server.h1("tcp") as one, server.connect("tcp") as two:
			assert one.get("/healthz").status == two.get("/healthz").status == 503
			for c in (old, one, two):
				assert c.get("/page").body == b"page"
			assert two.request("PUT", "/files/b", body=b"b").status == 201
			assert server.run("-s", "undrain", check=0).out == "undrained: health check passes\n"
			assert [c.get("/healthz").status for c in (old, one, two)] == [200] * 3
	assert not is_drained(server)
	said = [line.rpartition(": ")[2] if "fails" in line else line for line in server.log.find("health check")]
	assert len(said) == 2 and said[0] == "drained" and said[1].endswith("health check passes again")


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_a_check_by_name_or_without(h2d, dispatch):
	"""What a balancer asks is answered by health, wherever people are sent elsewhere; a redirect would count as up."""
	server = h2d(dispatch=dispatch, server='redirect = "https://there.example/"  upload-dir = ""',
		sections='listen "127.0.0.1:0" { redirect-to-https = true }')
	ports = server.ports["tcp"], extra_port(server)

	def ask(port, text):
		with socket.create_connection(("127.0.0.1", port), DEADLINE) as s:
			s.sendall(text.encode())
			return int(s.makefile("rb").readline().split()[1])

	def asked():
		return [ask(port, "%s /healthz HTTP/1.%s\r\n\r\n" % (method, rest)) for port in ports for method in ("GET", "HEAD")
			for rest in ("0", "0\r\nhost: h2d", "1\r\nhost: 10.0.0.5\r\nconnection: close")]
	assert asked() == [200] * 12
	server.run("-s", "drain", check=0)
	assert asked() == [503] * 12
	for port in ports:
		assert ask(port, "GET /healthz HTTP/1.1\r\n\r\n") == 400, "RFC 9112, 3.2"
		assert ask(port, "GET /page HTTP/1.1\r\nhost: h2d\r\n\r\n") in (301, 308)


def test_twice_and_in_vain(h2d):
	server = h2d()
	assert server.run("-s", "undrain", check=0).out == "undrained: health check passes\n"
	for _ in range(2):
		server.run("-s", "drain", check=0)
		assert is_drained(server)
	assert len(server.log.find("health check")) == 1
	server.quit()
	assert "no h2d is running" in server.run("-s", "drain", check=1).err


@pytest.mark.parametrize("dispatch", ["reuseport", "acceptor"])
def test_it_outlasts(h2d, dispatch):
	"""A worker that dies, a reload that fails and one that does not, an upgrade: until undrain or a restart."""
	server = h2d(dispatch=dispatch, workers=2)
	server.run("-s", "drain", check=0)
	worker = server.worker_pids()[0]
	os.kill(worker, signal.SIGKILL)
	server.log.wait("process %d" % worker)
	server.wait_up()
	assert is_drained(server)
	good = server.conf_text
	server.put_conf(good + "nonsense")
	server.run("-s", "reload", check=1)
	assert is_drained(server)
	server.put_conf(good)
	done = server.reload()
	assert "health check still fails: drained" in done.out
	server.wait_up(2)
	assert is_drained(server)
	done = server.upgrade()
	assert "health check still fails: drained" in done.out
	server.wait_up()
	assert is_drained(server)
	server.run("-s", "undrain", check=0)
	assert not is_drained(server)
	server.allow_alert("signal 9")


def test_a_restart_ends_it(h2d):
	server = h2d()
	server.run("-s", "drain", check=0)
	assert server.quit() == 0
	server.start()
	assert not is_drained(server)


def test_with_a_delayed_stop(h2d):
	"""On an admin listener each reason is told."""
	server = h2d(conf="shutdown-delay = 600")
	server.run("-s", "drain", check=0)
	server.signal(signal.SIGQUIT)
	wait_for(lambda: server.status()["unhealthy"] == ["leaving", "drained"])
	assert health_of_admin(server) == (503, b"h2d is shutting down\n" + ADMIN)
	assert health(server) == (503, b"draining\n")
	server.signal(signal.SIGQUIT)
	assert server.wait_exit() == 0


def test_between_reloads(h2d):
	"""However many ask at once, each -s says the truth of its own request, and the last one counts."""
	server = h2d(workers=1)
	failures = []

	def ask(name, times):
		for _ in range(times):
			done = server.run("-s", name)
			if done.returncode:
				failures.append((name, done.err))

	server.baseline = None
	server.lint.forget()
	threads = [threading.Thread(target=ask, args=args) for args in (("reload", 3), ("drain", 6))]
	for thread in threads:
		thread.start()
	for thread in threads:
		thread.join()
	assert not failures
	assert is_drained(server)
	server.run("-s", "undrain", check=0)
	assert not is_drained(server)


@pytest.mark.skipif(not os.path.exists(H2D + "-top"), reason="built without jansson")
def test_top(h2d):
	server = h2d(conf='instance-name = "web-1"')
	assert "health 200" in server.run("top", "--once", check=0).out
	server.run("-s", "drain", check=0)
	out = server.run("top", "--once", check=0).out
	assert "health 503: drained" in out and "web-1" in out.splitlines()[0]
