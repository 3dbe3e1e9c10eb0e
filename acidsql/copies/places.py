"""Places of tables of other formats: ``delta:/path``, ``iceberg:catalog.db.t``, a table name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acidsql.errors import AcidAnalysisError

FILE_FORMATS = ("parquet", "csv", "json", "orc")
"""Formats of plain files, without a table's metadata."""
TABLE_FORMATS = ("delta", "iceberg")
"""Formats that keep versions."""
EXPORT_FORMATS = ("parquet", *TABLE_FORMATS)
# By default Spark reads a malformed record as NULL, and the copy would lose its values.
_STRICT = {"csv": {"mode": "FAILFAST"}, "json": {"mode": "FAILFAST"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTable:
    """Place of a table of another format.

    Attributes:
        format: one of ``FILE_FORMATS`` and ``TABLE_FORMATS``; ``table`` for a table in one of
            Spark's catalogs.
        name: path, or name of a table.
    """

    format: str
    name: str

    def __str__(self) -> str:
        return self.name if self.format == "table" else f"{self.format}:{self.name}"

    @property
    def is_path(self) -> bool:
        """Whether the name is a path; a table name has no slash outside backticks."""
        return self.format in FILE_FORMATS or "/" in self.name


def parse_place(text: str, formats: tuple[str, ...], *, tables: bool) -> ForeignTable:
    """Parse a place.

    Args:
        text: ``format:path``, ``format:name``, or the name of a table.
        formats: formats that are allowed.
        tables: whether a table name without a format is allowed.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.

    >>> parse_place("delta:s3a://bucket/t", ("delta",), tables=False)
    ForeignTable(format='delta', name='s3a://bucket/t')
    >>> str(parse_place("db.t", ("delta",), tables=True))
    'db.t'
    """
    kind, colon, name = text.partition(":")
    if colon and kind.lower() in formats and name:
        return ForeignTable(format=kind.lower(), name=name)
    if tables and text and "/" not in text and not colon:
        return ForeignTable(format="table", name=text)
    forms = [f"{one}:PATH" for one in formats]
    raise AcidAnalysisError(
        "INVALID_PARAMETER_VALUE",
        f"{text!r} is no place of a table: give {', '.join(forms)}"
        + (", or the name of a table" if tables else ""),
        {"parameter": "place"},
    )


def reader_options(place: ForeignTable, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's reader.

    Unless the given options set ``mode``, a malformed CSV or JSON record is an error.

    >>> reader_options(ForeignTable(format="csv", name="/in"), {"header": "true"})
    {'mode': 'FAILFAST', 'header': 'true'}
    """
    strict = _STRICT.get(place.format, {})
    named = {key.lower() for key in given}
    return {**{k: v for k, v in strict.items() if k not in named}, **given}
