"""Users and their passwords: files that the server reads, fields that clients send."""
import base64
import ctypes
import ctypes.util
import functools
import os


def basic(user, password):
	token = base64.b64encode(("%s:%s" % (user, password)).encode()).decode()
	return [("authorization", "Basic " + token)]


SHA512 = "$6$rounds=1000$saltsalt"
BCRYPT = "$2b$%02d$saltsaltsaltsaltsaltse"
YESCRYPT = "$y$j9T$saltsaltsaltsalt" # Debian's own choice
libcrypt = ctypes.CDLL(ctypes.util.find_library("crypt"))
libcrypt.crypt.restype = ctypes.c_char_p


@functools.lru_cache
def hashed(password, setting=SHA512):
	made = libcrypt.crypt(password.encode(), setting.encode()).decode()
	assert made.startswith("$"), made
	return made


def put_users(server, name="users", **users):
	path = server.path(name)
	with open(path + ".new", "w") as f:
		f.write("# users\n" + "".join("%s:%s\r\n" % pair for pair in users.items()))
	os.rename(path + ".new", path)
	return path
