"""An authority whose certificates openssl ocsp(1) answers for, without a network."""
import glob
import os
import subprocess

import client_ca


class Authority(client_ca.ClientCa):
	"""Issues certificates of servers, revokes them, and says so."""

	def leaf(self, name, kind="ecdsa", end=".pem"):
		"""For that name: chain and key, as h2d wants them."""
		stem = name + "." + kind
		key = client_ca.EC if kind == "ecdsa" else ["-newkey", "rsa:2048", "-nodes"]
		with open(self.path(stem + ".ext"), "w") as f:
			f.write("subjectAltName=DNS:%s\n" % name)
		self.openssl("req", "-new", *key, "-subj", "/CN=" + name, "-keyout", stem + ".key", "-out", stem + ".csr")
		self.ca("-extfile", stem + ".ext", "-in", stem + ".csr", "-out", stem + ".crt")
		with open(self.path(stem + end), "wb") as out:
			for file in (stem + ".crt", "ca.crt"):
				with open(self.path(file), "rb") as f:
					out.write(f.read())
		return self.path(stem + end), self.path(stem + ".key")

	def withdraw(self, chain):
		self.ca("-revoke", chain)

	def response(self, chain, to, days=1, at=None):
		"""Puts what is said about the first certificate of chain into the file `to`, by rename(2). at: when, as libfaketime has it."""
		when = {"LD_PRELOAD": glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0], "FAKETIME": at} if at else {}
		self.openssl("ocsp", "-issuer", "ca.crt", "-cert", chain, "-no_nonce", "-reqout", "request.der")
		subprocess.run(["openssl", "ocsp", "-index", "index.txt", "-CA", "ca.crt", "-rsigner", "ca.crt", "-rkey", "ca.key",
			"-reqin", "request.der", "-respout", to + ".new", "-ndays", str(days)], cwd=self.folder, env={**os.environ, **when},
			check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		os.rename(to + ".new", to)
		return to
