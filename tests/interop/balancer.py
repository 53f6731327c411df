"""A network of its own: clients, a load balancer and h2d, each in a namespace, and the balancers' configurations.

    clients 203.0.113.7, .99, 2001:db8:1::7  |  203.0.113.1, 2001:db8:1::1 balancer 10.0.0.2  |  10.0.0.5 h2d
"""
import concurrent.futures
import ctypes
import os
import subprocess

from procs import wait_for
from tree import program

GOOD, BAD, GOOD6 = "203.0.113.7", "203.0.113.99", "2001:db8:1::7"
BALANCER = "10.0.0.2"
CLONE_NEWNET = 0x40000000

H2D = """access-log = "access.log"
trusted-proxies = {"10.0.0.2"}
client-address = "x-forwarded-for"
listen "10.0.0.5:443" { tls = true  proxy-protocol = true }
listen "10.0.0.5:80" { proxy-protocol = true }
listen "10.0.0.5:81" { proxy-protocol = true  redirect-to-https = true }
listen "10.0.0.5:8080" { }
listen "10.0.0.5:8081" { redirect-to-https = true }
"""
RULES = 'location "/guarded" { allow = {"%s", "%s"} }' % (GOOD, GOOD6)

HAPROXY = """
defaults
	timeout connect 20s
	timeout client 60s
	timeout server 60s
	timeout check 20s

listen passthrough
	mode tcp
	bind 203.0.113.1:443
	bind [2001:db8:1::1]:443
	server h2d 10.0.0.5:443 send-proxy-v2 proxy-v2-options crc32c,unique-id

listen version1
	mode tcp
	bind 203.0.113.1:80
	bind [2001:db8:1::1]:80
	server h2d 10.0.0.5:80 send-proxy

listen checked
	mode tcp
	bind 203.0.113.1:82
	option httpchk GET /healthz
	server h2d 10.0.0.5:80 send-proxy-v2 check inter 1s check-send-proxy

listen redirected
	mode http
	bind 203.0.113.1:83
	option httpchk GET /healthz
	server h2d 10.0.0.5:8081 check inter 1s

listen offload
	mode tcp
	bind 203.0.113.1:8443 ssl crt %(pem)s alpn http/1.1
	server h2d 10.0.0.5:81 send-proxy-v2-ssl

listen fields
	mode http
	bind 203.0.113.1:8080
	option forwardfor
	server h2d 10.0.0.5:8080 proto h2
"""

NGINX = """
daemon off;
master_process off;
pid %(folder)s/nginx.pid;
error_log stderr warn;
events { }
http {
	access_log off;
	client_body_temp_path %(folder)s/nginx-body;
	proxy_temp_path %(folder)s/nginx-proxy;
	fastcgi_temp_path %(folder)s/nginx-fastcgi;
	uwsgi_temp_path %(folder)s/nginx-uwsgi;
	scgi_temp_path %(folder)s/nginx-scgi;
	upstream h2d { server 10.0.0.5:8080; keepalive 1; }
	upstream https { server 10.0.0.5:8081; keepalive 1; }
	proxy_http_version 1.1;
	proxy_set_header connection "";
	proxy_set_header host $host;
	proxy_set_header x-forwarded-for $proxy_add_x_forwarded_for;
	proxy_set_header x-forwarded-proto $scheme;
	server {
		listen 203.0.113.1:9080;
		listen [2001:db8:1::1]:9080;
		location / { proxy_pass http://h2d; }
	}
	server {
		listen 203.0.113.1:9081;
		listen 203.0.113.1:9443 ssl http2;
		ssl_certificate %(cert)s;
		ssl_certificate_key %(key)s;
		location / { proxy_pass http://https; }
	}
}
"""


class Namespace:
	"""It lives as long as its process."""

	def __init__(self):
		self.process = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
		self.path = "/proc/%d/ns/net" % self.process.pid
		ours = os.readlink("/proc/self/ns/net")
		wait_for(lambda: os.readlink(self.path) != ours, said="a network namespace")
		self.run("ip", "link", "set", "lo", "up")

	def command(self, *args):
		return ["nsenter", "--net=" + self.path, "--", *args]

	def run(self, *args):
		subprocess.run(self.command(*args), check=True, timeout=60)

	def enter(self):
		"""For the child of a fork, or a thread."""
		fd = os.open(self.path, os.O_RDONLY)
		if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) != 0:
			raise OSError(ctypes.get_errno(), "setns")
		os.close(fd)

	def call(self, function):
		"""The result of a function that is called inside; what it opens belongs there."""
		with concurrent.futures.ThreadPoolExecutor(1, initializer=self.enter) as thread:
			return thread.submit(function).result()

	def give(self, device, *addresses):
		for address in addresses:
			self.run("ip", "address", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
		self.run("ip", "link", "set", device, "up")

	def join(self, name, other):
		"""A link of that name to another namespace, where its end is peer-name."""
		self.run("ip", "link", "add", name, "type", "veth", "peer", "name", "peer-" + name)
		self.run("ip", "link", "set", "peer-" + name, "netns", str(other.process.pid))

	def close(self):
		self.process.kill()
		self.process.wait()


class Network:
	def __init__(self):
		self.clients, self.balancer, self.server = self.all = [Namespace() for _ in range(3)]
		self.balancer.join("front", self.clients)
		self.balancer.join("back", self.server)
		self.clients.give("peer-front", GOOD + "/24", BAD + "/24", GOOD6 + "/64")
		self.balancer.give("front", "203.0.113.1/24", "2001:db8:1::1/64")
		self.balancer.give("back", BALANCER + "/24")
		self.server.give("peer-back", "10.0.0.5/24")
		self.running = []

	def balance(self, folder, cert):
		"""Starts both balancers."""
		pem = folder / "balancer.pem"
		pem.write_text(open(cert.cert).read() + open(cert.key).read())
		names = {"folder": folder, "pem": pem, "cert": cert.cert, "key": cert.key}
		(folder / "haproxy.cfg").write_text(HAPROXY % names)
		(folder / "nginx.conf").write_text(NGINX % names)
		for command in ((program("haproxy"), "-db", "-f", folder / "haproxy.cfg"),
				(program("nginx"), "-p", folder, "-c", folder / "nginx.conf")):
			self.running.append(subprocess.Popen(self.balancer.command(*map(str, command))))

	def curl(self, source, url, *requests):
		"""The statuses of requests, each of which has its options, from that address; 0: there was no answer."""
		args = []
		for options in requests:
			args += ["--next"] * bool(args) + ["-ks", "--noproxy", "*", "--interface", source, "--max-time", "60",
				"-o", "/dev/null", "-w", "%{http_code} ", *options, url]
		done = subprocess.run(self.clients.command(program("curl"), "-q", *args), stdout=subprocess.PIPE, text=True, timeout=90)
		return [int(status) for status in done.stdout.split()]

	def close(self):
		for process in self.running:
			process.kill()
			process.wait()
		for namespace in self.all:
			namespace.close()
