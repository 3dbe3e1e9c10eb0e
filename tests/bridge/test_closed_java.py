"""Only ``acidsql.bridge`` knows py4j; mypy checks methods of Java objects, this what it cannot."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

_PACKAGE = Path(__file__).parents[2] / "acidsql"
_OUTSIDE = sorted(p for p in _PACKAGE.rglob("*.py") if p.parent != _PACKAGE / "bridge")
# Attributes through which PySpark's objects lead to Java objects.
_DOORS = {"_jvm", "_gateway", "_jsc", "_jsparkSession", "_jdf", "_jc", "_jconf", "_jreader"}


def names(path: Path) -> set[str]:
    """Return the modules that a file imports, and the attributes that it uses."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


@pytest.mark.parametrize("path", _OUTSIDE, ids=lambda path: str(path.relative_to(_PACKAGE)))
def test_only_the_bridge_knows_py4j(path: Path) -> None:
    known = names(path)
    assert not {n for n in known if n.startswith(("py4j", "acidsql.bridge."))}
    assert not known & _DOORS
