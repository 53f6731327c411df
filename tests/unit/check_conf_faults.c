/* check_conf_faults: what is wrong with a configuration is said, at the right line, and once. */
#include "conf_unit.h"

#define A50       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define IN_SERVER "server \"_\" { root = \"@/www\"\n"
#define SERVED    "server \"_\" { root = \"@/www\" }\n"

/* One text, and its faults in order: each begins with its place and contains what is behind '|'. */
static const struct {
	const char *text;
	const char *faults[6];
} cases[] = {
	/* keys */
	{ SERVED "worker_processes = 4\n", { "h2d.conf:2|worker-processes" } },
	{ SERVED "\n\nworker_processes 4;\n", { "h2d.conf:4|worker-processes" } },
	{ SERVED "certificate = \"x\"\n", { "h2d.conf:2|belongs in tls" } },
	{ SERVED "tls = true\n", { "h2d.conf:2|belongs in listen" } },
	{ SERVED "tls { user = \"x\" }\n", { "h2d.conf:2|belongs in the top level" } },
	{ SERVED "cache = 5\n", { "h2d.conf:2|is a section" } },
	{ SERVED "foo = {\"a\",\n\"b\"} fop = 5\nbar\n",
		{ "h2d.conf:2|\"foo\"", "h2d.conf:3|\"fop\"", "h2d.conf:4|\"bar\"" } },
	{ SERVED "listen \"127.0.0.1:1\" { amin = true  tsl = false }\n",
		{ "h2d.conf:2|did you mean admin?", "h2d.conf:2|did you mean tls?" } },
	{ "user = \"a\"\n" SERVED "user = \"b\"\n", { "h2d.conf:3|first at @/h2d.conf:1" } },
	{ SERVED "cache { max-size = 1M\nmax-size = 2M }\n",
		{ "h2d.conf:3|first at @/h2d.conf:2" } },
	{ SERVED "user = 5 # c\nuser = \"x\"\n",
		{ "h2d.conf:2|double quotes", "h2d.conf:3|duplicate" } },
	{ "server \"_\" { rot = \"@/www\" }\n", { "h2d.conf:1|did you mean root?" } },

	/* sections */
	{ SERVED "cash {\n max-size = 1M\n}\n", { "h2d.conf:2|cache" } },
	{ "servr \"_\" { root = \"x\" }\n", { "h2d.conf:1|did you mean server?" } },
	{ SERVED "cache {}\ncache { max-size = no }\n",
		{ "h2d.conf:3|first at @/h2d.conf:2", "h2d.conf:3|max-size" } },
	{ SERVED SERVED, { "h2d.conf:2|first at @/h2d.conf:1" } },
	{ SERVED "listen \"127.0.0.1:1\" {}\nlisten \"[::1]:1\" {}\nlisten \"[0:0::1]:1\" {}\n",
		{ "h2d.conf:4|first at @/h2d.conf:3" } },
	{ SERVED "cache \"x\" {}\n", { "h2d.conf:2|no title" } },
	{ SERVED "listen {}\n", { "h2d.conf:2|needs a title" } },
	{ SERVED "worker-processes { 4 }\n", { "h2d.conf:2|missing \"=\"" } },

	/* nesting and braces */
	{ SERVED "cache {\n limits { max-concurrent-streams = x }\n}\n",
		{ "h2d.conf:3|max-concurrent-streams", "h2d.conf:3|inside cache" } },
	{ SERVED "tls {\n certificate = \"\"\nserver \"_\" {}\n",
		{ "h2d.conf:2|ends at line 5", "h2d.conf:4|duplicate" } },
	{ SERVED "cache {\nmax-size = 1M\n", { "h2d.conf:2|ends at line 4" } },
	{ SERVED "cache\nmax-size = 1M\n}\n", { "h2d.conf:2|missing \"{\"" } },
	{ SERVED "cache\nuser = \"x\"\n", { "h2d.conf:2|missing \"{\"" } },
	{ SERVED "}\nuser = 1\n", { "h2d.conf:2|unmatched \"}\"", "h2d.conf:3|user" } },
	{ SERVED "{ user = 1 }\nuser = 1\n",
		{ "h2d.conf:2|without a section name", "h2d.conf:3|user" } },
	{ SERVED "foo { bar {\n baz = {\"\"} }\n", { "h2d.conf:2|\"foo\"", "h2d.conf:2|ends at" } },
	{ SERVED "tls { tls { tls { tls { tls { tls { tls { tls { tls { tls { tls {",
		{ "h2d.conf:2|duplicate", "*" } },

	/* statements */
	{ SERVED "user =\nlog-level = 5\n", { "h2d.conf:2|user has no value", "h2d.conf:3|5" } },
	{ SERVED "user\nlog-level\n", { "h2d.conf:2|missing \"=\"", "h2d.conf:3|missing \"=\"" } },
	{ SERVED "user \"x\" { }\nlog-level loud\n",
		{ "h2d.conf:2|missing \"=\"", "h2d.conf:3|missing \"=\"" } },
	{ SERVED "listen \"127.0.0.1:1\" { tls = } user = 1\n",
		{ "h2d.conf:2|tls has no value", "h2d.conf:2|user" } },
	{ SERVED "user = \"a\" \"b\"\nuser = \"x\";\n",
		{ "h2d.conf:2|unexpected string", "h2d.conf:3|duplicate", "h2d.conf:3|\";\"" } },
	{ SERVED "user = = \"a\"\n= 5\n", { "h2d.conf:2|no value", "h2d.conf:3|\"=\"" } },
	{ SERVED "listen \"127.0.0.1:1\" { tls = false, admin = true }\n", { "h2d.conf:2|\",\"" } },

	/* words, strings, bytes */
	{ SERVED "user = \"abc\nlog-level = 1\n",
		{ "h2d.conf:2|no closing quote", "h2d.conf:3|1" } },
	{ SERVED "listen \"127.0.0.1:1 { tls = false }\n", { "h2d.conf:2|no closing quote" } },
	{ "server \"_ {\n root = \"@/www\"\n}\n", { "h2d.conf:1|no closing quote" } },
	{ "server \"_\" { root = \"@/www }\n", { "h2d.conf:1|no closing quote" } },
	{ SERVED "user = \"a\\n\"\nerror-log = \"\\\"\\\\\\t\"\n",
		{ "h2d.conf:2|unknown escape", "h2d.conf:3|unknown escape" } },
	{ SERVED "user = \"a\tb\"\n", { "h2d.conf:2|control byte" } },
	{ SERVED "user = \"a\" # \x01\x02 x \x03\n\x7f\x01 user\n",
		{ "h2d.conf:2|control byte", "h2d.conf:3|control byte" } },
	{ SERVED "user\r= \"a\"\n", { "h2d.conf:2|control byte" } },

	/* lists */
	{ "server \"_\" { root = \"@/www\"\nindex = {\"a\" \"b\"}\ncharset = 1 }\n",
		{ "h2d.conf:2|commas", "h2d.conf:3|charset" } },
	{ "server \"_\" { root = \"@/www\"\nindex = {\"a\",\n b,\n \"c\"}\ncharset = 1 }\n",
		{ "h2d.conf:3|index", "h2d.conf:5|charset" } },
	{ "server \"_\" { root = \"@/www\"\nindex = {\"a\",,\n {\"c\"}}\ncharset = 1 }\n",
		{ "h2d.conf:2|commas", "h2d.conf:4|charset" } },
	{ "server \"_\" { root = \"@/www\"\nindex = {\"a\",\n\"b\"\n\ncharset = 1\n}\n",
		{ "h2d.conf:2|no \"}\"", "h2d.conf:5|charset" } },
	{ "server \"_\" { root = \"@/www\"\nindex = {\"a\", \"b}\ncharset = 1\n}\n",
		{ "h2d.conf:2|no closing quote", "h2d.conf:3|charset" } },
	{ SERVED "cache {\n max-size = {\"a\", # }\n",
		{ "h2d.conf:3|ends at line 4", "h2d.conf:2|ends at line 4" } },
	{ "server \"_\" { root = \"@/www\" index = a }", { "h2d.conf:1|a list of strings" } },

	/* values */
	{ SERVED "worker-processes = \"4\"\n", { "h2d.conf:2|remove the quotes" } },
	{ SERVED "worker-processes = 010\n", { "h2d.conf:2|leading zeros" } },
	{ SERVED "worker-processes = -5\nworker-connections = +5\n",
		{ "h2d.conf:2|no sign", "h2d.conf:3|no sign" } },
	{ SERVED "worker-processes = 513\nworker-connections = 15\n",
		{ "h2d.conf:2|1 to 512", "h2d.conf:3|16 to 1048576" } },
	{ SERVED "worker-processes = 0\nworker-connections = 99999999999999999999\n",
		{ "h2d.conf:2|out of range", "h2d.conf:3|out of range" } },
	{ SERVED "worker-connections = 1K\nshutdown-timeout = auto\n",
		{ "h2d.conf:2|decimal", "h2d.conf:3|auto" } },
	{ SERVED "log-level = loud\ndispatch = acceptors\n",
		{ "h2d.conf:2|alert, error, warn, notice, info, debug", "h2d.conf:3|reuseport" } },
	{ SERVED "balance = source-hash\n", { "h2d.conf:2|balance must be one of auto, hash, cpu "
					      "for dispatch = reuseport, not source-hash" } },
	{ SERVED "balance = least-connections\n",
		{ "h2d.conf:2|balance must be one of auto, hash, cpu for dispatch = reuseport, not "
		  "least-connections" } },
	{ SERVED "balance = fair\nbalance = \n", { "h2d.conf:2|balance must be", "h2d.conf:3|" } },
	{ SERVED "listen \"127.0.0.1:1\" { proxy-protocol = true }\nclient-address = forwarded\n",
		{ "h2d.conf:3|client-address needs trusted-proxies",
			"h2d.conf:2|proxy-protocol = true needs trusted-proxies" } },
	{ SERVED "trusted-proxies = {\"10.0.0.0/8\"}\n"
		 "listen \"unix:/tmp/x.sock\" { proxy-protocol = true }\n",
		{ "h2d.conf:3|\"unix\" in trusted-proxies" } },
	{ SERVED "client-address = x-real-ip\nset_real_ip_from = \"10.0.0.0/8\"\n",
		{ "h2d.conf:2|client-address must be a string, not x-real-ip: write double quotes",
			"h2d.conf:3|trusted-proxies" } },
	{ SERVED "request-id = yes\n", { "h2d.conf:2|true or false, not yes" } },
	{ SERVED "user = h2d\npid-file = /x\n", { "h2d.conf:2|quotes", "h2d.conf:3|quotes" } },
	{ SERVED "cache { max-size = 1.5G  max-file-size = 65M }\n",
		{ "h2d.conf:2|max-size", "h2d.conf:2|0 to 64M" } },
	{ SERVED "cache { max-size = K  max-file-size = 1T }\n",
		{ "h2d.conf:2|max-size", "h2d.conf:2|max-file-size" } },
	{ SERVED "cache { max-size = 5iB\nmax-file-size = 1MBB }\n",
		{ "h2d.conf:2|not a size", "h2d.conf:3|max-file-size" } },
	{ SERVED "shutdown-timeout = 500ms\ntimeouts { send = s\nbody = 2d\nheader = 1m30s }\n",
		{ "h2d.conf:2|whole seconds", "h2d.conf:3|no number",
			"h2d.conf:4|1 to 86400, with or without s, m, h, d",
			"h2d.conf:5|decimal" } },

	/* what other servers' operators write */
	{ IN_SERVER "gzip = true\nssl_certificate = \"x\"\nproxy_pass \"http://x\"\nupstream \"a\" "
		    "{ } }\n",
		{ "h2d.conf:2|\"gzip\" in server: use compress in cache",
			"h2d.conf:3|certificate in tls",
			"h2d.conf:4|\"proxy_pass\" in server: use proxy in location",
			"h2d.conf:5|use proxy in location (it lists the servers)" } },
	{ SERVED "zzz = 1\nqqqqqq { }\n",
		{ "h2d.conf:2|unknown key \"zzz\" in the top level",
			"h2d.conf:3|unknown section \"qqqqqq\" in the top level" } },
	{ "user www-data;\nevents { }\nhttp {\n server {\n  listen 80;\n }\n}\n",
		{ "h2d.conf:1|configuration of nginx" } },
	{ "<VirtualHost *:80>\nDocumentRoot /srv\n</VirtualHost>\n",
		{ "h2d.conf:1|configuration of Apache" } },
	{ "server \"_\" {\nroot = \xe2\x80\x9c/srv\xe2\x80\x9d\ncharset = 'utf-8'\n}\n",
		{ "h2d.conf:2|typographic", "h2d.conf:3|double quotes" } },
	{ "\xff\xfeu\0s\0", { "h2d.conf|UTF-16" } },
	{ SERVED "limits { client-header-size = 18446744073709551615G }\n",
		{ "h2d.conf:2|1K to 1M" } },
	{ SERVED "tls { protocols = {\"TLSv1.3\", \"SSLv3\"} }\ntimeouts { send = {\"1\"} }\n",
		{ "h2d.conf:2|\"SSLv3\"", "h2d.conf:3|not a list" } },
	{ SERVED "listen \"unix:@/s\" { socket-mode = \"0999\" }\n", { "h2d.conf:2|socket-mode" } },
	{ SERVED "listen \"unix:@/s\" { socket-mode = \"1777\" }\n", { "h2d.conf:2|0777" } },
	{ SERVED "listen \"unix:@/s\" { socket-mode = 0660 }\n", { "h2d.conf:2|quotes" } },

	/* the environment */
	{ "server \"_\" {\n root = \"${H2D_NONE}/www\" }\n",
		{ "h2d.conf:2|${H2D_NONE} is not set" } },
	{ SERVED "listen \"127.0.0.1:${H2D_NONE}\" {}\nworker-processes = ${H2D_NONE}\n",
		{ "h2d.conf:2|not set", "h2d.conf:3|not set" } },
	{ SERVED "user = \"${\"\nuser = \"${}\"\nuser = \"${A-B:}\"\n",
		{ "h2d.conf:2|has no \"}\"", "h2d.conf:3|${NAME:default}", "h2d.conf:4|${A-B}" } },
	{ SERVED "trusted-proxies = {\"${H2D_NONE}\", \"${H2D_NO}\"}\nlog-level = x\n",
		{ "h2d.conf:2|${H2D_NONE}", "h2d.conf:2|${H2D_NO}", "h2d.conf:3|x" } },
	{ SERVED "add-header = {\"x: ${host}\"}\nredirect = \"https://${host}/\"\n",
		{ "h2d.conf:2|add-header: ${host}", "h2d.conf:3|redirect: ${host}" } },

	{ "server \"_\" {\n root = \"none/${host}/a\" }\n", { "h2d.conf:2|@/none/\"" } },
	{ "server \"_\" {\n root = \"www/a${host}\" }\n", { "h2d.conf:2|whole directory name" } },
	{ "server \"_\" {\n root = \"www/${host}/${host}\" }\n",
		{ "h2d.conf:2|whole directory name" } },
	{ SERVED "server \"a\" { root = \"www\"\n location \"/l\" { root = \"www/${host}\" } }\n",
		{ "h2d.conf:3|of a server only" } },

	/* includes */
	{ SERVED "include(\"none.conf\")\n", { "h2d.conf:2|none.conf" } },
	{ SERVED "include \"x.conf\"\ninclude(x)\ninclude(\"x\"\nuser = 1\n",
		{ "h2d.conf:2|include(", "h2d.conf:3|include(", "h2d.conf:4|include(",
			"h2d.conf:5|user" } },
	{ SERVED "cache { include(\"x.conf\") max-size = x }\n",
		{ "h2d.conf:2|cannot open", "h2d.conf:2|max-size" } },
	{ SERVED "include(\"h2d.conf\")\n", { "h2d.conf:2|includes itself" } },
	{ SERVED "include(\"www\")\n", { "h2d.conf:2|not a regular file" } },
	{ SERVED "include(\"*.conf\")\n", { "h2d.conf:2|includes itself" } },

	/* what no single key can tell */
	{ SERVED "listen \"127.0.0.1:1\" {\n tls = true }\n", { "h2d.conf:2|certificate-key" } },
	{ SERVED "listen \"127.0.0.1:1\" { tls = true }\ntls { certificate = \"cert.pem\" }\n",
		{ "h2d.conf:3|certificate-key is missing" } },
	{ SERVED "tls {\n certificate = \"none\"\n certificate-key = \"www\"\n protocols = {} }\n",
		{ "h2d.conf:3|@/none", "h2d.conf:4|not a regular file", "h2d.conf:5|empty" } },
	{ SERVED "listen \"unix:@/s\" { tls = true }\ntls { certificate = \"cert.pem\" "
		 "certificate-key = \"key.pem\" }\n",
		{ "h2d.conf:2|unix:" } },
	{ "listen \"127.0.0.1:1\" {}\n", { "h2d.conf|root is missing" } },
	{ "listen \"127.0.0.1:1\" {}\nserver \"_\" {}\n", { "h2d.conf:2|root is missing" } },
	{ "server \"_\" {\n root = \"none\" }\n", { "h2d.conf:2|@/none" } },
	{ IN_SERVER
		"location \"/a\" { root = \"none\" }\nlocation \"/b\" { root = \"key.pem\" } }\n",
		{ "h2d.conf:2|@/none", "h2d.conf:3|not a directory" } },
	{ "server \"_\" {\n root = \"key.pem\" }\n", { "h2d.conf:2|not a directory" } },
	{ "server \"_\" { root = \"www\"\n index = {\"a/b\", \"\", \"..\"}\n charset = \"a b\"\n"
	  " upload-dir = \"a/../..\" }\n",
		{ "h2d.conf:2|\"a/b\"", "h2d.conf:2|\"\"", "h2d.conf:2|\"..\"",
			"h2d.conf:3|charset", "h2d.conf:4|\"..\"" } },
	{ "server \"_\" { root = \"@/www\" upload-dir = \"w\"\n"
	  "location \"/a\" { upload-dir = \"/x\" }\n"
	  "location \"/b\" { root = \"@/www\" upload-dir = \"x\" }\n"
	  "location \"/c\" { store-folder = \"c\" upload-dir = \"x\" }\n"
	  "location \"/\" { upload-dir = \"x\" } }\n",
		{ "h2d.conf:2|relative to root", "h2d.conf:3|a root of its own",
			"h2d.conf:4|write to store-folder", "h2d.conf:5|write it in the server" } },
	{ "server \"_\" { root = \"@\" upload-dir = \"key.pem\" }\n",
		{ "h2d.conf:1|not a directory" } },
	{ "server \"_\" { root = \"@\" upload-dir = \"/www\" }\n", { "h2d.conf:1|relative" } },
	{ "server \"_\" { root = \"@\"\n upload-dir = \"./www\" }\n", { "h2d.conf:2|\".\"" } },
	{ "server \"_\" { root = \"@\"\n upload-dir = \".\" }\n", { "h2d.conf:2|\".\"" } },
	{ "server \"_\" { root = \"@\"\n upload-dir = \"www//a\" }\n", { "h2d.conf:2|\"//\"" } },
	{ SERVED "pid-file = \"no/pid\"\nerror-log = \"no/e\"\naccess-log = \"key.pem/a\"\n",
		{ "h2d.conf:2|@/no", "h2d.conf:3|@/no", "h2d.conf:4|not a directory" } },
	{ SERVED "pid-file = \"www\"\nerror-log = \"\"\naccess-log = \"www\"\n",
		{ "h2d.conf:2|directory", "h2d.conf:3|empty", "h2d.conf:4|directory" } },
	{ IN_SERVER "access-log = \"no/a\"\naccess-log-format = xml\n"
		    "access-log-skip = {\"/a\", \"b\", \"/c*\"} }\n"
		    "access-log-skip = {\"/../a\"}\n",
		{ "h2d.conf:3|combined, combined-vhost, json, short", "h2d.conf:5|\"/../a\"",
			"h2d.conf:2|@/no", "h2d.conf:4|\"b\" is not a path",
			"h2d.conf:4|\"/c*\"" } },

	/* sections in a server */
	{ SERVED "location \"/a\" { index = 5 }\nerror-page \"404\" {}\n",
		{ "h2d.conf:2|location belongs in server, not in the top level",
			"h2d.conf:2|index must be", "h2d.conf:3|belongs in server" } },
	{ IN_SERVER "location { }\nlocation \"a\" { }\nlocation \"/a\" { upload-quota = 1 } }\n",
		{ "h2d.conf:2|needs a title",
			"h2d.conf:4|upload-quota belongs in server, not in location",
			"h2d.conf:3|\"a\" is not a path" } },
	{ IN_SERVER "location \"/a/\" {}\nlocation \"/a\" {}\nlocation \"/a/\" {} }\n",
		{ "h2d.conf:4|first at @/h2d.conf:2" } },
	{ IN_SERVER "location \"/a//b\" {}\nlocation \"/a/./\" {}\nlocation \"/..\" {} }\n",
		{ "h2d.conf:2|not a path", "h2d.conf:3|not a path", "h2d.conf:4|not a path" } },
	{ IN_SERVER "location \"/a\" {\nserver \"b\" { root = \"@/www\" }\n}\n}\n",
		{ "h2d.conf:3|server cannot be inside location" } },
	{ IN_SERVER "location \"/a\" {\nlocation \"/b\" { }\n}\n}\n",
		{ "h2d.conf:3|location cannot be inside location" } },
	{ IN_SERVER "location \"/a\" {\n}\n", { "h2d.conf:1|ends at line 4" } },
	{ IN_SERVER "cache { max-size = x }\n}\n",
		{ "h2d.conf:2|max-size", "h2d.conf:2|cache cannot be inside server" } },
	{ IN_SERVER "locaton \"/a\" { autoindex = 5 }\n}\n",
		{ "h2d.conf:2|did you mean location?" } },
	{ IN_SERVER "location \"/a\" { autoindx = true\nindex = 5\nautoindex = yes }\n}\n",
		{ "h2d.conf:2|did you mean autoindex?", "h2d.conf:3|index",
			"h2d.conf:4|autoindex" } },
	{ IN_SERVER "location \"/a\" { index = {\"..\"} charset = \"a b\"\nredirect-status = 303\n"
		    "index = {} auth-basic-file = \"none\" } }\n",
		{ "h2d.conf:3|one of 301, 302, 307, 308", "h2d.conf:4|duplicate",
			"h2d.conf:2|\"..\"", "h2d.conf:2|charset", "h2d.conf:4|@/none" } },
	{ IN_SERVER "redirect = \"x\"\nlocation \"/a\" { redirect = \"//x\" }\n"
		    "location \"/b\" { redirect = \"/a b\" }\nlocation \"/c\" { redirect = "
		    "\"http://\" }\n"
		    "location \"/d\" { redirect = \"ftp://x\" } location \"/e\" { redirect = "
		    "\"/\xc3\xbc\" } }\n",
		{ "h2d.conf:2|redirect", "h2d.conf:3|redirect", "h2d.conf:4|redirect",
			"h2d.conf:5|redirect", "h2d.conf:6|redirect", "h2d.conf:6|redirect" } },
	{ IN_SERVER "redirect = \"https://$host$request_uri\"\nlocation \"/a\" { redirect = "
		    "\"/b/$1\" } }\n",
		{ "h2d.conf:2|must not contain $host", "h2d.conf:3|%24" } },
	{ IN_SERVER
		"redirect = \"/x\"\nlocation \"/a\" { redirect = \"/a/b?c\" }\n"
		"location \"/b/\" { redirect = \"/b/\" }\nlocation \"/c\" { redirect = \"/c?d\" }\n"
		"location \"/b/f\" { index = {\"g\"} } }\n",
		{ "h2d.conf:2|to itself", "h2d.conf:3|to itself", "h2d.conf:4|to itself",
			"h2d.conf:5|to itself" } },
	/* Elsewhere, if only a little: nothing but the last line is wrong. */
	{ IN_SERVER
		"redirect = \"/x/y\"\nlocation \"/x\" { redirect = \"\" }\n"
		"location \"/a\" { redirect = \"/ab\" }\nlocation \"/ab\" { redirect = \"/x?\" }\n"
		"location \"/b\" { redirect = \"/b/c\" }\nlocation \"/b/c\" { redirect = "
		"\"https://a/b\" }\nroot = 1 }\n",
		{ "h2d.conf:8|root" } },
	{ IN_SERVER
		"error-page \"404\" {}\nerror-page \"200\" { file = \"/a\" }\n"
		"error-page \"40x\" { file = \"a\" }\nerror-page \"404\" { file = \"/a/\" } }\n",
		{ "h2d.conf:2|needs a file", "h2d.conf:3|400 to 599", "h2d.conf:4|\"a\"",
			"h2d.conf:4|400 to 599", "h2d.conf:5|\"/a/\"", "*" } },
	{ IN_SERVER
		"error-page \"404\" { file = \"/a\" }\nerror-page \"404\" { file = \"/../a\" } }\n",
		{ "h2d.conf:3|\"/../a\"", "h2d.conf:3|first at @/h2d.conf:2" } },
	{ IN_SERVER "tls { certificate = \"cert.pem\" }\ntls {} }\n",
		{ "h2d.conf:3|first at @/h2d.conf:2", "h2d.conf:2|certificate-key is missing" } },
	{ IN_SERVER "tls {\ncertificate = {\"cert.pem\", \"cert.pem\"}\ncertificate-key = "
		    "\"key.pem\" } }\n",
		{ "h2d.conf:4|certificate-key: 1 instead of 2 files" } },
	{ IN_SERVER "tls {\ncertificate = {\"cert.pem\"}\ncertificate-key = {\"key.pem\", "
		    "\"none\"} } }\n",
		{ "h2d.conf:4|@/none" } },
	{ IN_SERVER "tls {\ncertificate = {\"cert.pem\", \"\"}\ncertificate-key = {\"key.pem\", "
		    "\"key.pem\"}\nstapling-file = true } }\n",
		{ "h2d.conf:5|a path, or a list of paths in braces",
			"h2d.conf:3|certificate: file names must not be empty" } },
	{ IN_SERVER "tls {\ncertificate = \"cert.pem\"\ncertificate-key = \"key.pem\"\n"
		    "stapling-file = {\"\", \"cert.pem\"} } }\n",
		{ "h2d.conf:5|stapling-file: 2 instead of 1 files" } },
	{ IN_SERVER "tls { certificate-key = \"none\"\nprotocols = {} } }\n",
		{ "h2d.conf:3|protocols belongs in tls of the top level, not in tls of server",
			"h2d.conf:2|@/none" } },

	{ IN_SERVER "fallback = \"index.html\"\nextensions = {\"html\", \".\", \".a/b\"}\n"
		    "health = \"healthz\"\nlocation \"/d/\" { fallback = \"/d/\" } }\n",
		{ "h2d.conf:3|\"html\" must look like", "h2d.conf:3|\".\"", "h2d.conf:3|\".a/b\"",
			"h2d.conf:2|is not a file path", "h2d.conf:5|\"/d/\" is not a file path",
			"h2d.conf:4|is not a path" } },
	{ IN_SERVER "upload-dir = \"up\"\nlocation \"/files\" { store-folder = \"own\" }\n"
		    "location \"/t\" { store-folder = \".own\" }\n"
		    "location \"/\" { store-folder = \"own\" } }\n",
		{ "h2d.conf:3|through /files in this location", "h2d.conf:4|one directory name",
			"h2d.conf:5|through /files in this location" } },

	{ IN_SERVER "upload-origins = {\"https://a.example:8443\", \"https://a.example/\"} }\n",
		{ "h2d.conf:2|\"https://a.example/\" must look like \"https://example.com\"" } },
	{ IN_SERVER "upload-origins = {\"\"} }\n", { "h2d.conf:2|must look like" } },
	{ IN_SERVER "upload-origins = {\"null\"} }\n", { "h2d.conf:2|must look like" } },

	{ IN_SERVER "location \"/a/*.js\" { }\nfiles \"a/*.js\" { }\nfiles \"*.js\" { root = "
		    "\"x\" }\nfiles \"*.JS\" { }\nstrict-transport-security = \"yes\"\n"
		    "location \"/l\" { redirect = \"/x?y\"  redirect-keep-path = true } }\n",
		{ "h2d.conf:4|root belongs in server, not in files", "h2d.conf:6|no max-age",
			"h2d.conf:3|must be a file name", "h2d.conf:5|duplicate files \"*.JS\"",
			"h2d.conf:2|must not contain wildcards", "h2d.conf:7|a \"?\" or \"#\"" } },

	/* names */
	{ SERVED "server \"b\" { root = \"@/www\"\naliases = {\"c\", \"*.d\"} }\n"
		 "server \"C\" { root = \"@/www\"\naliases = {\"*.D\", \"e\", \"E\"} }\n",
		{ "h2d.conf:5|duplicate server name \"*.D\" (first at @/h2d.conf:3",
			"h2d.conf:4|duplicate server name \"C\" (first at @/h2d.conf:3" } },
	{ IN_SERVER "aliases = {\"*\", \"a.*\", \"*a.b\", \"a..b\",\n\"a:80\", \"\"} }\n",
		{ "h2d.conf:2|\"*\"", "h2d.conf:2|\"a.*\"", "h2d.conf:2|\"*a.b\"",
			"h2d.conf:2|nothing before or after", "h2d.conf:2|remove the port", "*" } },
	{ IN_SERVER "aliases = {\"a.\", \".a\", \"a b\", \"[::g]\", \"_/\"} }\n",
		{ "h2d.conf:2|dot", "h2d.conf:2|dot", "h2d.conf:2|write one name here",
			"h2d.conf:2|not a host name", "h2d.conf:2|not a host name" } },
	{ "server \"*.*.b\" { root = \"@/www\" }\n", { "h2d.conf:1|first label" } },
	{ "server \"" A50 A50 "\" { root = \"@/www\" }\n", { "h2d.conf:1|63 bytes" } },
	{ "server \"" A50 "." A50 "." A50 "." A50 "." A50 "\" { root = \"@/www\" }\n",
		{ "h2d.conf:1|253 bytes" } },
	{ SERVED "server \"b\" {}\n", { "h2d.conf:2|root is missing" } },

	/* listeners that send elsewhere */
	{ SERVED "listen \"127.0.0.1:1\" { redirect-to-https = true }\n",
		{ "h2d.conf:2|needs a listener with tls" } },
	{ SERVED "listen \"127.0.0.1:1\" { tls = true\nredirect-to-https = true }\n"
		 "tls { certificate = \"cert.pem\" certificate-key = \"key.pem\" }\n",
		{ "h2d.conf:3|needs tls = false" } },
	{ SERVED "listen \"127.0.0.1:1\" { admin = true\nredirect-to-https = true }\n",
		{ "h2d.conf:3|needs admin = false" } },

	{ SERVED "listen \"127.0.0.1:1\" { tls = true\nhttp1 = false }\n"
		 "tls { certificate = \"cert.pem\" certificate-key = \"key.pem\" }\n",
		{ "h2d.conf:3|needs tls = false" } },
	{ "server \"_\" { root = \"@/www\"\nrequests-burst = 1\nlimits { handshakes = 99\n"
	  "requests-burst = 1\nroot = \"/\" }\ntimeouts { header = 1 } }\n",
		{ "h2d.conf:3|handshakes belongs in limits of the top level, not in limits of "
		  "server",
			"h2d.conf:4|duplicate requests-burst (first at ",
			"h2d.conf:5|root belongs in server, not in limits",
			"h2d.conf:6|timeouts cannot be inside server: write it in the top level or "
			"listen" } },
	{ SERVED "listen \"127.0.0.1:1\" { timeouts { header = 9999\nhandler = 1\n} }\n"
		 "listen \"127.0.0.1:2\" { timeouts { header = 1 }\ntimeouts { } }\n",
		{ "h2d.conf:2|1 to 3600",
			"h2d.conf:3|handler belongs in timeouts of the top level, not in timeouts "
			"of "
			"listen",
			"h2d.conf:6|duplicate section timeouts" } },
	{ SERVED "listen \"127.0.0.1:1\" { haproxy-agent = true\nadmin = true }\n",
		{ "h2d.conf:2|needs admin = false" } },

	/* the name of a machine */
	{ SERVED "instance-name = \"a b\"\n", { "h2d.conf:2|letters, digits" } },
	{ SERVED "instance-name = \"" A50 A50 "\"\n", { "h2d.conf:2|64 bytes" } },

	/* keys of the cache */
	{ SERVED "cache { compress = {\"br\", \"deflate\"}\nrescan-interval = 0 }\n",
		{ "h2d.conf:2|\"deflate\"", "h2d.conf:3|1 to 86400" } },
	{ "server \"_\" { root = \"@/www\" compress = {\"br\", \"off\"} }",
		{ "h2d.conf:1|write off alone" } },
	{ "server \"_\" { root = \"@/www\" compress-responses = {\"br\", \"on\"} }",
		{ "h2d.conf:1|compress-responses: write on alone" } },
};

