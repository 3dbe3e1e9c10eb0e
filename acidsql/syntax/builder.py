"""The grammar's trees to the dataclasses of the statements.

A rule has the name of the dataclass or of the field that it fills, so only rules whose value is not
simply their content need a method here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lark import Token, Transformer, v_args
from lark.tree import Meta

from acidsql.syntax import statements
from acidsql.syntax.lexis import unquote_name, unquote_string
from acidsql.syntax.statements import Clustering, CreateTable, PartitionSpec, Span, Statement

_UNSUPPORTED = frozenset(
    {
        "cluster_by", "clustered_into", "compaction_id", "default_collation", "like", "limit",
        "options", "order_by", "partitioned_on", "pool", "replace_on", "replace_table",
        "replace_using", "replace_where", "row_format", "skewed_by", "status", "stored_by",
        "stored_as_directories", "temporary_table", "type", "with_overwrite_tblproperties",
        "with_schema_evolution", "with_serdeproperties",
    }
)  # fmt: skip
_TRANSACTIONAL = ("transactional", "true")
_PART = re.compile(r"`(?:[^`]|``)*`|\w+")


def _rule_name(class_name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()


_STATEMENTS: dict[str, type[Any]] = {
    _rule_name(name): kind
    for name, kind in vars(statements).items()
    if dataclasses.is_dataclass(kind) and "text" in {f.name for f in dataclasses.fields(kind)}
}


class RepetitionError(Exception):
    """A clause or a property of a transactional ``CREATE TABLE`` is given twice.

    Args:
        what: the clause or property.
        position: offset of its second appearance.
    """

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} is given twice")
        self.position = position


class _Field(NamedTuple):
    """The value of one field of a statement, from the text at ``position``."""

    name: str
    value: Any
    position: int


class _NameAt(NamedTuple):
    """A qualified name and its place."""

    parts: tuple[str, ...]
    span: Span


class _Property(NamedTuple):
    """One entry of a property list."""

    key: str
    value: str
    position: int


class Builder(Transformer[Token, Any]):
    """Turns the tree of one text into its statement, None when it is not ours after all.

    Args:
        text: the whole source.
        code: the same without comments, with the same offsets.
    """

    def __init__(self, *, text: str, code: str) -> None:
        super().__init__()
        self._text = text
        self._code = code

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        """Build the statement that has the rule's name, or else a field of that name."""
        if data in _STATEMENTS:
            return self._build(_STATEMENTS[data], children, meta)
        if data in _UNSUPPORTED:
            return _Field("unsupported", data.replace("_", " ").upper(), meta.start_pos)
        value = children[0] if children else True
        return _Field(data, value.parts if isinstance(value, _NameAt) else value, meta.start_pos)

    def _build(self, kind: type[Any], children: list[Any], meta: Meta) -> Statement | None:
        fields, repetition = _gather(children)
        if repetition is not None:
            return None  # Spark refuses it in its own words
        properties = fields.get("properties")
        if properties is not None:
            fields["properties"] = {entry.key: entry.value for entry in properties}
        statement: Statement = kind(text=self._statement_text(meta), **fields)
        return statement

    def _statement_text(self, meta: Meta) -> str:
        semicolon = self._code.find(";", meta.end_pos)
        return self._text if semicolon < 0 else self._text[:semicolon]

    # Statements whose fields are not simply those of their parts.

    @v_args(meta=True)
    def create_table(self, meta: Meta, children: list[Any]) -> CreateTable | None:
        fields, repetition = _gather(children)
        properties = [_normalised(entry) for entry in fields.pop("properties", ())]
        is_declared = fields.pop("transactional", False)
        if not is_declared and all(entry[:2] != _TRANSACTIONAL for entry in properties):
            return None
        repetition = repetition or _repeated_key(properties)
        if repetition is not None:
            raise repetition
        values = {entry.key: entry.value for entry in properties}
        values |= dict([_TRANSACTIONAL])
        return CreateTable(text=self._statement_text(meta), **fields, properties=values)

    @v_args(meta=True)
    def optimize(self, meta: Meta, children: list[Any]) -> statements.Compact:
        (name,) = children
        return statements.Compact(
            text=self._statement_text(meta),
            name=name.parts,
            name_span=name.span,
            compaction_type="major",
            wait=True,
        )

    @v_args(meta=True)
    def multi_insert(self, meta: Meta, children: list[Any]) -> statements.MultiInsert:
        targets = (c.value for c in children if isinstance(c, _Field) and c.name == "branch_target")
        return statements.MultiInsert(text=self._statement_text(meta), targets=tuple(targets))

    def start(self, children: list[Any]) -> Statement | None:
        statement: Statement | None = children[0]
        return statement

    # Parts of statements.

    @v_args(meta=True)
    def name(self, meta: Meta, children: list[Token]) -> _NameAt:
        return _NameAt((str(children[0]),), _span(meta))

    @v_args(meta=True)
    def inside(self, meta: Meta, _: list[Any]) -> Span:
        return Span(start=meta.start_pos + 1, end=meta.end_pos - 1)

    @v_args(meta=True)
    def literal(self, meta: Meta, _: list[Any]) -> str:
        return _span(meta).of(self._text)

    @v_args(meta=True)
    def query(self, meta: Meta, _: list[Any]) -> _Field:
        return _Field("query", _span(meta), meta.start_pos)

    @v_args(meta=True)
    def rest(self, meta: Meta, _: list[Any]) -> _Field:
        return _Field("rest", _span(meta), meta.start_pos)

    @v_args(meta=True)
    def with_clause(self, meta: Meta, _: list[Any]) -> _Field:
        return _Field("with_clause", _span(meta), meta.start_pos)

    @v_args(meta=True)
    def clustered_by(self, meta: Meta, children: list[Any]) -> _Field:
        columns, *sorted_by, buckets = children
        value = Clustering(columns=columns, sorted=bool(sorted_by), buckets=buckets)
        return _Field("clustered_by", value, meta.start_pos)

    @v_args(meta=True)
    def stored_as(self, meta: Meta, children: list[str]) -> _Field:
        return _Field("stored_as", " ".join(children), meta.start_pos)

    @v_args(meta=True)
    def using(self, meta: Meta, children: list[_NameAt]) -> _Field:
        return _Field("using", ".".join(children[0].parts), meta.start_pos)

    @v_args(meta=True)
    def schema_binding(self, meta: Meta, children: list[Token]) -> _Field:
        words = " ".join(child.upper() for child in children[2:])
        return _Field("schema_binding", words, meta.start_pos)

    @v_args(meta=True)
    def column(self, meta: Meta, children: list[_NameAt]) -> _Field:
        return _Field("column", ".".join(children[0].parts), meta.start_pos)

    @v_args(meta=True)
    def mode(self, meta: Meta, children: list[Token]) -> _Field:
        return _Field("mode", children[0].lower(), meta.start_pos)

    @v_args(meta=True)
    def compaction_type(self, meta: Meta, children: list[str]) -> _Field:
        return _Field("compaction_type", children[0].lower(), meta.start_pos)

    @v_args(meta=True)
    def ids(self, meta: Meta, children: list[int]) -> _Field:
        return _Field("ids", tuple(children), meta.start_pos)

    @v_args(meta=True)
    def insert_columns(self, meta: Meta, children: list[str]) -> _Field:
        return _Field("columns", tuple(children), meta.start_pos)

    @v_args(meta=True)
    def partition(self, meta: Meta, children: list[tuple[str, str | None]]) -> _Field:
        return _Field("partition", PartitionSpec(values=tuple(children)), meta.start_pos)

    def partition_value(self, children: list[str]) -> tuple[str, str | None]:
        return (children[0], children[-1] if len(children) > 1 else None)

    def identifiers(self, children: list[str]) -> tuple[str, ...]:
        return tuple(children)

    def query_word(self, children: list[Token]) -> str:
        return str(children[0])

    def property_list(self, children: list[_Property]) -> tuple[_Property, ...]:
        return tuple(children)

    @v_args(meta=True)
    def property(self, meta: Meta, children: list[str]) -> _Property:
        return _Property(children[0], children[-1], meta.start_pos)

    def property_key(self, children: list[str | _NameAt]) -> str:
        key = children[0]
        return ".".join(key.parts) if isinstance(key, _NameAt) else key

    # Terminals.

    def NAME(self, token: Token) -> _NameAt:  # noqa: N802 - the terminal's name
        return _NameAt(tuple(unquote_name(part) for part in _PART.findall(token)), _span(token))

    def PART(self, token: Token) -> str:  # noqa: N802 - the terminal's name
        return unquote_name(token)

    def STRING(self, token: Token) -> str:  # noqa: N802 - the terminal's name
        return unquote_string(token)

    def VALUE(self, token: Token) -> str:  # noqa: N802 - the terminal's name
        return str(token)

    def INTEGER(self, token: Token) -> int:  # noqa: N802 - the terminal's name
        return int(token)

    def TAIL(self, token: Token) -> Span:  # noqa: N802 - the terminal's name
        return _span(token)


def _span(place: Meta | Token) -> Span:
    return Span(start=place.start_pos, end=place.end_pos)


def _gather(children: Iterable[Any]) -> tuple[dict[str, Any], RepetitionError | None]:
    """Return the fields that the children fill, and which clause comes twice, if any."""
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
