"""The servers that scripts/bench measures: each serves one folder, in cleartext and over TLS, with one worker."""
import os
import re
import signal
import socket
import subprocess
import time

from peer_h2o import h2o_conf


def free_port():
	with socket.socket() as s:
		s.bind(("127.0.0.1", 0))
		return s.getsockname()[1]


def write(path, text):
	with open(path, "w") as f:
		f.write(text)
	return path


def first_line(argv):
	out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	return (out.stdout.splitlines() or ["?"])[0]


class Server:
	"""A process tree that serves env.root on a cleartext and a TLS port."""
	http1 = True

	def __init__(self, env, program):
		self.env, self.program = env, program
		self.ports = {False: free_port(), True: free_port()}
		self.folder = os.path.join(env.work, self.name)
		os.mkdir(self.folder)
		self.procs = []

	def start(self):
		log = open(os.path.join(self.folder, "log"), "wb")
		for argv in self.commands():
			self.procs.append(subprocess.Popen(argv, stdout=log, stderr=log,
				stdin=subprocess.DEVNULL, preexec_fn=self.env.on_server_cpu, env=self.environment()))
		end = time.monotonic() + 10
		for port in self.ports.values():
			while True:
				try:
					socket.create_connection(("127.0.0.1", port), 1).close()
					break
				except OSError:
					dead = any(p.poll() is not None for p in self.procs)
					if dead or time.monotonic() > end:
						return False
					time.sleep(0.02)
		return True

	def environment(self):
		return None

	def stop(self):
		for p in self.procs:
			p.send_signal(signal.SIGTERM)
		for p in self.procs:
			try:
				p.wait(10)
			except subprocess.TimeoutExpired:
				p.kill()
				p.wait()

	def can(self, load):
		return load.tls in self.ports and (load.streams > 0 or self.http1)

	def url(self, load, path=None):
		port = self.ports.get("h1", self.ports[False]) if load.streams == 0 and not load.tls else self.ports[load.tls]
		return "%s://127.0.0.1:%d%s" % ("https" if load.tls else "http", port, path or load.path)

	def tree(self):
		"""Our processes and all their descendants."""
		children = {}
		for pid in filter(str.isdigit, os.listdir("/proc")):
			try:
				with open("/proc/%s/stat" % pid) as f:
					parent = int(f.read().rpartition(")")[2].split()[1])
			except OSError:
				continue
			children.setdefault(parent, []).append(int(pid))
		pids, todo = [], [p.pid for p in self.procs]
		while todo:
			pid = todo.pop()
			pids.append(pid)
			todo += children.get(pid, [])
		return pids

	def cpu(self):
		"""Seconds of CPU that the tree has used so far."""
		total = 0
		for pid in self.tree():
			try:
				for tid in os.listdir("/proc/%d/task" % pid):
					total += self.thread_cpu("/proc/%d/task/%s" % (pid, tid))
			except OSError:
				continue
		return total

	@staticmethod
	def thread_cpu(path):
		try:
			with open(path + "/schedstat") as f:
				return int(f.read().split()[0]) / 1e9
		except FileNotFoundError:
			with open(path + "/stat") as f:
				field = f.read().rpartition(")")[2].split()
			return (int(field[11]) + int(field[12])) / os.sysconf("SC_CLK_TCK")

	def pss(self):
		"""KiB of proportional set size of the tree."""
		total = 0
		for pid in self.tree():
			try:
				with open("/proc/%d/smaps_rollup" % pid) as f:
					total += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
			except (OSError, AttributeError):
				continue
		return total


class H2d(Server):
	name = "h2d"
	mode = "reuseport"
	keys = ""  # of its server
	workers = 1

	def commands(self):
		conf = write(os.path.join(self.folder, "h2d.conf"), """
user = "root"
worker-processes = %d
dispatch = %s
log-level = "warn"
listen "127.0.0.1:%d" { tls = false }
listen "127.0.0.1:%d" { tls = true }
tls { certificate = "%s"  certificate-key = "%s"  protocols = {"TLSv1.3"} }
server "_" { root = "%s" %s }
%s
""" % (self.workers, self.mode, self.ports[False], self.ports[True], self.env.cert, self.env.key, self.env.root, self.keys, self.more()))
		return [[self.program, "-f", conf]]

	def more(self):
		"""Further lines of the configuration."""
		return ""

	def version(self):
		return first_line([self.program, "-V"])


class Nghttpd(Server):
	name = "nghttpd"
	http1 = False
	workers = 1

	def commands(self):
		common = ["-n%d" % self.workers, "-a", "127.0.0.1", "-d", self.env.root]
		return [[self.program, "--no-tls"] + common + [str(self.ports[False])],
			[self.program] + common + [str(self.ports[True]), self.env.key, self.env.cert]]

	def version(self):
		return first_line([self.program, "--version"])


class Nginx(Server):
	name = "nginx"

	def commands(self):
		# Its cleartext listeners speak one protocol.
		self.ports.setdefault("h1", free_port())
		conf = write(os.path.join(self.folder, "nginx.conf"), """
%s
worker_processes 1;
daemon off;
pid %s/pid;
error_log %s/error.log warn;
events { worker_connections 4096; }
http {
	types { text/html html; }
	access_log off;
	sendfile on;
	tcp_nopush on;
	open_file_cache max=100;
	keepalive_requests 1000000000;
	http2_max_concurrent_streams 128;
	client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f;
	uwsgi_temp_path %s/u; scgi_temp_path %s/s;
	server {
		listen 127.0.0.1:%d;
		listen 127.0.0.1:%d http2;
		listen 127.0.0.1:%d ssl http2;
		ssl_protocols TLSv1.3;
		ssl_certificate %s;
		ssl_certificate_key %s;
		root %s;
	}
}
""" % (("user root;" if os.geteuid() == 0 else "",) + (self.folder,) * 7 + (self.ports["h1"],
			self.ports[False], self.ports[True], self.env.cert, self.env.key, self.env.root)))
		return [[self.program, "-c", conf, "-p", self.folder]]

	def version(self):
		return first_line([self.program, "-v"])


