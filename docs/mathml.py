"""Formulas as MathML, which browsers draw by themselves: the manual reads the same without a network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

#: What the converter of docutils does not know, and what it does.
WORDS = [
    (r"\\dots\b", r"\\ldots"),
    (r"\\texttt\b", r"\\text"),
    (r"\\([bB]ig)(?=[^a-zA-Z])", r"\\\1l"),
    (r"\\([dt]?frac)(\d)(\d)", r"\\\1{\2}{\3}"),
    (r"°", r"^\\circ"),
    (r"''", r"^{\\prime\\prime}"),
    (r"'", r"^{\\prime}"),
]
#: What it writes, and what it should: an index is below a letter with an accent, bars have gaps.
MENDED = [
    (
        r"<munderover>\s*(<mi[^>]*>.*?</mi>)\s*(.*?)\s*(<mo[^>]*>.</mo>)\s*</munderover>",
        r'<msub><mover accent="true">\1\3</mover>\2</msub>',
    ),
    (r"<mo[^>]*>([|‖/])</mo>", r'<mo lspace="0" rspace="0" stretchy="false">\1</mo>'),
]
TAG = re.compile(r"\\tag\{([^}]*)\}")


def mathml(text, block, place):
    """A formula as MathML; one that cannot be read is a warning, which ends the build."""
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    try:
        found = tex2mathml(text, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", text, error, location=place)
        return ""
    for pattern, word in MENDED:
        found = re.sub(pattern, word, found, flags=re.DOTALL)
    return found


def inline(self, node):
    """Within a line."""
    self.body.append(mathml(node.astext(), False, node))
    raise nodes.SkipNode


def block(self, node):
    r"""On a line of its own, the number from ``\tag`` at the right."""
    text, tags = TAG.sub("", node.astext()), TAG.findall(node.astext())
    number = f'<span class="eqno">({tags[0]})</span>' if tags else ""
    self.body.append(f'<div class="math">{mathml(text, True, node)}{number}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """For conf.py: an extension of Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
