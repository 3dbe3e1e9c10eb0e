"""Writers: they define the form of records, and split a record into column values.

Hive's writers are ``StrictDelimitedInputWriter``, ``StrictJsonWriter`` and ``StrictRegexWriter``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Protocol

Fields = Mapping[str, Any] | Sequence[Any]
"""Values of a record by name, or in the order of the table's columns."""

_RECORDS = frozenset({dict, tuple, list})


class RecordWriter(Protocol):
    """Writer of records of one form."""

    @property
    def parses(self) -> bool:
        """Whether texts in a record are parsed as values of any type."""

    @property
    def binary_is_base64(self) -> bool:
        """Whether texts of BINARY columns are base64 instead of UTF-8."""

    def fields(self, record: Any) -> Fields:
        """Return the values of a record.

        Raises:
            ValueError: the record does not have this form; the message is the end of a sentence.
        """


@dataclass(frozen=True, slots=True)
class RowWriter:
    """Writer of dicts with column names as keys, and of tuples and lists in column order."""

    parses: ClassVar[bool] = False
    binary_is_base64: ClassVar[bool] = False

    def fields(self, record: Any) -> Fields:
        """Return the record itself."""
        # Check the common types first, because isinstance with an abstract class is slow.
        if type(record) not in _RECORDS and not isinstance(record, Mapping | tuple | list):
            raise ValueError(f"is a {type(record).__name__}: give a dict, tuple or list")
        fields: Fields = record
        return fields


@dataclass(frozen=True, slots=True)
class JsonWriter:
    """Writer of texts that contain one JSON object each, with the column names as keys."""

    parses: ClassVar[bool] = True
    binary_is_base64: ClassVar[bool] = True

    def fields(self, record: Any) -> Fields:
        """Parse the text of an object; numbers with a fraction keep all their digits."""
        try:
            fields = json.loads(record, parse_float=Decimal)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise ValueError("is not a JSON object")  # noqa: TRY004 - of the record
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class DelimitedWriter:
    """Writer of texts with delimited fields.

    Attributes:
        delimiter: one character.
        quote: character around fields that contain the delimiter; None if there is none.
        null: text of an unquoted field that means NULL.
        columns: names of the fields; None: all columns of the table in their order.
    """

    delimiter: str = ","
    quote: str | None = '"'
    null: str = "\\N"
    columns: tuple[str, ...] | None = None
    parses: ClassVar[bool] = True
    binary_is_base64: ClassVar[bool] = False

    def fields(self, record: Any) -> Fields:
        """Split a text into fields; a sequence of fields is used without splitting."""
        if isinstance(record, bytes):
            record = record.decode()
        if isinstance(record, str):
            record = self._split(record.removesuffix("\n").removesuffix("\r"))
        values = tuple(None if field == self.null else field for field in record)
        if self.columns is None:
            return values
        if len(values) != len(self.columns):
            raise ValueError(f"has {len(values)} fields instead of {len(self.columns)}")
        return dict(zip(self.columns, values, strict=True))

    def _split(self, text: str) -> Sequence[str]:
        if self.quote is None or self.quote not in text:
            return text.split(self.delimiter)
        try:
            rows = list(
                csv.reader([text], delimiter=self.delimiter, quotechar=self.quote, strict=True)
            )
        except csv.Error as error:
            raise ValueError(f"cannot be split into fields: {error}") from error
        return rows[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexWriter:
    """Writer of texts that a regular expression splits into columns.

    Attributes:
        pattern: pattern that matches the whole text. Its groups are the columns: by name if all
            groups have names, otherwise in their order. A group that takes no part in the match is
            NULL.
    """

    pattern: re.Pattern[str]
    parses: ClassVar[bool] = True
    binary_is_base64: ClassVar[bool] = False

    def fields(self, record: Any) -> Fields:
        """Match a text."""
        text = record.decode() if isinstance(record, bytes) else record
        match = self.pattern.fullmatch(text.removesuffix("\n").removesuffix("\r"))
        if match is None:
            raise ValueError(f"does not match {self.pattern.pattern!r}")
        named = self.pattern.groupindex
        return match.groupdict() if len(named) == self.pattern.groups else match.groups()