class H2o(Server):
	name = "h2o"

	def commands(self):
		conf = write(os.path.join(self.folder, "h2o.conf"), h2o_conf((self.ports[False], self.ports[True]), self.env.cert, self.env.key,
			self.env.root, limits=["http2-max-concurrent-requests-per-connection: 128"], protocols="minimum-version: TLSv1.3"))
		return [[self.program, "-c", conf]]

	def version(self):
		return first_line([self.program, "-v"])


class Lighttpd(Server):
	name = "lighttpd"

	def commands(self):
		tls = """
server.modules = ( "mod_openssl" )
$SERVER["socket"] == "127.0.0.1:%d" {
	ssl.engine = "enable"
	ssl.pemfile = "%s"
	ssl.privkey = "%s"
	ssl.openssl.ssl-conf-cmd = ( "MinProtocol" => "TLSv1.3" )
}
""" % (self.ports[True], self.env.cert, self.env.key)
		# TLS is a package of its own; without it the cleartext loads are still worth a row.
		if not os.path.exists("/usr/lib/lighttpd/mod_openssl.so"):
			tls = ""
			del self.ports[True]
		conf = write(os.path.join(self.folder, "lighttpd.conf"), """
server.document-root = "%s"
server.bind = "127.0.0.1"
server.port = %d
server.max-fds = 8192
server.max-connections = 4096
server.max-keep-alive-requests = 65535
mimetype.assign = ( ".html" => "text/html" )
%s""" % (self.env.root, self.ports[False], tls))
		return [[self.program, "-D", "-f", conf]]

	def version(self):
		return first_line([self.program, "-v"])


class Haproxy(Server):
	"""It serves no files: the small one is a part of its configuration."""
	name = "haproxy"

	def commands(self):
		small = os.path.join(self.env.root, "small.html")
		pem = os.path.join(self.folder, "both.pem")
		with open(self.env.cert) as cert, open(self.env.key) as key:
			write(pem, cert.read() + key.read())
		conf = write(os.path.join(self.folder, "haproxy.cfg"), """
global
	nbthread 1
	maxconn 8192
	ssl-default-bind-options ssl-min-ver TLSv1.3
	tune.h2.max-concurrent-streams 128
defaults
	mode http
	timeout client 60s
	timeout server 60s
	timeout connect 5s
frontend one
	bind 127.0.0.1:%d
	bind 127.0.0.1:%d ssl crt %s alpn h2,http/1.1
	http-request return status 200 content-type text/html file %s if { path /small.html }
	http-request return status 404
""" % (self.ports[False], self.ports[True], pem, small))
		return [[self.program, "-db", "-f", conf]]

	def can(self, load):
		return super().can(load) and load.path == "/small.html"

	def version(self):
		return first_line([self.program, "-v"])


class Caddy(Server):
	name = "caddy"
	site = "file_server"

	def commands(self):
		served = "root * %s\n\t%s" % (self.env.root, self.site)
		conf = write(os.path.join(self.folder, "Caddyfile"), """
{
	admin off
	auto_https off
	storage file_system %s
	servers {
		protocols h1 h2 h2c
	}
}
http://127.0.0.1:%d {
	%s
}
https://127.0.0.1:%d {
	tls %s %s
	%s
}
""" % (self.folder, self.ports[False], served, self.ports[True], self.env.cert, self.env.key, served))
		return [[self.program, "run", "--adapter", "caddyfile", "--config", conf]]

	def environment(self):
		return dict(os.environ, GOMAXPROCS="1", HOME=self.folder)

	def version(self):
		return "caddy " + first_line([self.program, "version"])


class Apache(Server):
	name = "apache2"

	def commands(self):
		folder = "/usr/lib/apache2/modules"
		modules = "".join("LoadModule %s_module %s/mod_%s.so\n" % (m, folder, m)
			for m in ("mpm_event", "http2", "ssl", "mime", "authz_core"))
		user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
		conf = write(os.path.join(self.folder, "apache.conf"), modules + user + """
ServerName localhost
ServerRoot %s
PidFile %s/pid
ErrorLog %s/error.log
Listen 127.0.0.1:%d
Listen 127.0.0.1:%d
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
AsyncRequestWorkerFactor 100
MaxKeepAliveRequests 0
KeepAliveTimeout 60
Protocols h2 h2c http/1.1
H2MaxSessionStreams 128
TypesConfig /dev/null
AddType text/html .html
DocumentRoot %s
<VirtualHost 127.0.0.1:%d>
SSLEngine on
SSLProtocol TLSv1.3
SSLCertificateFile %s
SSLCertificateKeyFile %s
</VirtualHost>
""" % ((self.folder,) * 3 + (self.ports[False], self.ports[True], self.env.root,
			self.ports[True], self.env.cert, self.env.key)))
		return [[self.program, "-DFOREGROUND", "-f", conf]]

	def version(self):
		return first_line([self.program, "-v"])


# Those that are compared, h2d's builds and modes being the first.
PEERS = [Nghttpd, Nginx, H2o, Lighttpd, Haproxy, Caddy, Apache]
