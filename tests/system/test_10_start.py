"""Command line, configuration faults, start and stop."""
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import pytest

import client
import procs
import server as srv
from harness import need_ipv6, needs_root

NOBODY = 65534


def h2d_run(*args, timeout=60, **options):
	done = subprocess.run(srv.WRAPPER + [srv.H2D, *args], stdout=subprocess.PIPE,
		stderr=subprocess.PIPE, timeout=timeout, stdin=subprocess.DEVNULL, **options)
	done.out = done.stdout.decode("utf-8", "replace")
	done.err = done.stderr.decode("utf-8", "replace")
	assert "Sanitizer" not in done.err, done.err
	assert " alert " not in done.err, done.err
	return done


def test_version():
	done = h2d_run("-V")
	assert done.returncode == 0
	assert re.match(r"h2d \d+\.\d+", done.out), done.out
	assert "nghttp2" in done.out and "OpenSSL" in done.out
	features = re.search(r"^features: (.*)$", done.out, re.M).group(1).split()
	for coding, library in (("br", "brotli"), ("zstd", "zstd"), ("gzip", "zlib")):
		assert (coding in features) == bool(re.search(rf"^{library} \d+\.", done.out, re.M))
	assert h2d_run("--version").out == done.out


def test_help():
	done = h2d_run("-h")
	assert done.returncode == 0
	for option in ("--config", "--root", "--port", "--key", "--cert", "--workers", "--h2c",
			"--dispatch", "--access-log",
			"--pid-file", "--test", "--dump", "--routes", "--signal", "--wait", "--version",
			"--help"):
		assert option in done.out, option
	top = subprocess.run([os.path.join(os.path.dirname(os.path.realpath(srv.H2D)), "h2d-top"), "--help"], capture_output=True, text=True)
	assert top.returncode == 0 and "--once" in top.stdout
	wide = [line for line in (done.out + top.stdout).splitlines() if len(line) > 80 and "Without -f" not in line]  # it has a path
	assert not wide, wide
	assert h2d_run("--help").out == h2d_run("-t", "-h").out == h2d_run("-h", "-t").out == done.out


@pytest.mark.parametrize("args", [
	("--no-such-option",), ("-f",), ("-s", "dance"), ("-p", "banana", "--h2c", "-r", "/"),
	("surplus",),
	("-d", "no-such-mode", "-p", "0", "--h2c", "-r", "/"),
	# Of two actions one would be passed over, and thought to be done.
	("-s", "stop", "-t"), ("-t", "-s", "reload"), ("-s", "reload", "-s", "stop"), ("-T", "--explain", "/"), ("-V", "-t"),
], ids=" ".join)
def test_usage(args):
	done = h2d_run(*args)
	assert done.returncode == 2, (done.returncode, done.err)
	assert done.err.startswith("h2d: "), done.err
	assert done.out == ""


def test_routes():
	done = h2d_run("--routes")
	assert done.returncode == 0
	assert re.search(r"GET\S*\s+/files/\{file_name\}\s+files_download", done.out), done.out
	assert "/healthz" in done.out and "/status.json" in done.out


def test_dump_is_a_configuration(h2d):
	server = h2d.new(sections='cache { max-size = "3M" }\nlimits { max-concurrent-streams = 77 }',
		server='index = {"a.html", "b.html"}')
	first = server.run("-T", "--all", check=0)
	assert re.search(r"max-size\s*=\s*\"?3M", first.out), first.out
	assert re.search(r"max-concurrent-streams\s*=\s*77\b", first.out)
	assert re.search(r"shutdown-timeout\s*=\s*30\b", first.out), "defaults are included"
	again = server.path("again.conf")
	with open(again, "w") as f:
		f.write(first.out)
	assert h2d_run("-t", "-f", again).returncode == 0
	assert h2d_run("-T", "--all", "-f", again).out == first.out
	short = server.run("-T", check=0)
	assert "shutdown-timeout" not in short.out and "max-concurrent-streams = 77" in short.out and "timeouts" not in short.out
	with open(again, "w") as f:
		f.write(short.out)
	assert h2d_run("-T", "-f", again).out == short.out
	assert h2d_run("-T", "--all", "-f", again).out == first.out


def test_check_binds_nothing(h2d):
	"""-t beside a running server that holds the very same port and pid file."""
	server = h2d()
	server.put_conf(server.conf_text.replace("127.0.0.1:0",
		"127.0.0.1:%d" % server.ports["tcp"], 1))
	server.run("-t", check=0)
	with server.connect("tcp") as c:
		assert c.get("/").status == 200


