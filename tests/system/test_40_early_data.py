"""0-RTT: a client that sends a request in front of its handshake is answered behind it, as if it had not."""
import base64
import re
import subprocess

import pytest

REQUEST = b"GET /early HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


def s_client(server, *args, text=REQUEST):
	done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % server.ports["tls"], "-servername", "localhost",
		"-alpn", "http/1.1", "-tls1_3", "-ign_eof", *args], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
	return done.stdout.decode("latin1")


def element(der, at):
	"""Where the contents of the DER element at begin, and where it ends."""
	n, at = der[at + 1], at + 2
	if n & 0x80:
		n, at = int.from_bytes(der[at:at + (n & 0x7f)], "big"), at + (n & 0x7f)
	return at, at + n


def allow_early_data(path, size):
	"""Has a session that openssl has stored say that its server takes so many bytes: [15] of OpenSSL's SSL_SESSION."""
	with open(path) as f:
		der = base64.b64decode("".join(line for line in f if "-----" not in line))
	at, end = element(der, 0)
	while at < end and der[at] < 0xaf:
		at = element(der, at)[1]
	assert at == end or der[at] != 0xaf, "h2d says that it takes none"
	number = size.to_bytes(2, "big")
	start = element(der, 0)[0]
	body = der[start:at] + bytes([0xaf, 4, 2, 2]) + number + der[at:end]
	der = b"\x30\x82" + len(body).to_bytes(2, "big") + body
	with open(path, "w") as f:
		f.write("-----BEGIN SSL SESSION PARAMETERS-----\n%s-----END SSL SESSION PARAMETERS-----\n"
			% base64.encodebytes(der).decode())


@pytest.mark.parametrize("times", [1, 150])
def test_refused(h2d, tmp_path, times):
	"""By a client that does not heed that the ticket allows none; times: of the request, within a record that OpenSSL skips."""
	server = h2d(files={"early": b"here"})
	session, early = str(tmp_path / "session"), str(tmp_path / "early.txt")
	with open(early, "wb") as f:
		f.write(REQUEST * times)
	said = s_client(server, "-sess_out", session)
	assert "HTTP/1.1 200" in said
	assert "Early data was not sent" in s_client(server, "-sess_in", session, "-early_data", early)
	allow_early_data(session, 0x4000)
	said = s_client(server, "-sess_in", session, "-early_data", early)
	assert re.search(r"^Reused, TLSv1.3", said, re.M) and "Early data was rejected" in said, said
	assert said.count("HTTP/1.1 200 ") == 1 and said.count("here") == 1, "what came early is nothing that was asked"
	assert server.status()["totals"]["handshake_failures"] == 0
