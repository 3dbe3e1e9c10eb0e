"""Names of the package that documents and docstrings refer to in backticks, such as ``scan.plan``.

A dotted name begins with a module, package or class of the package, or with the name of somebody
else's. The names that exist are read from the source code, which is not imported.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "acidsql"

# Settings, table properties and user metadata begin with these.
_KEYS = ("spark.", "hive.", "orc.", "field.", "acidsql.changes.", "acidsql.merge.")
_FILES = (".g4", ".lark", ".md", ".proto", ".py", ".thrift", ".toml")
# Classes, packages and variables of others that dotted names begin with.
_FOREIGN = frozenset(
    {
        # Hive
        "AcidUtils", "ColumnType", "FileUtils", "LazyUtils", "ObjectInspectorUtils",
        "OrcAcidUtils", "OrcInputFormat", "OrcRecordUpdater", "ParsedDeltaLight", "TxnUtils",
        "Warehouse",
        # Spark, PySpark, ORC, Java, other packages of Python
        "Arrays", "DataFrame", "Dataset", "FilePartition", "OrcFilters", "Project",
        "Cast", "Double", "Murmur3", "SparkSession", "Type", "WriterImpl", "java", "sources",
        # Hive's Thrift interface, read at run time
        "hms",
        # variables of examples, columns
        "_metadata", "db", "df", "err", "row",
    }
)  # fmt: skip
# Names that the code puts together.
_COMPOSED = ("num_affected_rows",)
_DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)+)(?:\([^`]*\))?`")
_SNAKE_CASE = re.compile(r"`([a-z]+(?:_[a-z]+)+)(?:\(\))?`")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def dotted_names(text: str) -> set[str]:
    """Return the dotted names in backticks, without those of files and settings."""
    return {
        name
        for name in _DOTTED.findall(text)
        if not name.startswith(_KEYS) and not name.endswith(_FILES)
    }


def snake_case_names(text: str) -> set[str]:
    """Return the names in backticks that have an underscore and are in lower case."""
    return set(_SNAKE_CASE.findall(text))


def documented(path: Path) -> Iterator[tuple[Documented, str]]:
    """Yield the modules, classes and functions of a file that have a docstring, with it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, Documented):
            text = ast.get_docstring(node)
            if text:
                yield node, text


def exists(name: str) -> bool:
    """Return whether a dotted name is one of the package, or of somebody else."""
    parts = name.split(".")
    if parts[0] in _FOREIGN:
        return True
    return any(
        _is_in(owner, parts[count:])
        for count in range(1, len(parts) + 1)
        for owner in _owners(parts[:count])
    )


def _owners(parts: list[str]) -> Iterator[Mapping[str, frozenset[str]]]:
    """Yield the modules, packages and classes of a name, each as its members with theirs."""
    suffix = "." + ".".join(parts)
    for module, members in _modules().items():
        if f".{module}".endswith(suffix):
            yield members
    for members in _modules().values():
        if len(parts) == 1 and parts[0] in _classes() and parts[0] in members:
            yield {member: frozenset() for member in _classes()[parts[0]]}


def _is_in(members: Mapping[str, frozenset[str]], rest: list[str]) -> bool:
    if not rest:
        return True
    return rest[0] in members and (len(rest) == 1 or rest[1] in members[rest[0]])


@cache
def _modules() -> dict[str, dict[str, frozenset[str]]]:
    """Return of each module and package, by dotted name, its names, each with its members."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        names = _names(ast.parse(path.read_text("utf-8")))
        members = {name: _classes().get(name, frozenset()) for name in names}
        module = path.relative_to(ROOT).with_suffix("")
        if module.name == "__init__":
            module = module.parent
            children = {child.stem for child in path.parent.iterdir()}
            members = {child: frozenset() for child in children} | members
        found[".".join(module.parts)] = members
    return found


@cache
def _classes() -> dict[str, frozenset[str]]:
    """Return the members of each class, by its name."""
    found: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name] |= _names(node)
                bases[node.name] |= {base.id for base in node.bases if isinstance(base, ast.Name)}
    return {
        name: frozenset(own.union(*(found[base] for base in bases[name] if base in found)))
        for name, own in found.items()
    }


def _names(owner: ast.Module | ast.ClassDef) -> set[str]:
    """Return the names that a module or class defines or imports, and attributes of ``self``."""
    found: set[str] = set()
    for node in _statements(owner):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    if isinstance(owner, ast.ClassDef):
        found |= {
            node.attr
            for node in ast.walk(owner)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
    return found


def _statements(owner: ast.Module | ast.ClassDef) -> Iterator[ast.stmt]:
    """Yield the statements of a body, and those that only type checkers see."""
    for node in owner.body:
        is_for_checkers = (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        )
        yield from node.body if is_for_checkers and isinstance(node, ast.If) else [node]


@cache
def words_of_the_code() -> frozenset[str]:
    """Return the identifiers of the package, and the words in its strings but docstrings."""
    found = set(_COMPOSED)
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            for field in ("id", "attr", "arg", "name", "asname"):
                value = getattr(node, field, None)
                found |= {value} if isinstance(value, str) else set()
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                found |= set(re.findall(r"\w+", str(node.value)))
        found.add(path.stem)
    return frozenset(found)
