"""Builder of the statement dataclasses from the parse trees of the grammar.

A rule of the grammar has the name of the dataclass or of the field that it fills. Therefore this
module names only the rules with a value that differs from their content.
"""

# ruff: noqa: N802 - methods of Builder are named after the terminals that they convert

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from lark import Token, Transformer, v_args
from lark.tree import Meta

from acidsql.syntax.alter_statements import PlacedPartition
from acidsql.syntax.lexer import unquote_name, unquote_string
from acidsql.syntax.maintenance_statements import Compact
from acidsql.syntax.nodes import Clustering, PartitionFilter, PartitionSpec, Span, VersionSpec
from acidsql.syntax.statements import (
    CreateTable,
    CreateTableLike,
    Insert,
    InsertBranch,
    MultiInsert,
    Statement,
)

_TRANSACTIONAL = ("transactional", "true")
_NOT_TRANSACTIONAL = ("transactional", "false")
# Name of the format in USING.
_FORMAT = "acidsql"
# Clauses that define a format in another way.
_OTHER_FORMATS = {"OPTIONS", "ROW FORMAT", "STORED BY", "WITH SERDEPROPERTIES"}
# Fields of CREATE TABLE … LIKE that are not clauses.
_OF_LIKE = {"transactional", "unsupported"}
_IDENTIFIER_CLAUSE = re.compile(
    r"""identifier\s*\(\s*['"](.*)['"]\s*\)""", re.IGNORECASE | re.DOTALL
)
# The largest 64-bit integer, as for transaction ids and bucket counts.
_LARGEST_INTEGER = 2**63 - 1
_PART = re.compile(r"`(?:[^`]|``)*`|\w+")