/* Whether a fault is what the case says: "PLACE|PART", with "@" for the folder. */
static bool is_as_said(const char *fault, const char *said)
{
	const char *bar = strchr(said, '|');
	char part[512] = "";
	size_t n = 0;

	for (const char *p = bar + 1; *p != '\0' && n < sizeof(part) - strlen(tree); p++) {
		if (*p == '@')
			n += (size_t)sprintf(part + n, "%s", tree);
		else
			part[n++] = *p;
	}
	part[n] = '\0';
	return strncmp(fault, said, (size_t)(bar - said)) == 0 &&
	       strncmp(fault + (bar - said), ": ", 2) == 0 && strstr(fault, part) != NULL;
}

TEST_ROWS(each_fault, cases)
{
	struct conf *c = load_text(cases[_i].text);
	unsigned n = 0;

	ck_assert_ptr_null(c);
	for (; n < 6 && cases[_i].faults[n] != NULL; n++) {
		if (strcmp(cases[_i].faults[n], "*") == 0)
			return;
		ck_assert_msg(n < nfaults, "nothing said of %s in\n%s", cases[_i].faults[n],
			cases[_i].text);
		ck_assert_msg(is_as_said(faults[n], cases[_i].faults[n]), "%s is not %s in\n%s",
			faults[n], cases[_i].faults[n], cases[_i].text);
	}
	ck_assert_msg(n == nfaults, "%s too in\n%s", faults[n], cases[_i].text);
}