@pytest.mark.parametrize("mode", ["-t", "start"])
def test_fault(h2d, mode):
	"""check_conf_faults has all of them."""
	server = h2d.new()
	server.put_conf("log-levle = info\n" + server.conf_text)
	done = server.run(*(["-t"] if mode == "-t" else []), check=1)
	assert re.findall(r"^.*?h2d\.conf:(\d+): .*$", done.err, re.M) == ["1"], done.err
	assert "log-levle" in done.err and "log-level" in done.err
	assert " alert " not in done.err and "Sanitizer" not in done.err


@pytest.mark.parametrize("fault", ["missing", "garbage", "swapped", "other"])
@pytest.mark.parametrize("mode", ["-t", "start"])
def test_bad_key(h2d, tmp_path, cert, fault, mode):
	server = h2d.new()
	key = server.path("bad.key")
	if fault == "garbage":
		with open(key, "w") as f:
			f.write("this is no key\n")
	elif fault == "swapped":
		shutil.copy(cert.cert, key)
	elif fault == "other":
		subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout",
			"-out", key],
			check=True)
	server.put_conf(server.conf_text.replace(cert.key, key))
	done = server.run(*(["-t"] if mode == "-t" else []), check=1)
	assert re.search(r"h2d\.conf:\d+: .*bad\.key", done.err) or (
		fault == "other" and re.search(r"h2d\.conf:\d+: ", done.err)), done.err
	assert_nothing_left(server)


@pytest.mark.parametrize("mode", ["-t", "start"])
def test_unreadable_key(h2d, cert, mode):
	server = h2d.new()
	key = server.path("secret.key")
	shutil.copy(cert.key, key)
	public = server.path("public.crt")
	shutil.copy(cert.cert, public)
	server.put_conf(server.conf_text.replace(cert.key, key).replace(cert.cert, public))
	binary = srv.H2D
	options = {}
	if os.geteuid() == 0:
		os.chmod(key, 0o600)
		os.chmod(public, 0o644)
		os.chown(server.dir, NOBODY, NOBODY)
		binary = server.path("h2d-copy")
		shutil.copy(srv.H2D, binary)
		os.chmod(binary, 0o755)
		options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
	else:
		os.chmod(key, 0)
	args = [binary, "-f", server.conf_path] + (["-t"] if mode == "-t" else [])
	done = subprocess.run(args, stderr=subprocess.PIPE, timeout=60, cwd=server.dir, **options)
	text = done.stderr.decode()
	assert done.returncode == 1, text
	assert re.search(r"h2d\.conf:\d+: .*secret\.key.*[Pp]ermission denied", text), text
	assert_nothing_left(server)


def assert_nothing_left(server):
	assert not os.path.exists(server.pid_path)
	assert not os.path.exists(server.admin_path), "a unix socket is left behind"


