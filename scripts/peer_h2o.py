"""The configuration of h2o for scripts/bench and scripts/attack: one thread that serves a folder, in cleartext and over TLS."""
import os

CONF = """%(user)snum-threads: 1
max-connections: 4096
%(limits)slisten: {host: 127.0.0.1, port: %(clear)d}
hosts:
  default:
    listen:
      host: 127.0.0.1
      port: %(tls)d
      ssl: {certificate-file: "%(cert)s", key-file: "%(key)s"%(protocols)s}
    paths:
      /:
        file.dir: "%(root)s"
%(files)s"""


def h2o_conf(ports, cert, key, root, limits=(), files=(), protocols=""):
	"""ports: of cleartext and of TLS. limits and files: further lines for all, and for the folder; protocols: for ssl."""
	return CONF % {"user": "user: root\n" if os.geteuid() == 0 else "", "clear": ports[0], "tls": ports[1], "cert": cert, "key": key,
		"root": root, "limits": "".join(line + "\n" for line in limits), "files": "".join("        %s\n" % line for line in files),
		"protocols": protocols and ", " + protocols}
