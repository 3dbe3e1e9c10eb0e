"""The site: Sphinx with MyST. ``scripts/docs`` builds it."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

_ROOT = Path(__file__).parents[1]
_PROJECT = (_ROOT / "pyproject.toml").read_text("utf-8")
_VERSION = re.search(r'^version = "(.+)"$', _PROJECT, re.MULTILINE)

project = "acidsql"
release = _VERSION[1] if _VERSION else ""
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"acidsql {release}"

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True

# Names of other packages, which have no pages here; and errors, which have one together.
nitpick_ignore_regex = [
    ("py:.*", r"(pyspark|pyarrow|collections|datetime|pathlib|re|threading|typing)\..*"),
    # Documented under the names of the packages that export them.
    ("py:class", r"acidsql\.(streaming\.writers|metastore\.(kerberos|tls))\.\w+"),
    ("py:class", r"DataFrame|SparkSession|Column|Mapping|Sequence|Any"),
    ("py:exc", r"\w+Error"),
    ("py:class", r"acidsql\.table_builders\.Made"),  # a type variable
    ("py:class", r"acidsql\.errors\.FormatError"),  # among the exceptions, as acidsql.FormatError
]


def setup(app: Sphinx) -> None:
    """Have links to documents beside ``docs/`` lead to the pages that include them."""
    app.connect("source-read", _link_to_pages)


def _link_to_pages(_app: Sphinx, _page: str, source: list[str]) -> None:
    for name in ("CONTRIBUTING", "CHANGELOG"):
        source[0] = source[0].replace(f"](../{name}.md", f"]({name.lower()}.md")
        source[0] = source[0].replace(f"](../../{name}.md", f"](../{name.lower()}.md")
