"""Statements that copy tables: CLONE, EXPORT, IMPORT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acidsql.syntax.nodes import Name, Named, PartitionSpec, Span, VersionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneTable(Named):
    """``CREATE TABLE … [SHALLOW | DEEP] CLONE …``.

    Attributes:
        cloned: parts of the name of the table to copy.
        depth: ``shallow`` or ``deep``, in lower case; None if neither is given.
        as_of: version to copy, None for the current version.
        temporary: whether the copy belongs to this session and ends with it.
        properties: table properties of the copy in addition to the properties of the table.
    """

    cloned: Name
    depth: str | None = None
    as_of: VersionSpec | None = None
    or_replace: bool = False
    replace_table: bool = False
    external: bool = False
    temporary: bool = False
    transactional: bool = False
    if_not_exists: bool = False
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTable(Named):
    """``EXPORT TABLE … [PARTITION (…)] TO '…'``.

    Attributes:
        archive: path to write.
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
        name: parts of the name, None for the name of the exported table.
        name_span: position of the name in the text.
    """

    text: str
    archive: str
    name: Name | None = None
    name_span: Span | None = None
    external: bool = False
    partition: PartitionSpec | None = None
    location: str | None = None