class MalformedError(Exception):
    """Error in a statement that matches the grammar.

    Args:
        message: description of the error.
        position: offset of the error.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class RepetitionError(MalformedError):
    """Error for a repeated clause or property of a transactional ``CREATE TABLE``.

    Args:
        what: the clause or property.
        position: offset of its second occurrence.
    """

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} is given twice", position)


class _Field(NamedTuple):
    """Value of one field of a statement; its text begins at ``position``."""

    name: str
    value: Any
    position: int


class _NameAt(NamedTuple):
    """Qualified name with its span in the text."""

    parts: tuple[str, ...]
    span: Span

    def dotted(self) -> str:
        return ".".join(self.parts)


class _Property(NamedTuple):
    """Entry of a property list."""

    key: str
    value: str
    position: int


class Builder(Transformer[Token, Any]):
    """Transformer of a parse tree into its statement, or into None for a statement of Spark.

    Args:
        text: the whole source.
        code: the source with blanks in place of comments.
        acid_by_default: whether a table without a format is transactional.
    """

    def __init__(self, *, text: str, code: str, acid_by_default: bool = False) -> None:
        super().__init__()
        self._text = text
        self._code = code
        self._acid_by_default = acid_by_default

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        """Build the statement with the rule's name, or otherwise a field of that name."""
        if data in STATEMENTS:
            return self._statement(STATEMENTS[data], children, meta)
        if data in UNSUPPORTED:
            return _Field("unsupported", data.replace("_", " ").upper(), meta.start_pos)
        if data in WHOLE:
            return _Field(data, _span(meta), meta.start_pos)
        return _Field(data, FIELDS.get(data, _content)(children), meta.start_pos)

    def _statement(self, kind: type[Any], children: list[Any], meta: Meta) -> Statement | None:
        fields, repetition = _gather(children)
        properties = fields.pop("properties", ())
        if repetition or _repeated_key(properties):
            return None  # Spark refuses it in its own words
        if properties:
            fields["properties"] = {entry.key: entry.value for entry in properties}
        statement: Statement = kind(text=self._text_around(meta), **fields)
        return statement

    def _text_around(self, meta: Meta) -> str:
        semicolon = self._code.find(";", _span(meta).end)
        return self._text if semicolon < 0 else self._text[:semicolon]

    def start(self, children: list[Statement | None]) -> Statement | None:
        return children[0]

    @v_args(meta=True)
    def create_table(self, meta: Meta, children: list[Any]) -> CreateTable | CreateTableLike | None:
        fields, repetition = _gather(children)
        if "like" in fields:
            return None if repetition else self._create_like(meta, fields)
        properties = [_normalised(entry) for entry in fields.pop("properties", ())]
        contradiction = [entry for entry in properties if entry[:2] == _NOT_TRANSACTIONAL]
        is_declared = fields.pop("transactional", False)
        if fields.get("using", "").lower() == _FORMAT:
            is_declared = True
            del fields["using"]
        elif "temporary" in fields:
            # With USING it is a view of another format, which Spark creates.
            is_declared = "using" not in fields
        elif self._acid_by_default and not contradiction and _names_no_format(fields):
            is_declared = True
        if not is_declared and all(entry[:2] != _TRANSACTIONAL for entry in properties):
            return None
        repetition = repetition or _repeated_key(properties)
        if repetition is not None:
            raise repetition
        if contradiction:
            raise MalformedError("'transactional' is not 'true'", contradiction[0].position)
        values = {entry.key: entry.value for entry in properties} | dict([_TRANSACTIONAL])
        return CreateTable(text=self._text_around(meta), **fields, properties=values)

    def _create_like(self, meta: Meta, fields: dict[str, Any]) -> CreateTableLike | None:
        properties = [_normalised(entry) for entry in fields.pop("properties", ())]
        if _repeated_key(properties):
            return None  # Spark refuses it in its own words
        kept = {
            "name", "name_span", "like", "if_not_exists", "stored_as", "using", "location",
            "temporary",
        }  # fmt: skip
        is_declared = "transactional" in fields or any(e[:2] == _TRANSACTIONAL for e in properties)
        others = [n.replace("_", " ").upper() for n in fields if n not in kept | _OF_LIKE]
        return CreateTableLike(
            text=self._text_around(meta),
            **{name: value for name, value in fields.items() if name in kept},
            properties={entry.key: entry.value for entry in properties},
            transactional=is_declared,
            unsupported=(*others, *fields.get("unsupported", ())),
        )

    @v_args(meta=True)
    def insert(self, meta: Meta, children: list[Any]) -> Statement | None:
        names = {child.name for child in children if isinstance(child, _Field)}
        if names & _REPLACEMENTS and names & {"overwrite", "partition"}:
            return None  # Spark refuses it in its own words
        return self._statement(Insert, children, meta)

    @v_args(meta=True)
    def optimize_table(self, meta: Meta, children: list[_NameAt]) -> Compact:
        return Compact(
            text=self._text_around(meta),
            name=children[0].parts,
            name_span=children[0].span,
            compaction_type="major",
            wait=True,
        )

    @v_args(meta=True)
    def branch_head(self, meta: Meta, children: list[Any]) -> InsertBranch:
        name = next(child for child in children if isinstance(child, _NameAt))
        return InsertBranch(name=name.parts, head=_span(meta), body=_span(meta))

    def branch(self, children: list[Any]) -> InsertBranch | None:
        """Build a branch into a table; return None for a branch into a directory."""
        head = children[0]
        return replace(head, body=children[1].value) if isinstance(head, InsertBranch) else None

    @v_args(meta=True)
    def multi_insert(self, meta: Meta, children: list[Any]) -> MultiInsert:
        fields = {c.name: c.value for c in children if isinstance(c, _Field)}
        branches = tuple(c for c in children if isinstance(c, InsertBranch))
        return MultiInsert(
            text=self._text_around(meta),
            source=fields["source"],
            with_clause=fields.get("with_clause"),
            branches=branches,
            directories=None in children,
        )

    @v_args(meta=True)
    def nullable(self, meta: Meta, _: list[Any]) -> _Field:
        return _Field("not_null", False, meta.start_pos)

    @v_args(meta=True)
    def name(self, meta: Meta, children: list[Token]) -> _NameAt:
        return _NameAt((str(children[0]),), _span(meta))

    @v_args(meta=True)
    def inside(self, meta: Meta, _: list[Any]) -> Span:
        outside = _span(meta)
        return Span(start=outside.start + 1, end=outside.end - 1)

    @v_args(meta=True)
    def literal(self, meta: Meta, _: list[Any]) -> str:
        return _span(meta).of(self._text)

    @v_args(meta=True)
    def property(self, meta: Meta, children: list[str]) -> _Property:
        return _Property(children[0], children[-1], _span(meta).start)

    def property_key(self, children: list[str | _NameAt]) -> str:
        key = children[0]
        return key.dotted() if isinstance(key, _NameAt) else key

    def property_list(self, children: list[_Property]) -> tuple[_Property, ...]:
        return tuple(children)

    def partition_value(self, children: list[str]) -> tuple[str, str | None]:
        return (children[0], children[1] if len(children) > 1 else None)

    def partition_comparison(self, children: list[str]) -> tuple[str, str | None, str | None]:
        column, operator, text = children if len(children) > 1 else (children[0], None, None)
        return column, "=" if operator == "==" else operator, text

    def identifiers(self, children: list[str]) -> tuple[str, ...]:
        return tuple(str(child) for child in children)

    def NAME(self, token: Token) -> _NameAt:
        clause = _IDENTIFIER_CLAUSE.fullmatch(token)
        parts = _PART.findall(clause[1] if clause else token)
        return _NameAt(tuple(unquote_name(part) for part in parts), _span(token))

    def PART(self, token: Token) -> str:
        return unquote_name(token)

    def STRING(self, token: Token) -> str:
        return unquote_string(token)

    def VALUE(self, token: Token) -> str:
        return str(token)

    def COMPARISON(self, token: Token) -> str:
        return str(token)

    def INTEGER(self, token: Token) -> int:
        digits = token.lstrip("0")
        if len(digits) > len(str(_LARGEST_INTEGER)) or int(digits or "0") > _LARGEST_INTEGER:
            raise MalformedError(f"{token[:30]} is too large a number", _span(token).start)
        return int(digits or "0")

    def TAIL(self, token: Token) -> Span:
        return _span(token)

    CONDITION = TAIL
    DEFINITION = TAIL


