"""The pages that h2d makes itself: their style under a strict policy, a README beneath, the order of names."""
import base64
import hashlib
import os
import re


from users import basic, hashed, put_users

STRICT = "default-src 'self'; frame-ancestors 'none'"


def styles(answer):
	return re.findall("<style>(.*?)</style>", answer.body.decode(), re.DOTALL)


def test_a_strict_policy(h2d, connect):
	"""Each style of a page is let through by its hash, whatever the configuration adds; nothing else is."""
	server = h2d(server='autoindex = true  index = {}  upload-dir = "up"  add-header = {"content-security-policy: %s"}'
		% STRICT, files={"d/f": "f", "up/f": "f"})
	with connect(server) as c:
		for path, status, n in (("/d/", 200, 2), ("/none", 404, 1), ("/%zz", 400, 1)):
			answer = c.get(path)
			assert answer.status == status
			found = styles(answer)
			assert len(found) == n and 'name="viewport"' in answer.body.decode()
			policy = answer.get("content-security-policy")
			assert "default-src 'none'" in policy and "unsafe" not in policy
			for style in found:
				digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
				assert "'sha256-%s'" % digest in policy, path
			scripts = re.findall("<script>(.*?)</script>", answer.body.decode(), re.DOTALL)
			assert len(scripts) == (path == "/d/") == answer.body.count(b"<script") and " style=" not in answer.body.decode()
			for script in scripts:
				assert "'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
			assert "prefers-color-scheme:dark" in found[0]
			assert '<link rel="icon" href="data:,">' in answer.body.decode() and re.search("img-src [^;]*data:;", policy), \
				"else browsers ask for /favicon.ico, and complain of the policy, or of 404"
			if status == 200:
				again = c.get(path, [("if-none-match", answer.get("etag"))])
				assert (again.status, again.get("content-security-policy")) == (304, policy)
		assert c.get("/d/f").get("content-security-policy") == STRICT
		assert c.get("/files/none").get("content-security-policy") == "sandbox"
		assert c.get("/d/", [("accept", "application/json")]).get("content-security-policy") == STRICT


def test_what_was_wrong(h2d, connect):
	"""The page of an error says what the client did, where that has a name."""
	server = h2d(sections='limits { client-max-body-size = "1K" }', server='upload-dir = "up"  upload-public = true', files={"up/x": ""})
	with connect(server) as c:
		for status, why, ask in ((400, "malformed request target", lambda: c.get("/%zz")),
				(501, "unknown method", lambda: c.request("BREW", "/")),
				(413, "request body exceeds the limit", lambda: c.request("PUT", "/files/a", body=b"x" * 2000)),
				(404, None, lambda: c.get("/none"))):
			answer = ask()
			assert answer.status == status
			said = re.findall('<p class="why">(.*)</p>', answer.body.decode())
			assert said == ([why] if why else []), status


def test_natural_order(h2d, connect):
	names = ["File1", "file2", "file02b", "file10", "file10a", "file100", "v1.2", "v1.10", "x"]
	server = h2d(server="autoindex = true", files={"d/" + name: "" for name in names})
	with connect(server) as c:
		for query, want in (("", names), ("?order=desc", names[::-1])):
			found = re.findall('href="./([^"]*)"><bdi>', c.get("/d/" + query).body.decode().split("<tbody>")[1])
			assert found == want


def test_readme(h2d, connect):
	server = h2d(server="autoindex = true", files={"d/README.md": "# <b>&\n\xff \u00e4", "d/f": "", "long/README": "x" * 200000,
		"none/f": "", "binary/README": "a\0b", "two/README.txt": "text", "two/README": "first"})
	os.symlink("../d/README.md", os.path.join(server.root, "none", "README"))
	with connect(server) as c:
		page = c.get("/d/").body.decode()
		assert "<pre>\n# &lt;b&gt;&amp;\n\u00ff \u00e4</pre>" in page
		assert "<pre>\nfirst</pre>" in c.get("/two/").body.decode()
		assert len(c.get("/long/").body) < 100000
		for path in ("/none/", "/binary/"):
			assert "<pre>" not in c.get(path).body.decode()
		tag = c.get("/d/").get("etag")
		server.write("d/README.md", "another")
		answer = c.get("/d/", [("if-none-match", tag)])
		assert answer.status == 200 and b"<pre>\nanother</pre>" in answer.body


def test_rules_of_a_readme(h2d, connect):
	"""It is not shown where files of the directory have rules of their own."""
	server = h2d.new(files={"d/README": "secret", "open/README": "open"})
	path = put_users(server, anna=hashed("sesame"))
	server.write_conf(server='autoindex = true  location "/d/README" { auth-basic-file = "%s" }' % path)
	server.start()
	with connect(server) as c:
		assert b"secret" not in c.get("/d/").body
		assert c.get("/d/README").status == 401
		assert c.get("/d/README", basic("anna", "sesame")).body == b"secret"
		assert b"<pre>\nopen</pre>" in c.get("/open/").body
