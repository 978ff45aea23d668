"""How the documentation is built: ``sphinx-build -W -b html docs docs/_build/html``.

The pages load nothing from elsewhere: MathJax, which sets the formulas, pictures and styles lie
beside them.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import shuffledp

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "shuffledp"
copyright = "the shuffledp authors"
version = release = shuffledp.__version__

#: One file with all that formulas need: glyphs are drawn, so no font is loaded.
_MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax/tex-svg.js"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "commands",
]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "myst-nb"}
root_doc = "index"
nitpicky = False

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_dmath_double_inline = True
myst_heading_anchors = 3

# The notebooks of the gallery run whenever the site is built; a cell that fails stops it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_ipywidgets_js = {}  # would be loaded from elsewhere
nb_execution_show_tb = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"shuffledp {release}"
html_favicon = "../src/shuffledp/web/static/icon.svg"
html_static_path = ["_static", str(_MATHJAX)]
html_css_files = ["shuffledp.css"]
mathjax_path = _MATHJAX.name
# Its menu would load more; screen readers get the MathML that stands beside each formula.
mathjax3_config = {"options": {"enableMenu": False}}
html_show_sourcelink = False
html_use_index = html_domain_indices = False  # api.md lists all names, and the search finds them
html_copy_source = False
pygments_style = "tango"