def _rule_of(kind: type[Any]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def _clustering(children: list[Any]) -> Clustering:
    columns, *sorted_by, buckets = children
    return Clustering(columns=columns, sorted=bool(sorted_by), buckets=buckets)


def _partition(children: list[tuple[str, str | None]]) -> PartitionSpec:
    return PartitionSpec(values=tuple(children))


def _partition_filter(
    children: list[tuple[str, str | None, str | None]],
) -> PartitionFilter:
    return PartitionFilter(comparisons=tuple(children))


def _placed_partition(children: list[_Field]) -> PlacedPartition:
    spec, *location = (child.value for child in children)
    return PlacedPartition(spec=spec, location=location[0] if location else None)


def _version(children: list[_Field]) -> VersionSpec:
    (requested,) = children
    if requested.name == "cloned_timestamp":
        return VersionSpec(timestamp=requested.value)
    return VersionSpec(version=str(requested.value))


def _values(children: list[_Field]) -> tuple[Any, ...]:
    return tuple(child.value for child in children)


def _dotted(children: list[_NameAt]) -> str:
    return children[0].dotted()


def _lower(children: list[str]) -> str:
    return children[0].lower()


def _words(children: list[str]) -> str:
    return " ".join(children)


def _content(children: list[Any]) -> Any:
    if not children:
        return True
    return children[0].parts if isinstance(children[0], _NameAt) else children[0]


# Statements by rule. The rule of CREATE TABLE also builds CREATE TABLE … LIKE.
STATEMENTS: Mapping[str, type[Any]] = {
    _rule_of(kind): kind for kind in get_args(Statement) if kind is not CreateTableLike
}

# Clauses of an INSERT that select the rows to replace.
_REPLACEMENTS = frozenset({"replace_where", "replace_on", "replace_using"})

# Fields whose value is the span of the whole rule.
WHOLE = frozenset(
    {"body", "constraint", "query", "rest", "schema_evolution", "source", "with_clause"}
)

# Fields whose value is built from the rule's content.
FIELDS: Mapping[str, Callable[[list[Any]], Any]] = {
    "clustered_by": _clustering,
    "analyzed_columns": tuple,
    "as_of": _version,
    "column": _dotted,
    "depth": _lower,
    "compaction_type": _lower,
    "ids": tuple,
    "keys": tuple,
    "mode": _lower,
    "new_partition": _partition,
    "partition": _partition,
    "partition_filter": _partition_filter,
    "partitions": _values,
    "placed_partition": _placed_partition,
    "schema_binding": _words,
    "stored_as": _words,
    "using": _dotted,
    "zorder_by": tuple,
}

UNSUPPORTED = frozenset(
    {
        "cluster_by", "default_collation", "for_replication",
        "options", "partitioned_on", "row_format", "skewed_by", "stored_by",
        "stored_as_directories", "with_overwrite_tblproperties", "with_serdeproperties",
    }
)  # fmt: skip


def _span(place: Meta | Token) -> Span:
    start, end = place.start_pos, place.end_pos
    # Positions are None only in tokens that were not read from a text.
    assert start is not None
    assert end is not None
    return Span(start=start, end=end)


def _gather(children: Iterable[Any]) -> tuple[dict[str, Any], RepetitionError | None]:
    """Collect the fields that the children fill; also return an error for a repeated clause."""
    fields: dict[str, Any] = {}
    repetition: RepetitionError | None = None
    for child in children:
        if isinstance(child, _NameAt):
            fields |= {"name": child.parts, "name_span": child.span}
        elif isinstance(child, _Field) and child.name == "unsupported":
            fields["unsupported"] = (*fields.get("unsupported", ()), child.value)
        elif isinstance(child, _Field):
            if child.name in fields:
                clause = child.name.replace("_", " ").upper()
                repetition = repetition or RepetitionError(clause, child.position)
            fields[child.name] = child.value
    return fields, repetition


def _names_no_format(fields: Mapping[str, Any]) -> bool:
    """Return whether a CREATE TABLE does not name the format of its table."""
    named = {"using", "stored_as", "external"} & fields.keys()
    return not named and not _OTHER_FORMATS & set(fields.get("unsupported", ()))


def _normalised(entry: _Property) -> _Property:
    if entry.key.lower() != "transactional":
        return entry
    return entry._replace(key="transactional", value=entry.value.lower())


def _repeated_key(entries: Sequence[_Property]) -> RepetitionError | None:
    seen: set[str] = set()
    for entry in entries:
        if entry.key in seen:
            return RepetitionError(f"the property {entry.key!r}", entry.position)
        seen.add(entry.key)
    return None
