"""How the site is built: `make docs`, without a network and without warnings."""

import datetime
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

import gallery  # noqa: E402

import mercer  # noqa: E402

project = "Mercer"
author = "The Mercer developers"
copyright = f"{datetime.date.today().year}, {author}"
version = release = mercer.__version__

extensions = [
    "myst_parser",  # pages are Markdown
    "numpydoc",  # docstrings
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax itself, so that a reader needs no network
    "sphinx_copybutton",
    "sphinx_design",  # cards and tabs
    "sphinx_gallery.gen_gallery",
    # Of our own, in _ext:
    "docstrings",  # sound reStructuredText of plain docstrings
    "gallery",  # the options of sphinx_gallery, too
    "measured",  # tables and charts of the benchmarks
    "reference",  # the list of every public name
    "repository",  # pages and links that are files of the repository
]

root_doc = "index"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_ext", "tutorial", "measured", "**/GALLERY_HEADER.*"]
templates_path = ["_templates"]
suppress_warnings = [
    "config.cache",  # the functions in sphinx_gallery_conf
    "myst.header",  # the changelog and the promises begin below a level
]
nitpicky = False

# --- Text

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions: dict[str, str] = {}  # filled by measured
myst_heading_anchors = 3
default_role = "py:obj"  # `name` in a docstring: a link if it is one of ours, else code
highlight_language = "none"  # literal blocks of docstrings are formulas
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# --- Docstrings

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc has them in words
autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# --- The gallery and the tutorial

sphinx_gallery_conf = gallery.options(HERE)

# --- Appearance

html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "learn/**": [], "performance": []}
html_theme_options = {
    "logo": {"text": "Mercer", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "back_to_top_button": True,
    "search_bar_text": "Search the documentation",
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}

# --- Links: `make linkcheck` follows those inside the site; what is elsewhere needs a network.

linkcheck_ignore = [r"https?://.*"]