@pytest.mark.parametrize("reuseport", [False, True], ids=["plain", "reuseport"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6 wildcard"])
def test_port_in_use_by_a_program(h2d, reuseport, family):
	if family != "ipv4":
		need_ipv6()
	with socket.socket(socket.AF_INET if family == "ipv4" else socket.AF_INET6) as other:
		if reuseport:
			other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
		if family == "ipv4":
			other.bind(("127.0.0.1", 0))
		else:
			other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
			other.bind(("::1", 0))
		other.listen(1)
		port = other.getsockname()[1]
		address = "127.0.0.1:%d" % port if family == "ipv4" else "[::]:%d" % port
		server = h2d.new(listens=("unix",))
		server.put_conf(server.conf_text.replace('server "_"',
			'listen "%s" { tls = false }\nserver "_"' % address))
		server.spawn()
		assert server.wait_exit() == 3
		server.expect_exit(3)
		assert server.log.wait_end(), "nothing of it still runs"
		assert re.search(re.escape(address) + r".*(in use|EADDRINUSE)",
			server.log_text()), server.log_text()
		procs.wait_for(lambda: not procs.group_members(server.pid), said="nothing of it still runs")
		assert_nothing_left(server)
		assert not os.path.exists(server.unix_path)


def test_port_in_use_by_another_h2d(h2d):
	first = h2d()
	second = h2d.new()
	address = "127.0.0.1:%d" % first.ports["tls"]
	second.put_conf(second.conf_text.replace("127.0.0.1:0", address, 1))
	second.spawn()
	assert second.wait_exit() == 3
	second.expect_exit(3)
	assert second.log.wait_end()
	assert re.search(re.escape(address) + r".*in use", second.log_text()), second.log_text()
	assert_nothing_left(second)
	with first.connect("tls") as c:
		assert c.get("/").status == 200


def test_unix_socket_in_use(h2d):
	first = h2d()
	second = h2d.new(listens=("tcp",), admin=False)
	second.put_conf(second.conf_text.replace('server "_"',
		'listen "unix:%s" { admin = true }\nserver "_"' % first.admin_path))
	second.spawn()
	assert second.wait_exit() == 3
	second.expect_exit(3)
	second.log.wait_end()
	assert first.admin_path in second.log_text()
	assert first.status()["version"]


def test_stale_unix_socket_is_replaced(h2d):
	server = h2d.new(listens=("unix",))
	with socket.socket(socket.AF_UNIX) as dead:
		dead.bind(server.unix_path)
	server.start()
	with server.connect("unix") as c:
		assert c.get("/").status == 200


def test_a_file_in_place_of_a_unix_socket_stays(h2d):
	server = h2d.new(listens=("unix",))
	with open(server.unix_path, "w") as f:
		f.write("precious")
	server.spawn()
	assert server.wait_exit() == 1
	server.expect_exit(1)
	with open(server.unix_path) as f:
		assert f.read() == "precious"


def test_pid_file(h2d):
	server = h2d()
	with open(server.pid_path) as f:
		assert int(f.read()) == server.pid
	second = h2d.new()
	second.put_conf(second.conf_text.replace(second.pid_path, server.pid_path))
	second.spawn()
	assert second.wait_exit() == 1
	second.expect_exit(1)
	second.log.wait_end()
	assert server.pid_path in second.log_text()
	assert not os.path.exists(second.admin_path)
	with open(server.pid_path) as f:
		assert int(f.read()) == server.pid, "the holder's pid file is untouched"
	assert server.run("-s", "quit", check=0)
	assert server.wait_exit() == 0
	assert not os.path.exists(server.pid_path)


def test_stale_pid_file_is_taken_over(h2d):
	server = h2d.new()
	with open(server.pid_path, "w") as f:
		f.write("1\n")
	done = server.run("-s", "stop", check=1)
	assert server.pid_path in done.err, "a pid file that nobody holds is refused"
	server.start()
	with open(server.pid_path) as f:
		assert int(f.read()) == server.pid


def test_signal_without_pid_file(h2d):
	server = h2d.new()
	done = server.run("-s", "reload", check=1)
	assert server.pid_path in done.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_stop(h2d, number):
	server = h2d(workers=2)
	server.signal(number)
	assert server.wait_exit() == 0
	assert server.log.wait_end()
	assert_nothing_left(server)


EARLY = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
/* The first thing that the loop asks for: the master has no signalfd yet. */
int epoll_create1(int flags)
{
	static int before;
	if (!before++)
		kill(getpid(), NUMBER);
	return (int)syscall(SYS_epoll_create1, flags);
}
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_signal_before_the_master_listens(h2d, number):
	"""It waits, and is heeded."""
	server = h2d.new(workers=1)
	server.preload(EARLY.replace("NUMBER", str(int(number))))
	server.spawn()  # without a look at the first workers, which a HUP sends away
	server.wait_listening()
	server.log.wait("signal %s from" % number.name[3:])
	server.wait_up()


def test_a_file_size_limit_kills_nobody(h2d):
	"""RLIMIT_FSIZE is a full disk for the access log, not the end of a worker."""
	def small():
		resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
	server = h2d.new(conf='access-log = "access.log"', workers=1, preexec=small)
	server.put_conf("cache { max-size = 0 }\n" + server.conf_text)
	server.start()
	pid = server.worker_pids()[0]
	for _ in range(100):
		with server.connect("tcp") as c:
			assert c.get("/").status == 200
	procs.wait_for(lambda: os.path.getsize(server.path("access.log")) > 3900, said="the log is full")
	with server.connect("tcp") as c:
		assert c.get("/").status == 200
	procs.wait_for(lambda: server.worker_pids(), said="a worker")
	assert server.worker_pids() == [pid]


def test_defaults_without_a_file(h2d):
	"""-r and -p need no file; 0 picks a port and logs it, on IPv4 and IPv6."""
	need_ipv6()
	server = h2d.new(admin=False)
	server.spawn("-r", server.root, "-p", "0", "--h2c", "-n", "2")
	lines = server.log.wait(" listening on ", count=2)
	ports = {re.search(r"listening on (\S+):(\d+)", line).group(2) for line in lines}
	assert len(ports) == 1, lines
	port = int(ports.pop())
	for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
		with socket.socket(family) as s:
			s.settimeout(60)
			s.connect((host, port))
			c = client.Client(s)
			assert c.get("/").status == 200
			assert c.get("/files/x").status == 404
			assert c.get("/status.json").status == 404
	assert not [n for n in os.listdir(server.dir) if n.endswith(".pid")]


@needs_root("starts as root")
def test_as_root_a_user_is_required(h2d):
	server = h2d.new(admin=False)
	with open(server.conf_path, "w") as f:
		f.write('listen "127.0.0.1:0" { }\nserver "_" { root = "www" }\n')
	for args in ((), ("-t",)):
		assert 'started as root, and no user is set: set user = "NAME" (or -u NAME)' in server.run(*args, check=1).err
	server.spawn("-f", server.conf_path, "-u", "nobody")
	server.log.wait(" listening on ")


def test_defaults_with_tls(h2d, cert):
	server = h2d.new(admin=False)
	server.spawn("-r", server.root, "-p", "0", "-k", cert.key, "-c", cert.cert, "-n", "1")
	line = server.log.wait(" listening on ", count=2)[0]
	with client.Client.tls(int(line.rpartition(":")[2].split()[0])) as c:
		assert c.get("/").status == 200


def test_port_without_key(h2d):
	"""-p alone is cleartext, and the URLs to open are said."""
	server = h2d.new(admin=False)
	server.spawn("-r", server.root, "-p", "0", "-n", "1", "--access-log", server.path("access.log"))
	line = server.log.wait(r" open http://\S+")[0]
	urls = re.findall(r"http://(\S+):(\d+)/(?= |$)", line.rstrip())
	assert [host for host, _ in urls].count("localhost") == 1, line
	assert "0.0.0.0" not in line and "[::]" not in line, line
	with client.Client.tcp(int(urls[0][1])) as c:
		assert c.get("/").status == 200
	assert server.quit() == 0
	assert "GET / " in open(server.path("access.log")).read()


@pytest.mark.parametrize("option", ["-n", "--workers", "--threads"])
def test_worker_option_names(h2d, option):
	done = h2d.new().run("-T", option, "3", check=0)
	assert re.search(r"worker-processes\s*=\s*3\b", done.out)


def test_command_line_wins(h2d):
	server = h2d.new()
	os.mkdir(server.path("other"))
	pid = server.path("other.pid")
	done = server.run("-T", "-r", server.path("other"), "--pid-file", pid, "-d", "reuseport",
		check=0)
	assert server.path("other") in done.out and pid in done.out


def start_to_first_answer(server):
	server.spawn()
	deadline = time.monotonic() + 60
	while True:
		try:
			with client.Client.unix(server.unix_path) as c:
				answer = c.get("/f/9999.txt")
			break
		except (FileNotFoundError, ConnectionRefusedError):
			assert time.monotonic() < deadline and server.process.poll(
				) is None, server.log_text()
			time.sleep(0.001)
	took = time.monotonic() - server.started_at
	assert answer.status == 200 and answer.body == b"file 9999\n", answer
	return took


@pytest.mark.slow
def test_ten_thousand_files(h2d):
	"""Serving within 300 ms of the start, whatever the image takes."""
	took = []
	first = None
	for n in range(10):
		server = h2d.new(listens=("tcp", "unix"), root=first and first.root)
		if first is None:
			first = server
			os.mkdir(server.path("www", "f"))
			for i in range(10000):
				with open(server.path("www", "f", "%d.txt" % i), "w") as f:
					f.write("file %d\n" % i)
		took.append(start_to_first_answer(server))
		if min(took) < (0.3 if n < 2 else 3 * srv.SLOW):
			break
		assert server.quit() == 0
	assert min(took) < 3 * srv.SLOW, took
	server.wait_image()
	with server.connect("unix") as c:
		for i in (0, 1, 5000, 9999):
			assert c.get("/f/%d.txt" % i).body == b"file %d\n" % i