/* With faults it is whole all the same: what is written of it shows no refused value. */
TEST_ROWS(each_faulty, cases)
{
	const struct conf_override ov = { .file = tree_path("h2d.conf") };
	char text[65536];
	FILE *out = fmemopen(text, sizeof(text), "w");
	struct conf *c;

	write_file("h2d.conf", cases[_i].text);
	nfaults = 0;
	c = conf_load_faulty(&ov, on_fault, NULL);
	ck_assert_ptr_nonnull(c);
	ck_assert(c->faulty && nfaults > 0);
	conf_dump(c, true, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_ptr_null(strstr(text, "(null)"));
	for (unsigned i = 0; i < c->nservers; i++) {
		const struct conf_server *s = &c->servers[i];

		ck_assert(s->name != NULL && s->scope.index.v != NULL && s->scope.allow.v != NULL);
		ck_assert(
			s->scope.auth_basic_file != NULL && s->tls.pairs.certificate_key.v != NULL);
		for (unsigned j = 0; j < s->nlocations; j++)
			ck_assert(s->locations[j].prefix != NULL &&
				  s->locations[j].scope.index.v != NULL);
	}
	conf_free(&c);
}

static const struct {
	const char *address, *part;
} addresses[] = {
	{ "80", "ADDRESS:PORT" },
	{ "localhost:80", "localhost" },
	{ "[::1]:80x", "port" },
	{ "unix:/no/such/folder/s", "/no/such/folder" },
	{ "unix:/tmp", "directory" },
};

TEST_ROWS(each_address, addresses)
{
	char text[512];

	snprintf(text, sizeof(text), SERVED "listen \"%s\" {}\n", addresses[_i].address);
	ck_assert_ptr_null(load_text(text));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert_msg(strncmp(faults[0], "h2d.conf:2: ", 12) == 0 &&
			      strstr(faults[0], addresses[_i].part) != NULL,
		"%s", faults[0]);
}

TEST(in_included_files)
{
	mkdir(tree_path("d"), 0755);
	write_file("d/a.conf", "# one\n\nuser = 1\ninclude(\"b.inc\")\n");
	write_file("d/b.inc", "\ncache {\n");
	write_file("d/c.conf", "include(\"../h2d.conf\")\ninclude(\"none\")\nlog-level = info\n");
	ck_assert_ptr_null(load_text(SERVED "include(\"d/*.conf\")\nlog-level = warn\nx = 1\n"));
	ck_assert_uint_eq(nfaults, 6);
	ck_assert(is_as_said(faults[0], "d/a.conf:3|user"));
	ck_assert(is_as_said(faults[1], "d/b.inc:2|ends at line 3"));
	ck_assert(is_as_said(faults[2], "d/c.conf:1|includes itself"));
	ck_assert(is_as_said(faults[3], "d/c.conf:2|none"));
	ck_assert(is_as_said(faults[4], "h2d.conf:3|first at @/d/c.conf:3"));
	ck_assert(is_as_said(faults[5], "h2d.conf:4|\"x\""));
}

/* As if it stood there, but for its lines and its braces. */
TEST(included_into_a_block)
{
	write_file("keys.inc", "autoindex = 1\nlocation \"/a\" { charset = 2 }\nmax-size = 3\n");
	write_file("more.inc", "location \"/b\" {\n");
	write_file("less.inc", "}\ncharset = 4\nserver \"x\" {}\n");
	ck_assert_ptr_null(load_text("server \"_\" { root = \"www\"\n include(\"keys.inc\")\n"
				     " location \"/c\" {\n include(\"more.inc\")\n"
				     " include(\"less.inc\")\n include(\"h2d.conf\") } }\n"));
	ck_assert_uint_eq(nfaults, 9);
	ck_assert(is_as_said(faults[0], "keys.inc:1|autoindex"));
	ck_assert(is_as_said(faults[1], "keys.inc:2|charset"));
	ck_assert(is_as_said(faults[2], "keys.inc:3|max-size belongs in cache"));
	ck_assert(is_as_said(faults[3], "more.inc:1|has no \"}\""));
	ck_assert(is_as_said(faults[4], "more.inc:1|location cannot be inside"));
	ck_assert(is_as_said(faults[5], "less.inc:1|unmatched \"}\""));
	ck_assert(is_as_said(faults[6], "less.inc:2|charset"));
	ck_assert(is_as_said(faults[7], "less.inc:3|server cannot be inside location"));
	ck_assert(is_as_said(faults[8], "h2d.conf:6|includes itself"));
}

/* What servers share is wrong once, however many they are. */
TEST(shared_lines)
{
	write_file("shared.inc", "charset = 1\nfoo = 2\nlocation \"/a\" { index = {\"a/b\"} }\n");
	ck_assert_ptr_null(load_text("index = {\"/\"}\nredirect = \"/x\"\nfallback = \"x\"\n"
				     "auth-basic-file = \"none\"\n"
				     "server \"a\" { root = \"www\" include(\"shared.inc\") }\n"
				     "server \"b\" { root = \"www\" include(\"shared.inc\") }\n"));
	ck_assert_uint_eq(nfaults, 7);
	ck_assert(is_as_said(faults[0], "shared.inc:1|charset"));
	ck_assert(is_as_said(faults[1], "shared.inc:2|foo"));
	ck_assert(is_as_said(faults[2], "h2d.conf:1|index"));
	ck_assert(is_as_said(faults[3], "h2d.conf:3|fallback"));
	ck_assert(is_as_said(faults[4], "h2d.conf:4|auth-basic-file"));
	ck_assert(is_as_said(faults[5], "shared.inc:3|a/b"));
	ck_assert(is_as_said(faults[6], "h2d.conf:2|leads to itself"));
}

TEST(deep_includes)
{
	for (unsigned i = 0; i < 20; i++) {
		char name[32], text[64];

		snprintf(name, sizeof(name), "%u.conf", i);
		snprintf(text, sizeof(text), "include(\"%u.conf\")\n", i + 1);
		write_file(name, text);
	}
	ck_assert_ptr_null(load_name("0.conf"));
	ck_assert_msg(strstr(faults[0], "15.conf:1: more than 16 files") != NULL, "%s", faults[0]);
}

TEST(the_file_itself)
{
	ck_assert_ptr_null(load_name("none.conf"));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert(is_as_said(faults[0], "none.conf|No such file"));
	ck_assert_ptr_null(load_name("www"));
	ck_assert(is_as_said(faults[0], "www|not a regular file"));
	write_file("big.conf", "");
	ck_assert_int_eq(truncate(tree_path("big.conf"), (1 << 20) + 1), 0);
	ck_assert_ptr_null(load_name("big.conf"));
	ck_assert(is_as_said(faults[0], "big.conf|larger"));
	write_bytes("nul.conf", "\nuser = \"a\0b\"\n", 14);
	ck_assert_ptr_null(load_name("nul.conf"));
	ck_assert(is_as_said(faults[0], "nul.conf:2|control byte"));
}

TEST(not_a_configuration)
{
	static char text[65536];

	/* Thousands of faults: not all of them are news. */
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 7 == 6 ? '\n' : 'a' + i % 7);
	write_bytes("h2d.conf", text, sizeof(text));
	ck_assert_ptr_null(load_name("h2d.conf"));
	ck_assert_uint_eq(nfaults, 101);
	ck_assert_ptr_nonnull(strstr(faults[100], "too many"));
}

