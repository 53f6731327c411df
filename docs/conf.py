"""The documentation as a site: scripts/docs builds it."""
import html
import os
import pathlib
import re
import subprocess
import sys
import textwrap

from docutils import nodes
from pygments import lexer, token

TOP = pathlib.Path(__file__).resolve().parents[1]
MAN = pathlib.Path(os.environ["H2D_MAN"])
sys.path.insert(0, str(TOP / "docs"))
import tables  # noqa: E402
# Pages whose text is not in docs/.
ELSEWHERE = {"reference/h2d": MAN / "h2d.8", "reference/h2d.conf": MAN / "h2d.conf.5", "security": TOP / "SECURITY.md",
	"hacking": TOP / "HACKING.md", "handlers/tutorial": TOP / "TUTORIAL.md"}
project = html_title = "h2d"
extensions, html_theme = ["myst_parser"], "furo"
pygments_style, pygments_dark_style = "xcode", "monokai" # of sufficient contrast
html_copy_source = html_show_sphinx = html_show_copyright = False


class Conf(lexer.RegexLexer):
	tokens = {"root": [(r"#.*", token.Comment), (r'"[^"\n]*"', token.String), (r"[\w-]+(?= *[={\"])", token.Name.Tag), (r"[^\w\"#]+|\w+", token.Text)]}


def read(app, name, source):
	page = ELSEWHERE.get(name, TOP / "docs" / name)

	def link(m):
		"""To a page of the site; other files of the source tree have no page."""
		target = pathlib.Path(os.path.normpath(page.parent / m[2]))
		target = next((TOP / "docs" / (other + ".md") for other, path in ELSEWHERE.items() if path == target), target)
		return "[%s](%s)" % (m[1], os.path.relpath(target, (TOP / "docs" / name).parent)) if TOP / "docs" in target.parents else m[1]
	if name in tables.PAGES:
		source[0] += tables.PAGES[name]()
	if page.parent == MAN:
		text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment,toc", page], stdout=subprocess.PIPE, text=True, check=True).stdout
		# mandoc links a term up to its first escaped "-".
		text = re.sub(r'(<dt id="([^"]+)"><a class="permalink" href="#)[^"]*', r"\1\2", text)
		source[0] += "\n````{raw} html\n%s````\n" % text
	else:
		source[0] = re.sub(r"\[([^]]+)\]\((?!\w+:)([^)#\s]+)\)", link, page.read_text() if name in ELSEWHERE else source[0])


def head(app, name, template, context, doctree):
	"""Each page describes itself by its first paragraph; the icon is none."""
	text = next((p.astext() for p in doctree.findall(nodes.paragraph)), "") if doctree else ""
	context["metatags"] = context.get("metatags", "") + '<meta name="description" content="%s"><link rel="icon" href="data:,">' % html.escape(
		textwrap.shorten(text or "h2d: documentation", 150, placeholder="…"))


def setup(app):
	app.connect("html-page-context", head)
	app.connect("source-read", read)
	app.add_lexer("conf", Conf)
	app.add_lexer("caddy", Conf)
