"""Other servers under the attacks of scripts/attack, which calls it for --against: the same tree, one worker each."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile

import procs
from peer_h2o import h2o_conf

CONNECTIONS = 4096
# What each of them answers; the rest is h2d's own.
ASKS = ("small", "cached", "disk", "missing")

# Attacks on what h2d alone has here: uploads, passwords, redirects, archives, and images of a tree that changes.
OWN = {"windows_held_by_one", "windows_held_by_many", "windows_left_over", "files_held_by_uploads", "held_streams_over_images",
	"long_redirects", "archives_held", "archives_by_many", "fifo_get", "aliases_of_secrets", "wrong_passwords", "guesses_by_one", "guesses_by_many",
	"bodies_before_passwords", "renamed_files", "files_written_in_place", "files_that_come_and_go", "stores_through_mmap",
	"drive_lists_held", "drive_lists_reset", "drive_copies", "billion_laughs"}


class Peer:
	"""
	A server in a folder of its own that serves root. ports: "tcp" (h2c), "tls", and "h1" where cleartext HTTP/1 has
	another. speaks: the protocols of honest clients.
	"""
	speaks = ("h1", "h2")

	def __init__(self, certificate, root, program):
		self.cert, self.root, self.program = certificate, root, program
		self.dir = tempfile.mkdtemp(prefix="h2d-attack-")
		os.chmod(self.dir, 0o755)
		self.ports = {how: procs.free_port() for how in ("tcp", "tls", "h1")}
		self.running = []

	def path(self, *name):
		return os.path.join(self.dir, *name)

	def put(self, name, text):
		with open(self.path(name), "w") as f:
			f.write(text)
		return self.path(name)

	def start(self):
		with open(self.path("log"), "wb") as log:
			for command in self.commands():
				self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
					start_new_session=True))
		listening = lambda: set(self.ports.values()) <= set(procs.listening_inodes().values())
		procs.wait_for(listening, said="%s listens, see %s" % (self.name, self.path("log")))
		return self

	@property
	def pids(self):
		return [pid for process in self.running for pid in procs.group_members(process.pid)]

	def lives(self):
		return all(process.poll() is None for process in self.running)

	def finish(self):
		for process in self.running:
			with contextlib.suppress(ProcessLookupError):
				os.killpg(process.pid, signal.SIGKILL)
			process.wait()
		shutil.rmtree(self.dir, ignore_errors=True)

	def version(self):
		out = subprocess.run([self.program, self.says], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
		return out.splitlines()[0]


class Nghttpd(Peer):
	name, says, speaks = "nghttpd", "--version", ("h2",)

	def commands(self):
		del self.ports["h1"]
		common = [self.program, "-n1", "-a", "127.0.0.1", "-d", self.root]
		return [[*common, "--no-tls", str(self.ports["tcp"])], [*common, str(self.ports["tls"]), self.cert.key, self.cert.cert]]


NGINX = """user root;
worker_processes 1;
daemon off;
pid %(dir)s/pid;
error_log %(dir)s/error.log crit;
events { worker_connections %(most)d; }
http {
	access_log off;
	client_body_temp_path %(dir)s/b; proxy_temp_path %(dir)s/p; fastcgi_temp_path %(dir)s/f; uwsgi_temp_path %(dir)s/u;
	scgi_temp_path %(dir)s/s;
	server {
		listen 127.0.0.1:%(h1)d;
		listen 127.0.0.1:%(tcp)d http2;
		listen 127.0.0.1:%(tls)d ssl http2;
		ssl_certificate %(cert)s;
		ssl_certificate_key %(key)s;
		autoindex on;
		root %(root)s;
	}
}
"""


def nginx_conf(peer, ports):
	return NGINX % dict(ports, dir=peer.dir, root=peer.root, cert=peer.cert.cert, key=peer.cert.key, most=CONNECTIONS)


class Nginx(Peer):
	name, says = "nginx", "-v"

	def commands(self):
		return [[self.program, "-p", self.dir, "-c", self.put("nginx.conf", nginx_conf(self, self.ports))]]


class H2o(Peer):
	name, says = "h2o", "-v"

	def commands(self):
		del self.ports["h1"]
		conf = h2o_conf((self.ports["tcp"], self.ports["tls"]), self.cert.cert, self.cert.key, self.root, files=["file.dirlisting: ON"])
		return [[self.program, "-c", self.put("h2o.conf", conf)]]


class Apache(Peer):
	name, says = "apache2", "-v"

	def commands(self):
		del self.ports["h1"]
		conf = """ServerRoot %(dir)s
PidFile %(dir)s/pid
ServerName localhost
User www-data
Group www-data
%(modules)s
Listen 127.0.0.1:%(tcp)d
Listen 127.0.0.1:%(tls)d
ServerLimit 1
ThreadLimit 256
StartServers 1
ThreadsPerChild 256
MaxRequestWorkers 256
AsyncRequestWorkerFactor 15
Protocols h2 h2c http/1.1
H2Direct on
ErrorLog %(dir)s/error.log
LogLevel crit
DocumentRoot %(root)s
<Directory %(root)s>
	Options Indexes
	Require all granted
</Directory>
<VirtualHost 127.0.0.1:%(tls)d>
	SSLEngine on
	SSLCertificateFile %(cert)s
	SSLCertificateKeyFile %(key)s
</VirtualHost>
""" % dict(self.ports, dir=self.dir, root=self.root, cert=self.cert.cert, key=self.cert.key, modules="\n".join(
			"LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so" % (name, name) for name in ("mpm_event", "authz_core", "dir",
				"autoindex", "ssl", "socache_shmcb", "reqtimeout", "http2")))
		return [[self.program, "-DFOREGROUND", "-f", self.put("apache.conf", conf)]]


class Haproxy(Peer):
	"""With an nginx behind it, whose memory counts."""
	name, says = "haproxy", "-v"

	def commands(self):
		behind = {how: procs.free_port() for how in ("tcp", "tls", "h1")}
		with open(self.path("both.pem"), "w") as both:
			for path in (self.cert.cert, self.cert.key):
				with open(path) as f:
					both.write(f.read())
		conf = """global
	maxconn %d
	nbthread 1
defaults
	mode http
	timeout connect 5s
	timeout client 60s
	timeout server 60s
	timeout http-request 10s
frontend all
	bind 127.0.0.1:%d proto h2
	bind 127.0.0.1:%d
	bind 127.0.0.1:%d ssl crt %s alpn h2,http/1.1
	default_backend files
backend files
	server nginx 127.0.0.1:%d
""" % (CONNECTIONS, self.ports["tcp"], self.ports["h1"], self.ports["tls"], self.path("both.pem"), behind["h1"])
		return [[self.program, "-db", "-f", self.put("haproxy.cfg", conf)],
			[shutil.which("nginx"), "-p", self.dir, "-c", self.put("nginx.conf", nginx_conf(self, behind))]]


PEERS = {peer.name: peer for peer in (Nghttpd, Nginx, H2o, Apache, Haproxy)}


def installed():
	"""{name: its program} of those that this machine has."""
	path = os.environ.get("PATH", "") + ":/usr/sbin"
	return {name: program for name in PEERS for program in [shutil.which(name, path=path)] if program}
