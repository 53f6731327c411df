"""Slips of handlers (tests/handlers/t_misuse.c): each is refused, or named in the log, and none is sent."""
import pytest

from test_47_handlers import PATIENT, handlers, link, speak  # noqa: F401 (fixtures)

# Of the message, or of its connection: what the server says of them is the truth (RFC 9110, 7.6.1).
FRAMING = ["connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
	"upgrade"]


def misuse(server, speak, what):
	with link(server, speak) as c:
		return c.get("/t/misuse/" + what)


# --- fields and types ---------------------------------------------------------------------------------


def test_fields_of_the_framing_are_refused(handlers, speak):
	server = handlers()
	with link(server, speak) as c:
		for name in FRAMING:
			answer = c.get("/t/misuse/field?%s=3" % name)
			assert (answer.status, answer.body) == (200, b"-1"), name
			assert answer.get(name) == ("2" if name == "content-length" else None)
		assert c.get("/t/misuse/field?x-te=3").get("x-te") == "3"


@pytest.mark.parametrize("name, value", [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("server", "mine/1.0")])
def test_fields_of_the_server_are_replaced(handlers, speak, name, value):
	answer = misuse(handlers(), speak, "field?%s=%s" % (name, value.replace(" ", "_")))
	assert answer.body == b"0"
	assert [v for n, v in answer.headers if n == name] == [value]


@pytest.mark.parametrize("how, want", [("", "application/two"), ("application/three", "application/three"), ("file", "application/two")])
def test_a_content_type_said_again_replaces_the_one_before(handlers, speak, how, want):
	answer = misuse(handlers(), speak, "type-twice?" + how)
	assert answer.status == 200
	assert [v for n, v in answer.headers if n == "content-type"] == [want]


@pytest.mark.parametrize("how", ["type-split", "type-split-stream"])
def test_a_type_that_would_split_the_response_is_refused(handlers, speak, how):
	server = handlers()
	answer = misuse(server, speak, how)
	assert answer.status == 500 and answer.get("set-cookie") is None
	server.log.wait(r" error .*handler t_misuse: .*content type.* GET /t/misuse/%s$" % how)
