from h2d_case import H2dCase


class TestHello(H2dCase):
	def test_it_greets(self):
		self.assertEqual(self.ask("GET", "/hello/world"), (200, b"Hello, world!\n"))

	def test_it_takes_no_body(self):
		self.assertEqual(self.ask("POST", "/hello/world", b"x")[0], 405)
