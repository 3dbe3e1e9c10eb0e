"""Statements that copy tables: CLONE, EXPORT, IMPORT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acidsql.syntax.nodes import Name, Named, PartitionSpec, Span, VersionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneTable(Named):
    """``CREATE TABLE … [SHALLOW | DEEP] CLONE …``.

    Attributes:
        cloned: parts of the name of the table that is copied.
        depth: ``shallow`` or ``deep``, in lower case; None if it is not given.
        as_of: version that is copied, None for the current one.
        properties: table properties that the copy gets beside those of the table.
    """

    cloned: Name
    depth: str | None = None
    as_of: VersionSpec | None = None
    or_replace: bool = False
    replace_table: bool = False
    external: bool = False
    transactional: bool = False
    if_not_exists: bool = False
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTable(Named):
    """``EXPORT TABLE … [PARTITION (…)] TO '…'``.

    Attributes:
        archive: path that is written.
    """

    archive: str
    partition: PartitionSpec | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTable:
    """``IMPORT [[EXTERNAL] TABLE … [PARTITION (…)]] FROM '…' [LOCATION '…']``.

    Attributes:
        text: source of the statement, without the semicolon that ends it.
        archive: path that an EXPORT has written.
        name: parts of the name, None for that of the table that was exported.
        name_span: position of the name in the text.
    """

    text: str
    archive: str
    name: Name | None = None
    name_span: Span | None = None
    external: bool = False
    partition: PartitionSpec | None = None
    location: str | None = None
