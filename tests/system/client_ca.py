"""An authority for certificates of clients, by openssl ca(1): it issues, and it revokes."""
import os
import subprocess

CONF = """
[ca]
default_ca = this
[this]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
default_days = 30
default_crl_days = 30
policy = any
unique_subject = no
certificate = ca.crt
private_key = ca.key
[any]
organizationName = optional
organizationalUnitName = optional
commonName = optional
[client]
extendedKeyUsage = clientAuth
[server]
extendedKeyUsage = serverAuth
[authority]
basicConstraints = critical, CA:TRUE
"""

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Client:
	"""A certificate and its key, as ssl.SSLContext.load_cert_chain() wants them."""

	def __init__(self, folder, name):
		self.cert, self.key = (os.path.join(folder, name + end) for end in (".crt", ".key"))


class ClientCa:
	def __init__(self, folder, name):
		self.folder = os.path.join(str(folder), name)
		os.mkdir(self.folder)
		self.cert, self.crl = (self.path(file) for file in ("ca.crt", "ca.crl"))
		for file, text in (("ca.conf", CONF), ("index.txt", "")):
			with open(self.path(file), "w") as f:
				f.write(text)
		self.openssl("req", "-x509", *EC, "-days", "30", "-subj", "/CN=" + name, "-keyout", "ca.key", "-out", "ca.crt")
		self.revoke()

	def path(self, file):
		return os.path.join(self.folder, file)

	def openssl(self, *args):
		subprocess.run(["openssl", *args], cwd=self.folder, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

	def ca(self, *args):
		self.openssl("ca", "-config", "ca.conf", "-batch", "-notext", *args)

	def issue(self, name, subject=None, purpose="client", dates=()):
		"""dates: from when, and until when, as "20200101000000Z"; else from now on."""
		self.openssl("req", *EC, "-new", "-utf8", "-subj", subject or "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr")
		self.ca("-utf8", "-extensions", purpose, "-in", name + ".csr", "-out", name + ".crt",
			*(["-startdate", dates[0], "-enddate", dates[1]] if dates else []))
		return Client(self.folder, name)

	def authority(self, name):
		"""Another one below this."""
		below = ClientCa(self.folder, name)
		self.openssl("req", "-new", "-subj", "/CN=" + name, "-key", below.path("ca.key"), "-out", name + ".csr")
		self.ca("-extensions", "authority", "-in", name + ".csr", "-out", below.cert)
		return below

	def revoke(self, *clients, until=None):
		"""And a new list, until when: of now if it is not said."""
		for who in clients:
			self.ca("-revoke", who.cert)
		self.ca("-gencrl", "-out", "new.crl", *(["-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", until] if until else []))
		os.rename(self.path("new.crl"), self.crl)


def self_signed(folder, name):
	who = Client(str(folder), name)
	subprocess.run(["openssl", "req", "-x509", *EC, "-days", "30", "-subj", "/CN=" + name, "-keyout", who.key, "-out", who.cert],
		check=True, stderr=subprocess.DEVNULL)
	return who