static const struct {
	struct conf_override ov;
	const char *part;
} lines[] = {
	{ { .port = "65536", .h2c = true }, "-p must be" },
	{ { .port = "080", .h2c = true }, "-p must be" },
	{ { .port = "", .h2c = true }, "-p must be" },
	{ { .workers = "many" }, "auto or a number from 1 to 512, not many" },
	{ { .workers = "0" }, "worker-processes" },
	{ { .dispatch = "acceptors" }, "dispatch must be one of reuseport, acceptor" },
	{ { .pid_file = "/no/such/pid" }, "pid-file \"/no/such/pid\"" },
	{ { .pid_file = "/tmp/a\nb" }, "control byte" },
	{ { .key = "/no/such.key", .cert = "/etc/passwd" }, "certificate-key \"/no/such.key\"" },
	{ { .cert = "/etc/passwd" }, "certificate-key is missing" },
	{ { .root = "/no/such/root" }, "root \"/no/such/root\"" },
};

TEST_ROWS(on_the_command_line, lines)
{
	struct conf_override ov = lines[_i].ov;

	if (ov.root == NULL)
		ov.root = tree_path("www");
	ck_assert_ptr_null(load_with(&ov));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert_msg(strncmp(faults[0], "command line: ", 14) == 0 &&
			      strstr(faults[0], lines[_i].part) != NULL,
		"%s", faults[0]);
}

TEST(nothing_at_all)
{
	const struct conf_override ov = { 0 };

	ck_assert_ptr_null(load_with(&ov));
	ck_assert_uint_eq(nfaults, 1);
	ck_assert(is_as_said(faults[0], "command line|root is missing"));
}

/* Whatever a text is cut to is read without harm, and up to the last brace with a fault. */
TEST(every_beginning)
{
	static const char text[] =
		"user = \"a\\\"b\" # c\r\nlisten \"127.0.0.1:1\" { tls=false }\n"
		"include(\"*.none\")\ncache { max-size = \"1M\" }\n"
		"server \"_\" {\n root = \"www\" index = { \"a\", # b\n \"c\", }\n}";

	for (size_t n = 0; n < sizeof(text); n++) {
		struct conf *c;

		write_bytes("h2d.conf", text, n);
		c = load_name("h2d.conf");
		ck_assert_msg(
			(c != NULL) == (nfaults == 0) && (c != NULL) == (n == sizeof(text) - 1),
			"%zu bytes", n);
		conf_free(&c);
	}
}
